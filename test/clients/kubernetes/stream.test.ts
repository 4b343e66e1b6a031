import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/clients/kubernetes/kube-client.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { folderWith } from '../../support/run-cli.ts';
import { serve } from '../../support/server.ts';

/** Reading a line takes longer than sending one. */
function busy(): number {
  let sum = 0;
  for (let count = 0; count < 30_000; count += 1) sum += count % 2;
  return sum;
}

/** By IP address: with a name, Node opens the connection in another way, which does not have the fault. */
async function startTalker(key: string, cert: string): Promise<string> {
  const args = ['test/clients/kubernetes/talker.mjs', folderWith({ key, cert })];
  const talker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    talker.kill('SIGKILL');
    await once(talker, 'exit');
  });
  const [port] = (await once(talker.stdout, 'data')) as [Buffer];
  return `https://127.0.0.1:${port.toString().trim()}`;
}

// Node 20 aborts the whole process ("onread->IsFunction()") when a socket's own signal ends it while TLS is paused.
it('a stream that its reader cannot keep up with can be ended', async () => {
  const { ca, key, cert } = makeCertificates();
  const client = new KubeClient({ url: await startTalker(key, cert), ca });
  const life = new AbortController();
  let lines = 0;
  let odd = 0;
  const read = async (): Promise<void> => {
    for await (const _ of client.stream({ what: 'read', path: '/' }, 60_000, life.signal)) {
      lines += 1;
      odd += busy();
      if (lines % 100 === 0) await new Promise(setImmediate);
    }
  };
  const reading = Promise.all([read(), read(), read()]);
  // Until the buffers of both sides are full.
  await sleep(2500);

  life.abort();

  await reading;
  // The abort would come in one of the next turns.
  await sleep(300);
  await client.close();
  expect(odd).toBe(15_000 * lines);
});

// The API server has nothing to say of a kind whose objects do not change: not even bookmarks (seen with Kubernetes 1.34).
it('a stream that has begun and is quiet ends, as if the server had ended it', async () => {
  const { origin } = await serve((_, response) => void response.write('{"first":1}\n'), onTestFinished);

  expect(await linesOf(origin)).toEqual(['{"first":1}']);
});

it('a stream that does not begin is a failure', async () => {
  const { origin } = await serve(() => undefined, onTestFinished);

  await expect(linesOf(origin)).rejects.toMatchObject({ code: 'GR-CLUSTER-09' });
});

it('a refused connection names the context of the kubeconfig, and the VPN', async () => {
  const client = new KubeClient({ url: 'https://127.0.0.1:1', context: { name: 'prod', namespace: 'ci' } });
  onTestFinished(() => client.close());
  const first = client.stream({ what: 'watch', path: '/' }, 500, new AbortController().signal).next();

  await expect(first).rejects.toThrow(
    'Check the address of context prod in the kubeconfig, the VPN and that the server is up.',
  );
});

async function linesOf(url: string): Promise<readonly string[]> {
  const client = new KubeClient({ url });
  onTestFinished(() => client.close());
  const lines: string[] = [];
  for await (const line of client.stream({ what: 'watch', path: '/' }, 500, new AbortController().signal)) {
    lines.push(line);
  }
  return lines;
}
