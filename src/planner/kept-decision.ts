/** What becomes of the Jobs of runners whose pods wait after their CI job (`kept.ts`). */
import type { GroupKey, KeptUntil, RunnerDecision } from './decisions.ts';
import type { Runner } from './runners.ts';

/**
 * A runner that stays. Like that of a runner at work, its Job must never be created again. So Argo CD skips it once the live object says
 * what is printed.
 */
export function keptDecision(runner: Runner, group: GroupKey): RunnerDecision {
  const { name, job, live } = runner;
  const keep = stayOf(runner);
  const isPrinted = live?.pinned === true && live.endedAtMs === keep.endedAtMs && live.keepUntilMs === keep.untilMs;
  return {
    emit: true,
    runner: name,
    group,
    because: 'debugging',
    pinned: true,
    ...(isPrinted && { skip: true }),
    ...(job && { job }),
    keep,
  };
}

/**
 * A runner whose CI job is over. If its pod waits behind a pin, which no sync prunes, the pin goes first. The annotations stay until the Job
 * goes.
 */
export function usedUpDecision(runner: Runner, group: GroupKey): RunnerDecision {
  const { name, live, keep } = runner;
  if (!live?.pinned || !keep?.isOver) return { emit: false, runner: name, group, because: 'used-up' };
  return { emit: true, runner: name, group, because: 'unpinning', pinned: false, keep: stayOf(runner) };
}

function stayOf({ name, keep }: Runner): KeptUntil {
  if (!keep) throw new Error(`runner ${name} stays without a time`);
  const { isOver: _, ...stay } = keep;
  return stay;
}
