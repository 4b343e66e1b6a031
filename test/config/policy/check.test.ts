/** Tests which values each field of a policy allows and denies. */
import { describe, expect, it } from 'vitest';
import { skippedRules, tokenBounds } from '../../../src/config/policy/check.ts';
import { type Asker, denialLine } from '../../../src/config/policy/denial.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { FULL_TEMPLATE } from '../pods/full-template.ts';
import { type AnyGroup, BY_HAND, denialsBy, denialsOf, policyOf } from './support.ts';

const ARGOCD: Asker = {
  isArgoCd: true,
  destination: 'runners',
  project: 'ci',
  repository: 'https://gitea.example.com/ops/runners.git',
};

describe('a policy without fields is what holds without a policy', () => {
  it.each<[string, AnyGroup, readonly string[]]>([
    ['a group of the destination namespace', {}, []],
    ['a group of another namespace', { namespace: 'team-b' }, ['namespaces.destinations metadata.namespace']],
    ['a podTemplate', { podTemplate: { spec: { nodeSelector: { disk: 'ssd' } } } }, []],
    [
      'a service account',
      { podTemplate: { spec: { serviceAccountName: 'admin' } } },
      ['serviceAccounts spec.podTemplate.spec.serviceAccountName'],
    ],
    [
      'a priority class',
      { podTemplate: { spec: { priorityClassName: 'high' } } },
      ['priorityClasses spec.podTemplate.spec.priorityClassName'],
    ],
    ['tiers of priority', { priorityTiers: [{ priorityClassName: 'high' }] }, []],
    ['any profile', { securityProfile: 'privileged' }, []],
    [
      'a privileged podTemplate',
      { securityProfile: 'privileged', podTemplate: {} },
      ['securityProfile spec.securityProfile'],
    ],
    ['a podTemplate that is none', { podTemplate: 'x' }, ['podTemplateFields spec.podTemplate']],
  ])('%s', (_, group, denials) => {
    expect(denialsOf({}, group, ARGOCD)).toEqual(denials);
  });

  it('a policy without fields is what holds without a policy asks for no namespace by hand, and for none of an Application without a destination', () => {
    expect(denialsOf({}, { namespace: 'team-b' })).toEqual([]);
    expect(denialsOf({}, { namespace: 'team-b' }, { isArgoCd: true })).toEqual([]);
  });
});

describe('projects and repositories', () => {
  it.each<[string, unknown, Partial<Asker>, readonly string[]]>([
    ['an allowed project', { projects: ['c*'] }, {}, []],
    ['another project', { projects: ['team-*'] }, {}, ['projects']],
    ['an allowed repository', { repositories: ['https://gitea.example.com/ops/*'] }, {}, []],
    ['another repository', { repositories: ['https://gitea.example.com/dev/*'] }, {}, ['repositories']],
    ['none', { projects: [], repositories: [] }, {}, ['projects', 'repositories']],
  ])('%s', (_, spec, asker, denials) => {
    expect(denialsOf(spec, {}, { ...ARGOCD, ...asker })).toEqual(denials);
  });

  it('denies an Application without groups, too', () => {
    expect(denialsBy(policyOf({ projects: [] }), [], ARGOCD)).toHaveLength(1);
  });

  it('denies when Argo CD asks and does not tell, and skips what nobody of Argo CD asks', () => {
    const spec = { projects: ['**'], repositories: ['https://gitea.example.com/**'] };

    expect(denialsOf(spec, {}, { isArgoCd: true, destination: 'runners' })).toEqual(['projects', 'repositories']);
    expect(denialsOf(spec)).toEqual([]);
    expect(denialsOf({ projects: ['a'] }, {}, { isArgoCd: false, project: 'b' })).toEqual(['projects']);
    expect(skippedRules(policyOf(spec), { isArgoCd: false, project: 'b' })).toEqual(['repositories']);
    expect(skippedRules(policyOf(spec), BY_HAND)).toEqual(['projects', 'repositories']);
    expect(skippedRules(policyOf(spec), ARGOCD)).toEqual([]);
  });
});

describe('namespaces', () => {
  const TEAMS = {
    namespaces: [
      { name: 'team-a', scopes: ['org:acme'], secrets: ['gitea-*'], destinations: ['runners'] },
      { name: 'team-u', scopes: ['user:bob'], destinations: ['runners'] },
      { name: 'team-*', scopes: [] },
    ],
  };

  it.each<[string, Partial<RunnerGroup>, readonly string[]]>([
    ['an allowed one, from an allowed destination', { namespace: 'team-a' }, []],
    ['a namespace that no entry names', { namespace: 'runners' }, ['namespaces metadata.namespace']],
    [
      'the first entry that fits counts',
      { namespace: 'team-b' },
      ['namespaces.destinations metadata.namespace', 'namespaces.scopes spec.scope'],
    ],
    [
      'a repository of the organisation',
      { namespace: 'team-a', scope: { kind: 'repo', owner: 'acme', repo: 'x' } },
      [],
    ],
    [
      'a repository of a user that is allowed',
      { namespace: 'team-u', scope: { kind: 'repo', owner: 'bob', repo: 'x' } },
      [],
    ],
    [
      'Secrets of others',
      {
        namespace: 'team-a',
        authToken: { name: 'root', key: 'token' },
        registrationToken: { name: 'other', key: 'token' },
        podTemplate: {
          spec: { imagePullSecrets: [{ name: 'pull' }], volumes: [{ name: 'v', secret: { secretName: 's' } }] },
        },
      },
      [
        'namespaces.secrets spec.registrationToken',
        'namespaces.secrets spec.authToken',
        'namespaces.secrets spec.podTemplate.spec.imagePullSecrets[0].name',
        'namespaces.secrets spec.podTemplate.spec.volumes[0].secret.secretName',
      ],
    ],
    ['no registration token', { namespace: 'team-a', registrationToken: undefined }, []],
  ])('%s', (_, group, denials) => {
    expect(denialsOf(TEAMS, group, ARGOCD)).toEqual(denials);
  });

  it('the rule namespaces finds the Secret of every other secretRef, also of fields that are not known yet', () => {
    const manifest = {
      spec: {
        authToken: { secretRef: { name: 'gitea-api' } },
        cache: { url: 'x', secretRef: { name: 'root', key: 'k' } },
        proxy: { https: [{ secretRef: { name: 'gitea-proxy' } }, { secretRef: { name: 'other' } }] },
        notify: { secretRef: null },
      },
    };

    expect(denialsOf(TEAMS, { namespace: 'team-a', manifest })).toEqual([
      'namespaces.secrets spec.cache.secretRef.name',
      'namespaces.secrets spec.proxy.https[1].secretRef.name',
    ]);
  });

  it('denies an Application that has no destination namespace', () => {
    expect(denialsOf(TEAMS, { namespace: 'team-a' }, { isArgoCd: true })).toEqual([
      'namespaces.destinations metadata.namespace',
    ]);
  });
});

describe('images', () => {
  // Versions, digests and single levels: hostile.test.ts.
  it.each<[string, unknown, string, boolean]>([
    ['any digest', ['docker.io/gitea/runner@*'], `gitea/runner@sha256:${'0'.repeat(64)}`, true],
    ['any digest, but none is there', ['docker.io/gitea/runner@*'], 'gitea/runner:1.0.8', false],
    ['a digest of a tag', ['docker.io/gitea/runner:1.0@*'], `gitea/runner:1.0@sha256:${'0'.repeat(64)}`, true],
    ['a digest of another tag', ['docker.io/gitea/runner:1.0@*'], `gitea/runner:2@sha256:${'0'.repeat(64)}`, false],
    ['a digest without the tag', ['docker.io/gitea/runner:1.0@*'], `gitea/runner@sha256:${'0'.repeat(64)}`, false],
    ['a folder', ['registry.example.com:5000/ci/**'], 'registry.example.com:5000/ci/a/b:1', true],
  ])('%s', (_, images, image, isAllowed) => {
    expect(denialsOf({ images }, { image })).toEqual(isAllowed ? [] : ['images spec.image']);
  });

  it('judges those of the podTemplate, and what leads to registries', () => {
    const spec = { images: ['docker.io/gitea/runner'], registries: ['docker.io'] };
    const podTemplate = {
      spec: { containers: [{ name: 'x', image: 'evil.example.com/x' }], hostAliases: [], dnsConfig: {} },
    };

    expect(denialsOf(spec, { podTemplate })).toEqual([
      'images spec.podTemplate.spec.containers[0].image',
      'registries spec.podTemplate.spec.containers[0].image',
      'podTemplateFields spec.podTemplate.spec.hostAliases',
      'podTemplateFields spec.podTemplate.spec.dnsConfig',
    ]);
    expect(denialsOf({ ...spec, podTemplateFields: ['spec.containers', 'spec.hostAliases'] }, { podTemplate })).toEqual(
      [
        'images spec.podTemplate.spec.containers[0].image',
        'registries spec.podTemplate.spec.containers[0].image',
        'podTemplateFields spec.podTemplate.spec.dnsConfig',
      ],
    );
  });
});

describe('securityProfile', () => {
  const ANNOTATED = { metadata: { annotations: { 'gitea.bpg.pw/profile-reason': 'builds images' } } };

  const PRIVILEGED = { highest: 'baseline', withReason: 'privileged' };
  it.each<[string, unknown, Partial<RunnerGroup>, boolean]>([
    ['lower', { highest: 'baseline' }, { securityProfile: 'restricted' }, true],
    ['equal', { highest: 'baseline' }, { securityProfile: 'baseline' }, true],
    ['higher', { highest: 'baseline' }, { securityProfile: 'privileged' }, false],
    ['none, with docker', { highest: 'baseline' }, { containerMode: 'dind' }, false],
    ['none, with BuildKit', { highest: 'baseline' }, { containerMode: 'buildkit' }, false],
    [
      'baseline, with BuildKit',
      { highest: 'baseline' },
      { containerMode: 'buildkit', securityProfile: 'baseline' },
      true,
    ],
    ['none, without docker', { highest: 'restricted' }, {}, true],
    [
      'higher with a reason that nobody asked for',
      { highest: 'baseline' },
      { containerMode: 'dind', manifest: ANNOTATED },
      false,
    ],
    ['higher with a reason', PRIVILEGED, { containerMode: 'dind', manifest: ANNOTATED }, true],
    ['higher without the reason', PRIVILEGED, { containerMode: 'dind' }, false],
    [
      'a reason never lowers',
      { highest: 'privileged', withReason: 'restricted' },
      { containerMode: 'dind', manifest: ANNOTATED },
      true,
    ],
  ])('%s', (_, securityProfile, group, isAllowed) => {
    expect(denialsOf({ securityProfile }, group)).toEqual(isAllowed ? [] : ['securityProfile spec.securityProfile']);
  });

  it('the level for groups with a reason never lowers the highest, also in the message', () => {
    const group = { ...runnerGroup(), securityProfile: 'privileged', manifest: ANNOTATED } as RunnerGroup;
    const policy = policyOf({ securityProfile: { highest: 'baseline', withReason: 'restricted' } });

    expect(denialsBy(policy, [group], BY_HAND)[0]?.message).toContain('allows baseline at most');
  });

  it.each([
    ['host', /Set it to baseline$/],
    ['dind', /Set it to baseline, with containerMode: host$/],
    ['buildkit', /Set it to baseline$/],
  ] as const)('the rule securityProfile says what helps with containerMode %s', (containerMode, advice) => {
    const group = { ...runnerGroup(), containerMode, securityProfile: 'privileged' } as RunnerGroup;

    expect(denialsBy(policyOf({ securityProfile: { highest: 'baseline' } }), [group], BY_HAND)[0]?.message).toMatch(
      advice,
    );
  });
});

it.each<[string, readonly string[], unknown, readonly string[]]>([
  ['an allowed field with all below it', ['spec.nodeSelector'], { spec: { nodeSelector: { a: 'b' } } }, []],
  ['none', [], { spec: { nodeSelector: { a: 'b' } } }, ['spec']],
  [
    'a field beside the allowed one',
    ['spec.nodeSelector'],
    { metadata: { labels: { a: 'b' } }, spec: { tolerations: [] } },
    ['metadata', 'spec.tolerations'],
  ],
  [
    'inside of a list',
    ['spec.containers.env'],
    { spec: { containers: [{ name: 'runner', env: [{ name: 'A', value: 'b' }], image: 'x' }] } },
    ['spec.containers[0].image'],
  ],
  [
    'a null, which takes ours away',
    ['spec.nodeSelector'],
    { spec: { securityContext: null } },
    ['spec.securityContext'],
  ],
])('podTemplateFields: %s', (_, podTemplateFields, podTemplate, denied) => {
  expect(denialsOf({ podTemplateFields }, { podTemplate })).toEqual(
    denied.map((path) => `podTemplateFields spec.podTemplate.${path}`),
  );
});

describe('classes, accounts and the cap', () => {
  it('an empty list forbids all priority classes, those of tiers too', () => {
    const group = {
      podTemplate: { spec: { priorityClassName: 'low' } },
      priorityTiers: [{ priorityClassName: 'low' }],
    };

    expect(denialsOf({ priorityClasses: [] }, group)).toEqual([
      'priorityClasses spec.podTemplate.spec.priorityClassName',
      'priorityClasses spec.priorityTiers[0].priorityClassName',
    ]);
    expect(denialsOf({ priorityClasses: ['l*'] }, group)).toEqual([]);
  });

  it('the policy names both spellings of a service account', () => {
    const podTemplate = { spec: { serviceAccountName: 'ci', serviceAccount: 'admin' } };

    expect(denialsOf({ serviceAccounts: ['ci'] }, { podTemplate })).toEqual([
      'serviceAccounts spec.podTemplate.spec.serviceAccount',
    ]);
  });

  it('sums the caps of all groups', () => {
    const groups = [
      runnerGroup({ maxActiveRunners: 6 }),
      runnerGroup({ name: 'b', maxActiveRunners: 5, suspend: true }),
    ];
    const deny = (maxActiveRunners: number) =>
      denialsBy(policyOf({ maxActiveRunners }), groups, BY_HAND).map(denialLine);

    expect(deny(11)).toEqual([]);
    expect(deny(10)).toEqual([
      'spec.maxActiveRunners: is 11 over all 2 RunnerGroups; the policy allows 10. Lower it in some of them [maxActiveRunners]',
    ]);
  });
});

it('tokenBindings finds the first entry that fits', () => {
  const policy = policyOf({
    tokenBindings: [
      { namespace: 'team-a', secret: 'gitea-api', url: 'https://a.example.com' },
      { namespace: 'team-*', secret: 'gitea-api', url: 'https://b.example.com' },
    ],
  });

  const { boundTo } = tokenBounds(policy);
  expect(boundTo('team-a', 'gitea-api')).toBe('https://a.example.com');
  expect(boundTo('team-b', 'gitea-api')).toBe('https://b.example.com');
  expect(boundTo('team-b', 'gitea-api-2')).toBeUndefined();
  expect(boundTo('runners', 'gitea-api')).toBeUndefined();
});

it('a line names file, group, field and rule, and is safe on a terminal', () => {
  const [denial] = denialsBy(policyOf({ images: [] }), [runnerGroup({ image: 'x\u001b[31m' })], BY_HAND);

  expect(denial && denialLine(denial)).toBe(
    'ci.yaml:1: runners/ci: spec.image: is "x\\u{1b}[31m", which is no image that can be judged; the policy allows none. Use one of them [images]',
  );
});

it('every rule can deny the full template, and lets it pass when everything is allowed', () => {
  const all = {
    images: ['registry.example.com/*', 'docker.io/gitea/runner'],
    registries: ['registry.example.com', 'docker.io'],
    priorityClasses: ['ci-low'],
    podTemplateFields: [
      'metadata.annotations',
      'metadata.labels',
      ...Object.keys(FULL_TEMPLATE['spec'] ?? {}).map((key) => `spec.${key}`),
    ],
    namespaces: [{ name: 'runners', secrets: ['gitea-*', 'npm', 'registry'] }],
  };

  expect(denialsOf(all, { podTemplate: FULL_TEMPLATE })).toEqual([]);
  expect(denialsOf({}, { podTemplate: FULL_TEMPLATE })).toEqual([
    'priorityClasses spec.podTemplate.spec.priorityClassName',
  ]);
});

it.each<[readonly string[] | undefined, string, boolean | undefined]>([
  [undefined, 'beta/web', undefined],
  [[], 'beta/web', false],
  [['repo:acme/web'], 'beta/web', false],
  [['repo:beta/*'], 'beta/web', true],
  [['org:beta'], 'beta/web', true],
  [['user:beta'], 'beta/web', true],
  [['global'], 'beta/web', true],
  [['org:Beta'], 'bETA/web', true],
])('scopes %j: tokens are used for %s: %s', (scopes, name, covered) => {
  const [owner = '', repo = ''] = name.split('/');
  const { reachOf } = tokenBounds({ namespaces: [{ name: 'runners', ...(scopes && { scopes: [...scopes] }) }] });

  expect(reachOf('runners')?.covers(owner, repo)).toBe(covered);
  expect(tokenBounds({}).reachOf('runners')).toBeUndefined();
});
