/** Tests attacks of people who want to see more than they may, or to use another person's session. */
import { expect, it } from 'vitest';
import { sessionsOf } from '../../src/page/session.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { until } from '../serve/rig.ts';
import { talk } from '../serve/talk.ts';
import { Browser } from './browser.ts';
import { CLIENT } from './oauth-provider.ts';
import { COOKIE_KEY, type PageRig, startPage } from './start-page.ts';

/** Goes to Gitea and comes back, without opening where Gitea sends the browser. */
async function untilGiteaAnswers({ page }: PageRig, browser: Browser, to = '/'): Promise<string> {
  const begun = await browser.ask(`${page}/sign-in?${new URLSearchParams({ to })}`);
  const answered = await browser.ask(begun.headers.get('location') ?? '');
  return answered.headers.get('location') ?? '';
}

it('a sign-in that somebody else has begun does not sign his account in here', async () => {
  const rig = await startPage();
  const ofAttacker = await untilGiteaAnswers(rig, new Browser());
  const [fresh, midway] = [new Browser(), new Browser()];
  await untilGiteaAnswers(rig, midway);

  expect((await fresh.ask(ofAttacker)).status).toBe(400);
  expect((await midway.ask(ofAttacker)).status).toBe(400);
  expect((await rig.got(midway, '/')).status).toBe(401);
  // The state does not belong to these browsers, so the code is not even sent to Gitea.
  expect(rig.provider.exchanges).toHaveLength(0);
});

it('a sign-in cannot be repeated: neither its code nor its cookie is good twice', async () => {
  const rig = await startPage();
  const browser = new Browser();
  const back = await untilGiteaAnswers(rig, browser);
  const [name = '', value = ''] = [...browser.cookies(rig.page)].find(([each]) => each.endsWith('sign-in')) ?? [];
  expect((await browser.ask(back)).status).toBe(303);

  browser.plant(rig.page, name, value);

  expect((await browser.ask(back)).status).toBe(400);
});

it('a sign-in needs the verifier of its own browser at Gitea', async () => {
  const rig = await startPage();
  const browser = new Browser();
  const back = new URL(await untilGiteaAnswers(rig, browser));
  const other = new URL(await untilGiteaAnswers(rig, new Browser()));
  back.searchParams.set('code', other.searchParams.get('code') ?? '');

  const got = await browser.ask(back.href);

  expect(got.status).toBe(400);
  expect(rig.provider.tokens).toHaveLength(0);
});

it.each([
  'https://evil.example',
  '//evil.example/',
  '/\\evil.example',
  '\\\\evil.example',
  '/%09/evil.example',
  '/\t/evil.example',
  '/.//evil.example',
  'javascript:alert(1)',
  '/sign-out',
  '/signed-in?code=1',
])('a sign-in never sends a browser to %j', async (to) => {
  const rig = await startPage();
  const browser = new Browser();

  const got = await browser.ask(await untilGiteaAnswers(rig, browser, to));

  const location = new URL(got.headers.get('location') ?? '', rig.page);
  expect(got.status).toBe(303);
  expect(location.origin).toBe(rig.page);
  expect(got.headers.get('location')).not.toMatch(/^\/[/\\]|sign/);
});

it('a session is none when the cookie is forged, of another key, of a sign-in, or too old', async () => {
  const rig = await startPage();
  const anna = await rig.signIn('anna');
  const token = rig.provider.tokens[0] ?? '';
  const sealedWith = async (key: string, clock = systemClock) => {
    const sessions = sessionsOf(() => [key], clock, false);
    return ((await sessions.session.begin({ token, login: 'anna' }, 60)) ?? '').split(/[=;]/)[1] ?? '';
  };
  const statusWith = async (value: string): Promise<number> => {
    const browser = new Browser();
    browser.plant(rig.page, 'gitea-runners', value);
    return (await rig.got(browser, '/')).status;
  };
  const begun = new Browser();
  await untilGiteaAnswers(rig, begun);
  const ofSignIn = begun.cookies(rig.page).get('gitea-runners-sign-in') ?? '';

  expect((await rig.got(anna, '/')).status).toBe(200);
  expect(await statusWith(await sealedWith(COOKIE_KEY))).toBe(200);
  expect(await statusWith(await sealedWith(`${COOKIE_KEY}-another`))).toBe(401);
  expect(await statusWith(await sealedWith(COOKIE_KEY, { ...systemClock, now: () => Date.now() - 61_000 }))).toBe(401);
  expect(await statusWith(ofSignIn)).toBe(401);
  // {"alg":"none"}
  expect(await statusWith('eyJhbGciOiJub25lIn0.eyJhdWQiOiJzZXNzaW9uIn0.')).toBe(401);
});

it('a session that was planted before the sign-in is not the one after it', async () => {
  const rig = await startPage();
  rig.simulator.gitea.addUser('mallory');
  const mallory = await rig.signIn('mallory');
  const planted = mallory.cookies(rig.page).get('gitea-runners') ?? '';
  rig.provider.user = 'anna';
  const browser = new Browser();
  browser.plant(rig.page, 'gitea-runners', planted);

  const got = await browser.open(`${rig.page}/sign-in`);

  expect(got.text).toContain('<span>anna</span>');
  expect(browser.cookies(rig.page).get('gitea-runners')).not.toBe(planted);
});

it('a session stays when another site wants to end it', async () => {
  const { got, page, signIn } = await startPage();
  const browser = await signIn('anna');
  const out = (headers: Record<string, string>) => browser.ask(`${page}/sign-out`, { method: 'POST', headers });

  expect((await out({ origin: 'https://evil.example' })).status).toBe(403);
  expect((await out({})).status).toBe(403);
  expect((await browser.ask(`${page}/sign-out`)).status).toBe(405);
  expect((await got(browser, '/')).status).toBe(200);
});

it('a session is a cookie that scripts, other sites and plain connections do not get', async () => {
  const sessions = sessionsOf(() => [COOKIE_KEY], systemClock, true);

  const cookie = await sessions.session.begin({ token: 'a-token', login: 'anna' }, 60);

  expect(cookie).toMatch(/^__Host-gitea-runners=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=60$/);
  expect(cookie).not.toContain('a-token');
  expect(await sessions.session.begin({ token: 'x'.repeat(4_000), login: 'anna' }, 60)).toBeUndefined();
});

it('a session goes on when a new key stands above the old one, and ends with the old key', async () => {
  const old = sessionsOf(() => [COOKIE_KEY], systemClock, false);
  const [cookie = ''] = ((await old.session.begin({ token: 'a-token', login: 'anna' }, 60)) ?? '').split(';');
  const request = { headers: { cookie: `a=b; ${cookie}` } };
  const withKeys = (...keys: string[]) => sessionsOf(() => keys, systemClock, false);

  expect(await withKeys(`${COOKIE_KEY}2`, COOKIE_KEY).session.read(request)).toMatchObject({ login: 'anna' });
  expect(await withKeys(`${COOKIE_KEY}2`).session.read(request)).toBeUndefined();
});

it('a token in a URL is refused on every path, also a good one', async () => {
  const { page, provider, signIn } = await startPage();
  const browser = await signIn('anna');
  const [token = ''] = provider.tokens;

  for (const path of ['/', '/groups', '/api/v1/jobs', '/signed-in']) {
    for (const name of ['access_token', 'token', 'Access_Token']) {
      const got = await browser.ask(`${page}${path}?${name}=${token}`);
      expect(got.status).toBe(400);
      expect(got.text).not.toContain(token);
    }
  }
});

it('a request with another name of the host, or with another method, is refused', async () => {
  const { page, signIn } = await startPage();
  const browser = await signIn('anna');

  const asked = await talk(
    Number(new URL(page).port),
    'GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n',
  );
  expect(await asked.ended).toMatch(/^HTTP\/1\.1 421 /);
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
    expect((await browser.ask(`${page}/`, { method })).status).toBe(405);
});

it('every answer forbids scripts, frames and referrers of others, and caches', async () => {
  const { page, signIn } = await startPage();
  const browser = await signIn('anna');

  for (const path of ['/', '/groups', '/nothing', '/api/v1/jobs', '/sign-in']) {
    const { headers } = await browser.ask(`${page}${path}`);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});

it('no token and no secret gets into a page, a log line or an address', async () => {
  const log: unknown[] = [];
  const rig = await startPage({ subscribers: [(event) => void log.push(JSON.stringify(event))] });
  const browser = await rig.signIn('anna');
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const pages = await Promise.all(['/', '/groups', '/groups/runners/ci', '/x'].map((path) => rig.got(browser, path)));
  await until('something is logged', () => log.length > 0);
  const [token = 'none'] = rig.provider.tokens;

  const shown = [
    ...pages.map(({ text }) => text),
    ...log,
    ...rig.simulator.requests.map(({ target }) => target),
  ].join();
  expect(token).not.toBe('none');
  for (const secret of [token, CLIENT.secret, COOKIE_KEY]) expect(shown).not.toContain(secret);
});
