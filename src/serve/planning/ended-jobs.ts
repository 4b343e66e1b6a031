/**
 * CI jobs that have ended on runners of ours since the last round: those that were running in a plan and are not in the next one, and those that
 * a plan shows as done without having been seen running. Nothing is told of jobs that had ended before the first round. Pure.
 *
 * A job that a plan no longer shows has not always ended: who tells of it asks Gitea how it ended.
 */
import { LRUCache } from 'lru-cache';
import type { GroupKey, JobDecision, Plan } from '../../plan/decisions.ts';
import type { Job } from '../../plan/evidence.ts';

/** A CI job that is over, on a runner of ours. */
export interface LeftJob {
  readonly job: Job;
  /** Base URL of its Gitea. */
  readonly origin: string;
  readonly group: GroupKey;
  /** Name of the runner and of its Job. */
  readonly runner: string;
}

/** A plan of one Application; absent: there is none at the moment, so nothing is known of its jobs. */
export interface PlanOfApp {
  readonly application: string;
  readonly plan?: Plan;
}

/** So many ended jobs are remembered, so that none is told twice. A look shows 150 completed jobs of a scope. */
const MOST_REMEMBERED = 20_000;

export class EndedJobs {
  /** Jobs at work, by Application, then by key. */
  #running: ReadonlyMap<string, ReadonlyMap<string, LeftJob>> = new Map();
  readonly #ended = new LRUCache<string, true>({ max: MOST_REMEMBERED });
  /** Applications that had a plan before: what a first plan shows as done had ended before. */
  #known: ReadonlySet<string> = new Set();

  /** Takes all plans of one round, and answers the jobs that have ended since the last one, each once. */
  take(plans: readonly PlanOfApp[]): readonly LeftJob[] {
    const running = new Map<string, ReadonlyMap<string, LeftJob>>();
    const known = new Set<string>();
    const left: LeftJob[] = [];
    for (const { application, plan } of plans) {
      const before = this.#running.get(application) ?? new Map<string, LeftJob>();
      if (this.#known.has(application) || plan) known.add(application);
      if (!plan) {
        running.set(application, before);
        continue;
      }
      const now = runningIn(plan);
      running.set(application, now);
      for (const [key, job] of before) if (!now.has(key) && this.#isNew(key)) left.push(job);
      for (const [key, job] of doneIn(plan)) {
        if (this.#isNew(key) && this.#known.has(application)) left.push(job);
      }
    }
    this.#running = running;
    this.#known = known;
    return left;
  }

  #isNew(key: string): boolean {
    if (this.#ended.has(key)) return false;
    this.#ended.set(key, true);
    return true;
  }
}

function runningIn({ jobs }: Plan): ReadonlyMap<string, LeftJob> {
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin } = decision;
      if (decision.verdict !== 'running' || !decision.group || job.runner === undefined) return [];
      return [[keyOf(decision), { job, origin, group: decision.group, runner: job.runner }] as const];
    }),
  );
}

/** Done on a runner that the plan still knows, so it is of one of its groups. */
function doneIn({ jobs, runners }: Plan): ReadonlyMap<string, LeftJob> {
  const groups = new Map(runners.map(({ runner, group }) => [runner, group]));
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin } = decision;
      const group = job.runner === undefined ? undefined : groups.get(job.runner);
      if (decision.verdict !== 'done' || !group || job.runner === undefined) return [];
      return [[keyOf(decision), { job, origin, group, runner: job.runner }] as const];
    }),
  );
}

/** A re-run is another stay in the queue. */
function keyOf({ job, origin }: JobDecision): string {
  return `${origin} ${job.id} ${job.attempt}`;
}
