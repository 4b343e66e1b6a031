/** Rows of runners that are bound to one repository: asked only where they may tell something, and never more than ten lists in a look. */
import { describe, expect, it } from 'vitest';
import { type BoundRunner, namesAtWork } from '../../../src/clients/gitea/bound-rows.ts';
import type { ObserveOptions } from '../../../src/clients/gitea/observe-gitea.ts';
import { isBoundAtWork, type Job, type LiveState } from '../../../src/planner/evidence.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import type { Scope } from '../../../src/shared/scope.ts';
import { failureOf } from '../../support/failure-of.ts';
import {
  fakeGitea,
  type Intercept,
  type JobRow,
  jobRow,
  json,
  type RunnerRow,
  runnerRow,
} from '../../support/gitea-stand-in.ts';
import { ACME, lookAt } from '../../support/looking.ts';

const LIST = /^\/api\/v1\/repos\/([^/]+\/[^/]+)\/actions\/runners$/;
const PLAIN = [jobRow(1, 'in_progress', { runner_name: 'of-org' })];
const NOW_MS = Date.UTC(2026, 8, 1);

/** Starts a Gitea whose repositories have these rows. The list of an organization has none of them. */
async function start(rows: Readonly<Record<string, readonly RunnerRow[]>>, jobs: JobRow[] = PLAIN, also?: Intercept) {
  const gitea = await fakeGitea({
    jobs,
    runners: [runnerRow(1, 'of-org', { busy: true })],
    login: 'mia',
    intercept: (seen, response, request) => {
      if (also?.(seen, response, request)) return true;
      const repository = LIST.exec(seen.path)?.[1];
      if (repository === undefined) return undefined;
      const found = seen.query.get('page') === '1' ? (rows[repository] ?? []) : [];
      return json(response, { runners: found, total_count: rows[repository]?.length ?? 0 });
    },
  });
  /** Returns the repositories whose lists were read, sorted. */
  const asked = (): readonly string[] => gitea.seen.flatMap(({ path }) => LIST.exec(path)?.[1] ?? []).toSorted();
  const look = (bound: readonly BoundRunner[], scope: Scope = ACME, more: Partial<ObserveOptions> = {}) =>
    lookAt(gitea.url, scope, { boundRunners: async () => bound, ...more });
  return { gitea, asked, look };
}

const at = (boundTo: string, name = `of-${boundTo}`, giteaUrl?: string): BoundRunner => ({
  name,
  boundTo,
  ...(giteaUrl !== undefined && { giteaUrl }),
});
const clockAt = (nowMs: number): NonNullable<ObserveOptions['clock']> => ({ ...systemClock, now: () => nowMs });

it('rows of bound runners are read of the runners that are asked for, and of nobody else', async () => {
  const ours = runnerRow(7, 'of-acme/web');
  const { look } = await start({ 'acme/web': [ours, runnerRow(8, 'somebody-elses')] });

  const { runners } = await look([at('acme/web')]);

  expect(runners.map(({ id, name }) => [id, name])).toEqual([
    [1, 'of-org'],
    [7, 'of-acme/web'],
  ]);
});

it('rows of bound runners need no request where a job names the runner, and one for all runners of a repository', async () => {
  const jobs = [...PLAIN, jobRow(2, 'in_progress', { runner_name: 'busy' })];
  const { asked, look } = await start({}, jobs);

  await look([at('acme/web', 'busy'), at('acme/api', 'one'), at('Acme/API', 'two')]);

  expect(asked()).toEqual(['acme/api']);
});

it('a job that is over or waits names nobody', async () => {
  const { asked, look } = await start({}, [...PLAIN, jobRow(2, 'completed', { runner_name: 'busy' })]);

  await look([at('acme/web', 'busy')]);

  expect(asked()).toEqual(['acme/web']);
});

it('rows of bound runners need no request for another Gitea, another owner, or a Job that says no repository', async () => {
  const { gitea, asked, look } = await start({});

  await look([
    at('acme/web', 'a', 'https://gitea.example.org'),
    at('other/web'),
    { name: 'b' },
    at('acme/api', 'c', `${gitea.url}/`),
  ]);

  expect(asked()).toEqual(['acme/api']);
});

it.each<[Scope]>([[{ kind: 'global' }], [{ kind: 'repo', owner: 'acme', repo: 'web' }]])(
  'rows of bound runners stand in the list of scope %o anyway',
  async (scope) => {
    const { asked, look } = await start({}, PLAIN);

    await look([at('acme/web')], scope);

    expect(asked()).toEqual(scope.kind === 'repo' ? ['acme/web'] : []);
  },
);

it.each(['acme/..', 'acme/', 'acme/a b'])(
  'rows of bound runners need no request for %s, which is no repository',
  async (name) => {
    const { asked, look } = await start({});

    await look([at(name), at('acme/web')]);

    expect(asked()).toEqual(['acme/web']);
  },
);

it('rows of bound runners are read for a user, too', async () => {
  const { asked, look } = await start({});

  await look([at('mia/mine'), at('acme/web')], { kind: 'user', user: 'mia' });

  expect(asked()).toEqual(['mia/mine']);
});

it('rows of bound runners are not read while nothing is queued or runs', async () => {
  const { asked, look } = await start({}, []);

  await look([at('acme/web')]);

  expect(asked()).toEqual([]);
});

it('rows of bound runners show one at work whose job is in no list, so running jobs are read again', async () => {
  const { gitea, look } = await start({ 'acme/web': [runnerRow(7, 'of-acme/web', { busy: true })] });

  const { runners } = await look([at('acme/web')]);

  expect(runners.at(-1)).toMatchObject({ name: 'of-acme/web', busy: true });
  expect(gitea.lines().filter((line) => line.endsWith('?status=in_progress&page=1'))).toHaveLength(1);
});

it.each([404, 403])(
  'a repository that answers %i tells no rows of bound runners, and the look goes on',
  async (status) => {
    const { look } = await start(
      { 'acme/web': [runnerRow(7, 'of-acme/web')] },
      PLAIN,
      ({ path }, response) => path.startsWith('/api/v1/repos/acme/gone/') && json(response, {}, status),
    );

    const { runners } = await look([at('acme/gone'), at('acme/web')]);

    expect(runners.map(({ name }) => name)).toEqual(['of-org', 'of-acme/web']);
  },
);

it('rows of bound runners that Gitea fails to list make the look fail', async () => {
  const { look } = await start({}, PLAIN, ({ path }, response) => LIST.test(path) && json(response, {}, 501));

  const { code, message } = await failureOf(look([at('acme/web')]));

  expect([code, message]).toEqual(['GR-GITEA-05', expect.stringContaining('list the runners of repository acme/web')]);
});

describe('with 500 repositories', () => {
  const repositories = Array.from({ length: 500 }, (_, index) => `acme/r${index}`);
  const bound = repositories.map((repository) => at(repository));

  it.each([{}, { ahead: true }])(
    'a look needs ten requests more than with none, and no more than with ten',
    async (options) => {
      const counts: number[] = [];
      for (const some of [[], bound.slice(0, 10), bound]) {
        const { gitea, look } = await start({});
        await look(some, ACME, options);
        counts.push(gitea.seen.length);
      }

      const [none = 0, ten, all] = counts;
      expect([ten, all]).toEqual([none + 10, none + 10]);
    },
  );

  it('the order in which they come decides nothing', async () => {
    const askedOf = async (some: readonly BoundRunner[]): Promise<readonly string[]> => {
      const { asked, look } = await start({});
      await look(some, ACME, { clock: clockAt(NOW_MS) });
      return asked();
    };

    expect(await askedOf(bound.toReversed())).toEqual(await askedOf(bound));
  });

  it('a look needs none more while jobs name all of these runners', async () => {
    const jobs = repositories
      .slice(0, 40)
      .map((repository, index) => jobRow(index + 1, 'in_progress', { runner_name: `of-${repository}` }));
    const { asked, look } = await start({}, jobs);

    await look(bound.slice(0, 40));

    expect(asked()).toEqual([]);
  });

  it('looks at other moments ask other ones, each of them in its turn', async () => {
    const seen = new Set<string>();
    for (let ms = 0; ms < 500; ms += 10) {
      const { asked, look } = await start({});
      await look(bound, ACME, { clock: clockAt(NOW_MS + ms) });
      for (const repository of asked()) seen.add(repository);
    }

    expect(seen.size).toBe(500);
  });
});

it.each<[LiveState, boolean]>([
  ['starting', false],
  ['running', true],
  ['unknown', true],
  ['complete', false],
  ['failed', false],
  ['deleting', false],
])('the row of a bound runner whose Job is %s may tell something: %s', (state, tells) => {
  expect([isBoundAtWork({ state, boundTo: 'acme/web' }), isBoundAtWork({ state })]).toEqual([tells, false]);
});

it('a job has a runner only while it runs', () => {
  const jobs = [
    { status: 'in_progress', runner: 'one' },
    { status: 'completed', runner: 'two' },
    { status: 'in_progress' },
  ] as unknown as readonly Job[];

  expect([...namesAtWork(jobs)]).toEqual(['one']);
});
