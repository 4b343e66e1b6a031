/**
 * Time that this process had: on a busy machine it waits for a CPU and has few of these ticks in a second. So a bound
 * of ticks limits what the program does and waits for, not what other programs do.
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
