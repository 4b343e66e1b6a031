/** Tests re-runs with a simulated Gitea: reads, requests, and the message of each refusal. */
import { describe, expect, it } from 'vitest';
import type { Simulator, SimulatorOptions } from '../../../simulator/gitea/simulator.ts';
import type { GiteaAccess } from '../../../src/clients/gitea/api.ts';
import { askForRerun, canEndRuns, endRun, readRunJobs } from '../../../src/clients/gitea/runs.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { failureOf } from '../../support/failure-of.ts';
import { json } from '../../support/gitea-stand-in.ts';
import { accessTo } from '../../support/looking.ts';
import { startAcme } from '../../support/start-acme.ts';

const PLACE = { repository: 'acme/web', runId: 1 };
const VERSIONS = ['1.26.0', '1.27.3'] as const;

/** A Gitea, and a client whose token has these scopes. */
async function open(options: SimulatorOptions = {}, scopes: readonly string[] = ['write:repository']) {
  const { simulator } = await startAcme(options);
  simulator.gitea.addToken('anna', scopes, 'the-token');
  return { simulator, access: accessTo(simulator.url, new Token('the-token', simulator.url)) };
}

/** Runs the oldest ready job on a runner of this name. */
function work({ gitea }: Simulator, name: string, result: 'success' | 'failure'): void {
  const scope = { kind: 'owner', owner: 'acme' } as const;
  const { id } = gitea.register({ name, scope, labels: ['linux'], ephemeral: true });
  gitea.poll(id);
  gitea.finish(id, result);
}

const pushed = (...keys: readonly string[]) => ({ jobs: keys.map((key) => ({ key, runsOn: ['linux'] })) });

describe.each(VERSIONS)('Gitea %s', (version) => {
  it('shows the name of the runner until its job is re-run', async () => {
    const { simulator, access } = await open({ version });
    simulator.gitea.push('acme/web', pushed('a', 'b'));
    work(simulator, 'one', 'failure');
    work(simulator, 'two', 'success');
    const before = await readRunJobs(access, PLACE);

    const asked = await askForRerun(access, PLACE, { jobId: before[0]?.id ?? 0 });
    const after = await readRunJobs(access, PLACE);

    expect(asked).toBe('asked');
    expect(before).toMatchObject([
      { runner: 'one', conclusion: 'failure', isDone: true, reruns: 0 },
      { runner: 'two', conclusion: 'success', isDone: true },
    ]);
    expect(after.map(({ runner, isDone }) => [runner, isDone])).toEqual([
      [undefined, false],
      ['two', true],
    ]);
    // Gitea raises the attempt. The lost job keeps the former one.
    expect(after[0]?.attempt).not.toBe(before[0]?.attempt);
  });

  it('re-runs all failed jobs of a run by one request', async () => {
    const { simulator, access } = await open({ version });
    simulator.gitea.push('acme/web', pushed('a', 'b', 'c'));
    work(simulator, 'one', 'failure');
    work(simulator, 'two', 'success');
    work(simulator, 'three', 'failure');

    expect(await askForRerun(access, PLACE, 'failed-jobs')).toBe('asked');

    expect((await readRunJobs(access, PLACE)).map(({ isDone }) => isDone)).toEqual([false, true, false]);
  });

  it('re-runs nothing while the run is not done', async () => {
    const { simulator, access } = await open({ version });
    simulator.gitea.push('acme/web', pushed('a', 'b'));
    work(simulator, 'one', 'failure');
    const [job] = await readRunJobs(access, PLACE);

    expect(await askForRerun(access, PLACE, { jobId: job?.id ?? 0 })).toBe('not-done');
  });

  it('reads a run that is longer than a page', async () => {
    const { simulator, access } = await open({ version });
    const keys = Array.from({ length: 60 }, (_, at) => `job${at}`);
    simulator.gitea.push('acme/web', pushed(...keys));

    expect((await readRunJobs(access, PLACE)).length).toBe(60);
  });

  it('says that a run does not exist', async () => {
    const { access } = await open({ version });

    expect(await failureOf(readRunJobs(access, PLACE))).toMatchObject({
      code: 'GR-GITEA-03',
      message: expect.stringContaining('Check that acme/web has run 1'),
    });
  });
});

it('Gitea 1.25 cannot re-run jobs: that is said before anything is asked', async () => {
  const { simulator, access } = await open({ version: '1.25.4' });

  const failure = await failureOf(readRunJobs(access, PLACE));

  expect(failure.code).toBe('GR-GITEA-16');
  expect(failure.message).toContain('this is Gitea 1.25.4, which cannot re-run jobs. Upgrade it to 1.26 or newer');
  expect(simulator.requests.map(({ target }) => target)).toEqual(['/api/v1/version']);
});

it.each([
  [400, 'workflow ci.yml is disabled', 'GR-GITEA-17'],
  [400, 'workflow run has reached the maximum of 50 attempts', 'GR-GITEA-17'],
  [500, 'the-token', 'GR-GITEA-05'],
])('an answer %i with "%s" is %s, and is not repeated', async (status, message, code) => {
  const { simulator, access } = await open();
  simulator.intercept((_, response) => json(response, { message }, status));

  const failure = await failureOf(askForRerun(access, PLACE, 'failed-jobs'));

  expect(failure.code).toBe(code);
  expect(failure.message).not.toContain(message);
  expect(simulator.requests.length).toBe(1);
});

it('409 means that somebody else makes the next attempt', async () => {
  const { simulator, access } = await open();
  simulator.intercept((_, response) => json(response, {}, 409));

  expect(await askForRerun(access, PLACE, { jobId: 1 })).toBe('not-done');
});

it.each([
  ['a page that counts more jobs than there are', { jobs: [], total_count: 7 }, 'GR-GITEA-09'],
  ['a job without a status', { jobs: [{ id: 1, run_attempt: 1 }], total_count: 1 }, 'GR-GITEA-08'],
])('readRunJobs refuses %s', async (_, body, code) => {
  const { simulator, access } = await open();
  simulator.intercept(({ url = '' }, response) => url.includes('/jobs') && json(response, body));

  expect((await failureOf(readRunJobs(access, PLACE))).code).toBe(code);
});

it.each([
  ['1.27.3', false],
  ['28.0.0', true],
] as const)('Gitea %s can end runs: %s', async (version, can) => {
  const { access } = await open({ version });
  // Facts about the version before an upgrade.
  const old = { text: '1.26.0', sortsJobs: false, attemptGrowsAtClaim: true, endsRuns: !can };
  access.versions.set(access.url, Promise.resolve(old));

  expect(await canEndRuns(access)).toBe(can);
});

it('Gitea 28.0 ends all jobs of a run at once, and one that is over stays as it is', async () => {
  const { simulator, access } = await open({ version: '28.0.0' });
  simulator.gitea.push('acme/web', {
    jobs: [
      { key: 'a', runsOn: ['linux'] },
      { key: 'b', needs: ['a'] },
    ],
  });
  const scope = { kind: 'owner', owner: 'acme' } as const;
  const { id } = simulator.gitea.register({ name: 'one', scope, labels: ['linux'], ephemeral: true, canClean: true });
  simulator.gitea.poll(id);
  expect(await readRunJobs(access, PLACE)).toMatchObject([{ isDone: false, runner: 'one' }, { isBlocked: true }]);

  await endRun(access, PLACE);
  await endRun(access, PLACE);

  const jobs = await readRunJobs(access, PLACE);
  expect(jobs.map(({ conclusion, runner }) => [conclusion, runner])).toEqual([
    ['cancelled', 'one'],
    ['cancelled', undefined],
  ]);
});

it.each<[string, (access: GiteaAccess) => Promise<unknown>]>([
  ['re-run', (access) => askForRerun(access, PLACE, { jobId: 1 })],
  ['end', (access) => endRun(access, PLACE)],
])('the failure names the scope that a token lacks to %s a run', async (_, ask) => {
  const { simulator, access } = await open({ version: '28.0.0' }, ['read:repository']);
  simulator.gitea.push('acme/web', pushed('a'));

  expect(await failureOf(ask(access))).toMatchObject({
    code: 'GR-GITEA-02',
    message: expect.stringContaining('the token lacks scope write:repository'),
  });
});
