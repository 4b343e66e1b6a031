/** `report` on a real Gitea: a chain of jobs, a failure, a re-run, and the nightly clean-up; compared with what the test's own clock saw. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Usage } from '../../src/observe/usage.ts';
import { runnerName } from '../../src/planner/names.ts';
import type { ApiJob } from './account.ts';
import { IdleRunner, type Result } from './bare-runner.ts';
import { writeGroups } from './generate.ts';
import { type Gitea, startGitea } from './gitea.ts';
import { Playground, sleep, waitUntil } from './process.ts';
import { runProgram } from './program.ts';
import { workflow } from './workflows.ts';

const REPOSITORY = 'acme/web';
const within = { timeoutMs: 60_000 };
const GROUP = { name: 'ci', scope: { scope: 'org', org: 'acme' }, labels: ['linux:host'], cap: 9, secret: 'runner' };

describe.each(['1.26.0', '1.27.3'] as const)('Gitea %s', (version) => {
  let playground: Playground;
  let gitea: Gitea;
  let folder: string;
  let passed = false;

  beforeAll(async () => {
    playground = new Playground(`report-${version}`);
    gitea = await startGitea(version, inject('builds').gitea[version], playground);
    folder = playground.makeFolder('groups');
    writeGroups(folder, gitea.url, [GROUP]);
    const { admin } = gitea;
    await admin.createOrg('acme');
    await admin.createRepo('web', 'acme');
    const jobs = { build: { runsOn: 'linux', seconds: 1 }, test: { runsOn: 'linux', seconds: 1, needs: 'build' } };
    await admin.addWorkflow(REPOSITORY, 'chain.yml', workflow(jobs));
  });

  afterAll(async () => {
    await playground.close(!passed);
    if (!passed) process.stdout.write(`logs: ${playground.folder}\n`);
  });

  async function queued(name: string): Promise<ApiJob> {
    let found: ApiJob | undefined;
    await waitUntil(
      `${name} is queued`,
      async () => {
        found = (await gitea.admin.jobs('/orgs/acme', 'queued')).find((job) => job.name === name);
        return found !== undefined;
      },
      within,
    );
    if (!found) throw new Error(`no job ${name}`);
    return found;
  }

  /** Lets the job wait, and run, for so many seconds. */
  async function runJob(name: string, waitS: number, runS: number, result: Result) {
    const readyMs = Date.now();
    const { id, run_attempt: attempt } = await queued(name);
    const named = { namespace: 'runners', name: 'ci', origin: gitea.url, templateHash: '' };
    const runner = await IdleRunner.register(gitea.url, {
      name: runnerName('', named, { id, attempt }, 0),
      registrationToken: await gitea.admin.registrationToken('/orgs/acme'),
      labels: ['linux'],
    });
    await sleep(waitS * 1000);
    const startedMs = Date.now();
    await runner.take();
    await sleep(runS * 1000);
    await runner.end(result);
    return { waitS: (startedMs - readyMs) / 1000, ranS: (Date.now() - startedMs) / 1000 };
  }

  async function report(by: string): Promise<Usage & { readonly isWhole: boolean }> {
    const env = { GITEA_URL: gitea.url, GITEA_TOKEN: gitea.admin.token };
    const { exit, stderr, stdout } = await runProgram(
      ['report', '--cluster', 'off', '--since', '1h', '--by', by, '-o', 'json', folder],
      env,
    );
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    return JSON.parse(stdout) as Usage & { readonly isWhole: boolean };
  }

  it('tells what the clock of the test saw, counts a copied row once, and says what Gitea forgets', async () => {
    const { admin } = gitea;
    await admin.dispatch(REPOSITORY, 'chain.yml');
    const build = await runJob('build', 4, 6, 'RESULT_SUCCESS');
    const failed = await runJob('test', 3, 5, 'RESULT_FAILURE');
    const done = async (): Promise<ApiJob | undefined> =>
      (await admin.jobs('/orgs/acme', 'failure')).find(({ name }) => name === 'test');
    await waitUntil('the failure is shown', async () => (await done()) !== undefined, within);
    const job = await done();
    if (!job) throw new Error('no failed job');
    await admin.rerun(REPOSITORY, job);
    const again = await runJob('test', 5, 7, 'RESULT_SUCCESS');
    // Up to 1.26 the re-run has taken the row of the failure.
    const seen = version === '1.26.0' ? [build, again] : [build, failed, again];
    await waitUntil('all have ended', async () => (await admin.jobs('/orgs/acme', 'in_progress')).length === 0, within);

    const usage = await report('workflow');

    expect(usage).toMatchObject({ isWhole: true, onOtherRunners: 0, ofUnknownGroup: 0 });
    expect(usage.rows).toMatchObject([
      { name: 'acme/web chain.yml', jobs: seen.length, failed: seen.length - 2, byLabels: 0 },
    ]);
    const ranMinutes = seen.reduce((sum, { ranS }) => sum + ranS, 0) / 60;
    expect(Math.abs(usage.total.ciMinutes - ranMinutes)).toBeLessThan((2 * seen.length) / 60);
    const waits = seen.map(({ waitS }) => waitS).sort((a, b) => a - b);
    expect(usage.total.waitP95?.atLeast).toBeLessThanOrEqual((waits.at(-1) ?? 0) + 2);
    expect(usage.total.waitP95?.atMost).toBeGreaterThanOrEqual((waits.at(-1) ?? 0) - 2);
    if (version === '1.27.3') expect(usage.total.waitP50?.atLeast).toBeGreaterThanOrEqual((waits[0] ?? 0) - 2);

    await admin.call('POST', '/admin/cron/cleanup_actions');
    const forgotten = async (): Promise<boolean> =>
      (await admin.jobs('/orgs/acme', 'completed')).every(({ runner_name }) => !runner_name);
    await waitUntil('Gitea has forgotten the runners', forgotten, within);

    expect((await report('group')).rows).toMatchObject([
      { name: 'runners/ci', jobs: seen.length, byLabels: seen.length, ciMinutes: usage.total.ciMinutes },
    ]);
    passed = true;
  });
});
