/** Tests the cost of hints about labels (law V102). Their text: test/cli/explain-text.test.ts. */
import { expect, it } from 'vitest';
import { hintsFor } from '../../src/answers/uncovered-labels.ts';
import type { JobDecision } from '../../src/planner/decisions.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { job, ORIGIN } from '../support/scenario.ts';

const ci = runnerGroup({ labels: [{ name: 'linux', text: 'linux:host' }] });

function uncovered(id: number, labels: readonly string[]): JobDecision {
  return { job: job(id, { labels }), origin: ORIGIN, verdict: 'held', because: 'labels-not-covered' };
}

it('hints compare a label once, however many jobs have it', () => {
  const rows = Array.from({ length: 1_000 }, (_, index) => uncovered(index, ['linx']));
  // Steps for looking up the label in the group for each job, and for comparing it once.
  const hint = hintsFor([ci], 4 * rows.length + 'linx'.length * 'linux'.length);

  expect(new Set(rows.map((row) => hint(row).didYouMean?.labels[0]?.meant))).toEqual(new Set(['linux']));
});

it('hints end when their steps are used up: what is left to say is said without them', () => {
  const hint = hintsFor([ci], 4 * 2 + 'linx'.length * 'linux'.length);

  expect(hint(uncovered(1, ['linx'])).didYouMean).toBeDefined();
  expect(hint(uncovered(2, ['lnux']))).toEqual({});
  expect(hint(uncovered(3, ['linx']))).toEqual({});
});

it('hints compare no label that is too long to be mistyped', () => {
  const hint = hintsFor([ci], 4 * 2 + 'linx'.length * 'linux'.length);

  expect(hint(uncovered(1, ['x'.repeat(4_096)]))).toEqual({});
  expect(hint(uncovered(2, ['linx'])).didYouMean).toBeDefined();
});
