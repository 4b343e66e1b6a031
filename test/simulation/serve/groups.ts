/** RunnerGroups of a history, and what `generate` prints for them when it sees everything as it is. */

import type { KubeObject, StoredObject } from '../../../simulator/kubernetes/objects.ts';
import { judgeJob } from '../../../src/clients/kubernetes/judge-job.ts';
import { podsByJob } from '../../../src/clients/kubernetes/observe-cluster.ts';
import { JOBS, PODS } from '../../../src/clients/kubernetes/resources.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { templateHash } from '../../../src/manifests/app.ts';
import { jobAnnotations } from '../../../src/plan/output-of-plan.ts';
import { finishOwn, groupOfObject } from '../../../src/plan/own-pod.ts';
import { type Planning, planSeen } from '../../../src/plan/plan-seen.ts';
import type { Look } from '../../../src/planner/evidence.ts';
import type { LiveRunner } from '../../../src/serve/seen/live.ts';
import { oncePerObject } from '../../../src/serve/seen/unchanged.ts';
import type { Failure } from '../../../src/shared/failure.ts';
import { keyText } from '../../../src/shared/keys.ts';
import {
  API_VERSION,
  GROUP_NAME,
  groupLabels,
  KIND,
  present,
  REGISTERED_AT,
  type Texts,
  TRACKING_ID,
} from '../../../src/shared/marks.ts';
import { seenOf } from '../../support/seen.ts';
import { GITEA_URL, HOOK_URL } from './gitea.ts';
import type { GroupInGit } from './history.ts';
import type { Kubernetes } from './kubernetes.ts';
import { NAMESPACE, TTL_S } from './pods.ts';

/** A Job in the output. */
export interface Printed {
  readonly name: string;
  readonly group: string;
  readonly annotations: Texts;
  readonly skip: boolean;
}

export function specOf({ byServe, org, maxActiveRunners, maxEvictionRetries, minIdleRunners }: GroupInGit): object {
  return {
    scope: 'org',
    org,
    gitea: { url: GITEA_URL },
    containerMode: 'host',
    labels: ['linux:host'],
    defaultLabels: false,
    maxActiveRunners,
    ...(minIdleRunners > 0 && { minIdleRunners }),
    ...(maxEvictionRetries > 0 && { maxEvictionRetries }),
    ttlSecondsAfterFinished: TTL_S,
    notify: [{ webhook: { url: HOOK_URL }, on: 'always' }],
    ...(byServe
      ? { registration: { by: 'serve' } }
      : { registrationToken: { secretRef: { name: 'gitea-runner', key: 'token' } } }),
    authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
  };
}

export function trackingId(app: string, kind: 'gitea.bpg.pw/RunnerGroup' | 'batch/Job', name: string): string {
  return `${app}:${kind}:${NAMESPACE}/${name}`;
}

/** Makes the RunnerGroup's object as a sync writes it. */
export function groupObject(app: string, group: GroupInGit, known: StoredObject | undefined): KubeObject {
  const annotations = { [TRACKING_ID]: trackingId(app, 'gitea.bpg.pw/RunnerGroup', group.name) };
  const generation = (known?.metadata.generation ?? 0) + 1;
  const metadata = { name: group.name, namespace: NAMESPACE, generation, annotations };
  const status = known?.status === undefined ? {} : { status: known.status };
  return { ...{ apiVersion: API_VERSION, kind: KIND }, metadata, spec: specOf(group), ...status };
}

export function jobObject(app: string, { annotations, group, name }: Printed): KubeObject {
  const tracked = { ...annotations, [TRACKING_ID]: trackingId(app, 'batch/Job', name) };
  const env = [{ name: 'GITEA_INSTANCE_URL', value: GITEA_URL }];
  const metadata = { name, namespace: NAMESPACE, labels: { ...groupLabels(group) }, annotations: tracked };
  return { metadata, spec: { template: { spec: { containers: [{ name: 'runner', env }] } } }, status: {} };
}

const hashOf = oncePerObject((group: RunnerGroup) => templateHash(group, finishOwn));
const read = new Map<string, RunnerGroup>();

/** Returns the same object for the same group: parsing takes longer than planning. */
export function runnerGroupOf(group: GroupInGit): RunnerGroup {
  const text = JSON.stringify(group);
  const known = read.get(text);
  if (known) return known;
  const { metadata, spec } = groupObject('any', group, undefined);
  const found = groupOfObject({ metadata: { ...metadata, uid: 'any' }, spec });
  if ('problem' in found) throw new Error(`the history has a bad group: ${found.problem}`);
  read.set(text, found.group);
  return found.group;
}

/** Returns all runners in the cluster, as `serve` reads them. */
export function liveRunners({ objects }: Kubernetes): readonly LiveRunner[] {
  const pods = podsByJob(objects.all('pods').map((pod) => PODS.item.parse(pod)));
  return objects.all('jobs').map((object): LiveRunner => {
    const job = JOBS.item.parse(object);
    const annotations = job.metadata.annotations ?? {};
    const groupName = job.metadata.labels?.[GROUP_NAME];
    return {
      job: judgeJob(job, pods.get(job.metadata.uid) ?? []),
      annotations,
      ...(groupName !== undefined && { groupName }),
      ...(annotations[REGISTERED_AT] && { uid: job.metadata.uid }),
    };
  });
}

/** Plans these groups of one Application. */
export function planOf(
  groups: readonly GroupInGit[],
  lookOf: (org: string) => Look | Failure,
  runners: readonly LiveRunner[],
  nowMs: number,
): Planning {
  const sighted = groups.map((each) => {
    const group = runnerGroupOf(each);
    return { group, templateHash: hashOf(group), lookKey: each.org, look: lookOf(each.org) };
  });
  return planSeen(seenOf(sighted, { nowMs, runners }));
}

/** The Jobs of a plan; undefined: `generate` fails. */
export function printedBy(planning: Planning): ReadonlyMap<string, Printed> | undefined {
  if (planning.is !== 'planned') return undefined;
  const printed = new Map<string, Printed>();
  for (const decision of planning.plan.runners) {
    if (!decision.emit) continue;
    const { group, runner: name, skip = false } = decision;
    const key = keyText({ namespace: group.namespace, name });
    printed.set(key, { name, group: group.name, annotations: present(jobAnnotations(decision)), skip });
  }
  return printed;
}
