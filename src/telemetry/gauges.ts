/** The gauges that show the last round. They are written when they are read, so that rounds are cheap. */

import type { RunnerDecision } from '../planner/decisions.ts';
import { giteaReason, isReady } from '../serve/planning/group-status.ts';
import { keyOfDecision, keyOfRunner } from '../serve/planning/live.ts';
import { RUNNER_STATES, runnerStateOf } from '../serve/planning/runner-states.ts';
import type { AppVerdict, GroupVerdict } from '../serve/round.ts';
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
  const ofGroups = [set.heldJobs, set.maxActiveRunners, set.minIdleRunners, set.queuedJobs, set.runners];
  const ofPods = [set.runnerStates, set.stuckPods, set.warmRunners];
  const others = [set.clockSkew, set.giteaFailing, set.lastLook, set.ready, set.uncoveredJobs];
  for (const gauge of [...ofGroups, ...ofPods, ...others]) gauge.reset();
  for (const { application, groups, planning } of verdicts) {
    const decided = planning.is === 'planned' ? decisionsOf(planning.plan.runners) : NONE;
    for (const group of groups) showGroup(set, group, decided);
    if (planning.is !== 'planned') continue;
    const uncovered = planning.plan.jobs.filter(
      (job) => job.verdict === 'held' && job.because === 'labels-not-covered',
    );
    set.uncoveredJobs.set({ application }, uncovered.length);
  }
  for (const [origin, ms] of skews) set.clockSkew.set({ origin }, ms / 1000);
}

/** By `<namespace>/<name>` of the runner. */
type Decisions = ReadonlyMap<string, RunnerDecision>;
const NONE: Decisions = new Map();

function decisionsOf(runners: readonly RunnerDecision[]): Decisions {
  return new Map(runners.map((decision) => [keyOfDecision(decision), decision]));
}

function showGroup(set: MetricSet, group: GroupVerdict, decided: Decisions): void {
  const { facts, live, runners } = group;
  const { counts } = facts;
  const { object, group: spec } = live;
  const labels = { namespace: object.metadata.namespace, group: object.metadata.name };
  set.ready.set(labels, isReady(facts) ? 1 : 0);
  if (facts.giteaFailure) set.giteaFailing.set({ ...labels, reason: giteaReason(facts.giteaFailure) }, 1);
  if (spec) set.maxActiveRunners.set(labels, spec.maxActiveRunners);
  if (spec) set.minIdleRunners.set(labels, spec.minIdleRunners);
  if (facts.checkedAtMs !== undefined) set.lastLook.set(labels, facts.checkedAtMs / 1000);
  const debugging = counts?.debugging.length ?? 0;
  for (const state of STATES) {
    const seen = runners.filter(({ job }) => job.state === state).length;
    // Those that stay for a look run, too: each runner is counted once.
    set.runners.set({ ...labels, state }, state === 'running' ? Math.max(0, seen - debugging) : seen);
  }
  const states = runners.map((runner) => runnerStateOf(runner.job.state, decided.get(keyOfRunner(runner))));
  for (const state of RUNNER_STATES) {
    set.runnerStates.set({ ...labels, state }, states.filter((each) => each === state).length);
  }
  set.runners.set({ ...labels, state: 'debugging' }, debugging);
  if (!counts) return;
  set.queuedJobs.set(labels, counts.queued);
  set.unreadJobs.set(labels, counts.summary?.unreadJobs ?? 0);
  set.warmRunners.set(labels, counts.summary?.warm ?? 0);
  for (const { trouble } of counts.stuck) set.stuckPods.inc({ ...labels, reason: trouble.reason });
  for (const [held, jobs] of Object.entries(counts.held)) set.heldJobs.set({ ...labels, reason: held }, jobs);
}
