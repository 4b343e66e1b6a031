/** The log: JSON lines for a log collector. Texts that came from outside were made printable before; no header, body or token gets here. */
import { LRUCache } from 'lru-cache';
import { destination, type Logger, pino } from 'pino';
import { type EventOf, MOST_LOST_JOBS, type Subscriber, subscriberOf } from '../serve/planning/events.ts';
import { originsOf } from '../serve/planning/reconcile.ts';
import { systemClock } from '../shared/clock.ts';
import type { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Pause until the same warning about clocks is logged again, ms. Clocks stay wrong for days. */
const CLOCKS_AGAIN_MS = 3_600_000;
/** Pause until the same warning is logged again, ms. The metrics count each. */
const AGAIN_MS = 60_000;
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

const MANY_CONNECTIONS =
  'too many connections: the longest idle ones are closed. Look for a client that opens connections and does not use them';
const LATE_LOOKS =
  'looks at Gitea come late: all scopes share one request budget (--gitea-requests). Use fewer and wider scopes: one RunnerGroup of an org in place of one per repository';

/** Logs the events of `serve`. @param nowMs a clock that never jumps, ms */
export function logTo(log: Log, nowMs: () => number = systemClock.steadyMs): Subscriber {
  const loggedMs = new LRUCache<string, number>({ max: MOST_SUBJECTS });
  /** Logs a warning, and not again within the pause. */
  const warn = (subject: string, fields: object, message: string, pauseMs = AGAIN_MS): void => {
    if (nowMs() - (loggedMs.get(subject) ?? Number.NEGATIVE_INFINITY) < pauseMs) return;
    loggedMs.set(subject, nowMs());
    log.warn(fields, message);
  };
  return subscriberOf({
    serving: ({ ports }) => log.info(ports, 'serving'),
    leading: () => log.info('leading'),
    'not-leading': () => log.info('not leading any more'),
    ending: ({ signal }) => log.info({ signal }, 'ending'),
    mistake: ({ at, error }) =>
      log.error({ code: 'GR-INTERNAL', error, at }, 'a mistake in gitea-runners: please report it'),
    queue: ({ rows }) => {
      for (const row of rows) log.info(row, 'queue');
    },
    'gitea-request': ({ line }) => log.debug(fieldsOf(line), 'request to Gitea'),
    'argocd-request': ({ line }) => log.debug(fieldsOf(line), 'request to Argo CD'),
    'cluster-failed': ({ failure }) => log.warn(reason(failure), 'request to the cluster failed'),
    'connection-dropped': ({ listener }) =>
      warn(`dropped ${listener}`, { code: 'GR-LISTEN-02', listener }, MANY_CONNECTIONS),
    'secrets-unreadable': ({ failure }) => log.warn(reason(failure), 'the webhook secrets stay as they were'),
    looked: ({ failure }) => {
      if (failure) log.warn(reason(failure), 'look at Gitea failed');
    },
    'visit-waited': ({ origin, lateScopes: scopes }) => {
      if (scopes !== undefined) warn(`late ${origin}`, { origin, scopes }, LATE_LOOKS);
    },
    planned: ({ verdict: { clockWarnings, groups } }) => {
      for (const { code, message: error } of clockWarnings) {
        const subject = ['clocks', code, ...originsOf(groups.map(({ live }) => live))].join(' ');
        warn(subject, { code, error }, 'the clocks of servers differ', CLOCKS_AGAIN_MS);
      }
    },
    woken: ({ application, outcome, ms }) => {
      const isGood = ['synced', 'in-sync', 'busy'].includes(outcome.is);
      const { message } = outcome;
      const says = 'says' in outcome ? outcome.says : undefined;
      const messageField = message !== undefined && { [isGood ? 'failedSync' : 'error']: message };
      const fields = { application, outcome: outcome.is, ms: Math.round(ms), ...messageField, says };
      if (outcome.is === 'busy') log.info(fields, 'Argo CD is busy');
      else if (isGood) log.info(fields, 'woke Argo CD');
      else log.warn(fields, 'could not wake Argo CD');
    },
    'ask-failed': ({ application, failure }) => log.warn({ application, ...reason(failure) }, 'cannot ask Argo CD'),
    'runner-lost': (event) => {
      const note = event.isNoted ? '' : `, which is not re-run: ${MOST_LOST_JOBS} jobs of the group wait already`;
      log.warn(lossFields(event), `a runner was lost with its CI job${note}`);
    },
    rerun: (event) => {
      const { failure, outcome } = event;
      const isGood = !['exhausted', 'failed', 'expired'].includes(outcome);
      const outcomeText = { ended: 'had Gitea end a lost CI job', rerun: 're-ran a lost CI job' }[outcome as string];
      log[isGood ? 'info' : 'warn'](
        { ...lossFields(event), outcome, ...(failure && reason(failure)) },
        outcomeText ?? 'did not re-run a lost CI job',
      );
    },
    'registration-deleted': ({ gitea, runner }) => log.info({ gitea, runner }, 'deleted a dead registration'),
    'sweep-failed': ({ failure, of }) =>
      log.warn(reason(failure), of === 'all' ? 'sweep failed' : 'sweep failed in part'),
    'registration-token': ({ failure, objects, secret }) => {
      const groups = objects.map(({ metadata }) => keyText(metadata));
      if (failure) log.warn({ secret, groups, ...reason(failure) }, 'cannot fill a Secret with the registration token');
      else log.info({ secret, groups }, 'filled a Secret with the registration token');
    },
    'runner-registration': ({ failure, object, runner }) => {
      if (!failure) return;
      const group = keyText(object.metadata);
      // Many runners may wait for the same cause.
      const subject = `registration ${failure.code} ${group}`;
      warn(subject, { group, runner, ...reason(failure) }, 'cannot register a runner');
    },
    'commit-status': ({ failure, repository }) => {
      if (!failure) return;
      const fields = { repository, ...reason(failure) };
      warn(`commit-status ${failure.message}`, fields, 'cannot say beside a commit why a CI job waits');
    },
    'page-look-failed': ({ message: error }) =>
      warn(`page ${error}`, { error }, 'the page for developers has no newer figures'),
    // A dead addressee fails with each message.
    notified: ({ to, result, failure }) => {
      if (result === 'sent') return;
      const text = {
        retried: 'an attempt to notify failed',
        unconnected: `no connection to ${to}: its button does not work`,
      }[result as string];
      const fields = { to, result, ...(failure && reason(failure)) };
      warn(['notified', to, result, failure?.message].join(' '), fields, text ?? 'a notification was not sent');
    },
    'spans-lost': ({ spans, reason: why }) =>
      warn(`spans ${why}`, { spans, reason: why }, 'lost spans of traces: look at the OpenTelemetry collector'),
  });
}

function lossFields({ object: { metadata }, lost }: EventOf<'runner-lost'> | EventOf<'rerun'>): object {
  const { jobId, repository, runId, runner } = lost;
  return { group: keyText(metadata), runner, reason: lost.reason, repository, run: runId, job: jobId };
}

function reason({ code, message }: Failure): { readonly code: string; readonly error: string } {
  return { code, error: message };
}

function fieldsOf({ method, url, status, ms }: EventOf<'gitea-request'>['line']): object {
  return { method, url, status, ms: Math.round(ms) };
}
