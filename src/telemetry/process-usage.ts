/** Counts ends from plan to plan, since this process leads: CI jobs on runners of ours, and runners started in vain. */
import { LRUCache } from 'lru-cache';
import { type EventOf, type Plan, RUNNERS } from '../serve/planning/events.ts';
import { atMost, stayKey } from '../shared/keys.ts';

/** Jobs and runners that are remembered. A look shows 150 completed jobs of a scope. */
const MOST = 20_000;

/** Returns a function that finds new ends in plans. The first plan of an Application shows earlier ends only. */
export function usageWatch() {
  const lastPlans = new LRUCache<string, Plan>(atMost(MOST));
  const counted = new LRUCache<string, true>(atMost(MOST));
  const groups = new LRUCache<string, Plan['runners'][number]['group']>(atMost(MOST));

  const countOnce = (key: string): boolean => {
    if (counted.has(key)) return false;
    counted.set(key, true);
    return true;
  };

  const needlessIn = ({ runners }: Plan) =>
    runners.flatMap((decision) => {
      const { group, runner } = decision;
      groups.set(runner, group);
      if (RUNNERS[decision.because].ciJob !== 'none' || !countOnce(`${group.namespace}/${runner}`)) return [];
      return [{ namespace: group.namespace, group: group.name, reason: decision.because }];
    });

  const endedIn = ({ jobs }: Plan) =>
    jobs.flatMap((decision) => {
      const { job, verdict } = decision;
      const group = verdict === 'done' && job.runner !== undefined ? groups.get(job.runner) : undefined;
      if (!group || !countOnce(stayKey(decision))) return [];
      const { completedAtMs = 0, conclusion: result = 'success', repository, startedAtMs = completedAtMs } = job;
      const seconds = Math.max(0, completedAtMs - startedAtMs) / 1000;
      return [{ namespace: group.namespace, group: group.name, repository, result, seconds }];
    });

  return (verdicts: EventOf<'reconciled'>['verdicts']) =>
    verdicts.flatMap(({ application, planning }) => {
      const before = lastPlans.get(application);
      // A plan that is still the same is the same object.
      if (planning.is !== 'planned' || before === planning.plan) return [];
      lastPlans.set(application, planning.plan);
      const news = { needless: needlessIn(planning.plan), ended: endedIn(planning.plan) };
      return before ? [news] : [];
    });
}
