/** Tests the named histories: each under the planner with and without Kubernetes, with its expected result. */
import { describe, expect, it } from 'vitest';
import type { Pod } from './cluster.ts';
import * as named from './histories/named.ts';
import type { History } from './history.ts';
import { KINDS } from './kinds.ts';
import { OURS, POLICIES, type PolicyName } from './policies/index.ts';
import { type Outcome, runHistory } from './run.ts';

/**
 * Histories whose second pod Gitea alone does not show: the cap does not hold (docs/simulations.md, "What is not
 * counted").
 */
const UNSEEN: readonly string[] = ['MADE_ANEW_WITHIN_SECONDS'];

const known = new Map<PolicyName, Map<History, Outcome>>();

/** A history, run once under each policy. */
function runOnce(history: History, policy: PolicyName): Outcome {
  const outcomes = known.get(policy) ?? new Map<History, Outcome>();
  const outcome = outcomes.get(history) ?? runHistory(history, POLICIES[policy]);
  known.set(policy, outcomes.set(history, outcome));
  return outcome;
}

describe.each(OURS)('%s', (policy) => {
  const run = (history: History): Outcome => runOnce(history, policy);
  const storyOf = (history: History): readonly string[] => runHistory(history, POLICIES[policy], true).story;
  const ends = (history: History): readonly unknown[] => run(history).pods.map(({ end }) => end);

  it.each(Object.entries(named))('breaks no law in %s', (name, history) => {
    const isOpen = policy === 'ours, Gitea alone' && UNSEEN.includes(name);

    expect(run(history).breaches.filter(({ law }) => !(isOpen && law === 'cap'))).toEqual([]);
  });

  it.each<[what: string, history: History, ends: readonly Pod['end'][]]>([
    ['when runners take each other’s jobs', named.CHAIN_OVER_FINISHED_JOBS, ['done', 'done', 'done']],
    ['when runners of several groups take each other’s jobs', named.CHAIN_ACROSS_GROUPS, ['done', 'done', 'done']],
    ['and drops it when the job is cancelled before it comes', named.CANCELLED_BEFORE_PICK_UP, ['dropped']],
    ['and lets it clean up after a cancel before the next job', named.CANCELLED_AT_WORK, ['done', 'done']],
    ['and a new one for a rerun that keeps its id', named.RERUN_KEEPS_THE_ID, ['done', 'done']],
    ['and waits for it when a quota holds it back', named.QUOTA, ['done', 'done']],
    ['and lets it finish when somebody deletes its Job', named.JOB_DELETED_AT_WORK, ['done', 'done']],
    ['for an hour without Argo CD, and after it', named.ARGO_CD_AWAY, Array(5).fill('done')],
    ['while names change in Gitea', named.RENAMED_IN_GITEA, ['done', 'done', 'done']],
  ])('starts one runner per job %s', (_, history, expected) => {
    expect(ends(history)).toEqual(expected);
  });

  it.each<[what: string, history: History, mostMs: number]>([
    ['when the second runner never starts', named.SECOND_RUNNER_CRASHES, 400_000],
    ['at the place where a group with a pool has moved, at once', named.MOVED_WITH_POOL, 2000],
  ])('serves the next CI job %s', (_, history, mostMs) => {
    expect(Math.max(...run(history).waitsMs)).toBeLessThan(mostMs);
  });

  it('starts nothing needless when jobs become ready late', () => {
    expect(run(named.UNBLOCKED_BY_NEEDS).needless).toBe(0);
  });

  it('drops no starting runner again and again when dozens of runners of one job take others', () => {
    expect(run(named.OVERTAKEN_DOZENS_OF_TIMES).needless).toBeLessThan(5);
  });

  it('replaces a runner that never starts: after the spawn timeout, or after the pending deadline when Kubernetes shows that it is stuck', () => {
    const [waitMs = 0] = run(named.NEVER_STARTS).waitsMs;
    const afterMs = policy === 'ours, live Jobs' ? 900_000 : 300_000;
    expect(waitMs).toBeGreaterThan(afterMs);
    expect(waitMs).toBeLessThan(afterMs + 30_000);
  });

  it('lets a runner finish whose repository goes elsewhere', () => {
    const { pods, prunedAtWork } = run(named.TRANSFERRED_AT_WORK);

    expect(pods.map(({ end }) => end)).toEqual(['done']);
    // With Gitea alone, its Job is not in the output, and has its grace period.
    expect(prunedAtWork).toBe(policy === 'ours, live Jobs' ? 0 : 1);
  });

  it('lets a runner finish whose repository is deleted', () => {
    const { pods } = run(named.DELETED_AT_WORK);

    expect(pods.map(({ end }) => end)).toEqual(['done']);
    // With Gitea alone, its Job is not in the output, and has its grace period.
    expect(pods.map(({ closeCall }) => closeCall)).toEqual([policy !== 'ours, live Jobs']);
  });

  it('needs no runner twice when the clean-up takes names away', () => {
    expect(run(named.CLEAN_UP_IN_THE_MIDDLE).waitsMs).toHaveLength(6);
  });

  it('drops the runner whose job a static runner took: with the next sync, or with the end of that job when Kubernetes shows how old it is', () => {
    const { pods, takenByStatics } = run(named.STATIC_RUNNER_IS_FIRST);
    const mostMs = policy === 'ours, live Jobs' ? 65_000 : 5_000;

    expect(takenByStatics).toBe(1);
    expect(pods.map(({ end }) => end)).toEqual(['dropped']);
    for (const { createdMs, endedMs = 0 } of pods) expect(endedMs - createdMs).toBeLessThan(mostMs);
  });

  it('waits for no static runner: one that is idle and takes nothing changes nothing', () => {
    // Gitea lists the runners of all repositories for a global scope, and does not say whose they are.
    const alone = {
      ...named.AFTERNOON,
      groups: named.AFTERNOON.groups.map((group) => ({ ...group, scope: { kind: 'global' as const } })),
    };
    const scope = { kind: 'repo' as const, repo: 'acme/old' };
    const beside = { ...alone, statics: [{ scope, labels: ['linux'], pollEveryS: 5 }] };

    expect(storyOf(beside)).toEqual(storyOf(alone));
  });
});

describe('with sight of Kubernetes', () => {
  const run = (history: History): Outcome => runOnce(history, 'ours, live Jobs');

  it.each<[what: string, history: History, mostMs: number]>([
    ['the slot of a runner that was lost at work, within seconds', named.LOST_AT_WORK, 30_000],
    [
      'a runner within a spawn timeout, although its id has come again and one of its name works',
      named.IDS_COME_AGAIN,
      330_000,
    ],
  ])('gives the next CI job %s', (_, history, mostMs) => {
    expect(Math.max(...run(history).waitsMs)).toBeLessThan(mostMs);
  });

  it('keeps the runners of a group that is renamed while they work, pinned or not, and counts them under its cap', () => {
    const { pods, prunedAtWork, waitsMs } = run(named.RENAMED_AT_WORK);

    expect(pods.map(({ end }) => end)).toEqual(['done', 'done', 'done']);
    expect(prunedAtWork).toBe(0);
    expect(Math.max(...waitsMs)).toBeGreaterThan(80_000);
  });

  it('keeps the runner whose job a static runner took for the next job', () => {
    const { pods, takenByStatics } = run(named.STATIC_RUNNER_IS_FIRST_OF_TWO);

    expect(takenByStatics).toBe(1);
    expect(pods.map(({ end }) => end)).toEqual(['done']);
  });

  it('tries again at once after the first crash and later after the third', () => {
    const created = run(named.CRASHES_AT_START).pods.map(({ createdMs }) => createdMs);
    const gaps = created.slice(1).map((atMs, i) => atMs - (created[i] ?? 0));
    expect(gaps).toHaveLength(4);
    expect(gaps[0]).toBeLessThan(10_000);
    expect(gaps[3]).toBeGreaterThan(20_000);
  });
});

it('comes to the same outcome when a history is run twice', () => {
  const once = (): Outcome => runHistory(named.AFTERNOON, POLICIES['ours, Gitea alone'], true);
  expect(once().story).toEqual(once().story);
});

it('breaks no law when Gitea is restored to a time at which its user had another name', () => {
  const { breaches, waitsMs } = runHistory(KINDS.bound(2000882), POLICIES['ours, live Jobs']);

  expect(breaches).toEqual([]);
  expect(waitsMs.length).toBeGreaterThan(0);
});

it.each<[seed: number, what: string, kind?: 'limited']>([
  [3_302_201, 'a group moves, and is renamed while runners of its new scope are at work', 'limited'],
  [3_300_961, 'a group moves back to a scope where Gitea does not list its idle runner'],
  [3_301_227, 'a restored Gitea shows the used name of an idle runner at work, and the group moves'],
])('breaks no law in the history of seed %i, in which %s', (seed, _what, kind) => {
  expect(runHistory(KINDS[kind ?? 'mixed'](seed), POLICIES['ours, live Jobs']).breaches).toEqual([]);
});
