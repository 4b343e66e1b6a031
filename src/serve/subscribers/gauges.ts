/** The gauges that show the last round: written when they are read, so that rounds are cheap. */
import type { Plan } from '../../plan/decisions.ts';
import type { LiveGroup, LiveRunnerOfApp } from '../cluster/live-cluster.ts';
import type { countsOf } from '../planning/plan-application.ts';
import type { Metrics } from './metrics.ts';

/** One group as the last round saw it. */
export interface GroupMeasures {
  readonly live: LiveGroup;
  /** All its Jobs. */
  readonly runners: readonly LiveRunnerOfApp[];
  /** Undefined when there is no plan. */
  readonly counts: ReturnType<typeof countsOf> | undefined;
  readonly ready: boolean;
}

/** Forgets groups that are gone. */
export function resetMeasures(metrics: Metrics): void {
  const { clockSkew, heldJobs, maxActiveRunners, queuedJobs, ready, runners, uncoveredJobs } = metrics;
  for (const gauge of [clockSkew, heldJobs, maxActiveRunners, queuedJobs, ready, runners, uncoveredJobs]) gauge.reset();
}

export function measureGroup(metrics: Metrics, { live, runners, counts, ready }: GroupMeasures): void {
  const { object, group } = live;
  const labels = { namespace: object.metadata.namespace, group: object.metadata.name };
  metrics.ready.set(labels, ready ? 1 : 0);
  if (group) metrics.maxActiveRunners.set(labels, group.maxActiveRunners);
  for (const state of ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const) {
    metrics.runners.set({ ...labels, state }, runners.filter(({ job }) => job.state === state).length);
  }
  if (!counts) return;
  metrics.queuedJobs.set(labels, counts.queued);
  for (const [reason, jobs] of Object.entries(counts.held)) metrics.heldJobs.set({ ...labels, reason }, jobs);
}

export function measureApplication(metrics: Metrics, application: string, { jobs }: Plan): void {
  const uncovered = jobs.filter((job) => job.verdict === 'held' && job.because === 'labels-not-covered').length;
  metrics.uncoveredJobs.set({ application }, uncovered);
}
