/**
 * Finds the looks at Gitea that the groups need. Keys stay the same from call to call, so that looks can be kept.
 *
 * Secrets are replaced while we run. So each token is read again every 30 s, and every 5 s while it could not be read or Gitea refuses it
 * (401, 403). The first refusal has it read at once. A new token is a new target, and a new target is looked at without delay.
 */
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { findToken, type TokenSources } from '../../clients/tokens/api-token.ts';
import type { Token } from '../../clients/tokens/token.ts';
import { judge, tokenBounds } from '../../config/policy/check.ts';
import { type Denial, refusalsBy, unusablePolicy } from '../../config/policy/denial.ts';
import { type ReadPolicy, readPolicyFile } from '../../config/policy/policy-schema.ts';
import { refusalsByDefault } from '../../config/policy/without-policy.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { keysOfTargets, namespacesOf, type TargetOf, targetsByGroup } from '../../plan/find-targets.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';
import { byApplication, type LiveGroup } from '../seen/live.ts';
import { keepEqual } from '../seen/unchanged.ts';

/** How often each token is read again, ms. */
const TOKENS_MS = 30_000;
/** How often a token is read again that Gitea refuses or that could not be read, ms. */
const AGAIN_MS = 5_000;

export type TargetBook = ReturnType<typeof openTargetBook>;

/** Keeps the target of each group. @param sources called for each reading of tokens, so that no Secret stays in memory */
export function openTargetBook(sources: () => TokenSources, controlPlaneNamespace: string, policyFile?: string) {
  let sharers: ReadonlyMap<GiteaTarget, ReadonlySet<string>> = new Map();
  let warningsOf: ReadonlyMap<RunnerGroup, readonly Denial[]> = new Map();
  let targetOf: TargetOf = new Map();
  /** When the token of each group was last read. Absent: it is to be read at once. */
  const readMs = new WeakMap<RunnerGroup, number>();
  const refusedKeys = new Set<string>();
  const newKey = keysOfTargets();

  const targets = (): readonly GiteaTarget[] => [...sharers.keys()];

  const isDue = (group: RunnerGroup, nowMs: number): boolean => {
    const target = targetOf.get(group);
    const isInDoubt = target instanceof Failure || refusedKeys.has(keyIn(target));
    const ageMs = nowMs - (readMs.get(group) ?? Number.NEGATIVE_INFINITY);
    // Below 0: the clock was set back.
    return ageMs < 0 || ageMs >= (isInDoubt ? AGAIN_MS : TOKENS_MS);
  };

  const judgeAll = async (live: readonly LiveGroup[], nowMs: number) => {
    const unbound = sources();
    if (policyFile === undefined) {
      const { byGroup: refusals } = await refusalsByDefault(live.flatMap(({ group }) => group ?? []));
      return { refusals, sources: unbound };
    }
    const read = readPolicyFile(policyFile);
    const policy = 'policy' in read ? read.policy : {};
    const { refusals, warnings } = judgedBy(policyFile, read, byApplication(live, controlPlaneNamespace), nowMs);
    warningsOf = new Map([...warnings].map(([group, list]) => [group, keepEqual(warningsOf.get(group), list)]));
    return { refusals, sources: { ...unbound, ...tokenBounds(policy) } };
  };

  return {
    /** All targets, each with the namespaces whose groups need it. */
    namespacesOf: () => sharers,

    /** Warnings of the policy, by group. The list stays the same object while the warnings are the same. */
    warningsOf: () => warningsOf,

    targets,

    looked: ({ key }: GiteaTarget, isRefused: boolean): void => {
      if (isRefused && !refusedKeys.has(key))
        for (const [group, target] of targetOf) if (keyIn(target) === key) readMs.delete(group);
      if (isRefused) refusedKeys.add(key);
      else refusedKeys.delete(key);
    },

    /** The look of each group; the same object while no token had to be read. A failure of one group does not concern the others. */
    resolve: async (live: readonly LiveGroup[], nowMs: number): Promise<TargetOf> => {
      const groups = live.flatMap(({ group }) => group ?? []);
      const due = new Set(groups.filter((group) => isDue(group, nowMs)));
      if (due.size === 0 && groups.length === targetOf.size) return targetOf;
      const { refusals, sources: bound } = await judgeAll(live, nowMs);
      const before = targetOf;
      const tokenOf = async (group: RunnerGroup): Promise<Token | Failure> => {
        const refusal = refusals.get(group);
        if (refusal) return refusal;
        const target = before.get(group);
        const earlierToken = target instanceof Failure ? target : target?.token;
        const wasRefused = earlierToken instanceof Failure && earlierToken.kind === 'policy';
        if (earlierToken && !due.has(group) && !wasRefused) return earlierToken;
        const read = await orFailure(findToken(group, bound));
        // The API server has not answered: that says nothing about the token that it showed before.
        const isUnanswered = read instanceof Failure && !isAboutToken(read);
        return isUnanswered && earlierToken && !(earlierToken instanceof Failure) ? earlierToken : read;
      };
      const tokens = await Promise.all(groups.map(async (group) => [group, await tokenOf(group)] as const));
      targetOf = targetsByGroup(tokens, targets(), newKey);
      sharers = namespacesOf(targetOf);
      for (const group of due) readMs.set(group, nowMs);
      const keys = new Set(targets().map(({ key }) => key));
      for (const key of refusedKeys) if (!keys.has(key)) refusedKeys.delete(key);
      return targetOf;
    },
  };
}

function keyIn(target: GiteaTarget | Failure | undefined): string {
  return target === undefined || target instanceof Failure ? '' : target.key;
}

/** True when the Secret was seen, or is known not to be there for us. */
function isAboutToken({ kind }: Failure): boolean {
  return kind === 'token-unseen' || kind === 'token-unusable';
}

/**
 * Judges the groups in the cluster by the policy file, as `generate` does. Project, repository and destination of an
 * Application are judged by its own `generate` only: no object in the cluster proves them.
 * @param byApp same as `ClusterSnapshot.byApp`
 */
export function judgedBy(
  file: string,
  read: ReadPolicy,
  byApp: ReadonlyMap<string, readonly LiveGroup[]>,
  nowMs: number,
) {
  const refusals = new Map<RunnerGroup, Failure>();
  const warned: Denial[] = [];
  for (const [application, members] of byApp) {
    const groups = members.flatMap(({ group }) => group ?? []);
    if ('problems' in read) {
      for (const group of groups) refusals.set(group, unusablePolicy(file, read.problems));
      continue;
    }
    // Groups of no Application have nothing in common.
    for (const batch of application === '' ? groups.map((group) => [group]) : [groups]) {
      const { denials, warnings } = judge(read.policy, batch, { isArgoCd: false, nowMs });
      for (const [group, failure] of refusalsBy(file, batch, denials).byGroup) refusals.set(group, failure);
      warned.push(...warnings.flatMap((each) => (each.group ? [each] : batch.map((group) => ({ ...each, group })))));
    }
  }
  return { refusals, warnings: groupBy(warned, ({ group }) => group) };
}
