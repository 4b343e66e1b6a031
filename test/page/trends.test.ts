/** Tests the trends that an owner of a group sees, and their requests to Gitea. */
import { expect, it } from 'vitest';
import { MOST_TREND_PAGES } from '../../src/page/trends.ts';
import { runnerName } from '../../src/planner/names.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from '../serve/rig.ts';
import { jobRow, json } from '../support/gitea-stand-in.ts';
import { refusing } from '../support/start-acme.ts';
import type { Browser } from './browser.ts';
import { type PageRig, startPage } from './start-page.ts';

const PATH = '/groups/runners/ci/trends';
const MINUTE_MS = 60_000;
const isOfHistory = (target: string): boolean =>
  target.includes('/orgs/acme/actions/jobs') && target.includes('status=completed');

/** A page, and CI jobs that waited two minutes and ran for eight, on runners of the group. Its clock is set by the test. */
async function startTrended() {
  let nowMs = Date.now() - 60 * MINUTE_MS;
  let aheadMs = 0;
  const clock = { ...systemClock, steadyMs: () => systemClock.steadyMs() + aheadMs };
  const rig = await startPage({ clock }, { now: () => nowMs });
  const { gitea, url } = rig.simulator;
  gitea.addRepo('acme/api');
  for (const [repository, result] of [
    ['acme/web', 'success'],
    ['acme/web', 'failure'],
    ['acme/api', 'success'],
  ] as const) {
    nowMs = Date.now() - 60 * MINUTE_MS;
    const [{ id = 0 } = {}] = gitea.push(repository, { jobs: [{ key: 'build', runsOn: ['linux'] }] }).jobs;
    const name = runnerName(
      '',
      { namespace: 'runners', name: 'ci', origin: url, templateHash: '' },
      { id, attempt: 1 },
      0,
    );
    const runner = gitea.register({ name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'] });
    nowMs += 2 * MINUTE_MS;
    gitea.poll(runner.id);
    nowMs += 8 * MINUTE_MS;
    gitea.finish(runner.id, result);
  }
  nowMs = Date.now();
  return {
    ...rig,
    wait: (ms: number): void => {
      aheadMs += ms;
    },
  };
}

/** The page says that Gitea is asked, and tries again by itself. */
async function trends({ got }: PageRig, browser: Browser, path = PATH) {
  let shown = await got(browser, path);
  await until('Gitea has told', async () => {
    if (shown.status !== 503) return true;
    expect(shown.headers.get('refresh')).toBe('5');
    await new Promise((resolve) => setTimeout(resolve, 200));
    shown = await got(browser, path);
    return shown.status !== 503;
  });
  return shown;
}

it('trends show waits by day and minutes by repository, as pictures and as tables, and ask once an hour', async () => {
  const rig = await startTrended();
  const { got, signIn, wait } = rig;
  const anna = await signIn('anna');
  expect((await got(anna, '/groups/runners/ci')).text).toContain(`href="${PATH}"`);

  const { text } = await trends(rig, anna);

  const words = text
    .replace(/<svg.*?<\/svg>/gs, 'BAR')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
  const today = new Date(Date.now() - 50 * MINUTE_MS).toISOString().slice(0, 10);
  expect(words).toContain(`Day (UTC) Jobs Failed Wait p50 Wait p95 Bar ${today} 3 1 (33 %) 2m00s 2m00s BAR`);
  expect(words).toContain('acme/web 2 1 (50 %) 16 BAR acme/api 1 0 (0 %) 8 BAR');
  expect(text.match(/<svg [^>]*aria-hidden="true"/g)).toHaveLength(3);
  expect(text).not.toContain('style=');

  wait(59 * MINUTE_MS);
  expect((await got(anna, PATH)).status).toBe(200);
  wait(2 * MINUTE_MS);
  expect((await got(anna, PATH)).status).toBe(503);
});

it('trends are for owners of the group alone, and name no repository that they may not read', async () => {
  const rig = await startTrended();
  const { got, page, signIn, simulator } = rig;
  simulator.gitea.addUser('dora');
  simulator.gitea.addRepo('acme/hidden', { private: true });
  simulator.gitea.addToken('anna', ['read:user', 'read:organization'], 'for-less');
  const dora = await signIn('dora');
  const ask = async (): Promise<Response> =>
    await fetch(`${page}/api/v1${PATH}`, { headers: { authorization: 'token for-less' } });

  expect((await got(dora, PATH)).status).toBe(404);
  expect(simulator.requests.some(({ target }) => target.includes('/hidden'))).toBe(false);
  await until('Gitea has told', async () => (await ask()).status === 200);

  const answer = (await (await ask()).json()) as Readonly<Record<string, unknown>>;
  expect(answer).toMatchObject({ group: 'runners/ci', isWhole: true, repositories: [], otherRepositories: 2 });
  expect(answer['days']).toMatchObject([{ jobs: 3, failed: 1, waitP50: { atLeast: 120, atMost: 120 } }]);
  expect(JSON.stringify(answer)).not.toContain('acme/');
});

it('trends read at most so many pages, and say that there is more', async () => {
  const rig = await startTrended();
  const { signIn, simulator } = rig;
  const anna = await signIn('anna');
  const now = new Date().toISOString();
  const rows = Array.from({ length: 50 }, (_, index) =>
    jobRow(index + 1, 'completed', { conclusion: 'success', created_at: now, started_at: now, completed_at: now }),
  );
  let last = 0;
  simulator.intercept((request, response) => {
    const target = request.url ?? '';
    if (!isOfHistory(target)) return false;
    last = Math.max(last, Number(/[?&]page=(\d+)/.exec(target)?.[1]));
    json(response, { jobs: rows, total_count: 100_000 });
    return true;
  });

  const { text } = await trends(rig, anna);

  // Besides the first one.
  expect(last).toBe(MOST_TREND_PAGES + 1);
  expect(text).toContain('Gitea has more CI jobs than are read here');
});

it('trends say that Gitea does not answer, and no more', async () => {
  const rig = await startTrended();
  const { got, signIn, simulator } = rig;
  const anna = await signIn('anna');
  simulator.intercept(refusing(/\/orgs\/acme\/actions\/jobs.*status=completed/, 502));

  await until('it says so', async () => (await got(anna, PATH)).text.includes('Gitea does not answer.'));

  expect((await got(anna, PATH)).text).not.toContain('/api/v1/');
});
