/** Two Applications whose groups cover the same jobs: neither knows the other, but both see all Jobs (src/plan/elsewhere.ts). */
import { describe, expect, it } from 'vitest';
import type { History } from './history.ts';
import { makeHistory } from './make-history.ts';
import { OURS, POLICIES, type PolicyName } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { runHistory } from './run.ts';

const SEEDS = Array.from({ length: Number(process.env['SIM_HISTORIES'] ?? 20) }, (_, i) => i + 1);

/** A history in which a second Application has the same groups under other names. */
function twice(history: History): History {
  const others = history.groups.map((group) => ({ ...group, name: `${group.name}-b`, application: 'others' }));
  return { ...history, groups: [...history.groups, ...others] };
}

function sum(policy: PolicyName, histories: readonly History[]): { readonly needless: number; readonly jobs: number } {
  const outcomes = histories.map((history) => runHistory(history, POLICIES[policy]));
  return {
    needless: outcomes.reduce((total, { needless }) => total + needless, 0),
    jobs: outcomes.reduce((total, { waitsMs }) => total + waitsMs.length, 0),
  };
}

describe('two Applications that cover the same jobs', () => {
  it.each(['double-spawn', 'unserved'] as const)('break no law, seeing Jobs: %s', (law) => {
    for (const seed of SEEDS) {
      const history = twice(makeHistory(seed));
      const breach = runHistory(history, POLICIES['ours, live Jobs']).breaches.find((found) => found.law === law);
      expect(breach && describeBreach(history, 'ours, live Jobs', breach)).toBeUndefined();
    }
  });

  it('serve every job, even when they see nothing of each other', () => {
    for (const seed of SEEDS) {
      const { breaches } = runHistory(twice(makeHistory(seed)), POLICIES['ours, Gitea alone']);
      expect(breaches.filter(({ law }) => law === 'unserved')).toEqual([]);
    }
  });

  it('start fewer needless runners when they see each other: those of the same moment remain', () => {
    const histories = SEEDS.map((seed) => twice(makeHistory(seed)));
    const [alone, seeing] = OURS.map((policy) => sum(policy, histories));

    expect(seeing?.needless ?? 0).toBeLessThan(0.85 * (alone?.needless ?? 0));
  });
});
