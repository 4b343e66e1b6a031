/** A look that asks for everything at once finds what the patient one finds. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { observe } from '../../../src/clients/gitea/observe-gitea.ts';
import { failureOf } from '../../support/failure-of.ts';
import { answerer, fakeGitea, jobRow, jobRows, json, runnerRow } from '../../support/gitea-stand-in.ts';
import { ACME, idsOf, lookAt, OPTIONS, targetOf } from '../../support/looking.ts';
import { serve } from '../../support/server.ts';
import { FAULTS } from './faults.ts';

const JOBS = '/api/v1/orgs/acme/actions/jobs';
const RUNNERS = '/api/v1/orgs/acme/actions/runners';
const AHEAD = { ahead: true };

test('a look that asks ahead waits for no answer before it asks everything', async () => {
  const held: (() => void)[] = [];
  const content = { jobs: [jobRow(1), jobRow(2, 'completed')], runners: [runnerRow(1, 'idle')] };
  const answer = answerer(content);
  const gitea = await fakeGitea({
    // All six requests must be there before the first answer.
    intercept: (seen, response) => {
      held.push(() => answer(seen, response));
      if (held.length === 6) for (const release of held) release();
      return true;
    },
  });

  const found = await lookAt(gitea.url, ACME, AHEAD);

  expect([idsOf(found), found.runners.map(({ name }) => name)]).toEqual([[1, 2], ['idle']]);
  expect(gitea.lines().toSorted()).toEqual([
    `${JOBS}?status=completed&sort=id&order=desc&page=1`,
    `${JOBS}?status=completed&sort=id&order=desc&page=2`,
    `${JOBS}?status=completed&sort=id&order=desc&page=3`,
    `${JOBS}?status=queued&status=in_progress&page=1`,
    `${RUNNERS}?page=1`,
  ]);
});

test('a look that asks ahead finds what a patient look finds, whatever is there', async () => {
  const row = fc.record({
    status: fc.constantFrom('queued', 'in_progress', 'completed', 'waiting'),
    runner_name: fc.constantFrom('a', 'b', 'c'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('1.25.0', '1.26.4', '1.27.3'),
      fc.array(row, { maxLength: 60 }),
      fc.integer({ min: 0, max: 320 }),
      fc.array(fc.record({ busy: fc.boolean(), status: fc.constantFrom('online', 'offline') }), { maxLength: 60 }),
      async (version, rows, done, listed) => {
        const jobs = [
          ...rows.map(({ status, ...fields }, index) =>
            jobRow(1000 + index, status, status === 'queued' || status === 'waiting' ? {} : fields),
          ),
          ...jobRows(1, done, 'completed'),
        ];
        const runners = listed.map((fields, index) => runnerRow(index + 1, `r${index}`, fields));
        const gitea = await fakeGitea({ version, jobs, runners });

        const [patient, ahead] = [await lookAt(gitea.url), await lookAt(gitea.url, ACME, AHEAD)];

        expect(ahead).toEqual(patient);
        await gitea.close();
      },
    ),
    { numRuns: 60 },
  );
});

test('a look that asks ahead keeps a job active that another list shows completed: which one is older is not known', async () => {
  const gitea = await fakeGitea({
    jobs: [jobRow(1, 'in_progress', { runner_name: 'r' })],
    intercept: ({ query }, response) =>
      query.get('status') === 'completed' &&
      json(response, { jobs: [jobRow(1, 'completed', { runner_name: 'r' })], total_count: 1 }),
  });

  const found = await lookAt(gitea.url, ACME, AHEAD);

  expect(found.jobs.map(({ id, status }) => [id, status])).toEqual([[1, 'in_progress']]);
});

test('a look that asks ahead reads runners and completed jobs again when the active ones fill several pages', async () => {
  const gitea = await fakeGitea({ jobs: jobRows(1, 120), runners: [runnerRow(1, 'idle')] });

  const found = await lookAt(gitea.url, ACME, AHEAD);

  expect([found.jobs.length, found.runners.length]).toEqual([120, 1]);
  const lines = gitea.lines();
  expect(lines.lastIndexOf(`${RUNNERS}?page=1`)).toBeGreaterThan(
    lines.lastIndexOf(`${JOBS}?status=in_progress&page=1`),
  );
});

test.each(['403', 'broken'])(
  'a look that asks ahead does not care about lists (%s) that nobody needs when nothing is there',
  async (kind) => {
    const gitea = await fakeGitea({
      intercept: ({ path, query }, response, request) => {
        if (path !== RUNNERS && query.get('status') !== 'completed') return false;
        if (kind !== 'broken') return json(response, { message: 'no' }, 403);
        request.socket.destroy();
        return true;
      },
    });

    expect(await lookAt(gitea.url, ACME, AHEAD)).toEqual({ jobs: [], runners: [] });
  },
);

test.concurrent.each(FAULTS)(
  'a look that asks ahead fails as a patient look does: $name',
  async ({ handler, code, message, lasts }) => {
    const seconds = lasts ? 1 : 30;
    const server = await serve(handler());

    const failure = await failureOf(lookAt(server.origin, ACME, { ...AHEAD, deadlineMs: seconds * 1000 }));

    expect([failure.code, failure.message]).toEqual([code, message(server.origin, seconds)]);
  },
);

const SCOPES = ['a', 'b', 'c', 'd', 'e'];

test.each([
  { ahead: false, completed: 1, further: 0 },
  { ahead: true, completed: 1, further: 0 },
  { ahead: false, completed: 120, further: 2 },
  { ahead: true, completed: 120, further: 2 },
  { ahead: true, completed: 60, further: 1 },
])(
  'five scopes at work take three requests each, and one for each further page (%o)',
  async ({ ahead, completed, further }) => {
    const gitea = await fakeGitea({ jobs: [jobRow(1000), ...jobRows(1, completed, 'completed')] });
    const targets = SCOPES.map((org) => targetOf(gitea.url, { kind: 'org', org }, org));

    const looks = await observe(targets, { ...OPTIONS, ahead });

    const first = gitea.seen.filter(({ query }) => (query.get('page') ?? '1') === '1');
    // The version is asked for once.
    expect(first.length).toBe(1 + 3 * SCOPES.length);
    expect(gitea.seen.length).toBe(first.length + further * SCOPES.length);
    expect([...looks.values()].map(({ jobs }) => jobs.length)).toEqual(SCOPES.map(() => completed + 1));
  },
);
