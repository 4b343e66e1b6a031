/** Tests which pods the simulation does not count as started for a job (recreated.ts). */
import { expect, it } from 'vitest';
import { comesBack, isRecreated, type Namesake } from './recreated.ts';

/** Times are seconds. The look that asked for the new pod began at 100. */
const LOOK_AT = 100;
const NAME = 'ci-1-1-0';
const NEVER = { claimedMs: undefined, endedMs: undefined, pinnedMs: undefined, unpinnedMs: undefined };
const NEW: Namesake = { nth: 2, name: NAME, createdMs: 300, job: undefined, deletedMs: undefined, ...NEVER };

/** A pod that was made before the new one. */
const earlier = (over: Partial<Namesake> = {}): Namesake => ({ ...NEW, nth: 1, createdMs: 10, ...over });
const worked = (claimedMs: number, endedMs: number | undefined, over: Partial<Namesake> = {}): Namesake =>
  earlier({ claimedMs, endedMs, job: { status: endedMs === undefined ? 'running' : 'success' }, ...over });
const podsWith = (others: readonly Namesake[]) => ({
  pods: [...others, NEW],
  jobs: new Map([[NAME, { askedAtMs: LOOK_AT }]]),
});

it.each<[isRecreated: boolean, when: string, others: readonly Namesake[]]>([
  [true, 'the earlier one is still at work', [worked(200, undefined)]],
  [true, 'the earlier one was at work as the look began, and has ended since', [worked(90, 110)]],
  [false, 'there is no earlier one', []],
  [false, 'the earlier one had ended before the look', [worked(50, 99)]],
  [false, 'the earlier one took its job after the look began', [worked(101, 200)]],
  [false, 'the earlier one never took a job', [earlier({ endedMs: 200 })]],
  [false, 'only another name was at work', [worked(90, 110, { name: 'ci-2-1-0' })]],
  [false, 'the one that was at work is a later one of its name', [worked(90, 110, { nth: 3 })]],
])('a pod is re-created: %s, when %s', (expected, _, others) => {
  expect(isRecreated(podsWith(others), NEW)).toBe(expected);
});

/** A free runner whose Job was pinned, lost its pin and was pruned, at these times. Its pod had ended before the look. */
const freed = (pinnedMs?: number, unpinnedMs?: number, deletedMs?: number, over: Partial<Namesake> = {}): Namesake =>
  earlier({ endedMs: 95, pinnedMs, unpinnedMs, deletedMs, ...over });
const pruned = (over: Partial<Namesake>): Namesake => freed(undefined, undefined, 120, over);

it.each<[comesBack: boolean, when: string, others: readonly Namesake[]]>([
  [true, 'the plan took its pin off, and it was pruned since', [freed(90, 110, 120)]],
  [true, 'the plan kept it, and an older plan pruned it since', [pruned({ endedMs: 121 })]],
  [false, 'there was none', []],
  [false, 'it had no pin and had ended', [pruned({})]],
  [false, 'its pin was gone when the look began', [freed(50, 99, 120)]],
  [false, 'it was pinned after the look began', [freed(101, 110, 120)]],
  [false, 'it has its pin still', [freed(90, undefined, 120)]],
  [false, 'it was pruned before the look', [freed(90, 110, 99)]],
  [false, 'it was not pruned', [freed(90, 110)]],
  [false, 'it was not there when the look began', [pruned({ createdMs: 101, endedMs: 121 })]],
  [false, 'only another name was pinned', [freed(90, 110, 120, { name: 'ci-2-1-0' })]],
  [false, 'the one that was pinned is a later one of its name', [freed(90, 110, 120, { nth: 3 })]],
])('comes back by a plan: %s, when %s', (expected, _, others) => {
  expect(comesBack(podsWith(others), NEW)).toBe(expected);
});
