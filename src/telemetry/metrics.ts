/** Counts what happens, and renders `/metrics`. */
import { Registry } from 'prom-client';
import type { RunnerGroupObject } from '../clients/kubernetes/resources.ts';
import type { ServeEvent, Subscriber } from '../serve/events.ts';
import { type LastRound, showRound } from './gauges.ts';
import { type MetricSet, makeMetrics } from './metric-set.ts';

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
    subscriber: (event) => {
      if (event.is === 'round-done') last = event;
      // Who follows knows nothing of groups: the leader has their figures.
      if (event.is === 'not-leading') last = NO_ROUND;
      count(set, event);
    },
    render: async () => {
      showRound(set, last);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
  };
}

function count(set: MetricSet, event: ServeEvent): void {
  switch (event.is) {
    case 'leading':
      set.leader.set(1);
      return;
    case 'not-leading':
      set.leader.set(0);
      set.deadRegistrations.reset();
      return;
    case 'gitea-request':
      set.giteaRequests.inc({ origin: new URL(event.line.url).origin, status: String(event.line.status) });
      return;
    case 'argocd-request':
      set.argocdRequests.inc({ status: String(event.line.status) });
      return;
    case 'cluster-failed':
      set.clusterErrors.inc({ code: event.failure.code });
      return;
    case 'webhook':
      set.webhooks.inc({ result: event.result });
      set.lastWebhook.setToCurrentTime({ result: event.result });
      return;
    case 'connection-dropped':
      set.droppedConnections.inc({ listener: event.listener });
      return;
    case 'looked':
      set.looks.inc({ origin: event.origin });
      if (event.failure) set.giteaErrors.inc({ origin: event.origin, code: event.failure.code });
      return;
    case 'visit-waited':
      set.budgetWait.inc({ origin: event.origin }, event.ms / 1000);
      return;
    case 'planned':
      set.planSeconds.observe({}, event.ms / 1000);
      return;
    case 'job-started': {
      const { namespace, group, seconds } = event.wait;
      set.waitSeconds.observe({ namespace, group }, seconds);
      return;
    }
    case 'woken': {
      const { application, outcome, ms, waitedMs } = event;
      set.wakeWaitSeconds.observe({}, waitedMs / 1000);
      set.wakes.inc({ application, outcome: outcome.is });
      set.wakeSeconds.observe({ application }, ms / 1000);
      return;
    }
    case 'plan-shown':
      set.shownSeconds.observe({ application: event.application }, event.ms / 1000);
      return;
    case 'dead-registrations':
      set.deadRegistrations.reset();
      for (const { namespace, group } of event.rows) set.deadRegistrations.inc({ namespace, group });
      return;
    case 'registration-deleted':
      set.swept.inc({ origin: new URL(event.gitea).origin });
      return;
    case 'runner-lost':
      set.lostRunners.inc({ ...groupOf(event), reason: event.lost.reason });
      return;
    case 'rerun':
      set.reruns.inc({ ...groupOf(event), outcome: event.outcome });
      return;
    case 'registration-token':
      set.registrationTokens.inc({ result: event.outcome });
      return;
    case 'notified':
      set.notifications.inc({ to: event.to, result: event.result });
      return;
    case 'spans-lost':
      set.lostSpans.inc({ reason: event.reason }, event.spans);
      return;
    case 'serving':
    case 'ending':
    case 'queue':
    case 'mistake':
    case 'secrets-unreadable':
    case 'looks-late':
    case 'clocks-differ':
    case 'runner-ended':
    case 'job-ended':
    case 'round-done':
    case 'ask-failed':
    case 'job-seen':
    case 'pod-seen':
    case 'sweep-failed':
      return;
    default:
      event satisfies never;
  }
}

function groupOf({ object: { metadata } }: { readonly object: RunnerGroupObject }) {
  return { namespace: metadata.namespace, group: metadata.name };
}
