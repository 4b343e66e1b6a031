/**
 * Tests the edges of rules, where one step further gives another result. Allowed values of each field: check.test.ts.
 */
import { expect, it } from 'vitest';
import { skippedRules, tokenBounds } from '../../../src/config/policy/check.ts';
import { denialLine } from '../../../src/config/policy/denial.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { type AnyGroup, BY_HAND, denialsBy, denialsOf, policyOf } from './support.ts';

it('skips only rules that the policy has, and none when Argo CD asks', () => {
  const policy = policyOf({ projects: ['a'], repositories: ['https://gitea.example.com/**'] });

  expect(skippedRules(policyOf({}), BY_HAND)).toEqual([]);
  expect(skippedRules(policy, { isArgoCd: true })).toEqual([]);
  expect(skippedRules(policyOf({ namespaces: [{ name: 'a' }, { name: 'b', projects: ['a'] }] }), BY_HAND)).toEqual([
    'projects',
  ]);
});

const groupsWith = (...caps: readonly (readonly [name: string, cap: number])[]) =>
  caps.map(([name, maxActiveRunners]) => runnerGroup({ name, maxActiveRunners }));

it.each<[string, unknown, readonly string[]]>([
  [
    'names each group of an entry, also if these are all',
    { namespaces: [{ name: '*', maxActiveRunners: 14 }] },
    ['a1', 'a2', 'b'],
  ],
  ['counts the groups that the entry fits', { groups: [{ match: { name: 'a*' }, maxActiveRunners: 10 }] }, []],
  [
    'counts groups of which other rules only warn',
    { maxActiveRunners: 14, images: [], enforcementOf: { images: 'warn' } },
    ['all'],
  ],
])('the cap %s', (_, spec, denied) => {
  const groups = groupsWith(['a1', 5], ['a2', 5], ['b', 5]);

  expect(denialsBy(policyOf(spec), groups, BY_HAND).map(({ group }) => group?.name ?? 'all')).toEqual(denied);
});

it.each<[string, unknown, readonly boolean[] | undefined]>([
  ['an entry of groups that names no namespace', { groups: [{ match: {}, scopes: ['org:acme'] }] }, [true, false]],
  ['a group of another namespace', { groups: [{ match: { namespace: 'x' }, scopes: ['org:acme'] }] }, undefined],
  [
    'an entry of groups in a namespace that only warns',
    { namespaces: [{ name: '*', enforcement: 'warn' }], groups: [{ match: {}, scopes: ['org:acme'] }] },
    undefined,
  ],
  [
    'a group that is denied by itself',
    {
      namespaces: [{ name: '*', enforcement: 'warn' }],
      groups: [{ match: {}, scopes: ['org:acme'], enforcement: 'deny' }],
    },
    [true, false],
  ],
])('tokens reach what is said by %s', (_, spec, reached) => {
  const reach = tokenBounds(policyOf(spec)).reachOf('runners');

  expect(reach && ['acme', 'other'].map((owner) => reach.covers(owner, 'web'))).toEqual(reached);
});

it('a group that is denied does not count for the cap of the others', () => {
  const groups = [
    runnerGroup({ maxActiveRunners: 6, image: 'evil.example.com/x' }),
    runnerGroup({ name: 'b', maxActiveRunners: 5 }),
  ];
  const policy = policyOf({ maxActiveRunners: 10, registries: ['docker.io'] });

  expect(denialsBy(policy, groups, BY_HAND).map(({ rule, group }) => `${rule} ${group?.name}`)).toEqual([
    'registries ci',
  ]);
});

it('a group whose own cap is too large is denied alone; one that has all of the cap is not', () => {
  const groups = [runnerGroup({ maxActiveRunners: 11 }), runnerGroup({ name: 'b', maxActiveRunners: 10 })];

  expect(denialsBy(policyOf({ maxActiveRunners: 10 }), groups, BY_HAND).map(denialLine)).toEqual([
    'ci.yaml:1: runners/ci: spec.maxActiveRunners: is 11; the policy allows 10 for all RunnerGroups together. Lower it, or ask for a higher maxActiveRunners in the policy [maxActiveRunners]',
  ]);
});

it.each<[string, unknown, AnyGroup['podTemplate'], readonly string[]]>([
  [
    'names of hosts, when only registries are restricted',
    { registries: ['docker.io'] },
    { spec: { hostAliases: [] } },
    ['podTemplateFields spec.podTemplate.spec.hostAliases'],
  ],
  ['names of hosts, when no image is restricted', {}, { spec: { hostAliases: [] } }, []],
  ['no template', { podTemplateFields: [] }, null, []],
  [
    'a name that is more than a name',
    { podTemplateFields: ['spec.containers.env'] },
    { spec: { containers: [{ name: { image: 'x' } }] } },
    ['podTemplateFields spec.podTemplate.spec.containers[0].name'],
  ],
  [
    'a name beside a field that is allowed',
    { podTemplateFields: ['spec.containers.env.valueFrom.secretKeyRef.key'] },
    {
      spec: {
        containers: [{ name: 'runner', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'x', key: 'y' } } }] }],
      },
    },
    ['podTemplateFields spec.podTemplate.spec.containers[0].env[0].valueFrom.secretKeyRef.name'],
  ],
  [
    'a service account of a template that cannot be read',
    {},
    { spec: { serviceAccountName: 'admin', nope: 1 } },
    ['podTemplateFields spec.podTemplate.spec.nope'],
  ],
  [
    'a template that is too large',
    {},
    { metadata: { annotations: { 'example.com/a': 'x'.repeat(1_048_576) } } },
    ['podTemplateFields spec.podTemplate'],
  ],
  [
    'a name that is of no element',
    { podTemplateFields: ['spec.containers.env'] },
    { spec: { name: 'x' } },
    ['podTemplateFields spec.podTemplate.spec.name'],
  ],
])('%s', (_, spec, podTemplate, denials) => {
  expect(denialsOf(spec, { podTemplate })).toEqual(denials);
});

const ROOT = { podTemplate: { spec: { containers: [] } } };
it.each<[string, boolean, AnyGroup]>([
  ['a privileged group with a podTemplate', true, { securityProfile: 'privileged', ...ROOT }],
  ['a privileged group without', false, { securityProfile: 'privileged' }],
  ['a podTemplate with a lower profile', false, { securityProfile: 'baseline', ...ROOT }],
])('a warning of the securityProfile denies %s: %s', (_, isDenied, group) => {
  const policy = { securityProfile: { highest: 'restricted' }, enforcement: 'warn' };

  expect(denialsOf(policy, group)).toEqual(isDenied ? ['securityProfile spec.securityProfile'] : []);
});

it('no exception lifts what concerns the Application as a whole', () => {
  const exception = { groups: ['*/*'], rules: ['projects'], until: '2099-01-01', reason: 'moves' };
  const asker = { isArgoCd: true, destination: 'runners', project: 'other', nowMs: 0 };

  expect(denialsOf({ projects: ['ci'], exceptions: [exception] }, {}, asker)).toEqual(['projects']);
});

it.each<AnyGroup['scope']>([{ kind: 'user', user: 'ann' }, { kind: 'global' }])('org:* covers no %j', (scope) => {
  const spec = { namespaces: [{ name: '*', scopes: ['org:*'] }] };

  expect(denialsOf(spec, scope && { scope })).toEqual(['namespaces.scopes spec.scope']);
});
