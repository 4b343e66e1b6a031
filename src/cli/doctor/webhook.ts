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
import { bad, type DoctorFinding, good, unknown } from './finding.ts';
import type { ScopeSeen } from './gitea-seen.ts';
import type { Installation } from './installation.ts';
import { valueAt } from './reader.ts';

/** Gitea sends up to some seconds after the change, and clocks differ. */
const LATE_MS = 15_000;
const MANUAL = 'Run the block under "Webhooks" in docs/install.md';
const LOOK_IN_GITEA = 'Gitea shows its deliveries and their errors under Settings → Webhooks';

/** Which of Gitea's addresses of webhooks lead to `serve`. */
type Leads = 'yes' | 'perhaps' | 'no';

/** Undefined: nothing was asked. */
export function webhook(scope: ScopeSeen, seen: Installation): DoctorFinding | undefined {
  const check = `webhook of ${scope.name}`;
  const { hooks } = scope;
  if (hooks === undefined) return undefined;
  if (hooks instanceof Failure)
    return unknown(
      check,
      `could not look: ${hooks.code} ${hooks.message}`,
      'Look in Gitea under Settings → Webhooks, or let doctor use a token that may read them',
    );
  const delivered = deliveredSince(scope, seen.deliveries);
  if (isSwitchedOff(seen)) return unknown(check, 'serve has no webhook secret: it looks every few seconds', MANUAL);
  const leading = hooks.map((hook) => ({ ...hook, leads: leadsToServe(hook.url, seen) })).filter(isToServe);
  const [usable] = leading.filter(isUsable);
  if (usable === undefined) {
    const text = noneText(hooks, leading);
    // A webhook of another level may do its work: that of the whole Gitea, or of a repository. Or it was removed a moment ago.
    return leading.length === 0 && delivered.is === 'good'
      ? unknown(
          check,
          `${text}. Yet ${delivered.text}`,
          'Start a CI job, then doctor again: that shows whether another webhook delivers',
        )
      : bad(check, text, MANUAL);
  }
  const address = addressOf(usable.url);
  if (typeof seen.deliveries === 'string')
    return unknown(
      check,
      `to ${address}; whether it delivers is not known: ${seen.deliveries}`,
      'Ask as an administrator, with --kubeconfig',
    );
  const text = `to ${address}; ${delivered.text}`;
  return delivered.is === 'good' ? good(check, text) : { check, is: delivered.is, text, fix: delivered.fix };
}

const isToServe = ({ leads }: { readonly leads: Leads }): boolean => leads !== 'no';
const isUsable = ({ isActive, hasJobEvents, contentType }: Hook): boolean =>
  isActive && hasJobEvents && contentType === 'json';

function isSwitchedOff({ serveSecret }: Installation): boolean {
  return 'value' in serveSecret && valueAt(serveSecret.value, 'webhook-secret') === '';
}

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

/** `perhaps`: a host that is none of the Service's, e.g. that of an Ingress. */
function leadsToServe(text: string, { argocdNamespace, service }: Installation): Leads {
  const url = parseUrl(text);
  if (!url) return 'no';
  const { hostname, pathname } = url;
  if (pathname.replace(/\/+$/, '') !== '/webhook') return 'no';
  const inside = `${NAME}.${argocdNamespace}`;
  if (hostname === inside || hostname.startsWith(`${inside}.svc`)) return 'yes';
  if (/\.svc(?:\.|$)/.test(hostname)) return 'no';
  if (!('value' in service)) return 'perhaps';
  const { spec, status } = service.value;
  const ingress = status.loadBalancer.ingress.flatMap(({ ip, hostname: name }) => [ip, name]);
  return [spec.clusterIP, ...spec.clusterIPs, ...spec.externalIPs, ...ingress].includes(hostname) ? 'yes' : 'perhaps';
}

type Delivered =
  | { readonly is: 'good'; readonly text: string }
  | { readonly is: 'bad' | 'unknown'; readonly text: string; readonly fix: string };

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
  if (acceptedMs > 0)
    return isMissed
      ? { is: 'bad', text: `the last delivery came at ${timeText(acceptedMs)}, and ${since}`, fix: LOOK_IN_GITEA }
      : { is: 'good', text: `the last delivery came at ${timeText(acceptedMs)}` };
  return isMissed
    ? {
        is: 'bad',
        text: `no delivery has come since serve started, and ${since}`,
        fix: `${LOOK_IN_GITEA}. ALLOWED_HOST_LIST in app.ini is the usual cause`,
      }
    : {
        is: 'unknown',
        text: 'no CI job has ended since serve started, so it cannot be told whether it delivers',
        fix: 'Start a CI job, then doctor again',
      };
}
