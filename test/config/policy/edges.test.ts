/** Edges of rules, where one step further is another answer. What each field allows: check.test.ts. */
import { expect, it } from 'vitest';
import { skippedRules } from '../../../src/config/policy/check.ts';
import { denialLine } from '../../../src/config/policy/denial.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { type AnyGroup, BY_HAND, denialsBy, denialsOf, policyOf } from './support.ts';

it('skips only rules that the policy has, and none when Argo CD asks', () => {
  const policy = policyOf({ projects: ['a'], repositories: ['https://gitea.example.com/**'] });

  expect(skippedRules(policyOf({}), BY_HAND)).toEqual([]);
  expect(skippedRules(policy, { isArgoCd: true })).toEqual([]);
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
    'ci.yaml:1: runners/ci: spec.maxActiveRunners: is 11; the policy allows 10 for all RunnerGroups together. Lower it [maxActiveRunners]',
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
    'a name that is of no element',
    { podTemplateFields: ['spec.containers.env'] },
    { spec: { name: 'x' } },
    ['podTemplateFields spec.podTemplate.spec.name'],
  ],
])('%s', (_, spec, podTemplate, denials) => {
  expect(denialsOf(spec, { podTemplate })).toEqual(denials);
});
