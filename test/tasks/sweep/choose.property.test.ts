/** Whatever the lists say, and however often they change: nothing that could live is chosen. */
import { describe, expect } from 'vitest';
import type { LiveState, Look } from '../../../src/planner/evidence.ts';
import {
  type Choice,
  deadRegistrations,
  type RowObservations,
  SIGHTINGS_APART_MS,
  type SweepEvidence,
} from '../../../src/tasks/sweep/choose.ts';
import { fc, test } from '../../support/property.ts';
import { live as liveOf, ORIGIN, running } from '../../support/scenario.ts';
import { CI, INSTANCE, ownName, row } from './scene.ts';

const GPU = { ...CI, name: 'gpu', look: 'all' };
/** Ours, by group. */
const OURS = new Map([
  [CI, [1, 2, 3].map((id) => ownName(id))],
  [GPU, [1, 2].map((id) => ownName(id, GPU))],
]);
const FOREIGN = [ownName(1, CI, 'south'), ownName(1, { namespace: 'other', name: 'ci' }), 'act-runner-1', 'ci', ''];
const NAMES = [...[...OURS.values()].flat(), ...FOREIGN];

/** Mostly as a dead one looks, so that many are chosen. */
const mostly = (usual: boolean) => fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, fc.constant(!usual));
const anyRow = fc.record({
  id: fc.integer({ min: 1, max: 6 }),
  name: fc.constantFrom(...NAMES),
  online: mostly(false),
  busy: mostly(false),
  ephemeral: mostly(true),
});
const anyLook = fc.record({
  rows: fc.uniqueArray(anyRow, { selector: ({ id }) => id, maxLength: 6 }),
  working: fc.array(fc.record({ name: fc.constantFrom(...NAMES), done: fc.boolean() }), { maxLength: 2 }),
});
const anyLive = fc.record({
  name: fc.constantFrom(...NAMES),
  state: fc.constantFrom<LiveState>('starting', 'running', 'complete', 'failed', 'deleting', 'unknown'),
});
const anyStep = fc.record({
  acme: anyLook,
  /** Same as before, so that rows are seen more than once. */
  same: mostly(true),
  all: fc.option(anyLook, { nil: undefined }),
  live: fc.option(fc.array(anyLive, { maxLength: 3 }), { nil: undefined, freq: 8 }),
  seconds: fc.integer({ min: 1, max: 90 }),
});
const anyHistory = fc.array(anyStep, { minLength: 2, maxLength: 5 }).map(toHistory);

type Step = typeof anyStep extends fc.Arbitrary<infer V> ? V : never;

function toHistory(steps: readonly Step[]): readonly SweepEvidence[] {
  let nowMs = 0;
  let before: Step | undefined;
  return steps.map((step) => {
    const { acme, all, live, seconds } = step.same && before ? { ...before, seconds: step.seconds } : step;
    before = { ...step, acme, all, live };
    nowMs += seconds * 1000;
    const looks = new Map([['acme', toLook(acme)], ...(all ? [['all', toLook(all)] as const] : [])]);
    return {
      instance: INSTANCE,
      groups: [CI, GPU],
      looks,
      liveJobs: live?.map(({ name, state }) => liveOf(name, state)),
      nowMs,
    };
  });
}

function toLook({ rows, working }: Step['acme']): Look {
  return {
    runners: rows.map((each) => row(each.name, each)),
    jobs: working.map(({ name, done }) => running(900, name, { status: done ? 'completed' : 'in_progress' })),
  };
}

function lastOf(history: readonly SweepEvidence[]): Choice {
  let observations: RowObservations = new Map();
  let choice: Choice | undefined;
  for (const evidence of history) {
    choice = deadRegistrations(evidence, observations);
    observations = choice.observations;
  }
  if (!choice) throw new Error('an empty history');
  return choice;
}

/** Judges a row in a second, different way: nothing in this evidence shows that it lives. */
function looksDead(evidence: SweepEvidence, look: string, id: number, name: string): boolean {
  const rows = [...evidence.looks.values()].flatMap(({ runners }) => runners);
  const jobs = [...evidence.looks.values()].flatMap(({ jobs: all }) => all);
  const found = evidence.looks.get(look)?.runners.find((each) => each.id === id);
  return (
    found?.name === name &&
    found.ephemeral &&
    !rows.some((each) => each.name === name && (each.online || each.busy)) &&
    !jobs.some(({ status, runner }) => status === 'in_progress' && runner === name) &&
    (evidence.liveJobs?.every((job) => job.name !== name || job.state === 'complete' || job.state === 'failed') ??
      false)
  );
}

/** Returns for how many observations, newest first, this has held without a break. */
function unbroken(history: readonly SweepEvidence[], holds: (evidence: SweepEvidence) => boolean): number {
  const nowMs = history.at(-1)?.nowMs ?? 0;
  let sinceMs = nowMs;
  for (const evidence of [...history].reverse()) {
    if (!holds(evidence)) break;
    sinceMs = evidence.nowMs;
  }
  return nowMs - sinceMs;
}

describe('for any history of looks', () => {
  test(
    'a chosen row is ours, ephemeral, offline, without job and Job, at two observations apart',
    [anyHistory],
    (history) => {
      for (const { group, id, name, verdict } of lastOf(history).registrations) {
        expect([...OURS].find(([{ look }]) => look === group.look)?.[1]).toContain(name);
        if (verdict.is !== 'dead') continue;
        const seenMs = unbroken(history, (evidence) => looksDead(evidence, group.look, id, name));
        expect(seenMs).toBeGreaterThanOrEqual(SIGHTINGS_APART_MS);
      }
    },
  );

  test(
    'a row that was never anything but dead is chosen, unless its group lives elsewhere',
    [anyHistory],
    (history) => {
      fc.pre(history.every(hasOneNamePerId));
      const { registrations } = lastOf(history);
      for (const { group, id, name, verdict } of registrations) {
        const seenMs = unbroken(history, (evidence) => looksDead(evidence, group.look, id, name));
        if (seenMs < SIGHTINGS_APART_MS || verdict.is === 'dead') continue;
        expect(verdict.because).toBe('group-elsewhere');
        const witness = registrations.find((other) => other.name === verdict.witness && other.group === group);
        expect(witness?.verdict).toMatchObject({
          is: 'kept',
          because: expect.stringMatching(/^(?:online|not-ephemeral)$/),
        });
      }
    },
  );

  test('no row of another runner is judged, and every row is counted', [anyHistory], (history) => {
    const { registrations, foreign } = lastOf(history);
    const rows = [...(history.at(-1)?.looks.values() ?? [])].flatMap(({ runners }) => runners);

    expect(registrations.filter(({ name }) => FOREIGN.includes(name))).toEqual([]);
    expect(registrations.length + foreign).toBe(new Set(rows.map(({ id }) => `${ORIGIN} ${id}`)).size);
  });

  test('the order of rows, jobs, Jobs and groups does not matter', [anyHistory], (history) => {
    const turned = history.map((evidence) => ({
      ...evidence,
      groups: [...evidence.groups].reverse(),
      liveJobs: evidence.liveJobs && [...evidence.liveJobs].reverse(),
      looks: new Map(
        [...evidence.looks]
          .reverse()
          .map(([key, { runners, jobs }]) => [key, { runners: [...runners].reverse(), jobs: [...jobs].reverse() }]),
      ),
    }));
    fc.pre(history.every(hasOneNamePerId));

    const kinds = ({ registrations }: Choice) =>
      registrations.map(({ id, name, verdict }) => [id, name, verdict.is === 'dead' || verdict.because]);
    expect(kinds(lastOf(turned))).toEqual(kinds(lastOf(history)));
  });
});

/**
 * True if each id has one name. Otherwise it is not a Gitea: either of the two rows of one id may be judged, and the
 * safety laws hold all the same.
 */
function hasOneNamePerId({ looks }: SweepEvidence): boolean {
  const names = new Map<number, string>();
  return [...looks.values()]
    .flatMap(({ runners }) => runners)
    .every(({ id, name }) => (names.has(id) ? names.get(id) === name : names.set(id, name) !== undefined));
}
