/** What ended since this process leads, from one plan to the next: CI jobs on runners of ours, and runners that were started for nothing. */
import { LRUCache } from 'lru-cache';
import type { DroppedBecause, EventOf, Plan } from '../serve/events.ts';
import { atMost, stayKey } from '../shared/keys.ts';

/** The runner has ended or is ended now, and no CI job is known that it ran. */
const NEEDLESS: ReadonlySet<DroppedBecause> = new Set([
  'surplus',
  'failed',
  'never-came',
  'stuck',
  'replaced',
  'drained',
  'suspended',
  'disabled',
] as const);
/** Jobs and runners that are remembered. A look shows 150 completed jobs of a scope. */
const MOST = 20_000;

export class UsageWatch {
  /** The last plan of each Application. */
  readonly #last = new LRUCache<string, Plan>(atMost(MOST));
  readonly #counted = new LRUCache<string, true>(atMost(MOST));
  readonly #groups = new LRUCache<string, Plan['runners'][number]['group']>(atMost(MOST));

  /** What is new in these plans. The first plan of an Application shows what ended before, so it counts nothing. */
  take(verdicts: EventOf<'reconciled'>['verdicts']) {
    const found = verdicts.flatMap(({ application, planning }) => {
      const before = this.#last.get(application);
      // A plan that is still the same is the same object.
      if (planning.is !== 'planned' || before === planning.plan) return [];
      this.#last.set(application, planning.plan);
      const all = { needless: this.#needlessIn(planning.plan), ended: this.#endedIn(planning.plan) };
      return before ? [all] : [];
    });
    return { ended: found.flatMap(({ ended }) => ended), needless: found.flatMap(({ needless }) => needless) };
  }

  #needlessIn({ runners }: Plan) {
    return runners.flatMap((decision) => {
      const { group, runner } = decision;
      this.#groups.set(runner, group);
      const isNeedless = !decision.emit && NEEDLESS.has(decision.because);
      if (!isNeedless || !this.#isNew(`${group.namespace}/${runner}`)) return [];
      return [{ namespace: group.namespace, group: group.name, reason: decision.because }];
    });
  }

  #endedIn({ jobs }: Plan) {
    return jobs.flatMap((decision) => {
      const { job, verdict } = decision;
      const group = verdict === 'done' && job.runner !== undefined ? this.#groups.get(job.runner) : undefined;
      if (!group || !this.#isNew(stayKey(decision))) return [];
      const { completedAtMs = 0, conclusion: result = 'success', repository, startedAtMs = completedAtMs } = job;
      const seconds = Math.max(0, completedAtMs - startedAtMs) / 1000;
      return [{ namespace: group.namespace, group: group.name, repository, result, seconds }];
    });
  }

  #isNew(key: string): boolean {
    if (this.#counted.has(key)) return false;
    this.#counted.set(key, true);
    return true;
  }
}
