/** Histories in which pods cannot start for an hour, and groups with priority tiers (docs/adr/0034). */
import { describe, expect, it } from 'vitest';
import type { Pod } from './cluster.ts';
import { groupSpec, type History, push, quietHistory, type Trouble } from './history.ts';
import { makeCalmHistory, makeHistory } from './make-history.ts';
import { POLICIES } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { type Outcome, runHistory } from './run.ts';

const HOUR = 3600;
const DEADLINE_S = 900;

/** An ordinary afternoon in which one trouble lasts for an hour. */
function troubled(seed: number, kind: 'full' | 'quota' | 'bad-token'): History {
  const history = makeHistory(seed);
  const trouble: Trouble = { kind, atS: 60 + seed, untilS: 60 + seed + HOUR };
  // Records of failures stay for ten minutes, as by default.
  const groups = history.groups.map((group) => ({ ...group, ttlS: 600 }));
  return { ...history, groups, troubles: [...history.troubles, trouble], patienceS: history.patienceS + HOUR };
}

function run(history: History): Outcome {
  const outcome = runHistory(history, POLICIES['ours, live Jobs']);
  const [breach] = outcome.breaches;
  expect(breach && describeBreach(history, 'ours, live Jobs', breach)).toBeUndefined();
  return outcome;
}

const capOf = ({ groups }: History): number => groups.reduce((sum, { cap }) => sum + cap, 0);
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
/** Seeds whose jobs wait for the whole hour. */
const BUSY_SEEDS = [1, 2, 3, 4, 6, 8];
const FAILING_AFTER = 3;
/** Most tries of a group in an hour. Without the back-off of whole groups it was 80 to 430. */
const MOST_TRIES = 45;

describe('with sight of Kubernetes, while nothing can start for an hour', () => {
  it.each([
    ...SEEDS.map((seed) => ['no node has room', 'full', seed] as const),
    ...SEEDS.slice(0, 4).map((seed) => ['a quota refuses pods', 'quota', seed] as const),
  ])('%s (%s), history %d: every job is served in the end, and few pods are tried', (_, kind, seed) => {
    const history = troubled(seed, kind);
    const triedInVain = run(history).pods.filter(({ isMade }) => !isMade);

    // Each slot is given away once per deadline. A cancelled job drops its pod, too.
    expect(triedInVain.length).toBeLessThanOrEqual(capOf(history) * (HOUR / DEADLINE_S) + history.acts.length);
  });

  it.each(BUSY_SEEDS)(
    'the registration token is wrong, history %d: one runner at a time is tried, more and more seldom',
    (seed) => {
      const history = troubled(seed, 'bad-token');
      const refused = run(history).pods.filter((pod) => pod.refused);

      expect(refused.length).toBeGreaterThan(FAILING_AFTER);
      expect(refused.length).toBeLessThanOrEqual(history.groups.length * MOST_TRIES);
    },
  );
});

const one = quietHistory({
  groups: [groupSpec({ cap: 1 })],
  pods: [{ startS: 0, start: 'image' }],
  pushes: [push(0, [30]), push(30, [30])],
});

it('a place that a pod cannot use is free for another job after the deadline', () => {
  const { waitsMs, pods } = run(one);

  expect(waitsMs).toHaveLength(2);
  expect(Math.max(...waitsMs)).toBeLessThan((DEADLINE_S + 120) * 1000);
  expect(pods[0]?.end).toBe('dropped');
  expect(pods).toHaveLength(3);
});

const TIERS = [
  { priorityClassName: 'critical', threshold: 1 },
  { priorityClassName: 'standard', threshold: 2 },
];

/** Returns the most pods of a class that existed at one time. */
function mostAtOnce(pods: readonly Pod[], priorityClass: string): number {
  const ofClass = pods.filter((pod) => pod.priorityClass === priorityClass);
  const isThere = ({ createdMs, endedMs, deletedMs }: Pod, atMs: number): boolean =>
    createdMs <= atMs && (endedMs ?? Number.POSITIVE_INFINITY) > atMs && (deletedMs ?? Number.POSITIVE_INFINITY) > atMs;
  return Math.max(0, ...ofClass.map(({ createdMs }) => ofClass.filter((other) => isThere(other, createdMs)).length));
}

it.each(SEEDS)(
  'calm history %d: no tier has more runners than places, and no Job is asked to change its class',
  (seed) => {
    const calm = makeCalmHistory(seed);
    const groups = calm.groups.map((group) => ({
      ...group,
      priorityTiers: [...TIERS, { priorityClassName: 'spare', threshold: Math.max(3, group.cap) }],
      cap: Math.max(3, group.cap),
    }));
    const { pods, reclassed } = run({ ...calm, groups });

    expect(reclassed).toBe(0);
    expect(pods.every(({ priorityClass }) => priorityClass !== undefined)).toBe(true);
    for (const { priorityClassName } of TIERS) expect(mostAtOnce(pods, priorityClassName)).toBeLessThanOrEqual(1);
  },
);
