/** Remembers until when servers want to be left alone (`Retry-After`). Clients share it. */
import { type Clock, systemClock } from '../../shared/clock.ts';

export interface AskedPause {
  /** The status that it answered: 429 or 503. */
  readonly status: number;
  /** How long the server still wants to be left alone, ms. */
  readonly ms: number;
}

/** A longer `Retry-After` is cut to this: a mistake there must not stop the work for days. */
const LONGEST_MS = 3_600_000;

/** Until when each origin wants to be left alone. */
export class RetryAfter {
  readonly #clock: Pick<Clock, 'steadyMs'>;
  readonly #pauses = new Map<string, { readonly status: number; readonly untilMs: number }>();

  constructor(clock: Pick<Clock, 'steadyMs'> = systemClock) {
    this.#clock = clock;
  }

  /** The origin asks to be left alone so long from now on. An earlier pause that lasts longer stays. */
  note(origin: string, { status, ms }: AskedPause): void {
    const untilMs = this.#clock.steadyMs() + Math.min(ms, LONGEST_MS);
    if (untilMs > (this.#pauses.get(origin)?.untilMs ?? 0)) this.#pauses.set(origin, { status, untilMs });
  }

  /** Undefined: the origin may be asked. */
  pauseOf(origin: string): AskedPause | undefined {
    const pause = this.#pauses.get(origin);
    const ms = (pause?.untilMs ?? 0) - this.#clock.steadyMs();
    return pause && ms > 0 ? { status: pause.status, ms } : undefined;
  }
}

/** Parses `Retry-After` (RFC 9110, 10.2.3). Returns ms from `nowMs`. Undefined: absent or unreadable. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Only the three HTTP date forms start with a day's name; Date.parse would read "7.5" as a month.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : Math.max(0, timeMs - nowMs);
}
