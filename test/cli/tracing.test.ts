/** Tracing of `generate`, through the built program, to a real collector's protocol. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tracingFrom } from '../../src/cli/reading/command-settings.ts';
import { openSink } from '../../src/telemetry/tracing/otlp.ts';
import { contextOf } from '../../src/telemetry/tracing/span.ts';
import { freePort } from '../servers/process.ts';
import { startOtlpServer } from '../support/otlp-server.ts';
import { runHere } from '../support/run-cli.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';

const INSECURE = { GITEA_RUNNERS_TRACING_INSECURE: 'true' };

/** Two CI jobs wait. @param spec more of the RunnerGroup. */
async function twoJobs(spec = '') {
  const { simulator, env, folder } = await startAcme({}, spec);
  const run = { jobs: [{ key: 'build', runsOn: ['linux'] }] };
  const ids = [1, 2].map(() => simulator.gitea.push('acme/web', run).jobs[0]?.id ?? 0);
  const generate = (more: Readonly<Record<string, string>>) => runHere(['generate', folder], { ...env, ...more });
  return { url: simulator.url, ids, generate };
}

async function collector(answer?: Parameters<typeof startOtlpServer>[0]) {
  const server = await startOtlpServer(answer);
  onTestFinished(server.close);
  return server;
}

describe('generate', () => {
  it('generate shows in the trace of each CI job for which it makes a runner', async () => {
    const { generate, ids, url } = await twoJobs();
    const server = await collector();

    const { code } = await generate({ GITEA_RUNNERS_TRACING_ENDPOINT: server.url, ...INSECURE });

    const parents = ids.map((jobId) => contextOf({ origin: url, job: { id: jobId, attempt: 1 } }));
    expect(code).toBe(0);
    expect(server.spans.map(({ name }) => name)).toEqual(['generate', 'generate']);
    expect(server.spans.map(({ traceId, parentSpanId: spanId }) => ({ traceId, spanId }))).toEqual(parents);
    for (const { beganMs, endedMs } of server.spans) expect(endedMs).toBeGreaterThan(beganMs);
    expect(server.bodies.join()).not.toContain(TOKEN);
    expect(JSON.stringify(server.headers)).not.toContain(TOKEN);
  });

  it('generate does not show in the traces of a group that has switched tracing off', async () => {
    const { generate } = await twoJobs('  tracing: false');
    const server = await collector();

    const { code } = await generate({ GITEA_RUNNERS_TRACING_ENDPOINT: server.url, ...INSECURE });

    expect(code).toBe(0);
    expect(server.spans).toEqual([]);
  });

  const [TRACE_ID, SPAN_ID] = ['1'.repeat(32), '2'.repeat(16)];

  it.each([
    ['joins the trace of TRACEPARENT', '01', [{ name: 'generate', traceId: TRACE_ID, parentSpanId: SPAN_ID }]],
    ['sends nothing for a caller that does not sample', '00', []],
  ])('%s', async (_, flags, spans) => {
    const { generate } = await twoJobs();
    const server = await collector();

    await generate({ OTEL_EXPORTER_OTLP_ENDPOINT: server.url, TRACEPARENT: `00-${TRACE_ID}-${SPAN_ID}-${flags}` });

    expect(server.spans).toMatchObject(spans);
    expect(server.bodies).toHaveLength(spans.length);
  });

  it.each(['refuses', 'never answers', 'answers 500'])(
    'generate prints the same when the collector %s',
    async (how) => {
      const { generate } = await twoJobs();
      const server = await collector({
        answer: (response) => (how === 'answers 500' ? void response.writeHead(500).end() : undefined),
      });
      const endpoint = how === 'refuses' ? `http://127.0.0.1:${await freePort()}` : server.url;

      const without = await generate({});
      const { code, stdout } = await generate({ GITEA_RUNNERS_TRACING_ENDPOINT: endpoint, ...INSECURE });

      expect(code).toBe(0);
      expect(stdout).toBe(without.stdout);
      expect(stdout).toContain('kind: "Job"');
    },
  );

  it('generate says that its settings are wrong, and makes the runners', async () => {
    const { generate } = await twoJobs();

    const { code, stdout, stderr } = await generate({ GITEA_RUNNERS_TRACING_ENDPOINT: 'ftp://collector' });

    expect(code).toBe(0);
    expect(stdout).toContain('kind: "Job"');
    expect(stderr).toMatch(/^warning: GR-FLAG-22 read --tracing-endpoint: .* Nothing is traced\.$/m);
  });
});

describe('settings', () => {
  const from = (env: Readonly<Record<string, string>>) => tracingFrom({}, { env });
  const endpoint = { GITEA_RUNNERS_TRACING_ENDPOINT: 'https://collector:4318' };

  it('tracing has no settings without an endpoint, and no other variable is read', () => {
    expect(from({ OTEL_TRACES_SAMPLER: 'nonsense', OTEL_RESOURCE_ATTRIBUTES: '=' })).toBeUndefined();
  });

  it.each([
    [{ GITEA_RUNNERS_TRACING_ENDPOINT: 'collector:4318' }, 'https://collector:4318/v1/traces'],
    [{ GITEA_RUNNERS_TRACING_ENDPOINT: 'collector:4318', ...INSECURE }, 'http://collector:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/otlp/' }, 'http://collector:4318/otlp/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }, 'https://collector/v1/traces'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_ENDPOINT: 'https://other' }, 'https://collector:4318/v1/traces'],
  ])('%j sends to %s', (env, url) => {
    expect(from(env)?.url.href).toBe(url);
  });

  it('tracing reads the standard variables', () => {
    const env = {
      ...endpoint,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=prod,team=a%2Cb',
    };
    expect(from(env)).toMatchObject({
      sampler: 'parentbased_traceidratio',
      ratio: 0.25,
      attributes: { 'deployment.environment': 'prod', team: 'a,b' },
    });
  });

  it.each([
    [{ GITEA_RUNNERS_TRACING_ENDPOINT: 'http://collector' }, 'add --tracing-insecure'],
    [{ GITEA_RUNNERS_TRACING_ENDPOINT: 'https://me:secret@collector' }, 'without user and password'],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 'read OTEL_TRACES_SAMPLER: it must be one of'],
    [{ ...endpoint, GITEA_RUNNERS_TRACING_SAMPLER_ARG: '1.1' }, 'from 0 to 1'],
    [{ ...endpoint, OTEL_RESOURCE_ATTRIBUTES: 'team' }, 'it must be KEY=VALUE'],
    [{ ...endpoint, OTEL_RESOURCE_ATTRIBUTES: 'a=1,'.repeat(33) }, 'at most 32'],
    [
      { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer s3cret' },
      'headers may hold a token, and the environment is no place for one. Remove',
    ],
  ])('%j is an error', (env, text) => {
    expect(() => from(env)).toThrow(text);
    expect(() => from(env)).not.toThrow('s3cret');
  });
});

it('no part of the program that traces is loaded without an endpoint', () => {
  // A start reads only the files that its part loads by itself.
  for (const part of ['generate', 'cli']) {
    const text = readFileSync(`lib/${part}.cjs`, 'utf8');
    expect(text).not.toContain('BasicTracerProvider');
    expect(text).not.toContain('resourceSpans');
    expect(text).not.toMatch(/^(?:var|const) .*require\("\.\/trac(?:e|ing)\.cjs"\)/m);
  }
});

/** Returns each field with the type of its value; of lists the first element. */
const typesOf = (value: unknown, path = ''): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [`${path}: ${typeof value}`];
  const inner = Array.isArray(value) ? [['[]', value[0]] as const] : Object.entries(value);
  return inner.flatMap(([key, each]) => (each === undefined ? [] : typesOf(each, `${path}.${key}`)));
};

it("what generate writes by hand has no field, and no type of a value, that OpenTelemetry's own serializer does not write", async () => {
  const { generate } = await twoJobs();
  const server = await collector();
  await generate({ OTEL_EXPORTER_OTLP_ENDPOINT: server.url });
  const settings = { url: new URL(`${server.url}/v1/traces`), sampler: 'always_on', ratio: 1, attributes: {} } as const;
  const sink = openSink(settings);
  const times = { beganMs: 1_800_000_000_000, endedMs: 1_800_000_001_000, attributes: { runner: 'x' } };
  sink.record(
    { name: 'root', ...times, children: [{ name: 'child', ...times }] },
    contextOf({ origin: '', job: { id: 1, attempt: 1 } }),
  );
  await sink.close();
  // On a busy machine, the request may be under way when the sink is closed.
  await expect.poll(() => server.bodies.length, { timeout: 10_000 }).toBe(2);

  const [ours, theirs] = server.bodies.map((body) => new Set(typesOf(JSON.parse(body))));
  expect(ours?.size).toBeGreaterThan(10);
  expect([...(ours ?? [])].filter((field) => !theirs?.has(field))).toEqual([]);
});
