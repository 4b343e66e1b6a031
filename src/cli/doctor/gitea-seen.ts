/** Looks at each Gitea once for each scope and token, with the tokens that the installation itself uses. */

import { type GiteaAccess, GiteaApi, type VersionCache } from '../../clients/gitea/api.ts';
import { describeScope, type Level } from '../../clients/gitea/endpoints.ts';
import { type GiteaTarget, giteaClient, observeEach } from '../../clients/gitea/observe.ts';
import { registrationLevel } from '../../clients/gitea/registrations.ts';
import {
  type ActionsSeen,
  type Hook,
  isRegistrationToken,
  readActions,
  readHooks,
} from '../../clients/gitea/set-up.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import { findToken, type SecretReader } from '../../clients/tokens/api-token.ts';
import type { Token } from '../../clients/tokens/token.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { isTargetOf } from '../../observe/find-targets.ts';
import type { Settings } from '../../observe/settings.ts';
import type { Look } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';

/** One scope of one Gitea, seen with one token. */
export interface ScopeSeen {
  /** `org acme` */
  readonly name: string;
  readonly url: string;
  readonly groups: readonly RunnerGroup[];
  /** Digits of `/version`; absent: it was not told. */
  readonly version?: string;
  /** Its runners are always asked for: that shows whether the token's user may see them. */
  readonly look: Look | Failure;
  /** Absent: not asked, since the look failed or Gitea has no such list for this token. */
  readonly hooks?: readonly Hook[] | Failure;
  readonly actions?: ActionsSeen | Failure;
}

/** Whether the value in a registration Secret is the scope's; a Failure: it cannot be compared. */
export type Compared = boolean | Failure;

export interface GiteaSeen {
  readonly scopes: readonly ScopeSeen[];
  /** Groups without a usable API token. */
  readonly withoutToken: ReadonlyMap<RunnerGroup, Failure>;
  /** By group; absent: there was nothing to compare, or nothing to compare it with. */
  readonly registrations: ReadonlyMap<RunnerGroup, Compared>;
}

export interface GiteaQuestions {
  readonly groups: readonly RunnerGroup[];
  readonly settings: Settings;
  /** Where the installation's API tokens are. Absent: in files. */
  readonly secrets?: SecretReader;
  /** Registration tokens by group. They are compared and not kept. */
  readonly registrationTokens: ReadonlyMap<RunnerGroup, string>;
}

/** Never throws for what Gitea or a Secret says. */
export async function lookAtGitea(questions: GiteaQuestions): Promise<GiteaSeen> {
  const { registrationTokens, settings } = questions;
  const { byHand, tokens, withoutToken } = await tokensOf(questions);
  const { ca, env, now, onRequest, timeoutMs: deadlineMs } = settings;
  const more = { ...(ca !== undefined && { ca }), ...(onRequest && { onRequest }) };
  const options = { deadlineMs, env, includeBlocked: false, now, ...more };
  const http = giteaClient(options);
  const versions: VersionCache = new Map();
  const deadline = new Deadline(deadlineMs);
  const targets = targetsOf(tokens);
  try {
    const looks = await observeEach(
      targets.map(({ target }) => target),
      { ...options, http, versions },
    );
    const scopes: ScopeSeen[] = [];
    const registrations = new Map<RunnerGroup, Compared>();
    for (const { target, groups } of targets) {
      const { key, url, token } = target;
      const access: GiteaAccess = { http, url, token, deadline, versions };
      const look = looks.get(key) ?? new Failure('GR-GITEA-09', 1, 'look at Gitea: no answer.');
      const level = await orFailure(registrationLevel(access, target.scope));
      const known = level instanceof Failure ? undefined : level;
      scopes.push(await scopeSeen({ target, groups }, { access, level: known, look }));
      if (!known || look instanceof Failure) continue;
      for (const group of groups) {
        const registration = registrationTokens.get(group);
        if (registration === undefined) continue;
        const asking = { ...access, token: byHand.get(group) ?? token };
        registrations.set(group, await orFailure(isRegistrationToken(asking, known, registration)));
      }
    }
    return { scopes, withoutToken, registrations };
  } finally {
    await http.close();
  }
}

interface Tokens {
  readonly tokens: ReadonlyMap<RunnerGroup, Token>;
  /** `GITEA_TOKEN`, for the groups of its Gitea. */
  readonly byHand: ReadonlyMap<RunnerGroup, Token>;
  readonly withoutToken: ReadonlyMap<RunnerGroup, Failure>;
}

async function tokensOf({ groups, secrets, settings }: GiteaQuestions): Promise<Tokens> {
  const tokens = new Map<RunnerGroup, Token>();
  const byHand = new Map<RunnerGroup, Token>();
  const withoutToken = new Map<RunnerGroup, Failure>();
  const { GITEA_TOKEN: given, ...env } = settings.env;
  const sources = { ...settings, env, ...(secrets && { clusterSecrets: secrets }) };
  for (const group of groups) {
    const own = await orFailure(findToken(group, sources));
    const hand = given ? await orFailure(findToken(group, settings)) : own;
    if (given && !(hand instanceof Failure)) byHand.set(group, hand);
    // A token that is given stands in for one that you may not read, and for no other.
    const token = own instanceof Failure && isUnread(own) ? hand : own;
    if (token instanceof Failure) withoutToken.set(group, token);
    else tokens.set(group, token);
  }
  return { tokens, byHand, withoutToken };
}

interface Found {
  readonly access: GiteaAccess;
  readonly level: Level | undefined;
  readonly look: Look | Failure;
}

async function scopeSeen({ target, groups }: TargetOfGroups, { access, level, look }: Found): Promise<ScopeSeen> {
  const { scope, url } = target;
  const version = await orFailure(new GiteaApi(access).version());
  const told = version instanceof Failure ? {} : { version: version.text };
  const rest = level ? await readRest(access, level, look) : {};
  return { name: describeScope(scope), url, groups, look, ...told, ...rest };
}

/** The cluster does not let you read the Secret, or it is mounted elsewhere than here. */
export const isUnread = ({ kind }: Failure): boolean => kind === 'token-unseen';

interface TargetOfGroups {
  readonly target: GiteaTarget;
  readonly groups: RunnerGroup[];
}

/** One target for all groups that share Gitea, scope and token. */
function targetsOf(tokens: ReadonlyMap<RunnerGroup, Token>): readonly TargetOfGroups[] {
  const targets: TargetOfGroups[] = [];
  for (const [group, token] of tokens) {
    const { giteaUrl: url, scope } = group;
    const same = targets.find(({ target }) => isTargetOf(target, group, token));
    if (same) same.groups.push(group);
    else
      targets.push({
        target: { key: String(targets.length), url, scope, token, hasPool: true },
        groups: [group],
      });
  }
  return targets;
}

/** A repository whose Actions are off has no jobs list: then this says so. */
async function readRest(
  access: GiteaAccess,
  level: Level,
  look: Look | Failure,
): Promise<Pick<ScopeSeen, 'hooks' | 'actions'>> {
  const api = new GiteaApi(access);
  const isOff = look instanceof Failure && look.kind === 'not-found';
  if (look instanceof Failure && !isOff) return {};
  const actions = await orFailure(readActions(api, level));
  const seen = actions === undefined ? {} : { actions };
  return isOff ? seen : { ...seen, hooks: await orFailure(readHooks(api, level)) };
}
