/** Tests a policy's defaults for groups (F145 to F147). */
import { describe, expect, it } from 'vitest';
import { defaultsOf, judge } from '../../../src/config/policy/check.ts';
import { readPolicy } from '../../../src/config/policy/policy-schema.ts';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { withImages } from '../../../src/config/runnergroup/to-runner-group.ts';
import { groupOfObject, ownTemplateHash } from '../../../src/plan/own-pod.ts';
import { fc, test as property } from '../../support/property.ts';
import { policyOf } from './support.ts';

type Spec = Readonly<Record<string, unknown>>;

const ref = (name: string) => ({ secretRef: { name, key: 'token' } });
/** A spec without any field that may have a default. */
const BARE: Spec = {
  scope: 'org',
  org: 'acme',
  gitea: { url: 'https://gitea.example.com' },
  maxActiveRunners: 5,
  authToken: ref('gitea-api'),
  registrationToken: ref('gitea-runner'),
};

function readBy(policy: object, spec: Spec, object: { readonly namespace?: string; readonly name?: string } = {}) {
  return runnerGroupFromObject({ namespace: 'runners', name: 'ci', ...object, spec }, defaultsOf(policyOf(policy)));
}

/** Returns the group that the policy makes of this spec. */
function groupBy(policy: object, more: Spec = {}, object?: Parameters<typeof readBy>[2]): RunnerGroup {
  const read = readBy(policy, { ...BARE, ...more }, object);
  if ('problem' in read) throw new Error(read.problem);
  return read.group;
}

/** Returns the group without the fields that tell how it was written. */
function unwritten({ images: _, manifest: __, ...group }: RunnerGroup) {
  return group;
}

const SELECTOR = { spec: { nodeSelector: { pool: 'ci' } } };

/** Each field with a default: value in the policy, result, and a group's own value. */
const FIELDS: readonly (readonly [field: string, said: unknown, own: Spec])[] = [
  ['labels', ['gpu:host'], { labels: ['own:host'] }],
  ['resources', { requests: { cpu: '2' }, limits: { memory: '4Gi' } }, { resources: { limits: { cpu: '1' } } }],
  ['securityProfile', 'privileged', { securityProfile: 'baseline', containerMode: 'host', labels: ['a:host'] }],
  ['podTemplate', SELECTOR, { podTemplate: { spec: { nodeSelector: { pool: 'own' } } } }],
];

describe.each(FIELDS)('%s', (field, said, own) => {
  const policy = { defaults: { [field]: said } };

  it('a default of the policy is as if the group said it', () => {
    const made = groupBy(policy);

    expect(unwritten(made)).toEqual(unwritten(groupBy({}, { [field]: said })));
    expect(made.manifest['spec']).toEqual(BARE);
    expect(unwritten(made)).not.toEqual(unwritten(groupBy({})));
  });

  it('a default of the policy does not count where the group says it', () => {
    expect(unwritten(groupBy(policy, own))).toEqual(unwritten(groupBy({}, own)));
  });

  it('a default of the policy is that of the nearest level that has the field', () => {
    const other = { defaults: FIELD_OF_OTHER };
    const levels = {
      namespaces: [
        { name: 'x', ...other },
        { name: 'runners', ...policy },
      ],
      ...other,
    };

    expect(unwritten(groupBy(levels))).toEqual(unwritten(groupBy({}, { ...FIELD_OF_OTHER, [field]: said })));
    const groups = { ...levels, groups: [{ match: { name: 'ci' }, ...policy }] };
    expect(unwritten(groupBy(groups, {}, { namespace: 'other' }))).toEqual(
      unwritten(groupBy({}, { ...FIELD_OF_OTHER, [field]: said }, { namespace: 'other' })),
    );
    expect(unwritten(groupBy(groups, {}, { namespace: 'other', name: 'b' }))).toEqual(
      unwritten(groupBy({}, FIELD_OF_OTHER, { namespace: 'other', name: 'b' })),
    );
  });
});

const FIELD_OF_OTHER: Spec = { resources: { limits: { cpu: '7' }, requests: {} } };

describe('images', () => {
  const images = { runner: 'm.example.com/runner:1', rootless: 'm.example.com/rootless:1' };
  const policy = {
    defaults: { images: { ...images, docker: 'm.example.com/dind:1', buildkit: 'm.example.com/bk:1' } },
  };

  it.each([
    ['host', 'runner', undefined, undefined],
    ['dind', 'runner', 'm.example.com/dind:1', undefined],
    ['dind-rootless', 'rootless', undefined, undefined],
    ['buildkit', 'rootless', undefined, 'm.example.com/bk:1'],
  ] as const)('images are those of containerMode %s', (containerMode, image, dockerImage, buildkitImage) => {
    const { image: runner, ...made } = groupBy(policy, { containerMode, labels: ['a:host'] });

    expect(runner).toBe(images[image]);
    expect([made.dockerImage, made.buildkitImage]).toEqual([dockerImage, buildkitImage]);
  });

  it('come before those of the installation, each by itself', () => {
    const made = groupBy({ defaults: { images: { docker: 'p/dind:1' } } }, { containerMode: 'dind' });

    const { image, dockerImage } = withImages(made, { runner: 'i/runner:1', docker: 'i/dind:1' });

    expect([image, dockerImage]).toEqual(['i/runner:1', 'p/dind:1']);
  });

  it('images do not count where the group or its podTemplate names one', () => {
    const template = { spec: { containers: [{ name: 'runner', image: 'own/runner:1' }] } };
    expect(groupBy(policy, { image: 'own/runner:1' }).image).toBe('own/runner:1');
    expect(groupBy(policy, { podTemplate: template }).podTemplate).toEqual(template);
    expect(groupBy(policy, { podTemplate: template }).image).toBe(groupBy({}, { podTemplate: template }).image);
  });
});

describe('podTemplate', () => {
  const policy = {
    defaults: {
      podTemplate: { metadata: { annotations: { a: 'p' } }, spec: { nodeSelector: { pool: 'ci', zone: 'a' } } },
    },
  };

  it('podTemplate is merged with that of the group, field by field', () => {
    const own = { metadata: { annotations: { b: 'g' } }, spec: { nodeSelector: { zone: 'b' } } };

    expect(groupBy(policy, { podTemplate: own }).podTemplate).toEqual({
      metadata: { annotations: { a: 'p', b: 'g' } },
      spec: { nodeSelector: { pool: 'ci', zone: 'b' } },
    });
  });

  it('the default podTemplate keeps a null of the group, which also takes away what is ours', () => {
    const own = { spec: { nodeSelector: null, containers: [{ name: 'runner', workingDir: null }] } };

    expect(groupBy(policy, { podTemplate: own }).podTemplate).toEqual({
      metadata: { annotations: { a: 'p' } },
      spec: own.spec,
    });
  });

  it('podTemplate is below that of each size that has its own, and no other size gets one', () => {
    const sizes = [{ name: 's' }, { name: 'l', podTemplate: { spec: { nodeSelector: { zone: 'l' } } } }];

    const [small, large] = groupBy(policy, { sizes }).sizes;

    expect(small?.podTemplate).toBeUndefined();
    expect(large?.podTemplate).toMatchObject({ spec: { nodeSelector: { pool: 'ci', zone: 'l' } } });
    expect(groupBy({}, { sizes }).sizes).toEqual(groupBy({ defaults: { labels: ['a:host'] } }, { sizes }).sizes);
  });

  it('a podTemplate that the group has, too, leaves that of the group to the byte', () => {
    const own = { spec: { nodeSelector: { zone: 'b', pool: 'x' } }, metadata: { annotations: { a: 'g' } } };

    expect(JSON.stringify(groupBy(policy, { podTemplate: own }).podTemplate)).toBe(JSON.stringify(own));
  });

  it.each([[{ spec: { nodeSelecter: {} } }], [{ spec: { containers: [{ $patch: 'delete', name: 'runner' }] } }]])(
    'the default podTemplate leaves one that cannot be read as it is: %j',
    (podTemplate) => {
      expect(groupBy(policy, { podTemplate }).podTemplate).toEqual(podTemplate);
    },
  );
});

const denied = (policy: object, spec: Spec = {}) =>
  judge(policyOf(policy), [groupBy(policy, spec)], { isArgoCd: false }).denials.map(({ rule }) => rule);

it.each<[string, object, string]>([
  ['image', { images: ['docker.io/gitea/*'], defaults: { images: { rootless: 'x.example.com/y:1' } } }, 'images'],
  ['resources', { maxResources: { cpu: 1 }, defaults: { resources: { limits: { cpu: '2' } } } }, 'maxResources'],
  ['field of a pod', { podTemplateFields: [], defaults: { podTemplate: SELECTOR } }, 'podTemplateFields'],
  [
    'profile',
    { securityProfile: { highest: 'baseline' }, defaults: { securityProfile: 'privileged' } },
    'securityProfile',
  ],
])('the rules judge a %s', (_, policy, rule) => {
  expect(denied(policy)).toContain(rule);
});

it.each<[string, object, string]>([
  ['service account', { podTemplate: { spec: { serviceAccountName: 'admin' } } }, 'serviceAccounts'],
  ['priority class', { podTemplate: { spec: { priorityClassName: 'high' } } }, 'priorityClasses'],
  ['privileged pod', { podTemplate: SELECTOR, securityProfile: 'privileged' }, 'securityProfile'],
])(
  'a default and the rest of a policy opens no %s that is closed without a policy, also where all only warns',
  (_, defaults, rule) => {
    expect(denied({ defaults })).toContain(rule);
    expect(denied({ defaults, enforcement: 'warn' })).toContain(rule);
  },
);

it('a default that does not go with a group is its problem, and says where it comes from', () => {
  const policy = { defaults: { labels: ['a:docker://node:24'] } };

  expect(readBy(policy, { ...BARE, containerMode: 'host', labels: ['a:host'] })).toHaveProperty('group');
  const read = readBy(policy, { ...BARE, containerMode: 'host', groupLabel: true });
  expect(read).toMatchObject({
    problem: expect.stringMatching(/^spec\.labels.*\(with the defaults of the policy\)/),
  });
});

it.each<[string, object, RegExp]>([
  ['a label', { labels: ['a b'] }, /^policy\.json:1:\d+: spec\.defaults\.labels\[0\]/],
  ['no label', { labels: [] }, /spec\.defaults\.labels/],
  ['a quantity', { resources: { limits: { cpu: 'much' } } }, /spec\.defaults\.resources\.limits/],
  [
    'a field of a pod',
    { podTemplate: { spec: { nodeSelecter: {} } } },
    /podTemplate\.spec\.nodeSelecter: .*"nodeSelector"/,
  ],
  ['a template that is too deep', { podTemplate: deep(100) }, /podTemplate/],
  ['a profile', { securityProfile: 'high' }, /spec\.defaults\.securityProfile/],
  ['an image', { images: { runner: 'a b' } }, /spec\.defaults\.images\.runner: must be an image reference/],
  ['a field of a group that is none of these', { suspend: true }, /spec\.defaults.*suspend/],
])('%s that is wrong is a problem of the policy file', (_, defaults, problem) => {
  const spec = { namespaces: [{ name: 'x', defaults }], defaults };
  const read = readPolicy(
    'policy.json',
    JSON.stringify({ apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', spec }),
  );

  expect('problems' in read && read.problems.some((text) => problem.test(text))).toBe(true);
});

function deep(levels: number): object {
  return levels === 0 ? {} : { spec: deep(levels - 1) };
}

it('a policy without defaults has none, and with an empty one each group is as it is', () => {
  expect(defaultsOf(policyOf({ images: [] }))).toBeUndefined();
  expect(defaultsOf(policyOf({ namespaces: [{ name: 'a' }], groups: [{ match: {} }] }))).toBeUndefined();
  expect(defaultsOf(policyOf({ namespaces: [{ name: 'a', defaults: {} }] }))).toBeDefined();
  expect(defaultsOf(policyOf({ groups: [{ match: {}, defaults: {} }] }))).toBeDefined();
  expect(unwritten(groupBy({ defaults: {} }))).toEqual(unwritten(groupBy({})));
});

const some = fc.record(
  {
    labels: fc.constantFrom(['a:host'], ['b:host', 'c:host']),
    resources: fc.record({ limits: fc.record({ cpu: fc.constantFrom('1', '500m') }) }),
    securityProfile: fc.constant('privileged' as const),
    podTemplate: fc.record(
      {
        metadata: fc.record({ annotations: fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom('1', '2')) }),
        spec: fc.record(
          {
            nodeSelector: fc.dictionary(fc.constantFrom('p', 'q'), fc.constantFrom('1', '2')),
            tolerations: fc.array(fc.record({ key: fc.constantFrom('k', 'l') }), { maxLength: 2 }),
            containers: fc.constantFrom([], [{ name: 'runner', env: [{ name: 'A', value: '1' }] }]),
          },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const ALL = { labels: ['z:host'], resources: {}, securityProfile: 'privileged', image: 'own/runner:1' };

property(
  'a group that says everything is the same with and without defaults, to the byte (F146)',
  [some, some, some],
  (defaults, ofNamespace, own) => {
    const spec = { ...ALL, podTemplate: {}, ...own };
    const { podTemplate: _, ...whole } = defaults;
    const { podTemplate: __, ...wholeOfNamespace } = ofNamespace;
    const images = { rootless: 'm.example.com/r:1' };
    const policy = { defaults: { ...whole, images }, namespaces: [{ name: '*', defaults: wholeOfNamespace }] };
    const same = { defaults: { podTemplate: spec.podTemplate, ...whole } };

    const without = groupBy({}, spec);

    for (const each of [groupBy(policy, spec), groupBy(same, spec)]) {
      expect(JSON.stringify(unwritten(each))).toBe(JSON.stringify(unwritten(without)));
      expect(ownTemplateHash(each)).toBe(ownTemplateHash(without));
    }
  },
);

property(
  'a default is the same as an edit of the group that says it, and so does with living runners what that does (F145)',
  [some, some],
  (defaults, own) => {
    const edited = { ...defaults, ...own };
    const isMerged = defaults.podTemplate !== undefined && own.podTemplate !== undefined;
    const podTemplate = isMerged ? groupBy({ defaults }, own).podTemplate : edited.podTemplate;
    const made = groupBy({ defaults }, own);
    const byHand = groupBy({}, { ...edited, ...(podTemplate && { podTemplate }) });

    expect(unwritten(made)).toEqual(unwritten(byHand));
    expect(ownTemplateHash(made)).toBe(ownTemplateHash(byHand));
  },
);

it('a group in the cluster has the same template as in a file (F145)', () => {
  const policy = { defaults: { podTemplate: SELECTOR, images: { rootless: 'm.example.com/r:1' } } };
  const metadata = { namespace: 'runners', name: 'ci', uid: 'u' };
  const read = groupOfObject({ metadata, spec: BARE } as never, { rootless: 'i/r:1' }, defaultsOf(policyOf(policy)));

  expect('group' in read && ownTemplateHash(read.group)).toBe(ownTemplateHash(groupBy(policy)));
  expect(ownTemplateHash(groupBy(policy))).not.toBe(ownTemplateHash(groupBy({})));
});
