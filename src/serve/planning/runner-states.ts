/** The state of a runner in one word, for metrics: what Kubernetes shows of its Job, and what the plan decided. docs/monitoring.md explains them. */
import type { DroppedBecause, EmittedBecause, RunnerDecision } from '../../planner/decisions.ts';
import type { LiveState } from '../../planner/evidence.ts';

export const RUNNER_STATES = [
  'initializing',
  'idle',
  'busy',
  'debugging',
  'failed',
  'retryable',
  'stale',
  'unknown',
] as const;
export type ShownState = (typeof RUNNER_STATES)[number];

/** `alive`: the pod tells whether it is initializing or idle. A new decision does not compile until it has its state here. */
const STATE_OF: Readonly<Record<EmittedBecause | DroppedBecause, ShownState | 'alive'>> = {
  busy: 'busy',
  finishing: 'busy',
  debugging: 'debugging',
  moved: 'busy',
  'own-runner': 'alive',
  chain: 'alive',
  'free-runner': 'alive',
  'new-runner': 'alive',
  spare: 'alive',
  warm: 'alive',
  unpinning: 'alive',
  lost: 'stale',
  foreign: 'stale',
  'back-off-record': 'retryable',
  'used-up': 'stale',
  failed: 'failed',
  'never-came': 'stale',
  stuck: 'stale',
  replaced: 'stale',
  disabled: 'stale',
  suspended: 'stale',
  surplus: 'stale',
  drained: 'stale',
  deleting: 'stale',
  gone: 'stale',
  offline: 'stale',
  'group-in-trouble': 'unknown',
};

/**
 * @param live state of its Job.
 * @param decision of the plan; absent when there is no plan.
 * @returns undefined for a Job that has completed or is being deleted: it has no runner.
 */
export function runnerStateOf(live: LiveState, decision: RunnerDecision | undefined): ShownState | undefined {
  if (live === 'complete' || live === 'deleting') return undefined;
  const told = decision ? STATE_OF[decision.because] : 'unknown';
  if (live === 'failed') return told === 'retryable' || told === 'stale' ? told : 'failed';
  if (told === 'unknown') return live === 'starting' ? 'initializing' : 'unknown';
  if (told !== 'alive') return told;
  // The container of the runner starts when the init container has registered it.
  if (live === 'running') return 'idle';
  return live === 'starting' ? 'initializing' : 'unknown';
}
