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
import { keysOfTargets, type TargetOf, targetsByGroup } from '../../plan/find-targets.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';
import { byApplication, type LiveGroup } from '../seen/live.ts';
import { keepEqual } from '../seen/unchanged.ts';

/** How often each token is read again, ms. */
const TOKENS_MS = 30_000;
/** How often a token is read again that Gitea refuses or that could not be read, ms. */
const AGAIN_MS = 5_000;

export class TargetBook {
  /** Asked for each reading, so that no Secret is kept between two. */
  readonly #sources: () => TokenSources;
  readonly #controlPlaneNamespace: string;
  readonly #policyFile: string | undefined;
  /** All targets, each with the namespaces whose groups need it. */
  namespacesOf: ReadonlyMap<GiteaTarget, ReadonlySet<string>> = new Map();
  /** Warnings of the policy, by group. The list stays the same object while the warnings are the same. */
  warningsOf: ReadonlyMap<RunnerGroup, readonly Denial[]> = new Map();
  #found: TargetOf = new Map();
  /** Absent: its token is to be read at once. */
  readonly #readMs = new WeakMap<RunnerGroup, number>();
  readonly #refused = new Set<string>();
  readonly #newKey = keysOfTargets();

  constructor(sources: () => TokenSources, controlPlaneNamespace: string, policyFile?: string) {
    this.#sources = sources;
    this.#controlPlaneNamespace = controlPlaneNamespace;
    this.#policyFile = policyFile;
  }

  get targets(): readonly GiteaTarget[] {
    return [...this.namespacesOf.keys()];
  }

  looked({ key }: GiteaTarget, isRefused: boolean): void {
    if (isRefused && !this.#refused.has(key))
      for (const [group, target] of this.#found) if (keyIn(target) === key) this.#readMs.delete(group);
    if (isRefused) this.#refused.add(key);
    else this.#refused.delete(key);
  }

  /** The look of each group; the same object while no token had to be read. A failure of one group does not concern the others. */
  async resolve(live: readonly LiveGroup[], nowMs: number): Promise<TargetOf> {
    const groups = live.flatMap(({ group }) => group ?? []);
    const due = new Set(groups.filter((group) => this.#isDue(group, nowMs)));
    if (due.size === 0 && groups.length === this.#found.size) return this.#found;
    const { refusals, sources } = await this.#judge(live, nowMs);
    const tokenOf = async (group: RunnerGroup): Promise<Token | Failure> => {
      const refusal = refusals.get(group);
      if (refusal) return refusal;
      const found = this.#found.get(group);
      const known = found instanceof Failure ? found : found?.token;
      const wasRefused = known instanceof Failure && known.kind === 'policy';
      if (known && !due.has(group) && !wasRefused) return known;
      const read = await orFailure(findToken(group, sources));
      // The API server has not answered: that says nothing about the token that it showed before.
      const isUnanswered = read instanceof Failure && !isAboutToken(read);
      return isUnanswered && known && !(known instanceof Failure) ? known : read;
    };
    const tokens = await Promise.all(groups.map(async (group) => [group, await tokenOf(group)] as const));
    this.#found = targetsByGroup(tokens, this.targets, this.#newKey);
    const members = groupBy(this.#found, ([, target]) => (target instanceof Failure ? undefined : target));
    this.namespacesOf = new Map(
      [...members].map(([target, own]) => [target, new Set(own.map(([{ namespace }]) => namespace))]),
    );
    for (const group of due) this.#readMs.set(group, nowMs);
    const keys = new Set(this.targets.map(({ key }) => key));
    for (const key of this.#refused) if (!keys.has(key)) this.#refused.delete(key);
    return this.#found;
  }

  #isDue(group: RunnerGroup, nowMs: number): boolean {
    const target = this.#found.get(group);
    const isInDoubt = target instanceof Failure || this.#refused.has(keyIn(target));
    const ageMs = nowMs - (this.#readMs.get(group) ?? Number.NEGATIVE_INFINITY);
    // Below 0: the clock was set back.
    return ageMs < 0 || ageMs >= (isInDoubt ? AGAIN_MS : TOKENS_MS);
  }

  async #judge(
    live: readonly LiveGroup[],
    nowMs: number,
  ): Promise<{ readonly refusals: Refusals; readonly sources: TokenSources }> {
    const sources = this.#sources();
    const policyFile = this.#policyFile;
    if (policyFile === undefined) {
      const { of: refusals } = await refusalsByDefault(live.flatMap(({ group }) => group ?? []));
      return { refusals, sources };
    }
    const read = readPolicyFile(policyFile);
    const policy = 'policy' in read ? read.policy : {};
    const { refusals, warnings } = judgedBy(policyFile, read, byApplication(live, this.#controlPlaneNamespace), nowMs);
    this.warningsOf = new Map(
      [...warnings].map(([group, list]) => [group, keepEqual(this.warningsOf.get(group), list)]),
    );
    return { refusals, sources: { ...sources, ...tokenBounds(policy) } };
  }
}

function keyIn(target: GiteaTarget | Failure | undefined): string {
  return target === undefined || target instanceof Failure ? '' : target.key;
}

/** True when the Secret was seen, or is known not to be there for us. */
function isAboutToken({ kind }: Failure): boolean {
  return kind === 'token-unseen' || kind === 'token-unusable';
}

type Refusals = ReadonlyMap<RunnerGroup, Failure>;

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
): { readonly refusals: Refusals; readonly warnings: ReadonlyMap<RunnerGroup, readonly Denial[]> } {
  const refusals = new Map<RunnerGroup, Failure>();
  const warned: Denial[] = [];
  for (const [application, members] of byApp) {
    const groups = members.flatMap(({ group }) => group ?? []);
    if ('problems' in read) {
      for (const group of groups) refusals.set(group, unusablePolicy(file, read.problems));
      continue;
    }
    // Groups of no Application have nothing in common.
    for (const some of application === '' ? groups.map((group) => [group]) : [groups]) {
      const { denials, warnings } = judge(read.policy, some, { isArgoCd: false, nowMs });
      for (const [group, failure] of refusalsBy(file, some, denials).of) refusals.set(group, failure);
      warned.push(...warnings.flatMap((each) => (each.group ? [each] : some.map((group) => ({ ...each, group })))));
    }
  }
  return { refusals, warnings: groupBy(warned, ({ group }) => group) };
}
