/** Tests the page under many requests, without Gitea, and after rights were taken away. */
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/gitea/simulator.ts';
import { HttpClient } from '../../src/clients/http/http-client.ts';
import { FRESH_MS } from '../../src/page/look.ts';
import { openPage, type PageOptions } from '../../src/page/page.ts';
import { GiteaIsDown, NotSignedIn, readerRights } from '../../src/page/rights.ts';
import { MOST_OF_ONE, MOST_STREAMS, pageRequests } from '../../src/page/server.ts';
import { sessionsOf } from '../../src/page/session.ts';
import { mistakeOf, type Subscriber } from '../../src/serve/planning/events.ts';
import { WorkQueue } from '../../src/serve/queue/work-queue.ts';
import type { FeatureContext } from '../../src/serve/task.ts';
import { secretFiles } from '../../src/serve/webhook/secret-files.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from '../serve/rig.ts';
import { folderWith } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { refusing } from '../support/start-acme.ts';
import { Browser } from './browser.ts';
import { startPage } from './start-page.ts';

const LINUX = { runsOn: ['linux'] };

/** Asked of a real simulator, with a clock that a test sets. */
async function startRights() {
  const simulator = await startSimulator();
  const { gitea } = simulator;
  let aheadMs = 0;
  const clock = { ...systemClock, steadyMs: () => systemClock.steadyMs() + aheadMs };
  const http = new HttpClient({ env: {} });
  onTestFinished(async () => {
    await Promise.all([http.close(), simulator.close()]);
  });
  gitea.addUser('bert');
  gitea.addOrg('acme', { owners: ['bert'] });
  gitea.addRepo('acme/secret', { private: true });
  gitea.addToken('bert', ['read:user', 'read:repository', 'read:organization'], 'token-of-bert');
  const rights = readerRights(simulator.url, { send: (request, _, deadline) => http.send(request, deadline) }, clock);
  const scope = { kind: 'org', org: 'acme' } as const;
  const wanted = {
    repositories: new Set(['acme/secret', 'acme/gone', 'not a name']),
    scopes: new Map([['runners/ci', scope]]),
  };
  return {
    gitea,
    rights,
    simulator,
    wait: (ms: number) => {
      aheadMs += ms;
    },
    look: async () => {
      const reader = await rights.readerOf({ token: 'token-of-bert' }, wanted);
      return [reader.mayRead('acme/secret'), reader.owns('runners/ci')];
    },
  };
}

type Rights = Awaited<ReturnType<typeof startRights>>;
/** Gitea fails to answer these questions. */
const failing =
  (question: RegExp) =>
  ({ simulator }: Rights): void =>
    simulator.intercept(refusing(question, 500));

it.each<[string, number, (rights: Rights) => void, unknown]>([
  ['are taken away', 110_000, ({ gitea }) => gitea.addOrg('acme', { owners: [] }), [false, false]],
  ['are of a token that is gone', 110_000, ({ gitea }) => gitea.removeToken('token-of-bert'), NotSignedIn],
  ['nobody confirms, because Gitea is down,', 200_000, failing(/./), GiteaIsDown],
  ['Gitea does not confirm, although it knows who asks,', 200_000, failing(/tasks|permissions/), [false, false]],
])('rights that %s are gone within five minutes', async (_, stillMs, change, after) => {
  const rights = await startRights();
  const { look, wait } = rights;
  expect(await look()).toEqual([true, true]);

  change(rights);
  wait(stillMs);
  expect(await look()).toEqual([true, true]);
  wait(41_000);

  expect(await look().catch((error: Error) => error.constructor)).toEqual(after);
});

it('the rights of five hundred people take less than 10 MiB', async () => {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  const used = (): number => {
    collect();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return (arrayBuffers + heapUsed) / 1024 ** 2;
  };
  const { gitea, rights } = await startRights();
  const people = Array.from({ length: 500 }, (_, index) => `token-${index}`);
  for (const token of people) gitea.addToken('bert', ['read:user'], token);
  const before = used();

  for (const token of people) await rights.whoIs(token, 'rights');

  expect(people.every((token) => rights.loginOf(token) === 'bert')).toBe(true);
  expect(used() - before).toBeLessThan(10);
});

it('rights are asked once for many who reload at the same time', async () => {
  const { look, simulator } = await startRights();

  await Promise.all(Array.from({ length: 50 }, look));

  // Requests: who it is, three repositories of which one has no valid name, and one organization.
  expect(simulator.requests.length).toBe(4);
});

it('an outage of Gitea leaves the last figures on the page, which says how old they are and not what fails', async () => {
  const clock = new SkippingClock();
  const { got, provider, signIn, simulator } = await startPage({ clock });
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
  const browser = await signIn('anna');
  expect((await got(browser, '/')).text).toContain('acme/web #1');

  provider.bend = refusing(/\/orgs\/acme\/actions\//, 502);
  await until('the page says so', async () => {
    clock.leaveOut(FRESH_MS);
    return (await got(browser, '/')).text.includes('does not answer');
  });

  const { text } = await got(browser, '/');
  expect(text).toContain('acme/web #1');
  expect(text).toMatch(/<p class="age old">Figures of .*, \d+s old\. Gitea does not answer\.<\/p>/);
  expect(text).not.toContain('/api/v1/');
});

it('a Gitea that is down from the first look on shows an error page that tries again, and no empty list', async () => {
  const told: string[] = [];
  const hear: Subscriber = (event) => void (event.is === 'page-look-failed' && told.push(event.message));
  const clock = new SkippingClock();
  const { page, provider, simulator } = await startPage({ subscribers: [hear], clock });
  simulator.gitea.addToken('anna', ['read:user', 'read:repository'], 'pat');
  provider.bend = refusing(/\/orgs\/acme\/actions\//, 403);
  const browser = new Browser();

  const response = await fetch(`${page}/api/v1/jobs`, { headers: { authorization: 'token pat' } });
  const shown = await browser.open(`${page}/sign-in?to=/groups`);
  provider.bend = () => false;

  expect(response.status).toBe(503);
  expect(shown.status).toBe(503);
  expect(told[0]).toContain('403');
  expect(shown.headers.get('refresh')).toBe('5');
  expect(shown.text).toContain('This page tries again by itself.');
  await until('it shows the groups then', async () => {
    clock.leaveOut(FRESH_MS);
    return (await browser.ask(shown.url)).text.includes('<h1>Groups</h1>');
  });
});

it('a browser that reloads in a loop is told to wait, others are not, and a wake of Argo CD comes all the same', async () => {
  const { got, page, signIn, simulator, syncs } = await startPage();
  simulator.gitea.addUser('bert');
  const [anna, bert] = [await signIn('anna'), await signIn('bert')];
  let isOver = false;
  let refused = 0;
  const loop = (async () => {
    while (!isOver) refused += Number((await anna.ask(`${page}/`)).status === 429);
  })();
  await until('it is told to wait', () => refused > 10);
  const before = syncs();

  const ofBert = await got(bert, '/');
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
  await until('Argo CD is woken', () => syncs() > before);

  isOver = true;
  await loop;
  expect(ofBert.status).toBe(200);
});

it('a browser that reloads in a loop does not make Gitea be looked at more often', async () => {
  const { got, signIn, simulator } = await startPage();
  const browser = await signIn('anna');
  const looks = () => simulator.requests.filter(({ target }) => target.includes('status=waiting')).length;
  const [before, sinceMs] = [looks(), Date.now()];

  for (let visit = 0; visit < 10; visit += 1) await got(browser, '/');

  expect(looks() - before).toBeLessThanOrEqual(2 + (Date.now() - sinceMs) / FRESH_MS);
});

async function openStream(page: string, browser: Browser) {
  const ending = new AbortController();
  const response = await fetch(`${page}/events`, { headers: browser.headers(page), signal: ending.signal });
  return { status: response.status, end: () => ending.abort() };
}

it('one person has so many streams of events, and one that ends makes room', async () => {
  const { page, signIn } = await startPage();
  const browser = await signIn('anna');
  const streams = await Promise.all(Array.from({ length: MOST_OF_ONE }, () => openStream(page, browser)));

  const more = await openStream(page, browser);
  streams[0]?.end();
  let last = more;
  await until('there is room', async () => {
    last = await openStream(page, browser);
    return last.status === 200;
  });

  expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
  expect(more.status).toBe(429);
  for (const { end } of [...streams, last]) end();
});

it('a hundred pages that twenty people have open are served, also when all ask again in the same moment', async () => {
  let steadyMs = 0;
  let usedMs = 0;
  // Returns the CPU time of a new answer on a slow machine.
  const cpuMs = (): number => {
    usedMs += 4;
    return usedMs;
  };
  const { page, signIn, simulator } = await startPage({ clock: { ...systemClock, steadyMs: () => steadyMs }, cpuMs });
  const browsers: Browser[] = [];
  for (let person = 0; person < 20; person += 1) {
    simulator.gitea.addUser(`person-${person}`);
    browsers.push(await signIn(`person-${person}`));
  }
  const openPages = browsers.flatMap((browser) => Array.from({ length: MOST_STREAMS / 20 }, () => browser));
  // As after a restart of serve.
  steadyMs += FRESH_MS;
  const streams = await Promise.all(openPages.map((browser) => openStream(page, browser)));
  const statuses = streams.map(({ status }) => status);

  for (let round = 0; round < 4; round += 1) {
    // One after another, and at one moment of the page's clock.
    for (const browser of openPages) statuses.push((await browser.ask(`${page}/`)).status);
    steadyMs += FRESH_MS;
  }
  for (const { end } of streams) end();

  expect(statuses).toHaveLength(500);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

it.each([
  ['GR-PAGE-01', 'a key that is too short', { key: 'x'.repeat(31), secret: 's' }],
  ['GR-PAGE-01', 'no client secret', { key: 'x'.repeat(32), secret: ' \n' }],
  ['GR-SERVE-02', 'a file that is missing', { key: 'x'.repeat(32) }],
])('the start of the page ends with %s for %s, without a word of the secret', async (code, _, files) => {
  const folder = folderWith(files);
  const queue = new WorkQueue(systemClock);
  onTestFinished(() => queue.close());
  const context = { watchSecrets: secretFiles(queue, () => undefined) } as FeatureContext;
  const options = { keyFile: join(folder, 'key'), clientSecretFile: join(folder, 'secret') } as PageOptions;

  await expect(openPage(options, context)).rejects.toMatchObject({ code, message: expect.not.stringContaining('xx') });
});

it('a mistake of ours is told with its place, and whoever asks learns nothing of it', async () => {
  const mistakes: unknown[] = [];
  const { origin } = await serve((request, response) => {
    const requests = pageRequests({
      trends: () => undefined,
      url: origin,
      clock: systemClock,
      cpuMs: () => 0,
      rights: { loginOf: () => 'anna', whoIs: async () => ({ login: 'anna' }) } as never,
      sessions: sessionsOf(() => [], systemClock, false),
      logUrl: '',
      onMistake: (error) => void mistakes.push(mistakeOf(error)),
      oauth: undefined as never,
      looker: { shown: () => Promise.reject(new TypeError('a secret')) } as never,
    });
    requests(request, response);
  });

  const response = await fetch(`${origin}/api/v1/jobs`, { headers: { authorization: 'token pat' } });
  const text = await response.text();

  expect(response.status).toBe(500);
  expect(mistakes).toMatchObject([{ is: 'mistake', error: 'TypeError' }]);
  expect(text + JSON.stringify(mistakes)).not.toContain('a secret');
});
