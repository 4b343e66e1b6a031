import { onTestFinished, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/shared/clock.ts';

/** A clock that goes so much slower: time limits are meant for machines that are not busy. */
export function slowClock(times = 20): Clock {
  const { after, steadyMs } = systemClock;
  const beganMs = steadyMs();
  return {
    ...systemClock,
    steadyMs: () => beganMs + (steadyMs() - beganMs) / times,
    after: (ms, call) => after(ms * times, call),
  };
}

/** Slows the clock of this process until the test ends. */
export function slowDown(times?: number): void {
  const { after, steadyMs } = slowClock(times);
  vi.spyOn(systemClock, 'after').mockImplementation(after);
  vi.spyOn(systemClock, 'steadyMs').mockImplementation(steadyMs);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
}
