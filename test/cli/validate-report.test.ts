/** Tests the problems and warnings of `validate`, and its reports for programs. */
import { describe, expect, it, test } from 'vitest';
import { validate } from '../../src/cli/commands/validate.ts';
import type { FlagsOf } from '../../src/cli/flags/flags.ts';
import { complaintsOf, quietDocument as document, type Files, inFolder } from '../support/group-files.ts';
import { printingIo } from '../support/printing-io.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';

/** Runs the command in a folder with these files. */
function run(files: Files, flags: FlagsOf<'validate'> = {}, env: Readonly<Record<string, string>> = {}) {
  return inFolder(files, async (cwd) => {
    const { io, printed } = printingIo({ cwd, env });
    return { code: await validate(['.'], { ...flags, recursive: true }, io), ...printed };
  });
}

test('validate prints every problem to stderr, nothing to stdout, and ends with 2', async () => {
  const files = { 'a.yaml': '---\nkind: 1\n'.repeat(40), 'b.yaml': document({ suspend: 'no' }) };

  const { code, out, err } = await run(files);

  const lines = err.trimEnd().split('\n');
  expect({ code, out, lines: lines.length }).toEqual({ code: 2, out: '', lines: 42 });
  expect(lines[41]).toBe('1 RunnerGroup in 2 files: 41 errors');
  expect(lines[0]).toBe(
    'a.yaml:2:1: is not a Kubernetes object: apiVersion is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]',
  );
  expect(lines[40]).toBe(
    `b.yaml:1:${document({ suspend: 'no' }).indexOf('"suspend"') + 1}: spec.suspend: must be true or false, not the string "no"; write "suspend: false" [GR-INPUT-05]`,
  );
});

test("validate takes Argo CD's destination namespace as the default", async () => {
  const files = { 'a.yaml': document({}, { namespace: undefined }), 'b.yaml': document({}, { namespace: 'builds' }) };

  expect((await run(files)).code).toBe(0);
  expect(await run(files, {}, { ARGOCD_APP_NAMESPACE: 'builds' })).toEqual({
    code: 2,
    out: '',
    err: 'b.yaml:1:1: metadata.name: RunnerGroup builds/ci is already in a.yaml:1: rename or remove one of them [GR-INPUT-07]\n2 RunnerGroups in 2 files: 1 error\n',
  });
});

test('a mistake in one group does not hide those in the podTemplate of another one', async () => {
  const files = {
    'a.yaml': document({ suspend: 'no' }),
    'b.yaml': document({ podTemplate: { spec: { nodeselector: { disk: 'ssd' } } } }, { name: 'b' }),
    'c.yaml': document({ podTemplate: { spec: { hostNetwork: true } } }, { name: 'b' }),
  };

  const { code, out, err } = await run(files);

  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('spec.suspend: must be true or false');
  expect(err).toContain('spec.podTemplate.spec.nodeselector: unknown field; did you mean "nodeSelector"?');
  expect(err).toContain('c.yaml:1:1: metadata.name: RunnerGroup runners/b is already in b.yaml:1');
  expect(err).toContain('3 RunnerGroups in 3 files: 3 errors\n');
});

test('a mistake in a group does not hide those in its own podTemplate', async () => {
  const template = (spec: object) => ({ labels: ['a:b:c'], org: undefined, podTemplate: { spec } });
  const files = {
    'a.yaml': document(template({ nodeselector: { disk: 'ssd' } })),
    'b.yaml': document(template({ hostNetwork: true }), { name: 'B' }),
    'c.yaml': document({ ...template({ hostPID: true }), containerMode: 'none' }, { name: 'c' }),
    'd.yaml': document({ ...template({}), containerMode: 'host', securityProfile: 'restricted' }, { name: 'd' }),
  };

  const { code, err } = await run(files);

  expect(code).toBe(2);
  expect(err.match(/(?<=: )(?:spec|metadata)\S*(?=:)/g)).toEqual([
    'spec',
    'spec.labels[0]',
    'spec.podTemplate.spec.nodeselector',
    'metadata.name',
    'spec',
    'spec.labels[0]',
    'spec.podTemplate.spec.hostNetwork',
    'spec',
    'spec.containerMode',
    'spec',
    'spec.labels[0]',
  ]);
  expect(err).toContain('4 RunnerGroups in 4 files: 11 errors\n');
});

test('a misspelt containerMode is one mistake, not also a pod that is weaker than its profile', async () => {
  const files = { 'a.yaml': document({ containermode: 'host', securityProfile: 'restricted', labels: ['a:host'] }) };

  expect((await run(files)).err).toMatch(
    /^a\.yaml:1:\d+: spec\.containermode: unknown field; .*\n1 RunnerGroup in 1 file: 1 error\n$/,
  );
});

test('validate names the line that a RunnerGroup lacks', async () => {
  const text = 'apiVersion: gitea.bpg.pw/v1alpha1\nmetadata: {name: ci}\nspec: {}\n';

  expect((await run({ 'a.yaml': text })).err).toBe(
    'a.yaml:1:1: has no kind: add "kind: RunnerGroup" [GR-INPUT-03]\n0 RunnerGroups in 1 file: 1 error\n',
  );
});

/** The warnings about one group, without their place. */
async function warningsFor(spec: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { code, err } = await run({ 'ci.yaml': document(spec) });
  expect(code).toBe(0);
  return err
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^ci\.yaml:1:\d+: warning: /, ''));
}

describe('a warning tells of', () => {
  it.each<[text: string, spec: Readonly<Record<string, unknown>>]>([
    [
      'spec.maxActiveRunners: the cap is 0, so the group starts no runners: raise it, or set suspend: true [GR-WARN-01]',
      { maxActiveRunners: 0 },
    ],
    [
      'spec.image: the image example/runner:latest has no fixed version, so runners may differ: give it a tag other than latest, or a digest [GR-WARN-02]',
      { image: 'example/runner:latest' },
    ],
    ['spec.image: the image registry:5000/runner has no fixed version', { image: 'registry:5000/runner' }],
    ['spec.labels: the image node has no fixed version', { labels: ['x:docker://node'] }],
    ['spec.gitea: plain http: tokens travel unencrypted', { gitea: { url: 'http://gitea.example.com' } }],
    [
      'spec.limits: needs bound runners from the release after 0.2 on: without them Gitea gives a runner any job of the scope. Write "registration: {by: serve, for: repository}" [GR-WARN-12]',
      { limits: [{ per: 'repository', max: 1 }] },
    ],
    ['spec.limits: needs bound runners', { limits: [{ branches: ['main'], max: 1 }] }],
    ['spec.fairness: needs bound runners', { fairness: 'per-repository' }],
    [
      'spec.registrationToken: is not used, because serve registers: remove it, and its Secret when no other group names it [GR-WARN-13]',
      { registration: { by: 'serve' } },
    ],
    [
      'spec.podTemplate.spec.serviceAccountName: only a policy can allow this: without one generate starts no runners for the group [GR-WARN-06]',
      { podTemplate: { spec: { serviceAccountName: 'admin' } } },
    ],
  ])('validate warns: %s', async (text, spec) => {
    expect(await warningsFor(spec)).toEqual([expect.stringContaining(text)]);
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['a cap of 0 that is meant', { maxActiveRunners: 0, suspend: true }],
    ['a digest', { image: `gitea/runner@sha256:${'0'.repeat(64)}` }],
    ['a label with a version', { labels: ['x:docker://node:22', 'y:host'] }],
    [
      'limits of bound runners',
      {
        registration: { by: 'serve', for: 'repository' },
        registrationToken: undefined,
        limits: [{ per: 'repository', max: 1 }],
        fairness: 'per-repository',
      },
    ],
    ['a limit that groups share', { limits: [{ name: 'gpus', max: 2 }] }],
    ['nothing', {}],
  ])('no warning tells of %s', async (_, spec) => {
    expect(await warningsFor(spec)).toEqual([]);
  });

  describe('a document beside the groups that generate refuses', () => {
    const files = {
      'a.yaml': document(),
      'job.yaml': 'kind: ConfigMap\napiVersion: v1\n---\n{apiVersion: batch/v1, kind: Job}\n',
    };

    it('a warning of validate names a document that generate refuses as generate names it', async () => {
      expect(await run(files)).toEqual({
        code: 0,
        out: '1 RunnerGroup in 2 files is valid; 1 warning\n',
        err:
          'job.yaml:4:1: warning: kind: Job starts pods, so generate leaves it as it is in the cluster: let an Application without this plugin ' +
          'deploy it, or set GITEA_RUNNERS_PASS_WORKLOADS=true for gitea-runners [GR-WARN-07]\n',
      });
      expect((await run(files, { strict: true })).code).toBe(2);
    });

    it('no warning of validate names a document that the installation lets through', async () => {
      expect((await run(files, {}, { GITEA_RUNNERS_PASS_WORKLOADS: 'true' })).err).toBe('');
    });
  });

  const OVERLAP = 'GR-WARN-05';
  it.each<[boolean, string, Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]>([
    [true, 'two groups of one org', {}, {}],
    [true, 'a group of the whole instance', {}, { scope: 'global', org: undefined }],
    [true, 'a group of a repository of the org', {}, { scope: 'repo', org: undefined, repo: 'Acme/web' }],
    [false, 'another org', {}, { org: 'other' }],
    [false, 'another Gitea', {}, { gitea: { url: 'https://other.example.com' } }],
    [false, 'other labels', {}, { defaultLabels: ['gpu'] }],
    [false, 'a suspended group', {}, { suspend: true }],
    [
      false,
      'another repository',
      { scope: 'repo', org: undefined, repo: 'acme/api' },
      { scope: 'repo', org: undefined, repo: 'acme/web' },
    ],
  ])('groups that cover the same jobs (%j: %s)', async (is, _, first, second) => {
    const { err } = await run({ 'a.yaml': document(first), 'b.yaml': document(second, { name: 'b' }) });

    expect(err.includes(OVERLAP)).toBe(is);
    if (is)
      expect(err).toMatch(
        /^b\.yaml:1:\d+: warning: spec\.labels: jobs with runs-on ubuntu-latest, .* runners\/ci \(a\.yaml:1\)/,
      );
  });
});

describe('the last line counts', () => {
  const files = {
    'a.yaml': `${document({ maxActiveRunners: 0, labels: ['a:host'], defaultLabels: false })}\n---\n${document({ suspend: 'no', scope: 'orgg' }, { name: 'b' })}`,
    'b.yaml': document({ labels: ['b:host'], defaultLabels: false }, { name: 'c' }),
  };

  it('RunnerGroups, files, errors and warnings', async () => {
    const { code, out, err } = await run(files);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/\n3 RunnerGroups in 2 files: 2 errors, 1 warning\n$/);
    expect(err).toContain('did you mean "org"?');
  });

  it('--strict counts warnings as errors', async () => {
    const warned = { 'a.yaml': document({ maxActiveRunners: 0 }) };

    expect(await run(warned)).toMatchObject({ code: 0, out: '1 RunnerGroup in 1 file is valid; 1 warning\n' });
    const strict = await run(warned, { strict: true });
    expect(strict).toMatchObject({ code: 2, out: '' });
    expect(strict.err).toMatch(
      /^a\.yaml:1:\d+: error: spec\.maxActiveRunners: .*\n1 RunnerGroup in 1 file: 1 error\n$/,
    );
  });

  it('the JSON of validate has counts and findings', async () => {
    const { code, out, err } = await run(files, { output: 'json' });

    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      errors: 2,
      warnings: 1,
      groups: 3,
      files: 2,
      findings: [
        { level: 'error', file: 'a.yaml', line: 3, code: 'GR-INPUT-05', path: 'spec.scope' },
        { level: 'error', code: 'GR-INPUT-05', path: 'spec.suspend' },
        { level: 'warning', file: 'a.yaml', line: 1, code: 'GR-WARN-01', path: 'spec.maxActiveRunners' },
      ],
    });
  });

  it('validate prints its findings as annotations of a workflow', async () => {
    const { code, out } = await run({ 'a,b.yaml': document({ suspend: 'no' }) }, { output: 'github' });

    expect(code).toBe(2);
    expect(out).toMatch(
      /^::error file=a%2Cb\.yaml,line=1,col=\d+,title=GR-INPUT-05::spec\.suspend: must be true or false, not the string "no"; write "suspend: false"\n$/,
    );
  });

  it('validate prints its findings as SARIF 2.1.0', async () => {
    const { out } = await run(files, { output: 'sarif' });

    const { runs, version } = JSON.parse(out);
    const physicalLocation = {
      artifactLocation: { uri: 'a.yaml' },
      region: { startLine: 3, startColumn: expect.any(Number) },
    };
    expect(version).toBe('2.1.0');
    expect(runs).toMatchObject([
      {
        tool: { driver: { rules: [{ id: 'GR-INPUT-05' }, { id: 'GR-WARN-01' }] } },
        results: [
          { ruleId: 'GR-INPUT-05', ruleIndex: 0, level: 'error', locations: [{ physicalLocation }] },
          { ruleId: 'GR-INPUT-05', ruleIndex: 0 },
          { ruleId: 'GR-WARN-01', ruleIndex: 1 },
        ],
      },
    ]);
  });

  it('validate prints denials at the place of the field, with exit 3', async () => {
    const template = '  podTemplate:\n    spec:\n      containers:\n        - {name: runner, image: "a:1"}\n';
    const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com', template) });
    const policy = folderWith({
      'policy.yaml':
        'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {images: ["registry.example.com/*"], securityProfile: {highest: restricted}}\n',
    });

    const { code, stdout } = await runHere(['validate', '--policy', `${policy}/policy.yaml`, '-o', 'json'], {}, folder);

    const places = [
      ['spec.image', 4],
      ['spec.podTemplate.spec.containers[0].image', 18],
    ] as const;
    const findings = places.map(([path, line]) => ({ code: 'GR-POLICY-04', path, line }));
    expect([code, JSON.parse(stdout)]).toMatchObject([3, { valid: false, findings }]);
  });
});

const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';

it.each<[string, Readonly<Record<string, unknown>>, string]>([
  ['authToken', { authToken: SECRET }, 'spec.authToken'],
  [
    'registrationToken, of Gitea',
    { registrationToken: '0123456789abcdef0123456789abcdef01234567' },
    'spec.registrationToken',
  ],
  ['a field of our own making', { authToken: { token: SECRET } }, 'spec.authToken.token'],
  ['an unknown field', { giteaToken: SECRET }, 'spec.giteaToken'],
  [
    'the name of the Secret',
    { authToken: { secretRef: { name: SECRET, key: 'token' } } },
    'spec.authToken.secretRef.name',
  ],
])('a token in a file as %s is told, and never repeated', async (_, spec, path) => {
  const complaints = await complaintsOf(spec);

  const [first = ''] = complaints.filter((line) => line.startsWith(`${path}: `));
  expect(first).toContain('holds what looks like a token: never put a token into git. Revoke it');
  expect(complaints.join('\n')).not.toMatch(/ghp_|16C7e4|0123456789abcdef/);
});

it('a token in a file is not seen in the name of a Secret', async () => {
  expect(await complaintsOf({ authToken: 'gitea-api' })).toEqual([
    'spec.authToken: must be a mapping, not a string, e.g. "authToken: {secretRef: {name: gitea-api, key: token}}" [GR-INPUT-05]',
  ]);
});

test.each<[Readonly<Record<string, unknown>>, string]>([
  [{ scope: 'organization' }, 'did you mean "org"?'],
  [{ scope: 'repository' }, 'did you mean "repo"?'],
  [{ org: undefined, organization: 'acme' }, 'unknown field; did you mean "org"?'],
])('%j is answered with what is meant', async (spec, text) => {
  expect((await complaintsOf(spec)).join('\n')).toContain(text);
});

test('a container beside `runner` is a warning: its pod does not end with the CI job', async () => {
  const containers = [
    { name: 'act-runner', image: 'gitea/act_runner:0.2.11' },
    { name: 'dind', image: 'docker:27-dind' },
    { name: 'runner', env: [] },
    { name: 'web', image: 'nginx:1' },
  ];
  const { code, err } = await run({ 'a.yaml': document({ podTemplate: { spec: { containers } } }) });

  expect(code).toBe(0);
  const told = [...err.matchAll(/containers\[(\d)\]: (.*) \[GR-WARN-11\]/g)].map(([, at, text]) => `${at} ${text}`);
  const stays =
    'does not end with the CI job, so its pod stays: make it an init container with restartPolicy: Always, or remove it';
  expect(told).toEqual([
    '0 looks like a Gitea runner, but container `runner` is the runner: rename it to runner',
    `1 ${stays}: containerMode dind-rootless has a daemon of its own`,
    `3 ${stays}`,
  ]);
});
