import { type Clock, systemClock } from '../../shared/clock.ts';

/** The moment by which a whole operation of many requests must be done. A value, no timer: nothing to clean up. */
export class Deadline {
  /** What was granted in total, in milliseconds. */
  readonly ms: number;
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #endsAt: number;

  constructor(ms: number, clock: Pick<Clock, 'steadyMs'> = systemClock) {
    this.ms = ms;
    this.#clock = clock;
    this.#endsAt = clock.steadyMs() + ms;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAt - this.#clock.steadyMs());
  }
}

/** The end of one attempt. */
export class TimeLimit {
  /** Rejects when the time is up. */
  readonly reached: Promise<never>;
  isReached = false;
  /** Called then. */
  stop: () => void = noop;
  clear: () => void = noop;

  constructor(ms: number, { after }: Pick<Clock, 'after'>) {
    this.reached = new Promise((_resolve, reject) => {
      this.clear = after(ms, () => {
        this.isReached = true;
        reject(new Error('the time is up'));
        this.stop();
      });
    });
  }
}

function noop(): void {}
