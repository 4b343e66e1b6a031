/** The only file that knows the time and sets timers: tests pass their own `Clock`. It loads nothing at a start: `performance.now()` would load eight modules. */
export interface Clock {
  /** Time of this machine's clock, ms since 1970. It may be set back. */
  readonly now: () => number;
  /** A clock that is never set, ms since any moment. */
  readonly steadyMs: () => number;
  /** Calls once, after so many ms, or at once when that time is over. Answers what takes it back. */
  readonly after: (ms: number, call: () => void) => () => void;
  /** Resolves at the next turn of the event loop: probes, signals and the Lease come between long computations. */
  readonly nextTurn: () => Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  steadyMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1000 + nanoseconds / 1e6;
  },
  after: (ms, call) => {
    // Node 24 prints a warning about a negative time.
    const timer = setTimeout(call, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
  nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
};

/** Waits, and not longer than until `signal` is aborted. Never rejects. */
export async function pause({ after }: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      takeBack();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const takeBack = after(ms, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** The result of `work`. Undefined as soon as `signal` is aborted: nobody waits any longer, and a failure is ignored. */
export async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A pause that is doubled so many times, and never longer than the longest one, ms. */
export function doubled(firstMs: number, times: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** times, longestMs);
}
