/** Counts what happens, and renders `/metrics`. */
import { Registry } from 'prom-client';
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import { ignore, type Subscriber, subscriberOf } from '../serve/events.ts';
import { type LastRound, showRound } from './gauges.ts';
import { makeMetrics } from './metric-set.ts';

/** The metrics of one process. Nothing is global, so tests can have many. */
export interface Metrics {
  readonly registry: Registry;
  readonly subscriber: Subscriber;
  /** What Prometheus reads. */
  readonly render: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

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
