/** Law V92 (docs/spec.md): a size never evades a policy, nor the rules that hold without one. */
import { describe, expect, it, test } from 'vitest';
import { GROUP_RULES } from '../../../src/config/policy/policy-rules.ts';
import type { RuleName } from '../../../src/config/policy/policy-schema.ts';
import { refusalsByDefault } from '../../../src/config/policy/without-policy.ts';
import { mostAskedOf } from '../../../src/config/runnergroup/resource-requests.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { imageInTemplate } from '../../../src/config/runnergroup/sizes.ts';
import { ownTemplate } from '../../../src/plan/own-pod.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { pick, randomFrom, randomTemplate } from '../pods/random-template.ts';
import { BY_HAND, denialsBy, denialsOf, policyOf } from './support.ts';

/** Two sizes. The second one has this podTemplate. */
const sizesWith = (podTemplate: unknown) =>
  [
    { name: 'a', weight: 1 },
    { name: 'large', weight: 4, podTemplate },
  ] as RunnerGroup['sizes'];
const withTemplate = (spec: object, over: Partial<RunnerGroup> = {}): RunnerGroup =>
  runnerGroup({ sizes: sizesWith({ spec }), ...over });

/**
 * Denials of each rule about pods for the podTemplate of a group. Rules about the group alone deny it with any sizes.
 */
const NAMED = { namespaces: [{ name: '**', secrets: ['allowed', 'gitea-*'] }] };
const runner = (fields: object): object => ({ spec: { containers: [{ name: 'runner', ...fields }] } });
const IMAGES = { images: ['docker.io/gitea/runner'] };
const image = 'evil.example.com/x';
const DENIED: Readonly<Partial<Record<RuleName, readonly (readonly [policy: object, podTemplate: unknown])[]>>> = {
  'namespaces.secrets': [
    [NAMED, runner({ envFrom: [{ secretRef: { name: 'other' } }] })],
    [NAMED, { spec: { imagePullSecrets: [{ name: 'other' }] } }],
  ],
  images: [
    [IMAGES, runner({ image })],
    [IMAGES, { spec: { initContainers: [{ name: 'x', image }] } }],
  ],
  registries: [[{ registries: ['docker.io'] }, { spec: { containers: [{ name: 'db', image }] } }]],
  podTemplateFields: [
    [{ podTemplateFields: ['spec.nodeSelector'] }, runner({ securityContext: { privileged: true } })],
    [IMAGES, { spec: { hostAliases: [{ ip: '10.0.0.1', hostnames: ['docker.io'] }] } }],
    [{}, { spec: { containers: 'none' } }],
    [{}, 'no mapping'],
  ],
  priorityClasses: [
    [{}, { spec: { priorityClassName: 'high' } }],
    [{ priorityClasses: ['low'] }, { spec: { priorityClassName: 'high' } }],
  ],
  serviceAccounts: [
    [{}, { spec: { serviceAccountName: 'admin' } }],
    [{ serviceAccounts: ['ci'] }, { spec: { serviceAccount: 'admin' } }],
  ],
  maxResources: [
    [{ maxResources: { cpu: 8 } }, runner({ resources: { requests: { cpu: '9' } } })],
    [{ maxResources: { cpu: 8 } }, { spec: { resources: { limits: { cpu: '9' } } } }],
  ],
};

/**
 * Returns the denials of a group with this podTemplate, and those of a group with the same template in its second size,
 * with paths as in the group.
 */
function bothWays(policy: object, podTemplate: unknown, over: Partial<RunnerGroup> = {}) {
  // Like the reader: the image of container `runner` is that of the group.
  const { image } = imageInTemplate(podTemplate) ?? {};
  const ofGroup = denialsOf(policy, { ...over, podTemplate, ...(image && { image }) });
  const ofSize = denialsOf(policy, { ...over, sizes: sizesWith(podTemplate) });
  return {
    ofGroup,
    ofSize,
    moved: ofSize.map((denial) => denial.replace('spec.sizes[1].podTemplate', 'spec.podTemplate')),
  };
}

describe('what a policy denies in the podTemplate of a group, it denies in that of a size', () => {
  it('every rule that looks at a pod has its cases here', () => {
    const ofGroupAlone: readonly RuleName[] = [
      'namespaces',
      'namespaces.destinations',
      'namespaces.scopes',
      'giteas',
      'maxActiveRunners',
      'queues',
      'securityProfile',
    ];

    expect([...Object.keys(DENIED), ...ofGroupAlone].sort()).toEqual(Object.keys(GROUP_RULES).sort());
  });

  const cases = Object.entries(DENIED).flatMap(([rule, each]) =>
    each.map(([policy, podTemplate]) => [rule, policy, podTemplate] as const),
  );
  it.each(cases)('%s: %j %j', (rule, policy, podTemplate) => {
    const { ofGroup, ofSize, moved } = bothWays(policy, podTemplate);

    expect(ofGroup.some((denial) => denial.startsWith(`${rule} spec.podTemplate`))).toBe(true);
    expect(ofSize.some((denial) => denial.startsWith(`${rule} spec.sizes[1].podTemplate`))).toBe(true);
    expect(moved).toEqual(ofGroup);
  });

  it('privileged pods, with and without a rule about profiles', () => {
    const over = { securityProfile: 'privileged' } as const;

    expect(bothWays({}, { spec: {} }, over).ofSize).toEqual(['securityProfile spec.securityProfile']);
    expect(bothWays({ securityProfile: { highest: 'baseline' } }, { spec: {} }, over).ofSize).toEqual([
      'securityProfile spec.securityProfile',
    ]);
  });

  it.each([1, 2, 3, 4, 5, 6])('random podTemplates under random policies, seed %i', (seed) => {
    const random = randomFrom(seed);
    let denied = 0;
    for (let nth = 0; nth < 60; nth += 1) {
      const policy = {
        ...pick(random, [{}, { images: ['docker.io/gitea/**'] }, { registries: ['docker.io'] }]),
        ...pick(random, [{}, { podTemplateFields: ['spec.nodeSelector', 'spec.containers'] }]),
        ...pick(random, [{}, { priorityClasses: ['a'] }, { serviceAccounts: ['a', 'b'] }]),
        ...pick(random, [{}, NAMED]),
        ...pick(random, [{}, { maxResources: { cpu: 1, memory: '1Gi' } }]),
      };
      const template = randomTemplate(random, { set: pick(random, [0.05, 0.2]), nulls: 0.1 });
      const { ofGroup, ofSize, moved } = bothWays(policy, template);
      denied += ofSize.length;
      expect([policy, [...new Set(moved)].sort()]).toEqual([policy, [...new Set(ofGroup)].sort()]);
    }
    expect(denied).toBeGreaterThan(20);
  });
});

test('what is wrong with the group is told once, however many sizes it has', () => {
  const group = withTemplate({}, { podTemplate: { spec: { priorityClassName: 'high' } } });

  const denials = denialsBy({ priorityClasses: [] }, [group], BY_HAND);

  expect(denials.map(({ path }) => path)).toEqual(['spec.podTemplate.spec.priorityClassName']);
});

test('a size that has no podTemplate has that of the group, and is told there', () => {
  const podTemplate = { spec: { serviceAccountName: 'admin' } };
  const group = runnerGroup({
    podTemplate,
    sizes: [{ name: 'large', weight: 2, resources: { requests: {}, limits: {} } }],
  });

  expect(denialsBy({}, [group], BY_HAND).map(({ path }) => path)).toEqual(['spec.podTemplate.spec.serviceAccountName']);
});

test.each([
  ['service account', { serviceAccountName: 'admin' }, {}, 'spec.sizes.1.podTemplate.spec.serviceAccountName'],
  ['priority class', { priorityClassName: 'high' }, {}, 'spec.sizes.1.podTemplate.spec.priorityClassName'],
  ['privilege', {}, { securityProfile: 'privileged' }, 'spec.securityProfile: privileged'],
] as const)('a size has no %s either without a policy', async (_, spec, over, field) => {
  const { whole: failure } = await refusalsByDefault([withTemplate(spec, over)]);

  expect(failure?.code).toBe('GR-POLICY-03');
  expect(failure?.message).toContain(field);
});

describe('maxResources (law F103)', () => {
  const asking = (requests: Readonly<Record<string, string>>, limits: Readonly<Record<string, string>> = {}) => ({
    resources: { requests, limits },
  });
  const POLICY = { maxResources: { cpu: 8, memory: '16Gi', 'nvidia.com/gpu': 0 } };

  it.each<[string, object, readonly string[]]>([
    ['as much as is allowed', asking({ cpu: '8', memory: '16Gi' }), []],
    ['more', asking({ cpu: '8001m' }), ['spec.resources']],
    ['more in another unit', asking({ memory: '17180000000' }), ['spec.resources']],
    ['a limit above it, whatever is requested', asking({ memory: '1Gi' }, { memory: '17Gi' }), ['spec.resources']],
    ['a resource of which nothing is allowed', asking({}, { 'nvidia.com/gpu': '1' }), ['spec.resources']],
    ['several', asking({ cpu: '9', memory: '17Gi' }), ['spec.resources', 'spec.resources']],
    ['a resource that is not named', asking({ 'ephemeral-storage': '1Ti' }), []],
    ['nothing', asking({}), []],
    [
      'more in a size',
      {
        sizes: [
          { name: 'a', weight: 1 },
          { name: 'large', weight: 4, ...asking({ cpu: '9' }) },
        ],
      },
      ['spec.sizes[1].resources'],
    ],
    [
      'more in the group, and less in a size',
      { ...asking({ cpu: '9' }), sizes: [{ name: 'small', weight: 1, ...asking({ cpu: '1' }) }] },
      ['spec.resources'],
    ],
    [
      'more in the group, and the same in a size that says nothing',
      { ...asking({ cpu: '9' }), sizes: [{ name: 'a', weight: 2 }] },
      ['spec.resources'],
    ],
  ])('maxResources judges %s', (_, group, paths) => {
    expect(denialsOf(POLICY, group)).toEqual(paths.map((path) => `maxResources ${path}`));
  });

  const template = (spec: object) => ({ ...asking({ cpu: '4' }), podTemplate: { spec } });
  const cpu = (name: string, amount: string | number, more: object = {}) => ({
    name,
    resources: { requests: { cpu: amount } },
    ...more,
  });
  it.each<[string, object, boolean]>([
    ['a container beside it that fits', template({ containers: [cpu('db', 4)] }), true],
    ['containers that are too much together', template({ containers: [cpu('db', 2), cpu('web', '2100m')] }), false],
    ['more for the runner', template({ containers: [cpu('runner', 9)] }), false],
    [
      'less for the runner than the group has',
      { ...asking({ cpu: '9' }), podTemplate: { spec: { containers: [cpu('runner', 1)] } } },
      true,
    ],
    [
      'less for the runner, but not for its setup',
      { ...asking({ cpu: '9' }), setupCommand: ['true'], podTemplate: { spec: { containers: [cpu('runner', 1)] } } },
      false,
    ],
    ['an init container that runs before', template({ initContainers: [cpu('a', 8), cpu('b', 8)] }), true],
    ['an init container that is too large', template({ initContainers: [cpu('a', 9)] }), false],
    ['a sidecar beside the runner', template({ initContainers: [cpu('a', 5, { restartPolicy: 'Always' })] }), false],
    [
      'a sidecar beside an init container',
      template({ initContainers: [cpu('a', 4, { restartPolicy: 'Always' }), cpu('b', 5)] }),
      false,
    ],
    ['the sidecar of docker', template({ initContainers: [cpu('docker', 5)] }), false],
    ['the sidecar of BuildKit', template({ initContainers: [cpu('buildkit', 5)] }), false],
    ['the whole pod', template({ resources: { limits: { cpu: 9 } } }), false],
    ['a null', template({ containers: [cpu('runner', 1), { name: 'a', resources: null }] }), true],
  ])('maxResources counts all containers of a podTemplate together: %s', (_, group, isAllowed) => {
    expect(denialsOf({ maxResources: { cpu: 8 } }, group).map((denial) => denial.split(' ')[0])).toEqual(
      isAllowed ? [] : ['maxResources'],
    );
  });

  it.each([
    [{ 'nvidia.com/gpu': '2' }, ['maxResources spec.resources']],
    [{ 'nvidia.com/gpu': '1', 'hugepages-2Mi': '1' }, []],
    [{ cpu: '8', 'example.com/fpga': '2' }, []],
    [{ cpu: '9' }, ['maxResources spec.resources']],
    [{}, []],
  ])('bounds by "*" what is not named, and nothing else: %j', (limits, denied) => {
    const maxResources = { cpu: 8, 'example.com/fpga': 2, '*': 1 };

    expect(denialsOf({ maxResources }, { resources: { requests: {}, limits } })).toEqual(denied);
  });

  it('maxResources leaves a podTemplate that cannot be read to the rule that denies it, and judges what the group says', () => {
    const podTemplate = { spec: { containers: [cpu('runner', 9)], nope: 1 } };

    expect(denialsOf({ maxResources: { cpu: 8 } }, { ...asking({ cpu: '9' }), podTemplate })).toEqual([
      'podTemplateFields spec.podTemplate.spec.nope',
      'maxResources spec.resources',
    ]);
  });

  it('maxResources takes 100m and 200m for 300m, which no sum of floating point numbers is', () => {
    const podTemplate = { spec: { containers: [cpu('db', '200m')] } };

    expect(denialsOf({ maxResources: { cpu: '300m' } }, { ...asking({ cpu: '100m' }), podTemplate })).toEqual([]);
    expect(denialsOf({ maxResources: { cpu: '299m' } }, { ...asking({ cpu: '100m' }), podTemplate })).toHaveLength(1);
  });

  it.each(
    (['host', 'dind-rootless', 'dind', 'buildkit'] as const).flatMap((containerMode) =>
      [[], ['true']].map((setupCommand) => [containerMode, setupCommand] as const),
    ),
  )(
    'maxResources counts no less than the pod that is made, containerMode %s, setupCommand %j',
    (containerMode, setupCommand) => {
      const sidecar = { dind: 'docker', buildkit: 'buildkit' }[String(containerMode)];
      const more = (amount: string) => ({ resources: { requests: { cpu: amount } } });
      const locked = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true };
      const securityContext = { ...locked, seccompProfile: { type: 'RuntimeDefault' } };
      const beside = { image: 'docker.io/library/postgres:18', securityContext };
      const podTemplate = {
        spec: {
          containers: [
            { name: 'runner', ...more('1500m') },
            { name: 'db', ...beside, ...more('2') },
          ],
          initContainers: [
            ...(sidecar === undefined ? [] : [{ name: sidecar, ...more('4') }]),
            { name: 'proxy', ...beside, restartPolicy: 'Always', ...more('1') },
            { name: 'fetch', ...beside, ...more('3') },
          ],
        },
      };
      const group = runnerGroup({ containerMode, setupCommand, podTemplate, ...asking({ cpu: '3' }) });

      const asked = mostAskedOf(ownTemplate(group).spec).get('cpu') ?? 0;

      expect(asked).toBeGreaterThanOrEqual(1.5 + 2 + 1);
      expect(denialsOf({ maxResources: { cpu: String(asked - 0.001) } }, group)).toContain(
        'maxResources spec.podTemplate',
      );
      expect(denialsOf({ maxResources: { cpu: String(asked) } }, group)).toEqual([]);
    },
  );

  it('maxResources says what is too much and how much is allowed', () => {
    const [denial] = denialsBy(policyOf(POLICY), [runnerGroup(asking({ memory: '17Gi' }))], BY_HAND);

    expect(denial?.message).toBe(
      'asks for more memory than the policy allows for one runner: 16Gi. Requests and limits of all its containers count together. Lower them, or ask for higher maxResources in the policy',
    );
  });

  it.each([
    [{ memry: '1Gi' }, 'maxResources.memry: is no resource of a container; did you mean "memory"?'],
    [
      { disk: 1 },
      'maxResources.disk: is no resource of a container; use cpu, memory, ephemeral-storage or a name with',
    ],
    [{ cpu: '8 cores' }, 'maxResources.cpu: must be a Kubernetes quantity'],
    [{ cpu: -1 }, 'maxResources.cpu: must be'],
    [
      Object.fromEntries(Array.from({ length: 1001 }, (_, nth) => [`example.com/r${nth}`, 1])),
      'maxResources: has more than 1000 entries',
    ],
  ])('a policy with %j is none', (maxResources, message) => {
    expect(() => policyOf({ maxResources })).toThrow(message);
  });
});
