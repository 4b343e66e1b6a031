/** What is told of jobs and groups, as data: `explain -o json` prints it, and all sentences are made of it. Pure. */
import type { EmittedRunner, GroupKey, GroupSummary, JobDecision, Plan } from '../planner/decisions.ts';
import type { LiveJob, PodTrouble } from '../planner/evidence.ts';
import { isSame } from '../shared/keys.ts';
import type { BlockedBy, Uncovered } from './held-back.ts';
import type { JobState } from './job-state.ts';
import type { Overtime, WaitEstimate } from './wait-estimate.ts';
import type { WhereIAm } from './where.ts';

/** What `explain -o json` prints, and all that the text is made from. */
export interface Explanation {
  readonly checkedAt: string;
  /** Absent: the RunnerGroups are those of files, and nothing but Jobs was read from a cluster. */
  readonly where?: WhereIAm;
  readonly groups: readonly ExplainedGroup[];
  /** Unfinished jobs: the worst state first, then the oldest. */
  readonly jobs: readonly ExplainedJob[];
  readonly runners: Plan['runners'];
  /** Jobs of ours in Kubernetes that have not ended well. Absent: nobody looked. */
  readonly liveJobs?: readonly LiveJob[];
}

/** A decision about a job that has not finished. */
export type OpenDecision = Exclude<JobDecision, { readonly verdict: 'done' }>;

/** A job that has not finished, and what only people need to know of it. */
export type ExplainedJob = OpenDecision &
  Partial<BlockedBy> &
  Wait &
  Progress &
  Uncovered & {
    readonly state: JobState;
    /** A name of its repository from before a rename, by which the group chooses it. Absent: none is known. */
    readonly chosenBefore?: string;
    /** For `blocked`: what has started its run. Absent: not known. */
    readonly event?: string;
    /** Its repository has Actions switched off. Absent: it has not, or the run was not asked for. */
    readonly isActionsOff?: true;
    /** Its runner is wanted, and nobody looked whether Kubernetes has it. */
    readonly isUnseen?: true;
    /** Its runner is wanted, and Kubernetes has no Job for it, or its pod waits for what `serve` is to give it. */
    readonly notCreated?: NotCreated;
    /** Until then its runner may take its time, ms since 1970. */
    readonly waitUntilMs?: number;
  };

/** What a job waits for that a cap holds back, and what is to be told of a job that has a slot. */
export interface Wait extends Strain {
  /** How long it will wait. Absent: no finished job tells, or many jobs come before it. */
  readonly estimate?: WaitEstimate;
  readonly cap?: number;
  /** What holds its slots for too long. */
  readonly holders?: readonly Holder[];
}

/** Why a slot may not come free soon. Absent fields: it may. */
export interface Strain {
  /** Its CI job has run for far longer than those of its name. */
  readonly overtime?: Overtime;
  /** Its pod is being deleted, and may finish until then, ms since 1970. */
  readonly endsByMs?: number;
  /** Its pod cannot start. */
  readonly trouble?: PodTrouble;
  /** Gitea has not heard of its runner for a minute. `why`: what Kubernetes says of the pod. */
  readonly offline?: { readonly why?: string };
}

/** A CI job that holds a slot for too long. */
export interface Holder extends Strain {
  readonly id: number;
  readonly runner: string;
  readonly repository: string;
}

/** Absent fields: there is nothing to tell. */
export interface Progress {
  /** For a job that waits and whose last runner failed or was given up, and for one whose runner is lost: that runner, and how it ended. */
  readonly ended?: PodTrouble & { readonly runner: string };
  /** Its runner is registered and idle for so long, ms, and Gitea does not give it the job. */
  readonly idleMs?: number;
  /** Its runners come to nothing: they are `idle`, or several were `tried`. One more alone does not help. */
  readonly inVain?: 'idle' | 'tried';
  /** It runs in Gitea, and its runner is gone. `outlived`: Gitea shows it in progress for longer than a runner lives. */
  readonly loss?: 'lost' | 'outlived';
  /** As `Strain.offline`. */
  readonly offline?: { readonly why?: string };
}

/** Why the Kubernetes Job of a runner that is wanted is not there, and what to do. */
export interface NotCreated {
  readonly why: string;
  readonly next: string;
  /** It does not come by itself. */
  readonly isUnserved: boolean;
}

export interface ExplainedGroup extends GroupKey, Omit<GroupSummary, 'group'> {
  readonly file: string;
  readonly gitea: string;
  readonly scope: string;
  readonly labels: readonly string[];
  readonly suspended: boolean;
  /** What is said of its suspension in the cluster. Absent: it is not suspended there. */
  readonly suspension?: string;
  /** Nobody looked at its Jobs: how its runners that Gitea does not show are doing is not known. */
  readonly isUnseen?: true;
  /** Runners that take slots although their pods cannot start. */
  readonly cannotStart: number;
}

/** The group that a job waits for or runs in. For labels that no group covers: the nearest one. Undefined: there is none. */
export function groupOfJob(job: ExplainedJob): GroupKey | undefined {
  return job.verdict === 'held' ? (job.group ?? job.nearest) : job.group;
}

export function findGroup(key: GroupKey | undefined, groups: readonly ExplainedGroup[]): ExplainedGroup | undefined {
  return groups.find((group) => isSame(key, group));
}

export function emittedRunners({ runners }: Pick<Plan, 'runners'>): ReadonlyMap<string, EmittedRunner> {
  return new Map(runners.flatMap((decision) => (decision.emit ? [[decision.runner, decision] as const] : [])));
}

export function isNotCovered(job: OpenDecision): boolean {
  return job.verdict === 'held' && job.because === 'labels-not-covered';
}
