/** Tests attempts to evade a policy. Each one is denied. Its honest neighbour passes. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Asker } from '../../../src/config/policy/denial.ts';
import { matchesGlob } from '../../../src/config/policy/policy-patterns.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { BY_HAND, denialsOf, policyOf } from './support.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGES = {
  images: [
    'docker.io/gitea/runner:1.*',
    'docker.io/library/debian',
    'registry.example.com:5000/ci/*',
    `docker.io/org/pinned@${DIGEST}`,
  ],
};
const REGISTRIES = { registries: ['registry.example.com', '*.internal.example.com:5000'] };

describe('the honest ones', () => {
  it.each([
    'gitea/runner:1.0.8',
    'docker.io/gitea/runner:1.0.8',
    'index.docker.io/gitea/runner:1.0.8',
    'DOCKER.IO/gitea/runner:1.0.8',
    'debian',
    'library/debian:13',
    'docker.io/debian:13',
    'registry.example.com:5000/ci/build:2',
    `org/pinned:whatever@${DIGEST}`,
  ])('the image %s', (image) => {
    expect(denialsOf(IMAGES, { image })).toEqual([]);
  });

  it.each(['registry.example.com/x', 'Registry.Example.com/x', 'a.b.internal.example.com:5000/x/y:1'])(
    'the registry of %s',
    (image) => {
      expect(denialsOf(REGISTRIES, { image })).toEqual([]);
    },
  );
});

/** Images that an author writes to run another image. */
const IMAGE_TRICKS = [
  'gitea/runner:2.0.0',
  'gitea/runner',
  `gitea/runner:1.0.8@${DIGEST}`,
  `gitea/runner@${DIGEST}`,
  `gitea/runner:1.0.8@sha256:1`,
  'gitea/runner:1.0.8@latest',
  'gitea/Runner:1.0.8',
  'gitea/runner-evil:1.0.8',
  'evil/gitea/runner:1.0.8',
  'gitea/runner/evil:1.0.8',
  'docker.io.evil.example.com/gitea/runner:1.0.8',
  'docker.io:443/gitea/runner:1.0.8',
  'docker.io./gitea/runner:1.0.8',
  'registry-1.docker.io/gitea/runner:1.0.8',
  'localhost/gitea/runner:1.0.8',
  'evil.example.com/docker.io/gitea/runner:1.0.8',
  'https://docker.io/gitea/runner:1.0.8',
  'user@docker.io/gitea/runner:1.0.8',
  'docker.io//gitea/runner:1.0.8',
  'docker.io/../docker.io/gitea/runner:1.0.8',
  'docker.io/gitea/./runner:1.0.8',
  'docker.io/gitea%2Frunner:1.0.8',
  'gitea/runner:1.0.8 ',
  ' gitea/runner:1.0.8',
  'gitea/runner:1.0.8\nevil/x:1',
  'gite\u0430/runner:1.0.8',
  'gitea/runner\u200b:1.0.8',
  'gitea/*:1.0.8',
  'gitea/runner:*',
  'registry.example.com/ci/build:2',
  'registry.example.com:05000/ci/build:2',
  'registry.example.com:5000/ci/a/b:2',
  'registry.example.com:5000:5000/ci/build:2',
  'registry.example.com\u3002evil.example.com:5000/ci/build:2',
  'debian.evil',
  `org/pinned:1`,
  `org/pinned@${DIGEST.toUpperCase()}`,
  `org/pinned@sha256:${'b'.repeat(64)}`,
  `org/pinned@sha512:${'a'.repeat(64)}`,
  `evil/x:1@${DIGEST}`,
  '',
  '@',
  `${'a/'.repeat(300)}a`,
];

describe('images', () => {
  test.each(IMAGE_TRICKS)('%j', (image) => {
    expect(denialsOf(IMAGES, { image })).toEqual(['images spec.image']);
    const podTemplate = { spec: { initContainers: [{ name: 'x', image }] } };
    // An empty string in a template asks for nothing: it is the default of the field.
    const denied = image === '' ? [] : ['images spec.podTemplate.spec.initContainers[0].image'];
    expect(denialsOf(IMAGES, { image: 'debian', podTemplate })).toEqual(denied);
  });

  it.each([
    'registry.example.com.evil.example.com/x',
    'registry.example.com:5000/x',
    'internal.example.com:5000/x',
    'a.internal.example.com/x',
    'a.internal.example.com:50000/x',
    'registry.example.com./x',
    '*.internal.example.com:5000/x',
    'evil.internal.example.com:5000.evil.example.com/x',
    'registry%2Eexample.com/x',
    'x',
  ])('the registry of %j', (image) => {
    expect(denialsOf(REGISTRIES, { image })).toEqual(['registries spec.image']);
  });

  it('images are denied in every place of a podTemplate', () => {
    const image = 'evil.example.com/x';
    const podTemplate = {
      spec: {
        containers: [{ name: 'runner', image }],
        initContainers: [{ name: 'register', image }],
        ephemeralContainers: [{ name: 'debug', image }],
        volumes: [{ name: 'v', image: { reference: image } }],
      },
    };

    expect(denialsOf(IMAGES, { image: 'debian', podTemplate })).toHaveLength(4);
  });
});

const REPOSITORIES = { repositories: ['https://gitea.example.com/ops/*', 'git@gitea.example.com:ops/runners.git'] };
const asks = (over: Partial<Asker>): Asker => ({ isArgoCd: true, destination: 'runners', project: 'ci', ...over });

describe('repositories', () => {
  it.each([
    'https://gitea.example.com/ops/runners',
    'https://GITEA.example.com:443/ops/runners.git/',
    'ssh://git@gitea.example.com:22/ops/runners',
    'gitea.example.com:ops/runners',
  ])('%j is an honest one', (repository) => {
    expect(denialsOf(REPOSITORIES, {}, asks({ repository }))).toEqual([]);
  });

  it.each([
    'https://gitea.example.com/ops/../evil/runners',
    'https://gitea.example.com/ops/%2e%2e/evil/runners',
    'https://gitea.example.com/ops/a%2Fb',
    'https://gitea.example.com/ops/a/b',
    'https://gitea.example.com/ops/',
    'https://gitea.example.com/OPS/runners',
    'https://gitea.example.com@evil.example.com/ops/runners',
    'https://gitea.example.com.evil.example.com/ops/runners',
    'https://gitea.example.com./ops/runners',
    'https://gitea.example.com:8443/ops/runners',
    'http://gitea.example.com/ops/runners',
    'https://evil.example.com\\@gitea.example.com/ops/runners',
    'https://evil.example.com/https://gitea.example.com/ops/runners',
    'https://evil.example.com?https://gitea.example.com/ops/runners',
    'https://gite\u0430.example.com/ops/runners',
    'https://gitea.example.com/ops/runners\n',
    'ssh://git@gitea.example.com/ops/runners/../../evil/x',
    'git@evil.example.com:gitea.example.com:ops/runners',
    'git@gitea.example.com:2222/ops/runners',
    'file:///ops/runners',
    'ops/runners',
    '*',
  ])('%j', (repository) => {
    expect(denialsOf(REPOSITORIES, {}, asks({ repository }))).toEqual(['repositories']);
  });
});

describe('names', () => {
  const TEAM = {
    namespaces: [{ name: 'team-a', scopes: ['org:acme'], secrets: ['gitea-api', 'gitea-runner'] }],
    projects: ['team-a'],
  };

  it.each([
    'team-a-evil',
    'xteam-a',
    'team-A',
    'team-a.',
    'team-\u0430',
    'team-*',
    '*',
    'team',
    'team-a ',
    'team-a\u0000',
  ])('the namespace and the project %j', (name) => {
    expect(denialsOf(TEAM, { namespace: name }, asks({ destination: name, project: name }))).toEqual([
      'projects',
      'namespaces metadata.namespace',
    ]);
  });

  it.each<RunnerGroup['scope']>([
    { kind: 'org', org: 'acme2' },
    { kind: 'org', org: '*' },
    { kind: 'repo', owner: 'acme2', repo: 'x' },
    { kind: 'user', user: 'acme' },
    { kind: 'global' },
  ])('the scope %j', (scope) => {
    expect(denialsOf(TEAM, { namespace: 'team-a', scope })).toEqual(['namespaces.scopes spec.scope']);
  });

  it.each(['gitea-api2', 'gitea', 'Gitea-api', 'gitea-ap\u0131', '*', 'gitea-api.', '../gitea-api'])(
    'the Secret %j',
    (name) => {
      expect(denialsOf(TEAM, { namespace: 'team-a', authToken: { name, key: 'token' } })).toEqual([
        'namespaces.secrets spec.authToken',
      ]);
    },
  );
});

describe('podTemplate', () => {
  const STRICT = { podTemplateFields: ['spec.nodeSelector', 'spec.containers.env'], priorityClasses: [] };

  it.each<[string, string]>([
    ['a directive', '{"spec": {"$patch": "replace", "nodeSelector": {}}}'],
    ['a directive in a list', '{"spec": {"containers": [{"name": "runner", "$patch": "delete"}]}}'],
    ['an own __proto__', '{"spec": {"__proto__": {"priorityClassName": "high"}}}'],
    ['another case of a name', '{"spec": {"PriorityClassName": "high"}}'],
    ['a list in place of a mapping', '{"spec": [{"priorityClassName": "high"}]}'],
    ['a mapping in place of a list', '{"spec": {"containers": {"image": "evil"}}}'],
    ['a path as a name', '{"spec": {"containers.env": []}}'],
    ['a string', '"spec.nodeSelector"'],
    ['a list', '[]'],
    ['a number', '7'],
    [
      'a field beside',
      '{"spec": {"containers": [{"name": "runner", "env": [], "securityContext": {"privileged": true}}]}}',
    ],
    ['an empty list', '{"spec": {"tolerations": []}}'],
    ['no metadata', '{"metadata": null, "spec": {}}'],
  ])('%s', (_, text) => {
    const denials = denialsOf(STRICT, { podTemplate: JSON.parse(text) as unknown });

    expect(denials.length).toBeGreaterThan(0);
    expect(denials.every((denial) => denial.startsWith('podTemplateFields spec.podTemplate'))).toBe(true);
  });

  // The other bounds: test/config/pods/value.test.ts.
  it('a podTemplate that refers to itself is denied', () => {
    const podTemplate: Record<string, unknown> = {};
    podTemplate['spec'] = podTemplate;

    expect(denialsOf({}, { podTemplate })).toEqual([expect.stringMatching(/^podTemplateFields spec\.podTemplate/)]);
  });
});

it.each<[string, unknown]>([
  ['in the labels', { labels: { 'gitea.bpg.pw/profile-reason': 'because' } }],
  ['in another case', { annotations: { 'gitea.bpg.pw/Profile-Reason': 'because' } }],
  ['a list', { annotations: { 'gitea.bpg.pw/profile-reason': ['because'] } }],
  ['empty', { annotations: { 'gitea.bpg.pw/profile-reason': '   ' } }],
  ['inherited', { annotations: Object.create({ 'gitea.bpg.pw/profile-reason': 'because' }) as unknown }],
  ['no mapping', { annotations: 'gitea.bpg.pw/profile-reason: because' }],
])('the cause of a higher profile does not count when it is %s', (_, metadata) => {
  const securityProfile = { highest: 'restricted', withReason: 'privileged' };

  expect(denialsOf({ securityProfile }, { containerMode: 'dind', manifest: { metadata } })).toEqual([
    'securityProfile spec.securityProfile',
  ]);
});

describe('patterns', () => {
  it.each([
    ['a.c', 'abc'],
    ['a?c', 'abc'],
    ['[a-z]', 'b'],
    ['a+', 'aa'],
    ['(a|b)', 'a'],
    ['{a,b}', 'a'],
    ['^a$', 'a'],
    ['\\*', 'x'],
    ['a', 'A'],
    ['é', 'e\u0301'],
  ])('%j does not fit %j: only stars are special', (pattern, text) => {
    expect(matchesGlob(pattern, text)).toBe(false);
  });

  it('a pattern says the same as a regular expression', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 10 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '**'), maxLength: 8 });
    const regex = (glob: string) =>
      new RegExp(`^${glob.replace(/\*\*+|\*/g, (star) => (star === '*' ? '[^/]*' : '.*'))}$`, 's');

    fc.assert(
      fc.property(pattern, text, (glob, word) => matchesGlob(glob, word) === regex(glob).test(word)),
      { numRuns: 2000 },
    );
  });

  it('a pattern ends soon where a regular expression would never end: years, not the time limit of a test', () => {
    expect(matchesGlob(`${'*a**b'.repeat(100)}!`, 'ab'.repeat(1_000))).toBe(false);
  });

  it.each([
    '*',
    '**',
    'gitea/runner',
    '*/x',
    'docker.io',
    'docker.io/',
    'docker.io/Gitea/x',
    'docker.io/x@sha256:1',
    '**.io/x',
    'docker.io//x',
  ])('a policy with the image pattern %j is refused', (image) => {
    expect(() => policyOf({ images: [image] })).toThrow(/spec\.images\[0\]/);
  });
});

it('nothing is denied that no rule is about', () => {
  for (const image of IMAGE_TRICKS) expect(denialsOf({}, { image }, BY_HAND)).toEqual([]);
});
