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
  const { clockSkew, heldJobs, maxActiveRunners, minIdleRunners, queuedJobs, ready, runners, stuckPods } = set;
  const { uncoveredJobs, warmRunners } = set;
  const ofGroups = [heldJobs, maxActiveRunners, minIdleRunners, queuedJobs, ready, runners, stuckPods, warmRunners];
  const all = [clockSkew, uncoveredJobs, ...ofGroups];
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
  if (group) set.minIdleRunners.set(labels, group.minIdleRunners);
  for (const state of STATES) {
    set.runners.set({ ...labels, state }, runners.filter(({ job }) => job.state === state).length);
  }
  if (!counts) return;
  set.queuedJobs.set(labels, counts.queued);
  set.warmRunners.set(labels, counts.summary?.warm ?? 0);
  for (const { trouble } of counts.stuck) set.stuckPods.inc({ ...labels, reason: trouble.reason });
  for (const [held, jobs] of Object.entries(counts.held)) set.heldJobs.set({ ...labels, reason: held }, jobs);
}
