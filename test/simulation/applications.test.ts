/** Two Applications whose groups cover the same jobs: neither knows the other, but both see all Jobs (src/planner/assign.ts). */
import { expect, it } from 'vitest';
import type { History } from './history.ts';
import { makeHistory } from './make-history.ts';
import { OURS, POLICIES, type PolicyName } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { type Outcome, runHistory } from './run.ts';

const SEEDS = Array.from({ length: Number(process.env['SIM_HISTORIES'] ?? 10) }, (_, i) => i + 1);

/** A history in which a second Application has the same groups under other names. */
function twice(history: History): History {
  const others = history.groups.map((group) => ({ ...group, name: `${group.name}-b`, application: 'others' }));
  return { ...history, groups: [...history.groups, ...others] };
}

const known = new Map<string, Outcome>();

/** Runs each history once under each policy. */
function run(policy: PolicyName, seed: number): Outcome {
  const key = `${policy} ${seed}`;
  const outcome = known.get(key) ?? runHistory(twice(makeHistory(seed)), POLICIES[policy]);
  known.set(key, outcome);
  return outcome;
}

function sum(policy: PolicyName): { readonly needless: number; readonly jobs: number } {
  const outcomes = SEEDS.map((seed) => run(policy, seed));
  return {
    needless: outcomes.reduce((total, { needless }) => total + needless, 0),
    jobs: outcomes.reduce((total, { waitsMs }) => total + waitsMs.length, 0),
  };
}

it.each(['double-spawn', 'unserved'] as const)(
  'two Applications that cover the same jobs break no law, seeing Jobs: %s',
  (law) => {
    for (const seed of SEEDS) {
      const breach = run('ours, live Jobs', seed).breaches.find((found) => found.law === law);
      expect(breach && describeBreach(twice(makeHistory(seed)), 'ours, live Jobs', breach)).toBeUndefined();
    }
  },
);

it('two Applications that cover the same jobs serve every job, even when they see nothing of each other', () => {
  for (const seed of SEEDS) {
    const { breaches } = run('ours, Gitea alone', seed);
    expect(breaches.filter(({ law }) => law === 'unserved')).toEqual([]);
  }
});

it('two Applications that cover the same jobs start fewer needless runners when they see each other: those of the same moment remain', () => {
  const [alone, seeing] = OURS.map(sum);

  expect(seeing?.needless ?? 0).toBeLessThan(0.85 * (alone?.needless ?? 0));
});
