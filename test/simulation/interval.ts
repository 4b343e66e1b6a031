/** Calculates how far figures of many histories are by chance from those of all histories. */
import { addTally, emptyTally, type Figures, figuresOf, type Tally } from './tally.ts';

/** The same histories under our planner and under the measure. */
export interface Judged {
  readonly ours: Tally;
  readonly exact: Tally;
}

/** A figure is further off than so many errors once in tens of thousands of runs. */
const ERRORS = 4;

/**
 * The least that chance leaves of each figure: its value less four standard errors. These come from leaving out one part of the histories at a
 * time (jackknife), so they need no assumption about how figures are spread.
 * @param parts of as many histories each, 2 at least
 */
export function leastByChance(parts: readonly Judged[]): Figures {
  const all = figuresOfAll(parts);
  const without = parts.map((part) => figuresOfAll(parts.filter((each) => each !== part)));
  const names = Object.keys(all) as (keyof Figures)[];
  return Object.fromEntries(
    names.map((name) => {
      const values = without.map((figures) => figures[name]);
      const mean = sum(values) / values.length;
      const variance = sum(values.map((value) => (value - mean) ** 2)) * ((values.length - 1) / values.length);
      return [name, all[name] - ERRORS * Math.sqrt(variance)];
    }),
  ) as unknown as Figures;
}

function figuresOfAll(parts: readonly Judged[]): Figures {
  const [ours, exact] = [emptyTally(), emptyTally()];
  for (const part of parts) {
    addTally(ours, part.ours);
    addTally(exact, part.exact);
  }
  return figuresOf(ours, exact);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
