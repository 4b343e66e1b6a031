/** Sums over many histories, and the table made of them. */
import { POLICY_NAMES, type PolicyName } from './policies/index.ts';
import type { Breach, Outcome } from './run.ts';

export interface Tally {
  readonly breaches: Record<Breach['law'], number>;
  /** Seeds of the first histories that broke a law. */
  readonly examples: Partial<Record<Breach['law'], number>>;
  readonly waitsMs: number[];
  needless: number;
  exchanged: number;
  closeCalls: number;
  capRaces: number;
  pods: number;
}

export type Tallies = Readonly<Record<PolicyName, Tally>>;

export function emptyTallies(): Tallies {
  return Object.fromEntries(POLICY_NAMES.map((name) => [name, emptyTally()])) as Record<PolicyName, Tally>;
}

function emptyTally(): Tally {
  const breaches = { 'busy-kill': 0, cap: 0, 'double-spawn': 0, unserved: 0 };
  return { breaches, examples: {}, waitsMs: [], needless: 0, exchanged: 0, closeCalls: 0, capRaces: 0, pods: 0 };
}

export function addOutcome(tally: Tally, outcome: Outcome, seed: number): void {
  for (const { law } of outcome.breaches) {
    tally.breaches[law] += 1;
    tally.examples[law] ??= seed;
  }
  tally.waitsMs.push(...outcome.waitsMs);
  tally.needless += outcome.needless;
  tally.exchanged += outcome.exchanged;
  tally.closeCalls += outcome.closeCalls;
  tally.capRaces += outcome.capRaces;
  tally.pods += outcome.pods.length;
}

/** Adds `more` to `sum`. */
export function addTallies(sum: Tallies, more: Tallies): void {
  for (const name of POLICY_NAMES) {
    const [to, from] = [sum[name], more[name]];
    for (const law of ['busy-kill', 'cap', 'double-spawn', 'unserved'] as const) {
      to.breaches[law] += from.breaches[law];
      const seed = from.examples[law];
      if (seed !== undefined) to.examples[law] = Math.min(seed, to.examples[law] ?? seed);
    }
    for (const waitMs of from.waitsMs) to.waitsMs.push(waitMs);
    to.needless += from.needless;
    to.exchanged += from.exchanged;
    to.closeCalls += from.closeCalls;
    to.capRaces += from.capRaces;
    to.pods += from.pods;
  }
}

const HEAD =
  '| policy | CI jobs | busy runners killed | saved by the grace period | cap exceeded | for a moment only | double spawns | never served | wait p50 | wait p99 | p99 to exact | needless runners | beyond exact | exchanged |';

/** The table of docs/planner.md. */
export function formatTable(tallies: Tallies, histories: number): string {
  const exact = quantileS(tallies.exact.waitsMs, 0.99);
  const rows = POLICY_NAMES.map((name) => {
    const { breaches, waitsMs, needless, exchanged, closeCalls, capRaces } = tallies[name];
    const p99 = quantileS(waitsMs, 0.99);
    const cells = [
      name,
      waitsMs.length,
      breaches['busy-kill'],
      closeCalls,
      breaches.cap,
      capRaces - breaches.cap,
      breaches['double-spawn'],
      breaches.unserved,
      `${quantileS(waitsMs, 0.5).toFixed(0)} s`,
      `${p99.toFixed(0)} s`,
      (p99 / exact).toFixed(3),
      `${percent(needless, waitsMs.length)} %`,
      `${percent(needless - tallies.exact.needless, waitsMs.length)} %`,
      exchanged,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [`${histories} histories, seeds 1 to ${histories}.`, '', HEAD, `|---|${'---:|'.repeat(13)}`, ...rows].join(
    '\n',
  );
}

function percent(part: number, whole: number): string {
  return ((100 * part) / Math.max(1, whole)).toFixed(1);
}

/** A quantile in seconds. */
export function quantileS(valuesMs: readonly number[], share: number): number {
  const sorted = Float64Array.from(valuesMs).sort();
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) / 1000;
}
