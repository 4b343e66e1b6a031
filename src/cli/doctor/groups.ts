/** Judges RunnerGroups and their requirements: Gitea and the webhook there, Secrets, the namespace, a node. Pure. */
import { ARGOCD_REASONS, correctText, ERROR_CODE, otherVersion } from '../../answers/not-created.ts';
import { remedyIn, remedyOf } from '../../answers/remedies.ts';
import type { Hook } from '../../clients/gitea/set-up.ts';
import { URL_KEY } from '../../clients/tokens/api-token.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { withSizes } from '../../config/runnergroup/sizes.ts';
import { INVALID, STALE_CHECK_MS } from '../../config/runnergroup/status.ts';
import { ownTemplate } from '../../plan/own-pod.ts';
import { namePrefix, parseRunnerName } from '../../planner/names.ts';
import { Failure, isOfConnection, isRateLimit } from '../../shared/failure.ts';
import { manual, NAME, serveLogs } from '../../shared/installed/installed-names.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { timeText } from '../../shared/marks.ts';
import { duration } from '../../shared/printable.ts';
import { normalBase, parseUrl } from '../../shared/url.ts';
import * as fixes from '../reading/finding.ts';
import { bad, good, type Judgement, type Judgements, judgeRead, unknown, withCheckName } from '../reading/finding.ts';
import { rawValue, secretValue } from '../reading/reads.ts';
import { isUnread, type ScopeSeen } from './gitea-seen.ts';
import {
  type Deliveries,
  type Installation,
  type Judged,
  MOST_GROUPS,
  registrationSecret,
  serveIsDown,
} from './installation.ts';
import { NODE_REMEDIES, PodPlace, whyNot } from './node-fit.ts';
import { runnerNamespace } from './runner-namespace.ts';

const OF_SCOPE = [['CI jobs of', queue] as const, ['Actions of', actions] as const, ['webhook of', webhook] as const];
/** The checks of each group, and the words after the group's name. */
const OF_GROUP = [
  [', as serve sees it', ready] as const,
  [', as serve sees it', unwell] as const,
  ['', starting] as const,
  ['', records] as const,
  ['', runnerNamespace] as const,
  ['', registration] as const,
  ['', nodes] as const,
];

/** Judges what the plugin needs: RunnerGroups that can be read, and for each Gitea a token and an answer. */
export function giteas(installation: Judged): Judgements {
  const { broken, gitea, groups: all } = installation;
  return [
    ...broken.flatMap(({ group, problem }) =>
      withCheckName(`RunnerGroup ${group}`, bad(problem, 'Correct it in git: gitea-runners validate shows the place')),
    ),
    ...all
      .slice(0, MOST_GROUPS)
      .flatMap((group) => withCheckName(`RunnerGroup ${keyText(group)}`, token(group, installation))),
    ...gitea.scopes.flatMap((scope) => withCheckName(`Gitea, ${scope.name}`, look(scope, installation))),
  ];
}

export function groups(installation: Judged): Judgements {
  const { broken, gitea, groups: all, groupsUnread, inNamespaces } = installation;
  if (groupsUnread) return unknown(`${groupsUnread.code} ${groupsUnread.message}`);
  if (all.length + broken.length === 0) {
    const namespaceText = inNamespaces.length === 0 ? '' : ` in namespace ${inNamespaces.join(', ')}`;
    const fix = `Commit one: gitea-runners init writes it${namespaceText && '. Or look in all namespaces: -A'}`;
    return unknown(`there is none${namespaceText}`, fix);
  }
  const shownGroups = all.slice(0, MOST_GROUPS);
  const restNote = `the first ${shownGroups.length} of ${all.length} were looked at`;
  return [
    ...gitea.scopes.flatMap((scope) =>
      OF_SCOPE.flatMap(([of, judge]) => withCheckName(`${of} ${scope.name}`, judge(scope, installation) ?? [])),
    ),
    ...shownGroups.flatMap((group) =>
      OF_GROUP.flatMap(([what, judge]) =>
        withCheckName(`RunnerGroup ${keyText(group)}${what}`, judge(group, installation)),
      ),
    ),
    ...(all.length > shownGroups.length ? [unknown(restNote, 'Look at the others with -n')] : []),
  ];
}

/** Actions that are off explain why a repository has no jobs list. */
function isOff({ actions: read }: ScopeSeen): boolean {
  return read !== undefined && !(read instanceof Failure) && read.off.length === read.repositories;
}

function look(scope: ScopeSeen, installation: Judged): Judgements {
  const { look: giteaLook, url, version } = scope;
  const which = version === undefined ? url : `${url} (Gitea ${version})`;
  if (!(giteaLook instanceof Failure)) return good(`${which} answers, and shows its jobs and runners`);
  if (isOff(scope)) return unknown(`${which} answers, and has no list of its jobs`);
  const text = `${giteaLook.code} ${giteaLook.message}`;
  if (!isOfConnection(giteaLook) || isRateLimit(giteaLook))
    return bad(text, `${manual('errors.md')} has ${giteaLook.code}. ${fixes.remedyOfFailure(giteaLook)}`);
  // This machine may be unable to reach Gitea although the cluster reaches it.
  if (scope.groups.every((group) => ofServe(group, installation).is === 'good'))
    return unknown(`not reached from here: ${text}`, 'serve reaches it from the cluster, see below');
  if (scope.groups.some((group) => statusOf(group, installation)?.notReady)) return bad(text, correctText(text));
  const fix =
    giteaLook.kind === 'redirected' ? fixes.remedyOfFailure(giteaLook) : fixes.fromWithin(installation.argocdNamespace);
  return bad(text, `${manual('errors.md')} has ${giteaLook.code}. ${fix}`);
}

/** Longer than any start takes. */
const WAITS_LONG_MS = 900_000;

function queue({ look: giteaLook }: ScopeSeen, { nowMs }: Installation): Judgements {
  if (giteaLook instanceof Failure) return [];
  const queued = giteaLook.jobs.filter(({ status }) => status === 'queued');
  const [oldest] = queued.sort((a, b) => a.createdAtMs - b.createdAtMs);
  if (!oldest) return good('none waits');
  const ageMs = nowMs - oldest.createdAtMs;
  const text = `${queued.length} wait, the oldest (${oldest.id} of ${oldest.repository}) for ${duration(ageMs)}`;
  return ageMs < WAITS_LONG_MS ? good(text) : unknown(text, `gitea-runners explain ${oldest.id} says why`);
}

function actions(scope: ScopeSeen): Judgements {
  const { actions: read } = scope;
  if (read === undefined) return [];
  if (read instanceof Failure) return unknown(`could not look: ${read.code} ${read.message}`);
  const { off, repositories } = read;
  if (repositories === 0) return unknown('it has no repository that the token sees');
  const fix = 'In Gitea: Settings of the repository → Units → Actions; for all of them [actions] ENABLED in app.ini';
  return isOff(scope)
    ? bad(`they are off in ${off.length === 1 ? off[0] : `all ${off.length} repositories`}`, fix)
    : good(`on in ${repositories - off.length} of ${repositories} repositories`);
}

/** A token that can be used shows in what Gitea answers to it. */
function token(group: RunnerGroup, { gitea }: Installation): Judgements {
  const failure = gitea.withoutToken.get(group);
  if (!failure) return [];
  const { code, kind, message } = failure;
  const fix = kind === 'not-found' ? fixes.MOUNT : fixes.remedyOfFailure(failure);
  if (!isUnread(failure)) return bad(`API token: ${code} ${message}`, fix);
  const text = `${group.giteaUrl} was not asked: the API token cannot be read from here (${code})`;
  return unknown(text, 'Give a token to doctor as GITEA_TOKEN, with GITEA_URL');
}

/** Judges the condition Ready. Known faults of Gitea or the token are not reported twice. */
function ready(group: RunnerGroup, installation: Judged): Judgements {
  const { scopes, withoutToken } = installation.gitea;
  const failure = withoutToken.get(group);
  if (failure && !isUnread(failure)) return [];
  const scope = scopes.find(({ groups: sharing }) => sharing.includes(group));
  return scope?.look instanceof Failure && !isOfConnection(scope.look) ? [] : ofServe(group, installation);
}

function statusOf(group: RunnerGroup, { statuses }: Installation) {
  return statuses.find((each) => each.group === keyText(group));
}

/** Returns the judgement of `serve`, which reaches Gitea from within the cluster. */
function ofServe(group: RunnerGroup, installation: Judged): Judgement {
  const { nowMs } = installation;
  if (serveIsDown(installation)) return unknown('serve does not run');
  const { isOutdated, lastCheckTime, notReady, reason } = statusOf(group, installation) ?? {};
  const fix = `${manual('serve.md#is-all-well')} has the reason; ${serveLogs(installation.argocdNamespace)}`;
  if (reason === INVALID && notReady !== undefined && !isOutdated) return bad(notReady, otherVersion(fixes.HERE));
  const isOfArgoCd = ARGOCD_REASONS.has(reason ?? '') || reason === 'WakeFailed';
  const above = isOfArgoCd ? fixes.badAbove(installation.above, ABOVE) : undefined;
  if (notReady !== undefined && above !== undefined) return bad(notReady, fixes.followsFrom(above));
  if (notReady !== undefined) return bad(notReady, ERROR_CODE.test(notReady) ? correctText(notReady) : fix);
  if (lastCheckTime === undefined)
    return bad('it was never looked at', `${fix}; GITEA_RUNNERS_NAMESPACES must name ${group.namespace}`);
  return nowMs - Date.parse(lastCheckTime) > STALE_CHECK_MS
    ? bad(`Gitea was last looked at ${lastCheckTime}`, fix)
    : good(`ready: it reaches Gitea from the cluster, last at ${lastCheckTime}`);
}

/** Checks above those of groups. Their faults make a wake fail, or keep a plan from coming. */
const ABOVE = ['Application', 'account in Argo CD', 'rights in Argo CD', 'environment of both'];

/** Conditions that are not well although the group is ready. */
function unwell(group: RunnerGroup, installation: Installation): Judgements {
  const { stuck, full, unregisteredText } = statusOf(group, installation) ?? {};
  const see = `gitea-runners explain ${keyText(group)} says which`;
  const remedy = (stuck && remedyOf(stuck, { group, places: fixes.HERE })) ?? 'See the events of these pods';
  return [
    ...(stuck ? [bad(`PodsStuck: ${stuck.message}`, `${remedy}; ${see}`)] : []),
    ...(unregisteredText === undefined ? [] : [bad(`Registered: ${unregisteredText}`, see)]),
    ...(full === undefined ? [] : [unknown(`AtCapacity: ${full}`, see)]),
  ];
}

/** Says why a group starts no runners, which may be on purpose. */
function starting({ maxActiveRunners, suspend }: RunnerGroup): Judgements {
  const why = suspend ? 'spec.suspend is set' : 'spec.maxActiveRunners is 0';
  const fix = 'If it should start some: correct it in git. If git has another value, sync its Application';
  return suspend || maxActiveRunners === 0 ? unknown(`it starts no runners: ${why}`, fix) : [];
}

/** Judges how long Jobs are kept: the back-off counts failed ones. A policy of the cluster may change it at their creation. */
function records({ name: group, namespace, ...ownFields }: RunnerGroup, { liveJobs }: Installation): Judgements {
  const least = Math.min(ownFields.spawnTimeoutSeconds, ownFields.ttlSecondsAfterFinished);
  const prefix = namePrefix(group);
  const ttls = (liveJobs instanceof Failure ? [] : liveJobs).flatMap((live) => {
    const isOwn = live.namespace === namespace && parseRunnerName(live.name)?.prefix === prefix;
    const ttl = Number(valueAt(live.spec, ['ttlSecondsAfterFinished']) ?? least);
    return isOwn && ttl < least ? [ttl] : [];
  });
  if (ttls.length === 0) return [];
  const text = `its Jobs have ttlSecondsAfterFinished ${Math.min(...ttls)}, and the RunnerGroup says ${ownFields.ttlSecondsAfterFinished}: a policy of this cluster changes Jobs, and the back-off forgets what has failed`;
  return bad(text, `Except Jobs of runners from that policy: ${manual('beside-argo-cd.md#policies-that-change-jobs')}`);
}

const WRITES = { global: 'write:admin', org: 'write:organization', user: 'write:user', repo: 'write:repository' };

function registration(group: RunnerGroup, { gitea, secrets }: Installation): Judgements {
  const { giteaUrl, registrationToken } = group;
  const read = secrets.get(registrationSecret(group));
  if (!registrationToken) {
    const right = WRITES[group.registration.for === 'repository' ? 'repo' : group.scope.kind];
    return good(`serve registers its runners, for which its API token needs ${right}`);
  }
  if (!read) return [];
  const secret = `Secret ${registrationToken.name}`;
  return judgeRead(fixes.readAs(secret, read), fixes.STEP_2, (value) => {
    if (secretValue(value, registrationToken.key) === '')
      return bad(`${secret} has no value at ${registrationToken.key}`, fixes.STEP_2);
    if (/[\r\n]$/.test(rawValue(value, registrationToken.key))) {
      const text = `${secret} has a line break at the end of ${registrationToken.key}, and Gitea refuses that token`;
      return bad(text, `${fixes.STEP_2}. By hand: printf %s "$TOKEN" | base64, or --from-literal`);
    }
    const url = secretValue(value, URL_KEY);
    if (url !== '' && normalBase(url) !== normalBase(giteaUrl)) {
      const fix = `Correct gitea.url, or: ${fixes.STEP_2} for that Gitea`;
      return bad(`${secret} is for another Gitea than ${giteaUrl}`, fix);
    }
    const registrationOfGroup = gitea.registrations.get(group);
    const tokenText = `${secret} has a registration token`;
    if (registrationOfGroup === undefined) return good(tokenText);
    if (registrationOfGroup instanceof Failure) {
      const text = `${tokenText}; whether it is that of its scope was not compared: ${registrationOfGroup.code} ${registrationOfGroup.message}`;
      return unknown(text, 'Run doctor with GITEA_URL and GITEA_TOKEN set: the token needs the write scope');
    }
    return registrationOfGroup
      ? good(`${tokenText}, and it is that of its scope`)
      : bad(`${secret} has not the registration token of its scope: its runners get no CI jobs`, fixes.STEP_2);
  });
}

function nodes(group: RunnerGroup, installation: Installation): Judgements {
  return withSizes(group).flatMap((each) => {
    const size = each.size ? `, size ${each.size.name}` : '';
    return withCheckName(`RunnerGroup ${keyText(group)}${size}, nodes`, nodesOf(each, installation));
  });
}

function nodesOf(group: RunnerGroup, { autoscaler, nodePools, nodes: read }: Installation): Judgement {
  if ('unread' in read) return unknown(`nodes cannot be read: ${read.unread}`);
  const pod = PodPlace.parse(ownTemplate(group).spec);
  const reasons = read.value.map((node) => whyNot(pod, node));
  const fitting = reasons.filter((reason) => reason === undefined).length;
  const note = 'what runs there now is not looked at';
  if (fitting > 0) return good(`${fitting} of ${reasons.length} can take its pod (${note})`);
  const why = reasons.length === 0 ? '' : `: ${counted(reasons.flatMap((reason) => reason ?? []))}`;
  const text = `none of ${reasons.length} can take its pod${why}`;
  const remedies = new Set(reasons.flatMap((reason) => remedyIn(NODE_REMEDIES, reason ?? '') ?? []));
  const fix = [...remedies].join('; or ') || 'Add a node: kubectl get nodes';
  const nodesMayCome = 'value' in autoscaler || ('value' in nodePools && nodePools.value.length > 0);
  return nodesMayCome ? unknown(`${text}. The autoscaler may add one`, fix) : bad(text, fix);
}

/** Most reasons in a line. Further ones become `…`. */
const MOST_REASONS = 3;

/** `2 with no label gpu=yes`, the commonest first. */
function counted(reasons: readonly string[]): string {
  const sorted = [...groupBy(reasons, (reason) => reason)].sort(([, a], [, b]) => b.length - a.length);
  const shown = sorted.slice(0, MOST_REASONS).map(([reason, { length }]) => `${length} with ${reason}`);
  return [...shown, ...(sorted.length > MOST_REASONS ? ['…'] : [])].join('; ');
}

/** How late a delivery may be, ms: Gitea sends some seconds after the change, and clocks differ. */
const LATE_MS = 15_000;
const MANUAL = `Run the block of ${manual('install.md#webhooks')}`;
const LOOK_IN_GITEA = 'Gitea shows its deliveries and their errors under Settings → Webhooks';

/**
 * Judges whether a webhook leads to `serve` and delivers: its last delivery was accepted, and no CI job has ended after it.
 * Gitea lists no deliveries; `serve` tells of the last ones since it started. Undefined: nothing was asked.
 */
export function webhook(scope: ScopeSeen, installation: Installation): Judgement | undefined {
  const { hooks } = scope;
  if (hooks === undefined) return undefined;
  if (hooks instanceof Failure) {
    const fix = 'Look in Gitea under Settings → Webhooks, or let doctor use a token that may read them';
    return unknown(`could not look: ${hooks.code} ${hooks.message}`, fix);
  }
  const { deliveries, serveSecret } = installation;
  if ('value' in serveSecret && secretValue(serveSecret.value, 'webhook-secret') === '')
    return unknown('serve has no webhook secret: it looks every few seconds', MANUAL);
  const delivered = deliveredSince(scope, deliveries);
  const leading = hooks.filter(({ url }) => leadsToServe(url, installation));
  const usable = leading.find((hook) => faultsOf(hook).length === 0);
  if (usable === undefined) {
    const text = noneText(hooks, leading);
    // A webhook of the whole Gitea or of a repository may deliver these events. Or it was removed a moment ago.
    if (leading.length > 0 || delivered.is !== 'good') return bad(text, MANUAL);
    const fix = 'Start a CI job, then doctor again: that shows whether another webhook delivers';
    return unknown(`${text}. Yet ${delivered.text}`, fix);
  }
  const address = addressOf(usable.url);
  const distrust = delivered.is === 'good' ? undefined : scope.distrusted?.get(parseUrl(usable.url)?.href ?? '');
  if (distrust) return bad(`to ${address}, which Gitea may not trust: ${distrust.message}`, LOOK_IN_GITEA);
  if (typeof deliveries !== 'string') return { ...delivered, text: `to ${address}; ${delivered.text}` };
  const text = `to ${address}; whether it delivers is not known: ${deliveries}`;
  return unknown(text, fixes.AS_ADMINISTRATOR);
}

/** Returns why a webhook does not report CI jobs to `serve`. */
const faultsOf = ({ isActive, hasJobEvents, contentType }: Hook): readonly string[] => [
  ...(isActive ? [] : ['it is switched off']),
  ...(hasJobEvents ? [] : ['it has not the event Workflow Job']),
  ...(contentType === 'json' ? [] : ['its content type is not application/json']),
];

function noneText(hooks: readonly Hook[], leading: readonly Hook[]): string {
  const [hook] = leading;
  if (hook) return `to ${addressOf(hook.url)}, but ${faultsOf(hook).join(', ')}`;
  const otherAddresses = hooks.filter(({ hasJobEvents }) => hasJobEvents).map(({ url }) => addressOf(url));
  return otherAddresses.length === 0
    ? 'there is none here: serve hears of a CI job only when it looks'
    : `none here leads to serve: those for CI jobs go to ${otherAddresses.join(', ')}`;
}

/** Returns the address without parts that may be secret. */
function addressOf(text: string): string {
  const url = parseUrl(text);
  return url ? `${url.origin}${url.pathname}` : 'no URL';
}

/** True if the address may lead to `serve`. Another host than the Service's may be that of an Ingress. */
function leadsToServe(text: string, { argocdNamespace }: Installation): boolean {
  const { hostname, pathname } = parseUrl(text) ?? { hostname: '', pathname: '' };
  if (pathname.replace(/\/+$/, '') !== '/webhook') return false;
  const inside = `${NAME}.${argocdNamespace}`;
  return hostname === inside || hostname.startsWith(`${inside}.svc`) || !/\.svc(?:\.|$)/.test(hostname);
}

/** Why `serve` refuses deliveries of Gitea, and what to do. Refusals of other requests are not caused by a webhook. */
const REFUSED: Readonly<Record<string, readonly [string, string]>> = {
  'no-secret': ['serve has no secret for it', fixes.STEP_2],
  unsigned: ['it has no secret', `Delete it in Gitea. ${MANUAL}`],
  signature: ['its secret is another one than that of serve', `Delete it in Gitea. ${MANUAL}`],
  event: ['it sends other events', 'In Gitea, give it the trigger Workflow Job alone'],
  'media-type': ['its content type is not application/json', 'Correct that in Gitea'],
};

function deliveredSince({ look: giteaLook }: ScopeSeen, deliveries: Deliveries | string): Judgement {
  if (typeof deliveries === 'string') return unknown(deliveries, LOOK_IN_GITEA);
  const { lastMs, sinceMs } = deliveries;
  const acceptedMs = Math.max(lastMs.get('accepted') ?? 0, lastMs.get('forwarded') ?? 0);
  const endedMs =
    giteaLook instanceof Failure ? 0 : Math.max(0, ...giteaLook.jobs.map(({ completedAtMs = 0 }) => completedAtMs));
  const [reason] = Object.keys(REFUSED)
    .filter((result) => (lastMs.get(result) ?? 0) > acceptedMs)
    .sort((a, b) => (lastMs.get(b) ?? 0) - (lastMs.get(a) ?? 0));
  const [why, fix] = REFUSED[reason ?? ''] ?? [];
  if (why !== undefined && fix !== undefined) return bad(`serve refused the last delivery: ${why}`, fix);
  const isMissed = endedMs > Math.max(acceptedMs, sinceMs) + LATE_MS;
  const since = `a CI job has ended at ${timeText(endedMs)}`;
  if (acceptedMs > 0) {
    const text = `the last delivery came at ${timeText(acceptedMs)}`;
    return isMissed ? bad(`${text}, and ${since}`, LOOK_IN_GITEA) : good(text);
  }
  const cause = `${LOOK_IN_GITEA}. ALLOWED_HOST_LIST in app.ini is the usual cause`;
  if (isMissed) return bad(`no delivery has come since serve started, and ${since}`, cause);
  const text = 'no CI job has ended since serve started, so it cannot be told whether it delivers';
  return unknown(text, 'Start a CI job, then doctor again');
}
