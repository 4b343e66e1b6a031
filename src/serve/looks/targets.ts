/**
 * Which looks at Gitea the groups need. Keys stay the same from call to call, so that looks can be kept.
 *
 * Secrets are replaced while we run. So tokens are read again when the groups change, and every 30 s. Those that Gitea refused (401, 403)
 * are read again at once and then every 5 s. A new token is a new target, and a new target is looked at without delay. Tokens that could
 * not be read are tried again every 5 s.
 */

import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import { findToken, type TokenSources } from '../../clients/tokens/api-token.ts';
import { Token } from '../../clients/tokens/token.ts';
import { readPolicyFile } from '../../config/policy/read.ts';
import { boundTo } from '../../config/policy/token-binding.ts';
import { keepsPool, type RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { isTargetOf, labelsBy } from '../../observe/find-targets.ts';
import { endsReader } from '../../observe/read-ends.ts';
import { Failure } from '../../shared/failure.ts';
import type { LiveGroup } from '../planning/live.ts';
import { type Refusals, refusalsOf } from '../planning/refusals.ts';
import { byApplication } from '../planning/survey.ts';
import { sameElements } from '../unchanged.ts';

/** A group's look, or why it has none: the policy denies it, or its token is missing or bound to another Gitea. */
export type TargetOf = ReadonlyMap<RunnerGroup, GiteaTarget | Failure>;

/** What the looks of the groups depend on. */
export interface TargetSources extends TokenSources {
  /** Absent: no policy is named. */
  readonly policyFile?: string;
  readonly controlPlaneNamespace: string;
}

/** All tokens are read again after this time. */
const TOKENS_MS = 30_000;
/** Those that Gitea has refused and those that could not be read, after this time. */
const AGAIN_MS = 5_000;

export class TargetBook {
  /** Asked for each reading, so that no Secret is kept between two. */
  readonly #sources: () => TargetSources;
  /** With the namespaces of the groups that need them. */
  #needed: ReadonlyMap<GiteaTarget, ReadonlySet<string>> = new Map();
  #found: TargetOf = new Map();
  #groups: readonly RunnerGroup[] = [];
  #readMs = Number.NEGATIVE_INFINITY;
  /** From when on failures are tried again. */
  #retryMs = 0;
  /** With the time from which on its token may be read again. */
  readonly #refused = new Map<GiteaTarget, number>();
  #last = 0;

  constructor(sources: () => TargetSources) {
    this.#sources = sources;
  }

  /** All looks that are needed now, each once. */
  get targets(): readonly GiteaTarget[] {
    return [...this.#needed.keys()];
  }

  /** The same, each with the namespaces of the groups that need it. */
  get namespacesOf(): ReadonlyMap<GiteaTarget, ReadonlySet<string>> {
    return this.#needed;
  }

  /** Gitea has refused or taken the token of a look. */
  looked(target: GiteaTarget, isRefused: boolean): void {
    if (!isRefused) this.#refused.delete(target);
    else if (!this.#refused.has(target)) this.#refused.set(target, Number.NEGATIVE_INFINITY);
  }

  /** The look of each group; the same object while no token had to be read. A failure of one group does not concern the others. */
  async resolve(live: readonly LiveGroup[], nowMs: number): Promise<TargetOf> {
    const groups = live.flatMap(({ group }) => group ?? []);
    // Below 0: the clock was set back.
    const ageMs = nowMs - this.#readMs;
    const isFresh = sameElements(groups, this.#groups) && ageMs >= 0 && ageMs < TOKENS_MS;
    const stale = new Set([...this.#refused].flatMap(([target, fromMs]) => (nowMs >= fromMs ? [target] : [])));
    const retry = nowMs >= this.#retryMs && [...this.#found.values()].some((target) => target instanceof Failure);
    if (isFresh && stale.size === 0 && !retry) return this.#found;
    const kept = [...this.#found].filter(([, target]) => (target instanceof Failure ? !retry : !stale.has(target)));
    this.#found = await this.#read(live, new Map(isFresh ? kept : []));
    this.#retryMs = nowMs + AGAIN_MS;
    this.#noteRead(stale, nowMs);
    if (isFresh) return this.#found;
    this.#groups = groups;
    this.#readMs = nowMs;
    return this.#found;
  }

  /** A token that is still the same is read again later. A look that no group needs any more is forgotten. */
  #noteRead(stale: ReadonlySet<GiteaTarget>, nowMs: number): void {
    for (const target of this.#refused.keys()) {
      if (!this.#needed.has(target)) this.#refused.delete(target);
      else if (stale.has(target)) this.#refused.set(target, nowMs + AGAIN_MS);
    }
  }

  /**
   * Reads the policy, and the tokens of groups that it does not deny.
   * @param kept looks of groups whose token is not read this time.
   */
  async #read(live: readonly LiveGroup[], kept: TargetOf): Promise<TargetOf> {
    const groups = live.flatMap(({ group }) => group ?? []);
    const { refusals, sources } = this.#judge(live);
    const before = this.targets;
    const reading = groups.map(async (group): Promise<GiteaTarget | Token | Failure> => {
      try {
        const refusal = refusals.get(group);
        if (refusal) return refusal;
        return kept.get(group) ?? (await findToken(group, sources));
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        // The API server has not answered: that says nothing about the token that it showed before.
        const known = this.#found.get(group);
        return known === undefined || known instanceof Failure || isAboutToken(error) ? error : known;
      }
    });
    const read = await Promise.all(reading);
    const found = new Map<RunnerGroup, GiteaTarget | Failure>();
    const needed = new Map<GiteaTarget, Set<string>>();
    const readsEnds = endsReader(groups);
    for (const [index, group] of groups.entries()) {
      const one = read[index];
      if (one === undefined) continue;
      const target =
        one instanceof Token ? this.#targetOf(group, one, readsEnds(group), [...needed.keys(), ...before]) : one;
      found.set(group, target);
      if (target instanceof Failure) continue;
      needed.set(target, (needed.get(target) ?? new Set()).add(group.namespace));
    }
    const marked = markTargets(found);
    this.#needed = new Map([...needed].map(([target, namespaces]) => [marked.get(target) ?? target, namespaces]));
    return new Map(
      [...found].map(([group, target]) => [group, target instanceof Failure ? target : (marked.get(target) ?? target)]),
    );
  }

  #judge(live: readonly LiveGroup[]): { readonly refusals: Refusals; readonly sources: TokenSources } {
    const own = this.#sources();
    const { policyFile, controlPlaneNamespace } = own;
    if (policyFile === undefined) return { refusals: new Map(), sources: own };
    const read = readPolicyFile(policyFile);
    const policy = 'policy' in read ? read.policy : {};
    return {
      refusals: refusalsOf(policyFile, read, byApplication(live, controlPlaneNamespace)),
      sources: { ...own, boundTo: (namespace, secret) => boundTo(policy, namespace, secret) },
    };
  }

  #targetOf(group: RunnerGroup, token: Token, readsEnds: boolean, known: readonly GiteaTarget[]): GiteaTarget {
    const same = known.find((target) => isTargetOf(target, group, token) && (target.readsEnds ?? false) === readsEnds);
    if (same) return same;
    this.#last += 1;
    const { giteaUrl: url, scope } = group;
    return { key: `look ${this.#last}`, url, scope, token, ...(readsEnds && { readsEnds: true }) };
  }
}

/** True when the Secret was seen, or is known not to be there for us. */
function isAboutToken({ code }: Failure): boolean {
  return code.startsWith('GR-TOKEN');
}

function sameTexts(a: ReadonlySet<string>, b: ReadonlySet<string> | undefined): boolean {
  return a.size === b?.size && [...a].every((text) => b.has(text));
}

/** Targets of which a group has begun or ceased to keep a pool, or has other labels, and what takes their place. */
function markTargets(found: TargetOf): ReadonlyMap<GiteaTarget, GiteaTarget> {
  const hasPool = new Map<GiteaTarget, boolean>();
  for (const [group, target] of found) {
    if (target instanceof Failure) continue;
    hasPool.set(target, keepsPool(group) || hasPool.get(target) === true);
  }
  const labelsOf = labelsBy(found.keys(), (group) => found.get(group));
  const marked = new Map<GiteaTarget, GiteaTarget>();
  for (const [target, is] of hasPool) {
    const { hasPool: was = false, labels: before, ...rest } = target;
    const labels = labelsOf.get(target) ?? new Set();
    if (is !== was || !sameTexts(labels, before)) marked.set(target, { ...rest, labels, ...(is && { hasPool: true }) });
  }
  return marked;
}
