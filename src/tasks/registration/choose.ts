/** Which keys of which Secrets `serve` fills with registration tokens, and for whom. Pure. */

import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import type { RunnerGroupObject } from '../../clients/kubernetes/resources.ts';
import { URL_KEY } from '../../clients/tokens/api-token.ts';
import { holderOf } from '../../clients/tokens/registration-mark.ts';
import { templateAsks } from '../../config/policy/rules.ts';
import { otherSecrets, type SecretRef } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { TargetOf } from '../../serve/looks/targets.ts';
import type { LiveGroup } from '../../serve/planning/live.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/group-by.ts';

/** A group that exists now. */
export interface GroupWithToken {
  readonly object: RunnerGroupObject;
  /** Absent: its spec is not valid, so nobody knows which Secrets it names. */
  readonly group?: RunnerGroup;
  /** Absent: the policy denies it, or it has no usable API token. */
  readonly target?: GiteaTarget;
}

export function groupsWithToken(live: readonly LiveGroup[], targetOf: TargetOf): readonly GroupWithToken[] {
  return live.map(({ group, object }) => {
    const target = group && targetOf.get(group);
    return { object, ...(group && { group }), ...(target && !(target instanceof Failure) && { target }) };
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
  /** Name of a group of the namespace that may name this key, too, for a scope that is not known. */
  readonly unclear?: string;
}

type Known = GroupWithToken & { readonly group: RunnerGroup };

/**
 * @param groups all of them.
 * @param names the only Secrets that may be written.
 */
export function tokenSlots(groups: readonly GroupWithToken[], names: ReadonlySet<string>): readonly TokenSlot[] {
  const known = groups.filter((one): one is Known => one.group !== undefined);
  const unclear = new Map(
    groups.flatMap(({ group, object: { metadata } }) => (group ? [] : [[metadata.namespace, metadata.name]])),
  );
  const members = groupBy(known, ({ group: { namespace, registrationToken } }) =>
    names.has(registrationToken.name) ? idOf(namespace, registrationToken) : undefined,
  );
  if (members.size === 0) return [];
  const uses = new Map(
    [...groupBy(known, ({ group }) => group.namespace)].map(([at, all]) => [at, all.flatMap(usesOf)]),
  );
  return [...members].flatMap(([id, unordered]) => {
    const sharing = unordered.toSorted((a, b) => (a.group.name < b.group.name ? -1 : 1));
    const [{ group }] = sharing as [Known];
    const found = sharing.find(({ target }) => target)?.target;
    if (!found) return [];
    const { namespace, registrationToken } = group;
    const why = conflict(group, sharing) ?? otherUse(registrationToken, uses.get(namespace) ?? []);
    const slot = { id, namespace, ...registrationToken, objects: sharing.map(({ object }) => object) };
    const broken = unclear.get(namespace);
    return [{ ...slot, target: why ? refused(slot, why) : found, ...(broken !== undefined && { unclear: broken }) }];
  });
}

/** Groups whose API token cannot be used count, too: their scope and Gitea stand in their spec. */
function conflict({ registrationToken: { key } }: RunnerGroup, sharing: readonly Known[]): string | undefined {
  if (key === URL_KEY) return 'this key names the Gitea of the Secret. Name another key in registrationToken';
  const [first, second] = [...new Set(sharing.map(({ group }) => holderOf(group)))].sort();
  if (second === undefined) return undefined;
  return `its RunnerGroups want tokens of ${first} and of ${second}. Give each scope a key or a Secret of its own`;
}

/** A place that reads a key of a Secret, or the whole Secret. */
type Use = Omit<SecretRef, 'path'> & { readonly why: string };

/** What a group reads besides its registration token. */
function usesOf({ group }: Known): readonly Use[] {
  const inPod = templateAsks(group, 'secret').map(({ path, value }) => ({ path, name: value }));
  const others = [...otherSecrets(group.manifest['spec']), ...inPod];
  return [
    { ...group.authToken, why: 'a RunnerGroup names it under authToken, so it holds an API token' },
    ...others.map(({ path, ...ref }) => ({ ...ref, why: `RunnerGroup ${group.name} names it in ${path}` })),
  ];
}

function otherUse({ name, key }: RunnerGroup['registrationToken'], uses: readonly Use[]): string | undefined {
  const use = uses.find((each) => each.name === name && (each.key ?? key) === key);
  return use && `${use.why}. Name another one in registrationToken`;
}

/** Why nothing is written there, and what to do: without a full stop. */
export function refused({ key, name, namespace }: Pick<TokenSlot, 'key' | 'name' | 'namespace'>, why: string): Failure {
  return new Failure('GR-TOKEN-11', 1, `write key ${key} of Secret ${name} of namespace ${namespace}: ${why}.`);
}

function idOf(namespace: string, { name, key }: RunnerGroup['authToken']): string {
  return `${namespace}/${name} ${key}`;
}
