/**
 * Judges the webhook of a scope: is there one that leads to `serve`, and do its deliveries come? Pure.
 *
 *   Gitea lists webhooks with their address, without their secrets and without their deliveries
 *   serve tells when the last delivery came, and with which result
 *
 * A webhook delivers when the last delivery was believed and is not older than the last end of a CI job. Without such an end since
 * `serve` started, nothing can be said.
 */

import type { Hook } from '../../clients/gitea/set-up.ts';
import { Failure } from '../../shared/failure.ts';
import { NAME } from '../../shared/installed/names.ts';
import { timeText } from '../../shared/marks.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import type { Deliveries } from './deliveries.ts';
import { bad, type DoctorFinding, unknown } from './finding.ts';
import type { ScopeSeen } from './gitea-seen.ts';
import type { Installation } from './installation.ts';
import { valueAt } from './reads.ts';

/** Gitea sends up to some seconds after the change, and clocks differ. */
const LATE_MS = 15_000;
const MANUAL = 'Run the block under "Webhooks" in docs/install.md';
const LOOK_IN_GITEA = 'Gitea shows its deliveries and their errors under Settings → Webhooks';

/** Undefined: nothing was asked. */
export function webhook(scope: ScopeSeen, seen: Installation): DoctorFinding | undefined {
  const check = `webhook of ${scope.name}`;
  const { hooks } = scope;
  if (hooks === undefined) return undefined;
  if (hooks instanceof Failure) {
    const fix = 'Look in Gitea under Settings → Webhooks, or let doctor use a token that may read them';
    return unknown(check, `could not look: ${hooks.code} ${hooks.message}`, fix);
  }
  const { deliveries, serveSecret } = seen;
  if ('value' in serveSecret && valueAt(serveSecret.value, 'webhook-secret') === '')
    return unknown(check, 'serve has no webhook secret: it looks every few seconds', MANUAL);
  const delivered = deliveredSince(scope, deliveries);
  const leading = hooks.filter(({ url }) => leadsToServe(url, seen));
  const usable = leading.find(isUsable);
  if (usable === undefined) {
    const text = noneText(hooks, leading);
    // A webhook of another level may do its work: that of the whole Gitea, or of a repository. Or it was removed a moment ago.
    if (leading.length > 0 || delivered.is !== 'good') return bad(check, text, MANUAL);
    const fix = 'Start a CI job, then doctor again: that shows whether another webhook delivers';
    return unknown(check, `${text}. Yet ${delivered.text}`, fix);
  }
  const address = addressOf(usable.url);
  if (typeof deliveries !== 'string') return { ...delivered, check, text: `to ${address}; ${delivered.text}` };
  const text = `to ${address}; whether it delivers is not known: ${deliveries}`;
  return unknown(check, text, 'Ask as an administrator, with --kubeconfig');
}

const isUsable = ({ isActive, hasJobEvents, contentType }: Hook): boolean =>
  isActive && hasJobEvents && contentType === 'json';

function noneText(hooks: readonly Hook[], leading: readonly Hook[]): string {
  const [hook] = leading;
  if (hook) {
    const wrong = [
      ...(hook.isActive ? [] : ['it is switched off']),
      ...(hook.hasJobEvents ? [] : ['it has not the event Workflow Job']),
      ...(hook.contentType === 'json' ? [] : ['its content type is not application/json']),
    ];
    return `to ${addressOf(hook.url)}, but ${wrong.join(', ')}`;
  }
  const others = hooks.filter(({ hasJobEvents }) => hasJobEvents).map(({ url }) => addressOf(url));
  return others.length === 0
    ? 'there is none here: serve hears of a CI job only when it looks'
    : `none here leads to serve: those for CI jobs go to ${others.join(', ')}`;
}

/** Without what may be secret. */
function addressOf(text: string): string {
  const url = parseUrl(text);
  return url ? `${url.origin}${url.pathname}` : 'no URL';
}

/** Whether this address leads to `serve`. A host that is none of the Service's may: it may be that of an Ingress. */
function leadsToServe(text: string, { argocdNamespace }: Installation): boolean {
  const { hostname, pathname } = parseUrl(text) ?? { hostname: '', pathname: '' };
  if (pathname.replace(/\/+$/, '') !== '/webhook') return false;
  const inside = `${NAME}.${argocdNamespace}`;
  return hostname === inside || hostname.startsWith(`${inside}.svc`) || !/\.svc(?:\.|$)/.test(hostname);
}

type Delivered = Omit<DoctorFinding, 'check'>;

/** Why `serve` refuses what Gitea sends, and what to do. Refusals of other things are no webhook's. */
const REFUSED: Readonly<Record<string, readonly [string, string]>> = {
  'no-secret': ['serve has no secret for it', 'Repeat step 2 of docs/install.md'],
  unsigned: ['it has no secret', `Delete it in Gitea. ${MANUAL}`],
  signature: ['its secret is another one than that of serve', `Delete it in Gitea. ${MANUAL}`],
  event: ['it sends other events', 'In Gitea, give it the trigger Workflow Job alone'],
  'media-type': ['its content type is not application/json', 'Correct that in Gitea'],
};

function deliveredSince({ look }: ScopeSeen, deliveries: Deliveries | string): Delivered {
  if (typeof deliveries === 'string') return { is: 'unknown', text: deliveries, fix: LOOK_IN_GITEA };
  const { lastMs, sinceMs } = deliveries;
  const acceptedMs = Math.max(lastMs.get('accepted') ?? 0, lastMs.get('forwarded') ?? 0);
  const endedMs = look instanceof Failure ? 0 : Math.max(0, ...look.jobs.map(({ completedAtMs = 0 }) => completedAtMs));
  const [reason] = Object.keys(REFUSED)
    .filter((result) => (lastMs.get(result) ?? 0) > acceptedMs)
    .sort((a, b) => (lastMs.get(b) ?? 0) - (lastMs.get(a) ?? 0));
  const [why, fix] = REFUSED[reason ?? ''] ?? [];
  if (why !== undefined && fix !== undefined)
    return { is: 'bad', text: `serve refused the last delivery: ${why}`, fix };
  const isMissed = endedMs > Math.max(acceptedMs, sinceMs) + LATE_MS;
  const since = `a CI job has ended at ${timeText(endedMs)}`;
  if (acceptedMs > 0) {
    const text = `the last delivery came at ${timeText(acceptedMs)}`;
    return isMissed ? { is: 'bad', text: `${text}, and ${since}`, fix: LOOK_IN_GITEA } : { is: 'good', text };
  }
  if (isMissed)
    return {
      is: 'bad',
      text: `no delivery has come since serve started, and ${since}`,
      fix: `${LOOK_IN_GITEA}. ALLOWED_HOST_LIST in app.ini is the usual cause`,
    };
  return {
    is: 'unknown',
    text: 'no CI job has ended since serve started, so it cannot be told whether it delivers',
    fix: 'Start a CI job, then doctor again',
  };
}
