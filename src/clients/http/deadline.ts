import { type Clock, systemClock } from '../../shared/clock.ts';

/** The moment by which a whole operation of many requests must be done. A value, no timer: nothing to clean up. */
export class Deadline {
  /** What was granted in total, in milliseconds. */
  readonly ms: number;
  /** Aborted: nobody waits any more. */
  readonly signal: AbortSignal | undefined;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #endsAt: number;

  constructor(ms: number, clock: Pick<Clock, 'steadyMs'> = systemClock, signal?: AbortSignal) {
    this.ms = ms;
    this.signal = signal;
    this.#clock = clock;
    this.#endsAt = clock.steadyMs() + ms;
  }

  remainingMs(): number {
    return this.signal?.aborted ? 0 : Math.max(0, this.#endsAt - this.#clock.steadyMs());
  }
}

/** The end of one attempt. */
export class TimeLimit {
  /** Rejects when the time is up, or `signal` is aborted. */
  readonly reached: Promise<never>;
  isReached = false;
  /** Called then. */
  stop: () => void = noop;
  clear: () => void = noop;

  constructor(ms: number, { after }: Pick<Clock, 'after'>, signal?: AbortSignal) {
    this.reached = new Promise((_resolve, reject) => {
      const end = (): void => {
        this.isReached = true;
        reject(new Error('the time is up'));
        this.stop();
      };
      const takeBack = after(ms, end);
      signal?.addEventListener('abort', end, { once: true });
      this.clear = () => {
        takeBack();
        signal?.removeEventListener('abort', end);
      };
    });
  }
}

function noop(): void {}
