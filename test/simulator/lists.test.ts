/** Pages, order, status words and shapes of the lists of the simulated Gitea. */
import { describe, expect, it } from 'vitest';
import type { SimulatorOptions } from '../../simulator/gitea/simulator.ts';
import { addRunner, jobs, startAcme, VERSIONS } from './acme.ts';

const ORG_JOBS = '/orgs/acme/actions/jobs';

describe('pages of the jobs list', () => {
  it.each<[what: string, options: SimulatorOptions, all: number, queries: readonly string[], rows: readonly number[]]>([
    ['have 30 rows when no limit is asked for', {}, 60, [''], [30]],
    ['take a page or limit that is no number for the default', {}, 31, ['?page=x&limit=-1'], [30]],
    [
      'are clamped to MAX_RESPONSE_ITEMS, and Gitea says nothing',
      { maxResponseItems: 20 },
      45,
      [1, 2, 3, 4].map((page) => `?limit=50&page=${page}`),
      [20, 20, 5, 0],
    ],
  ])('%s', async (_, options, all, queries, rows) => {
    const { gitea, get } = await startAcme(options);
    gitea.push('acme/web', { jobs: jobs(all) });

    const pages = await Promise.all(queries.map((query) => get(`${ORG_JOBS}${query}`)));

    expect(pages.map(({ body }) => [body.jobs.length, body.total_count])).toEqual(rows.map((each) => [each, all]));
  });

  it.each([
    ['1.25.4', null, false],
    ['1.26.0', '3', true],
    ['1.27.3', '3', true],
  ] as const)('%s sends X-Total-Count %s', async (version, count, link) => {
    const { gitea, get, url } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(3) });

    const { headers } = await get(`${ORG_JOBS}?limit=2`);

    expect(headers.get('x-total-count')).toBe(count);
    expect(headers.get('link')?.startsWith(`<${url}/api/v1${ORG_JOBS}?limit=2&page=2>; rel="next"`) ?? false).toBe(
      link,
    );
  });

  it('builds Link and URLs from ROOT_URL, not from the name that was asked', async () => {
    const { gitea, get } = await startAcme({ rootUrl: 'https://git.example.com/git', subPath: '/other' });
    gitea.push('acme/web', { jobs: jobs(2) });

    const { headers, body } = await get(`${ORG_JOBS}?limit=1`);

    expect(headers.get('link')).toContain('<https://git.example.com/git/api/v1/orgs/acme/actions/jobs?');
    expect(body.jobs[0]?.url).toBe('https://git.example.com/git/api/v1/repos/acme/web/actions/jobs/1');
  });

  it('pages of the jobs list never sends X-Total-Count for runners', async () => {
    const { gitea, get } = await startAcme();
    addRunner(gitea);

    const { headers, body } = await get('/admin/actions/runners');

    expect([headers.get('x-total-count'), body.total_count]).toEqual([null, 1]);
  });
});

describe('order of the jobs list', () => {
  it.each([
    ['1.26.0', 'by id, whatever order is asked for', '', [1, 2, 3]],
    ['1.26.0', 'by id, whatever order is asked for', '?sort=id&order=desc', [1, 2, 3]],
    ['1.27.3', 'by id', '', [1, 2, 3]],
    ['1.27.3', 'as it is asked for', '?sort=id&order=desc', [3, 2, 1]],
  ] as const)('%s lists %s: %s', async (version, _, query, ids) => {
    const { gitea, get } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(3) });

    const { body } = await get(`${ORG_JOBS}${query}`);

    expect(body.jobs.map(({ id }) => id)).toEqual(ids);
  });

  it('1.26 may list in any order, as long as it is the same for every page', async () => {
    const { gitea, get } = await startAcme({ version: '1.26.0', databaseOrder: 'shuffled' });
    gitea.push('acme/web', { jobs: jobs(9) });

    const pages = await Promise.all([1, 2, 3].map((page) => get(`${ORG_JOBS}?limit=3&page=${page}`)));

    const ids = pages.flatMap(({ body }) => body.jobs.map((job) => job.id));
    expect(ids).not.toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(ids.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe('status words', () => {
  it.each(VERSIONS)('%s shows ready as queued, blocked as waiting', async (version) => {
    const { gitea, get } = await startAcme({ version });
    gitea.push('acme/web', { jobs: [{ key: 'build' }, { key: 'test', needs: ['build'] }] });

    const { body } = await get(ORG_JOBS);

    expect(body.jobs.map((job) => [job.name, job.status])).toEqual([
      ['build', 'queued'],
      ['test', 'waiting'],
    ]);
  });

  it.each([
    ['queued', ['ready']],
    ['waiting', ['blocked']],
    ['queued&status=waiting', ['ready', 'blocked']],
    ['pending', ['blocked']],
    ['requested', ['blocked']],
    ['action_required', ['blocked']],
    ['in_progress', ['running']],
    ['completed', ['done']],
    ['success', ['done']],
    ['failure', []],
    ['timed_out', []],
  ])('status=%s finds %j', async (words, names) => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', {
      jobs: [{ key: 'done' }, { key: 'running' }, { key: 'ready' }, { key: 'blocked', needs: ['ready'] }],
    });
    const [first, second] = [addRunner(gitea), addRunner(gitea)];
    gitea.poll(first);
    gitea.poll(second);
    gitea.finish(first);

    const { body } = await get(`${ORG_JOBS}?status=${words}`);

    expect(body.jobs.map((job) => job.name)).toEqual(names);
  });
});

describe('shapes', () => {
  it.each([
    ['1.25.4', null],
    ['1.26.0', []],
    ['1.27.3', []],
  ] as const)(
    '%s has steps %j for a job nobody claimed, 1970 for unset times and null for no labels',
    async (version, steps) => {
      const { gitea, get } = await startAcme({ version });
      gitea.push('acme/web', { jobs: [{ key: 'odd', runsOn: null }] });

      const { body } = await get(ORG_JOBS);

      const times = { created_at: '2026-09-01T00:00:00Z', started_at: '1970-01-01T00:00:00Z' };
      expect(body.jobs[0]).toMatchObject({ labels: null, steps, ...times });
      expect(body.jobs[0]).not.toHaveProperty('runner_name');
    },
  );

  it.each([
    ['1.25.4', false],
    ['1.26.0', true],
  ] as const)('%s has the runner field disabled: %s', async (version, has) => {
    const { gitea, get } = await startAcme({ version });
    addRunner(gitea);

    const { body } = await get('/admin/actions/runners');

    expect(Object.hasOwn(body.runners[0] ?? {}, 'disabled')).toBe(has);
  });

  it('expands a matrix into one ready job for each leg', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'test', matrix: ['1', '2', '3'] }] });

    const { body } = await get(`${ORG_JOBS}?status=queued`);

    expect(body.jobs.map((job) => job.name)).toEqual(['test (1)', 'test (2)', 'test (3)']);
  });

  it('1.27 lists the call of a reusable workflow as queued although no runner gets it', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'call', calls: [{ key: 'inner', runsOn: ['gpu'] }] }] });

    const { body } = await get(`${ORG_JOBS}?status=queued`);

    expect(body.jobs.map((job) => [job.name, job.labels])).toEqual([
      ['call', []],
      ['call / inner', ['gpu']],
    ]);
    expect(gitea.poll(addRunner(gitea, { labels: [] }))).toBeUndefined();
  });

  it.each([
    ['1.26.0', 0],
    ['1.27.3', 1],
  ] as const)('%s lists runs with their state and run_attempt %i', async (version, attempt) => {
    const { gitea, get } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(2) });

    const { body } = await get('/repos/acme/web/actions/runs?status=queued');

    expect(body.workflow_runs).toMatchObject([{ id: 1, run_attempt: attempt, status: 'queued' }]);
  });
});
