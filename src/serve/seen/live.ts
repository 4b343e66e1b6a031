/** The cluster as a reconcile sees it, with owners: RunnerGroups and Jobs by Application. Pure. */
import {
  type ApplicationRef,
  applicationKey,
  applicationOf,
  type ObjectRef,
  shardCount,
  shardNames,
} from '../../clients/argocd/application.ts';
import type { LossReason } from '../../clients/kubernetes/kube-pods.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { pagesOf } from '../../planner/assign.ts';
import type { RunnerDecision } from '../../planner/decisions.ts';
import { isOver, type LiveJob, type Look } from '../../planner/evidence.ts';
import type { Failure } from '../../shared/failure.ts';
import { groupBy, groupBySeveral, keyText } from '../../shared/keys.ts';
import { API_GROUP, INSTALLATION_ID, KIND, type Texts, TRACKING_ID } from '../../shared/marks.ts';
import { printable } from '../../shared/printable.ts';
import { keepLists } from './unchanged.ts';

export interface LiveGroup {
  readonly key: string;
  readonly object: RunnerGroupObject;
  /** The group that was read. Absent: the spec is not valid, and `problem` says why. */
  readonly group?: RunnerGroup;
  readonly problem?: string;
  readonly isDenied?: boolean;
}

/** A Job of ours in the cluster, with the fields that Argo CD reads. */
export interface LiveRunner {
  readonly job: LiveJob;
  readonly annotations: Texts;
  readonly groupName?: string;
  /** Uid of its Job. Only Jobs whose runner `serve` registers have it here. */
  readonly uid?: string;
  /** Why the runner was lost. Absent: it was not, as far as Kubernetes shows. */
  readonly loss?: LossReason;
  /** True if its node was lost and answers again. */
  readonly isBack?: true;
}

export function keyOfRunner({ job }: LiveRunner): string {
  return keyText(job);
}

export function keyOfDecision({ group: { namespace }, runner }: RunnerDecision): string {
  return keyText({ namespace, name: runner });
}

export function groupKeyOfRunner({ job, groupName = '' }: LiveRunner): string {
  return keyText({ namespace: job.namespace, name: groupName });
}

export function refOf({ namespace, name }: { readonly namespace: string; readonly name: string }): ObjectRef {
  return { group: API_GROUP, kind: KIND, namespace, name };
}

export function applicationOfGroup({ object: { metadata } }: LiveGroup): ApplicationRef | undefined {
  return applicationOf(metadata.annotations?.[TRACKING_ID], refOf(metadata));
}

/** Whether the Application prints a group, by its key, as Argo CD has said last. */
export type Listing = ReadonlyMap<string, boolean>;

/** True if the group counts for others of its Application: everybody can write the annotation that names one (law V212). @param listing undefined: all count */
export function isListed({ key }: LiveGroup, listing: Listing | undefined): boolean {
  return !listing || listing.get(key) === true;
}

/** Returns how many Applications print these groups, as shard 0 writes it on them. Undefined: one alone. */
export function shardsOf(groups: readonly LiveGroup[]): number | undefined {
  const [first] = groups;
  if (!first || !applicationOfGroup(first)?.name.endsWith('-0')) return undefined;
  const counts = groups.flatMap(({ object: { metadata } }) => shardCount(metadata.annotations) ?? []);
  return counts.length > 0 ? Math.max(...counts) : undefined;
}

/** Returns the shards besides shard 0, which has made these groups (docs/adr/0110), `shard` as `2/7`. @param application its key */
export function siblingsOf(groups: readonly LiveGroup[], application: string) {
  const [first] = groups;
  const ref = first && applicationOfGroup(first);
  if (!ref) return [];
  const shards = shardsOf(groups) ?? 1;
  return shardNames(ref.name, shards).flatMap((name, shard) => {
    if (shard === 0) return [];
    const key = application.replace(/-0(?=@|$)/, `-${shard}`);
    return [{ key, ref: { ...ref, name }, shard: `${shard}/${shards}` }];
  });
}

function keyOfJob({ annotations, job: { namespace, name } }: LiveRunner, controlPlaneNamespace: string) {
  const app = applicationOf(annotations[TRACKING_ID], { group: 'batch', kind: 'Job', namespace, name });
  return app && keyIn(annotations, app, controlPlaneNamespace);
}

/** Several Argo CDs with ids (`installationID`) may each have an Application of this name. */
function keyIn(annotations: Texts, app: ApplicationRef, controlPlaneNamespace: string): string {
  const id = annotations[INSTALLATION_ID] ?? '';
  return applicationKey(app, controlPlaneNamespace) + (id && `@${printable(id.slice(0, LONGEST_ID))}`);
}

/** Most characters of an installation id in a key. The rest is cut off. */
const LONGEST_ID = 100;

/** The last look at a target. */
export interface Observation {
  /** When the look began, ms since 1970. */
  readonly beganMs: number;
  /** `beganMs` by the steady clock: what happened before is in the look, also if the machine's clock was set meanwhile. */
  readonly beganSteadyMs: number;
  readonly endedMs: number;
  /** The last good look, the same object while looks find the same; absent until there was one. */
  readonly look?: Look;
  readonly failure?: Failure;
}

interface LiveObjects {
  readonly groups: readonly LiveGroup[];
  readonly runners: readonly LiveRunner[];
  readonly controlPlaneNamespace: string;
  readonly steadyMs: number;
}

type RunnersBy = ReadonlyMap<string, readonly LiveRunner[]>;

/** The Jobs are sorted once for all who ask: with many Applications each would look at every Job of all others. */
export interface ClusterSnapshot extends Pick<LiveObjects, 'groups' | 'runners'> {
  /** Groups by the key of their Application. Groups without one are under ''. */
  readonly byApp: ReadonlyMap<string, readonly LiveGroup[]>;
  readonly runnersOfApp: RunnersBy;
  readonly runnersOfGroup: RunnersBy;
  /** Jobs by the page of the CI job that they were printed for, by any Application. */
  readonly printedFor: RunnersBy;
  /** Jobs by the name of each limit that they count under. */
  readonly sharing: RunnersBy;
  /** Jobs that have ended or are being deleted, by `<namespace>/<name>`. */
  readonly over: ReadonlyMap<string, LiveRunner>;
  /** Runners whose end is new. At the first snapshot: all that have ended. */
  readonly ended: readonly LiveRunner[];
  /** When the end of a runner was last noticed, by key of the group, by the steady clock, ms. */
  readonly lastEndMs: ReadonlyMap<string, number>;
}

export const NO_RUNNERS: readonly LiveRunner[] = [];

/** Sorts groups and Jobs by owner. @param before the last snapshot: lists that are still the same stay the same objects */
export function snapshot(around: LiveObjects, before?: ClusterSnapshot): ClusterSnapshot {
  const { groups, runners, controlPlaneNamespace, steadyMs } = around;
  const byApp = before?.groups === groups ? before.byApp : byApplication(groups, controlPlaneNamespace);
  if (before && before.runners === runners) return { ...before, groups, byApp, ended: [] };
  const endedByKey = new Map(
    runners.filter(({ job }) => isOver(job.state)).map((runner) => [keyOfRunner(runner), runner] as const),
  );
  const newlyEnded = [...endedByKey].flatMap(([key, runner]) => (before?.over.has(key) ? [] : [runner]));
  const existing = new Set(groups.map(({ key }) => key));
  const lastEndMs = new Map([...(before?.lastEndMs ?? [])].filter(([key]) => existing.has(key)));
  for (const runner of newlyEnded) lastEndMs.set(groupKeyOfRunner(runner), steadyMs);
  const ofApp = groupBy(runners, (runner) => keyOfJob(runner, controlPlaneNamespace));
  const ofGroup = groupBy(runners, groupKeyOfRunner);
  return {
    groups,
    runners,
    byApp,
    runnersOfApp: before ? keepLists(before.runnersOfApp, ofApp) : ofApp,
    runnersOfGroup: before ? keepLists(before.runnersOfGroup, ofGroup) : ofGroup,
    sharing: groupBySeveral(runners, ({ job }) => job.limits ?? []),
    printedFor: groupBySeveral(runners, ({ job }) => pagesOf(job.jobUrl)),
    over: endedByKey,
    ended: newlyEnded,
    lastEndMs,
  };
}

export function byApplication(groups: readonly LiveGroup[], controlPlaneNamespace: string) {
  return groupBy(groups, (group) => {
    const app = applicationOfGroup(group);
    return app ? keyIn(group.object.metadata.annotations ?? {}, app, controlPlaneNamespace) : '';
  });
}
