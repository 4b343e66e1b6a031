/** Data about jobs and groups: `explain -o json` prints it, and all sentences are made from it. Pure. */
import type { EmittedRunner, GroupKey, GroupSummary, JobDecision, Plan } from '../planner/decisions.ts';
import type { LiveJob, PodEnd, PodTrouble } from '../planner/evidence.ts';
import { isSame } from '../shared/keys.ts';
import type { BlockedBy } from './blocked.ts';
import type { JobState } from './job-state.ts';
import type { Uncovered } from './uncovered-labels.ts';
import type { Overtime, WaitEstimate } from './wait-estimate.ts';
import type { UnservedGroup, WhereIAm } from './where.ts';

/** The answer of `explain`. */
export interface Explanation {
  readonly checkedAt: string;
  /** Absent: the RunnerGroups were read from files, and of a cluster only Jobs were read. */
  readonly where?: WhereIAm;
  readonly groups: readonly ExplainedGroup[];
  /** Unfinished jobs: the worst state first, then the oldest. */
  readonly jobs: readonly ExplainedJob[];
  readonly runners: Plan['runners'];
  /** Jobs of this program in Kubernetes that have not ended well. Absent: nobody looked. */
  readonly liveJobs?: readonly LiveJob[];
}

/** A decision about a job that has not finished. */
export type OpenDecision = Exclude<JobDecision, { readonly verdict: 'done' }>;

/** A job that has not finished, with facts for people. */
export type ExplainedJob = OpenDecision &
  Partial<BlockedBy> &
  Wait &
  Progress &
  Uncovered & {
    readonly state: JobState;
    /** A name of its repository from before a rename, by which the group chooses it. Absent: none is known. */
    readonly chosenBefore?: string;
    /** With `blocked`: the event that started its run. Absent: not known. */
    readonly event?: string;
    /** Actions is switched off in its repository. Absent: it is on, or that was not asked. */
    readonly isActionsOff?: true;
    /** The runner is wanted, and nobody looked whether Kubernetes has its Job. */
    readonly isUnseen?: true;
    /** The runner is wanted. Kubernetes has no Job for it, or its pod waits for credentials from `serve`. */
    readonly notCreated?: NotCreated;
    /** Before this time the runner is not late, ms since 1970. */
    readonly waitUntilMs?: number;
    /** With `labels-not-covered`: a RunnerGroup that cannot be served, and may have its labels. */
    readonly brokenGroup?: UnservedGroup;
    /** With `labels-not-covered`: the cluster may lack what git has. Else its group differs from git. */
    readonly behindGit?: NotCreated;
  };

/** For a job held by the cap or a limit: its wait. For a job with a slot: what may keep that slot taken. */
export interface Wait extends SlotDelay {
  /** Estimated wait. Absent: no finished job gives an estimate, or many jobs come first. */
  readonly estimate?: WaitEstimate;
  readonly cap?: number;
  /** Slots that it takes. Absent: 1. */
  readonly weight?: number;
  /** CI jobs that hold slots of its group, or of its limit, for too long. */
  readonly holders?: readonly Holder[];
}

/** Why a slot may stay taken for long. */
export interface SlotDelay {
  /** Set if the CI job has run for far longer than others of its name. */
  readonly overtime?: Overtime;
  /** Its pod is being deleted, and may finish until then, ms since 1970. `disruption`: by whom, as Kubernetes says. */
  readonly endsByMs?: number;
  readonly disruption?: PodEnd;
  /** Why the pod cannot start. */
  readonly trouble?: PodTrouble;
  /** Gitea has not heard of its runner for a minute. `why`: what Kubernetes says of the pod. `isGone`: there is no Job of it. */
  readonly offline?: { readonly why?: string; readonly isGone?: true };
}

/** A CI job that holds a slot for too long. */
export interface Holder extends SlotDelay {
  readonly id: number;
  readonly runner: string;
  readonly group: GroupKey;
  readonly repository: string;
}

/** What went wrong with the runner of a job, or with its last runners. */
export interface Progress extends Pick<SlotDelay, 'offline'> {
  /** How the job's last runner ended. Present only if it failed, was given up or is lost. */
  readonly ended?: PodTrouble & { readonly runner: string };
  /** How a sidecar of its runner died, for example that of docker. The runner goes on. */
  readonly sidecar?: PodTrouble;
  /** How long the runner has been registered and idle, ms. Gitea does not give it the job. */
  readonly idleMs?: number;
  /** Its pod has run for a minute, and its row in Gitea is not there, or shows it offline. */
  readonly row?: 'missing' | 'offline';
  /** Why another runner alone does not help: its runners stay `idle` or `offline`, or several were `tried`. */
  readonly inVain?: 'idle' | 'offline' | 'tried';
  /** Gitea shows the job running, and its runner is gone. `outlived`: in progress for longer than a runner lives. */
  readonly loss?: 'lost' | 'outlived';
}

/** Why the Kubernetes Job of a wanted runner does not exist, and what to do. */
export interface NotCreated {
  readonly why: string;
  readonly next: string;
  /** Somebody must act: it does not come by itself. */
  readonly isUnserved: boolean;
  /** `next` is more than to wait. */
  readonly isKnown?: true;
}

export interface ExplainedGroup extends GroupKey, Omit<GroupSummary, 'group'> {
  readonly file: string;
  readonly gitea: string;
  readonly scope: string;
  readonly labels: readonly string[];
  readonly suspended: boolean;
  /** Who suspended the group in the cluster, and why. Absent: it is not suspended there. */
  readonly suspension?: string;
  /** Nobody looked at the group's Jobs, so runners that Gitea does not show are unknown. */
  readonly isUnseen?: true;
  /** Runners that take slots although their pods cannot start. */
  readonly cannotStart: number;
  /** Slots that its runners take. Absent: one each. */
  readonly slots?: number;
  /** Name of the Secret with the registration token. Absent: `serve` registers the runners. */
  readonly registrationSecret?: string;
}

/** The group that a job waits for or runs in. If no group covers its labels: the nearest one, if there is any. */
export function groupOfJob(job: ExplainedJob): GroupKey | undefined {
  return job.verdict === 'held' ? (job.group ?? job.nearest) : job.group;
}

/** Returns the group of this namespace and name. */
export function findGroup(key: GroupKey | undefined, groups: readonly ExplainedGroup[]): ExplainedGroup | undefined {
  return groups.find((group) => isSame(key, group));
}

/** Returns the runners that the plan has, by name. */
export function emittedRunners({ runners }: Pick<Plan, 'runners'>): ReadonlyMap<string, EmittedRunner> {
  return new Map(runners.flatMap((decision) => (decision.emit ? [[decision.runner, decision] as const] : [])));
}

/** True if no group has the labels of the job. */
export function isNotCovered(job: OpenDecision): boolean {
  return job.verdict === 'held' && job.because === 'labels-not-covered';
}
