/**
 * A look at Gitea and Kubernetes that takes time: each list is read at its own moment, in the order and with the rules of
 * `src/gitea/observe.ts` and `lists.ts` (one page is a snapshot; else queued first, in progress last; later answers win;
 * one more reading when a runner works and no job says so).
 */
import { toAttempt, toJobStatus } from '../../src/gitea/status.ts';
import type { Job, LiveJob, LiveState, Look } from '../../src/plan/evidence.ts';
import type { GiteaJob } from '../../src/simulator/gitea.ts';
import { shownStatus } from '../../src/simulator/json.ts';
import type { RunnerScope } from '../../src/simulator/model.ts';
import type { Cluster, KubeJob } from './cluster.ts';
import type { GroupSpec } from './history.ts';
import { draw } from './random.ts';
import type { Stage } from './stage.ts';

/** Pages of completed jobs, as `lists.ts`. */
const COMPLETED_PAGES = 3;

/** What one look found. */
export interface Sight {
  /** The groups that it was for. */
  readonly groups: readonly GroupSpec[];
  readonly looks: ReadonlyMap<string, Look>;
  readonly liveJobs: readonly LiveJob[];
  /** `Stage.version` when it began. */
  readonly version: number;
}

export function lookKey(scope: RunnerScope): string {
  return JSON.stringify(scope);
}

/** Looks at every scope of the groups and at all Jobs, and hands over what it found after `lookMs`. */
export function takeLook(
  stage: Stage,
  cluster: Cluster,
  groups: readonly GroupSpec[],
  lookMs: number,
  done: (sight: Sight) => void,
): void {
  const { timeline, version } = stage;
  const scopes = new Map(groups.map(({ scope }) => [lookKey(scope), scope]));
  const looks = new Map<string, Look>();
  let liveJobs: readonly LiveJob[] = [];
  timeline.after((lookMs / 4) * stage.luck('list-lag'), () => {
    liveJobs = [...cluster.jobs.values()].map(judge);
  });
  for (const [key, scope] of scopes) {
    new ScopeLook(stage, cluster, scope, lookMs).start((look) => {
      looks.set(key, look);
      if (looks.size === scopes.size) timeline.after(lookMs / 4, () => done({ groups, looks, liveJobs, version }));
    });
  }
}

class ScopeLook {
  readonly #stage: Stage;
  readonly #cluster: Cluster;
  readonly #scope: RunnerScope;
  readonly #lookMs: number;
  readonly #jobs = new Map<number, Job>();

  constructor(stage: Stage, cluster: Cluster, scope: RunnerScope, lookMs: number) {
    this.#stage = stage;
    this.#cluster = cluster;
    this.#scope = scope;
    this.#lookMs = lookMs;
  }

  start(done: (look: Look) => void): void {
    this.#later(() => this.#readActive(() => this.#readRest(done)));
  }

  #later(run: () => void): void {
    this.#stage.timeline.after((this.#lookMs / 4) * this.#stage.luck('list-lag'), run);
  }

  #readActive(next: () => void): void {
    const active = this.#list('queued', 'in_progress');
    if (active.length <= this.#stage.history.pageSize) {
      this.#keep(active);
      next();
      return;
    }
    this.#keep(active.slice(0, this.#stage.history.pageSize));
    this.#later(() => {
      this.#keep(this.#list('queued'));
      this.#later(() => {
        this.#keep(this.#list('in_progress'));
        next();
      });
    });
  }

  #readRest(done: (look: Look) => void): void {
    if (this.#jobs.size === 0) {
      done({ jobs: [], runners: [] });
      return;
    }
    let left = 2;
    let runners: Look['runners'] = [];
    const join = (): void => {
      left -= 1;
      if (left > 0) return;
      const working = new Set(
        [...this.#jobs.values()].flatMap(({ status, runner }) => (status === 'in_progress' && runner ? [runner] : [])),
      );
      const finish = (): void => done({ jobs: [...this.#jobs.values()], runners });
      if (!runners.some(({ online, busy, name }) => online && busy && !working.has(name))) {
        finish();
        return;
      }
      this.#later(() => {
        this.#keep(this.#list('in_progress'));
        finish();
      });
    };
    this.#later(() => {
      this.#cluster.report(this.#stage.history.silence);
      runners = this.#runners();
      join();
    });
    this.#later(() => {
      this.#keep(this.#completed());
      join();
    });
  }

  #runners(): Look['runners'] {
    const { gitea } = this.#stage;
    return gitea
      .runners()
      .filter(({ scope }) => this.#scope.kind === 'global' || lookKey(scope) === lookKey(this.#scope))
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

  #list(...wanted: readonly string[]): Job[] {
    const found: Job[] = [];
    for (const job of this.#stage.gitea.state.jobs.values()) {
      // No filter finds jobs that are being cancelled.
      if (job.status === 'cancelling') continue;
      const shown = shownStatus(job.status).status;
      if (wanted.includes(shown) && this.#stage.isSeenBy(this.#scope, job)) found.push(seeJob(this.#stage, job));
    }
    return found;
  }

  /** The newest ones; up to 1.26 the last pages of an order that the database makes up. */
  #completed(): readonly Job[] {
    const { seed, pageSize, database, gitea } = this.#stage.history;
    const all = this.#list('completed');
    if (gitea !== '1.27.3' && database === 'shuffled') {
      all.sort((a, b) => draw(seed, 'list-lag', a.id) - draw(seed, 'list-lag', b.id));
    }
    return all.slice(-COMPLETED_PAGES * pageSize);
  }

  #keep(jobs: readonly Job[]): void {
    for (const job of jobs) this.#jobs.set(job.id, job);
  }
}

/** A job as `src/gitea/shapes.ts` reads it. */
export function seeJob(stage: Stage, row: GiteaJob): Job {
  const { gitea, history } = stage;
  const status = toJobStatus(shownStatus(row.status).status);
  const task = gitea.state.tasks.get(row.taskId || row.sourceTaskId);
  const runner = task && gitea.state.runners.get(task.runnerId)?.name;
  const version = { text: history.gitea, sortsJobs: true, attemptGrowsAtClaim: history.gitea !== '1.27.3' };
  return {
    id: row.id,
    attempt: toAttempt(row.attempt, status, version),
    runId: row.runId,
    repository: stage.repoOf(row),
    name: row.name,
    url: urlOf(row.id),
    labels: row.labels ?? [],
    status,
    createdAtMs: row.created * 1000,
    ...(row.started > 0 && { startedAtMs: row.started * 1000 }),
    ...(row.stopped > 0 && { completedAtMs: row.stopped * 1000 }),
    ...(runner && { runner }),
  };
}

/** Page of a job. */
export function urlOf(jobId: number): string {
  return `https://gitea.example.com/jobs/${jobId}`;
}

function judge(job: KubeJob): LiveJob {
  const { name, createdMs: createdAtMs, finishedMs: finishedAtMs, pinned, prints } = job;
  const printedFor = prints[0]?.jobId;
  return {
    namespace: 'runners',
    name,
    state: liveState(job),
    createdAtMs,
    ...(finishedAtMs !== undefined && { finishedAtMs }),
    pinned,
    ...(printedFor !== undefined && { jobUrl: urlOf(printedFor) }),
  };
}

/** As `src/kubernetes/judge.ts`: an ended container counts before the Job's condition. */
function liveState({ finished, pod }: KubeJob): LiveState {
  if (finished) return finished;
  switch (pod.phase) {
    case 'waiting':
    case 'starting':
      return 'starting';
    case 'idle':
    case 'busy':
      return 'running';
    case 'ended':
      return pod.end === 'done' ? 'complete' : 'failed';
    default:
      return pod.phase satisfies never;
  }
}
