/** Which looks at Gitea the groups of one run need, and with which tokens. */

import { describeScope } from '../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../clients/gitea/observe.ts';
import { Deadline } from '../clients/http/request.ts';
import { findToken, type TokenSources } from '../clients/tokens/api-token.ts';
import type { Token } from '../clients/tokens/token.ts';
import { keepsPool, type RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { Failure } from '../shared/failure.ts';
import { findCluster, type Settings } from './settings.ts';
import { isOwnTrouble } from './troubles.ts';

/** What is looked at, and which look belongs to a group. */
export interface Targets {
  readonly targets: readonly GiteaTarget[];
  readonly lookOf: (group: RunnerGroup) => string;
}

/** The same, and the groups whose tokens cannot be used. */
interface TargetsOf extends Targets {
  readonly failed: ReadonlyMap<RunnerGroup, Failure>;
}

/** One target for all groups that share Gitea, scope and token. @throws Failure when a token is missing or bound to another origin. */
export async function findTargets(groups: readonly RunnerGroup[], settings: Settings): Promise<Targets> {
  const found = await findTargetsOf(groups, settings, new Deadline(settings.timeoutMs));
  for (const failure of found.failed.values()) throw failure;
  return found;
}

/** The same, but a token that is missing concerns its group alone. @throws Failure that concerns more than one group. */
export async function findTargetsOf(
  groups: readonly RunnerGroup[],
  settings: Settings,
  deadline: Deadline,
): Promise<TargetsOf> {
  const targets: Target[] = [];
  const keys = new Map<RunnerGroup, string>();
  const failed = new Map<RunnerGroup, Failure>();
  const readsEnds = endsReader(groups);
  for (const [group, token] of await tokensOf(groups, settings, deadline)) {
    if (token instanceof Failure) {
      failed.set(group, token);
      continue;
    }
    const { giteaUrl: url, scope } = group;
    let target = targets.find((one) => isTargetOf(one, group, token));
    if (!target) {
      const key = `look ${targets.length + 1}`;
      target = { key, url, scope, token, labels: new Set(), ...(readsEnds(group) && { readsEnds: true }) };
      targets.push(target);
    }
    for (const { name } of [...group.labels, ...group.sizes]) target.labels.add(name);
    if (keepsPool(group)) target.hasPool = true;
    keys.set(group, target.key);
  }
  return { targets, failed, lookOf: (group) => keys.get(group) ?? '' };
}

type Target = Omit<GiteaTarget, 'labels' | 'hasPool'> & { readonly labels: Set<string>; hasPool?: true };

/**
 * Whether the look of a group reads completed jobs also when no job is queued or runs. Others do not show the failure of the last CI job of
 * a scope. True when a group of the same scope, perhaps this one, has `keepFailedSeconds`: such groups share a look.
 */
export function endsReader(groups: readonly RunnerGroup[]): (group: RunnerGroup) => boolean {
  const scopeOf = ({ giteaUrl, scope }: RunnerGroup): string => `${giteaUrl} ${describeScope(scope)}`;
  const read = new Set(groups.filter(({ keepFailedSeconds }) => keepFailedSeconds > 0).map(scopeOf));
  // As for most: nobody keeps runners.
  return read.size === 0 ? () => false : (group) => read.has(scopeOf(group));
}

/** True when this look serves the group, too: Gitea, scope and token are the same. */
export function isTargetOf(target: GiteaTarget, { giteaUrl, scope }: RunnerGroup, token: Token): boolean {
  return target.url === giteaUrl && describeScope(target.scope) === describeScope(scope) && target.token.equals(token);
}

/** Groups whose tokens are found at the same time: enough for all connections to the API server, few enough to cost no memory. */
const TOKENS_AT_ONCE = 100;

/** The token of each group, in order. @throws the first Failure that is not one group's trouble alone. */
async function tokensOf(
  groups: readonly RunnerGroup[],
  settings: Settings,
  deadline: Deadline,
): Promise<ReadonlyMap<RunnerGroup, Token | Failure>> {
  if (settings.secrets !== 'api') return await findAll(groups, settings);
  // Loaded only when it is asked for: most runs read files.
  const { ClusterSecrets, needCluster, secretsClient } = await import('../clients/kubernetes/secrets.ts');
  // `--cluster off` says that live Jobs are not looked at; the Secrets must come from somewhere.
  const config = needCluster(await findCluster({ ...settings, cluster: 'auto' }));
  const client = secretsClient(config, settings.onRequest);
  try {
    const secrets = new ClusterSecrets(client, deadline);
    return await findAll(groups, { ...settings, clusterSecrets: settings.secretsIn?.(secrets) ?? secrets });
  } finally {
    await client.close();
  }
}

async function findAll(
  groups: readonly RunnerGroup[],
  sources: TokenSources,
): Promise<Map<RunnerGroup, Token | Failure>> {
  const tokens = new Map<RunnerGroup, Token | Failure>();
  for (let at = 0; at < groups.length; at += TOKENS_AT_ONCE) {
    const some = groups.slice(at, at + TOKENS_AT_ONCE);
    const found = await Promise.allSettled(some.map((group) => findToken(group, sources)));
    for (const [index, group] of some.entries()) {
      const one = found[index];
      if (one?.status === 'fulfilled') tokens.set(group, one.value);
      else if (one?.reason instanceof Failure && isOwnTrouble(one.reason)) tokens.set(group, one.reason);
      else throw one?.reason;
    }
  }
  return tokens;
}
