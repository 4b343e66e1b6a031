/**
 * Tests that a test runs or validates each block of commands and of YAML in the manual, or that the block is marked:
 * not run, and why.
 */
import { chmodSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { contextOf } from '../../src/telemetry/tracing/span.ts';
import { type FencedBlock, fencedBlocks } from '../packaging/doc-blocks.ts';
import { DEPLOYMENT, OPERATOR, SCALED_JOB } from '../support/other-tools.ts';
import { folderWith, groupYaml, type Outcome, runCommand, runHere } from '../support/run-cli.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';
import { manualPages, pageOf } from './pages.ts';

interface PageBlock extends FencedBlock {
  readonly page: string;
}

/** The test that runs the blocks of a page that are marked `run`. This test runs those of `HERE`. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  // That test compares the block with the one of docs/install.md.
  'README.md': 'test/packaging/manual.test.ts',
  'docs/install.md': 'test/cluster/install.test.ts',
  'docs/migrate.md': 'test/cluster/migrate.test.ts',
  'docs/page.md': 'test/cluster/page.test.ts',
  'docs/tutorial.md': 'test/cluster/tutorial.test.ts',
  'docs/recipes/gitops.md': 'test/cluster/tutorial.test.ts',
  'docs/recipes/tokens.md': 'test/cluster/tutorial.test.ts',
  'docs/recipes/daemon.md': 'test/docs/recipes.test.ts',
  'docs/recipes/repository-cache.md': 'test/manifests/by-serve.test.ts',
  'docs/policy.md': 'test/cluster/policy.test.ts',
  'docs/report.md': 'test/cli/report/report.test.ts',
  'docs/recipes/without-argo-cd.md': 'test/cluster/tutorial.test.ts',
};
const HERE = [
  'README.md look',
  'docs/commands.md import',
  'docs/migrate.md keda',
  'docs/migrate.md operator',
  'docs/migrate.md static',
  'docs/policy.md case',
  'docs/tracing.md chart',
  'docs/tracing.md trace-id',
];

const blocks = ['README.md', ...manualPages().map((file) => `docs/${file}`)]
  .filter((page) => !page.startsWith('docs/adr/'))
  .flatMap((page) => fencedBlocks(pageOf(page).markdown).map((block): PageBlock => ({ ...block, page })));

/** YAML that is validated here. Undefined: it is something else, or marked. */
function validated({ page, language, name, text }: PageBlock): 'group' | 'policy' | undefined {
  if (language !== 'yaml' || name !== undefined) return undefined;
  const { kind, spec, metadata } = parse(text);
  if (kind === 'RunnerGroup') return 'group';
  if (kind === 'RunnerPolicy') return 'policy';
  if (kind !== undefined || (spec ?? metadata) === undefined) return undefined;
  return page === 'docs/policy.md' && spec !== undefined ? 'policy' : 'group';
}

function textOf(page: string, name: string): string {
  const block = blocks.find((each) => each.page === page && each.name === name);
  if (block === undefined) throw new Error(`${page} has no block ${name}`);
  return block.text;
}

describe('the manual', () => {
  it('the manual has no block that nobody runs and no page explains', () => {
    const unknown = blocks.filter((block) => block.name === undefined && validated(block) === undefined);

    expect(blocks.length).toBeGreaterThan(70);
    expect(unknown.map(({ page, text }) => `${page}: ${text.split('\n', 1)}`)).toEqual([]);
  });

  it('marks no block as run that no test runs', () => {
    const run = blocks.flatMap(({ page, name, notRun }) =>
      name !== undefined && notRun === undefined ? [{ page, name }] : [],
    );
    const elsewhere = run.filter(({ page, name }) => !HERE.includes(`${page} ${name}`));

    expect(run.map(({ page, name }) => `${page} ${name}`)).toEqual(expect.arrayContaining(HERE));
    for (const { page, name } of elsewhere) {
      expect(`${page} ${name}: ${readFileSync(ELSEWHERE[page] ?? '/dev/null', 'utf8').includes(page)}`).toMatch(
        /true$/,
      );
    }
  });

  it('the manual names a test that is there, where it says why a block is not run', () => {
    const named = blocks.flatMap(({ notRun = '' }) => notRun.match(/test\/[\w./-]+\.ts/g) ?? []);

    expect(named.length).toBeGreaterThan(5);
    for (const test of named) expect(readFileSync(test, 'utf8')).not.toBe('');
  });
});

it('RunnerGroups and parts of them are valid', async () => {
  const groups = blocks.filter((block) => validated(block) === 'group').map(({ text }) => asGroup(text));
  const files = groups.map((text, index): [string, string] => [`${index}.yaml`, text]);

  const { stdout } = await runHere(['validate', '-o', 'json', '.'], {}, folderWith(Object.fromEntries(files)));

  expect(groups.length).toBeGreaterThan(20);
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly { readonly code: string }[] };
  // Each file stands alone in the manual. Here all are in one folder.
  expect(findings.filter(({ code }) => !/^GR-WARN-/.test(code))).toEqual([]);
});

let made = 0;
/** Makes a whole RunnerGroup, with a name of its own, from the fields of a part. */
function asGroup(text: string): string {
  made += 1;
  const { kind, metadata, spec = {} } = parse(text);
  const base = parse(groupYaml('https://gitea.example.com'));
  if (spec.priorityTiers !== undefined) delete base.spec.maxActiveRunners;
  const whole = kind === undefined ? { ...base, spec: { ...base.spec, ...spec } } : parse(text);
  // JSON: "on" stays a word.
  return JSON.stringify({ ...whole, metadata: { ...whole.metadata, ...metadata, name: `group-${made}` } });
}

describe('RunnerPolicies and parts of them', () => {
  const policies = blocks.filter((block) => validated(block) === 'policy');

  it.each(policies)('the RunnerPolicies in $page can be read', async ({ text }) => {
    const policy = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerPolicy', ...parse(text) };
    const folder = folderWith({ 'policy.yaml': stringify(policy) });
    const groups = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') });

    const { code, stderr } = await runHere(['validate', '--policy', join(folder, 'policy.yaml')], {}, groups);

    // 3: the group is denied. A policy with an error ends with 2.
    expect({ code, stderr }).toMatchObject({ code: expect.toBeOneOf([0, 3]) });
  });

  it('the case of docs/policy.md ends as it says, beside the policy file, which is no case', async () => {
    const [policy] = policies.filter(({ page }) => page === 'docs/policy.md');
    const folder = folderWith({ 'policy.yaml': policy?.text ?? '', 'a.yaml': textOf('docs/policy.md', 'case') });
    const words = ['--policy', join(folder, 'policy.yaml')];

    expect(await runHere(['policy', 'test', ...words], {}, folder)).toMatchObject({ code: 0, stderr: '' });
  });

  it('the manual has RunnerPolicies and parts of them', () => expect(policies.length).toBeGreaterThan(1));
});

it('docs/tracing.md names values that the chart has', () => {
  const values = parse(readFileSync('install/chart/values.yaml', 'utf8'));

  for (const [key, fields] of Object.entries<object>(parse(textOf('docs/tracing.md', 'chart')))) {
    expect(Object.keys(values[key])).toEqual(expect.arrayContaining(Object.keys(fields)));
  }
});

/** Runs commands as a reader, in a folder with `lib`, with our program and a kubectl that prints a file in the path. */
async function shell(script: string, printed = ''): Promise<Outcome & { readonly folder: string }> {
  const folder = folderWith({
    'act-runner.yaml': printed,
    printed,
    'groups/x': '',
    'bin/gitea-runners': `#!/bin/sh\nexec node ${resolve('lib/gitea-runners.cjs')} "$@"\n`,
    'bin/kubectl': '#!/bin/sh\ncat "$PRINTED"\n',
  });
  symlinkSync(resolve('lib'), join(folder, 'lib'));
  for (const name of ['gitea-runners', 'kubectl']) chmodSync(join(folder, 'bin', name), 0o755);
  const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, PRINTED: join(folder, 'printed') };
  return { ...(await runCommand('sh', ['-ec', script], env, folder)), folder };
}

it('docs/tracing.md calculates the id that the program gives a trace', async () => {
  const script = textOf('docs/tracing.md', 'trace-id').replace('JOB_ID', '5310').replace('ATTEMPT', '2');

  const { traceId } = contextOf({ origin: 'https://gitea.example.com', job: { id: 5310, attempt: 2 } });
  expect((await shell(script)).stdout).toBe(`${traceId}\n`);
});

it.each([
  ['docs/commands.md', 'import', DEPLOYMENT, 'groups/ci.yaml', { maxActiveRunners: 3 }],
  ['docs/migrate.md', 'operator', OPERATOR, 'ci.yaml', { maxActiveRunners: 5 }],
  ['docs/migrate.md', 'keda', SCALED_JOB, 'ci.yaml', { maxActiveRunners: 7 }],
  ['docs/migrate.md', 'static', DEPLOYMENT, 'ci.yaml', { maxActiveRunners: 3 }],
])('%s: %s writes a RunnerGroup that is valid', async (page, name, manifest, file, spec) => {
  const object = parse(manifest);
  const list = stringify({ apiVersion: 'v1', kind: 'List', items: object.items ?? [object] });

  const { code, stderr, folder } = await shell(textOf(page, name), list);

  expect({ code, stderr }).toMatchObject({ code: 0 });
  const [group] = parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document) => document.toJS());
  expect(group).toMatchObject({ kind: 'RunnerGroup', spec });
  if (page === 'docs/migrate.md') expect(group.metadata.namespace).toBe('runners');
});

it('README: a look at one’s own Gitea says what would happen to each job', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'unit', runsOn: ['ubuntu-latest'] }] });
  const script = textOf('README.md', 'look').replaceAll(
    'https://gitea.example.com GITEA_TOKEN=…',
    `${simulator.url} GITEA_TOKEN=${TOKEN}`,
  );

  const { code, stdout, stderr } = await shell(script);

  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/acme\/web unit +ubuntu-latest /);
});
