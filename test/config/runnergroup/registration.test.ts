/** Law F116 (docs/spec.md): who registers the runners of a group, and the fields that this requires. */
import { expect, it } from 'vitest';
import { complaintsOf, groupOf } from '../../support/group-files.ts';

const BOUND = { registration: { by: 'serve', for: 'repository' } };
const INSTEAD = 'write "registration: {by: serve, for: repository}"';
const claim = {
  spec: { volumes: [{ name: 'a', persistentVolumeClaim: { claimName: ['docker-$', '{REPOSITORY}'].join('') } }] },
};
const CLAIM = ['names a claim by $', '{REPOSITORY}, which'].join('');

it('a group without the field is one whose pods register', async () => {
  const { registration, repositories, order, registrationToken } = await groupOf({});

  expect({ registration, repositories, order }).toEqual({
    registration: { by: 'pod', for: 'scope' },
    repositories: [],
    order: [],
  });
  expect(registrationToken).toBeDefined();
});

it('a group that serve registers needs no token, and does not use one that is written', async () => {
  for (const registrationToken of [undefined, { name: 'a', key: 'b' }])
    expect((await groupOf({ registration: { by: 'serve' }, registrationToken })).registrationToken).toBeUndefined();
});

it('a group whose pods register needs its token', async () => {
  expect(await complaintsOf({ registrationToken: undefined })).toEqual([
    'spec.registrationToken: is required: a mapping, e.g. "registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}" [GR-INPUT-05]',
  ]);
});

it('a group with bound runners may have limits per repository and branch, turns, a choice, an order and claims', async () => {
  const limits = [
    { per: 'repository', max: 1 },
    { branches: ['main'], max: 1 },
  ];
  const choice = { repositories: ['web', 'acme/team-*'], order: ['*/infra', '*'] };

  expect(await complaintsOf({ ...BOUND, ...choice, limits, fairness: 'per-repository', podTemplate: claim })).toEqual(
    [],
  );
});

it.each([
  ['minIdleRunners', 1],
  ['idleDemand', { most: 1 }],
  ['idleSchedule', [{ runners: 1, from: '07:00', to: '19:00' }]],
])('a group with bound runners keeps none idle: %s', async (field, value) => {
  expect(await complaintsOf({ ...BOUND, [field]: value })).toEqual([
    `spec.${field}: does not go with registration for repository, as an idle runner has none: remove it [GR-INPUT-06]`,
  ]);
});

it.each<[Record<string, unknown>, string]>([
  [{ podTemplate: claim }, CLAIM],
  [{ sizes: [{ name: 'large', podTemplate: claim }] }, CLAIM],
])('a group without bound runners has no claim of each repository: %j', async (spec, what) => {
  expect(await complaintsOf({ registration: { by: 'serve' }, ...spec })).toEqual([
    `spec.podTemplate: ${what} needs runners that are bound to a repository: ${INSTEAD}, or remove it [GR-INPUT-06]`,
  ]);
});
