/** Counts what happens, and renders `/metrics`. */
import { Gauge, Registry } from 'prom-client';
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import type { RunnerDecision } from '../planner/decisions.ts';
import { type EventOf, ignore, type Subscriber, subscriberOf } from '../serve/events.ts';
import { giteaReason, isReady } from '../serve/planning/group-status.ts';
import { keyOfDecision, keyOfRunner } from '../serve/planning/live.ts';
import { RUNNER_STATES, runnerStateOf } from '../serve/planning/runner-states.ts';
import type { GroupVerdict } from '../serve/round.ts';
import { type MetricSet, makeMetrics } from './metric-set.ts';

/** The metrics of one process. Nothing is global, so tests can have many. */
export interface Metrics {
  readonly registry: Registry;
  readonly subscriber: Subscriber;
  /** What Prometheus reads. */
  readonly render: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

/** What the gauges show. */
type LastRound = Pick<EventOf<'round-done'>, 'verdicts' | 'skews'>;
const NO_ROUND: LastRound = { verdicts: [], skews: new Map() };

export function openMetrics(): Metrics {
  const registry = new Registry();
  const set = makeMetrics(registry);
  let last = NO_ROUND;
  return {
    registry,
    subscriber: subscriberOf({
      leading: () => set.leader.set(1),
      'not-leading': () => {
        set.leader.set(0);
        set.deadRegistrations.reset();
        // Who follows knows nothing of groups: the leader has their figures.
        last = NO_ROUND;
      },
      'round-done': (round) => {
        last = round;
      },
      'gitea-request': ({ line: { status, url } }) =>
        set.giteaRequests.inc({ origin: new URL(url).origin, status: String(status) }),
      'argocd-request': ({ line: { status } }) => set.argocdRequests.inc({ status: String(status) }),
      'cluster-failed': ({ failure: { code } }) => set.clusterErrors.inc({ code }),
      webhook: ({ result }) => {
        set.webhooks.inc({ result });
        set.lastWebhook.setToCurrentTime({ result });
      },
      'connection-dropped': ({ listener }) => set.droppedConnections.inc({ listener }),
      looked: ({ failure, origin }) => {
        set.looks.inc({ origin });
        if (failure) set.giteaErrors.inc({ origin, code: failure.code });
      },
      'visit-waited': ({ ms, origin }) => set.budgetWait.inc({ origin }, ms / 1000),
      planned: ({ ms }) => set.planSeconds.observe({}, ms / 1000),
      'job-started': ({ wait: { group, namespace, seconds } }) =>
        set.waitSeconds.observe({ namespace, group }, seconds),
      woken: ({ application, ms, outcome, waitedMs }) => {
        set.wakeWaitSeconds.observe({}, waitedMs / 1000);
        set.wakes.inc({ application, outcome: outcome.is });
        set.wakeSeconds.observe({ application }, ms / 1000);
      },
      'plan-shown': ({ application, ms }) => set.shownSeconds.observe({ application }, ms / 1000),
      'dead-registrations': ({ rows }) => {
        set.deadRegistrations.reset();
        for (const { namespace, group } of rows) set.deadRegistrations.inc({ namespace, group });
      },
      'registration-deleted': ({ gitea }) => set.swept.inc({ origin: new URL(gitea).origin }),
      'runner-lost': ({ lost: { reason }, object }) => set.lostRunners.inc({ ...groupOf(object), reason }),
      rerun: ({ object, outcome }) => set.reruns.inc({ ...groupOf(object), outcome }),
      'registration-token': ({ outcome }) => set.registrationTokens.inc({ result: outcome }),
      notified: ({ result, to }) => set.notifications.inc({ to, result }),
      'spans-lost': ({ reason, spans }) => set.lostSpans.inc({ reason }, spans),
      serving: ignore,
      ending: ignore,
      queue: ignore,
      mistake: ignore,
      'secrets-unreadable': ignore,
      'looks-late': ignore,
      'clocks-differ': ignore,
      'runner-ended': ignore,
      'job-ended': ignore,
      'ask-failed': ignore,
      'job-seen': ignore,
      'pod-seen': ignore,
      'sweep-failed': ignore,
    }),
    render: async () => {
      showRound(set, last);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

function groupOf({ metadata }: RunnerGroupObject) {
  return { namespace: metadata.namespace, group: metadata.name };
}

const STATES = ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const;

/**
 * Clears all gauges of rounds and writes them, so that groups which are gone are forgotten. They are written when they are read, so that rounds are cheap.
 */
function showRound(set: MetricSet, { verdicts, skews }: LastRound): void {
  const others: ReadonlySet<unknown> = new Set([set.deadRegistrations, set.lastWebhook, set.leader]);
  for (const metric of Object.values(set)) if (metric instanceof Gauge && !others.has(metric)) metric.reset();
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
