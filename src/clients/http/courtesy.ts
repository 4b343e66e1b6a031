/** What servers have asked of us: to wait. It is remembered between requests and shared by clients, so nobody asks a server too early. */
import { type Clock, systemClock } from '../../shared/clock.ts';

/** A server that is not to be asked now. */
export interface AskedPause {
  /** The status that it answered: 429 or 503. */
  readonly status: number;
  /** How long it is still to be left alone, ms. */
  readonly ms: number;
}

/** A longer `Retry-After` is cut to this: a mistake there must not stop the work for days. */
const LONGEST_MS = 3_600_000;

export class Courtesy {
  readonly #clock: Pick<Clock, 'steadyMs'>;
  /** By origin. */
  readonly #pauses = new Map<string, { readonly status: number; readonly untilMs: number }>();

  constructor(clock: Pick<Clock, 'steadyMs'> = systemClock) {
    this.#clock = clock;
  }

  /** The origin asks to be left alone so long from now on. An earlier wish that lasts longer stays. */
  note(origin: string, { status, ms }: AskedPause): void {
    const untilMs = this.#clock.steadyMs() + Math.min(ms, LONGEST_MS);
    if (untilMs > (this.#pauses.get(origin)?.untilMs ?? 0)) this.#pauses.set(origin, { status, untilMs });
  }

  /** Undefined: the origin may be asked. */
  pauseOf(origin: string): AskedPause | undefined {
    const pause = this.#pauses.get(origin);
    if (pause === undefined) return undefined;
    const ms = pause.untilMs - this.#clock.steadyMs();
    if (ms > 0) return { status: pause.status, ms };
    this.#pauses.delete(origin);
    return undefined;
  }
}
