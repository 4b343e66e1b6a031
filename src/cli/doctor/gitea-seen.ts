/** Looks once at each scope of each Gitea, with the tokens that the installation itself uses. */
import { type GiteaAccess, GiteaApi, type VersionCache } from '../../clients/gitea/api.ts';
import { describeScope, type Level } from '../../clients/gitea/endpoints.ts';
import { type GiteaTarget, giteaClient, observeEach } from '../../clients/gitea/observe-gitea.ts';
import {
  type ActionsSeen,
  type Hook,
  isRegistrationToken,
  readActions,
  readHooks,
} from '../../clients/gitea/set-up.ts';
import { ownLevel } from '../../clients/gitea/user-repos.ts';
import { Deadline } from '../../clients/http/request.ts';
import { findToken, type SecretReader } from '../../clients/tokens/api-token.ts';
import type { Token } from '../../clients/tokens/token.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { isTargetOf } from '../../plan/find-targets.ts';
import { requestOptions, type Settings } from '../../plan/settings.ts';
import type { Look } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/url.ts';

export interface ScopeSeen {
  /** `org acme` */
  readonly name: string;
  readonly url: string;
  readonly groups: readonly RunnerGroup[];
  /** Digits of `/version`; absent: it was not told. */
  readonly version?: string;
  /** The look at the scope. It always reads runners: this shows whether the token's user may see them. */
  readonly look: Look | Failure;
  /** Absent: not asked, since the look failed or Gitea has no such list for this token. */
  readonly hooks?: readonly Hook[] | Failure;
  /** Why this machine does not trust the certificate of a webhook, by its address. Gitea may know other CAs. */
  readonly distrusted?: ReadonlyMap<string, Failure>;
  readonly actions?: ActionsSeen | Failure;
}

interface GiteaQuestions {
  readonly groups: readonly RunnerGroup[];
  readonly settings: Settings;
  /** Reads the installation's API tokens. Undefined: they are in files. */
  readonly secrets: SecretReader | undefined;
  /** Registration tokens by group. They are compared and not kept. */
  readonly registrationTokens: ReadonlyMap<RunnerGroup, string>;
}

/** Never throws for what Gitea or a Secret says. */
export async function lookAtGitea(questions: GiteaQuestions) {
  const { registrationTokens, settings } = questions;
  const { byHand, tokens, withoutToken } = await tokensOf(questions);
  const options = { ...requestOptions(settings), includeBlocked: false, now: settings.now };
  const http = giteaClient(options);
  const versions: VersionCache = new Map();
  const deadline = new Deadline(settings.timeoutMs);
  const targets = targetsOf(tokens);
  try {
    const looks = await observeEach([...targets.keys()], { ...options, http, versions });
    const scopes: ScopeSeen[] = [];
    /** True if the registration Secret has the scope's token. A Failure: they cannot be compared. Absent: nothing to compare. */
    const registrations = new Map<RunnerGroup, boolean | Failure>();
    for (const [{ key, scope, token, url }, groups] of targets) {
      const access: GiteaAccess = { http, url, token, deadline, versions };
      const look = looks.get(key) ?? new Failure('GR-GITEA-09', 1, 'look at Gitea: no answer.');
      const levelOrFailure = await orFailure(ownLevel(new GiteaApi(access), scope));
      const level = levelOrFailure instanceof Failure ? undefined : levelOrFailure;
      const version = await orFailure(new GiteaApi(access).version());
      scopes.push({
        name: describeScope(scope),
        url,
        groups,
        look,
        ...(!(version instanceof Failure) && { version: version.text }),
        ...(level && (await readRest(access, level, look))),
      });
      if (!level || look instanceof Failure) continue;
      for (const group of groups) {
        const registration = registrationTokens.get(group);
        if (registration === undefined) continue;
        const asking = { ...access, token: byHand.get(group) ?? token };
        registrations.set(group, await orFailure(isRegistrationToken(asking, level, registration)));
      }
    }
    return { scopes, withoutToken, registrations };
  } finally {
    await http.close();
  }
}

/** `byHand`: `GITEA_TOKEN`, for the groups of its Gitea. `withoutToken`: groups without a usable API token. */
async function tokensOf({ groups, secrets, settings }: GiteaQuestions) {
  const tokens = new Map<RunnerGroup, Token>();
  const byHand = new Map<RunnerGroup, Token>();
  const withoutToken = new Map<RunnerGroup, Failure>();
  const { GITEA_TOKEN: environmentToken, ...env } = settings.env;
  const sources = { ...settings, env, ...(secrets && { clusterSecrets: secrets }) };
  for (const group of groups) {
    const ownToken = await orFailure(findToken(group, sources));
    const hand = environmentToken ? await orFailure(findToken(group, settings)) : ownToken;
    if (environmentToken && !(hand instanceof Failure)) byHand.set(group, hand);
    // A token from the command line replaces only one that this user may not read.
    const token = ownToken instanceof Failure && isUnread(ownToken) ? hand : ownToken;
    if (token instanceof Failure) withoutToken.set(group, token);
    else tokens.set(group, token);
  }
  return { tokens, byHand, withoutToken };
}

/** The cluster does not let you read the Secret, or it is mounted elsewhere than here. */
export const isUnread = ({ kind }: Failure): boolean => kind === 'token-unseen';

function targetsOf(tokens: ReadonlyMap<RunnerGroup, Token>): ReadonlyMap<GiteaTarget, readonly RunnerGroup[]> {
  const targets = new Map<GiteaTarget, RunnerGroup[]>();
  for (const [group, token] of tokens) {
    const { giteaUrl: url, scope } = group;
    const knownTarget = [...targets].find(([target]) => isTargetOf(target, group, token));
    if (knownTarget) knownTarget[1].push(group);
    else targets.set({ key: String(targets.size), url, scope, token, hasPool: true }, [group]);
  }
  return targets;
}

/** Webhooks that are tried for each scope. */
const MOST_TRIED = 5;
/** Time limit for all webhooks of a scope, ms. An address that cannot be reached must not take the time of the others. */
const TRYING_MS = 2_000;

/** Tries the webhooks that may lead to `serve`. Returns untrusted certificates only: doctor may run elsewhere than Gitea. */
async function distrustedOf(addresses: readonly string[], { http }: GiteaAccess) {
  const urls = addresses.flatMap((each) => parseUrl(each) ?? []);
  const tried = urls.filter(({ href }) => /^https:.*\/webhook\/?$/.test(href)).slice(0, MOST_TRIED);
  const deadline = new Deadline(TRYING_MS);
  const distrusted = new Map<string, Failure>();
  const answers = tried.map(async (url) => {
    const request = { what: 'connect to the webhook', method: 'GET', url, once: true } as const;
    const answer = await orFailure(http.send(request, deadline));
    if (answer instanceof Failure && answer.kind === 'untrusted') distrusted.set(url.href, answer);
  });
  await Promise.all(answers);
  return distrusted;
}

/** A repository whose Actions are off has no jobs list: then this says so. */
async function readRest(access: GiteaAccess, level: Level, look: Look | Failure) {
  const api = new GiteaApi(access);
  const isOff = look instanceof Failure && look.kind === 'not-found';
  if (look instanceof Failure && !isOff) return {};
  const actions = await orFailure(readActions(api, level));
  const hooks = isOff ? undefined : await orFailure(readHooks(api, level));
  const addresses = hooks === undefined || hooks instanceof Failure ? [] : hooks.map(({ url }) => url);
  return {
    ...(actions !== undefined && { actions }),
    ...(hooks && { hooks, distrusted: await distrustedOf(addresses, access) }),
  };
}
