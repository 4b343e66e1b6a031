/**
 * Tests the workflows and issue templates of this repository: actionlint reads all of them, and a real Gitea runs the
 * CI workflow. It leaves out what this machine does not have: actions of others, docker, time for all tests.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { PLAIN_GIT } from './workflows.ts';

const FOLDERS = ['.gitea/workflows', '.github/workflows'];
const files = FOLDERS.flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));
const VERSION = '1.27.3';
const REPOSITORY = 'acme/product';
/** Four jobs install the packages and build the program, two at a time. */
const LONGEST_MS = 900_000;
const RUNNERS = { name: 'ci', labels: ['ubuntu-latest:host'], cap: 2 };

describe('the workflows', () => {
  it('the workflows are correct for actionlint', () => {
    const actionlint = join(inject('builds').actionlint, 'actionlint');

    const all = [...files, 'docs/examples/check-runnergroups.yml'];
    const printed = execFileSync(actionlint, ['-shellcheck=', '-pyflakes=', ...all]);

    expect(printed.toString()).toBe('');
    expect(files).toHaveLength(6);
    expect(() =>
      execFileSync(actionlint, ['-shellcheck=', '-'], { input: 'on: push\njobs: {a: {}}\n', stdio: 'pipe' }),
    ).toThrow();
  });

  it.each(['ci.yaml', 'nightly.yaml'])('%s is the same for Gitea and GitHub', (file) => {
    const [gitea, github] = FOLDERS.map((folder) => readFileSync(join(folder, file), 'utf8'));

    expect(github).toBe(gitea);
  });

  it.each(files)('%s names every action by its commit', (file) => {
    const uses = readFileSync(file, 'utf8').match(/uses: .*/g) ?? [];

    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });
});

describe(`Gitea ${VERSION}`, () => {
  const site = useSite('project', { version: VERSION, groups: [RUNNERS] }, async ({ admin }) => {
    await admin.call('POST', '/orgs/acme/repos', { name: 'product', default_branch: 'main', private: true });
    push(adapted(readFileSync('.gitea/workflows/ci.yaml', 'utf8')));
    // Gitea notices a moment after the push that the repository is not empty any more.
    const Repository = z.object({ empty: z.boolean() });
    const isPushed = async () => !Repository.parse(await admin.call('GET', `/repos/${REPOSITORY}`)).empty;
    await waitUntil('Gitea has the commit', isPushed);
  });

  /** The CI workflow as it can run here. */
  function adapted(text: string): string {
    const helm = join(inject('builds').helm, 'helm');
    const [checkouts, setups, tests, slowTests] = [
      / {6}- uses: actions\/checkout@.*\n/g,
      / {6}- uses: actions\/setup-.*\n.*\n/g,
      /npx vitest run/g,
      /(npm run test:long)\n(.*npm run test:package)\n/g,
    ];
    for (const part of [checkouts, setups, tests, slowTests]) expect(text).toMatch(part);
    return text
      .replaceAll(checkouts, () => PLAIN_GIT.replace('$RUNNER_TEMP/npm', site.playground.makeFolder('npm')))
      .replaceAll(setups, '')
      .replaceAll(tests, 'npx vitest run test/clients/tokens')
      .replaceAll(slowTests, '$1 -- test/planner/many-labels.test.ts\n$2 -- test/package/packed.test.ts\n')
      .replace('run: .ci/packages', `run: HELM=${helm} .ci/packages`)
      .replace(/ {6}- name: Image\n.*\n/, '');
  }

  /** The files of this folder as one commit. */
  function push(ci: string): void {
    // git requires an inner folder of this process' own user.
    const folder = join(site.playground.makeFolder('product'), 'files');
    const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      encoding: 'utf8',
    });
    for (const file of list.split('\0').filter(Boolean)) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      cpSync(file, join(folder, file));
    }
    writeFileSync(join(folder, '.gitea/workflows/ci.yaml'), ci);
    const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, stdio: 'pipe' });
    git('init', '--quiet', '--initial-branch=main');
    git('add', '--all');
    git('-c', 'user.name=t', '-c', 'user.email=t@example.com', 'commit', '--quiet', '--message=All');
    const { host } = new URL(site.url);
    git('push', '--quiet', `http://${site.admin.name}:${site.admin.token}@${host}/${REPOSITORY}.git`, 'main');
  }

  it(
    'runs the CI workflow: check, tests on two versions of Node, packages',
    async () => {
      const jobs = await site.runAll(`/repos/${REPOSITORY}`, 4, LONGEST_MS);

      const logs = await Promise.all(jobs.map((job) => site.admin.logOf(job)));
      const outcomes = jobs.map(({ name, conclusion }) => `${name}: ${conclusion}`);
      expect(outcomes.sort(), logs.map((log) => log.slice(-3000)).join('\n')).toEqual([
        'check: success',
        'package: success',
        'test (20.18): success',
        'test (24): success',
      ]);
      expect(logs.join('\n')).toMatch(
        /Successfully packaged chart and saved it to: \S+gitea-runners-\d+\.\d+\.\d+\.tgz/,
      );
    },
    LONGEST_MS + 60_000,
  );

  it('offers the issue templates of .github, each once', async () => {
    const Templates = z.array(
      z.object({ file_name: z.string(), name: z.string(), about: z.string(), body: z.array(z.unknown()) }),
    );

    const found = Templates.parse(await site.admin.call('GET', `/repos/${REPOSITORY}/issue_templates`));
    const config = await site.admin.call('GET', `/repos/${REPOSITORY}/issue_config/validate`);

    expect(found.map(({ file_name, body }) => [file_name, body.length])).toEqual([
      ['.github/ISSUE_TEMPLATE/bug.yml', 6],
      ['.github/ISSUE_TEMPLATE/idea.yml', 3],
    ]);
    expect(config).toMatchObject({ valid: true });
  });

  it('gets the page of a release, with its files', async () => {
    const folder = site.playground.makeFolder('release');
    writeFileSync(join(folder, 'notes.md'), '### Added\n\n- A release.\n');
    writeFileSync(join(folder, 'gitea-runners-9.9.9.tgz'), 'not really');
    const env = { PATH: process.env['PATH'], API: `${site.url}/api/v1`, REPOSITORY, TOKEN: site.admin.token };

    execFileSync(process.execPath, ['scripts/gitea-release.mjs', 'v9.9.9', folder], { env, stdio: 'pipe' });

    const release = await site.admin.call('GET', `/repos/${REPOSITORY}/releases/tags/v9.9.9`);
    expect(release).toMatchObject({
      body: '### Added\n\n- A release.\n',
      draft: false,
      assets: [{ name: 'gitea-runners-9.9.9.tgz', size: 10 }],
    });
  });
});
