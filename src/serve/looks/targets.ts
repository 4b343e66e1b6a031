/** Which looks at Gitea the groups need. Keys stay the same from call to call, so that looks can be kept. */

import { Failure } from '../../failure.ts';
import { describeScope } from '../../gitea/endpoints.ts';
import type { GiteaTarget } from '../../gitea/observe.ts';
import { readPolicyFile } from '../../policy/read.ts';
import { boundTo } from '../../policy/token-binding.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { findToken, type TokenSources } from '../../tokens/api-token.ts';
import type { LiveGroup } from '../planning/live.ts';
import { type Refusals, refusalsOf } from '../planning/refusals.ts';
import { byApplication } from '../planning/survey.ts';

/** A group's look, or why it has none: the policy denies it, or its token is missing or bound to another Gitea. */
export type TargetOf = ReadonlyMap<RunnerGroup, GiteaTarget | Failure>;

/** What the looks of the groups depend on. */
export interface TargetSources extends TokenSources {
  /** Absent: no policy is named. */
  readonly policyFile?: string;
  readonly controlPlaneNamespace: string;
}

export class TargetBook {
  readonly #sources: TargetSources;
  /** With the namespaces of the groups that need them. */
  #needed: ReadonlyMap<GiteaTarget, ReadonlySet<string>> = new Map();
  #last = 0;

  constructor(sources: TargetSources) {
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
   * Reads the policy and every token again: both are replaced while we run. A failure of one group does not concern the others. No token
   * of a group is read that the policy denies.
   */
  async resolve(live: readonly LiveGroup[]): Promise<TargetOf> {
    const { refusals, sources } = this.#judge(live);
    const found = new Map<RunnerGroup, GiteaTarget | Failure>();
    const before = this.targets;
    const needed = new Map<GiteaTarget, Set<string>>();
    for (const group of live.flatMap(({ group: valid }) => valid ?? [])) {
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

  #judge(live: readonly LiveGroup[]): { readonly refusals: Refusals; readonly sources: TokenSources } {
    const { policyFile, controlPlaneNamespace } = this.#sources;
    if (policyFile === undefined) return { refusals: new Map(), sources: this.#sources };
    const read = readPolicyFile(policyFile);
    const policy = 'policy' in read ? read.policy : {};
    return {
      refusals: refusalsOf(policyFile, read, byApplication(live, controlPlaneNamespace)),
      sources: { ...this.#sources, boundTo: (namespace, secret) => boundTo(policy, namespace, secret) },
    };
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
