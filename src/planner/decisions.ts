/**
 * The answer of the planner: one decision for every job and every runner of ours that was seen, each with one reason. `generate`
 * renders the runners with `emit`. `explain` prints everything. Sentences for people are made there, not here.
 */
import type { Job, LiveJob, PodTrouble } from './evidence.ts';

/** Names a RunnerGroup. */
export interface GroupKey {
  readonly namespace: string;
  readonly name: string;
}

/** Why a job has its runner. */
export type ServedBy =
  /** The runner that was made for this job lives. */
  | 'own-runner'
  /** Gitea alone: it takes over the runner of another job, which its own runner or somebody else took, or which was cancelled. */
  | 'chain'
  /** A free runner without a job of its own. */
  | 'free-runner'
  /** A new runner is asked for. With Gitea alone it may be starting already. */
  | 'new-runner';

/** Why a job has no runner. */
export type HeldBecause =
  | 'blocked'
  | 'no-labels'
  | 'labels-not-covered'
  | 'repository-not-chosen'
  | 'suspended'
  | 'cap'
  /** Another limit has no slot for the job, or for another job to which Gitea could give its runner. */
  | 'limit'
  /** The last runner of the job failed. The next one is tried later. */
  | 'backing-off'
  /** A runner of another Application is there for it. */
  | 'served-elsewhere';

export type JobDecision =
  | { readonly job: Job; readonly origin: string; readonly verdict: 'done' }
  | {
      readonly job: Job;
      readonly origin: string;
      readonly verdict: 'running';
      /** The group whose runner runs it. Absent: the runner is not ours. */
      readonly group?: GroupKey;
    }
  | {
      readonly job: Job;
      readonly origin: string;
      readonly verdict: 'served';
      readonly by: ServedBy;
      readonly group: GroupKey;
      readonly runner: string;
    }
  | {
      readonly job: Job;
      readonly origin: string;
      readonly verdict: 'held';
      readonly because: HeldBecause;
      /** The group it waits for; absent when none covers it. */
      readonly group?: GroupKey;
      /** With `labels-not-covered`: the labels that the nearest group lacks, and that group. */
      readonly missing?: readonly string[];
      readonly nearest?: GroupKey;
      /** With `cap`: position of the job among those that wait for slots of the group, from 1. */
      readonly position?: number;
      /** With `cap` and fairness `per-repository`: the repository whose job gets the next slot of the group. */
      readonly next?: string;
      /** With `limit`: the limit that holds the job. */
      readonly limit?: HoldingLimit;
      /** With `served-elsewhere`: name of the runner of the other Application. */
      readonly runner?: string;
      /** With `backing-off`: when the next runner may be tried. */
      readonly untilMs?: number;
    };

/** A limit that holds jobs back. */
export interface HoldingLimit {
  /** Name of a limit that RunnerGroups share. Absent: it is of one RunnerGroup alone. */
  readonly name?: string;
  readonly most: number;
  /** The repository or organization that it is of. Absent: it is for all together. */
  readonly of?: string;
  /** Patterns of the branches that it is for. Absent: for all. */
  readonly branches?: readonly string[];
  /** Jobs of other Applications that take slots under it: the first three. Absent: none. */
  readonly others?: readonly Pick<LiveJob, 'name' | 'application'>[];
}

/** Why a runner's Job is in the output. */
export type EmittedBecause =
  | 'busy'
  /** Gitea shows its row online and busy, but lists no job: it cleans up after a cancel. */
  | 'finishing'
  /** The CI job failed, and the pod waits so that people can look at it (`keepFailedSeconds`, docs/adr/0037). */
  | 'debugging'
  /** The runner was at work when its group moved to another Gitea or scope. Its Job stays until the pod ends. */
  | 'moved'
  | ServedBy
  /** No job needs the runner. It stays while CI goes on, at most one spawn timeout (docs/adr/0022). */
  | 'spare'
  /** No job needs the runner. It fills the pool of its group (`minIdleRunners`, docs/adr/0035). */
  | 'warm'
  /** The pod is lost, but Gitea still shows the job in progress. A record without a slot (docs/adr/0003, 0021). */
  | 'lost'
  /** A CI job names the runner, but somebody else registered it. It is printed because of the doubt, without a slot. */
  | 'foreign'
  /** No job needs it, but its Job is pinned, or another Application's. It is printed once more, then pruned. */
  | 'unpinning'
  /** The Job failed. It stays as a record while its CI job waits for a runner, and takes no slot (docs/adr/0002). */
  | 'back-off-record'
  /** The group cannot be planned now. The Job stays as it is, whatever the runner is doing (docs/adr/0036). */
  | 'group-in-trouble';

/** Why a runner's Job is not in the output. */
export type DroppedBecause =
  | 'used-up'
  /** The Job has ended, and no CI job of it is known. */
  | 'failed'
  | 'never-came'
  /** The pod has not started within `pendingDeadlineMs`: a job gets its slot, or another runner (docs/adr/0034). */
  | 'stuck'
  /** The RunnerGroup was changed before the runner registered. */
  | 'replaced'
  | 'disabled'
  | 'suspended'
  | 'surplus'
  /** An idle runner of a pool: the group was changed, keeps fewer, or has no slot left under its cap. */
  | 'drained'
  | 'deleting'
  /** Gitea lists it as idle, but its Job is gone, while other Jobs of its group are seen. */
  | 'gone'
  | 'offline';

/** A problem that keeps the pod of a runner from starting, or that ended the pod before its runner started. */
export interface RunnerTrouble extends PodTrouble {
  /** True if the problem is final or lasts longer than nodes and images take (`spawnTimeoutMs`): people are told. */
  readonly isLate: boolean;
  /** Same value as `LiveJob.stillSinceMs`. */
  readonly stillSinceMs?: number;
  /** An Event says that its node or its image is on the way: by when there is nothing to do. The planner reads no Events. */
  readonly comesByMs?: number;
}

/** How long a runner is held for debugging after its CI job. Times by Gitea's clock, whole seconds. */
export interface HeldUntil {
  /** End of the CI job. */
  readonly endedAtMs: number;
  /** Not later than `endedAtMs` if the pod does not wait for people. */
  readonly untilMs: number;
  /** The time that a person asked for is not used: it is not a time, or is later than the longest stay. */
  readonly extension?: 'unreadable' | 'too-long';
}

export type RunnerDecision =
  | {
      readonly emit: true;
      readonly runner: string;
      readonly group: GroupKey;
      readonly because: EmittedBecause;
      /** True if the Job is pinned: from the next sync on it is never pruned. */
      readonly pinned: boolean;
      /**
       * Argo CD keeps the Job as it is and does not create it. For records, new runners that wait for slots (`shards.ts`), runners that
       * no job needs, groups in trouble, and runners at work whose Job is pinned or unseen (docs/adr/0020).
       */
      readonly skip?: true;
      /** The job that the runner runs, ran or is wanted for. Absent where there is none, as for `spare`. */
      readonly job?: Job;
      /** PriorityClass of the pod. A living Job keeps the class that it was created with. */
      readonly priorityClass?: string;
      /** The size of its group that it is of, and the slots that it takes, if there are more than 1. */
      readonly size?: string;
      readonly weight?: number;
      /** Names of its limits that other groups share, and the scope of a group that has some, or bound runners. Absent: none. */
      readonly limits?: readonly string[];
      readonly scope?: string;
      /** The level at which `serve` registers it, as `scopeWord` writes it. Absent: its pod does. A living one keeps it. */
      readonly registeredAt?: string;
      /** The queue of Kueue that lets it start. Absent: none. A living one keeps it. */
      readonly queue?: string;
      /** The shard that prints it. Absent: there are none. */
      readonly shard?: number;
      readonly trouble?: RunnerTrouble;
      /** Runners before it that were given up one after the other. Absent: none. */
      readonly triedBefore?: number;
      /** With `lost`: Gitea has shown the CI job in progress for longer than a runner lives, and may never end it. */
      readonly isOutlived?: true;
      /** With `debugging`, and with `unpinning` after it: how long the runner is held. */
      readonly keep?: HeldUntil;
    }
  | { readonly emit: false; readonly runner: string; readonly group: GroupKey; readonly because: DroppedBecause };

/** A decision that puts a runner's Job into the output. */
export type EmittedRunner = Extract<RunnerDecision, { readonly emit: true }>;

/** False for records, for runners of somebody else, and for a Job that only loses its pin: the next runner gets their slot. */
export function takesSlot({ because }: EmittedRunner): boolean {
  return because !== 'lost' && because !== 'foreign' && because !== 'back-off-record' && because !== 'unpinning';
}

/** Counts of one group, for `explain`, the status line and metrics. */
export interface GroupSummary {
  readonly group: GroupKey;
  readonly cap: number;
  readonly busy: number;
  /** Runners in the output that are not busy and wanted for a job. */
  readonly waiting: number;
  /** Runners in the output whose CI job failed and whose pod waits for people. They take slots under the cap. */
  readonly debugging: number;
  /** Runners in the output that are kept while CI goes on. */
  readonly spare: number;
  /** Runners in the output that fill the pool, and how many the group wants there. */
  readonly warm: number;
  readonly minIdle: number;
  /** Ready jobs that wait for this group (its limits, suspension or back-off). */
  readonly held: number;
  /** Queued jobs of its scope that were not read, because there are too many. Absent: none. */
  readonly unreadJobs?: number;
  /** Current name of the group's scope in Gitea. Absent: the name in the spec. */
  readonly renamedTo?: string;
}

/** The frozen result. Every list is sorted: groups by namespace and name, jobs by age, runners by group and name. */
export interface Plan {
  readonly groups: readonly GroupSummary[];
  readonly jobs: readonly JobDecision[];
  readonly runners: readonly RunnerDecision[];
}
