import { expect, onTestFinished, test } from 'vitest';
import { startSimulator } from '../../../simulator/gitea/simulator.ts';
import { failureOf } from '../../support/failure-of.ts';
import { type FakeOptions, fakeGitea, jobRow, json } from '../../support/gitea-stand-in.ts';
import { idsOf, lookAt, SECRET } from '../../support/looking.ts';

const ALICE = { kind: 'user', user: 'alice' } as const;

function repo(name: string, fields: Readonly<Record<string, unknown>> = {}) {
  return { id: 1, name, owner: { login: 'alice' }, empty: false, archived: false, has_actions: true, ...fields };
}

/** A Gitea in which each repository has the jobs given. */
async function giteaWith(jobsOf: Readonly<Record<string, ReturnType<typeof jobRow>[]>>, options: FakeOptions) {
  return await fakeGitea({
    ...options,
    intercept: (seen, response, request) => {
      if (options.intercept?.(seen, response, request)) return true;
      const name = /^\/api\/v1\/repos\/alice\/([^/]+)\/actions\/jobs$/.exec(seen.path)?.[1];
      if (name === undefined) return false;
      const wanted = seen.query.getAll('status');
      const jobs = (jobsOf[name] ?? []).filter(({ status }) => wanted.includes(status));
      return json(response, { jobs, total_count: jobs.length });
    },
  });
}

const REPOS = '/api/v1/users/alice/repos';

/** A Gitea whose pages of repositories are these rows, and that counts so many. */
async function listing(rowsOf: (page: number) => readonly unknown[], total: () => string) {
  return await fakeGitea({
    intercept: ({ path, query }, response) =>
      path === REPOS && json(response, rowsOf(Number(query.get('page'))), 200, { 'x-total-count': total() }),
  });
}

test("a look with the user's own token asks one list, whatever the case of the name", async () => {
  const gitea = await fakeGitea({ login: 'Alice', jobs: [jobRow(1)] });

  expect(idsOf(await lookAt(gitea.url, ALICE))).toEqual([1]);

  expect(new Set(gitea.seen.map(({ path }) => path))).toEqual(
    new Set(['/api/v1/version', '/api/v1/user', '/api/v1/user/actions/jobs', '/api/v1/user/actions/runners']),
  );
});

test("a look with the user's own token names read:user when the token may not say whose it is", async () => {
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => path === '/api/v1/user' && json(response, {}, 403),
  });

  expect((await failureOf(lookAt(gitea.url, ALICE))).message).toBe(
    `ask whose token it is: GET ${gitea.origin}/api/v1/user: Gitea forbids it (403). The token needs scope read:user. It is in the Secret of authToken.`,
  );
});

test("a look with another user's token reads the repositories of the simulator", async () => {
  const simulator = await startSimulator();
  onTestFinished(() => simulator.close());
  simulator.gitea.addUser('root', { admin: true });
  simulator.gitea.addUser('alice');
  simulator.gitea.addRepo('alice/web');
  simulator.gitea.addToken('root', ['all'], SECRET);
  const { jobs } = simulator.gitea.push('alice/web', { jobs: [{ key: 'build' }] });

  expect(idsOf(await lookAt(simulator.url, ALICE))).toEqual(jobs.map(({ id }) => id));
});

test("a look with another user's token asks each repository that can have jobs, archived ones too", async () => {
  const repos = [
    repo('a'),
    repo('b'),
    repo('old', { archived: true }),
    repo('new', { empty: true }),
    repo('plain', { has_actions: false }),
  ];
  const jobs = {
    a: [jobRow(1)],
    b: [jobRow(2, 'in_progress', { runner_name: 'r' })],
    old: [jobRow(3), jobRow(4, 'completed')],
  };
  const gitea = await giteaWith(jobs, { repos });

  const found = await lookAt(gitea.url, ALICE);

  expect(idsOf(found)).toEqual([1, 2, 3, 4]);
  expect(found.runners).toEqual([]);
  const asked = gitea.seen.flatMap(({ path }) => /repos\/alice\/(\w+)/.exec(path)?.[1] ?? []);
  expect(new Set(asked)).toEqual(new Set(['a', 'b', 'old']));
});

test("a look with another user's token asks one question per repository while nothing is there", async () => {
  const gitea = await giteaWith({}, { repos: [repo('a'), repo('b')] });

  expect(await lookAt(gitea.url, ALICE)).toEqual({ jobs: [], runners: [] });

  expect(gitea.lines().filter((line) => line.includes('/actions/jobs'))).toHaveLength(2);
});

test("a look with another user's token reads all repositories although rows that may not be seen are cut out of the pages", async () => {
  const names = Array.from({ length: 7 }, (_, index) => `r${index}`);
  const gitea = await giteaWith(Object.fromEntries(names.map((name, index) => [name, [jobRow(index + 1)]])), {
    maxItems: 2,
    intercept: ({ path, query }, response) => {
      // 10 rows in pages of 2; page 2 is all hidden, page 3 half.
      const pages = [['r0', 'r1'], [], ['r2'], ['r3', 'r4'], ['r5', 'r6']];
      const rows = (pages[Number(query.get('page')) - 1] ?? []).map((name) => repo(name));
      return path === REPOS && json(response, rows, 200, { 'x-total-count': '10' });
    },
  });

  expect(idsOf(await lookAt(gitea.url, ALICE))).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test.each([
  [
    403,
    'GR-GITEA-02',
    'Gitea forbids it (403). The token needs scope read:repository, and its user must be one who may read the Actions of the repository (up to 1.25 its owner). It is in the Secret of authToken',
  ],
  [
    404,
    'GR-GITEA-03',
    "not found (404). Check that alice/b exists, has Actions switched on and that the token's user may see it",
  ],
])("a look with another user's token fails when one repository answers %i", async (status, code, text) => {
  const gitea = await giteaWith(
    {},
    {
      repos: [repo('a'), repo('b')],
      intercept: ({ path }, response) => path.includes('/alice/b/') && json(response, {}, status),
    },
  );

  const failure = await failureOf(lookAt(gitea.url, ALICE));

  expect(failure.code).toBe(code);
  expect(failure.message).toBe(
    `list queued and running jobs of repository alice/b: GET ${gitea.origin}/api/v1/repos/alice/b/actions/jobs: ${text}.`,
  );
});

test.each([
  ['no count of them', {}, 'the header X-Total-Count is missing, so the end of the list is unknown'],
  [
    'a count that is none',
    { 'x-total-count': 'many' },
    'the header X-Total-Count is missing, so the end of the list is unknown',
  ],
  ['too many', { 'x-total-count': '501' }, 'Gitea counts 501 repositories; at most 500 are asked one by one'],
])("a look with another user's token fails when the list of repositories has %s", async (_name, headers, text) => {
  const gitea = await fakeGitea({
    intercept: ({ path }, response) => path === REPOS && json(response, [repo('a')], 200, headers),
  });

  expect((await failureOf(lookAt(gitea.url, ALICE))).message).toContain(
    `list the repositories of user alice: GET ${gitea.origin}${REPOS}: ${text}. `,
  );
});

test.each([
  ['0', 1],
  ['1', 2],
  ['49', 50],
  ['50', 60],
])(
  "a look with another user's token fails when the list of repositories is longer than its count of %s",
  async (total, count) => {
    const rows = Array.from({ length: count }, (_, index) => repo(`r${index}`));
    const gitea = await listing(
      (page) => rows.slice((page - 1) * 50, page * 50),
      () => total,
    );

    const failure = await failureOf(lookAt(gitea.url, ALICE));

    expect([failure.code, failure.exit]).toEqual(['GR-GITEA-09', 1]);
    expect(failure.message).toContain('more rows arrived than X-Total-Count says');
  },
);

test("a look with another user's token fails when the look needs more than 2,000 requests", async () => {
  let asked = 0;
  const gitea = await fakeGitea({
    repos: Array.from({ length: 300 }, (_, index) => repo(`r${index}`)),
    intercept: ({ path, query }, response) => {
      if (!path.startsWith('/api/v1/repos/')) return false;
      asked += 1;
      // Seven pages of one row each, in every repository.
      const id = Number(/r(\d+)/.exec(path)?.[1]) * 10 + Number(query.get('page'));
      return json(response, { jobs: [jobRow(id)], total_count: 7 });
    },
  });

  const failure = await failureOf(lookAt(gitea.url, ALICE));

  expect(failure.code).toBe('GR-GITEA-10');
  expect(failure.message).toContain('the look needs more than 2000 requests. ');
  expect(asked).toBeLessThanOrEqual(2000);
});

test("a look with another user's token fails when the list of repositories never holds still", async () => {
  let total = 60;
  const gitea = await listing(
    () => [repo(`r${total}`)],
    () => String(total++),
  );

  expect((await failureOf(lookAt(gitea.url, ALICE))).code).toBe('GR-GITEA-09');
});

test.each([
  ['a name that climbs', repo('..'), 'name'],
  ['no word on Actions', repo('a', { has_actions: undefined }), 'has_actions'],
  ['a hostile owner', repo('a', { owner: { login: 'a/../b' } }), 'owner.login'],
])("a look with another user's token fails on a repository with %s", async (_name, row, field) => {
  const gitea = await fakeGitea({ repos: [row] });

  expect((await failureOf(lookAt(gitea.url, ALICE))).message).toContain(
    `the answer is not what Gitea sends: repository 1 of the page has no usable "${field}". `,
  );
});

test("a look with another user's token says that the user does not exist", async () => {
  const gitea = await fakeGitea({ intercept: ({ path }, response) => path === REPOS && json(response, {}, 404) });

  expect((await failureOf(lookAt(gitea.url, ALICE))).message).toContain(
    "Check that user alice exists and that the token's user may see it",
  );
});
