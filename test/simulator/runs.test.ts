/** Needs, attempts, cancels and what time does to the CI jobs of the simulated Gitea. */
import { describe, expect, it } from 'vitest';
import { type Acme, addRunner, jobs, startAcme, VERSIONS } from './acme.ts';

const JOBS = '/repos/acme/web/actions/jobs';

/** A new runner takes the next job and ends it. */
function work({ gitea }: Acme, result: 'success' | 'failure' = 'success'): string | undefined {
  const id = addRunner(gitea, { name: 'w' });
  const job = gitea.poll(id);
  if (job) gitea.finish(id, result);
  return job?.name;
}

async function attempts({ get }: Acme): Promise<(number | string)[][]> {
  const { body } = await get(`${JOBS}?sort=id`);
  return body.jobs.map((job) => [job.id, job.run_attempt, job.status]);
}

it('needs hold a job back until all legs of a matrix are done', async () => {
  const acme = await startAcme();
  acme.gitea.push('acme/web', {
    jobs: [
      { key: 'test', matrix: ['a', 'b'] },
      { key: 'ship', needs: ['test'] },
    ],
  });

  const order = [work(acme), work(acme), work(acme), work(acme)];

  expect(order).toEqual(['test (a)', 'test (b)', 'ship', undefined]);
});

it('needs skip a job when one of them failed, unless it runs always', async () => {
  const acme = await startAcme();
  const spec = [
    { key: 'a' },
    { key: 'b', needs: ['a'] },
    { key: 'c', needs: ['b'] },
    { key: 'd', needs: ['a'], always: true },
  ];
  acme.gitea.push('acme/web', { jobs: spec });
  work(acme, 'failure');

  const { body } = await acme.get(JOBS);

  expect(body.jobs.map((job) => job.conclusion ?? job.status)).toEqual(['failure', 'skipped', 'skipped', 'queued']);
});

it('needs are not looked at before somebody approves the run', async () => {
  const acme = await startAcme();
  const { run } = acme.gitea.push('acme/web', { jobs: jobs(1), needsApproval: true });

  const before = work(acme);
  acme.gitea.approve(run.id);

  expect([before, work(acme)]).toEqual([undefined, 'job0']);
});

describe('run_attempt', () => {
  it.each([
    ['1.25.4', [[1, 0, 'queued']], [[1, 1, 'in_progress']]],
    ['1.26.0', [[1, 0, 'queued']], [[1, 1, 'in_progress']]],
    ['1.27.3', [[1, 1, 'queued']], [[1, 1, 'in_progress']]],
  ] as const)('%s: %j, and %j after the claim', async (version, queued, running) => {
    const acme = await startAcme({ version });
    acme.gitea.push('acme/web', { jobs: jobs(1) });

    const before = await attempts(acme);
    acme.gitea.poll(addRunner(acme.gitea));

    expect([before, await attempts(acme)]).toEqual([queued, running]);
  });

  it('1.26: a rerun keeps the id and shows the number of earlier claims', async () => {
    const acme = await startAcme({ version: '1.26.0' });
    const { run } = acme.gitea.push('acme/web', { jobs: jobs(2) });
    work(acme);
    work(acme);

    acme.gitea.rerun(run.id, 1);

    expect(await attempts(acme)).toEqual([
      [1, 1, 'queued'],
      [2, 1, 'completed'],
    ]);
  });

  it('1.26: cancelled while queued and rerun is the same id and attempt again', async () => {
    const acme = await startAcme({ version: '1.26.0' });
    const { run } = acme.gitea.push('acme/web', { jobs: jobs(1) });
    const first = await attempts(acme);
    acme.gitea.cancelRun(run.id);

    acme.gitea.rerun(run.id);

    expect(await attempts(acme)).toEqual(first);
  });

  it('1.27: a rerun of one job makes new rows for the whole run, untouched ones as completed with their runner', async () => {
    const acme = await startAcme();
    const { run } = acme.gitea.push('acme/web', { jobs: jobs(2) });
    work(acme);
    work(acme);

    acme.gitea.rerun(run.id, 1);

    expect(await attempts(acme)).toEqual([
      [1, 1, 'completed'],
      [2, 1, 'completed'],
      [3, 2, 'queued'],
      [4, 2, 'completed'],
    ]);
    const { body } = await acme.get(`/repos/acme/web/actions/runs/${run.id}/jobs`);
    expect(body.jobs.map((job) => [job.id, job.runner_name])).toEqual([
      [3, undefined],
      [4, 'w'],
    ]);
  });

  it.each([
    ['1.25.4', 404],
    ['1.26.0', 201],
    ['1.27.3', 201],
  ] as const)('%s answers POST …/rerun with %i', async (version, expected) => {
    const acme = await startAcme({ version });
    acme.gitea.push('acme/web', { jobs: jobs(1) });
    work(acme);

    const { status } = await acme.get('/repos/acme/web/actions/runs/1/jobs/1/rerun', 'root-all', { method: 'POST' });

    expect(status).toBe(expected);
  });

  it('the simulator refuses to rerun a run that is not done', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });

    const { status, body } = await get('/repos/acme/web/actions/runs/1/rerun', 'root-all', { method: 'POST' });

    expect([status, body.message]).toEqual([400, 'this workflow run is not done']);
  });
});

it('1.27: a running job is in no filtered list, yet in_progress, until its runner reports', async () => {
  const { gitea, get } = await startAcme();
  const { run } = gitea.push('acme/web', { jobs: jobs(1) });
  const runner = addRunner(gitea);
  gitea.poll(runner);
  gitea.cancelRun(run.id);

  const words = ['queued', 'waiting', 'in_progress', 'completed'].map((word) => `status=${word}`).join('&');
  const filtered = await get(`${JOBS}?${words}`);
  const all = await get(JOBS);
  const runners = await get('/orgs/acme/actions/runners');

  const seen = [filtered.body.total_count, all.body.jobs[0]?.status, runners.body.total_count];
  expect(seen).toEqual([0, 'in_progress', 1]);
  expect([gitea.report(runner), gitea.finish(runner, 'success').status]).toEqual([true, 'cancelled']);
});

it.each([
  ['1.25.4', 'its runner', true],
  ['1.26.0', 'its runner', true],
  ['1.27.3', 'a runner that does not know the word', false],
] as const)('%s: a running job is cancelled at once and %s cut off', async (version, _, canClean) => {
  const { gitea, get } = await startAcme({ version });
  const { run } = gitea.push('acme/web', { jobs: jobs(1) });
  const runner = addRunner(gitea, { canClean });
  gitea.poll(runner);

  gitea.cancelRun(run.id);

  const { body } = await get(`${JOBS}?status=cancelled`);
  expect(body.jobs).toMatchObject([{ id: 1, conclusion: 'cancelled' }]);
  expect(() => gitea.report(runner)).toThrow('unregistered runner');
});

it('a cancel ends queued and blocked jobs of the run at once', async () => {
  const { gitea, get } = await startAcme();
  const { run } = gitea.push('acme/web', { jobs: [{ key: 'a' }, { key: 'b', needs: ['a'] }] });

  gitea.cancelRun(run.id);

  const { body } = await get(JOBS);
  expect(body.jobs.map((job) => job.conclusion)).toEqual(['cancelled', 'cancelled']);
});

describe('time', () => {
  it.each(VERSIONS)(
    '%s: completed jobs keep runner_name until the nightly clean-up, then only runner_id',
    async (version) => {
      const acme = await startAcme({ version });
      acme.gitea.push('acme/web', { jobs: jobs(1) });
      work(acme);

      const evening = await acme.get(JOBS);
      acme.gitea.cleanUp();
      const morning = await acme.get(JOBS);

      expect(evening.body.jobs[0]).toMatchObject({ runner_id: 1, runner_name: 'w' });
      expect(morning.body.jobs[0]).toMatchObject({ runner_id: 1 });
      expect(morning.body.jobs[0]).not.toHaveProperty('runner_name');
    },
  );

  it('the simulator keeps the name of a runner that is not ephemeral through the clean-up', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });
    const runner = addRunner(gitea, { name: 'stays', ephemeral: false });
    gitea.poll(runner);
    gitea.finish(runner);

    gitea.cleanUp();

    const { body } = await get(JOBS);
    expect(body.jobs[0]?.runner_name).toBe('stays');
  });

  it('cancels jobs that have waited for a day', async () => {
    const { clock, gitea } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(1) });
    clock.now += 25 * 60 * 60 * 1000;

    gitea.expire();

    expect(gitea.job(1).status).toBe('cancelled');
  });
});

it('hooks of the simulator let a job be claimed between two pages, so that the next page skips one', async () => {
  const acme = await startAcme({ maxResponseItems: 2 });
  acme.gitea.push('acme/web', { jobs: jobs(4) });
  acme.intercept((request) => {
    if (request.url?.includes('page=2')) work(acme);
    return false;
  });

  const first = await acme.get(`${JOBS}?status=queued&limit=2&page=1`);
  const second = await acme.get(`${JOBS}?status=queued&limit=2&page=2`);

  expect([first, second].flatMap(({ body }) => body.jobs.map((job) => job.id))).toEqual([1, 2, 4]);
});

it('hooks of the simulator let a request be answered with a fault, and count requests without their tokens', async () => {
  const acme = await startAcme();
  acme.intercept((_, response) => {
    response.writeHead(503).end('busy');
    return true;
  });

  const { status } = await acme.get('/version');

  expect([status, acme.requests]).toEqual([503, [{ method: 'GET', target: '/api/v1/version' }]]);
});
