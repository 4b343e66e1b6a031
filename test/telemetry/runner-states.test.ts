import { expect, it } from 'vitest';
import type { DroppedBecause, EmittedBecause, RunnerDecision } from '../../src/planner/decisions.ts';
import type { LiveState } from '../../src/planner/evidence.ts';
import type { ShownState } from '../../src/serve/planning/events.ts';
import { runnerStateOf } from '../../src/telemetry/metrics.ts';

const group = { namespace: 'runners', name: 'ci' };

function kept(because: EmittedBecause): RunnerDecision {
  return { emit: true, runner: 'ci-7', group, because, pinned: false };
}

function dropped(because: DroppedBecause): RunnerDecision {
  return { emit: false, runner: 'ci-7', group, because };
}

it.each<[LiveState, RunnerDecision | undefined, ShownState | undefined]>([
  ['starting', kept('new-runner'), 'initializing'],
  ['starting', kept('spare'), 'initializing'],
  ['running', kept('own-runner'), 'idle'],
  ['running', kept('busy'), 'busy'],
  ['unknown', kept('busy'), 'busy'],
  ['running', kept('finishing'), 'busy'],
  ['running', kept('debugging'), 'debugging'],
  ['running', kept('lost'), 'stale'],
  ['failed', kept('lost'), 'stale'],
  ['failed', kept('back-off-record'), 'retryable'],
  ['failed', dropped('failed'), 'failed'],
  ['failed', kept('busy'), 'failed'],
  ['running', dropped('used-up'), 'stale'],
  ['running', dropped('offline'), 'stale'],
  ['unknown', kept('own-runner'), 'unknown'],
  ['complete', dropped('used-up'), undefined],
  ['deleting', kept('busy'), undefined],
])('a runner whose Job is %s, by decision %j, is %s', (live, decision, state) => {
  expect(runnerStateOf(live, decision)).toBe(state);
});

it.each<[LiveState, ShownState | undefined]>([
  ['starting', 'initializing'],
  ['running', 'unknown'],
  ['unknown', 'unknown'],
  ['failed', 'failed'],
  ['complete', undefined],
])('a runner without a plan whose Job is %s is %s', (live, state) => {
  expect(runnerStateOf(live, undefined)).toBe(state);
});
