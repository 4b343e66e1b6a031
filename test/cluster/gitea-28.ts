/**
 * The next Gitea, as far as it matters here: 28.0 is not to be had as a Go module. A proxy at the address of a real Gitea 1.27.3 says that it
 * is 28.0.0, and takes `POST …/runs/{run}/force-cancel`: it presses "Cancel" on the page of the run. With runner 1.0.8, which does not
 * declare the capability "cancelling", Gitea 1.27.3 ends all jobs of the run at once then, as 28.0 does with this request whatever the
 * runner declares (services/actions/cancel.go).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../servers/process.ts';
import { passOn } from './lossy-proxy.ts';
import { REPOSITORY, type Rig } from './scenarios-rig.ts';
import { WebSession } from './web-session.ts';

const FORCE_CANCEL = /^\/api\/v1\/repos\/[^/]+\/[^/]+\/actions\/runs\/(\d+)\/force-cancel$/;

export interface Gitea28 {
  /** Ids of the runs that were ended, in order. */
  readonly ended: readonly number[];
  /** A person presses the button. */
  readonly cancel: (run: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Moves the Gitea of the rig to another port, and puts the proxy in its place. @param more of its app.ini. */
export async function putBehind28(rig: Rig, more: string): Promise<Gitea28> {
  const { gitea, machine } = rig.stack;
  const file = join(machine.folder, 'gitea', 'app.ini');
  const port = await freePort();
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n[server]\nHTTP_PORT = ${port}\n${more}`);
  await gitea.stop();
  const { hostname, port: own } = new URL(gitea.url);
  const ended: number[] = [];
  let session: WebSession | undefined;
  const cancel = async (run: number): Promise<void> => {
    if (!session) throw new Error('nobody has logged in');
    await session.post(`/${REPOSITORY}/actions/runs/${run}/cancel`);
  };

  const pass = (asked: IncomingMessage, answer: ServerResponse, other = {}): void => {
    const isVersion = asked.url === '/api/v1/version';
    const take = (found: IncomingMessage): boolean => {
      if (!isVersion || found.statusCode !== 200) return false;
      found.resume();
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"version":"28.0.0"}');
      return true;
    };
    passOn(`http://${hostname}:${port}`, asked, answer, take, other);
  };
  const server = createServer((asked, answer) => {
    const [, run] = FORCE_CANCEL.exec(asked.url ?? '') ?? [];
    if (asked.method !== 'POST' || run === undefined) {
      pass(asked, answer);
      return;
    }
    ended.push(Number(run));
    const shown = { method: 'GET', url: asked.url?.replace('/force-cancel', '') };
    void cancel(Number(run)).then(
      () => pass(asked, answer, shown),
      () => answer.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(Number(own), hostname, resolve));
  await gitea.restart();
  // Gitea keeps sessions in its memory: those from before are over. A connection may be dead, too.
  await rig.until('Gitea answers', async () => {
    const answer = await rig.admin.ask('GET', '/version').catch(() => undefined);
    return answer?.status === 200;
  });
  session = await WebSession.open(rig.admin, 'ender');
  await rig.admin.call('PUT', `/repos/${REPOSITORY}/collaborators/ender`, { permission: 'admin' });
  return {
    ended,
    cancel,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
