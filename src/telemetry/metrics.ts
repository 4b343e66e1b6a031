/** Counts what happens, and renders `/metrics`. Names, labels and buckets are part of the interface: docs/serve.md lists them. */
import { LRUCache } from 'lru-cache';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  type EventOf,
  type JobDecision,
  type LiveState,
  RUNNER_STATES,
  RUNNERS,
  type RunnerDecision,
  type ShownState,
  subscriberOf,
} from '../serve/planning/events.ts';
import { giteaReason, isReady } from '../serve/planning/group-status.ts';
import type { GroupVerdict } from '../serve/planning/reconcile.ts';
import { keyOfDecision, keyOfRunner } from '../serve/seen/live.ts';
import { systemClock } from '../shared/clock.ts';
import { atMost, isSame, stayKey } from '../shared/keys.ts';
import { usageWatch } from './process-usage.ts';

type LastReconcile = Pick<EventOf<'reconciled'>, 'verdicts' | 'skews'>;
const NOTHING_YET: LastReconcile = { verdicts: [], skews: new Map() };

/** The metrics of one process. Nothing is global, so tests can have many. @param nowMs a clock that never jumps, ms. */
export function openMetrics(nowMs: () => number = systemClock.steadyMs) {
  const registry = new Registry();
  const set = makeMetrics(registry);
  let last = NOTHING_YET;
  let usage = usageWatch();
  let waits = waitingTimes();
  return {
    registry,
    subscriber: subscriberOf({
      leading: () => set.leader.set(1),
      'not-leading': () => {
        set.leader.set(0);
        set.dead_registrations.reset();
        // A process that does not lead knows nothing of groups. The leader has their figures.
        last = NOTHING_YET;
        usage = usageWatch();
        waits = waitingTimes();
      },
      reconciled: (reconcile) => {
        last = reconcile;
        const plans = reconcile.verdicts.flatMap(({ planning }) =>
          planning.is === 'planned' ? planning.plan.jobs : [],
        );
        for (const { seconds, ...group } of waits(plans, nowMs())) set.job_wait_seconds.observe(group, seconds);
        for (const { ended, needless } of usage(reconcile.verdicts)) {
          for (const labels of needless) set.needless_starts_total.inc(labels);
          for (const { seconds, ...labels } of ended) {
            set.ended_jobs_total.inc(labels);
            set.ended_job_seconds_total.inc(labels, seconds);
          }
        }
      },
      'gitea-request': ({ line: { status, url } }) =>
        set.gitea_requests_total.inc({ origin: new URL(url).origin, status: String(status) }),
      'argocd-request': ({ line: { status } }) => set.argocd_requests_total.inc({ status: String(status) }),
      'cluster-failed': ({ failure: { code } }) => set.cluster_errors_total.inc({ code }),
      webhook: ({ result }) => {
        set.webhook_deliveries_total.inc({ result });
        set.webhook_last_delivery_timestamp_seconds.setToCurrentTime({ result });
      },
      'connection-dropped': ({ listener }) => set.dropped_connections_total.inc({ listener }),
      'look-asked': ({ result }) => set.kept_looks_total.inc({ result }),
      looked: ({ failure, origin }) => {
        set.looks_total.inc({ origin });
        if (failure) set.gitea_errors_total.inc({ origin, code: failure.code });
      },
      'visit-waited': ({ ms, origin }) => set.gitea_budget_wait_seconds_total.inc({ origin }, ms / 1000),
      planned: ({ ms }) => set.plan_duration_seconds.observe({}, ms / 1000),
      woken: ({ application, ms, outcome, waitedMs }) => {
        set.wake_wait_seconds.observe({}, waitedMs / 1000);
        set.wakes_total.inc({ application, outcome: outcome.is });
        set.wake_duration_seconds.observe({ application }, ms / 1000);
      },
      'plan-shown': ({ application, ms }) => set.wake_shown_seconds.observe({ application }, ms / 1000),
      'dead-registrations': ({ rows }) => {
        set.dead_registrations.reset();
        for (const { namespace, group } of rows) set.dead_registrations.inc({ namespace, group });
      },
      'registration-deleted': ({ gitea }) => set.swept_registrations_total.inc({ origin: new URL(gitea).origin }),
      'runner-lost': ({ lost: { reason }, object }) => set.lost_runners_total.inc({ ...groupOf(object), reason }),
      rerun: ({ object, outcome }) => set.reruns_total.inc({ ...groupOf(object), outcome }),
      'runner-registration': ({ object, result }) => set.registrations_total.inc({ ...groupOf(object), result }),
      'registration-token': ({ failure }) =>
        set.registration_tokens_total.inc({ result: failure ? 'failed' : 'written' }),
      'commit-status': ({ failure }) => set.commit_statuses_total.inc({ result: failure ? 'failed' : 'set' }),
      notified: ({ result, to }) => set.notifications_total.inc({ to, result }),
      'spans-lost': ({ reason, spans }) => set.lost_spans_total.inc({ reason }, spans),
      'runner-ended': ({ runner: { groupName: group = '', job } }) => {
        const { createdAtMs, finishedAtMs = createdAtMs, namespace } = job;
        set.runner_seconds_total.inc({ namespace, group }, Math.max(0, finishedAtMs - createdAtMs) / 1000);
      },
    }),
    render: async () => {
      showReconcile(set, last);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

/** Measures how long CI jobs waited: from when a job was first seen queued until it was first seen on a runner of ours. */
export function waitingTimes() {
  let queuedSince: ReadonlyMap<string, number> = new Map();
  return (decisions: Iterable<JobDecision>, nowMs: number) => {
    const queued = new Map<string, number>();
    const waits: { readonly namespace: string; readonly group: string; readonly seconds: number }[] = [];
    for (const decision of decisions) {
      const key = stayKey(decision);
      const since = queuedSince.get(key);
      if (decision.job.status === 'queued') queued.set(key, since ?? nowMs);
      else if (decision.verdict === 'running' && decision.group && since !== undefined) {
        const { namespace, name: group } = decision.group;
        // Gitea's clock may differ from ours, and it tells whole seconds: what we saw is the limit.
        waits.push({ namespace, group, seconds: (nowMs - since) / 1000 });
      }
    }
    queuedSince = queued;
    return waits;
  };
}

function groupOf({ metadata }: EventOf<'runner-lost'>['object']) {
  return { namespace: metadata.namespace, group: metadata.name };
}

const STATES = ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const;

/** Gauges that events write. */
const OF_EVENTS = new Set(['dead_registrations', 'leader', 'webhook_last_delivery_timestamp_seconds']);

/** Writes the gauges of the last reconcile when they are read. Groups that are gone are forgotten. */
function showReconcile(set: MetricSet, { verdicts, skews }: LastReconcile): void {
  for (const [name, metric] of Object.entries(set)) if (metric instanceof Gauge && !OF_EVENTS.has(name)) metric.reset();
  for (const { application, groups, planning } of verdicts) {
    const runners = planning.is === 'planned' ? planning.plan.runners : [];
    const decided = new Map(runners.map((decision) => [keyOfDecision(decision), decision]));
    const planned = planning.is === 'planned' ? planning.seen?.groups : undefined;
    for (const group of groups) {
      showGroup(set, group, decided);
      // The plan knows the number of this moment. A calendar or demand changes it.
      const plannedGroup = planned?.find((each) => isSame(each, group.live.object.metadata)) ?? group.live.group;
      if (plannedGroup) set.min_idle_runners.set(groupOf(group.live.object), plannedGroup.minIdleRunners);
    }
    if (planning.is !== 'planned') continue;
    const isUncovered = (job: JobDecision) => job.verdict === 'held' && job.because === 'labels-not-covered';
    set.uncovered_jobs.set({ application }, planning.plan.jobs.filter(isUncovered).length);
  }
  for (const [origin, ms] of skews) set.clock_skew_seconds.set({ origin }, ms / 1000);
}

/** Sets the gauges of one group. @param decided by `<namespace>/<name>` of the runner */
function showGroup(set: MetricSet, group: GroupVerdict, decided: ReadonlyMap<string, RunnerDecision>): void {
  const { facts, live, runners } = group;
  const { counts } = facts;
  const { object, group: spec } = live;
  const labels = groupOf(object);
  set.group_ready.set(labels, isReady(facts) ? 1 : 0);
  if (facts.giteaFailure) set.gitea_failing.set({ ...labels, reason: giteaReason(facts.giteaFailure) }, 1);
  for (const { rule } of facts.warnings ?? []) set.policy_warnings.inc({ ...labels, rule });
  if (spec) set.max_active_runners.set(labels, spec.maxActiveRunners);
  if (facts.checkedAtMs !== undefined) set.last_look_timestamp_seconds.set(labels, facts.checkedAtMs / 1000);
  const debugging = counts?.debugging.length ?? 0;
  for (const state of STATES) {
    const count = runners.filter(({ job }) => job.state === state).length;
    // Runners that wait for people run, too: each runner is counted once.
    set.runners.set({ ...labels, state }, state === 'running' ? Math.max(0, count - debugging) : count);
  }
  const states = runners.map((runner) => runnerStateOf(runner.job.state, decided.get(keyOfRunner(runner))));
  for (const state of RUNNER_STATES)
    set.runner_states.set({ ...labels, state }, states.filter((each) => each === state).length);
  set.runners.set({ ...labels, state: 'debugging' }, debugging);
  if (!counts) return;
  set.queued_jobs.set(labels, counts.queued);
  set.unread_jobs.set(labels, counts.summary?.unreadJobs ?? 0);
  set.warm_runners.set(labels, counts.summary?.warm ?? 0);
  for (const { trouble } of counts.stuck) set.stuck_pods.inc({ ...labels, reason: trouble.reason });
  for (const [held, jobs] of Object.entries(counts.held)) set.held_jobs.set({ ...labels, reason: held }, jobs);
}

/** Returns the state of a runner. Undefined: its Job has completed or is being deleted. @param decision absent: no plan */
export function runnerStateOf(live: LiveState, decision: RunnerDecision | undefined): ShownState | undefined {
  if (live === 'complete' || live === 'deleting') return undefined;
  const plannedState = decision ? RUNNERS[decision.because].state : 'unknown';
  if (live === 'failed') return plannedState === 'retryable' || plannedState === 'stale' ? plannedState : 'failed';
  if (plannedState === 'unknown') return live === 'starting' ? 'initializing' : 'unknown';
  if (plannedState !== 'alive') return plannedState;
  // The container of the runner starts when the init container has registered it.
  if (live === 'running') return 'idle';
  return live === 'starting' ? 'initializing' : 'unknown';
}

type MetricSet = ReturnType<typeof makeMetrics>;

/** Makes each metric by its key, which is its name. */
function makeNamed<Makers extends Readonly<Record<string, (name: string) => unknown>>>(makers: Makers) {
  const made = Object.entries(makers).map(([name, make]) => [name, make(name)] as const);
  return Object.fromEntries(made) as { readonly [Name in keyof Makers]: ReturnType<Makers[Name]> };
}

const GROUP = ['namespace', 'group'] as const;
const ENDED = [...GROUP, 'repository', 'result'] as const;
/** Buckets from "at once" to an hour: a CI job waits for a pod, an image or a cap. */
const WAITING_SECONDS = [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
const WAKE_SECONDS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 60];
const PLAN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** The event loop is timed this often; the default, 10 ms, is a third of what `serve` takes while nothing happens. */
const LAG_MS = 100;

/** Label sets of one counter or histogram. More groups than that are not served by one process. */
export const MOST_LABEL_SETS = 5_000;
/** Most label sets with repositories. They are more than those of groups, and workflows change them often. */
export const MOST_REPOSITORY_SETS = 1_000;

type Labels<Name extends string> = Readonly<Record<Name, string>>;

function makeMetrics(registry: Registry) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_MS });
  const optionsOf = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) => {
    return { name: `gitea_runners_${name}`, help, labelNames: [...labelNames], registers: [registry] };
  };
  const gauge =
    <const Name extends string>(help: string, labelNames: readonly Name[]) =>
    (name: string) =>
      new Gauge(optionsOf(name, help, labelNames));
  const counter =
    <const Name extends string>(help: string, labelNames: readonly Name[], most?: number) =>
    (name: string) => {
      const made = new Counter(optionsOf(name, help, labelNames));
      const use = newestOnly<Name>((labels) => made.remove(labels), most);
      return { inc: (labels: Labels<Name>, by = 1): void => made.inc(use(labels), by) };
    };
  const histogram =
    <const Name extends string>(help: string, buckets: number[], labelNames: readonly Name[]) =>
    (name: string) => {
      const made = new Histogram({ ...optionsOf(name, help, labelNames), buckets });
      const use = newestOnly<Name>((labels) => made.remove(labels));
      return { observe: (labels: Labels<Name>, value: number): void => made.observe(use(labels), value) };
    };
  return makeNamed({
    queued_jobs: gauge('CI jobs that wait for a runner of the group.', GROUP),
    unread_jobs: gauge('Queued CI jobs of its scope that were not read, because there are too many.', GROUP),
    held_jobs: gauge('Of these, jobs held back, by reason.', [...GROUP, 'reason']),
    runners: gauge('Jobs of the group in the cluster, by state.', [...GROUP, 'state']),
    runner_states: gauge('Runners of the group, by what they do.', [...GROUP, 'state']),
    stuck_pods: gauge('Pods of runners that cannot start, by reason.', [...GROUP, 'reason']),
    max_active_runners: gauge('Cap of the group.', GROUP),
    min_idle_runners: gauge('Size of its warm pool.', GROUP),
    warm_runners: gauge('Runners that are in the pool now, starting ones too.', GROUP),
    uncovered_jobs: gauge('Queued CI jobs that no group of the Application covers.', ['application']),
    group_ready: gauge('1 when condition Ready of the group is True.', GROUP),
    policy_warnings: gauge('What the policy would deny, by rule.', [...GROUP, 'rule']),
    gitea_failing: gauge('1 while looks for the group fail, by reason.', [...GROUP, 'reason']),
    last_look_timestamp_seconds: gauge('When the last look at Gitea for the group ended.', GROUP),
    job_wait_seconds: histogram(
      'From when a CI job was first seen queued to its start on a runner of the group.',
      WAITING_SECONDS,
      GROUP,
    ),
    gitea_requests_total: counter('Requests to Gitea by status; 0: no answer.', ['origin', 'status']),
    gitea_errors_total: counter('Looks that failed, by error code.', ['origin', 'code']),
    looks_total: counter('Looks at Gitea.', ['origin']),
    kept_looks_total: counter('Looks that generate has asked for, by result.', ['result']),
    gitea_budget_wait_seconds_total: counter('Time that looks and sweeps waited for the request budget.', ['origin']),
    wakes_total: counter('Wakes of an Application by outcome.', ['application', 'outcome']),
    wake_duration_seconds: histogram('One wake: refresh and sync request.', WAKE_SECONDS, ['application']),
    wake_wait_seconds: histogram('How long a wake waited for its turn.', WAKE_SECONDS, []),
    wake_shown_seconds: histogram('From the begin of a wake until the cluster shows the plan.', WAKE_SECONDS, [
      'application',
    ]),
    argocd_requests_total: counter('Requests to Argo CD by status; 0: no answer.', ['status']),
    plan_duration_seconds: histogram('One plan of one Application.', PLAN_SECONDS, []),
    webhook_deliveries_total: counter('Webhook deliveries by result.', ['result']),
    webhook_last_delivery_timestamp_seconds: gauge('When the last delivery came, by result.', ['result']),
    dropped_connections_total: counter('Connections closed because too many were open, by listener.', ['listener']),
    cluster_errors_total: counter('Failed requests to the Kubernetes API, by error code.', ['code']),
    dead_registrations: gauge(
      'Dead rows of runners in Gitea that are still there; GITEA_RUNNERS_SWEEP=true (--sweep) deletes them.',
      GROUP,
    ),
    swept_registrations_total: counter('Dead registrations deleted from Gitea.', ['origin']),
    ended_jobs_total: counter(
      'CI jobs that ended on runners of the group, when a look shows them.',
      ENDED,
      MOST_REPOSITORY_SETS,
    ),
    ended_job_seconds_total: counter('How long these ran.', ENDED, MOST_REPOSITORY_SETS),
    runner_seconds_total: counter(
      'From the creation of Jobs to their ends. Jobs that are deleted before they end are not in it.',
      GROUP,
    ),
    needless_starts_total: counter('Runners that ended without a CI job, by why they went.', [...GROUP, 'reason']),
    lost_runners_total: counter('Runners lost with their CI jobs, by reason.', [...GROUP, 'reason']),
    reruns_total: counter('Lost CI jobs by what became of them.', [...GROUP, 'outcome']),
    registration_tokens_total: counter('Registration tokens written into Secrets, and those that could not be.', [
      'result',
    ]),
    registrations_total: counter('Runners that serve registered, by what became of it.', [...GROUP, 'result']),
    commit_statuses_total: counter('Commit statuses that say why CI jobs wait, and those that could not be set.', [
      'result',
    ]),
    notifications_total: counter('Notifications by what became of them.', ['to', 'result']),
    lost_spans_total: counter('Spans of traces that were lost, by reason.', ['reason']),
    clock_skew_seconds: gauge("Kubernetes' clock minus that of the Gitea.", ['origin']),
    leader: gauge('1 while this process leads.', []),
  });
}

/** Notes a used label set. Authors choose the names: at the bound, the least recently used one is removed. */
function newestOnly<Name extends string>(remove: (labels: Labels<Name>) => void, most = MOST_LABEL_SETS) {
  const labelCache = new LRUCache<string, Labels<Name>>({
    ...atMost(most),
    dispose: (labels, _key, reason) => {
      if (reason === 'evict') remove(labels);
    },
  });
  return (labels: Labels<Name>): Labels<Name> => {
    labelCache.set(JSON.stringify(labels), labels);
    return labels;
  };
}
