/** Rules about the namespace of a RunnerGroup, and what it may name there. */
import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { type Scope, scopeWord } from '../runnergroup/runner-group.ts';
import { otherSecrets } from '../runnergroup/secret-refs.ts';
import { allowedBy, type Finding, type GroupRule, NONE } from './denial.ts';
import { matchesAny, matchesGlob } from './glob.ts';
import type { Policy } from './schema.ts';
import { templateAsks } from './template.ts';

const PATH = 'metadata.namespace';

export const namespaces: GroupRule = (policy, group) => {
  if (policy.namespaces === undefined || entryOf(policy, group)) return NONE;
  const names = policy.namespaces.map(({ name }) => name);
  return [{ path: PATH, message: `is ${group.namespace}; ${allowedBy(names)}. Use one of them` }];
};

/** Also without a policy a group lives in the destination namespace of its Application. */
export const destinations: GroupRule = (policy, group, { isArgoCd, destination }) => {
  const isUnknown = destination === undefined;
  // By hand there may be no Application. One without a destination namespace is left alone by a policy without namespaces.
  if (isUnknown && (!isArgoCd || policy.namespaces === undefined)) return NONE;
  if (destination === group.namespace) return NONE;
  if (!isUnknown && matchesAny(entryOf(policy, group)?.destinations ?? [], destination)) return NONE;
  const what = isUnknown
    ? 'the Application has no destination namespace'
    : `the destination namespace of the Application is ${destination}`;
  const message = `is ${group.namespace}, but ${what}. Make an Application for that namespace, or ask for this destination to be allowed there`;
  return [{ path: PATH, message }];
};

export const scopes: GroupRule = (policy, group) => {
  const allowed = entryOf(policy, group)?.scopes;
  if (allowed === undefined || wordsFor(group.scope).some((word) => matchesAny(allowed, word))) return NONE;
  const [own = ''] = wordsFor(group.scope);
  const message = `is ${own}; ${allowedBy(allowed)} in namespace ${group.namespace}. Use one of these scopes`;
  return [{ path: 'spec.scope', message }];
};

export const secrets: GroupRule = (policy, group) => {
  const allowed = entryOf(policy, group)?.secrets;
  if (allowed === undefined) return NONE;
  const named = [
    { path: 'spec.registrationToken', value: group.registrationToken.name },
    { path: 'spec.authToken', value: group.authToken.name },
    ...otherSecrets(group.manifest['spec']).map(({ path, name }) => ({ path, value: name })),
    ...templateAsks(group, 'secret', 'pullSecret'),
  ];
  return named.flatMap(({ path, value }): readonly Finding[] => {
    if (matchesAny(allowed, value)) return NONE;
    const message = `names the Secret ${quoted(value)}; ${allowedBy(allowed)} in namespace ${group.namespace}. Use one of them`;
    return [{ path, message }];
  });
};

/** The first entry that fits: a later one that allows more must not undo it. */
function entryOf({ namespaces: entries = [] }: Policy, { namespace }: RunnerGroup) {
  return entries.find(({ name }) => matchesGlob(name, namespace));
}

/** What a scope may be called in a policy, itself first. A repository is covered by its owner, too. */
function wordsFor(scope: Scope): readonly string[] {
  const own = scopeWord(scope);
  return scope.kind === 'repo' ? [own, `org:${scope.owner}`, `user:${scope.owner}`] : [own];
}
