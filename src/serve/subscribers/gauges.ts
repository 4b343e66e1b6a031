/** The gauges that show the last round. They are written when they are read, so that rounds are cheap. */
import type { AppVerdict, GroupVerdict } from '../round.ts';
import type { MetricSet } from './metric-set.ts';

/** What the gauges show. */
export interface LastRound {
  readonly verdicts: readonly AppVerdict[];
  /** Kubernetes' clock minus Gitea's, ms, by origin. */
  readonly skews: ReadonlyMap<string, number>;
}

const STATES = ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const;

/** Clears all gauges and writes them, so that groups which are gone are forgotten. */
export function showRound(set: MetricSet, { verdicts, skews }: LastRound): void {
  const { clockSkew, heldJobs, maxActiveRunners, queuedJobs, ready, runners, stuckPods, uncoveredJobs } = set;
  const all = [clockSkew, heldJobs, maxActiveRunners, queuedJobs, ready, runners, stuckPods, uncoveredJobs];
  for (const gauge of all) gauge.reset();
  for (const { application, groups, planning } of verdicts) {
    for (const group of groups) showGroup(set, group);
    if (planning.is !== 'planned') continue;
    const uncovered = planning.plan.jobs.filter(
      (job) => job.verdict === 'held' && job.because === 'labels-not-covered',
    );
    uncoveredJobs.set({ application }, uncovered.length);
  }
  for (const [origin, ms] of skews) clockSkew.set({ origin }, ms / 1000);
}

function showGroup(set: MetricSet, { live, runners, counts, ready }: GroupVerdict): void {
  const { object, group } = live;
  const labels = { namespace: object.metadata.namespace, group: object.metadata.name };
  set.ready.set(labels, ready ? 1 : 0);
  if (group) set.maxActiveRunners.set(labels, group.maxActiveRunners);
  const debugging = counts?.debugging.length ?? 0;
  for (const state of STATES) {
    const seen = runners.filter(({ job }) => job.state === state).length;
    // Those that stay for a look run, too: each runner is counted once.
    set.runners.set({ ...labels, state }, state === 'running' ? Math.max(0, seen - debugging) : seen);
  }
  set.runners.set({ ...labels, state: 'debugging' }, debugging);
  if (!counts) return;
  set.queuedJobs.set(labels, counts.queued);
  for (const { trouble } of counts.stuck) set.stuckPods.inc({ ...labels, reason: trouble.reason });
  for (const [held, jobs] of Object.entries(counts.held)) set.heldJobs.set({ ...labels, reason: held }, jobs);
}
