/** `serve` with the page beside a real Gitea, and Chromium in which people look at it. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BrowserContextOptions, type Browser as Chromium, chromium, type Page } from 'playwright-core';
import { parse } from 'yaml';
import * as z from 'zod';
import type { KubeObject } from '../../simulator/kubernetes/objects.ts';
import { type ApiServer, startApiServer } from '../support/api-server.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import { folderWith, groupYaml } from '../support/run-cli.ts';
import type { AtEnd } from '../support/server.ts';
import type { Gitea } from './gitea.ts';
import { freePort, statusOf, waitUntil } from './process.ts';

const CHROMIUM = '/usr/bin/chromium';
export const PASSWORD = 'a-password-of-this-test';
const Application = z.object({ client_id: z.string(), client_secret: z.string() });

export interface RealPage {
  /** `http://localhost:…`: another site than Gitea, which is at `http://127.0.0.1:…`. */
  readonly url: string;
  readonly cluster: ApiServer;
}

/** Registers the page at Gitea, as an administrator does. */
export async function registerPage({ admin }: Gitea, url: string): Promise<z.output<typeof Application>> {
  const application = { name: 'CI runners', redirect_uris: [`${url}/signed-in`], confidential_client: true };
  return Application.parse(await admin.call('POST', '/user/applications/oauth2', application));
}

/** Registers the page, and serves it. */
export async function startRealPage(gitea: Gitea, atEnd: AtEnd): Promise<RealPage> {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const made = await registerPage(gitea, url);
  const folder = folderWith({ secret: made.client_secret, key: randomBytes(32).toString('hex') }, atEnd);
  const cluster = await startApiServer({ atEnd });
  cluster.put('runnergroups', parse(groupYaml(gitea.url)) as KubeObject);
  const { end } = startQuietServe(
    {
      cluster: cluster.config,
      env: { GITEA_URL: gitea.url, GITEA_TOKEN: await gitea.admin.createToken(['read:organization']) },
      pollMs: 1_000,
      timeoutMs: 20_000,
      giteaRequests: 6_000,
      page: {
        listen: { host: '127.0.0.1', port },
        url,
        gitea: gitea.url,
        giteaPublic: gitea.url,
        clientId: made.client_id,
        clientSecretFile: join(folder, 'secret'),
        keyFile: join(folder, 'key'),
        logUrl: 'https://logs.example.com/?pod={pod}',
      },
    },
    atEnd,
  );
  atEnd(end);
  await waitUntil('the page answers', () => statusOf(url));
  return { url, cluster };
}

/** Debian's. @param hosts such as `MAP example.com 10.0.0.1` @throws when it is not installed */
export async function startChromium(hosts = ''): Promise<Chromium> {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: apt-get install chromium`);
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', `--host-resolver-rules=${hosts}`],
  });
}

/** Adds a person to Gitea who can sign in. */
export async function addPerson({ admin }: Gitea, username: string): Promise<void> {
  const email = `${username}@example.com`;
  await admin.call('POST', '/admin/users', { username, email, password: PASSWORD, must_change_password: false });
}

/** Opens the page in a browser of this person, who has signed in with Gitea. */
export async function signIn(
  browser: Chromium,
  url: string,
  login: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(url);
  await page.getByRole('link', { name: 'Sign in with Gitea' }).click();
  await page.fill('input[name=user_name]', login);
  await page.fill('input[name=password]', PASSWORD);
  await page.keyboard.press('Enter');
  const consent = page.locator('#authorize-app');
  await Promise.race([consent.waitFor(), page.waitForURL(`${url}/**`)]);
  if (await consent.isVisible()) await consent.click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  return page;
}
