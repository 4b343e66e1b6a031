/** Sums over many histories, and the table from them. */
import { POLICY_NAMES, type PolicyName } from './policies/index.ts';
import type { Breach, Outcome } from './run.ts';

/** Laws of which a history can break one. */
export const LAWS = ['cap', 'double-spawn', 'unserved', 'floor'] as const satisfies readonly Breach['law'][];

/** Sums of outcomes. */
const SUMS = [
  'prunedAtWork',
  'killed',
  'killedAtDefault',
  'needless',
  'needlessWarm',
  'exchanged',
  'capRaces',
  'overRepository',
] as const satisfies readonly (keyof Outcome)[];
const COUNTS = [...SUMS, 'podCount', 'paired', 'later', 'earlier'] as const;

export interface Tally extends Record<(typeof COUNTS)[number], number> {
  readonly breaches: Record<Breach['law'], number>;
  /** Seeds of the first histories that broke a law. */
  readonly examples: Partial<Record<Breach['law'], number>>;
  readonly waitsMs: number[];
}

export type Tallies = Readonly<Record<PolicyName, Tally>>;

/** A job has waited so much longer than under the exact policy that somebody notices. */
const LATER_MS = 60_000;

export function emptyTallies(): Tallies {
  return Object.fromEntries(POLICY_NAMES.map((name) => [name, emptyTally()])) as Record<PolicyName, Tally>;
}

export function emptyTally(): Tally {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<(typeof COUNTS)[number], number>;
  return { breaches: { cap: 0, 'double-spawn': 0, unserved: 0, floor: 0 }, examples: {}, waitsMs: [], ...counts };
}

/** @param exact the outcome of the same history under the exact policy, job by job the measure for how long one waits */
export function addOutcome(tally: Tally, outcome: Outcome, seed: number, exact?: Outcome): void {
  for (const { law } of outcome.breaches) {
    tally.breaches[law] += 1;
    tally.examples[law] ??= seed;
  }
  for (const waitMs of outcome.waitsMs) tally.waitsMs.push(waitMs);
  for (const count of SUMS) tally[count] += outcome[count];
  tally.podCount += outcome.pods.length;
  for (const [jobId, waitMs] of outcome.waitMsOf) {
    const bestMs = exact?.waitMsOf.get(jobId);
    if (bestMs === undefined) continue;
    tally.paired += 1;
    if (waitMs - bestMs > LATER_MS) tally.later += 1;
    if (bestMs - waitMs > LATER_MS) tally.earlier += 1;
  }
}

/** Adds `more` to `sum`. */
export function addTallies(sum: Tallies, more: Tallies): void {
  for (const name of POLICY_NAMES) addTally(sum[name], more[name]);
}

/** Adds `from` to `to`. */
export function addTally(to: Tally, from: Tally): void {
  for (const law of LAWS) {
    to.breaches[law] += from.breaches[law];
    const seed = from.examples[law];
    if (seed !== undefined) to.examples[law] = Math.min(seed, to.examples[law] ?? seed);
  }
  for (const waitMs of from.waitsMs) to.waitsMs.push(waitMs);
  for (const count of COUNTS) to[count] += from[count];
}

/** The figures that the manual promises something about. */
export interface Figures {
  /** Runners whose Job was deleted while they worked, per 1000 CI jobs. */
  readonly prunedAtWork: number;
  /** Runners that were killed at work though their group has the default grace period. */
  readonly killedAtDefault: number;
  readonly overCap: number;
  readonly doubleSpawns: number;
  readonly neverServed: number;
  /** Syncs after which a warm pool still had a gap that their look saw. */
  readonly gaps: number;
  /** Claims beyond a limit per repository or branch, per 100 CI jobs. */
  readonly beyondLimit: number;
  /** The 99th percentile of the wait, divided by that of the exact policy. */
  readonly p99: number;
  /** CI jobs that began more than a minute later than under the exact policy, per 100. */
  readonly later: number;
  /** Runners that ended without a CI job, and not by bad luck from outside, per 100 CI jobs. */
  readonly needless: number;
  /** Runners that were started in vain for a warm pool, for each 100 jobs. */
  readonly needlessWarm: number;
}

export function figuresOf(tally: Tally, exact: Tally): Figures {
  const jobs = Math.max(1, tally.waitsMs.length);
  return {
    prunedAtWork: (1000 * tally.prunedAtWork) / jobs,
    killedAtDefault: tally.killedAtDefault,
    overCap: tally.breaches.cap,
    doubleSpawns: tally.breaches['double-spawn'],
    neverServed: tally.breaches.unserved,
    gaps: tally.breaches.floor,
    beyondLimit: (100 * tally.overRepository) / jobs,
    p99: quantileS(tally.waitsMs, 0.99) / quantileS(exact.waitsMs, 0.99),
    later: (100 * tally.later) / Math.max(1, tally.paired),
    needless: (100 * tally.needless) / jobs,
    needlessWarm: (100 * tally.needlessWarm) / jobs,
  };
}

/** The rows of the table, and how each reads a policy's sums. */
const ROWS: Readonly<Record<string, (tally: Tally, figures: Figures, exact: Tally) => string | number>> = {
  'CI jobs': (tally) => tally.waitsMs.length,
  'pruned while busy': (tally) => tally.prunedAtWork,
  'pruned while busy, per 1000 CI jobs': (_, figures) => figures.prunedAtWork.toFixed(2),
  'pruned and killed': (tally) => tally.killed,
  'killed at the default grace period': (tally) => tally.killedAtDefault,
  'cap exceeded': (_, figures) => figures.overCap,
  'cap exceeded until the next sync': (tally) => tally.capRaces - tally.breaches.cap,
  'double spawns': (_, figures) => figures.doubleSpawns,
  'never served': (_, figures) => figures.neverServed,
  'wait p50': (tally) => `${quantileS(tally.waitsMs, 0.5).toFixed(0)} s`,
  'wait p99': (tally) => `${quantileS(tally.waitsMs, 0.99).toFixed(0)} s`,
  "wait p99 ÷ exact's": (_, figures) => figures.p99.toFixed(3),
  '> 60 s later than exact': (_, figures) => `${figures.later.toFixed(1)} %`,
  '> 60 s earlier than exact': (tally) => `${percent(tally.earlier, tally.paired)} %`,
  'needless runners per 100 CI jobs': (_, figures) => `${figures.needless.toFixed(1)} %`,
  "needless runners, less exact's": (tally, _, exact) =>
    `${percent(tally.needless - exact.needless, tally.waitsMs.length)} %`,
  'exchanged runners': (tally) => tally.exchanged,
};

/** The table of docs/simulations.md: a column for each policy. */
export function formatTable(tallies: Tallies, histories: number, names: readonly PolicyName[], first = 1): string {
  const rows = Object.entries(ROWS).map(([title, cell]) => {
    const cells = names.map((name) => cell(tallies[name], figuresOf(tallies[name], tallies.exact), tallies.exact));
    return `| ${[title, ...cells].join(' | ')} |`;
  });
  const about = `${histories} histories, seeds ${first} to ${first + histories - 1}.`;
  return [about, '', `| | ${names.join(' | ')} |`, `|---|${'---:|'.repeat(names.length)}`, ...rows].join('\n');
}

function percent(part: number, whole: number): string {
  return ((100 * part) / Math.max(1, whole)).toFixed(1);
}

/** A quantile in seconds. */
export function quantileS(valuesMs: readonly number[], share: number): number {
  const sorted = Float64Array.from(valuesMs).sort();
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) / 1000;
}
