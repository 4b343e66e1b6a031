/** `report` on a real Gitea: a chain of jobs, a failure, a re-run, and the nightly clean-up; compared with what the test's own clock saw. */
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../src/answers/usage.ts';
import { runnerName } from '../../src/planner/names.ts';
import type { Result } from './bare-runner.ts';
import { GITEA_VERSIONS } from './build.ts';
import { sleep, waitUntil } from './process.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

const REPOSITORY = 'acme/web';
const CHAIN = workflow({ build: { runsOn: 'linux' }, test: { runsOn: 'linux', needs: 'build' } });
const GROUP = { name: 'ci', labels: ['linux:host'], cap: 9 };

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const site = useSite('report', { version, repositories: { web: { 'chain.yml': CHAIN } }, groups: [GROUP] });

  /** Lets the job wait, and run, for so many seconds. */
  async function runJob(name: string, waitS: number, runS: number, result: Result) {
    const readyMs = Date.now();
    const { id, run_attempt: attempt } = await site.job(name, 'queued');
    const named = { namespace: 'runners', name: 'ci', origin: site.url, templateHash: '' };
    const runner = await site.idleRunner(runnerName('', named, { id, attempt }, 0), 'linux');
    await sleep(waitS * 1000);
    const startedMs = Date.now();
    await runner.take();
    await sleep(runS * 1000);
    await runner.end(result);
    return { waitS: (startedMs - readyMs) / 1000, ranS: (Date.now() - startedMs) / 1000 };
  }

  async function report(by: string): Promise<Usage & { readonly isWhole: boolean }> {
    const words = ['report', '--cluster', 'off', '--since', '1h', '--by', by, '-o', 'json'];
    const { code, stderr, stdout } = await site.ours([...words, site.folder]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Usage & { readonly isWhole: boolean };
  }

  it('report tells what the clock of the test saw, counts a copied row once, and says what Gitea forgets', async () => {
    const { admin } = site;
    await admin.dispatch(REPOSITORY, 'chain.yml');
    const build = await runJob('build', 4, 6, 'RESULT_SUCCESS');
    const failed = await runJob('test', 3, 5, 'RESULT_FAILURE');
    await admin.rerun(REPOSITORY, await site.job('test', 'failure'));
    const again = await runJob('test', 5, 7, 'RESULT_SUCCESS');
    // Up to 1.26 the re-run has taken the row of the failure.
    const seen = version === '1.26.0' ? [build, again] : [build, failed, again];
    await waitUntil('all have ended', async () => (await admin.jobs('/orgs/acme', 'in_progress')).length === 0);

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
    await waitUntil('Gitea has forgotten the runners', forgotten);

    expect((await report('group')).rows).toMatchObject([
      { name: 'runners/ci', jobs: seen.length, byLabels: seen.length, ciMinutes: usage.total.ciMinutes },
    ]);
  });
});
