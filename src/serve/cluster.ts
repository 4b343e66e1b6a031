/** The destination cluster as `serve` sees it: RunnerGroups, our Jobs and their pods, kept up to date by watches. Reads only. */
import { isDeepStrictEqual } from 'node:util';
import { GROUP_NAME, TRACKING_ID } from '../charts/marks.ts';
import type { Failure } from '../failure.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { judgeJob } from '../kubernetes/judge.ts';
import { podsByJob } from '../kubernetes/observe.ts';
import { PODS, RUNNER_GROUPS, type RunnerGroupObject, TRACKED_JOBS, type TrackedJob } from '../kubernetes/resources.ts';
import type { KubePod } from '../kubernetes/shapes.ts';
import { keyOf, Watch } from '../kubernetes/watch.ts';
import { runnerGroupFromObject } from '../runnergroup/from-object.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { LiveRunner } from './difference.ts';
import { isSame } from './runner-index.ts';

/** A RunnerGroup in the cluster. */
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

/** A Job of ours in the cluster. */
export interface LiveRunnerOfApp extends LiveRunner {
  readonly trackingId?: string;
  /** `gitea.bpg.pw/runnergroup-name`. */
  readonly groupName?: string;
}

export interface ClusterListeners {
  readonly onChange: () => void;
  readonly onFailure: (failure: Failure) => void;
}

export class LiveCluster {
  readonly #groups: readonly Watch<RunnerGroupObject>[];
  readonly #jobs: readonly Watch<TrackedJob>[];
  readonly #pods: readonly Watch<KubePod>[];
  /** Worked out anew only after a change: most rounds are about Gitea. */
  #groupList: readonly LiveGroup[] | undefined;
  #runnerList: readonly LiveRunnerOfApp[] | undefined;
  #read = new Map<string, { readonly uid: string; readonly generation: number; readonly live: LiveGroup }>();
  /** What the last lists were made of: what is the same stays the same object. */
  #groupsBefore: readonly LiveGroup[] = [];
  #judged = new Map<TrackedJob, { readonly pods: readonly KubePod[]; readonly live: LiveRunnerOfApp }>();
  #runnersBefore: readonly LiveRunnerOfApp[] = [];

  /** @param namespaces empty: all. */
  constructor(client: KubeClient, namespaces: readonly string[], listeners: ClusterListeners) {
    const where = namespaces.length > 0 ? namespaces : [undefined];
    const forget = (forgetList: () => void): ClusterListeners => ({
      onFailure: listeners.onFailure,
      onChange: () => {
        forgetList();
        listeners.onChange();
      },
    });
    const ofGroups = forget(() => {
      this.#groupList = undefined;
    });
    const ofRunners = forget(() => {
      this.#runnerList = undefined;
    });
    this.#groups = where.map((namespace) => new Watch(client, RUNNER_GROUPS, namespace, ofGroups));
    this.#jobs = where.map((namespace) => new Watch(client, TRACKED_JOBS, namespace, ofRunners));
    this.#pods = where.map((namespace) => new Watch(client, PODS, namespace, ofRunners));
  }

  /** True while every copy follows the API server: only then may anything be concluded from what is not there. */
  get fresh(): boolean {
    return [...this.#groups, ...this.#jobs, ...this.#pods].every(({ fresh }) => fresh);
  }

  /** Runs until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#groups, ...this.#jobs, ...this.#pods].map((watch) => watch.run(signal)));
  }

  /** By namespace and name; the same list until something of it changes. A group is read anew only when its generation has changed. */
  groups(): readonly LiveGroup[] {
    this.#groupList ??= sameOr(this.#groupsBefore, this.#readGroups());
    this.#groupsBefore = this.#groupList;
    return this.#groupList;
  }

  /** The same list until something of it changes, and of another list the same objects for what has not. */
  runners(): readonly LiveRunnerOfApp[] {
    this.#runnerList ??= sameOr(this.#runnersBefore, this.#judgeRunners());
    this.#runnersBefore = this.#runnerList;
    return this.#runnerList;
  }

  #readGroups(): readonly LiveGroup[] {
    const objects = this.#groups.flatMap(({ objects: found }) => [...found.values()]);
    const read = new Map<string, { readonly uid: string; readonly generation: number; readonly live: LiveGroup }>();
    for (const object of objects) {
      const key = keyOf(object);
      const { uid } = object.metadata;
      const generation = object.metadata.generation ?? 0;
      const known = this.#read.get(key);
      const trackingId = object.metadata.annotations?.[TRACKING_ID];
      const same = known && known.uid === uid && known.generation === generation && generation > 0;
      // The same object while only its status changes, which is our own doing.
      const unchanged = same && known.live.trackingId === trackingId;
      const live = unchanged
        ? known.live
        : {
            key,
            object,
            ...(trackingId !== undefined && { trackingId }),
            ...(same ? pick(known.live) : judgeGroup(object)),
          };
      read.set(key, { uid, generation, live });
    }
    this.#read = read;
    return [...read.values()].map(({ live }) => live).sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #judgeRunners(): readonly LiveRunnerOfApp[] {
    const podsOf = podsByJob(this.#pods.flatMap(({ objects }) => [...objects.values()]));
    const before = new Map(this.#runnersBefore.map((live) => [keyOfRunner(live), live]));
    const judged = new Map<TrackedJob, { readonly pods: readonly KubePod[]; readonly live: LiveRunnerOfApp }>();
    for (const job of this.#jobs.flatMap(({ objects }) => [...objects.values()])) {
      const pods = podsOf.get(job.metadata.uid) ?? NO_PODS;
      const known = this.#judged.get(job);
      if (known && isSame(known.pods, pods)) {
        judged.set(job, known);
        continue;
      }
      const live = judgeRunner(job, pods);
      const old = before.get(keyOfRunner(live));
      // Most events are about fields that we do not read.
      judged.set(job, { pods, live: old && isDeepStrictEqual(old, live) ? old : live });
    }
    this.#judged = judged;
    return [...judged.values()].map(({ live }) => live);
  }
}

const NO_PODS: readonly KubePod[] = [];

function judgeRunner(job: TrackedJob, pods: readonly KubePod[]): LiveRunnerOfApp {
  const annotations = job.metadata.annotations ?? {};
  const trackingId = annotations[TRACKING_ID];
  const groupName = job.metadata.labels?.[GROUP_NAME];
  return {
    job: judgeJob(job, pods),
    annotations,
    ...(trackingId !== undefined && { trackingId }),
    ...(groupName !== undefined && { groupName }),
  };
}

function keyOfRunner({ job }: LiveRunnerOfApp): string {
  return `${job.namespace}/${job.name}`;
}

function sameOr<T>(before: readonly T[], now: readonly T[]): readonly T[] {
  return isSame(before, now) ? before : now;
}

type Judged = Pick<LiveGroup, 'group' | 'problem'>;

function pick({ group, problem }: LiveGroup): Judged {
  return { ...(group && { group }), ...(problem !== undefined && { problem }) };
}

function judgeGroup({ metadata, spec }: RunnerGroupObject): Judged {
  return runnerGroupFromObject({ namespace: metadata.namespace, name: metadata.name, spec });
}
