/**
 * Calculates the clocks of servers from the header `Date`. Pure, but for the memory in `ServerClocks`.
 *
 *     sent ── request ──► the server writes Date: 12:00:07 (cut to the second) ── answer ──► received
 *
 * Between `sent` and `received` its clock showed 12:00:07.000 to 12:00:07.999: bounds for the difference of the clocks,
 * however slow the network is. Several answers make them narrower.
 */

/** A server's clock minus this machine's, ms: at least and at most. */
export type ClockBounds = Readonly<Record<'leastMs' | 'mostMs', number>>;

/** When a request was sent and its answer's head came, ms by this machine's clock; and the header `Date`. */
export type ClockReading = Readonly<{ sentMs: number; receivedMs: number; date: string }>;

/** The one form that servers may send (RFC 9110, 5.6.7); `Date.parse` alone would take any text. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
/** The header has no fraction of a second. */
const CUT_OFF_MS = 999;

/** Returns the bounds of one answer. Undefined if the header is not a date. */
export function boundsOf({ sentMs, receivedMs, date }: ClockReading): ClockBounds | undefined {
  const dateMs = HTTP_DATE.test(date) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(dateMs)) return undefined;
  return { leastMs: dateMs - receivedMs, mostMs: dateMs + CUT_OFF_MS - sentMs };
}

/** Returns the part that both bounds allow. Undefined if they contradict each other. */
export function common(a: ClockBounds, b: ClockBounds): ClockBounds | undefined {
  const leastMs = Math.max(a.leastMs, b.leastMs);
  const mostMs = Math.min(a.mostMs, b.mostMs);
  return leastMs > mostMs ? undefined : { leastMs, mostMs };
}

/** Returns the range that covers both bounds. */
export function either(a: ClockBounds, b: ClockBounds): ClockBounds {
  return { leastMs: Math.min(a.leastMs, b.leastMs), mostMs: Math.max(a.mostMs, b.mostMs) };
}

/** Answers are combined for this long. Then the bounds start again, because clocks drift and are corrected. */
const WINDOW_MS = 60_000;

/** The clocks of the servers that answered, by origin. Given to all clients whose servers are to be compared. */
export class ServerClocks {
  readonly #known = new Map<string, { readonly sinceMs: number; readonly bounds: ClockBounds }>();

  /** Adds an answer. One without a readable date changes nothing. */
  note(origin: string, reading: ClockReading): void {
    const bounds = boundsOf(reading);
    if (bounds === undefined) return;
    const entry = this.#known.get(origin);
    const ageMs = entry === undefined ? WINDOW_MS : reading.receivedMs - entry.sinceMs;
    if (entry === undefined || ageMs >= WINDOW_MS || ageMs < 0) {
      this.#known.set(origin, { sinceMs: reading.receivedMs, bounds });
      return;
    }
    const { sinceMs } = entry;
    // Bounds contradict each other if several servers are behind one address, or if a clock was set. Then both are
    // kept.
    this.#known.set(origin, { sinceMs, bounds: common(entry.bounds, bounds) ?? either(entry.bounds, bounds) });
  }

  boundsFor(origin: string): ClockBounds | undefined {
    return this.#known.get(origin)?.bounds;
  }
}
