/** OpenTelemetry's collector takes the spans of `serve` (the SDK) and of `generate` (by hand), and reads the same in both. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { stringify } from 'yaml';
import { openSink } from '../../src/telemetry/tracing/otlp.ts';
import { contextOf } from '../../src/telemetry/tracing/span.ts';
import { runCli } from '../support/run-cli.ts';
import { startWithJob } from '../support/start-acme.ts';
import { freePort, Playground, waitUntil } from './process.ts';

let playground: Playground;
let url: string;
let logFile: string;

beforeAll(async () => {
  playground = new Playground('tracing');
  const endpoint = `127.0.0.1:${await freePort()}`;
  const file = join(playground.folder, 'collector.yaml');
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint } } } },
    exporters: { debug: { verbosity: 'detailed' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
    },
  };
  writeFileSync(file, stringify(config));
  logFile = join(playground.folder, 'collector.log');
  const running = playground.start({
    command: join(inject('builds').collector, 'collector'),
    args: [`--config=file:${file}`],
    cwd: playground.folder,
    env: {},
    logFile,
  });
  url = `http://${endpoint}`;
  await waitUntil('the collector listens', async () => log().includes('Everything is ready'), { running });
});
afterAll(() => playground?.close());

function log(): string {
  return readFileSync(logFile, 'utf8');
}

/** The text about one span: the debug exporter begins each with `Span #`. */
function textOf(spanName: string, traceId: string): string {
  const all = log().split(/^Span #/m);
  return all.find((text) => text.includes(traceId) && text.includes(`Name           : ${spanName}\n`)) ?? '';
}

it('the collector takes the spans of serve with ids, times, attributes and errors', async () => {
  const context = contextOf({ origin: 'https://gitea.example.com', job: { id: 7, attempt: 1 } });
  const to = new URL(`${url}/v1/traces`);
  const sink = openSink({ url: to, sampler: 'always_on', ratio: 1, attributes: { team: 'a' } });
  const child = { name: 'wake', beganMs: 1_800_000_000_100, endedMs: 1_800_000_000_900, error: 'failed' };
  sink.record(
    {
      name: 'CI job waits for its runner',
      beganMs: 1_800_000_000_000,
      endedMs: 1_800_000_001_500,
      attributes: { 'gitea.job.id': 7 },
      children: [child],
    },
    context,
  );

  expect(await sink.close()).toBe(true);
  await waitUntil('both spans', async () => textOf('wake', context.traceId) !== '');
  const root = textOf('CI job waits for its runner', context.traceId);
  expect(root).toContain(`ID             : ${context.spanId}\n`);
  expect(root).toMatch(/Start time +: 2027-01-15 08:00:00 \+0000 UTC\n +End time +: 2027-01-15 08:00:01.5 \+0000 UTC/);
  expect(root).toContain('-> gitea.job.id: Int(7)');
  expect(textOf('wake', context.traceId)).toContain(`Parent ID      : ${context.spanId}\n`);
  expect(textOf('wake', context.traceId)).toMatch(/Status code +: Error/);
  expect(log()).toContain('-> service.name: Str(gitea-runners)');
  expect(log()).toContain('-> team: Str(a)');
});

it('the collector takes the spans of generate, in the trace of the CI job', async () => {
  const { simulator, env, folder, jobId = 0 } = await startWithJob();
  const { traceId, spanId } = contextOf({ origin: simulator.url, job: { id: jobId, attempt: 1 } });

  const { code } = await runCli(['generate', folder], { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: url });

  expect(code).toBe(0);
  await waitUntil('its span', async () => textOf('generate', traceId) !== '');
  expect(textOf('generate', traceId)).toContain(`Parent ID      : ${spanId}\n`);
  expect(textOf('generate', traceId)).toContain('-> groups: Int(1)');
});
