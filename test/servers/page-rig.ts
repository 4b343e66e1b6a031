/** `serve` with the page beside a real Gitea, and Chromium in which people look at it. */
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser as Chromium, chromium } from 'playwright-core';
import { parse } from 'yaml';
import * as z from 'zod';
import { type FakeCluster, type KubeObject, startFakeCluster } from '../serve/fake-cluster.ts';
import { until } from '../serve/rig.ts';
import { startQuietServe } from '../support/quiet-serve.ts';
import { groupYaml } from '../support/run-cli.ts';
import { type AtEnd, serve as serveHttp } from '../support/server.ts';
import type { Gitea } from './gitea.ts';
import { freePort, type Playground } from './process.ts';

const CHROMIUM = '/usr/bin/chromium';
const Application = z.object({ client_id: z.string(), client_secret: z.string() });

export interface RealPage {
  /** `http://localhost:…`: another site than Gitea, which is at `http://127.0.0.1:…`. */
  readonly url: string;
  readonly cluster: FakeCluster;
}

/** Registers the page at Gitea as its administrator does, and serves it. */
export async function startRealPage(gitea: Gitea, playground: Playground, atEnd: AtEnd): Promise<RealPage> {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const application = { name: 'CI runners', redirect_uris: [`${url}/signed-in`], confidential_client: true };
  const made = Application.parse(await gitea.admin.call('POST', '/user/applications/oauth2', application));
  const folder = playground.makeFolder('page');
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const cluster = await startFakeCluster({ listen: (handler) => serveHttp(handler, atEnd) });
  cluster.put('runnergroups', parse(groupYaml(gitea.url)) as KubeObject);
  const { end } = startQuietServe(
    {
      cluster: cluster.config,
      env: { GITEA_URL: gitea.url, GITEA_TOKEN: await gitea.admin.createToken(['read:organization']) },
      pollMs: 1_000,
      page: {
        listen: { host: '127.0.0.1', port },
        url,
        gitea: gitea.url,
        giteaPublic: gitea.url,
        clientId: made.client_id,
        clientSecretFile: write('client-secret', made.client_secret),
        keyFile: write('key', randomBytes(32).toString('hex')),
        logUrl: 'https://logs.example.com/?pod={pod}',
        instance: '',
        timeoutMs: 20_000,
        giteaRequests: 6_000,
      },
    },
    atEnd,
  );
  atEnd(end);
  const answers = async (): Promise<boolean> =>
    await fetch(url).then(
      ({ body }) => body !== null,
      () => false,
    );
  await until('the page answers', answers);
  return { url, cluster };
}

/** Debian's. @throws when it is not installed */
export async function startChromium(): Promise<Chromium> {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: apt-get install chromium`);
  return await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
