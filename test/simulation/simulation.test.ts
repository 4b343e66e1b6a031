/**
 * The planner against histories made from seeds. `SIM_SEED=7` replays one, `SIM_HISTORIES=1000` runs more; `npm run soak` runs
 * ten thousand and makes the table of docs/planner.md.
 */
import { describe, expect, it } from 'vitest';
import { groupSpec } from './history.ts';
import { makeHistory } from './make-history.ts';
import { OURS, POLICIES, type PolicyName } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { type Breach, type Outcome, runHistory } from './run.ts';
import { addOutcome, emptyTallies, quantileS } from './tally.ts';

const ONLY = process.env['SIM_SEED'];
const SEEDS =
  ONLY === undefined
    ? Array.from({ length: Number(process.env['SIM_HISTORIES'] ?? 100) }, (_, i) => i + 1)
    : [Number(ONLY)];

function firstBreach(policy: PolicyName, law: Breach['law']): string | undefined {
  for (const seed of SEEDS) {
    const breach = run(policy, seed).breaches.find((found) => found.law === law);
    if (breach) return describeBreach(makeHistory(seed), policy, breach, seed);
  }
  return undefined;
}

const known = new Map<string, Outcome>();

function run(policy: PolicyName, seed: number): Outcome {
  const key = `${policy} ${seed}`;
  const outcome = known.get(key) ?? runHistory(makeHistory(seed), POLICIES[policy]);
  known.set(key, outcome);
  return outcome;
}

const LAWS: readonly (readonly [Breach['law'], string])[] = [
  ['unserved', 'serves every ready job whose labels are covered in the end'],
  ['double-spawn', 'never starts a second runner for a job while the first may still come'],
  ['busy-kill', 'kills no runner at work'],
  ['cap', 'keeps within the cap'],
];

describe.each(OURS)('in every history, %s', (policy) => {
  it.each(LAWS)('%s: %s', (law) => {
    expect(firstBreach(policy, law)).toBeUndefined();
  });
});

/** Runners pruned at work, per 1000 CI jobs. The grace period saves them, but who needs it often has misjudged often. */
const CLOSE_CALLS: readonly (readonly [PolicyName, number])[] = [
  ['ours, live Jobs', 3],
  ['ours, Gitea alone', 5],
];

/** Runners on their way that a sync drops only to start others, per 1000 CI jobs. */
const EXCHANGES: readonly (readonly [PolicyName, number])[] = [
  ['exact', 1],
  ['ours, live Jobs', 2],
  ['ours, Gitea alone', 40],
];

describe.runIf(ONLY === undefined)('in all histories together', () => {
  it.each(CLOSE_CALLS)('%s prunes at most %i runners at work per 1000 CI jobs', (policy, most) => {
    const tally = emptyTallies()[policy];
    for (const seed of SEEDS) addOutcome(tally, run(policy, seed), seed);

    expect(tally.closeCalls).toBeLessThanOrEqual((most / 1000) * tally.waitsMs.length);
  });

  it.each(EXCHANGES)(
    '%s exchanges at most %i runners per 1000 CI jobs for others that can do no more',
    (policy, most) => {
      const tally = emptyTallies()[policy];
      for (const seed of SEEDS) addOutcome(tally, run(policy, seed), seed);

      expect(tally.exchanged).toBeLessThanOrEqual((most / 1000) * tally.waitsMs.length);
    },
  );
});

describe('beside two static runners', () => {
  const beside = Array.from({ length: 25 }, (_, i) => {
    const history = makeHistory(i + 1);
    const [{ scope } = groupSpec()] = history.groups;
    const runner = { scope, labels: ['linux'], pollEveryS: 5 };
    return { ...history, statics: [runner, runner] };
  });
  const outcomes = beside.map((history) => ({ history, ...runHistory(history, POLICIES['ours, live Jobs']) }));

  it('keeps every law', () => {
    const [broken] = outcomes.filter(({ breaches }) => breaches.length > 0);
    const [breach] = broken?.breaches ?? [];

    expect(broken && breach && describeBreach(broken.history, 'ours, live Jobs', breach)).toBeUndefined();
  });

  it('leaves jobs to them, and starts fewer than 8 needless runners per 100 jobs', () => {
    const sum = (count: (outcome: Outcome) => number) => outcomes.reduce((total, outcome) => total + count(outcome), 0);

    expect(sum(({ takenByStatics }) => takenByStatics)).toBeGreaterThan(0);
    expect(sum(({ needless }) => needless)).toBeLessThan(0.08 * sum(({ waitsMs }) => waitsMs.length));
  });
});

describe('against the exact variant', () => {
  const tallies = emptyTallies();
  for (const seed of SEEDS) {
    for (const name of ['exact', ...OURS] as const) addOutcome(tallies[name], run(name, seed), seed);
  }
  const { exact } = tallies;

  it.each<[PolicyName, number]>([
    ['ours, live Jobs', 2],
    ['ours, Gitea alone', 12],
  ])('%s makes jobs wait at most %i %% longer, 99 of 100', (policy, percent) => {
    const most = (1 + percent / 100) * quantileS(exact.waitsMs, 0.99);
    expect(quantileS(tallies[policy].waitsMs, 0.99)).toBeLessThanOrEqual(most);
  });

  it.each<[PolicyName, number]>([
    ['ours, live Jobs', 0],
    ['ours, Gitea alone', 5],
  ])('%s starts at most %i needless runners more per 100 jobs', (policy, most) => {
    expect(tallies[policy].needless - exact.needless).toBeLessThanOrEqual((most / 100) * exact.waitsMs.length);
  });
});
