/** Decides when a start has become slower: a rule that noise does not trip. Pure. */
import { quantile } from './measure.ts';

/** A comparison: measured quotients of pairs, and the committed median. */
export interface Comparison {
  /** Name in the report: `generate, 50 jobs / node -e 0`. */
  readonly name: string;
  readonly ratios: readonly number[];
  readonly committed: number;
}

/** Factor of the committed ratio from which it is a regression. A start without its code cache has 1.3 to 1.4. */
export const LIMIT = 1.2;

/**
 * The comparisons that are over the limit. Of the pairs the lower quartile counts: noise adds time to some pairs, a regression
 * adds it to all.
 */
export function regressions(comparisons: readonly Comparison[]): readonly string[] {
  return comparisons.flatMap(({ name, ratios, committed }) => {
    if (ratios.length === 0 || !(committed > 0)) return [`${name}: nothing to compare`];
    const now = quantile(ratios, 0.25);
    if (now <= committed * LIMIT) return [];
    return [`${name}: ${now.toFixed(2)}, more than ${LIMIT} times the committed ${committed.toFixed(2)}`];
  });
}
