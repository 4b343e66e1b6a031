/** Tests what a plan from kept looks may not do (laws P61 and P62). */
import { describe, expect, it } from 'vitest';
import { asOf, prunesLivingJob } from '../../src/plan/kept-looks.ts';
import type { DroppedBecause, EmittedBecause, Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import type { LiveJob, LiveState } from '../../src/planner/evidence.ts';

const THEN = Date.parse('2026-11-28T12:00:00.400Z');
const live = (state: LiveState, more: Partial<LiveJob> = {}): LiveJob => ({
  namespace: 'runners',
  name: 'ci-7-1-0123abcd',
  state,
  createdAtMs: THEN - 60_000,
  pinned: false,
  ...more,
});
const of = { runner: 'ci-7-1-0123abcd', group: { namespace: 'runners', name: 'ci' } };
const planned = (decision: RunnerDecision): Plan => ({ groups: [], jobs: [], runners: [decision] });
const dropped = (because: DroppedBecause) => planned({ ...of, emit: false, because });
const printed = (because: EmittedBecause) => planned({ ...of, emit: true, because, pinned: false });

/** The full list: a new reason does not compile until it stands here. */
const DROPPED: Readonly<Record<DroppedBecause, boolean>> = {
  'used-up': false,
  failed: true,
  'never-came': true,
  stuck: true,
  replaced: true,
  disabled: true,
  suspended: true,
  surplus: true,
  drained: true,
  deleting: true,
  gone: true,
  offline: true,
};

describe('a Job that has not ended', () => {
  it.each(Object.entries(DROPPED))('let go because %s: in doubt %s', (because, isInDoubt) => {
    for (const state of ['starting', 'running', 'unknown'] as const)
      expect(prunesLivingJob(dropped(because as DroppedBecause), [live(state)])).toBe(isInDoubt);
  });

  it('a Job whose pin goes is let go, too; one that is printed is not', () => {
    expect(prunesLivingJob(printed('unpinning'), [live('running', { pinned: true })])).toBe(true);
    for (const because of ['busy', 'own-runner', 'spare', 'warm', 'lost'] as const)
      expect(prunesLivingJob(printed(because), [live('running')])).toBe(false);
  });
});

it('a Job that has ended, is being deleted, is not seen or is of another namespace is nobody at work', () => {
  for (const state of ['complete', 'failed', 'deleting'] as const)
    expect(prunesLivingJob(dropped('surplus'), [live(state)])).toBe(false);
  expect(prunesLivingJob(dropped('gone'), [])).toBe(false);
  expect(prunesLivingJob(dropped('surplus'), [live('running', { namespace: 'other' })])).toBe(false);
});

describe('at the time of a look', () => {
  it.each([
    ['has ended after it', THEN + 600, 'running'],
    ['has ended in its second', THEN - 400, 'running'],
    ['has ended before it', THEN - 1_400, 'complete'],
    ['has ended, and nobody knows when', undefined, 'running'],
  ] as const)('a Job that %s', (_, finishedAtMs, state) => {
    const [job] = asOf(THEN, [live('complete', finishedAtMs === undefined ? {} : { finishedAtMs })]);

    expect(job?.state).toBe(state);
    expect(job?.finishedAtMs).toBe(state === 'running' ? undefined : finishedAtMs);
  });

  it('a Job that lives is as it is', () => {
    const jobs = [live('running'), live('starting'), live('deleting')];

    expect(asOf(THEN, jobs)).toEqual(jobs);
  });
});
