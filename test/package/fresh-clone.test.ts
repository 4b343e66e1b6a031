/** Tests the first steps of a newcomer: clone, `npm ci`, `npx cdk8s synth`. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type Outcome, runNode } from '../support/run-cli.ts';

let clone = '';

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'fresh-clone-'));
  // Files that `git clone` would copy after a commit of the changes here.
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'], {
    encoding: 'utf8',
  });
  const deleted = new Set(execFileSync('git', ['ls-files', '--deleted'], { encoding: 'utf8' }).split('\n'));
  for (const file of listed.split('\n').filter((name) => name !== '' && !deleted.has(name))) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    copyFileSync(file, join(clone, file));
  }
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** `cdk8s ARGUMENTS` in the clone. The upgrade check would ask the internet. */
function cdk8s(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const bin = join(clone, 'node_modules', '.bin', 'cdk8s');
  return runNode([bin, ...args], { CDK8S_CHECK_UPGRADE: 'false', ...env }, clone);
}

const dist = () => join(clone, 'dist');

describe('npx cdk8s synth in a fresh clone', () => {
  beforeEach(() => rmSync(dist(), { recursive: true, force: true }));

  it('npx cdk8s synth in a fresh clone needs no build and no Gitea: it writes the Jobs of the examples, and says that the CI jobs are made up', async () => {
    const outcome = await cdk8s(['synth']);

    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stderr).toContain('Example: no Gitea is named, so no Gitea was asked. The CI jobs are made up');
    const files = readdirSync(dist()).sort();
    expect(files).toEqual(['runners.ci.k8s.yaml', 'runners.deploy.k8s.yaml']);
    const objects = files.flatMap((file) =>
      parseAllDocuments(readFileSync(join(dist(), file), 'utf8')).map((document) => document.toJS()),
    );
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      expect.stringMatching(/^Job ci-1-1-/),
      expect.stringMatching(/^Job ci-2-1-/),
      // maxActiveRunners is 1.
      expect.stringMatching(/^Job deploy-3-1-/),
    ]);
    expect(readdirSync(clone)).not.toContain('lib');
  });

  it.each([
    ['GITEA_TOKEN', { GITEA_TOKEN: 'secret' }],
    ['GITEA_URL', { GITEA_URL: 'https://other.example.com' }],
    ['a folder of Secrets', { GITEA_RUNNERS_SECRETS_DIR: '/no/such/folder' }],
    ['Argo CD', { ARGOCD_APP_NAME: 'runners' }],
    ['a PATH of the user', { GITEA_RUNNERS_PATH: 'examples' }],
  ])('npx cdk8s synth in a fresh clone makes nothing up when the environment names %s', async (_name, env) => {
    const outcome = await cdk8s(['synth'], env);

    expect(outcome.code).not.toBe(0);
    expect(outcome.stderr).toContain('GR-TOKEN-');
    expect(outcome.stderr).not.toContain('Example');
    expect(outcome.stdout).not.toContain('k8s.yaml');
  });
});

it('npx cdk8s import writes what is in imports/, and leaves cdk8s.yaml as it is', async () => {
  const made = ['argoproj.io.ts', 'gitea.bpg.pw.ts'];
  for (const file of made) rmSync(join(clone, 'imports', file));

  const outcome = await cdk8s(['import']);

  expect(outcome).toMatchObject({ code: 0 });
  for (const file of [...made.map((name) => join('imports', name)), 'cdk8s.yaml']) {
    expect(readFileSync(join(clone, file), 'utf8')).toBe(readFileSync(file, 'utf8'));
  }
});
