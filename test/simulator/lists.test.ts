import { describe, expect, it } from 'vitest';
import { jobs, startAcme } from './acme.ts';

const ORG_JOBS = '/orgs/acme/actions/jobs';
const VERSIONS = ['1.25.4', '1.26.0', '1.27.3'] as const;

describe('pages of the jobs list', () => {
  it('has 30 rows when no limit is asked for', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(60) });

    const { body } = await get(ORG_JOBS);

    expect([body.jobs.length, body.total_count]).toEqual([30, 60]);
  });

  it('clamps the limit to MAX_RESPONSE_ITEMS and says nothing', async () => {
    const { gitea, get } = await startAcme({ maxResponseItems: 20 });
    gitea.push('acme/web', { jobs: jobs(45) });

    const pages = await Promise.all([1, 2, 3, 4].map((page) => get(`${ORG_JOBS}?limit=50&page=${page}`)));

    expect(pages.map(({ body }) => body.jobs.length)).toEqual([20, 20, 5, 0]);
    expect(pages.map(({ body }) => body.total_count)).toEqual([45, 45, 45, 45]);
  });

  it('takes a page or limit that is no number for the default', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(31) });

    const { body } = await get(`${ORG_JOBS}?page=x&limit=-1`);

    expect(body.jobs).toHaveLength(30);
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

  it('never sends X-Total-Count for runners', async () => {
    const { gitea, get } = await startAcme();
    gitea.register({ name: 'r', scope: { kind: 'owner', owner: 'acme' }, labels: [] });

    const { headers, body } = await get('/orgs/acme/actions/runners');

    expect([headers.get('x-total-count'), body.total_count]).toEqual([null, 1]);
  });
});

describe('order of the jobs list', () => {
  it('1.27 honours sort and order', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: jobs(3) });

    const [plain, desc] = await Promise.all([get(ORG_JOBS), get(`${ORG_JOBS}?sort=id&order=desc`)]);

    expect(plain.body.jobs.map((job) => job.id)).toEqual([1, 2, 3]);
    expect(desc.body.jobs.map((job) => job.id)).toEqual([3, 2, 1]);
  });

  it('1.27 answers 422 to an order it does not know', async () => {
    const { get } = await startAcme();

    const { status, body } = await get(`${ORG_JOBS}?sort=id&order=down`);

    expect([status, body.message]).toEqual([422, 'Invalid sort order: "down"']);
  });

  it('1.26 ignores sort and order', async () => {
    const { gitea, get } = await startAcme({ version: '1.26.0' });
    gitea.push('acme/web', { jobs: jobs(3) });

    const { body } = await get(`${ORG_JOBS}?sort=id&order=desc`);

    expect(body.jobs.map((job) => job.id)).toEqual([1, 2, 3]);
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
    ['pending', ['blocked']],
    ['requested', ['blocked']],
    ['action_required', ['blocked']],
    ['in_progress', ['running']],
    ['completed', ['done']],
    ['success', ['done']],
    ['failure', []],
    ['timed_out', []],
  ])('status=%s finds %j', async (word, names) => {
    const { gitea, get } = await startAcme();
    const runner = { name: 'r', scope: { kind: 'global' }, labels: ['ubuntu-latest'] } as const;
    gitea.push('acme/web', {
      jobs: [{ key: 'done' }, { key: 'running' }, { key: 'ready' }, { key: 'blocked', needs: ['ready'] }],
    });
    const [first, second] = [gitea.register(runner), gitea.register(runner)];
    gitea.poll(first.id);
    gitea.poll(second.id);
    gitea.finish(first.id);

    const { body } = await get(`${ORG_JOBS}?status=${word}`);

    expect(body.jobs.map((job) => job.name)).toEqual(names);
  });

  it('ORs repeated parameters and does not split commas', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'a' }, { key: 'b', needs: ['a'] }] });

    const both = await get(`${ORG_JOBS}?status=queued&status=waiting`);
    const comma = await get(`${ORG_JOBS}?status=queued,waiting`);

    expect(both.body.total_count).toBe(2);
    expect([comma.status, comma.body.message]).toEqual([400, 'invalid status queued,waiting']);
  });

  it.each([
    ['1.25.4', 'Invalid status running'],
    ['1.26.0', 'Invalid status running'],
    ['1.27.3', 'invalid status running'],
  ] as const)('%s answers 400 to a word it does not know', async (version, message) => {
    const { get } = await startAcme({ version });

    const answers = await Promise.all(['running', '', 'constructor'].map((word) => get(`${ORG_JOBS}?status=${word}`)));

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(answers[0]?.body.message).toBe(message);
  });
});

describe('shapes', () => {
  it.each([
    ['1.25.4', null],
    ['1.26.0', []],
    ['1.27.3', []],
  ] as const)('%s has steps %j for a job nobody claimed', async (version, steps) => {
    const { gitea, get } = await startAcme({ version });
    gitea.push('acme/web', { jobs: jobs(1) });

    const { body } = await get(ORG_JOBS);

    expect(body.jobs[0]?.steps).toEqual(steps);
  });

  it('shows unset times as 1970 and labels as null when there are none', async () => {
    const { gitea, get } = await startAcme();
    gitea.push('acme/web', { jobs: [{ key: 'odd', runsOn: null }] });

    const { body } = await get(ORG_JOBS);

    expect(body.jobs[0]).toMatchObject({
      labels: null,
      created_at: '2026-09-01T00:00:00Z',
      started_at: '1970-01-01T00:00:00Z',
    });
    expect(body.jobs[0]).not.toHaveProperty('runner_name');
  });

  it.each([
    ['1.25.4', false],
    ['1.26.0', true],
  ] as const)('%s has the runner field disabled: %s', async (version, has) => {
    const { gitea, get } = await startAcme({ version });
    gitea.register({ name: 'r', scope: { kind: 'global' }, labels: ['x'] });

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
    const runner = gitea.register({ name: 'r', scope: { kind: 'global' }, labels: [] });

    const { body } = await get(`${ORG_JOBS}?status=queued`);

    expect(body.jobs.map((job) => [job.name, job.labels])).toEqual([
      ['call', []],
      ['call / inner', ['gpu']],
    ]);
    expect(gitea.poll(runner.id)).toBeUndefined();
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
