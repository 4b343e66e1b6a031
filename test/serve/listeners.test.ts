import { expect, it, onTestFinished } from 'vitest';
import { type ListenersOptions, startListeners } from '../../src/serve/listeners.ts';
import { WebhookGate } from '../../src/serve/webhook/gate.ts';
import { openMetrics } from '../../src/telemetry/metrics.ts';
import { freePort } from '../servers/process.ts';
import { talk } from './talk.ts';

const ANY = { host: '127.0.0.1', port: 0 };

async function start(over: Partial<ListenersOptions> = {}): ReturnType<typeof startListeners> {
  const listeners = await startListeners({
    listen: ANY,
    metricsListen: ANY,
    probeListen: ANY,
    tell: () => undefined,
    gate: new WebhookGate(
      () => [],
      () => 0,
    ),
    take: async () => 202,
    isReady: () => false,
    queue: () => [],
    leads: () => false,
    metricsPage: openMetrics().render,
    ...over,
  });
  onTestFinished(listeners.close);
  return listeners;
}

it('each port answers what it is for, and nothing else', async () => {
  const { ports } = await start();
  const status = async (port: number, path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  const of = (port: number): Promise<readonly number[]> =>
    Promise.all(['/healthz', '/readyz', '/metrics', '/webhook', '/debug/queue'].map((path) => status(port, path)));

  expect(await of(ports.probes)).toEqual([200, 503, 404, 404, 200]);
  expect(await of(ports.metrics)).toEqual([200, 503, 200, 404, 404]);
  expect(await of(ports.webhooks)).toEqual([404, 404, 404, 405, 404]);
});

it('the metrics are rendered once for a crowd that asks at the same time', async () => {
  let rendered = 0;
  const { ports } = await start({
    metricsPage: async () => {
      rendered += 1;
      return { contentType: 'text/plain', body: 'x 1\n' };
    },
  });
  const ask = 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n';
  const last = 'GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';

  const sender = await talk(ports.metrics, ask.repeat(49) + last);

  expect((await sender.ended).match(/HTTP\/1\.1 200/g)).toHaveLength(50);
  expect(rendered).toBeLessThan(10);
});

it('no port is kept when one cannot be had', async () => {
  const { ports } = await start();
  const free = { host: '127.0.0.1', port: await freePort() };
  const taken = { host: '127.0.0.1', port: ports.probes };

  await expect(start({ listen: free, probeListen: taken })).rejects.toMatchObject({
    code: 'GR-LISTEN-01',
    message: expect.stringContaining('listen for probes on 127.0.0.1:'),
  });

  expect((await start({ listen: free })).ports.webhooks).toBe(free.port);
});
