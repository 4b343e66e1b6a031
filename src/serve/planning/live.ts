/** What stands in the cluster, as a round sees it, and which Application manages it, as tracking annotations say. */
import {
  type ApplicationRef,
  applicationKey,
  applicationOf,
  type ObjectRef,
} from '../../clients/argocd/application.ts';
import type { LossReason } from '../../clients/kubernetes/pods.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { RunnerDecision } from '../../planner/decisions.ts';
import type { LiveJob } from '../../planner/evidence.ts';
import { keyText } from '../../shared/key-text.ts';
import type { Texts } from '../../shared/marks.ts';

export interface LiveGroup {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly object: RunnerGroupObject;
  /** Argo CD's `argocd.argoproj.io/tracking-id`; absent on one that Argo CD does not manage. */
  readonly trackingId?: string;
  /** Absent: the spec is not valid; `problem` says why. */
  readonly group?: RunnerGroup;
  readonly problem?: string;
}

/** A Job of ours in the cluster, with what Argo CD reads of it. */
export interface LiveRunner {
  readonly job: LiveJob;
  readonly annotations: Texts;
  readonly trackingId?: string;
  readonly groupName?: string;
  /** Absent: it was not lost, as far as Kubernetes shows. */
  readonly loss?: LossReason;
  /** Its node was lost and answers again. */
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
  return { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace, name };
}

export function applicationOfGroup({ trackingId, object }: LiveGroup): ApplicationRef | undefined {
  return applicationOf(trackingId, refOf(object.metadata));
}

export function keyOfJob({ trackingId, job }: LiveRunner, controlPlaneNamespace: string): string | undefined {
  const app = applicationOf(trackingId, { group: 'batch', kind: 'Job', namespace: job.namespace, name: job.name });
  return app && applicationKey(app, controlPlaneNamespace);
}
