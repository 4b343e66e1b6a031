import { expect, it } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe-gitea.ts';
import type { RunnerGroupObject } from '../../../src/clients/kubernetes/resources.ts';
import type { RunnerGroup, SecretKey } from '../../../src/config/runnergroup/runner-group.ts';
import type { LiveGroup } from '../../../src/serve/seen/live.ts';
import { Failure } from '../../../src/shared/failure.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { againMs, tokenKeys } from '../../../src/tasks/registration/filling.ts';
import { ACME, targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const URL = 'https://gitea.example.com';
const GLOBAL: Scope = { kind: 'global' };
const NAMES = new Set(['gitea-runner']);
const TOKEN: SecretKey = { name: 'gitea-runner', key: 'token' };

type GroupWithToken = LiveGroup & { readonly target?: GiteaTarget };

function groupWith(name: string, over: Partial<RunnerGroup> = {}, scope: Scope = ACME, url = URL): GroupWithToken {
  const group = runnerGroup({ name, namespace: 'runners', registrationToken: TOKEN, scope, giteaUrl: url, ...over });
  const metadata = { name, namespace: 'runners', uid: name, resourceVersion: '1' };
  const key = `${group.namespace}/${name}`;
  return { key, object: { metadata } as RunnerGroupObject, group, target: targetOf(url, scope, name) };
}

/** A group whose API token cannot be used. */
function denied(name: string, scope?: Scope): GroupWithToken {
  const { target: _, ...rest } = groupWith(name, {}, scope);
  return rest;
}

function keysOf(groups: readonly GroupWithToken[]): ReturnType<typeof tokenKeys> {
  const targets = new Map(groups.flatMap(({ group, target }) => (group && target ? [[group, target]] : [])));
  return tokenKeys(groups, targets, NAMES);
}

/** Key of each slot with the names of its groups, or why nothing is written there. */
function choice(...groups: readonly GroupWithToken[]): readonly unknown[] {
  return keysOf(groups).map(({ id, objects, target }) => [
    id,
    target instanceof Failure ? target.message : objects.map(({ metadata }) => metadata.name),
  ]);
}

it('groups of one scope share a key, also where they write the URL in two ways', () => {
  const b = groupWith('b', {}, ACME, `${URL}/`);

  expect(choice(b, groupWith('a'))).toEqual([['runners/gitea-runner token', ['a', 'b']]]);
});

it('keys and namespaces are apart', () => {
  const elsewhere = groupWith('c', { namespace: 'others' });
  const key = groupWith('b', { registrationToken: { ...TOKEN, key: 'second' } }, GLOBAL);

  expect(choice(groupWith('a'), key, elsewhere).map((slot) => (slot as string[])[0])).toEqual([
    'runners/gitea-runner token',
    'runners/gitea-runner second',
    'others/gitea-runner token',
  ]);
});

/** A group that takes its own registration token elsewhere. */
const apart = (over: Partial<RunnerGroup>) =>
  groupWith('b', { ...over, registrationToken: { ...TOKEN, name: 'other' } });
const SECRET_VOLUME = { volumes: [{ name: 'v', secret: { secretName: TOKEN.name } }] };

it.each<[string, GroupWithToken[], string]>([
  ['of two scopes', [groupWith('a'), groupWith('b', {}, GLOBAL)], `of global at ${URL} and of org:acme at`],
  [
    'of two scopes, of which one has an API token that cannot be used',
    [groupWith('a'), denied('b', GLOBAL)],
    `of global at ${URL} and of org:acme at`,
  ],
  ['of two Giteas', [groupWith('a'), groupWith('b', {}, ACME, 'https://other.example.com')], 'other.example.com'],
  ['that binds the Secret', [groupWith('a', { registrationToken: { ...TOKEN, key: 'url' } })], 'names the Gitea'],
  [
    'that is the API token of another group',
    [groupWith('a'), groupWith('b', { authToken: TOKEN, registrationToken: { ...TOKEN, key: 'x' } })],
    'holds an API token',
  ],
  [
    'that another group reads in its cache',
    [groupWith('a'), apart({ manifest: { spec: { cache: { secretRef: TOKEN } } } })],
    'RunnerGroup b names it in ',
  ],
  [
    'that another group reads in its proxy',
    [groupWith('a'), apart({ manifest: { spec: { proxy: { secretRef: { name: TOKEN.name } } } } })],
    'RunnerGroup b names it in ',
  ],
  [
    'that another group reads in its podTemplate',
    [groupWith('a'), apart({ podTemplate: { spec: SECRET_VOLUME } })],
    'RunnerGroup b names it in ',
  ],
])('nothing is written into a key %s', (_, groups, because) => {
  const refused = choice(...groups).flatMap((slot) => (slot as unknown[])[1]);

  expect(refused).toContainEqual(expect.stringContaining(because));
});

it('a group that may not look at Gitea gets no token, and takes it from no group of its scope', () => {
  expect(choice(denied('b'))).toEqual([]);
  expect(choice(groupWith('a'), denied('b'))).toEqual([['runners/gitea-runner token', ['a', 'b']]]);
});

it('the keys of a namespace with an invalid group are unclear, and others are not', () => {
  const { group: _, target: __, ...broken } = groupWith('broken');
  const slots = keysOf([groupWith('a'), broken, groupWith('c', { namespace: 'others' })]);

  expect(slots.map(({ namespace, unclear }) => [namespace, unclear])).toEqual([
    ['runners', 'broken'],
    ['others', undefined],
  ]);
});

it('a Secret that is not named is left alone', () => {
  expect(choice(groupWith('a', { registrationToken: { ...TOKEN, name: 'gitea-api' } }))).toEqual([]);
});

it('a key is asked for every five minutes, after failures from 15 s to ten minutes', () => {
  expect([0, 1, 2, 3, 7, 50].map(againMs)).toEqual([300_000, 15_000, 30_000, 60_000, 600_000, 600_000]);
});
