/** Which looks at Gitea the groups need. Keys stay the same from call to call, so that looks can be kept. */

import { Failure } from '../../failure.ts';
import { describeScope } from '../../gitea/endpoints.ts';
import type { GiteaTarget } from '../../gitea/observe.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { findToken, type TokenSources } from '../../tokens/api-token.ts';
import type { Refusals } from '../planning/refusals.ts';

/** A group's look, or why it has none: the policy denies it, or its token is missing or bound to another Gitea. */
export type TargetOf = ReadonlyMap<RunnerGroup, GiteaTarget | Failure>;

export class TargetBook {
  readonly #sources: TokenSources;
  /** With the namespaces of the groups that need them. */
  #needed: ReadonlyMap<GiteaTarget, ReadonlySet<string>> = new Map();
  #last = 0;

  constructor(sources: TokenSources) {
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

  /**
   * Reads every token again: Secrets are replaced while we run. A failure of one group does not concern the others. No token of a group
   * is read that the policy denies.
   */
  async resolve(
    groups: readonly RunnerGroup[],
    refusals: Refusals = new Map(),
    boundTo?: TokenSources['boundTo'],
  ): Promise<TargetOf> {
    const sources = { ...this.#sources, ...(boundTo && { boundTo }) };
    const found = new Map<RunnerGroup, GiteaTarget | Failure>();
    const before = this.targets;
    const needed = new Map<GiteaTarget, Set<string>>();
    for (const group of groups) {
      try {
        const refusal = refusals.get(group);
        if (refusal) throw refusal;
        const target = await this.#targetOf(group, sources, [...needed.keys(), ...before]);
        needed.set(target, (needed.get(target) ?? new Set()).add(group.namespace));
        found.set(group, target);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        found.set(group, error);
      }
    }
    this.#needed = needed;
    return found;
  }

  async #targetOf(group: RunnerGroup, sources: TokenSources, known: readonly GiteaTarget[]): Promise<GiteaTarget> {
    const token = await findToken(group, sources);
    const scope = describeScope(group.scope);
    const same = known.find(
      (target) => target.url === group.giteaUrl && describeScope(target.scope) === scope && token.equals(target.token),
    );
    if (same) return same;
    this.#last += 1;
    return { key: `look ${this.#last}`, url: group.giteaUrl, scope: group.scope, token };
  }
}
