/**
 * CI jobs that have probably ended on runners of ours since the last round. Nothing is told of jobs that had ended before the first round. Pure.
 *
 *     running on a runner of ours, then gone or done
 *     served (it waits, and runners are on their way), then gone: it came and went between two looks, or was cancelled
 *     done on a runner of ours, and never seen before
 *
 * Before somebody is told of such a job, Gitea is asked how it ended, and on which runner.
 */
import { LRUCache } from 'lru-cache';
import type { GroupKey, JobDecision, Plan } from '../../planner/decisions.ts';
import type { Job } from '../../planner/evidence.ts';
import { groupBy } from '../../shared/group-by.ts';
import { keyText } from '../../shared/key-text.ts';

/** A CI job that is no longer active. */
export interface LeftJob {
  readonly job: Job;
  readonly origin: string;
  readonly group: GroupKey;
  /** Names of the runners of the group that may have run it. */
  readonly runners: readonly string[];
}

/** A plan of one Application and its time by Gitea's clock; absent: there is none at the moment, so nothing is known of its jobs. */
interface PlanOfApp {
  readonly application: string;
  readonly planned?: { readonly plan: Plan; readonly atMs: number };
}

/** What was seen of one Application: the time of its first plan, and the jobs that run or are served, by key. */
interface Seen {
  readonly sinceMs: number;
  readonly active: ReadonlyMap<string, LeftJob>;
}

/** Ended jobs that are remembered, so that none is told twice. A look shows 150 completed jobs of a scope. */
const MOST_REMEMBERED = 20_000;

export class EndedJobs {
  #seen: ReadonlyMap<string, Seen> = new Map();
  readonly #ended = new LRUCache<string, true>({ max: MOST_REMEMBERED });

  /** Takes all plans of one round, and answers the jobs that have ended since the last one, each once. */
  take(plans: readonly PlanOfApp[]): readonly LeftJob[] {
    const seen = new Map<string, Seen>();
    const left: LeftJob[] = [];
    for (const { application, planned } of plans) {
      const before = this.#seen.get(application);
      if (planned) {
        const { plan, atMs } = planned;
        const known = before ?? { sinceMs: atMs, active: new Map() };
        const ended = this.#leftIn(plan, known);
        // What the first plan shows as done had ended before it.
        if (before) left.push(...ended);
        seen.set(application, { sinceMs: known.sinceMs, active: activeIn(plan) });
      } else if (before) seen.set(application, before);
    }
    this.#seen = seen;
    return left;
  }

  #leftIn(plan: Plan, { sinceMs, active }: Seen): readonly LeftJob[] {
    const listed = new Set(plan.jobs.filter(({ job }) => job.status !== 'completed').map(keyOf));
    const gone = [...active].filter(([key]) => !listed.has(key));
    return [...gone, ...doneIn(plan, sinceMs)].flatMap(([key, job]) => {
      if (this.#ended.has(key)) return [];
      this.#ended.set(key, true);
      return [job];
    });
  }
}

function activeIn({ jobs, runners }: Plan): ReadonlyMap<string, LeftJob> {
  // One list for all jobs of a group.
  const byGroup = groupBy(runners, ({ group }) => keyText(group));
  const names = new Map([...byGroup].map(([key, list]) => [key, list.map(({ runner }) => runner)]));
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin, verdict } = decision;
      if ((verdict !== 'running' && verdict !== 'served') || !decision.group) return [];
      const { group } = decision;
      const mayRunIt = job.runner === undefined ? (names.get(keyText(group)) ?? []) : [job.runner];
      return [[keyOf(decision), { job, origin, group, runners: mayRunIt }] as const];
    }),
  );
}

/**
 * Done since `sinceMs` on a runner that the plan still knows, so it is of one of its groups. A look reads no completed jobs while nothing is
 * queued or runs. So a plan may list jobs for the first time that ended long before it.
 */
function doneIn({ jobs, runners }: Plan, sinceMs: number): ReadonlyMap<string, LeftJob> {
  // Gitea's times are whole seconds.
  const sinceSecondMs = Math.floor(sinceMs / 1000) * 1000;
  const groups = new Map(runners.map(({ runner, group }) => [runner, group]));
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin, verdict } = decision;
      const { completedAtMs = sinceMs, runner = '' } = job;
      const group = groups.get(runner);
      if (verdict !== 'done' || !group || completedAtMs < sinceSecondMs) return [];
      return [[keyOf(decision), { job, origin, group, runners: [runner] }] as const];
    }),
  );
}

/** A re-run is another stay in the queue. */
function keyOf({ job, origin }: JobDecision): string {
  return `${origin} ${job.id} ${job.attempt}`;
}
