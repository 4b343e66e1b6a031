/** Warnings of `validate`, and its reports for programs. */
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import type { FlagsOf } from '../../src/cli/flags/flags.ts';
import { validate } from '../../src/cli/validate.ts';
import { complaintsOf, type Files, inFolder, type Spec, document as written } from '../support/group-files.ts';
import { printingIo } from '../support/printing-io.ts';
import { folderWith, groupYaml, runCli } from '../support/run-cli.ts';

/** With requests and a namespace: nothing to warn of. */
const document = (spec: Spec = {}, metadata: Spec = {}) =>
  written({ resources: { requests: { cpu: '1' } }, ...spec }, { namespace: 'runners', ...metadata });

/** Runs the command in a folder with these files. */
function run(files: Files, flags: FlagsOf<'validate'> = {}, env: Readonly<Record<string, string>> = {}) {
  return inFolder(files, async (cwd) => {
    const { io, printed } = printingIo({ cwd, env });
    return { code: await validate(['.'], { ...flags, recursive: true }, io), ...printed };
  });
}

/** The warnings about one group, without their place. */
async function warningsFor(spec: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { code, err } = await run({ 'ci.yaml': document(spec) });
  expect(code).toBe(0);
  return err
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^ci\.yaml:1:\d+: warning: /, ''));
}

const KEY = { secretRef: { name: 'gitea', key: 'token' } };

describe('a warning tells of', () => {
  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    [
      'a cap of 0',
      { maxActiveRunners: 0 },
      'spec.maxActiveRunners: the cap is 0, so the group starts no runners: raise it, or set suspend: true [GR-WARN-01]',
    ],
    [
      'an image with the tag latest',
      { image: 'gitea/runner:latest' },
      'spec.image: the image gitea/runner:latest has no fixed version, so runners may differ: give it a tag other than latest, or a digest [GR-WARN-02]',
    ],
    [
      'an image without a tag',
      { image: 'registry:5000/runner' },
      'spec.image: the image registry:5000/runner has no fixed version',
    ],
    ['the image of a label', { labels: ['x:docker://node'] }, 'spec.labels: the image node has no fixed version'],
    ['plain http', { gitea: { url: 'http://gitea.example.com' } }, 'spec.gitea: plain http: tokens travel unencrypted'],
    [
      'both tokens from one key',
      { registrationToken: KEY, authToken: KEY },
      'spec.registrationToken: is the same key of the same Secret as authToken',
    ],
    [
      'what only a policy can allow',
      { podTemplate: { spec: { serviceAccountName: 'admin' } } },
      'spec.podTemplate.spec.serviceAccountName: only a policy can allow this: without one generate refuses the group with exit 3 [GR-WARN-06]',
    ],
  ])('%s', async (_, spec, text) => {
    expect(await warningsFor(spec)).toEqual([expect.stringContaining(text)]);
  });

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['a cap of 0 that is meant', { maxActiveRunners: 0, suspend: true }],
    ['a digest', { image: `gitea/runner@sha256:${'0'.repeat(64)}` }],
    ['a label with a version', { labels: ['x:docker://node:22', 'y:host', 'z'] }],
    ['nothing', {}],
  ])('not of %s', async (_, spec) => {
    expect(await warningsFor(spec)).toEqual([]);
  });

  describe('a document beside the groups that generate refuses', () => {
    const files = {
      'a.yaml': document(),
      'job.yaml': 'kind: ConfigMap\napiVersion: v1\n---\n{apiVersion: batch/v1, kind: Job}\n',
    };

    it('as generate names it', async () => {
      expect(await run(files)).toEqual({
        code: 0,
        out: '1 RunnerGroup in 2 files is valid; 1 warning\n',
        err:
          'job.yaml:4:1: warning: kind: Job starts pods, so generate refuses all files with exit 3: let an Application without this plugin ' +
          'deploy it, or set GITEA_RUNNERS_PASS_WORKLOADS=true for gitea-runners [GR-WARN-07]\n',
      });
      expect((await run(files, { strict: true })).code).toBe(2);
    });

    it('not where the installation lets it through', async () => {
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

  it('and --strict makes errors of warnings', async () => {
    const warned = { 'a.yaml': document({ maxActiveRunners: 0 }) };

    expect(await run(warned)).toMatchObject({ code: 0, out: '1 RunnerGroup in 1 file is valid; 1 warning\n' });
    const strict = await run(warned, { strict: true });
    expect(strict).toMatchObject({ code: 2, out: '' });
    expect(strict.err).toMatch(
      /^a\.yaml:1:\d+: error: spec\.maxActiveRunners: .*\n1 RunnerGroup in 1 file: 1 error\n$/,
    );
  });

  it('as JSON', async () => {
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

  it('as annotations of a workflow', async () => {
    const { code, out } = await run({ 'a,b.yaml': document({ suspend: 'no' }) }, { output: 'github' });

    expect(code).toBe(2);
    expect(out).toMatch(
      /^::error file=a%2Cb\.yaml,line=1,col=\d+,title=GR-INPUT-05::spec\.suspend: must be true or false, not the string "no"\n$/,
    );
  });

  it('as SARIF 2.1.0', async () => {
    const { out } = await run(files, { output: 'sarif' });

    const log = JSON.parse(out) as {
      readonly version: string;
      readonly runs: readonly {
        readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
        readonly results: readonly { readonly ruleId: string; readonly ruleIndex: number }[];
      }[];
    };
    const [first] = log.runs;
    expect(log.version).toBe('2.1.0');
    expect(first?.tool.driver.rules.map(({ id }) => id)).toEqual(['GR-INPUT-05', 'GR-WARN-01']);
    expect(first?.results).toHaveLength(3);
    for (const { ruleId, ruleIndex } of first?.results ?? []) {
      expect(first?.tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
    }
    expect(first?.results[0]).toMatchObject({
      level: 'error',
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: 'a.yaml' },
            region: { startLine: 3, startColumn: expect.any(Number) },
          },
        },
      ],
    });
  });

  it('of denials too, with exit 3', async () => {
    const folder = folderWith({
      'ci.yaml': groupYaml('https://gitea.example.com', '  resources: {requests: {cpu: 1}}\n'),
    });
    const policy = folderWith({
      'policy.yaml': 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {namespaces: [], images: []}\n',
    });

    const { code, stdout } = await runCli(['validate', '--policy', `${policy}/policy.yaml`, '-o', 'json'], {}, folder);

    expect([code, JSON.parse(stdout)]).toMatchObject([3, { valid: false, findings: [{ code: 'GR-POLICY-04' }, {}] }]);
  });

  it('of denials at the place of the field', async () => {
    const template = '  podTemplate:\n    spec:\n      containers:\n        - {name: runner, image: "a:1"}\n';
    const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com', template) });
    const policy = folderWith({
      'policy.yaml':
        'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {images: ["registry.example.com/*"], securityProfile: {highest: restricted}}\n',
    });

    const { stdout } = await runCli(['validate', '--policy', `${policy}/policy.yaml`, '-o', 'json'], {}, folder);

    const { findings } = JSON.parse(stdout) as { readonly findings: readonly { path: string; line: number }[] };
    expect(findings.map(({ path, line }) => [path, line])).toEqual([
      ['spec.image', 4],
      ['spec.podTemplate.spec.containers[0].image', 18],
    ]);
  });
});

test('warnings about standard input have the place of their group', async () => {
  const folder = folderWith({ 'ci.yaml': groupYaml('http://gitea.example.com') });

  const { code, stderr } = await runCli(['validate', 'ci.yaml'], {}, folder);

  expect(code).toBe(0);
  expect(stderr).toMatch(/^ci\.yaml:7:\d+: warning: spec\.gitea: plain http/m);
  expect(parse(groupYaml('http://x')).spec.gitea).toEqual({ url: 'http://x' });
});

describe('a token in a file', () => {
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
  ])('as %s is told, and never repeated', async (_, spec, path) => {
    const complaints = await complaintsOf(spec);

    const [first = ''] = complaints.filter((line) => line.startsWith(`${path}: `));
    expect(first).toContain('holds what looks like a token: never put a token into git. Revoke it');
    expect(complaints.join('\n')).not.toMatch(/ghp_|16C7e4|0123456789abcdef/);
  });

  it('is not seen in the name of a Secret', async () => {
    expect(await complaintsOf({ authToken: 'gitea-api' })).toEqual([
      'spec.authToken: must be a mapping, not a string, e.g. "authToken: {secretRef: {name: gitea-api, key: token}}" [GR-INPUT-05]',
    ]);
  });
});

test.each<[Readonly<Record<string, unknown>>, string]>([
  [{ scope: 'organization' }, 'did you mean "org"?'],
  [{ scope: 'repository' }, 'did you mean "repo"?'],
  [{ org: undefined, organization: 'acme' }, 'unknown field; did you mean "org"?'],
  [{ scope: undefined }, 'is required: one of global, org, user, repo, e.g. "scope: org"'],
  [{ maxActiveRunners: undefined }, 'is required: a whole number, e.g. "maxActiveRunners: 10"'],
])('%j is answered with what is meant', async (spec, text) => {
  expect((await complaintsOf(spec)).join('\n')).toContain(text);
});
