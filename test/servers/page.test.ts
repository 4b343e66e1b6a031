/** The page for developers with a real Gitea that signs people in, in real Chromium. */
import { setTimeout as sleep } from 'node:timers/promises';
import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Browser as Chromium, Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { Account } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import { addPerson, PASSWORD, type RealPage, signIn as signInTo, startChromium, startRealPage } from './page-rig.ts';
import { useSite } from './site.ts';
import { workflow } from './workflows.ts';

/** A string that becomes an element if it is not escaped. */
const HOSTILE = '<img src=x onerror=window.evil=1>';

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  const ends: (() => void | Promise<void>)[] = [];
  let browser: Chromium;
  let served: RealPage;

  const evil = workflow({ evil: { runsOn: 'linux' } }).replace('  evil:', `  evil:\n    name: "${HOSTILE}"`);
  const repositories = {
    api: {
      'ci.yml': workflow({ build: { runsOn: 'linux' } }),
      'late.yml': workflow({ late: { runsOn: 'mainframe' } }),
      'evil.yml': evil,
    },
    hidden: { 'ci.yml': workflow({ 'hidden-job': { runsOn: 'linux' } }) },
    many: { 'many.yml': workflow({ part: { runsOn: 'linux', matrix: 250 } }) },
  };
  const site = useSite('page', { version, repositories }, async ({ admin, gitea }) => {
    for (const username of ['dora', 'olga']) await addPerson(gitea, username);
    await admin.call('PUT', '/repos/acme/api/collaborators/dora', { permission: 'read' });
    const teams = (await admin.call('GET', '/orgs/acme/teams')) as readonly { readonly id: number }[];
    await admin.call('PUT', `/teams/${teams[0]?.id}/members/olga`);
    for (const file of ['ci.yml', 'evil.yml']) await admin.dispatch('acme/api', file);
    await admin.dispatch('acme/hidden', 'ci.yml');
    served = await startRealPage(gitea, (end) => void ends.push(end));
    browser = await startChromium();
  });
  // Before Gitea ends: hooks of the end run from the last one on.
  afterAll(async () => {
    await browser?.close();
    for (const end of ends.reverse()) await end();
  });

  /** Returns a browser in which this person has signed in, and its errors. */
  async function signIn(
    login: string,
    options: BrowserContextOptions = {},
  ): Promise<{ readonly context: BrowserContext; readonly page: Page; readonly wrong: readonly string[] }> {
    const page = await signInTo(browser, served.url, login, options);
    const wrong: string[] = [];
    // From here on, only the page itself.
    page.on('console', (message) => {
      if (message.type() === 'error') wrong.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('request', (request) => request.url().startsWith(served.url) || wrong.push(`asked ${request.url()}`));
    return { context: page.context(), page, wrong };
  }

  /** Opens a page. A robot is faster than people may be, and trends are asked of Gitea first: it waits as the page says, and tries again. */
  async function visit(page: Page, path: string): Promise<void> {
    let answer = await page.goto(`${served.url}${path}`);
    while (answer?.status() === 429 || answer?.status() === 503) {
      const { refresh = '1', 'retry-after': seconds = refresh } = answer.headers();
      // Such a page tries again by itself, and would get in between.
      await page.goto('about:blank');
      await sleep(Number(seconds) * 1_000);
      answer = await page.goto(`${served.url}${path}`);
    }
  }

  /** Returns the findings of an accessibility checker: WCAG 2.2 and best practices. */
  async function findings(page: Page): Promise<readonly string[]> {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
    return violations.map(({ id, nodes }) => `${page.url()}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  }

  it('signs a person in, who sees the jobs that she can read and no others', async () => {
    const { context, page, wrong } = await signIn('dora');

    const text = await page.innerText('main');
    const cookies = await context.cookies(served.url);

    expect(text).toMatch(/acme\/api #\d+ .*\n+build/);
    expect(text).toContain(HOSTILE);
    expect(text).not.toContain('hidden');
    expect(await page.evaluate('window.evil')).toBeUndefined();
    expect(new URL(page.url()).search).toBe('');
    expect(cookies.find(({ name }) => name === 'gitea-runners')).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    await page.getByRole('link', { name: 'build', exact: true }).first().click();
    await page.getByRole('link', { name: 'This job in Gitea' }).waitFor();
    expect(await page.innerText('main')).toContain('Cause');
    expect(await page.getAttribute('text=This job in Gitea', 'href')).toMatch(`${site.url}/acme/api/actions/runs/`);
    expect(wrong.join('\n')).toBe('');
    await context.close();
  });

  it('the page shows a new job without a reload, and keeps the focus', async () => {
    const { context, page, wrong } = await signIn('dora');
    await page.evaluate('window.isSame = true');
    await page.getByRole('link', { name: 'build', exact: true }).first().focus();

    await site.admin.dispatch('acme/api', 'late.yml');
    await page.getByRole('link', { name: 'late', exact: true }).waitFor({ timeout: 60_000 });

    expect(await page.evaluate('window.isSame')).toBe(true);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('build');
    expect(await page.innerText('main')).toContain('labels not covered: mainframe');
    expect(wrong.join('\n')).toBe('');
    await context.close();
  });

  it('the page is used by keyboard alone', async () => {
    const { context, page } = await signIn('olga');
    const focused = () => page.evaluate('document.activeElement.textContent');
    await page.goto(served.url);

    await page.keyboard.press('Tab');
    expect(await focused()).toContain('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.goto(served.url);
    for (const name of ['Skip to content', 'CI runners', 'Jobs', 'My jobs', 'Groups']) {
      await page.keyboard.press('Tab');
      expect(await focused()).toContain(name);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
    for (let tab = 0; tab < 12 && (await focused()) !== 'runners/ci'; tab += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Group runners/ci' }).waitFor();
    for (let tab = 0; tab < 12 && (await focused()) !== 'Sign out'; tab += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Sign in with Gitea' }).waitFor();
    expect((await context.cookies(served.url)).some(({ name }) => name === 'gitea-runners')).toBe(false);
    await context.close();
  });

  it('the page is read without JavaScript', async () => {
    const { context, page } = await signIn('olga', { javaScriptEnabled: false });

    await page.getByRole('link', { name: 'Groups' }).click();
    await page.getByRole('link', { name: 'runners/ci' }).click();

    expect(await page.innerText('main')).toContain('org acme');
    await context.close();
  });

  it('the page shows 1,000 jobs, and an accessibility checker finds nothing, also on a phone and in the dark', async () => {
    for (let run = 0; run < 4; run += 1) await site.admin.dispatch('acme/many', 'many.yml');
    const { context, page, wrong } = await signIn('olga');
    await expect
      .poll(() => page.innerText('#counts').catch(() => ''), { timeout: 120_000, interval: 1_000 })
      .toMatch(/, (99\d|100\d) held back/);
    const more = await page.getByRole('link', { name: 'More jobs' }).getAttribute('href');
    await visit(page, `${more}`);
    await page.getByText('Page 2 of').waitFor();
    expect(await page.locator('ul.jobs > li[id^=job-]').count()).toBe(100);

    const job = await page.locator('ul.jobs h4 > a').first().getAttribute('href');
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        for (const path of [
          '/',
          '/mine',
          '/?state=held',
          `${job}`,
          '/groups',
          '/groups/runners/ci',
          '/groups/runners/ci/trends',
          '/nothing',
        ]) {
          await visit(page, path);
          found.push(...(await findings(page)));
          const isTooWide = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
          if (await page.evaluate(isTooWide)) found.push(`${path} is wider than ${width}`);
        }
      }
    }
    for (const forcedColors of ['active', 'none'] as const) {
      await page.emulateMedia({ forcedColors });
      await visit(page, '/');
      found.push(...(await findings(page)));
    }
    expect(found.join('\n')).toBe('');
    // Twelve jobs of a run on a phone, without scrolling.
    await visit(page, '/?page=2');
    const tops = await page
      .locator('ul.jobs > li')
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().bottom));
    expect(tops.filter((bottom) => bottom <= 800).length).toBeGreaterThanOrEqual(12);
    // 404 is for /nothing, 429 for a robot that is too fast, 503 for trends that are asked of Gitea. 408 ends a connection that Chromium has opened in advance and left idle,
    // which happens on a busy machine. As one text: of a list a failure shows only how long it is.
    expect(wrong.filter((each) => !/status of (?:40[48]|429|503) /.test(each)).join('\n')).toBe('');
    const stranger = await browser.newPage();
    await stranger.goto(served.url);
    expect(await findings(stranger)).toEqual([]);
    await Promise.all([context.close(), stranger.close()]);
  });

  it('answers scripts with a token of the reader', async () => {
    const ask = async (token: string, path: string) => {
      const response = await fetch(`${served.url}/api/v1${path}`, { headers: { authorization: `token ${token}` } });
      return { status: response.status, body: JSON.stringify(await response.json()) };
    };
    const dora = new Account(site.url, 'dora', '', PASSWORD);
    const token = await dora.createToken(['read:user', 'read:repository', 'read:organization']);

    const ofDora = await ask(token, '/jobs');
    const ofChief = await ask(site.admin.token, '/groups');

    expect(ofDora.status).toBe(200);
    expect(ofDora.body).toContain('acme/api');
    expect(ofDora.body).not.toContain('acme/hidden');
    expect((await ask(token, '/groups')).body).toContain('"groups":[]');
    expect(ofChief.body).toContain('runners/ci');
    expect((await ask('0123456789abcdef0123456789abcdef01234567', '/jobs')).status).toBe(401);
  });
});
