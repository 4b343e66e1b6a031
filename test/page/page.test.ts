/** The page as a person uses it: sign-in, jobs, one job, groups, live updates, JSON. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FRESH_MS } from '../../src/page/look.ts';
import { until } from '../serve/rig.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { Browser } from './browser.ts';
import { type PageRig, podOf, startPage } from './start-page.ts';

const LINUX = { runsOn: ['linux'] };

/** Acme with a public and a private repository; anna owns it, bert is nobody there, carl administrates Gitea. */
async function startAcmePage(over: Parameters<typeof startPage>[0] = {}): Promise<PageRig> {
  const rig = await startPage(over);
  const { gitea } = rig.simulator;
  gitea.addUser('bert');
  gitea.addUser('carl', { admin: true });
  gitea.addRepo('acme/secret', { private: true });
  return rig;
}

it('sign-in leads through Gitea with PKCE to the page that was asked for', async () => {
  const { page, provider, simulator } = await startAcmePage();
  const [job] = simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] }).jobs;
  const browser = new Browser();

  const before = await browser.open(`${page}/jobs/${job?.id}`);
  const link = /href="(\/sign-in[^"]*)"/.exec(before.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const after = await browser.open(`${page}${link}`);

  expect(before.status).toBe(401);
  expect(after.status).toBe(200);
  expect(after.url).toBe(`${page}/jobs/${job?.id}`);
  expect(after.text).toContain('acme/web');
  expect(provider.exchanges).toHaveLength(1);
  expect(provider.exchanges[0]?.get('code_verifier')?.length).toBeGreaterThan(40);
});

it.each([
  ['the person says no at Gitea', { refuses: true }, 400, 'Gitea did not confirm this sign-in.'],
  ['Gitea does not answer', { exchangeFails: 502 }, 503, 'Gitea does not answer'],
  ['Gitea answers without a token', { exchangeFails: 204 }, 400, 'Gitea did not confirm this sign-in.'],
  ['something answers that speaks another protocol', { exchangeFails: 101 }, 503, 'Gitea does not answer'],
])('a sign-in says that it did not work when %s', async (_, what, status, why) => {
  const { page, provider } = await startAcmePage();
  Object.assign(provider, what);

  const got = await new Browser().open(`${page}/sign-in`);

  expect(got.status).toBe(status);
  expect(got.text).toContain(why);
});

it('a sign-in ends with the button', async () => {
  const { page, signIn, got } = await startAcmePage();
  const browser = await signIn('anna');

  const out = await browser.ask(`${page}/sign-out`, { method: 'POST', headers: { origin: page } });

  expect(out.status).toBe(303);
  expect(browser.cookies(page).size).toBe(0);
  expect((await got(browser, '/')).status).toBe(401);
});

it('a sign-in holds at another replica, which shares nothing with the first but the Secret', async () => {
  const { page, signIn, replica } = await startAcmePage();
  const browser = await signIn('anna');
  const other = await replica();
  for (const [name, value] of browser.cookies(page)) browser.plant(other, name, value);

  const got = await browser.open(`${other}/`);

  expect(got.status).toBe(200);
  expect(got.text).toContain('My jobs');
});

it('my jobs are those of repositories that the person can read in Gitea, and no others, and are searched by repository', async () => {
  const { signIn, got, simulator } = await startAcmePage();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'open-job', ...LINUX }] });
  const [hidden] = simulator.gitea.push('acme/secret', { jobs: [{ key: 'hidden-job', ...LINUX }] }).jobs;
  const [anna, bert] = [await signIn('anna'), await signIn('bert')];

  const [ofAnna, ofBert] = [await got(anna, '/'), await got(bert, '/')];

  expect(ofAnna.text).toContain('hidden-job');
  expect(ofAnna.text).toContain('open-job');
  expect(ofBert.text).toContain('open-job');
  expect(ofBert.text).not.toMatch(/hidden-job|acme\/secret/);
  expect((await got(anna, `/jobs/${hidden?.id}`)).status).toBe(200);
  const refused = await got(bert, `/jobs/${hidden?.id}`);
  expect(refused.status).toBe(404);
  expect(refused.text).toBe((await got(bert, '/jobs/987654')).text);
  const found = (await got(anna, '/?repository=SECRET')).text;
  expect(found).toMatch(/<h3>acme\/secret #1 [\s\S]*hidden-job/);
  expect(found).not.toContain('open-job');
});

it('groups are shown to owners of their scope and to site administrators, with what their runners do', async () => {
  const { cluster, signIn, got, simulator } = await startAcmePage({
    logUrl: 'https://logs.example.com/?p={pod}&n={namespace}',
  });
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
  await until('a Job is there', () => cluster.all('jobs').length === 1);
  const [job] = cluster.all('jobs');
  cluster.put('pods', podOf(job?.metadata ?? {}));
  const [anna, bert, carl] = [await signIn('anna'), await signIn('bert'), await signIn('carl')];

  const list = await got(anna, '/groups');
  const group = await got(anna, '/groups/runners/ci');

  expect(list.text).toContain('href="/groups/runners/ci"');
  expect(group.text).toContain(`<td>${job?.metadata.name}-abcde</td><td>node-7</td>`);
  expect(group.text).toContain(`https://logs.example.com/?p=${job?.metadata.name}-abcde&amp;n=runners`);
  expect((await got(bert, '/groups')).text).toContain('You own the scope of no RunnerGroup here.');
  expect((await got(bert, '/groups/runners/ci')).status).toBe(404);
  expect((await got(carl, '/groups/runners/ci')).status).toBe(200);
});

it('groups of another Gitea are not shown, not even to a site administrator', async () => {
  const { cluster, got, signIn } = await startAcmePage();
  const [own] = cluster.all('runnergroups');
  const spec = { ...(own?.['spec'] as object), gitea: { url: 'http://127.0.0.1:9' } };
  cluster.put('runnergroups', { ...own, spec, metadata: { namespace: 'runners', name: 'foreign' } });
  const browser = await signIn('carl');

  const { text } = await got(browser, '/groups');

  expect(text).toContain('runners/ci');
  expect(text).not.toContain('foreign');
});

it('live updates tell that there are new figures, and the page then shows the new job', async () => {
  const clock = new SkippingClock();
  const { page, signIn, got, simulator } = await startAcmePage({ clock });
  const browser = await signIn('anna');
  const ending = new AbortController();
  const stream = await fetch(`${page}/events`, { headers: browser.headers(page), signal: ending.signal });
  let told = '';
  const reading = (async () => {
    for await (const chunk of stream.body ?? []) told += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);

  simulator.gitea.push('acme/web', { jobs: [{ key: 'new-job', ...LINUX }] });
  await until('the page shows the job', async () => {
    clock.leaveOut(FRESH_MS);
    return (await got(browser, '/')).text.includes('new-job');
  });

  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  expect(told).toContain('event: looked');
  ending.abort();
  await reading;
});

describe('JSON', () => {
  it('JSON has the same answers for a token of the reader, and only in the header', async () => {
    const { page, signIn, simulator } = await startAcmePage();
    simulator.gitea.addToken('anna', ['read:user', 'read:repository', 'read:organization'], 'pat-of-anna');
    const [job] = simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] }).jobs;
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${page}/api/v1${path}`, { headers });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const own = { authorization: 'token pat-of-anna' };

    const jobs = await ask('/jobs', own);
    const one = await ask(`/jobs/${job?.id}`, { authorization: 'Bearer pat-of-anna' });
    const groups = await ask('/groups', own);
    const group = await ask('/groups/runners/ci', own);

    expect(jobs.body).toMatchObject({
      jobs: [{ id: job?.id, repository: 'acme/web', name: 'build', runsOn: ['linux'] }],
    });
    expect(one.body).toMatchObject({ title: expect.stringContaining(`Job ${job?.id} "build" of acme/web`) });
    expect(one.body['answer']).toContainEqual(['Group', expect.stringContaining('runners/ci')]);
    expect(groups.body).toMatchObject({ groups: [{ group: 'runners/ci', cap: 5 }] });
    expect(group.body).toMatchObject({ group: 'runners/ci', waits: expect.any(Array) });
    const browser = await signIn('anna');
    expect((await browser.ask(`${page}/api/v1/jobs`)).status).toBe(401);
    expect((await ask('/jobs')).status).toBe(401);
    expect((await ask('/jobs', { authorization: 'token nobody-knows-it' })).status).toBe(401);
    expect((await ask(`/jobs?access_token=pat-of-anna`)).status).toBe(400);
  });

  it.each([
    ['shows a token that may read nothing of repositories no job', 'read:user', 200, { jobs: [] }],
    [
      'says what a token lacks that may not tell whose it is',
      'read:repository',
      401,
      { message: expect.stringContaining('lacks the scope read:user') },
    ],
  ])('%s', async (_, scope, status, body) => {
    const { page, simulator } = await startAcmePage();
    simulator.gitea.push('acme/web', { jobs: [{ key: 'build', ...LINUX }] });
    simulator.gitea.addToken('carl', [scope], 'pat-of-carl');

    const response = await fetch(`${page}/api/v1/jobs`, { headers: { authorization: 'token pat-of-carl' } });

    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject(body);
  });
});

it('the page asks Gitea nothing while nobody looks', async () => {
  const { page, simulator } = await startAcmePage();
  await until('serve has looked', () => simulator.requests.some(({ target }) => target.includes('/actions/jobs')));
  // The looks of serve itself ask for no blocked jobs.
  const ofPage = () => simulator.requests.filter(({ target }) => /status=waiting|\/tasks|\/permissions/.test(target));

  await new Browser().open(`${page}/`);
  await fetch(`${page}/api/v1/jobs`, { headers: { authorization: 'token of-a-stranger' } });
  await sleep(300);

  expect(ofPage()).toEqual([]);
});
