/** Limits of the page hold for people, whatever number of tokens and sign-ins they have. By a clock that stands still. */
import { expect, it } from 'vitest';
import type { ExplainedJob } from '../../src/answers/model.ts';
import type { Visitor } from '../../src/page/rights.ts';
import { MOST_OF_ONE, pageRequests } from '../../src/page/server.ts';
import type { Figures, Reader } from '../../src/page/view.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from '../serve/rig.ts';
import { serve } from '../support/server.ts';
import type { Browser } from './browser.ts';
import { type PageRig, startPage } from './start-page.ts';

const SCOPES = ['read:user', 'read:repository', 'read:organization'];
const LINUX = { runsOn: ['linux'] };

async function startStillPage(over: Parameters<typeof startPage>[0] = {}) {
  const time = { ms: 0 };
  const rig = await startPage({ clock: { ...systemClock, steadyMs: () => time.ms }, cpuMs: () => 0, ...over });
  return { ...rig, time };
}

async function ask({ page }: Pick<PageRig, 'page'>, token: string, path = '/jobs') {
  const response = await fetch(`${page}/api/v1${path}`, { headers: { authorization: `token ${token}` } });
  const { headers, status } = response;
  return { status, headers, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

async function statusesOf(count: number, one: (index: number) => Promise<number>): Promise<readonly number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index += 1) all.push(await one(index));
  return all;
}

async function stream(page: string, browser: Browser) {
  const ending = new AbortController();
  const { status } = await fetch(`${page}/events`, { headers: browser.headers(page), signal: ending.signal });
  return { status, end: () => ending.abort() };
}

it('one person with many tokens asks no more than with one', async () => {
  const rig = await startStillPage();
  const { gitea } = rig.simulator;
  gitea.addUser('bert');
  const tokens = Array.from({ length: 60 }, (_, index) => `token-${index}`);
  for (const token of tokens) gitea.addToken('anna', SCOPES, token);
  const bert = await rig.signIn('bert');

  // Strangers' tokens come no faster.
  const statuses = await statusesOf(60, async (index) => {
    rig.time.ms += index % 15 === 0 ? 3_000 : 0;
    return (await ask(rig, tokens[index] ?? '')).status;
  });

  // 30 at once, and 2 per second.
  expect(statuses.filter((status) => status === 200)).toHaveLength(30 + 3 * 6);
  expect(statuses.filter((status) => status === 429)).toHaveLength(60 - 48);
  expect((await rig.got(bert, '/')).status).toBe(200);
});

it('one person with many tokens has no more streams than with one, and others have theirs', async () => {
  const rig = await startStillPage();
  rig.simulator.gitea.addUser('bert');
  const streams = [];
  for (let signIn = 0; signIn < 4; signIn += 1) {
    const browser = await rig.signIn('anna');
    for (let each = 0; each < 3; each += 1) streams.push(await stream(rig.page, browser));
  }

  const ofBert = await stream(rig.page, await rig.signIn('bert'));

  expect(streams.filter(({ status }) => status === 200)).toHaveLength(MOST_OF_ONE);
  expect(ofBert.status).toBe(200);
  for (const { end } of [...streams, ofBert]) end();
});

it('one person with many tokens has Gitea asked once about all that he has signed in with', async () => {
  const rig = await startStillPage();
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
  const questions = () => rig.simulator.requests.filter(({ target }) => /\/tasks|\/permissions/.test(target)).length;
  await rig.signIn('anna');
  const before = questions();

  const again = await rig.signIn('anna');

  expect(before).toBeGreaterThan(0);
  expect((await rig.got(again, '/')).text).toContain('acme/web #1');
  expect(questions()).toBe(before);
});

it('a token for less opens nothing that another one of the same person opens', async () => {
  const rig = await startStillPage();
  const { gitea } = rig.simulator;
  gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
  gitea.addToken('anna', SCOPES, 'for-all');
  gitea.addToken('anna', ['read:user'], 'for-less');
  await rig.signIn('anna');
  const all = [await ask(rig, 'for-all'), await ask(rig, 'for-all', '/groups')];

  const less = [await ask(rig, 'for-less'), await ask(rig, 'for-less', '/groups')];

  expect(all.map(({ body }) => body)).toMatchObject([{ jobs: [{}] }, { groups: [{}] }]);
  expect(less.map(({ body }) => body)).toMatchObject([{ jobs: [] }, { groups: [] }]);
});

it('a token for less of a site administrator opens no group, and one for all opens each', async () => {
  const rig = await startStillPage();
  const { gitea } = rig.simulator;
  gitea.addUser('carl', { admin: true });
  gitea.addToken('carl', SCOPES, 'for-all');
  gitea.addToken('carl', ['read:user'], 'for-less');
  const [own] = rig.cluster.all('runnergroups');
  rig.cluster.put('runnergroups', { ...own, metadata: { namespace: 'runners', name: 'broken' }, spec: {} });
  await until('the watch has brought it', async () =>
    JSON.stringify((await ask(rig, 'for-all', '/groups')).body).includes('broken'),
  );

  const less = await ask(rig, 'for-less', '/groups');

  expect(less.body).toMatchObject({ groups: [], broken: [] });
  expect((await ask(rig, 'for-less', '/groups/runners/ci')).status).toBe(404);
  expect((await ask(rig, 'for-all', '/groups/runners/ci')).status).toBe(200);
});

it('strangers with tokens that Gitea does not know keep nobody from signing in', async () => {
  const rig = await startStillPage();
  const junk = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => (await ask(rig, `junk-${index}`)).status),
  );

  const anna = await rig.signIn('anna');

  expect(junk.filter((status) => status === 429)).toHaveLength(20);
  expect((await rig.got(anna, '/')).status).toBe(200);
});

/** Figures that count how often they are read, and people with the rights of their names. */
async function startMaking() {
  let read = 0;
  const newFigures = () =>
    ({
      get explanation() {
        read += 1;
        return { checkedAt: new Date(0).toISOString(), groups: [], jobs: [], runners: [] };
      },
      ...{
        repositories: new Set(),
        scopes: new Map(),
        begun: [],
        runOf: () => undefined,
        pods: new Map(),
        instance: '',
      },
      details: () => (job: ExplainedJob) => job,
    }) as Figures;
  const looked = { figures: newFigures(), atMs: 0 };
  const readerOf = async ({ token }: Visitor): Promise<Reader> => {
    const [login = '', rights = ''] = token.split('-');
    return { login, isAdmin: false, mayRead: () => true, owns: () => true, unknown: 0, rights };
  };
  const { origin } = await serve((request, response) => {
    requests ??= pageRequests({
      trends: () => undefined,
      ...{ url: origin, clock: systemClock, cpuMs: () => 0, logUrl: '', sessions: undefined as never },
      onMistake: (error) => {
        throw error;
      },
      oauth: undefined as never,
      rights: { loginOf: () => 'anybody', whoIs: async () => ({}), readerOf } as never,
      looker: { shown: async () => looked } as never,
    });
    requests(request, response);
  });
  let requests: ReturnType<typeof pageRequests> | undefined;
  /** Returns how often the page was made for this token. */
  const made = async (token: string, path?: string): Promise<number> => {
    read = 0;
    expect((await ask({ page: origin }, token, path)).status).toBe(200);
    return read;
  };
  return { made, look: () => Object.assign(looked, { figures: newFigures() }) };
}

it('what was made of a look is for all with the same rights, and for nobody with others', async () => {
  const { look, made } = await startMaking();

  expect(await made('anna-all')).toBeGreaterThan(0);
  expect(await made('anna-all')).toBe(0);
  expect(await made('bert-all')).toBe(0);
  expect(await made('carl-less')).toBeGreaterThan(0);
  // The person's rights have changed.
  expect(await made('anna-less')).toBe(0);
  expect(await made('anna-all', '/jobs?repository=web')).toBeGreaterThan(0);
  expect(await made('anna-all', '/jobs?page=2')).toBeGreaterThan(0);
  expect(await made('anna-all', '/groups')).toBeGreaterThan(0);
  look();
  expect(await made('anna-all')).toBeGreaterThan(0);
});

/** Starts a page on which each new answer costs this CPU time, by a meter that the test sets. */
async function startDearPage(costMs: number) {
  let usedMs = 0;
  const rig = await startStillPage({
    cpuMs: () => {
      usedMs += costMs;
      return usedMs;
    },
  });
  for (const person of ['bert', 'carl', 'dora']) rig.simulator.gitea.addUser(person);
  return rig;
}

it('CPU time that one person may use leaves some for others, and comes back with time', async () => {
  const rig = await startDearPage(150);
  const [anna, bert] = [await rig.signIn('anna'), await rig.signIn('bert')];

  const statuses = await statusesOf(15, async () => (await rig.got(anna, '/')).status);
  const refused = await rig.got(anna, '/');
  const ofBert = await rig.got(bert, '/');
  rig.time.ms += 20_000;

  expect(statuses.filter((status) => status === 200).length).toBeLessThan(15);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(ofBert.status).toBe(200);
  expect((await rig.got(anna, '/')).status).toBe(200);
});

it('CPU time of all people together is an eighth of a core', async () => {
  const rig = await startDearPage(150);
  const browsers: Browser[] = [];
  for (const person of ['anna', 'bert', 'carl', 'dora']) browsers.push(await rig.signIn(person));
  const round = (visits: number) =>
    statusesOf(visits, async (index) => (await rig.got(browsers[index % 4] as Browser, '/')).status).then(
      (all) => all.filter((status) => status === 200).length,
    );
  await round(60);
  let served = 0;

  for (let turn = 0; turn < 20; turn += 1) {
    rig.time.ms += 3_000;
    served += await round(12);
  }

  // A minute has 7.5 s of CPU time, and each visit takes 150 ms and one.
  expect(served).toBeGreaterThan(20);
  expect(served).toBeLessThanOrEqual(50);
});
