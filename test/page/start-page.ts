/** `serve` with the page, a simulated Gitea that signs people in, and a small cluster: all real HTTP. */
import { join } from 'node:path';
import type { SimulatorOptions } from '../../simulator/gitea/simulator.ts';
import { pageFrom } from '../../src/cli/commands/serve.ts';
import { openPage, type PageOptions } from '../../src/page/page.ts';
import type { Subscriber } from '../../src/serve/planning/events.ts';
import type { FeatureContext } from '../../src/serve/task.ts';
import { type Clock, systemClock } from '../../src/shared/clock.ts';
import { startRig } from '../serve/rig.ts';
import { freePort } from '../servers/process.ts';
import { printingIo } from '../support/printing-io.ts';
import { folderWith } from '../support/run-cli.ts';
import { Browser, type Got } from './browser.ts';
import { CLIENT, startProvider } from './oauth-provider.ts';

export const COOKIE_KEY = 'a-key-of-this-test-that-is-long-enough-0123456789';

export type PageRig = Awaited<ReturnType<typeof startPage>>;

export async function startPage(
  over: Partial<PageOptions> & {
    readonly spec?: string;
    readonly subscribers?: readonly Subscriber[];
    /** Clock of the page. The queue has its own. */
    readonly clock?: Clock;
    readonly timeoutMs?: number;
  } = {},
  simulator: SimulatorOptions = {},
) {
  const { clock = systemClock, spec = '', subscribers = [], timeoutMs = 5_000, ...more } = over;
  const rig = await startRig(spec, simulator);
  const provider = startProvider(rig.simulator, 'anna');
  const folder = folderWith({ key: COOKIE_KEY, secret: `${CLIENT.secret}\n` });
  const start = async (): Promise<string> => {
    // The page must know its own address.
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { io } = printingIo({
      env: {
        GITEA_RUNNERS_PAGE_LISTEN: `127.0.0.1:${port}`,
        GITEA_RUNNERS_PAGE_URL: url,
        GITEA_RUNNERS_PAGE_GITEA: rig.simulator.url,
        GITEA_RUNNERS_PAGE_CLIENT_ID: CLIENT.id,
        GITEA_RUNNERS_PAGE_CLIENT_SECRET_FILE: join(folder, 'secret'),
        GITEA_RUNNERS_PAGE_KEY_FILE: join(folder, 'key'),
      },
    });
    const { page: settings } = pageFrom({}, io);
    if (!settings) throw new Error('no page is asked for');
    const options: PageOptions = { ...settings, ...more };
    // Looks are not held back by their budget here.
    const around = { clock, giteaRequests: 60_000, timeoutMs };
    const features = [(context: FeatureContext) => openPage(options, { ...context, ...around })];
    await rig.start({ identity: url, subscribers, features });
    return url;
  };
  const page = await start();
  return {
    ...rig,
    page,
    provider,
    /** Starts another replica of the page with the same settings, at its own address. */
    replica: start,
    got: (browser: Browser, path: string): Promise<Got> => browser.open(`${page}${path}`),
    /** A browser in which this person is signed in. */
    signIn: async (user: string): Promise<Browser> => {
      provider.user = user;
      const browser = new Browser();
      const got = await browser.open(`${page}/sign-in?to=/`);
      if (got.status !== 200) throw new Error(`sign-in of ${user}: ${got.status} ${got.text}`);
      return browser;
    },
  };
}

/** The pod of a Job, on a node. */
export function podOf(job: Readonly<Record<string, unknown>>, nodeName = 'node-7') {
  const name = String(job['name']);
  return {
    metadata: {
      namespace: 'runners',
      name: `${name}-abcde`,
      creationTimestamp: new Date().toISOString(),
      labels: { 'app.kubernetes.io/managed-by': 'argocd-gitea-runners' },
      ownerReferences: [{ kind: 'Job', name, uid: job['uid'] }],
    },
    spec: { nodeName },
    status: { phase: 'Pending' },
  };
}
