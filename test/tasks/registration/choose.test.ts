import { expect, it } from 'vitest';
import type { GiteaTarget } from '../../../src/clients/gitea/observe.ts';
import type { RunnerGroupObject } from '../../../src/clients/kubernetes/resources.ts';
import type { RunnerGroup, SecretKey } from '../../../src/config/runnergroup/runner-group.ts';
import type { LiveGroup } from '../../../src/serve/planning/live.ts';
import { Failure } from '../../../src/shared/failure.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { againMs, tokenKeys } from '../../../src/tasks/registration/filling.ts';
import { ACME, targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';

const URL = 'https://gitea.example.com';
const NAMES = new Set(['gitea-runner']);
const TOKEN: SecretKey = { name: 'gitea-runner', key: 'token' };

type GroupWithToken = LiveGroup & { readonly target?: GiteaTarget };

function groupWith(name: string, over: Partial<RunnerGroup> = {}, scope: Scope = ACME, url = URL): GroupWithToken {
  const group = runnerGroup({ name, namespace: 'runners', registrationToken: TOKEN, scope, giteaUrl: url, ...over });
  const metadata = { name, namespace: 'runners', uid: name, resourceVersion: '1' };
  const key = `${group.namespace}/${name}`;
  return { key, object: { metadata } as RunnerGroupObject, group, target: targetOf(url, scope, name) };
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
  const key = groupWith('b', { registrationToken: { ...TOKEN, key: 'second' } }, { kind: 'global' });

  expect(choice(groupWith('a'), key, elsewhere).map((slot) => (slot as string[])[0])).toEqual([
    'runners/gitea-runner token',
    'runners/gitea-runner second',
    'others/gitea-runner token',
  ]);
});

it.each<[string, GroupWithToken[], string]>([
  ['of two scopes', [groupWith('a'), groupWith('b', {}, { kind: 'global' })], 'org:acme at'],
  ['of two Giteas', [groupWith('a'), groupWith('b', {}, ACME, 'https://other.example.com')], 'other.example.com'],
  ['that binds the Secret', [groupWith('a', { registrationToken: { ...TOKEN, key: 'url' } })], 'names the Gitea'],
  [
    'that is the API token of another group',
    [groupWith('a'), groupWith('b', { authToken: TOKEN, registrationToken: { ...TOKEN, key: 'x' } })],
    'holds an API token',
  ],
])('nothing is written into a key %s', (_, groups, because) => {
  const refused = choice(...groups).flatMap((slot) => (slot as unknown[])[1]);

  expect(refused).toContainEqual(expect.stringContaining(because));
});

it('a group that may not look at Gitea gets no token, and takes it from no group of its scope', () => {
  const { target: _, ...denied } = groupWith('b');

  expect(choice(denied)).toEqual([]);
  expect(choice(groupWith('a'), denied)).toEqual([['runners/gitea-runner token', ['a', 'b']]]);
});

it('nothing is written into a key that a group of another scope names whose API token cannot be used', () => {
  const { target: _, ...failing } = groupWith('b', {}, { kind: 'global' });

  expect(choice(groupWith('a'), failing)).toEqual([
    [
      'runners/gitea-runner token',
      expect.stringContaining('of global at https://gitea.example.com and of org:acme at'),
    ],
  ]);
});

it.each<[string, Partial<RunnerGroup>]>([
  ['cache', { manifest: { spec: { cache: { secretRef: TOKEN } } } }],
  ['proxy', { manifest: { spec: { proxy: { secretRef: { name: TOKEN.name } } } } }],
  ['podTemplate', { podTemplate: { spec: { volumes: [{ name: 'v', secret: { secretName: TOKEN.name } }] } } }],
])('nothing is written into a key that another group reads in its %s', (_, over) => {
  const other = groupWith('b', { ...over, registrationToken: { ...TOKEN, name: 'other' } });

  expect(choice(groupWith('a'), other)).toEqual([
    ['runners/gitea-runner token', expect.stringContaining('RunnerGroup b names it in ')],
  ]);
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
