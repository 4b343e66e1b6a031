/** Names, labels and buckets of the metrics. They are part of the interface: docs/serve.md lists them. */
import { LRUCache } from 'lru-cache';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';

export type MetricSet = ReturnType<typeof makeMetrics>;

const GROUP = ['namespace', 'group'] as const;
/** From "at once" to an hour: a CI job waits for a pod, an image or a cap. */
const WAITING_SECONDS = [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];
const WAKE_SECONDS = [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 60];
const PLAN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** The event loop is timed this often; the default, 10 ms, is a third of what `serve` takes while nothing happens. */
const LAG_MS = 100;

/** Label sets of one counter or histogram. More groups than that are not served by one process. */
export const MOST_LABEL_SETS = 5_000;

type Labels<Name extends string> = Readonly<Record<Name, string>>;

/** Makes them all in this registry. */
export function makeMetrics(registry: Registry) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_MS });
  const about = <Name extends string>(name: string, help: string, labelNames: readonly Name[]) => {
    return { name: `gitea_runners_${name}`, help, labelNames: [...labelNames], registers: [registry] };
  };
  const gauge = <const Name extends string>(name: string, help: string, labelNames: readonly Name[]) =>
    new Gauge(about(name, help, labelNames));
  const counter = <const Name extends string>(name: string, help: string, labelNames: readonly Name[]) => {
    const made = new Counter(about(name, help, labelNames));
    const use = newestOnly<Name>((labels) => made.remove(labels));
    return {
      inc: (labels: Labels<Name>, by = 1): void => {
        use(labels);
        made.inc(labels, by);
      },
    };
  };
  const histogram = <const Name extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Name[],
  ) => {
    const made = new Histogram({ ...about(name, help, labelNames), buckets });
    const use = newestOnly<Name>((labels) => made.remove(labels));
    return {
      observe: (labels: Labels<Name>, value: number): void => {
        use(labels);
        made.observe(labels, value);
      },
    };
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
    lostRunners: counter('lost_runners_total', 'Runners lost with their CI jobs, by reason.', [...GROUP, 'reason']),
    reruns: counter('reruns_total', 'Lost CI jobs by what became of them.', [...GROUP, 'outcome']),
    registrationTokens: counter(
      'registration_tokens_total',
      'Registration tokens written into Secrets, and those that could not be.',
      ['result'],
    ),
    notifications: counter('notifications_total', 'Notifications by what became of them.', ['to', 'result']),
    lostSpans: counter('lost_spans_total', 'Spans of traces that were lost, by reason.', ['reason']),
    clockSkew: gauge('clock_skew_seconds', "Kubernetes' clock minus that of the Gitea.", ['origin']),
    leader: gauge('leader', '1 while this process leads.', []),
  };
}

/**
 * Tells which label set was used. Groups, Applications and Giteas come and go, and the authors of RunnerGroups choose their names: the label
 * set that was not used for longest is forgotten first. @param remove forgets one.
 */
function newestOnly<Name extends string>(remove: (labels: Labels<Name>) => void): (labels: Labels<Name>) => void {
  const known = new LRUCache<string, Labels<Name>>({
    max: MOST_LABEL_SETS,
    dispose: (labels, _key, reason) => {
      if (reason === 'evict') remove(labels);
    },
  });
  return (labels) => void known.set(JSON.stringify(labels), labels);
}
