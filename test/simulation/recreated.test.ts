/** Which pods the simulation does not count as started for a job (recreated.ts). */
import { describe, expect, it } from 'vitest';
import { isRecreated } from './recreated.ts';

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
