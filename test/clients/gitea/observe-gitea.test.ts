import { describe, expect, test } from 'vitest';
import { observe, observeEach } from '../../../src/clients/gitea/observe-gitea.ts';
import { Token } from '../../../src/clients/tokens/token.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { failureOf } from '../../support/failure-of.ts';
import { answerer, fakeGitea, jobRow, json, runnerRow, see } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, OPTIONS, SECRET, targetOf } from '../../support/looking.ts';
import { serveTls } from '../../support/server.ts';

const JOBS = '/api/v1/orgs/acme/actions/jobs';
const RUNNERS = '/api/v1/orgs/acme/actions/runners';

test('an idle look asks the version and one page of jobs and nothing else', async () => {
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'completed')], runners: [runnerRow(1, 'idle')] });

  const found = await lookAt(gitea.url);

  expect(found).toEqual({ jobs: [], runners: [] });
  expect(gitea.seen.map(({ line }) => line).sort()).toEqual(
    ['/api/v1/version', `${JOBS}?status=queued&status=in_progress&page=1`].sort(),
  );
});

test('an idle look does not list runners for jobs that are only blocked', async () => {
  const gitea = await fakeGitea({ jobs: [jobRow(1, 'waiting')] });

  const found = await lookAt(gitea.url, ACME, { includeBlocked: true });

  expect(found.jobs.map(({ status }) => status)).toEqual(['blocked']);
  expect(gitea.lines()).toEqual([`${JOBS}?status=waiting&status=queued&status=in_progress&page=1`]);
});

test('a look at work finds queued, running and completed jobs and the runners in four questions', async () => {
  const jobs = [
    jobRow(1, 'completed', { runner_name: 'old' }),
    jobRow(2, 'in_progress', { runner_name: 'busy' }),
    jobRow(3),
    jobRow(4, 'waiting'),
  ];
  const gitea = await fakeGitea({
    jobs,
    runners: [runnerRow(7, 'busy', { busy: true }), runnerRow(8, 'off', { status: 'offline', ephemeral: false })],
  });

  const found = await lookAt(gitea.url);

  expect(found.jobs.map(({ id, status, runner }) => [id, status, runner])).toEqual([
    [2, 'in_progress', 'busy'],
    [3, 'queued', undefined],
    [1, 'completed', 'old'],
  ]);
  expect(found.runners).toEqual([
    { id: 7, name: 'busy', online: true, busy: true, disabled: false, ephemeral: true, labels: [] },
    { id: 8, name: 'off', online: false, busy: false, disabled: false, ephemeral: false, labels: [] },
  ]);
  expect(gitea.lines().toSorted()).toEqual([
    `${JOBS}?status=completed&sort=id&order=desc&page=1`,
    `${JOBS}?status=queued&status=in_progress&page=1`,
    `${RUNNERS}?page=1`,
  ]);
});

test.each([{}, { ahead: true }])(
  'a look at work reads runners and completed jobs for a warm pool although nothing is queued',
  async (options) => {
    const gitea = await fakeGitea({ jobs: [jobRow(1, 'completed')], runners: [runnerRow(1, 'idle')] });
    const target = targetOf(gitea.url);

    const looks = await observe([target, { ...target, key: 'pool', hasPool: true }], { ...OPTIONS, ...options });

    expect(looks.get('look')).toEqual({ jobs: [], runners: [] });
    expect(looks.get('pool')).toMatchObject({ jobs: [{ id: 1, status: 'completed' }], runners: [{ name: 'idle' }] });
  },
);

test.each([true, false])(
  'a look at work reads the runners although nothing is active if a pinned Job lives: %s',
  async (lives) => {
    const gitea = await fakeGitea({ jobs: [jobRow(1, 'completed')], runners: [runnerRow(1, 'idle')] });

    const looks = await observe([targetOf(gitea.url)], { ...OPTIONS, needsRows: () => Promise.resolve(lives) });

    expect(looks.get('look')?.runners.map(({ name }) => name)).toEqual(lives ? ['idle'] : []);
  },
);

test('a look at work lets the later answer win when a job ends between two lists', async () => {
  const gitea = await fakeGitea({
    jobs: [jobRow(1, 'in_progress', { runner_name: 'r' })],
    intercept: ({ query }, response) =>
      query.get('status') === 'completed' &&
      json(response, { jobs: [jobRow(1, 'completed', { runner_name: 'r' })], total_count: 1 }),
  });

  const found = await lookAt(gitea.url);

  expect(found.jobs.map(({ id, status }) => [id, status])).toEqual([[1, 'completed']]);
});

test('a look at work asks for running jobs once more when an ephemeral runner works and no job names it', async () => {
  let claimed = false;
  const gitea = await fakeGitea({
    jobs: [jobRow(1)],
    runners: [runnerRow(1, 'quick', { busy: true })],
    intercept: ({ path, query }, response) => {
      if (path === RUNNERS) claimed = true;
      const jobs = [jobRow(1, 'in_progress', { runner_name: 'quick' })];
      return claimed && query.getAll('status').join() === 'in_progress' && json(response, { jobs, total_count: 1 });
    },
  });

  const found = await lookAt(gitea.url);

  expect(found.jobs.map(({ status, runner }) => [status, runner])).toEqual([['in_progress', 'quick']]);
  expect(gitea.lines().filter((line) => line.includes('?status=in_progress'))).toHaveLength(1);
});

test.each([
  ['is offline', { status: 'offline', busy: true }],
  ['is idle', { busy: false }],
  ['is not ephemeral, so none of ours', { busy: true, ephemeral: false }],
])('a look at work does not ask again for a runner that %s', async (_why, fields) => {
  const gitea = await fakeGitea({ jobs: [jobRow(1)], runners: [runnerRow(1, 'other', fields)] });

  await lookAt(gitea.url);

  expect(gitea.lines().filter((line) => line.includes('?status=in_progress'))).toEqual([]);
});

test.each([
  ['1.25.0', 0, 0, 2],
  ['1.26.4', 0, 0, 2],
  ['1.27.0', 0, 1, 3],
  ['1.28.0-rc0', 0, 1, 3],
])('Gitea %s: reads attempts so that a claim does not change them', async (version, queued, running, completed) => {
  const jobs = [
    jobRow(1, 'queued', { run_attempt: 0 }),
    jobRow(2, 'in_progress', { run_attempt: 1 }),
    jobRow(3, 'completed', { run_attempt: 3 }),
  ];
  const gitea = await fakeGitea({ version, jobs });

  const found = await lookAt(gitea.url);

  const attempts = Object.fromEntries(found.jobs.map(({ id, attempt }) => [id, attempt]));
  expect(attempts).toEqual({ 1: queued, 2: running, 3: completed });
});

test('versions are what an old Gitea is told about, not the 404 of its missing lists', async () => {
  const gitea = await fakeGitea({
    version: '1.24.7',
    intercept: ({ path }, response) => !path.endsWith('/version') && json(response, {}, 404),
  });

  expect((await failureOf(lookAt(gitea.url))).code).toBe('GR-GITEA-11');
});

test('versions are asked once by a process that looks again, but not remembered when the question failed', async () => {
  let broken = true;
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => broken && path.endsWith('/version') && json(response, {}, 403),
  });
  const versions = new Map();
  const options = { ...OPTIONS, versions };
  await failureOf(observe([targetOf(gitea.url)], options));
  broken = false;

  await observe([targetOf(gitea.url)], options);
  await observe([targetOf(gitea.url)], options);

  expect(gitea.seen.filter(({ path }) => path === '/api/v1/version')).toHaveLength(2);
});

describe('where it asks', () => {
  test.each([
    ['global', { kind: 'global' } as const, '/api/v1/admin/actions'],
    ['org', ACME, '/api/v1/orgs/acme/actions'],
    ['repo', { kind: 'repo', owner: 'acme', repo: 'web.site' } as const, '/api/v1/repos/acme/web.site/actions'],
  ])('scope %s', async (_name, scope, path) => {
    const gitea = await fakeGitea({ jobs: [jobRow(1)] });

    expect(idsOf(await lookAt(gitea.url, scope))).toEqual([1]);

    expect(new Set(gitea.seen.map((seen) => seen.path))).toEqual(
      new Set(['/api/v1/version', `${path}/jobs`, `${path}/runners`]),
    );
  });

  test('a look asks below the sub-path of the base URL, with or without a slash at its end', async () => {
    const gitea = await fakeGitea({ jobs: [jobRow(1)], subPath: '/git' });

    expect(idsOf(await lookAt(gitea.url))).toEqual([1]);
    expect(idsOf(await lookAt(`${gitea.url}/`))).toEqual([1]);
  });

  test.each(['..', '.', 'a/b', '', 'a?b', 'é'])(
    'a look never asks outside the path of the scope: an org named %j is wrong input',
    async (org) => {
      const gitea = await fakeGitea();

      const failure = await failureOf(lookAt(gitea.url, { kind: 'org', org }));

      expect([failure.code, failure.exit, gitea.lines()]).toEqual(['GR-GITEA-14', 2, []]);
    },
  );

  test('a look never asks with a token of another origin', async () => {
    const gitea = await fakeGitea();
    const token = new Token(SECRET, 'https://gitea.example.com');

    const failure = await failureOf(observe([{ ...targetOf(gitea.url), token }], OPTIONS));

    expect(failure.exit).toBe(3);
    expect(failure.message).toBe(
      `look at org acme of ${gitea.origin}: its token belongs to https://gitea.example.com and is sent nowhere else. Bind a token to that Gitea.`,
    );
    expect(gitea.seen).toEqual([]);
  });

  test('a look asks with the CA that is given', async () => {
    const certificates = makeCertificates();
    const answer = answerer({ jobs: [jobRow(1)] });
    const server = await serveTls(certificates, (request, response) => answer(see(request), response));

    expect(idsOf(await lookAt(server.origin, ACME, { ca: certificates.ca }))).toEqual([1]);
    expect((await failureOf(lookAt(server.origin))).message).toContain('Give the CA as PEM with --ca-file');
  });
});

test('several targets do not mix: equal job ids on two Giteas stay apart', async () => {
  const one = await fakeGitea({ jobs: [jobRow(1, 'queued', { name: 'one' })] });
  const two = await fakeGitea({ jobs: [jobRow(1, 'queued', { name: 'two' })] });

  const looks = await observe([targetOf(one.url, ACME, '1'), targetOf(two.url, ACME, '2')], OPTIONS);

  expect([...looks].map(([key, { jobs }]) => [key, jobs.map(({ name }) => name)])).toEqual([
    ['1', ['one']],
    ['2', ['two']],
  ]);
});

test('several targets fail together when one fails, with every cause once, in the order of the targets', async () => {
  const good = await fakeGitea({ jobs: [jobRow(1)] });
  const bad = await fakeGitea({ version: '1.24.0' });
  const worse = await fakeGitea({ intercept: (_seen, response) => json(response, {}, 401) });
  const targets = [bad, good, bad, worse].map(({ url }, index) =>
    targetOf(url, { kind: 'org', org: `o${index}` }, String(index)),
  );

  const failure = await failureOf(observe(targets, OPTIONS));

  expect(failure.message.split('\n')).toEqual([
    `ask the version of Gitea: GET ${bad.origin}/api/v1/version: this is Gitea 1.24.0, which cannot list jobs. Upgrade it to 1.25.0 or newer.`,
    `GR-GITEA-01 ask the version of Gitea: GET ${worse.origin}/api/v1/version: Gitea does not accept the token (401). It has 12 characters, and tokens of Gitea have 40: put a valid one into the Secret of authToken.`,
  ]);
});

test('several targets share 8 connections to one origin', async () => {
  let now = 0;
  let most = 0;
  const gitea = await fakeGitea({
    intercept: (_seen, response) => {
      now += 1;
      most = Math.max(most, now);
      response.on('close', () => {
        now -= 1;
      });
      return false;
    },
  });

  await observe(
    Array.from({ length: 40 }, (_, index) => targetOf(gitea.url, { kind: 'org', org: `o${index}` }, String(index))),
    OPTIONS,
  );

  expect(most).toBeLessThanOrEqual(8);
  expect(gitea.lines()).toHaveLength(40);
});

test("the version is read again with a group's own token after the token of another group was refused", async () => {
  const gitea = await fakeGitea({
    intercept: ({ authorization, path }, response) =>
      path.endsWith('/version') && authorization !== `token ${SECRET}` && json(response, {}, 401),
  });
  const wrong = { ...targetOf(gitea.url, ACME, 'wrong'), token: new Token('wrong-t0ken', gitea.url) };

  const found = await observeEach([wrong, targetOf(gitea.url, ACME, 'right')], OPTIONS);

  expect(found.get('wrong')).toMatchObject({ kind: 'unauthorized' });
  expect(found.get('right')).toMatchObject({ jobs: [] });
});
