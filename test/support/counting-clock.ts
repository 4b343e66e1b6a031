import type { Clock } from '../../src/shared/clock.ts';

/** A clock that knows which of its timers are still to come. */
export function countingClock(clock: Clock): { readonly clock: Clock; readonly due: ReadonlySet<object> } {
  const due = new Set<object>();
  const after: Clock['after'] = (ms, call) => {
    const timer = {};
    due.add(timer);
    const takeBack = clock.after(ms, () => {
      due.delete(timer);
      call();
    });
    return () => {
      due.delete(timer);
      takeBack();
    };
  };
  return { clock: { now: clock.now, steadyMs: clock.steadyMs, nextTurn: clock.nextTurn, after }, due };
}
