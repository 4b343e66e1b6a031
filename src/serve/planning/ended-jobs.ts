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
  /** Base URL of its Gitea. */
  readonly origin: string;
  readonly group: GroupKey;
  /** Names of the runners of the group that may have run it. */
  readonly runners: readonly string[];
}

/** A plan of one Application and its time by Gitea's clock; absent: there is none at the moment, so nothing is known of its jobs. */
export interface PlanOfApp {
  readonly application: string;
  readonly planned?: { readonly plan: Plan; readonly atMs: number };
}

/** What was seen of one Application. */
interface Seen {
  /** Time of its first plan. */
  readonly sinceMs: number;
  /** Jobs that run or are served, by key. */
  readonly active: ReadonlyMap<string, LeftJob>;
}

/** Ended jobs that are remembered, so that none is told twice. A look shows 150 completed jobs of a scope. */
const MOST_REMEMBERED = 20_000;

const NONE: Seen['active'] = new Map();

export class EndedJobs {
  /** By Application. */
  #seen: ReadonlyMap<string, Seen> = new Map();
  readonly #ended = new LRUCache<string, true>({ max: MOST_REMEMBERED });

  /** Takes all plans of one round, and answers the jobs that have ended since the last one, each once. */
  take(plans: readonly PlanOfApp[]): readonly LeftJob[] {
    const seen = new Map<string, Seen>();
    const left: LeftJob[] = [];
    for (const { application, planned } of plans) {
      const before = this.#seen.get(application);
      // Without a plan nothing is known: what was active stays so.
      if (planned) {
        const { plan, atMs } = planned;
        const { sinceMs, active } = before ?? { sinceMs: atMs, active: NONE };
        const ended = this.#leftIn(plan, sinceMs, active);
        // What the first plan shows as done had ended before it.
        if (before) left.push(...ended);
        seen.set(application, { sinceMs, active: activeIn(plan) });
      } else if (before) seen.set(application, before);
    }
    this.#seen = seen;
    return left;
  }

  #leftIn(plan: Plan, sinceMs: number, active: Seen['active']): readonly LeftJob[] {
    const listed = new Set(plan.jobs.filter(({ job }) => job.status !== 'completed').map(keyOf));
    const gone = [...active].filter(([key]) => !listed.has(key));
    return [...gone, ...doneIn(plan, sinceMs)].filter(([key]) => this.#isNew(key)).map(([, job]) => job);
  }

  #isNew(key: string): boolean {
    if (this.#ended.has(key)) return false;
    this.#ended.set(key, true);
    return true;
  }
}

function activeIn({ jobs, runners }: Plan): ReadonlyMap<string, LeftJob> {
  const byGroup = groupBy(runners, ({ group }) => keyText(group));
  // One list for all jobs of a group.
  const names = new Map([...byGroup].map(([key, list]) => [key, list.map(({ runner }) => runner)]));
  const namesOf = (group: GroupKey): readonly string[] => names.get(keyText(group)) ?? [];
  return new Map(
    jobs.flatMap((decision) => {
      const { job, origin, verdict } = decision;
      if ((verdict !== 'running' && verdict !== 'served') || !decision.group) return [];
      const runners = job.runner === undefined ? namesOf(decision.group) : [job.runner];
      return [[keyOf(decision), { job, origin, group: decision.group, runners }] as const];
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
      const group = job.runner === undefined ? undefined : groups.get(job.runner);
      if (verdict !== 'done' || !group || job.runner === undefined) return [];
      if ((job.completedAtMs ?? sinceMs) < sinceSecondMs) return [];
      return [[keyOf(decision), { job, origin, group, runners: [job.runner] }] as const];
    }),
  );
}

/** A re-run is another stay in the queue. */
function keyOf({ job, origin }: JobDecision): string {
  return `${origin} ${job.id} ${job.attempt}`;
}
