/**
 * What the planner answers: one decision for every job and for every runner of ours that was seen, each with one reason. `generate`
 * renders the runners with `emit`. `explain` prints everything. Sentences for people are made there, not here.
 */
import type { Job, LiveJob, PodTrouble } from './evidence.ts';

/** Names a RunnerGroup. */
export interface GroupKey {
  readonly namespace: string;
  readonly name: string;
}

/** Why a job has the runner it has. */
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
  /** Another limit has no slot for it, or for a job to which Gitea could give its runner. */
  | 'limit'
  /** Its last runner failed. The next one is tried later. */
  | 'backing-off'
  /** A runner of another Application is there for it. */
  | 'served-elsewhere';

export type JobDecision =
  | { readonly job: Job; readonly origin: string; readonly verdict: 'done' }
  | {
      readonly job: Job;
      readonly origin: string;
      readonly verdict: 'running';
      /** Absent: claimed by a runner that is not ours. */
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
      /** For `labels-not-covered`: the labels that the nearest group lacks, and that group. */
      readonly missing?: readonly string[];
      readonly nearest?: GroupKey;
      /** For `cap`: its position among the jobs that wait for slots of the group, from 1. */
      readonly position?: number;
      /** For `cap` with fairness `per-repository`: the repository whose job gets the next slot of the group. */
      readonly next?: string;
      /** For `limit`: that one. */
      readonly limit?: HoldingLimit;
      /** For `served-elsewhere`: that runner. */
      readonly runner?: string;
      /** For `backing-off`: when the next runner may be tried. */
      readonly untilMs?: number;
    };

/** A limit that holds jobs back. */
export interface HoldingLimit {
  /** Absent: it is of one RunnerGroup alone. */
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
  /** Its CI job failed, and its pod waits so that people can look at it (`keepFailedSeconds`, docs/adr/0037). */
  | 'debugging'
  /** It was at work when its group moved to another Gitea or scope. It stays until its pod ends. */
  | 'moved'
  | ServedBy
  /** No job needs it. It is kept while CI goes on that it could have taken, until it is one spawn timeout old (docs/adr/0022). */
  | 'spare'
  /** No job needs it. It fills the pool of its group (`minIdleRunners`, docs/adr/0035). */
  | 'warm'
  /** Its pod is lost, but Gitea still shows its CI job in progress. Its Job stays as a record and takes no slot (docs/adr/0003, 0021). */
  | 'lost'
  /** A CI job names it, but it is none of ours: somebody else registered it under such a name. Doubt prints it, and it takes no slot. */
  | 'foreign'
  /** No job needs it, but its Job is still pinned, or is of another Application. It is printed once more, so that the sync after this one prunes it. */
  | 'unpinning'
  /** Its Job failed. The Job stays as a record while its CI job waits for a runner, and takes no slot (docs/adr/0002). */
  | 'back-off-record'
  /** Its group cannot be planned now. Its Job stays as it is, whatever it is doing (docs/adr/0036). */
  | 'group-in-trouble';

/** Why a runner's Job is not in the output. */
export type DroppedBecause =
  | 'used-up'
  /** Its Job has ended, and no CI job is known that it ran. */
  | 'failed'
  | 'never-came'
  /** Its pod has not started within `pendingDeadlineMs`: a job that waits gets its slot, or its job another runner (docs/adr/0034). */
  | 'stuck'
  /** Its RunnerGroup was changed before it registered. */
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

/** What keeps the pod of a runner from starting, or has ended it before its runner started. */
export interface RunnerTrouble extends PodTrouble {
  /** It lasts longer than nodes and images take to come (`spawnTimeoutMs`), or it is final: people should know. */
  readonly isLate: boolean;
  /** As `LiveJob.stillSinceMs`. */
  readonly stillSinceMs?: number;
  /** An Event says that its node or its image is on the way: by when there is nothing to do. The planner reads no Events. */
  readonly comesByMs?: number;
}

/** Until when a runner is held for debugging after its CI job. Times by Gitea's clock, whole seconds. */
export interface HeldUntil {
  /** When its CI job ended. */
  readonly endedAtMs: number;
  /** Not later than `endedAtMs`: nobody is to look at it. */
  readonly untilMs: number;
  /** What somebody asked for is not what counts: it is no time, or later than the longest stay. */
  readonly extension?: 'unreadable' | 'too-long';
}

export type RunnerDecision =
  | {
      readonly emit: true;
      readonly runner: string;
      readonly group: GroupKey;
      readonly because: EmittedBecause;
      /** From the next sync on nothing prunes its Job. */
      readonly pinned: boolean;
      /**
       * Argo CD keeps the Job as it is and does not create it. For records, new runners that wait for slots (`shards.ts`), runners that
       * no job needs, groups in trouble, and runners at work whose Job is pinned or unseen (docs/adr/0020).
       */
      readonly skip?: true;
      /**
       * The job that it runs, ran or is wanted for. Absent for one that is finishing, spare, warm, unpinning or of a group in trouble,
       * and for a record.
       */
      readonly job?: Job;
      /** PriorityClass of its pod. A Job that exists has the one that it was created with. */
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
      /** For `lost`: Gitea shows its CI job in progress for longer than a runner lives. By itself Gitea may never end it. */
      readonly isOutlived?: true;
      /** For `debugging`, and for `unpinning` after it. */
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
  /** Runners in the output whose CI job failed and that stay for a look. They take slots under the cap. */
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
  /** The name that Gitea has for its scope now. Absent: that of the spec. */
  readonly renamedTo?: string;
}

/** The frozen result. Every list is sorted: groups by namespace and name, jobs by age, runners by group and name. */
export interface Plan {
  readonly groups: readonly GroupSummary[];
  readonly jobs: readonly JobDecision[];
  readonly runners: readonly RunnerDecision[];
}
