/** Which keys of which Secrets `serve` fills with registration tokens, and for whom. Pure. */
import { normalBase } from '../../base-url.ts';
import { Failure } from '../../failure.ts';
import { describeScope } from '../../gitea/endpoints.ts';
import type { GiteaTarget } from '../../gitea/observe.ts';
import { groupBy } from '../../group-by.ts';
import type { RunnerGroupObject } from '../../kubernetes/resources.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import { URL_KEY } from '../../tokens/api-token.ts';
import type { TargetOf } from '../looks/targets.ts';
import type { LiveGroup } from '../planning/live.ts';

/** A group that exists now. */
export interface GroupWithToken {
  readonly object: RunnerGroupObject;
  readonly group: RunnerGroup;
  /** Absent: the policy denies it, or it has no usable API token. */
  readonly target?: GiteaTarget;
}

/** The groups whose spec is valid. */
export function groupsWithToken(live: readonly LiveGroup[], targetOf: TargetOf): readonly GroupWithToken[] {
  return live.flatMap(({ group, object }) => {
    if (!group) return [];
    const target = targetOf.get(group);
    return [{ object, group, ...(target && !(target instanceof Failure) && { target }) }];
  });
}

/** One key of a Secret, and the groups whose runners register with it. */
export interface TokenSlot {
  /** `<namespace>/<name>` of the Secret, and the key. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** In the order of their names. */
  readonly objects: readonly RunnerGroupObject[];
  /** Whose token is asked for, and with which API token. A Failure: nothing may be written there. */
  readonly target: GiteaTarget | Failure;
}

/**
 * @param groups all of them.
 * @param names the only Secrets that may be written.
 */
export function tokenSlots(groups: readonly GroupWithToken[], names: ReadonlySet<string>): readonly TokenSlot[] {
  const apiTokens = new Set(groups.map(({ group }) => idOf(group.namespace, group.authToken)));
  const members = groupBy(groups, ({ group: { namespace, registrationToken }, target }) =>
    target && names.has(registrationToken.name) ? idOf(namespace, registrationToken) : undefined,
  );
  return [...members].map(([id, unordered]) => {
    const sharing = unordered.toSorted((a, b) => (a.group.name < b.group.name ? -1 : 1));
    const [{ group }] = sharing as [GroupWithToken];
    return {
      id,
      namespace: group.namespace,
      ...group.registrationToken,
      objects: sharing.map(({ object }) => object),
      target: targetOf(group, sharing, apiTokens.has(id)),
    };
  });
}

function targetOf(
  { namespace, registrationToken: { key, name } }: RunnerGroup,
  sharing: readonly GroupWithToken[],
  holdsApiToken: boolean,
): GiteaTarget | Failure {
  const refuse = (why: string): Failure => refused({ namespace, name, key }, why);
  if (key === URL_KEY) {
    return refuse('this key names the Gitea of the Secret. Name another key in registrationToken');
  }
  if (holdsApiToken) {
    return refuse(
      'a RunnerGroup names it under authToken, so it holds an API token. Name another one in registrationToken',
    );
  }
  const targets = sharing.flatMap(({ target }) => target ?? []);
  const wanted = [...new Set(targets.map(({ url, scope }) => `${describeScope(scope)} at ${normalBase(url)}`))].sort();
  const [first, second] = wanted;
  if (second !== undefined) {
    return refuse(
      `its RunnerGroups want tokens of ${first} and of ${second}. Give each scope a key or a Secret of its own`,
    );
  }
  return targets[0] ?? refuse('no group needs it');
}

/** Why nothing is written there, and what to do: without a full stop. */
export function refused({ key, name, namespace }: Pick<TokenSlot, 'key' | 'name' | 'namespace'>, why: string): Failure {
  return new Failure('GR-TOKEN-11', 1, `write key ${key} of Secret ${name} of namespace ${namespace}: ${why}.`);
}

function idOf(namespace: string, { name, key }: RunnerGroup['authToken']): string {
  return `${namespace}/${name} ${key}`;
}
