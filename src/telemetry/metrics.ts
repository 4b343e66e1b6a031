/** Counts what happens, and renders `/metrics`. Names, labels and buckets are part of the interface: docs/serve.md lists them. */
import { LRUCache } from 'lru-cache';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  type DroppedBecause,
  type EmittedBecause,
  type EventOf,
  ignore,
  type LiveState,
  type RunnerDecision,
  type Subscriber,
  subscriberOf,
} from '../serve/events.ts';
import { giteaReason, isReady } from '../serve/planning/group-status.ts';
import { keyOfDecision, keyOfRunner } from '../serve/planning/live.ts';
import type { GroupVerdict } from '../serve/reconcile.ts';
import { isSame } from '../shared/keys.ts';
import { UsageWatch } from './usage.ts';

/** The metrics of one process. Nothing is global, so tests can have many. */
export interface Metrics {
  readonly registry: Registry;
  readonly subscriber: Subscriber;
  readonly render: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

type LastReconcile = Pick<EventOf<'reconciled'>, 'verdicts' | 'skews'>;
const NOTHING_YET: LastReconcile = { verdicts: [], skews: new Map() };

export function openMetrics(): Metrics {
  const registry = new Registry();
  const set = makeMetrics(registry);
  let last = NOTHING_YET;
  let usage = new UsageWatch();
  return {
    registry,
    subscriber: subscriberOf({
      leading: () => set.leader.set(1),
      'not-leading': () => {
        set.leader.set(0);
        set.deadRegistrations.reset();
        // Who follows knows nothing of groups: the leader has their figures.
        last = NOTHING_YET;
        usage = new UsageWatch();
      },
      reconciled: (reconcile) => {
        last = reconcile;
        const { ended, needless } = usage.take(reconcile.verdicts);
        for (const labels of needless) set.needlessStarts.inc(labels);
        for (const { seconds, ...labels } of ended) {
          set.endedJobs.inc(labels);
          set.endedJobSeconds.inc(labels, seconds);
        }
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
      'job-started': ({ group, namespace, seconds }) => set.waitSeconds.observe({ namespace, group }, seconds),
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
      'commit-status': ({ outcome }) => set.commitStatuses.inc({ result: outcome }),
      notified: ({ result, to }) => set.notifications.inc({ to, result }),
      'spans-lost': ({ reason, spans }) => set.lostSpans.inc({ reason }, spans),
      serving: ignore,
      ending: ignore,
      queue: ignore,
      mistake: ignore,
      'secrets-unreadable': ignore,
      'looks-late': ignore,
      'clocks-differ': ignore,
      'runner-ended': ({ runner: { groupName: group = '', job } }) => {
        const { createdAtMs, finishedAtMs = createdAtMs, namespace } = job;
        set.runnerSeconds.inc({ namespace, group }, Math.max(0, finishedAtMs - createdAtMs) / 1000);
      },
      'job-ended': ignore,
      'ask-failed': ignore,
      'job-seen': ignore,
      'pod-seen': ignore,
      'sweep-failed': ignore,
    }),
    render: async () => {
      showReconcile(set, last);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

function groupOf({ metadata }: EventOf<'runner-lost'>['object']) {
  return { namespace: metadata.namespace, group: metadata.name };
}

const STATES = ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const;

/** Clears all gauges of reconciles, so that groups which are gone are forgotten, and writes them. Only when they are read: reconciles are cheap. */
function showReconcile(set: MetricSet, { verdicts, skews }: LastReconcile): void {
  const others: ReadonlySet<unknown> = new Set([set.deadRegistrations, set.lastWebhook, set.leader]);
  for (const metric of Object.values(set)) if (metric instanceof Gauge && !others.has(metric)) metric.reset();
  for (const { application, groups, planning } of verdicts) {
    const runners = planning.is === 'planned' ? planning.plan.runners : [];
    const decided = new Map(runners.map((decision) => [keyOfDecision(decision), decision]));
    const planned = planning.is === 'planned' ? planning.seen?.groups : undefined;
    for (const group of groups) {
      showGroup(set, group, decided);
      // With a calendar or by demand it changes.
      const wanted = planned?.find((each) => isSame(each, group.live.object.metadata)) ?? group.live.group;
      if (wanted) set.minIdleRunners.set(groupOf(group.live.object), wanted.minIdleRunners);
    }
    if (planning.is !== 'planned') continue;
    const uncovered = planning.plan.jobs.filter(
      (job) => job.verdict === 'held' && job.because === 'labels-not-covered',
    );
    set.uncoveredJobs.set({ application }, uncovered.length);
  }
  for (const [origin, ms] of skews) set.clockSkew.set({ origin }, ms / 1000);
}

/** @param decided by `<namespace>/<name>` of the runner. */
function showGroup(set: MetricSet, group: GroupVerdict, decided: ReadonlyMap<string, RunnerDecision>): void {
  const { facts, live, runners } = group;
  const { counts } = facts;
  const { object, group: spec } = live;
  const labels = groupOf(object);
  set.ready.set(labels, isReady(facts) ? 1 : 0);
  if (facts.giteaFailure) set.giteaFailing.set({ ...labels, reason: giteaReason(facts.giteaFailure) }, 1);
  if (spec) set.maxActiveRunners.set(labels, spec.maxActiveRunners);
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

const RUNNER_STATES = ['initializing', 'idle', 'busy', 'debugging', 'failed', 'retryable', 'stale', 'unknown'] as const;
export type ShownState = (typeof RUNNER_STATES)[number];

/** The state of a runner in one word; docs/monitoring.md explains them. `alive`: the pod tells whether it is initializing or idle. A new decision does not compile until it has its state here. */
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

/** Undefined for a Job that has completed or is being deleted: it has no runner. @param decision absent when there is no plan. */
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

type MetricSet = ReturnType<typeof makeMetrics>;

const GROUP = ['namespace', 'group'] as const;
const ENDED = [...GROUP, 'repository', 'result'] as const;
/** From "at once" to an hour: a CI job waits for a pod, an image or a cap. */
const WAITING_SECONDS = [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
const WAKE_SECONDS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 60];
const PLAN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** The event loop is timed this often; the default, 10 ms, is a third of what `serve` takes while nothing happens. */
const LAG_MS = 100;

/** Label sets of one counter or histogram. More groups than that are not served by one process. */
export const MOST_LABEL_SETS = 5_000;
/** The same for those with repositories: there are more of them, and workflows make them busy. */
export const MOST_REPOSITORY_SETS = 1_000;

type Labels<Name extends string> = Readonly<Record<Name, string>>;

function makeMetrics(registry: Registry) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_MS });
  const about = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) => {
    return { name: `gitea_runners_${name}`, help, labelNames: [...labelNames], registers: [registry] };
  };
  const gauge = <const Name extends string>(name: string, help: string, labelNames: readonly Name[]) =>
    new Gauge(about(name, help, labelNames));
  const counter = <const Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
    most = MOST_LABEL_SETS,
  ) => {
    const made = new Counter(about(name, help, labelNames));
    const use = newestOnly<Name>((labels) => made.remove(labels), most);
    return { inc: (labels: Labels<Name>, by = 1): void => made.inc(use(labels), by) };
  };
  const histogram = <const Name extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Name[],
  ) => {
    const made = new Histogram({ ...about(name, help, labelNames), buckets });
    const use = newestOnly<Name>((labels) => made.remove(labels));
    return { observe: (labels: Labels<Name>, value: number): void => made.observe(use(labels), value) };
  };
  return {
    queuedJobs: gauge('queued_jobs', 'CI jobs that wait for a runner of the group.', GROUP),
    unreadJobs: gauge(
      'unread_jobs',
      'Queued CI jobs of its scope that were not read, because there are too many.',
      GROUP,
    ),
    heldJobs: gauge('held_jobs', 'Of these, jobs held back, by reason.', [...GROUP, 'reason']),
    runners: gauge('runners', 'Jobs of the group in the cluster, by state.', [...GROUP, 'state']),
    runnerStates: gauge('runner_states', 'Runners of the group, by what they do.', [...GROUP, 'state']),
    stuckPods: gauge('stuck_pods', 'Pods of runners that cannot start, by reason.', [...GROUP, 'reason']),
    maxActiveRunners: gauge('max_active_runners', 'Cap of the group.', GROUP),
    minIdleRunners: gauge('min_idle_runners', 'Size of its warm pool.', GROUP),
    warmRunners: gauge('warm_runners', 'Runners that are in the pool now, starting ones too.', GROUP),
    uncoveredJobs: gauge('uncovered_jobs', 'Queued CI jobs that no group of the Application covers.', ['application']),
    ready: gauge('group_ready', '1 when condition Ready of the group is True.', GROUP),
    giteaFailing: gauge('gitea_failing', '1 while looks for the group fail, by reason.', [...GROUP, 'reason']),
    lastLook: gauge('last_look_timestamp_seconds', 'When the last look at Gitea for the group ended.', GROUP),
    waitSeconds: histogram(
      'job_wait_seconds',
      'From when a CI job was first seen queued to its start on a runner of the group.',
      WAITING_SECONDS,
      GROUP,
    ),
    giteaRequests: counter('gitea_requests_total', 'Requests to Gitea by status; 0: no answer.', ['origin', 'status']),
    giteaErrors: counter('gitea_errors_total', 'Looks that failed, by error code.', ['origin', 'code']),
    looks: counter('looks_total', 'Looks at Gitea.', ['origin']),
    budgetWait: counter(
      'gitea_budget_wait_seconds_total',
      'Time that looks and sweeps waited for the request budget.',
      ['origin'],
    ),
    wakes: counter('wakes_total', 'Wakes of an Application by outcome.', ['application', 'outcome']),
    wakeSeconds: histogram('wake_duration_seconds', 'One wake: refresh and sync request.', WAKE_SECONDS, [
      'application',
    ]),
    wakeWaitSeconds: histogram('wake_wait_seconds', 'How long a wake waited for its turn.', WAKE_SECONDS, []),
    shownSeconds: histogram(
      'wake_shown_seconds',
      'From the begin of a wake until the cluster shows the plan.',
      WAKE_SECONDS,
      ['application'],
    ),
    argocdRequests: counter('argocd_requests_total', 'Requests to Argo CD by status; 0: no answer.', ['status']),
    planSeconds: histogram('plan_duration_seconds', 'One plan of one Application.', PLAN_SECONDS, []),
    webhooks: counter('webhook_deliveries_total', 'Webhook deliveries by result.', ['result']),
    lastWebhook: gauge('webhook_last_delivery_timestamp_seconds', 'When the last delivery came, by result.', [
      'result',
    ]),
    droppedConnections: counter(
      'dropped_connections_total',
      'Connections closed because too many were open, by listener.',
      ['listener'],
    ),
    clusterErrors: counter('cluster_errors_total', 'Failed requests to the Kubernetes API, by error code.', ['code']),
    deadRegistrations: gauge(
      'dead_registrations',
      'Dead rows of runners in Gitea that are still there; GITEA_RUNNERS_SWEEP=true (--sweep) deletes them.',
      GROUP,
    ),
    swept: counter('swept_registrations_total', 'Dead registrations deleted from Gitea.', ['origin']),
    endedJobs: counter(
      'ended_jobs_total',
      'CI jobs that ended on runners of the group, when a look shows them.',
      ENDED,
      MOST_REPOSITORY_SETS,
    ),
    endedJobSeconds: counter('ended_job_seconds_total', 'How long these ran.', ENDED, MOST_REPOSITORY_SETS),
    runnerSeconds: counter(
      'runner_seconds_total',
      'From the creation of Jobs to their ends. Jobs that are deleted before they end are not in it.',
      GROUP,
    ),
    needlessStarts: counter('needless_starts_total', 'Runners that ended without a CI job, by why they went.', [
      ...GROUP,
      'reason',
    ]),
    lostRunners: counter('lost_runners_total', 'Runners lost with their CI jobs, by reason.', [...GROUP, 'reason']),
    reruns: counter('reruns_total', 'Lost CI jobs by what became of them.', [...GROUP, 'outcome']),
    registrationTokens: counter(
      'registration_tokens_total',
      'Registration tokens written into Secrets, and those that could not be.',
      ['result'],
    ),
    commitStatuses: counter(
      'commit_statuses_total',
      'Commit statuses that say why CI jobs wait, and those that could not be set.',
      ['result'],
    ),
    notifications: counter('notifications_total', 'Notifications by what became of them.', ['to', 'result']),
    lostSpans: counter('lost_spans_total', 'Spans of traces that were lost, by reason.', ['reason']),
    clockSkew: gauge('clock_skew_seconds', "Kubernetes' clock minus that of the Gitea.", ['origin']),
    leader: gauge('leader', '1 while this process leads.', []),
  };
}

/** Takes note of a used label set. Authors of RunnerGroups choose the names in them: the one that was not used for longest is forgotten first. */
function newestOnly<Name extends string>(remove: (labels: Labels<Name>) => void, most = MOST_LABEL_SETS) {
  const known = new LRUCache<string, Labels<Name>>({
    max: most,
    dispose: (labels, _key, reason) => {
      if (reason === 'evict') remove(labels);
    },
  });
  return (labels: Labels<Name>): Labels<Name> => {
    known.set(JSON.stringify(labels), labels);
    return labels;
  };
}
