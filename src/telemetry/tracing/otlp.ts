/**
 * Spans to a collector, by OpenTelemetry's packages. lib/tracing.cjs: loaded only if an endpoint is set (docs/adr/0049).
 *
 *     record ─► SDK span ─► queue of 2,048 ─ every second, 512 at most ─► POST /v1/traces, 5 s with all its tries
 */
import { randomBytes } from 'node:crypto';
import { ROOT_CONTEXT, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import packageJson from '../../../package.json' with { type: 'json' };
import { pause, systemClock } from '../../shared/clock.ts';
import { isKept, SERVICE_NAME, type SpanData, type SpanSink, type TraceIds, type TracingSettings } from './span.ts';

export const TRACING_BOUNDS = {
  /** Spans that wait, those on their way included. Further ones are lost. */
  queue: 2_048,
  /** Spans of one request. */
  batch: 512,
  everyMs: 1_000,
  /** Time limit of one request with its repetitions, ms. */
  sendMs: 5_000,
  /** Time limit at the end of the process, ms. */
  closeMs: 500,
  longestValue: 255,
} as const;

/** Opens the way to a collector. @param exporter default: OTLP over HTTP with JSON */
export function openSink(settings: TracingSettings, exporter?: SpanExporter): SpanSink {
  let nextIds: Partial<TraceIds> = {};
  const spanExporter =
    exporter ?? new OTLPTraceExporter({ url: settings.url.href, timeoutMillis: TRACING_BOUNDS.sendMs });
  const sink: SpanSink = {
    record: (root, ids) => {
      if (!isKept(settings, ids.traceId)) return;
      nextIds = ids;
      write(tracer, root, ROOT_CONTEXT);
    },
    onLost: () => undefined,
    close: async () => {
      const done = new AbortController();
      const end = (): void => done.abort();
      // The exporter has reported a failure already.
      void provider.shutdown().then(end, end);
      await pause(systemClock, TRACING_BOUNDS.closeMs, done.signal);
      return done.signal.aborted;
    },
  };
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': SERVICE_NAME,
      'service.version': packageJson.version,
      ...settings.attributes,
    }),
    spanLimits: { attributeValueLengthLimit: TRACING_BOUNDS.longestValue },
    // A root span has the ids of its CI job. The others have its trace id, and a span id by chance.
    idGenerator: {
      generateTraceId: () => nextIds.traceId ?? randomHex(16),
      generateSpanId: () => {
        const { spanId = randomHex(8), traceId } = nextIds;
        nextIds = traceId === undefined ? {} : { traceId };
        return spanId;
      },
    },
    sampler: new AlwaysOnSampler(),
    spanProcessors: [countingProcessor(spanExporter, (spans, reason) => sink.onLost(spans, reason))],
  });
  const tracer = provider.getTracer(SERVICE_NAME, packageJson.version);
  return sink;
}

function write(tracer: Tracer, data: SpanData, context: typeof ROOT_CONTEXT): void {
  const { name, beganMs, endedMs, attributes = {}, error, children = [] } = data;
  const span = tracer.startSpan(name, { startTime: timeOf(beganMs), attributes }, context);
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  const below = trace.setSpan(context, span);
  for (const child of children) write(tracer, child, below);
  span.end(timeOf(endedMs));
}

/** Seconds and ns. The SDK takes a number for a time since the process began when it is small. */
function timeOf(ms: number): [number, number] {
  return [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)];
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** The SDK's queue, which counts what it loses. */
function countingProcessor(exporter: SpanExporter, onLost: SpanSink['onLost']): SpanProcessor {
  let waiting = 0;
  const counting: SpanExporter = {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        waiting -= spans.length;
        if (result.code !== 0) onLost(spans.length, 'collector');
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
  const batches = new BatchSpanProcessor(counting, {
    maxQueueSize: TRACING_BOUNDS.queue,
    maxExportBatchSize: TRACING_BOUNDS.batch,
    scheduledDelayMillis: TRACING_BOUNDS.everyMs,
    // The exporter has ended by itself before.
    exportTimeoutMillis: 2 * TRACING_BOUNDS.sendMs,
  });
  return {
    onStart: () => undefined,
    onEnd: (span) => {
      if (waiting >= TRACING_BOUNDS.queue) return onLost(1, 'queue');
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
