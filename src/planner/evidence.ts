/**
 * The evidence of a plan: plain data from `src/clients/gitea` and `src/clients/kubernetes`. Only the planner judges it.
 * Only presence is evidence: the absence of a row proves nothing. The absence of a Job does only where its pods are absent, too.
 */
import { ByGitea, compareText } from './collections.ts';

/**
 * State of a Gitea job in the planner's words (Gitea: `models/actions/status.go`, shown by `ToActionsStatus`).
 * - `queued`: ready; the next fitting runner takes it.
 * - `blocked`: waits for `needs`, concurrency or approval (API word `waiting` and every word we do not know).
 * - `in_progress`: a runner has claimed it.
 * - `completed`: success, failure, cancelled or skipped.
 */
export type JobStatus = 'queued' | 'blocked' | 'in_progress' | 'completed';

/** One Gitea Actions job, as one look found it. */
export interface Job {
  /** Database id, unique on one Gitea. Safe integer. */
  readonly id: number;
  /**
   * Counts the stays of this id in the queue, equal while queued and while running. Gitea 1.27+: `run_attempt`.
   * Up to 1.26 `run_attempt` grows at the claim, so there it is `run_attempt - 1` for claimed jobs (never below 0).
   */
  readonly attempt: number;
  readonly runId: number;
  /** `owner/name`. */
  readonly repository: string;
  /** Branch of the run. Empty: none, for example a tag or a pull request. Absent: not known. */
  readonly branch?: string;
  /** The first seven characters of its commit, for people. Absent: not known. */
  readonly commit?: string;
  /** Display name; written by the workflow's author, so hostile. */
  readonly name: string;
  /** Page of the job for people (`html_url`); may be empty. */
  readonly url: string;
  /** `runs-on`; empty when Gitea says `[]` or `null`. */
  readonly labels: readonly string[];
  readonly status: JobStatus;
  readonly createdAtMs: number;
  readonly startedAtMs?: number;
  readonly completedAtMs?: number;
  /** Gitea's conclusion, unless it is `success` or a word that is not known. Only of completed jobs. */
  readonly conclusion?: 'failure' | 'cancelled' | 'skipped';
  /** Name of the runner that claimed it; gone after Gitea's nightly clean-up. */
  readonly runner?: string;
}

/** A row of Gitea's runner list. */
export interface RegisteredRunner {
  readonly id: number;
  readonly name: string;
  /** Seen by Gitea within the last 60 s. */
  readonly online: boolean;
  /** A task or log report within the last 10 s; not the same as "has a task". */
  readonly busy: boolean;
  /** Gitea 1.26+; false before. */
  readonly disabled: boolean;
  readonly ephemeral: boolean;
  /** Labels that the runner registered with, names only. Gitea gives it jobs by these, whatever its group says now. */
  readonly labels: readonly string[];
}

/**
 * Result of one look at one scope of one Gitea. `jobs` has each id once: all queued and in_progress jobs (but see
 * `unreadJobs`), the newest completed ones, and blocked ones if they were asked for.
 */
export interface Look {
  readonly jobs: readonly Job[];
  readonly runners: readonly RegisteredRunner[];
  /** The rows of all runners of this scope were read. Absent: `runners` proves nothing by what it lacks. */
  readonly rowsWereRead?: true;
  /** Queued jobs that were left out, because there are too many. Absent: none. */
  readonly unreadJobs?: number;
  /** Current name of the scope's owner or repository in Gitea. Absent: unchanged (docs/adr/0077). */
  readonly renamedTo?: string;
}

/**
 * - `starting`: its pod does not run yet. `running`: its runner container runs.
 * - `complete`, `failed`: final. `deleting`: has a deletionTimestamp.
 * - `unknown`: anything else; treated as running.
 */
export type LiveState = 'starting' | 'running' | 'complete' | 'failed' | 'deleting' | 'unknown';

export function hasEnded(state: LiveState | undefined): boolean {
  return state === 'complete' || state === 'failed';
}

/** True for a Job that has ended or is being deleted. */
export function isOver(state: LiveState): boolean {
  return hasEnded(state) || state === 'deleting';
}

/** True for a Job that was at work at the last sync, and may still be. */
export function isPinnedAlive({ pinned, state }: Pick<LiveJob, 'pinned' | 'state'>): boolean {
  return pinned === true && !isOver(state);
}

/** True for a Job whose runner is bound to a repository and may be at work: then its row is in that one's list. */
export function isBoundAtWork({ boundTo, state }: Pick<LiveJob, 'boundTo' | 'state'>): boolean {
  return boundTo !== undefined && (state === 'running' || state === 'unknown');
}

/** `PodTrouble.reason` of a Job for which Kubernetes has created no pod. */
export const NO_POD = 'NoPod';

/** A problem that keeps a pod from starting, or that ended it before its runner started. */
export interface PodTrouble {
  /** Kubernetes' word, e.g. `ImagePullBackOff` or `Unschedulable`, or `NO_POD`. */
  readonly reason: string;
  /** Kubernetes' sentence: one printable line of bounded length. */
  readonly message?: string;
  /** The kubelet says it: another pod may do better, on another node. */
  readonly ofNode?: true;
  /** Somebody holds its Job (`spec.suspend`) or its pod (`schedulingGates`), and lets it start. `queue`: Kueue does, when its turn in this queue comes. */
  readonly isSuspended?: true;
  readonly queue?: string;
  /** Name of its node, and of the init container that runs or crashes. */
  readonly node?: string;
  readonly container?: string;
  /** Its claims (PersistentVolumeClaims), for a pod without a node. Absent: it has none. */
  readonly claims?: readonly string[];
}

/** How the pod of a runner ended badly, for people. Each string is one printable line of bounded length. */
export interface PodEnd {
  /** Kubernetes' word, e.g. `OOMKilled`. */
  readonly reason: string;
  readonly message?: string;
  /** Name of its node. Absent: the node had no part in it, or is not known. */
  readonly node?: string;
}

/** A Kubernetes Job of ours that exists right now. */
export interface LiveJob {
  readonly namespace: string;
  readonly name: string;
  readonly state: LiveState;
  /** When its pod got the node. Without one: when Kubernetes might start it, at its creation or after a suspension. */
  readonly createdAtMs: number;
  /** The queue of Kueue that it was made for (docs/adr/0100). Absent: none. */
  readonly queue?: string;
  /** Kueue has started and stopped the Job. It may start again: then a second runner of the same name runs. */
  readonly isStopped?: true;
  /** With `starting`: what the pod waits for, if it does not come by itself. With `failed`: why it never started. */
  readonly trouble?: PodTrouble;
  /** Kubernetes names no fault in `trouble`. Time alone tells whether the pod is stuck: since when it has got no further. */
  readonly stillSinceMs?: number;
  /** How many runners before it were given up in a row, by its annotation. Each doubles the time for the next. */
  readonly triedBefore?: number;
  /** How the pod of an ended or deleted Job ended badly. The planner does not read it. */
  readonly end?: PodEnd;
  /** How a sidecar, as that of docker, died beside the runner. The planner does not read it. */
  readonly sidecarEnd?: PodTrouble;
  /** PriorityClass of its pod template. It cannot be changed while the Job lives. */
  readonly priorityClass?: string;
  /** When the runner's container started. Only with `running`. */
  readonly runningSinceMs?: number;
  /** When the grace period of a deleted pod ends. The planner does not read it. */
  readonly endsByMs?: number;
  /** Who deletes the pod, if Kubernetes says so. The planner does not read it. */
  readonly disruption?: PodEnd;
  /** When the Job became complete or failed. */
  readonly finishedAtMs?: number;
  /** Argo CD must not prune it: it was pinned at the last sync. */
  readonly pinned?: boolean;
  /** Page of the CI job that it runs or was last wanted for (`html_url`), as it was printed. */
  readonly jobUrl?: string;
  /** When the CI job of a waiting pod ended, as printed, by Gitea's clock (`debugging.ts`). */
  readonly endedAtMs?: number;
  /** Until when a runner stays for debugging, as printed, by Gitea's clock. */
  readonly keepUntilMs?: number;
  /** Until when a person wants the runner to stay. `unreadable`: the annotation is not a time. */
  readonly extendUntilMs?: number | 'unreadable';
  /** Repository of the runner's CI job, `owner/name`. */
  readonly repository?: string;
  /** Base URL of the Gitea that its pod was made for. */
  readonly giteaUrl?: string;
  /** Labels that its pod was made with, `name:schema`, with commas between. */
  readonly labels?: string;
  /** The size that it was made for, as it was printed. */
  readonly size?: string;
  /** Slots that it takes under each limit, as it was printed. Absent: 1. */
  readonly weight?: number;
  /** Names of the limits that it counts under, as they were printed. */
  readonly limits?: readonly string[];
  /** Scope of its group, as it was printed. Absent: nothing asks for it (`sizeParts`). */
  readonly scope?: string;
  /** The level at which `serve` registers its runner, as it was printed. Absent: its pod does. */
  readonly registeredAt?: string;
  /** `owner/name`: Gitea gives its runner only jobs of this repository. Absent: it serves all of its scope. */
  readonly boundTo?: string;
  /** The shard that it was made for (`shards.ts`). Absent: none. */
  readonly shard?: number;
  /** Argo CD's name of the Application that manages it, as its tracking annotation tells. */
  readonly application?: string;
  /** The whole spec of a Job that is to be printed again (docs/adr/0063). The planner does not read it. */
  readonly spec?: object;
}

/** Width of a scope. A job goes to the narrowest scope first. */
export type ScopeWidth = 'repo' | 'owner' | 'global';

/**
 * Which ready jobs get the slots when the cap holds some back.
 * - `oldest`: those that have been ready longest, as Gitea hands them out.
 * - `per-repository`: round robin, the repository with the fewest runners at work first.
 */
export type Fairness = 'oldest' | 'per-repository';

/** The runners up to the `threshold`-th of a group have this PriorityClass, unless an earlier tier has given them theirs. */
export interface PriorityTier {
  readonly priorityClassName: string;
  readonly threshold: number;
}

/** A limit on slots in use, beside the cap. */
export interface Limit {
  /** Groups that share the limit have one key. */
  readonly key: string;
  /** Groups that name it share it. Absent: it is of one RunnerGroup alone. */
  readonly name?: string;
  readonly most: number;
  /** Absent: of all runners together. */
  readonly per?: 'repository' | 'organization';
  /** Patterns: it is for CI jobs of these branches only (limits.ts). Never of a limit with a name. Absent: for all. */
  readonly branches?: readonly string[];
}

/** The part of a RunnerGroup that decides. Each of its sizes is a `Group` of the same name: they share cap and limits. */
export interface Group {
  readonly namespace: string;
  readonly name: string;
  /** The label by which jobs choose it. Absent: for all other jobs. */
  readonly size?: string;
  /** Slots that one runner takes under the cap and under each limit. Absent: 1. */
  readonly weight?: number;
  readonly limits?: readonly Limit[];
  /** Base URL of its Gitea, without a trailing slash. */
  readonly origin: string;
  /** Key of the look it reads; a look is of one Gitea. */
  readonly look: string;
  readonly scope: ScopeWidth;
  /** The scope: `owner` or `owner/name`, in lower case. Absent: all of its Gitea. */
  readonly covers?: string;
  /** Effective label names: own and default ones, without schema. */
  readonly labels: readonly string[];
  readonly maxActiveRunners: number;
  /** Idle runners that are kept for jobs to come, as far as the cap has slots. 0: no pool. */
  readonly minIdleRunners: number;
  readonly suspend: boolean;
  readonly acceptUnlabelledJobs: boolean;
  readonly fairness: Fairness;
  readonly spawnTimeoutMs: number;
  /** How long a pod that cannot start keeps its slot while jobs wait for the slot. At least `spawnTimeoutMs`. */
  readonly pendingDeadlineMs: number;
  /** Longest time of a runner with one CI job: its deadline plus the grace period. */
  readonly longestRunMs: number;
  /** Thresholds ascend; the last one is the cap. Empty: runners have no PriorityClass. */
  readonly priorityTiers: readonly PriorityTier[];
  /** How long a runner stays after a failed CI job. Absent: not at all. */
  readonly keepFailedMs?: number;
  /** `serve` registers its runners, at this level unless they are bound. Absent: their pods do. */
  readonly registeredAt?: string;
  /** Kueue starts its new runners, when their turn in this queue comes. Absent: Kubernetes does at once. */
  readonly queue?: string | undefined;
  /** Each new runner is bound to the repository of its job. */
  readonly isBound?: true;
  /** Patterns in lower case, of the repositories whose jobs it serves. Absent: all of its scope. */
  readonly repositories?: readonly string[];
  /** Patterns in lower case: jobs of the repositories that the first one fits come first. Absent: all are alike. */
  readonly order?: readonly string[];
  /** Hash of the rendered pod template. Another template gives other names to runners that have not registered yet. */
  readonly templateHash: string;
}

/** How many pods of a Job may still work, by `<namespace>/<name>` of the Job. A Job may go before its pods. */
export type PodCounts = ReadonlyMap<string, number>;

/** Jobs in Kubernetes. `unseen` does not mean an empty cluster: any Job may live there. */
export type ClusterEvidence =
  | {
      readonly is: 'seen';
      /** All Jobs of this program in the namespaces of the groups. */
      readonly jobs: readonly LiveJob[];
      readonly pods: PodCounts;
      /** When the Jobs were listed, or a little earlier, by the clock of `nowMs`. */
      readonly listedAtMs: number;
    }
  | { readonly is: 'unseen' };

/** Everything `plan` may look at. */
export interface Evidence {
  /** Tells two clusters on one Gitea apart (`GITEA_RUNNERS_INSTANCE`). */
  readonly instance: string;
  readonly looks: ReadonlyMap<string, Look>;
  readonly cluster: ClusterEvidence;
  readonly nowMs: number;
  /** Argo CD's name of the Application that is planned, all its groups together. Absent: nobody says it. */
  readonly application?: string;
  /** Number of Applications that print these groups, one shard each. It needs a cluster that is read. Absent: one. */
  readonly shards?: number;
  /** Groups that cannot be planned. Their Jobs stay where the cluster is seen. */
  readonly troubled?: readonly Pick<Group, 'namespace' | 'name'>[];
}

export function liveJobsOf(evidence: Evidence | undefined): readonly LiveJob[] {
  return evidence?.cluster.is === 'seen' ? evidence.cluster.jobs : [];
}

/** True for a Job of the planned Application, or of another shard of it, which differs by the number at its end. */
export function isOfApplication({ application }: LiveJob, { application: ownApplication, shards }: Evidence): boolean {
  if (application === undefined || ownApplication === undefined) return false;
  return (
    application === ownApplication ||
    (shards !== undefined && siblingOf(application, 0) === siblingOf(ownApplication, 0))
  );
}

/** The Application of another shard. */
export function siblingOf(application: string, shard: number): string {
  return application.replace(/-\d+$/, `-${shard}`);
}

/** A job, its Gitea, and the looks that list it. */
export interface ListedJob {
  readonly job: Job;
  readonly origin: string;
  /** Keys of looks, in the order of their groups. */
  readonly looks: readonly string[];
}

/** Order of a job's states. Two looks are never taken at the same instant: the later state is the true one. */
const PROGRESS: Readonly<Record<JobStatus, number>> = { blocked: 0, queued: 1, completed: 2, in_progress: 3 };

/** Returns each look of these groups once, with one group that read it. @throws Error when one is missing: its runners would be dropped */
export function looksOf(groups: readonly Group[], evidence: Evidence): readonly (readonly [Group, Look])[] {
  const firstOf = new Map<string, readonly [Group, Look]>();
  for (const group of groups) {
    const look = evidence.looks.get(group.look);
    if (!look) throw new Error(`no look at Gitea for RunnerGroup ${group.namespace}/${group.name}`);
    if (!firstOf.has(group.look)) firstOf.set(group.look, [group, look]);
  }
  return [...firstOf.values()];
}

/** Joins all looks. Of two states of a job that of the higher attempt counts, then that of higher `PROGRESS`: a job in progress keeps its runner. */
export function joinLooks(groups: readonly Group[], evidence: Evidence) {
  const jobsById = new ByGitea<{ job: Job; readonly origin: string; readonly looks: string[] }>();
  for (const [{ look, origin }, { jobs: listed }] of looksOf(groups, evidence)) {
    const ofGitea = jobsById.ofGitea(origin);
    for (const job of listed) {
      const entry = ofGitea.get(job.id);
      if (!entry) {
        ofGitea.set(job.id, { job, origin, looks: [look] });
        continue;
      }
      entry.looks.push(look);
      if (isNewer(job, entry.job)) entry.job = job;
    }
  }
  const jobs: readonly ListedJob[] = [...jobsById.values()].sort(byAge);
  return { jobs, findJob: (origin: string, id: number): ListedJob | undefined => jobsById.get(origin, id) };
}

/** All jobs that any look lists, oldest first. */
export type JobList = Readonly<ReturnType<typeof joinLooks>>;

/** True if `a` is the newer state. When both are equal the first one will do. */
function isNewer(a: Job, b: Job): boolean {
  return a.attempt === b.attempt ? PROGRESS[a.status] > PROGRESS[b.status] : a.attempt > b.attempt;
}

/** Oldest first: `createdAtMs`, then id, then Gitea. No two jobs are equal. */
function byAge(a: ListedJob, b: ListedJob): number {
  return a.job.createdAtMs - b.job.createdAtMs || a.job.id - b.job.id || compareText(a.origin, b.origin);
}

/** Orders groups by namespace, name and size. No two groups are equal. */
export function byKey(a: Group, b: Group): number {
  return (
    compareText(a.namespace, b.namespace) || compareText(a.name, b.name) || compareText(a.size ?? '', b.size ?? '')
  );
}
