/** Finds the looks at Gitea that the groups of one run need, with their tokens. */
import { LookMemory } from '../clients/gitea/bounds.ts';
import { describeScope } from '../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../clients/gitea/observe-gitea.ts';
import { Deadline } from '../clients/http/request.ts';
import { findToken, type TokenSources } from '../clients/tokens/api-token.ts';
import type { Token } from '../clients/tokens/token.ts';
import { keepsPool, type RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { Failure, orFailure, successes } from '../shared/failure.ts';
import { groupBy } from '../shared/keys.ts';
import { findCluster, type Settings } from './settings.ts';
import { isOwnTrouble } from './troubles.ts';

/** The look of each group, or why it has none: denied by the policy, or its token is missing or of another Gitea. */
export type TargetOf = ReadonlyMap<RunnerGroup, GiteaTarget | Failure>;

/** Returns the looks, and the look of each group. @throws Failure if a token is missing or bound to another origin */
export async function findTargets(groups: readonly RunnerGroup[], settings: Settings) {
  const result = await findTargetsOf(groups, settings, new Deadline(settings.timeoutMs));
  for (const failure of result.failed.values()) throw failure;
  return result;
}

/** Returns the look of each group. A missing token affects its group only. @throws Failure of several */
export async function findTargetsOf(groups: readonly RunnerGroup[], settings: Settings, deadline: Deadline) {
  const targets = targetsByGroup(await tokensOf(groups, settings, deadline));
  const targetOf = successes(targets);
  const failed = new Map(
    [...targets].flatMap(([group, target]) => (target instanceof Failure ? [[group, target] as const] : [])),
  );
  const lookOf = (group: RunnerGroup): string => targetOf.get(group)?.key ?? '';
  return { targets: [...new Set(targetOf.values())], failed, lookOf, memory: new LookMemory(namespacesOf(targetOf)) };
}

/** The targets, each with the namespaces whose groups need it. */
export function namespacesOf(targetOf: TargetOf): ReadonlyMap<GiteaTarget, ReadonlySet<string>> {
  const members = groupBy(targetOf, ([, target]) => (target instanceof Failure ? undefined : target));
  return new Map([...members].map(([target, own]) => [target, new Set(own.map(([{ namespace }]) => namespace))]));
}

type Tokens = readonly (readonly [RunnerGroup, Token | Failure])[];

/**
 * Returns for each group its target, or why it has none. Groups with the same Gitea, scope and token share a target.
 * @param before known targets: they keep their keys, and an unchanged one stays the same object
 * @param newKey makes the key of a new target
 */
export function targetsByGroup(tokens: Tokens, before: readonly GiteaTarget[] = [], newKey = keysOfTargets()) {
  const targets = [...before];
  const readsEnds = endsReader(tokens.map(([group]) => group));
  const targetFor = (group: RunnerGroup, token: Token): GiteaTarget => {
    const ends = readsEnds(group);
    const fits = (target: GiteaTarget): boolean =>
      isTargetOf(target, group, token) && (target.readsEnds ?? false) === ends;
    const sameTarget = targets.find(fits);
    if (sameTarget) return sameTarget;
    const { giteaUrl: url, scope } = group;
    const made: GiteaTarget = { key: newKey(), url, scope, token, ...(ends && { readsEnds: true }) };
    targets.push(made);
    return made;
  };
  const targetByGroup = new Map(
    tokens.map(([group, token]) => [group, token instanceof Failure ? token : targetFor(group, token)]),
  );
  const members = groupBy(targetByGroup, ([, target]) => (target instanceof Failure ? undefined : target));
  for (const [target, entries] of members) {
    const groups = entries.map(([group]) => group);
    const now = markTarget(target, groups);
    for (const group of groups) targetByGroup.set(group, now);
  }
  return targetByGroup;
}

/** Returns a function that makes a key for each new target. No key is used twice: data is kept under it. */
export function keysOfTargets(): () => string {
  let last = 0;
  return () => {
    last += 1;
    return `look ${last}`;
  };
}

/** The target with the labels of its groups, and whether one keeps a pool; the same object while both are the same. */
function markTarget(target: GiteaTarget, groups: readonly RunnerGroup[]): GiteaTarget {
  const { hasPool = false, labels: before, ...common } = target;
  const labels = new Set(groups.flatMap((group) => [...group.labels, ...group.sizes].map(({ name }) => name)));
  const keeps = groups.some(keepsPool);
  const isSame = keeps === hasPool && labels.size === before?.size && [...labels].every((label) => before.has(label));
  return isSame ? target : { ...common, labels, ...(keeps && { hasPool: true }) };
}

/**
 * Returns a function that tells whether the look of a group reads completed jobs also when no job is queued or runs.
 * Other looks miss the failure of the last CI job of a scope. True if a group of the same scope, perhaps this one, has
 * `keepFailedSeconds`: such groups share a look.
 */
function endsReader(groups: readonly RunnerGroup[]): (group: RunnerGroup) => boolean {
  const scopeOf = ({ giteaUrl, scope }: RunnerGroup): string => `${giteaUrl} ${describeScope(scope)}`;
  const read = new Set(groups.filter(({ keepFailedSeconds }) => keepFailedSeconds > 0).map(scopeOf));
  // Most installations keep no failed runners.
  return read.size === 0 ? () => false : (group) => read.has(scopeOf(group));
}

/** True when this look serves the group, too: Gitea, scope and token are the same. */
export function isTargetOf(target: GiteaTarget, { giteaUrl, scope }: RunnerGroup, token: Token): boolean {
  return target.url === giteaUrl && describeScope(target.scope) === describeScope(scope) && target.token.equals(token);
}

/** Groups whose tokens are found at the same time: enough for all connections to the API server, few enough to cost no memory. */
const TOKENS_AT_ONCE = 100;

/** The token of each group, in order. @throws the first Failure that is not one group's trouble alone. */
async function tokensOf(groups: readonly RunnerGroup[], settings: Settings, deadline: Deadline): Promise<Tokens> {
  if (settings.secrets !== 'api') return await findAll(groups, settings);
  // Most runs read files and do not load this module.
  const { needCluster, openClusterSecrets, secretsClient } = await import('../clients/kubernetes/cluster-secrets.ts');
  // `--cluster off` says that live Jobs are not looked at; the Secrets must come from somewhere.
  const config = needCluster(await findCluster({ ...settings, cluster: 'auto' }));
  const client = secretsClient(config, settings.onRequest);
  try {
    const secrets = openClusterSecrets(client, deadline);
    return await findAll(groups, { ...settings, clusterSecrets: settings.secretsIn?.(secrets) ?? secrets });
  } finally {
    await client.close();
  }
}

async function findAll(groups: readonly RunnerGroup[], sources: TokenSources): Promise<Tokens> {
  const tokens: Tokens[number][] = [];
  for (let start = 0; start < groups.length; start += TOKENS_AT_ONCE) {
    const batch = groups.slice(start, start + TOKENS_AT_ONCE);
    const find = async (group: RunnerGroup) => [group, await orFailure(findToken(group, sources))] as const;
    tokens.push(...(await Promise.all(batch.map(find))));
    for (const [, token] of tokens) if (token instanceof Failure && !isOwnTrouble(token)) throw token;
  }
  return tokens;
}
