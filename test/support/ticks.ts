/**
 * Time as this process has had it: a busy machine, on which it waits for a CPU, has few of these in a second. So a bound of them is a bound of
 * what the program does and waits for, not of what other programs do.
 */
const EVERY_MS = 10;

export interface Ticks {
  /** Seconds that have passed since it was started, as far as this process had a CPU. */
  readonly seconds: () => number;
  readonly end: () => void;
}

export function startTicks(): Ticks {
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, EVERY_MS);
  return { seconds: () => (ticks * EVERY_MS) / 1000, end: () => clearInterval(timer) };
}
