/** Sends spans through OpenTelemetry's packages to a real HTTP server, to a dead one, and to a slow one. */
import type { ServerResponse } from 'node:http';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { expect, it, onTestFinished } from 'vitest';
import { openSink, TRACING_BOUNDS } from '../../../src/telemetry/tracing/otlp.ts';
import { contextOf, type SpanData, type SpanSink, type TracingSettings } from '../../../src/telemetry/tracing/span.ts';
import { freePort } from '../../servers/process.ts';
import { startOtlpServer } from '../../support/otlp-server.ts';

const ROOT: SpanData = {
  name: 'root',
  beganMs: 1_000,
  endedMs: 3_000.5,
  attributes: { 'gitea.job.id': 7, text: 'x'.repeat(1_000) },
  children: [{ name: 'child', beganMs: 1_500, endedMs: 2_000, error: 'failed' }],
};
const CONTEXT = contextOf({ origin: 'https://gitea.example.com', job: { id: 7, attempt: 1 } });

function settingsFor(url: string, more: Partial<TracingSettings> = {}): TracingSettings {
  return { url: new URL(`${url}/v1/traces`), sampler: 'parentbased_always_on', ratio: 1, attributes: {}, ...more };
}

/** Returns how many spans were lost, by reason. */
function lossesOf(sink: SpanSink): Readonly<Record<string, number>> {
  const lost: Record<string, number> = {};
  sink.onLost = (spans, reason) => {
    lost[reason] = (lost[reason] ?? 0) + spans;
  };
  return lost;
}

it('the exporter sends a trace with the ids of its CI job, its times, and what the process is', async () => {
  const server = await startOtlpServer();
  onTestFinished(server.close);
  const sink = openSink(settingsFor(server.url, { attributes: { 'deployment.environment': 'test' } }));
  const lost = lossesOf(sink);

  sink.record(ROOT, CONTEXT);
  expect(await sink.close()).toBe(true);

  const [child, root] = server.spans;
  expect(root).toMatchObject({ ...CONTEXT, name: 'root', beganMs: 1_000, endedMs: 3_000.5 });
  expect(root?.parentSpanId).toBeUndefined();
  expect(root?.attributes).toEqual({ 'gitea.job.id': 7, text: 'x'.repeat(TRACING_BOUNDS.longestValue) });
  expect(child).toMatchObject({ traceId: CONTEXT.traceId, parentSpanId: CONTEXT.spanId, beganMs: 1_500, status: 2 });
  expect(root?.resource).toMatchObject({ 'service.name': 'gitea-runners', 'deployment.environment': 'test' });
  expect(lost).toEqual({});
});

it('the exporter gives each child an id of its own', async () => {
  const exporter = new InMemorySpanExporter();
  const sink = openSink(settingsFor('http://unused'), exporter);
  sink.record({ ...ROOT, children: [...(ROOT.children ?? []), ...(ROOT.children ?? [])] }, CONTEXT);
  sink.record(ROOT, contextOf({ origin: 'https://gitea.example.com', job: { id: 8, attempt: 1 } }));
  const kept: string[] = [];
  exporter.shutdown = async () =>
    void kept.push(...exporter.getFinishedSpans().map((span) => span.spanContext().spanId));
  await sink.close();

  expect(new Set(kept).size).toBe(5);
});

it('the exporter sends nothing of a trace that is not kept', async () => {
  const server = await startOtlpServer();
  onTestFinished(server.close);
  const sink = openSink(settingsFor(server.url, { sampler: 'traceidratio', ratio: 0 }));

  sink.record(ROOT, CONTEXT);
  await sink.close();

  expect(server.bodies).toEqual([]);
});

it('a dead collector loses the spans and nothing else', async () => {
  const sink = openSink(settingsFor(`http://127.0.0.1:${await freePort()}`));
  const lost = lossesOf(sink);

  sink.record(ROOT, CONTEXT);
  // The exporter tries again within its 5 s, so it is not done yet.
  expect(await sink.close()).toBe(false);
  await expect.poll(() => lost, { timeout: 10_000 }).toEqual({ collector: 2 });
});

it('a collector that never answers is left alone, and the queue is bounded', async () => {
  const hanging: ServerResponse[] = [];
  const server = await startOtlpServer({ answer: (response) => void hanging.push(response) });
  onTestFinished(server.close);
  const sink = openSink(settingsFor(server.url));
  const lost = lossesOf(sink);
  const single = { name: 'root', beganMs: 0, endedMs: 1 };

  for (let span = 0; span < TRACING_BOUNDS.queue + 10; span += 1) sink.record(single, CONTEXT);
  expect(lost).toEqual({ queue: 10 });
  await expect.poll(() => hanging.length, { timeout: 10_000 }).toBeGreaterThan(0);
  expect(await sink.close()).toBe(false);
});

it('a collector that refuses them loses them', async () => {
  const server = await startOtlpServer({ answer: (response) => void response.writeHead(400).end() });
  onTestFinished(server.close);
  const sink = openSink(settingsFor(server.url));
  const lost = lossesOf(sink);

  sink.record(ROOT, CONTEXT);
  await sink.close();

  expect(lost).toEqual({ collector: 2 });
});
