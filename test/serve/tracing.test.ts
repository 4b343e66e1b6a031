/** A trace of `serve` with real requests, from a webhook to a CI job that runs, as a collector receives it. */
import { expect, it, onTestFinished } from 'vitest';
import { openSink } from '../../src/telemetry/tracing/otlp.ts';
import { contextOf } from '../../src/telemetry/tracing/span.ts';
import { traceTo } from '../../src/telemetry/tracing.ts';
import { TOKEN as CLUSTER_TOKEN } from '../support/api-server.ts';
import { startOtlpServer } from '../support/otlp-server.ts';
import { TOKEN } from '../support/start-acme.ts';
import { delivery, payload, SECRET } from './deliveries.ts';
import { type Rig, startRig, until } from './rig.ts';

const linux = { jobs: [{ key: 'build', runsOn: ['linux'] }] };

async function traced(): Promise<{
  readonly rig: Rig;
  readonly collector: Awaited<ReturnType<typeof startOtlpServer>>;
}> {
  const collector = await startOtlpServer();
  onTestFinished(collector.close);
  const rig = await startRig();
  return { rig, collector };
}

it('tracing shows one trace from the webhook to the running CI job, and no secret', async () => {
  const { rig, collector } = await traced();
  const settings = {
    url: new URL(`${collector.url}/v1/traces`),
    sampler: 'always_on',
    ratio: 1,
    attributes: {},
  } as const;
  const spans = openSink(settings);
  const replica = await rig.start({ pollMs: 60_000, subscribers: [traceTo(spans, Date.now)], spans });
  await until('the first look', async () => (await replica.metric('gitea_runners_looks_total')) >= 1);
  const { id = 0 } = rig.simulator.gitea.push('acme/web', linux).jobs[0] ?? {};
  await fetch(`http://127.0.0.1:${replica.webhooks}/webhook`, { method: 'POST', ...delivery(payload({ id })) });
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
  const name = rig.cluster.all('jobs')[0]?.metadata.name ?? '';
  const { gitea } = rig.simulator;
  const runner = gitea.register({ name, labels: ['linux'], scope: { kind: 'owner', owner: 'acme' } });
  gitea.poll(runner.id);
  const taken = delivery(payload({ id, status: 'in_progress' }, { action: 'in_progress' }));
  await fetch(`http://127.0.0.1:${replica.webhooks}/webhook`, { method: 'POST', ...taken });
  await until('the trace', () => collector.spans.some(({ parentSpanId }) => parentSpanId === undefined));

  const root = collector.spans.find(({ parentSpanId }) => parentSpanId === undefined);
  expect(root).toMatchObject(contextOf({ origin: rig.simulator.url, job: { id, attempt: 1 } }));
  const names = collector.spans.map((span) => span.name);
  expect(names).toEqual(
    expect.arrayContaining(['webhook', 'look', 'plan', 'wait', 'wake', 'refresh', 'sync', 'claim']),
  );
  expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
  for (const secret of [TOKEN, SECRET, CLUSTER_TOKEN, 'authorization'])
    expect(collector.bodies.join('').toLowerCase()).not.toContain(secret.toLowerCase());
});
