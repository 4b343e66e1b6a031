/**
 * Tests the npm package: made from a clean folder by `npm pack`, installed without a network, and every command of it
 * run.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { folderWith, groupYaml, type Outcome } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';

/** Sources of the package. `lib` is not one of them, so only `prepack` can have made it. */
const SOURCES = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'demo',
  'docs',
  'imports',
  'install',
  'package.json',
  'scripts',
  'simulator',
  'src',
  'tsconfig.json',
];

let folder = '';
let installed = '';
let bin = '';

/** Runs a program with this process' PATH and nothing else in its environment but `env`. */
function run(
  program: string,
  args: readonly string[],
  { cwd = folder, env = {} }: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise((done) => {
    execFile(program, [...args], { cwd, env: { PATH, HOME, ...env } }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : null, stdout, stderr });
    });
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'packed-'));
  const project = join(folder, 'project');
  mkdirSync(project);
  for (const name of SOURCES) cpSync(name, join(project, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(project, 'node_modules'));
  expect(await run('npm', ['pack', '--pack-destination', folder], { cwd: project })).toMatchObject({ code: 0 });

  const target = join(folder, 'target');
  mkdirSync(target);
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  // With an empty cache and no network, a further required package would fail the installation.
  const flags = ['--offline', '--cache', join(folder, 'cache'), '--no-audit', '--no-fund', '--prefix', target];
  expect(await run('npm', ['install', ...flags, join(folder, tarball)])).toMatchObject({ code: 0 });
  installed = join(target, 'node_modules', 'argocd-gitea-runners');
  bin = join(target, 'node_modules', '.bin', 'gitea-runners');
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the package holds the program, the manual and the licence, and no code cache: that fits one Node only', () => {
  expect(readdirSync(installed).sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'docs',
    'install',
    'lib',
    'package.json',
  ]);
  const pages = /\.(?:md|svg)$/;
  expect(readdirSync(join(installed, 'docs')).filter((name) => !pages.test(name))).toEqual([
    'adr',
    'examples',
    'img',
    'recipes',
  ]);
  expect(readdirSync(join(installed, 'lib')).sort()).toEqual([
    'THIRD-PARTY.txt',
    'charts.cjs',
    'cli.cjs',
    'construct.cjs',
    'construct.d.cts',
    'documents.cjs',
    'generate.cjs',
    'gitea-runners.cjs',
    'main.cjs',
    'platform.cjs',
    'pods.cjs',
    'policy.cjs',
    'proxied.cjs',
    'trace.cjs',
    'tracing.cjs',
    'unseen.cjs',
    'validate.cjs',
    'validation.cjs',
  ]);
});

it('the package needs no other package', () => {
  expect(readdirSync(join(installed, '..')).filter((name) => !name.startsWith('.'))).toEqual(['argocd-gitea-runners']);
});

it('the package names the packages that are bundled into it, with their licences', () => {
  const notices = readFileSync(join(installed, 'lib', 'THIRD-PARTY.txt'), 'utf8');

  for (const [name, words] of [
    ['cdk8s', 'Apache License'],
    ['Kubernetes', 'Apache License'],
    ['commander', 'Permission is hereby granted, free of charge'],
    ['undici', 'Permission is hereby granted, free of charge'],
    ['yaml', 'Permission to use, copy, modify, and/or distribute'],
    ['zod', 'Permission is hereby granted, free of charge'],
  ] as const) {
    const part = notices.split(`\n${'-'.repeat(80)}\n\n`).find((text) => text.startsWith(`${name} `));
    expect(part).toContain(words);
  }
});

it('the package is under the Apache License 2.0', () => {
  const { license } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { license: string };

  expect(license).toBe('Apache-2.0');
  expect(readFileSync(join(installed, 'LICENSE'), 'utf8')).toMatch(/^\s+Apache License\n\s+Version 2\.0, January 2004/);
});

describe('the command of the package', () => {
  it('the command of the package says its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

    expect(await run(bin, ['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([['--help'], ['generate'], ['explain'], ['serve'], ['sweep'], ['validate'], ['schema'], ['demo']])(
    '%s has help',
    async (command) => {
      const outcome = await run(bin, command === '--help' ? [command] : [command, '--help']);

      expect(outcome).toMatchObject({ code: 0, stderr: '' });
      expect(outcome.stdout).toContain('Usage: gitea-runners');
    },
  );

  it('generates, explains and validates', async () => {
    const { simulator, env } = await startAcme();
    simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
    const groups = folderWith({ 'ci.yaml': groupYaml(simulator.url) });

    const generated = await run(bin, ['generate', groups], { env });
    const explained = await run(bin, ['explain', groups, '--json'], { env });
    const validated = await run(bin, ['validate', groups]);

    expect(generated).toMatchObject({ code: 0 });
    expect(parseAllDocuments(generated.stdout).map((document) => document.toJS())).toMatchObject([{ kind: 'Job' }]);
    expect(explained).toMatchObject({ code: 0 });
    expect(JSON.parse(explained.stdout)).toMatchObject({ jobs: [{ verdict: 'served' }] });
    expect(validated).toMatchObject({ code: 0, stdout: '1 RunnerGroup in 1 file is valid; 1 warning\n' });
    // Its Gitea is the one of this test.
    expect(validated.stderr).toContain('warning: spec.gitea.url: is this machine');
  });

  it('the command of the package reads YAML that is not plain, by the part that is loaded for it', async () => {
    const groups = folderWith({ 'ci.yaml': `%YAML 1.1\n---\n${groupYaml('https://gitea.example.com')}` });

    expect(await run(bin, ['validate', groups])).toMatchObject({ code: 0 });
  });

  it('the command of the package asks through a proxy, by the part that is loaded for it', async () => {
    const groups = folderWith({ 'ci.yaml': groupYaml('http://gitea.example.com') });
    const env = { GITEA_URL: 'http://gitea.example.com', GITEA_TOKEN: 'x', HTTP_PROXY: 'http://127.0.0.1:1' };

    const outcome = await run(bin, ['generate', groups], { env });

    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toContain('the proxy 127.0.0.1:1 refused');
  });

  it('the command of the package prints the schema, and refuses to sweep or serve what it cannot', async () => {
    const groups = folderWith({});

    const schema = await run(bin, ['schema']);
    const swept = await run(bin, ['sweep', '--cluster', 'off', groups]);
    const served = await run(bin, ['serve', '--once']);

    expect(schema.code).toBe(0);
    expect(JSON.parse(schema.stdout)).toMatchObject({ title: 'RunnerGroup' });
    expect(swept).toMatchObject({ code: 2, stdout: '' });
    expect(served).toMatchObject({ code: 2, stdout: '' });
  });

  it('the command of the package has the cdk8s app, which writes what generate prints', async () => {
    const { simulator, env } = await startAcme();
    simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
    const groups = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
    const dist = folderWith({});

    const outcome = await run('node', [join(installed, 'lib', 'main.cjs')], {
      env: { ...env, CDK8S_OUTDIR: dist, GITEA_RUNNERS_PATH: groups },
    });

    expect(outcome).toMatchObject({ code: 0 });
    const written = readdirSync(dist).map((file) => readFileSync(join(dist, file), 'utf8'));
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(/^kind: "?Job/m);
  });
});

/** examples/cdk8s as a reader has it, with what `npm install` would fetch from a registry as links. */
function exampleProject(name = 'cdk8s'): string {
  const project = folderWith({});
  cpSync(join('examples', name), project, { recursive: true });
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '@types'), { recursive: true });
  // Copied: Node looks for cdk8s beside the real place of a linked package.
  cpSync(installed, join(modules, 'argocd-gitea-runners'), { recursive: true });
  for (const each of ['cdk8s', 'cdk8s-cli', 'constructs', 'typescript', '@types/node', 'undici-types'])
    symlinkSync(resolve('node_modules', each), join(modules, each));
  return project;
}
const tsc = resolve('node_modules', '.bin', 'tsc');
const CDK8S = 'node_modules/cdk8s-cli/bin/cdk8s';
const SYNTH = ['synth', '--check-upgrade', 'false'];

it('the construct of the package builds and synthesises the example project, whose RunnerGroups are valid', async () => {
  const cwd = exampleProject();

  expect(await run(tsc, [], { cwd })).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await run('node', [CDK8S, ...SYNTH], { cwd })).toMatchObject({ code: 0, stderr: '' });

  const validated = await run(bin, ['validate', 'dist'], { cwd });
  // cdk8s writes that file because there is a plugin.
  const stderr = 'skipped, because not a Kubernetes manifest: dist/construct-metadata.json:1\n';
  expect(validated).toEqual({ code: 0, stdout: '2 RunnerGroups in 2 files are valid\n', stderr });
  const written = parseAllDocuments(readFileSync(join(cwd, 'dist', 'runners.k8s.yaml'), 'utf8'));
  expect(written.map((each) => each.toJS())).toMatchObject([
    {
      kind: 'RunnerGroup',
      metadata: { name: 'web', namespace: 'runners' },
      spec: { org: 'web', maxActiveRunners: 10 },
    },
    { kind: 'RunnerGroup', metadata: { name: 'data' }, spec: { org: 'data', maxActiveRunners: 4 } },
  ]);
});

it.each([
  ["securityProfile: 'restricted'", "securityProfile: 'baseline'", 'web', 'spec.securityProfile', 'securityProfile'],
  ["name: 'gitea-api'", "name: 'production'", 'data', 'spec.authToken', 'namespaces.secrets'],
])(
  'the construct of the package has the plugin that judges it by the policy: %s written as %s is denied',
  async (right, wrong, name, path, rule) => {
    const cwd = exampleProject();
    const main = join(cwd, 'main.ts');
    writeFileSync(main, readFileSync(main, 'utf8').replace(right, wrong));
    await run(tsc, [], { cwd });

    const { code, stdout } = await run('node', [CDK8S, ...SYNTH], { cwd });

    expect(code).toBe(2);
    expect(stdout).toContain(`runners/${name}: ${path}: `);
    expect(stdout).toContain(`[${rule}]`);
  },
);

it("the construct of the package has the types that a platform's own app needs", async () => {
  const cwd = exampleProject('platform');

  expect(await run(tsc, [], { cwd })).toEqual({ code: 0, stdout: '', stderr: '' });
  const main = join(cwd, 'main.ts');
  writeFileSync(main, readFileSync(main, 'utf8').replace('app.groupCharts', 'app.charts_'));
  expect(await run(tsc, [], { cwd })).toMatchObject({ code: 1, stdout: expect.stringContaining('charts_') });
});

it.each([
  ["scope: 'org'", "scope: 'organisation'", '"organisation"'],
  ['maxActiveRunners: cap', 'maxActiveRunner: cap', 'maxActiveRunners'],
  ["labels: ['small:host']", "labels: 'small:host'", 'string'],
])('the construct of the package has types: %s written as %s does not compile', async (right, wrong, words) => {
  const cwd = exampleProject();
  const main = join(cwd, 'main.ts');
  writeFileSync(main, readFileSync(main, 'utf8').replace(right, wrong));

  const { code, stdout } = await run(tsc, [], { cwd });

  expect(code).not.toBe(0);
  expect(stdout).toMatch(/main\.ts\(\d+,\d+\): error TS\d+/);
  expect(stdout).toContain(words);
});

it.each([
  'import { RunnerGroup } from "argocd-gitea-runners"',
  'const { RunnerGroup } = require("argocd-gitea-runners")',
])('the construct of the package can be had by %s', async (statement) => {
  const cwd = exampleProject();
  const file = statement.startsWith('import') ? 'a.mjs' : 'a.cjs';
  writeFileSync(join(cwd, file), `${statement};\nconsole.log(typeof RunnerGroup);\n`);

  expect(await run('node', [file], { cwd })).toEqual({ code: 0, stdout: 'function\n', stderr: '' });
});
