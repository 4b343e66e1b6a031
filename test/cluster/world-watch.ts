/**
 * Follows one kind of object in the cluster over a watch of its own: a witness that shares no code with the product.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { sleep } from '../servers/process.ts';

const Kubeconfig = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ server: z.string(), 'certificate-authority': z.string() }) })]),
  users: z.tuple([z.object({ user: z.object({ token: z.string() }) })]),
});
const Event = z.object({ type: z.string(), object: z.unknown() });

export interface WatchEvent {
  readonly gone: boolean;
  readonly object: unknown;
}

/**
 * Reports every state of the objects below `path`, the existing ones first. A watch that ends is started again.
 * @param path e.g. `/api/v1/namespaces/runners/pods`
 */
export async function followObjects(
  kubeconfig: string,
  path: string,
  signal: AbortSignal,
  onEvent: (event: WatchEvent) => void,
): Promise<void> {
  const { clusters, users } = Kubeconfig.parse(JSON.parse(readFileSync(kubeconfig, 'utf8')));
  const [{ cluster }] = clusters;
  const [{ user }] = users;
  const options = {
    ca: readFileSync(cluster['certificate-authority']),
    headers: { authorization: `Bearer ${user.token}` },
    signal,
  };
  const url = new URL(`${cluster.server}${path}?watch=1`);
  while (!signal.aborted) {
    await oneWatch(url, options, onEvent).catch(() => undefined);
    if (!signal.aborted) await sleep(100);
  }
}

function oneWatch(
  url: URL,
  options: { readonly ca: Buffer; readonly headers: Record<string, string>; readonly signal: AbortSignal },
  onEvent: (event: WatchEvent) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, options, (response) => {
      if (response.statusCode !== 200) {
        response.destroy();
        reject(new Error(`watch ${url.pathname}: HTTP ${response.statusCode}`));
        return;
      }
      response.on('error', reject);
      const lines = createInterface({ input: response });
      lines.on('line', (line) => {
        const { type, object } = Event.parse(JSON.parse(line));
        if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
          onEvent({ gone: type === 'DELETED', object });
      });
      lines.on('error', reject);
      lines.once('close', resolve);
    });
    asked.on('error', reject);
    asked.end();
  });
}
