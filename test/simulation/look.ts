/**
 * A look at Gitea and Kubernetes that takes time: each list is read at its own moment, in the order and with the rules of
 * `src/clients/gitea/observe-gitea.ts` and `lists.ts` (one page is a snapshot; else queued first, in progress last; later answers win;
 * one more reading when a runner works and no job says so).
 */

import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { shownStatus } from '../../simulator/gitea/json.ts';
import { isDone, type RunnerScope, repoOf, type Status } from '../../simulator/gitea/model.ts';
import { scopeKey } from '../../simulator/gitea/runners.ts';
import { toAttempt, toJobStatus } from '../../src/clients/gitea/shapes.ts';
import {
  type Job,
  type LiveJob,
  type LiveState,
  type Look,
  NO_POD,
  type PodTrouble,
} from '../../src/planner/evidence.ts';
import { podsOf } from '../support/scenario.ts';
import type { Cluster, KubeJob } from './cluster.ts';
import type { GroupSpec } from './history.ts';
import { stayOf } from './keeping.ts';
import { draw } from './random.ts';
import { type Commit, type Stage, specIn } from './stage.ts';

/** Completed jobs that are read where live Jobs are seen, as `lists.ts`. */
const COMPLETED_ROWS = 150;
/** Most completed rows without Kubernetes. Then a look reads back to the oldest open job. */
const MOST_COMPLETED_ROWS = 1500;
/**
 * States that the filters of Gitea's lists find, in Gitea's own words; no filter finds jobs that are being cancelled.
 */
const QUEUED: Status = 'waiting';
const IN_PROGRESS: Status = 'running';

/** Result of one look. */
export interface Observation {
  /** The groups that it was for, by what they were at the beginning. */
  readonly groups: readonly GroupSpec[];
  /** State of git at its begin. */
  readonly commit: Commit;
  readonly looks: ReadonlyMap<string, Look>;
  readonly liveJobs: readonly LiveJob[];
  /** Pods that may work, by the name of their Job, as `PodCounts`. */
  readonly pods: ReadonlyMap<string, number>;
  /** When the Jobs were listed. */
  readonly liveSinceMs: number;
  /** `Stage.version` when it began. */
  readonly version: number;
  /** Looks that `serve` has kept, and when the oldest began. Absent: there are none. */
  readonly kept?: { readonly looks: ReadonlyMap<string, Look>; readonly beganMs: number };
}

export function lookKey(scope: RunnerScope): string {
  return scopeKey(scope);
}

/** Looks for so many ms, and hands over what it found. */
export type LookAt = (lookMs: number, done: (sight: Observation) => void) => void;

/** Returns the value of `Group.covers`. */
export function coversOf(scope: RunnerScope): string | undefined {
  if (scope.kind === 'global') return undefined;
  return scope.kind === 'repo' ? scope.repo : scope.owner;
}

/** Looks at every scope of the groups of one Application, and at all Jobs. @param seesJobs it looks at Kubernetes, too */
export function lookout(stage: Stage, cluster: Cluster, groups: readonly GroupSpec[], seesJobs: boolean): LookAt {
  const readJob = jobReader(stage);
  return (lookMs, done) => {
    const { timeline, version, commit } = stage;
    const specs = groups.map((group) => specIn(commit, group));
    const scopes = new Map(specs.map(({ scope }) => [lookKey(scope), scope]));
    const looks = new Map<string, Look>();
    let liveJobs: readonly LiveJob[] = [];
    let pods: ReadonlyMap<string, number> = new Map();
    let liveSinceMs = 0;
    timeline.after((lookMs / 4) * stage.luck('list-lag'), () => {
      liveSinceMs = stage.nowMs;
      const held = cluster.heldBy()?.kind;
      pods = podsOf(cluster.pods.flatMap(({ name, phase }) => (phase === 'ended' ? [] : name)));
      liveJobs = [...cluster.jobs.values()].map((job) => judge(job, stage.history.clockSkewS, held));
    });
    for (const [key, scope] of scopes) {
      const hasPool = specs.some((group) => lookKey(group.scope) === key && (group.minIdle ?? 0) > 0);
      lookAtScope({ stage, cluster, scope, lookMs, readJob, seesJobs, hasPool }, (look) => {
        const renamedTo = coversOf(stage.scopeNow(scope));
        looks.set(key, { ...look, ...(renamedTo && renamedTo !== coversOf(scope) && { renamedTo }) });
        if (looks.size < scopes.size) return;
        timeline.after(lookMs / 4, () => done({ groups, commit, looks, liveJobs, pods, liveSinceMs, version }));
      });
    }
  };
}

interface ScopeLook {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly scope: RunnerScope;
  readonly lookMs: number;
  readonly readJob: JobReader;
  readonly seesJobs: boolean;
  readonly hasPool: boolean;
}

function lookAtScope(
  { stage, cluster, scope, lookMs, readJob, seesJobs, hasPool }: ScopeLook,
  done: (look: Look) => void,
): void {
  const { gitea, history } = stage;
  const jobs = new Map<number, Job>();
  const later = (run: () => void): void => stage.timeline.after((lookMs / 4) * stage.luck('list-lag'), run);
  const keep = (found: readonly Job[]): void => {
    for (const job of found) jobs.set(job.id, job);
  };
  /** Jobs that are queued or in progress, by id. */
  const active = (...wanted: readonly Status[]): readonly Job[] =>
    [...gitea.state.openJobs.values()]
      .filter((job) => wanted.includes(job.status) && stage.isSeenBy(scope, job))
      .sort((a, b) => a.id - b.id)
      .map(readJob);
  const completed = (): readonly Job[] => completedRows(stage, scope, seesJobs).map(readJob);

  const readRest = (): void => {
    // Like `needsRows`: only the row may show that a pinned runner works.
    const hasPinned = seesJobs && [...cluster.jobs.values()].some(isPinnedAlive);
    if (jobs.size === 0 && !hasPool && !hasPinned) {
      // As with `readsEnds`.
      if (history.groups.some(({ keepFailedS }) => keepFailedS)) keep(completed());
      done({ jobs: [...jobs.values()], runners: [] });
      return;
    }
    let left = 2;
    let runners: Look['runners'] = [];
    const finish = (): void => done({ jobs: [...jobs.values()], runners, rowsWereRead: true });
    const join = (): void => {
      left -= 1;
      if (left > 0) return;
      if (!worksUnseen(runners, jobs)) {
        finish();
        return;
      }
      later(() => {
        keep(active(IN_PROGRESS));
        finish();
      });
    };
    later(() => {
      cluster.report(history.silence);
      runners = [...runnersOf(stage, scope), ...boundRows(stage, cluster, scope, jobs)];
      join();
    });
    later(() => {
      keep(completed());
      join();
    });
  };

  later(() => {
    const first = active(QUEUED, IN_PROGRESS);
    keep(first.slice(0, history.pageSize));
    if (first.length <= history.pageSize) {
      readRest();
      return;
    }
    later(() => {
      keep(active(QUEUED));
      later(() => {
        keep(active(IN_PROGRESS));
        readRest();
      });
    });
  });
}

/** True when a runner is busy of which no job says that it runs it. */
function worksUnseen(runners: Look['runners'], jobs: ReadonlyMap<number, Job>): boolean {
  const working = new Set(
    [...jobs.values()].flatMap(({ status, runner }) => (status === 'in_progress' && runner) || []),
  );
  return runners.some(({ name, online, busy }) => online && busy && !working.has(name));
}

/** Repositories whose rows one look asks for. */
const MOST_ASKED = 10;

/**
 * Returns rows of repositories with a running bound runner that no job names, as src/clients/gitea/observe-gitea.ts
 * does.
 */
function boundRows(
  stage: Stage,
  cluster: Cluster,
  scope: RunnerScope,
  jobs: ReadonlyMap<number, Job>,
): Look['runners'] {
  if (scope.kind === 'global') return [];
  const named = new Set([...jobs.values()].map(({ status, runner }) => status === 'in_progress' && runner));
  const asked = [...cluster.jobs.values()].filter(
    (job) => job.pod.boundTo !== undefined && liveState(job) === 'running' && !named.has(job.name),
  );
  const names = new Set(asked.map(({ name }) => name));
  return [...new Set(asked.flatMap(({ pod: { boundTo } }) => boundTo ?? []))]
    .slice(0, MOST_ASKED)
    .filter((repo) => scope.kind !== 'repo' || repo !== scope.repo)
    .flatMap((repo) => runnersOf(stage, { kind: 'repo', repo }))
    .filter(({ name }) => names.has(name));
}

function runnersOf(stage: Stage, scope: RunnerScope): Look['runners'] {
  const { gitea } = stage;
  const key = lookKey(stage.scopeNow(scope));
  return gitea
    .runners()
    .filter((row) => scope.kind === 'global' || lookKey(row.scope) === key)
    .map((row) => ({
      id: row.id,
      name: row.name,
      online: gitea.isOnline(row),
      busy: gitea.isBusy(row),
      disabled: row.disabled,
      ephemeral: row.ephemeral,
      labels: row.labels,
    }));
}

/** The completed jobs that a look reads: the newest ones; up to 1.26 the last pages of an order that the database makes up. */
export function completedRows(stage: Stage, scope: RunnerScope, seesJobs: boolean): readonly GiteaJob[] {
  const { seed, pageSize, database, gitea } = stage.history;
  const most = Math.ceil((seesJobs ? COMPLETED_ROWS : MOST_COMPLETED_ROWS) / pageSize) * pageSize;
  const isShuffled = gitea !== '1.27.3' && database === 'shuffled';
  const rows: GiteaJob[] = [];
  // From the newest one on: most rows of a long history are older than the wanted ones.
  for (const job of stage.gitea.jobs().toReversed()) {
    if (rows.length === most && !isShuffled) break;
    if (isDone(job.status) && stage.isSeenBy(scope, job)) rows.push(job);
  }
  rows.reverse();
  if (!isShuffled || rows.length <= most) return rows;
  return rows.sort((a, b) => draw(seed, 'list-lag', a.id) - draw(seed, 'list-lag', b.id)).slice(-most);
}

type JobReader = (row: GiteaJob) => Job;

/** A job as it was read last, and what of its row may change. */
interface Reading {
  readonly row: GiteaJob;
  readonly shown: GiteaJob['status'];
  readonly attempt: number;
  readonly started: number;
  readonly stopped: number;
  readonly runner: string | undefined;
  readonly job: Job;
}

/** Reads jobs like `src/clients/gitea/shapes.ts`. An unchanged job stays the same object: most jobs ended long ago. */
function jobReader(stage: Stage): JobReader {
  const { tasks, runners } = stage.gitea.state;
  const readings = new Map<number, Reading>();
  return (row) => {
    const task = tasks.get(row.taskId || row.sourceTaskId);
    const runner = task && runners.get(task.runnerId)?.name;
    const { status: shown, attempt, started, stopped } = row;
    // A repository can be transferred, and its rows stay the same.
    const repository = repoOf(stage.gitea.state, row).fullName;
    const last = readings.get(row.id);
    const same =
      last?.row === row &&
      last.shown === shown &&
      last.attempt === attempt &&
      last.started === started &&
      last.stopped === stopped;
    if (same && last.runner === runner && last.job.repository === repository) return last.job;
    const job = seeJob(stage, row, repository, runner);
    readings.set(row.id, { row, shown, attempt, started, stopped, runner, job });
    return job;
  };
}

function seeJob(stage: Stage, row: GiteaJob, repository: string, runner: string | undefined): Job {
  const status = toJobStatus(shownStatus(row.status).status);
  const { gitea } = stage.history;
  const version = {
    text: gitea,
    sortsJobs: true,
    attemptGrowsAtClaim: gitea.startsWith('1.2') && gitea !== '1.27.3',
    endsRuns: false,
  };
  return {
    id: row.id,
    attempt: toAttempt(row.attempt, status, version),
    runId: row.runId,
    repository,
    branch: stage.gitea.state.runs.get(row.runId)?.branch ?? '',
    name: row.name,
    url: urlOf(row.id, row.runId, repository),
    labels: row.labels ?? [],
    status,
    createdAtMs: row.created * 1000,
    ...(row.started > 0 && { startedAtMs: row.started * 1000 }),
    ...(row.stopped > 0 && { completedAtMs: row.stopped * 1000 }),
    ...(row.status === 'failure' && { conclusion: 'failure' as const }),
    ...(runner && { runner }),
  };
}

/** Page of a job. */
function urlOf(jobId: number, runId: number, repository: string): string {
  return `https://gitea.example.com/${repository}/actions/runs/${runId}/jobs/${jobId}`;
}

/** Times are by Kubernetes' clock. */
function judge(job: KubeJob, skewS: number, held: 'quota' | 'full' | undefined): LiveJob {
  const { name, pod, finishedMs, pinned, prints } = job;
  const { jobId: printedFor, runId = 0, repository } = prints[0] ?? {};
  const byItsClock = (atMs: number): number => Math.floor((atMs + skewS * 1000) / 1000) * 1000;
  const state = liveState(job);
  const trouble = troubleOf(job, held);
  return {
    namespace: 'runners',
    name,
    state,
    createdAtMs: byItsClock(job.createdMs),
    ...(trouble && { trouble }),
    ...(state === 'starting' && !trouble && pod.onNodeMs !== undefined && stillSince(byItsClock(pod.onNodeMs))),
    ...(job.triedBefore !== undefined && { triedBefore: job.triedBefore }),
    ...(pod.priorityClass !== undefined && { priorityClass: pod.priorityClass }),
    ...(pod.boundTo !== undefined && { boundTo: pod.boundTo, registeredAt: `repo:${pod.boundTo}` }),
    ...(state === 'running' && pod.registeredMs !== undefined && { runningSinceMs: byItsClock(pod.registeredMs) }),
    ...(finishedMs !== undefined && { finishedAtMs: byItsClock(finishedMs) }),
    pinned,
    giteaUrl: 'https://gitea.example.com',
    labels: job.group.labels.map((label) => `${label}:host`).join(','),
    ...(printedFor !== undefined && { jobUrl: urlOf(printedFor, runId, repository ?? '') }),
    ...(repository !== undefined && { repository }),
    application: job.tracked?.application ?? job.group.application,
    ...(job.tracked && { shard: job.tracked.shard }),
    ...slotsOf({ ...job.group, scope: job.scope }),
    ...stayOf(job.stay),
  };
}

/** Returns the trouble of a pod whose image is pulled, like `src/clients/kubernetes/kube-pods.ts`. */
const stillSince = (stillSinceMs: number): Pick<LiveJob, 'trouble' | 'stillSinceMs'> => ({
  trouble: { reason: 'PodInitializing', message: 'no container has started', node: 'node-1' },
  stillSinceMs,
});

/** Returns size, weight and limits of a Job, like `src/clients/kubernetes/judge-job.ts`. */
function slotsOf(group: GroupSpec): Pick<LiveJob, 'size' | 'weight' | 'limits' | 'scope'> {
  const { size, weight = 1, limits = [], scope, isBound } = group;
  const names = limits.flatMap(({ name }) => name ?? []);
  return {
    ...(size !== undefined && { size }),
    ...(weight > 1 && { weight }),
    ...(names.length > 0 && { limits: names }),
    ...((names.length > 0 || isBound) && { scope: coversOf(scope) ?? '*' }),
  };
}

/** Returns the trouble of a pod, like `src/clients/kubernetes/kube-pods.ts`. */
function troubleOf({ pod }: KubeJob, held: 'quota' | 'full' | undefined): PodTrouble | undefined {
  if (pod.suspended) return { reason: 'Suspended', isSuspended: true };
  if (pod.phase === 'waiting' && held) return { reason: held === 'quota' ? NO_POD : 'Unschedulable' };
  if (pod.phase === 'starting' && pod.fate.start === 'image') return { reason: 'ImagePullBackOff', ofNode: true };
  return pod.refused ? { reason: 'RegistrationFailed' } : undefined;
}

/** True for a pinned Job that has not finished, like `src/planner/evidence.ts`. */
function isPinnedAlive({ pinned, finished }: KubeJob): boolean {
  return pinned && finished === undefined;
}

/**
 * Returns the state of a Job, like `src/clients/kubernetes/judge-job.ts`: an ended container counts before the Job's
 * condition.
 */
function liveState({ deleting, finished, pod }: KubeJob): LiveState {
  if (finished) return finished;
  if (deleting) return 'deleting';
  switch (pod.phase) {
    case 'waiting':
    case 'starting':
      return 'starting';
    case 'idle':
    case 'busy':
    case 'kept':
      return 'running';
    case 'ended':
      return pod.end === 'done' ? 'complete' : 'failed';
    default:
      return pod.phase satisfies never;
  }
}
