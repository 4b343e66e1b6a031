/**
 * Whose registration tokens a Secret holds. `serve` writes it down as it fills a key, in an annotation of the Secret:
 *
 *     gitea.bpg.pw/registration-tokens: '{"registration-token":"org:acme at https://gitea.example.com"}'
 *
 * A filled key is never filled for another scope or Gitea, and no runner is started that would register with it.
 */

import { type Scope, scopeWord } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';

export const REGISTRATION_MARK = 'gitea.bpg.pw/registration-tokens';

/** Whose token a group's runners register with. */
export function holderOf({ giteaUrl, scope }: { readonly giteaUrl: string; readonly scope: Scope }): string {
  return `${scopeWord(scope)} at ${normalBase(giteaUrl)}`;
}

/** By key of the Secret. Empty: the annotation is absent, or somebody else has written it. */
export function holdersIn(mark: string | undefined): ReadonlyMap<string, string> {
  try {
    const held: unknown = JSON.parse(mark ?? '{}');
    const entries: readonly [string, unknown][] = Object.entries(held ?? {});
    return new Map(entries.flatMap(([key, holder]) => (typeof holder === 'string' ? [[key, holder]] : [])));
  } catch {
    return new Map();
  }
}
