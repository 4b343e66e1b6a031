/**
 * Clients that hold connections and keep nobody out. The limit of one second is the law itself. The time in which other programs had the CPU
 * does not count.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type RequestOptions, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { startTicks } from '../../support/ticks.ts';
import { delivery, payload } from '../deliveries.ts';
import { startRig, until } from '../rig.ts';

const CLIENTS = 1000;
const TIMES = 20;
const LIMIT_SECONDS = 3;
/** Time limit of a test, ms: on a busy machine a thousand connections take long. */
const TIMEOUT_MS = 240_000;

/** Starts them in a process of their own. Resolves when all are connected, or were. */
async function holdConnections(port: number, kind: string): Promise<void> {
  const child = spawn(process.execPath, ['test/serve/hostile-clients.mjs', String(port), String(CLIENTS), kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await once(child.stdout, 'data');
}

/** Sends one request over its own connection. Returns its status or the error, with `late` if it took too long. */
async function ask(options: RequestOptions, body?: Uint8Array): Promise<string> {
  const ticks = startTicks();
  const outcome = await new Promise<string>((resolve) => {
    const sent = request({ host: '127.0.0.1', agent: false, ...options }, (response) => {
      response.resume().on('end', () => resolve(String(response.statusCode)));
    });
    sent.on('error', ({ message }) => resolve(message));
    sent.end(body);
  });
  ticks.end();
  return ticks.seconds() < LIMIT_SECONDS ? outcome : `${outcome}, late`;
}

async function repeat(one: (nth: number) => Promise<string>): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (let nth = 0; nth < TIMES; nth += 1) outcomes.push(await one(nth));
  return outcomes;
}

const KINDS = ['idle', 'slow headers', 'slow body', 'a request that has no end', 'endless keep-alive'];

it.each(KINDS.flatMap((kind) => (['webhooks', 'probes'] as const).map((port) => ({ kind, port }))))(
  '1,000 hostile connections ($kind) on the port of $port keep out neither a webhook nor a probe',
  async ({ kind, port }) => {
    const rig = await startRig();
    const replica = await rig.start({ pollMs: 60_000 });
    await until('the first look', async () => (await replica.metric('gitea_runners_looks_total')) === 1);
    await holdConnections(replica[port], kind);

    const webhooks = await repeat((nth) => {
      const { headers, body } = delivery(payload({ id: nth + 1 }));
      return ask({ port: replica.webhooks, path: '/webhook', method: 'POST', headers }, body);
    });
    const probes = await repeat((nth) => ask({ port: replica.probes, path: nth % 2 === 0 ? '/healthz' : '/readyz' }));

    expect(webhooks).toEqual(Array(TIMES).fill('202'));
    expect(probes).toEqual(Array(TIMES).fill('200'));
  },
  TIMEOUT_MS,
);
