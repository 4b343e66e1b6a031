/** Which pods the simulation does not count as started for a job (recreated.ts). */
import { describe, expect, it } from 'vitest';
import { comesBack, isRecreated } from './recreated.ts';

/** Times are seconds. The look that asked for the new pod began at 100. */
const LOOK_AT = 100;
type Namesake = Parameters<typeof isRecreated>[1];

const pod = (over: Partial<Namesake> = {}): Namesake => ({
  nth: 2,
  name: 'ci-1-1-0',
  createdMs: 300,
  job: undefined,
  claimedMs: undefined,
  endedMs: undefined,
  pinnedMs: undefined,
  unpinnedMs: undefined,
  deletedMs: undefined,
  ...over,
});
const worked = (claimedMs: number, endedMs: number | undefined, over: Partial<Namesake> = {}): Namesake =>
  pod({
    nth: 1,
    createdMs: 10,
    claimedMs,
    endedMs,
    job: { status: endedMs === undefined ? 'running' : 'success' },
    ...over,
  });
const isExcused = (...earlier: Namesake[]): boolean =>
  isRecreated({ pods: [...earlier, pod()], jobs: new Map([['ci-1-1-0', { askedAtMs: LOOK_AT }]]) }, pod());

describe('a pod is re-created', () => {
  it('when the earlier one of its name is still at work', () => {
    expect(isExcused(worked(200, undefined))).toBe(true);
  });

  it('when the earlier one was at work as the look began, and has ended since', () => {
    expect(isExcused(worked(90, 110))).toBe(true);
  });
});

describe('a pod is a new start', () => {
  it('when there is no earlier one', () => {
    expect(isExcused()).toBe(false);
  });

  it('when the earlier one had ended before the look', () => {
    expect(isExcused(worked(50, 99))).toBe(false);
  });

  it('when the earlier one took its job after the look began', () => {
    expect(isExcused(worked(101, 200))).toBe(false);
  });

  it('when the earlier one never took a job', () => {
    expect(isExcused(pod({ nth: 1, createdMs: 10, endedMs: 200 }))).toBe(false);
  });

  it('when only another name was at work', () => {
    expect(isExcused(worked(90, 110, { name: 'ci-2-1-0' }))).toBe(false);
  });

  it('when the one that was at work is a later one of its name', () => {
    expect(isExcused(worked(90, 110, { nth: 3 }))).toBe(false);
  });
});

/** A free runner whose Job was pinned, lost its pin and was pruned, at these times. Its pod had ended before the look. */
const freed = (pinnedMs?: number, unpinnedMs?: number, deletedMs?: number, over: Partial<Namesake> = {}): Namesake =>
  pod({ nth: 1, createdMs: 10, endedMs: 95, pinnedMs, unpinnedMs, deletedMs, ...over });
const isBack = (...earlier: Namesake[]): boolean =>
  comesBack({ pods: [...earlier, pod()], jobs: new Map([['ci-1-1-0', { askedAtMs: LOOK_AT }]]) }, pod());

it('a Job comes back by the plan that took its pin off, when it was pruned since', () => {
  expect(isBack(freed(90, 110, 120))).toBe(true);
});

it('a Job comes back by a plan that kept it, when an older plan pruned it since', () => {
  expect(isBack(freed(undefined, undefined, 120, { endedMs: 121 }))).toBe(true);
});

it.each<[string, Namesake[]]>([
  ['there was none', []],
  ['it had no pin and had ended', [freed(undefined, undefined, 120)]],
  ['its pin was gone when the look began', [freed(50, 99, 120)]],
  ['it was pinned after the look began', [freed(101, 110, 120)]],
  ['it has its pin still', [freed(90, undefined, 120)]],
  ['it was pruned before the look', [freed(90, 110, 99)]],
  ['it was not pruned', [freed(90, 110)]],
  ['it was not there when the look began', [freed(undefined, undefined, 120, { createdMs: 101, endedMs: 121 })]],
  ['only another name was pinned', [freed(90, 110, 120, { name: 'ci-2-1-0' })]],
  ['the one that was pinned is a later one of its name', [freed(90, 110, 120, { nth: 3 })]],
])('a Job does not come back by that plan when %s', (_, earlier) => {
  expect(isBack(...earlier)).toBe(false);
});
