import { expect, it } from 'vitest';
import { hasEnded, isOver, isPinnedAlive, type LiveState } from '../../src/planner/evidence.ts';

it.each<[LiveState, boolean, boolean]>([
  ['starting', false, false],
  ['running', false, false],
  ['unknown', false, false],
  ['complete', true, true],
  ['failed', true, true],
  ['deleting', false, true],
])('a Job that is %s: has ended %s, is over %s', (state, ended, over) => {
  expect([hasEnded(state), isOver(state)]).toEqual([ended, over]);
  expect([true, false].map((pinned) => isPinnedAlive({ pinned, state }))).toEqual([!over, false]);
});
