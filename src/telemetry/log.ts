/** The log: JSON lines for a log collector. Texts that came from outside were made printable before; no header, body or token gets here. */

import { LRUCache } from 'lru-cache';
import { destination, type Logger, pino } from 'pino';
import type { RequestLine } from '../clients/http/request.ts';
import { MOST_LOST_JOBS } from '../config/runnergroup/status.ts';
import type { EventOf, Subscriber } from '../serve/events.ts';
import { systemClock } from '../shared/clock.ts';
import type { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/key-text.ts';
import type { NotifyResult } from '../tasks/notify/notice.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Clocks stay wrong for days, and plans are made every few seconds: the same warning is logged this often. */
const CLOCKS_AGAIN_MS = 3_600_000;
/** Dropped connections of a port are logged at most this often; the metric counts each. */
const DROPPED_AGAIN_MS = 60_000;
const NOTIFIED_AGAIN_MS = 60_000;
/** The metric counts each. */
const SPANS_AGAIN_MS = 60_000;

/** Warnings whose time is remembered. Their texts may hold what a server has chosen, e.g. seconds of a `Retry-After`. */
const MOST_SUBJECTS = 1_000;

/** Writes to stderr at once, so that the last line before an end is not lost. */
export function openLog(verbose: boolean): Log {
  return pino(
    {
      level: verbose ? 'debug' : 'info',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    destination({ fd: 2, sync: true }),
  );
}

/** @param nowMs a clock that never jumps, ms. */
export function logTo(log: Log, nowMs: () => number = systemClock.steadyMs): Subscriber {
  const isDue = seldom(nowMs);
  return (event) => {
    switch (event.is) {
      case 'serving':
        log.info(event.ports, 'serving');
        return;
      case 'leading':
        log.info('leading');
        return;
      case 'not-leading':
        log.info('not leading any more');
        return;
      case 'ending':
        log.info({ signal: event.signal }, 'ending');
        return;
      case 'mistake':
        log.error(
          { code: 'GR-INTERNAL', error: event.error, at: event.at },
          'a mistake in gitea-runners: please report it',
        );
        return;
      case 'queue':
        logQueue(log, event);
        return;
      case 'gitea-request':
        log.debug(fieldsOf(event.line), 'request to Gitea');
        return;
      case 'argocd-request':
        log.debug(fieldsOf(event.line), 'request to Argo CD');
        return;
      case 'cluster-failed':
        log.warn(reason(event.failure), 'request to the cluster failed');
        return;
      case 'connection-dropped':
        if (!isDue(`dropped ${event.listener}`, DROPPED_AGAIN_MS)) return;
        log.warn(
          { code: 'GR-LISTEN-02', listener: event.listener },
          'too many connections: the longest idle ones are closed. Look for a client that opens connections and does not use them',
        );
        return;
      case 'secrets-unreadable':
        log.warn(reason(event.failure), 'the webhook secrets stay as they were');
        return;
      case 'looked':
        if (event.failure) log.warn(reason(event.failure), 'look at Gitea failed');
        return;
      case 'looks-late':
        log.warn(
          { origin: event.origin, scopes: event.scopes },
          'looks at Gitea come late: all scopes share one request budget (--gitea-requests). Use fewer and wider scopes: one RunnerGroup of an org in place of one per repository',
        );
        return;
      case 'clocks-differ':
        if (!isDue(['clocks', event.code, ...event.origins].join(' '), CLOCKS_AGAIN_MS)) return;
        log.warn({ code: event.code, error: event.message }, 'the clocks of servers differ');
        return;
      case 'woken':
        logWake(log, event);
        return;
      case 'ask-failed':
        log.warn({ application: event.application, ...reason(event.failure) }, 'cannot ask Argo CD');
        return;
      case 'runner-lost':
        logLoss(log, event);
        return;
      case 'rerun':
        logRerun(log, event);
        return;
      case 'registration-deleted':
        log.info({ gitea: event.gitea, runner: event.runner }, 'deleted a dead registration');
        return;
      case 'sweep-failed':
        log.warn(reason(event.failure), event.of === 'all' ? 'sweep failed' : 'sweep failed in part');
        return;
      case 'registration-token':
        logToken(log, event);
        return;
      case 'notified':
        logNotified(log, event, isDue);
        return;
      case 'spans-lost':
        if (!isDue(`spans ${event.reason}`, SPANS_AGAIN_MS)) return;
        log.warn(
          { spans: event.spans, reason: event.reason },
          'lost spans of traces: look at the OpenTelemetry collector',
        );
        return;
      case 'webhook':
      case 'dead-registrations':
      case 'visit-waited':
      case 'planned':
      case 'job-started':
      case 'runner-ended':
      case 'job-ended':
      case 'round-done':
      case 'plan-shown':
      case 'job-seen':
      case 'pod-seen':
        return;
      default:
        event satisfies never;
    }
  };
}

function logQueue(log: Log, { rows }: EventOf<'queue'>): void {
  for (const row of rows) log.info(row, 'queue');
}

function logToken(log: Log, { failure, objects, secret }: EventOf<'registration-token'>): void {
  const groups = objects.map(({ metadata }) => keyText(metadata));
  if (failure) log.warn({ secret, groups, ...reason(failure) }, 'cannot fill a Secret with the registration token');
  else log.info({ secret, groups }, 'filled a Secret with the registration token');
}

type LossEvent = EventOf<'runner-lost'> | EventOf<'rerun'>;

function logRerun(log: Log, event: EventOf<'rerun'>): void {
  const { failure, outcome } = event;
  const isGood = !['exhausted', 'failed', 'expired'].includes(outcome);
  const fields = { ...lossFields(event), outcome, ...(failure && reason(failure)) };
  log[isGood ? 'info' : 'warn'](fields, outcome === 'rerun' ? 're-ran a lost CI job' : 'did not re-run a lost CI job');
}

function logLoss(log: Log, event: EventOf<'runner-lost'>): void {
  const more = event.isNoted ? '' : `, which is not re-run: ${MOST_LOST_JOBS} jobs of the group wait already`;
  log.warn(lossFields(event), `a runner was lost with its CI job${more}`);
}

function lossFields({ object: { metadata }, lost }: LossEvent): object {
  const { jobId, repository, runId, runner } = lost;
  return { group: keyText(metadata), runner, reason: lost.reason, repository, run: runId, job: jobId };
}

function logWake(log: Log, { application, outcome, ms }: EventOf<'woken'>): void {
  const isGood = outcome.is === 'synced' || outcome.is === 'in-sync' || outcome.is === 'busy';
  const { message } = outcome;
  const told = message === undefined ? {} : isGood ? { failedSync: message } : { error: message };
  const fields = { application, outcome: outcome.is, ms: Math.round(ms), ...told };
  log[isGood ? 'info' : 'warn'](fields, 'woke Argo CD');
}

const NOTIFIED: Partial<Record<NotifyResult, string>> = {
  retried: 'an attempt to notify failed',
  unconnected: 'no connection to Slack: its button does not work',
};

/** A dead addressee fails with each message: the same result is logged once a minute. */
function logNotified(log: Log, { to, result, failure }: EventOf<'notified'>, isDue: ReturnType<typeof seldom>): void {
  if (result === 'sent' || !isDue(['notified', to, result, failure?.message].join(' '), NOTIFIED_AGAIN_MS)) return;
  const fields = { to, result, ...(failure && reason(failure)) };
  log.warn(fields, NOTIFIED[result] ?? 'a notification was not sent');
}

function reason({ code, message }: Failure): { readonly code: string; readonly error: string } {
  return { code, error: message };
}

function fieldsOf({ method, url, status, ms }: RequestLine): object {
  return { method, url, status, ms: Math.round(ms) };
}

/** True when a subject was not logged for a time. */
function seldom(nowMs: () => number): (subject: string, pauseMs: number) => boolean {
  const loggedMs = new LRUCache<string, number>({ max: MOST_SUBJECTS });
  return (subject, pauseMs) => {
    const now = nowMs();
    if (now - (loggedMs.get(subject) ?? Number.NEGATIVE_INFINITY) < pauseMs) return false;
    loggedMs.set(subject, now);
    return true;
  };
}
