/** The cluster, `serve` and Argo CD above the tables. */
import { printable } from '../../shared/printable.ts';
import { duration } from '../duration.ts';
import type { ApplicationSeen, ServeSeen, StatusSeen, WhereIAm } from './where.ts';

/** `serve` renews the time of its last look once a minute. */
const LOOK_LATE_MS = 180_000;

export function whereText(
  { server, context, namespaces, serve, applications, broken, statuses }: WhereIAm,
  nowMs: number,
): string {
  const account = context === undefined ? 'service account of this pod' : `context ${context}`;
  const where = namespaces.length === 0 ? 'all namespaces' : `namespace ${namespaces.join(', ')}`;
  const lines = [
    `Cluster: ${server} (${account}), ${where}`,
    `serve: ${serveText(serve, nowMs)}; ${lastLookText(statuses, nowMs)}`,
    ...applications.map((application) => `Application ${application.name}: ${applicationText(application)}`),
    ...statuses.flatMap(({ group, notReady }) =>
      notReady === undefined ? [] : [`RunnerGroup ${group} is not ready: ${notReady}`],
    ),
    ...broken.map(({ group, problem }) => `RunnerGroup ${group} cannot be served: ${problem}`),
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function serveText(serve: ServeSeen, nowMs: number): string {
  if ('unread' in serve) return `not known: ${serve.unread}`;
  const { leader, renewedAt, isLate } = serve;
  const ago = renewedAt === undefined ? '' : ` ${duration(nowMs - Date.parse(renewedAt))} ago`;
  return isLate ? `nobody leads: ${leader} last renewed its Lease${ago}` : `${leader} leads (Lease renewed${ago})`;
}

function lastLookText(statuses: readonly StatusSeen[], nowMs: number): string {
  const times = statuses.flatMap(({ lastCheckTime }) =>
    lastCheckTime === undefined ? [] : [Date.parse(lastCheckTime)],
  );
  if (times.length === 0) return 'it has not looked at these RunnerGroups yet';
  const agoMs = nowMs - Math.max(...times);
  return `it last looked ${duration(agoMs)} ago${agoMs > LOOK_LATE_MS ? ', which is too long: read its log' : ''}`;
}

function applicationText({ sync, health, error, unread }: ApplicationSeen): string {
  if (unread !== undefined) return `not known: ${unread}`;
  return [sync, health, ...(error === undefined ? [] : [error])].filter((part) => part !== undefined).join(', ');
}
