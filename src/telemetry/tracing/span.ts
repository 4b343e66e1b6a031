/** Spans, and the ids of a CI job's trace. They follow from the job, so all processes calculate the same (docs/adr/0049). */
import { createHash } from 'node:crypto';
import type { SpansLost } from '../../serve/planning/events.ts';
import { stayKey } from '../../shared/keys.ts';

/** Attributes of a span. They never hold a token, a header or a body. Strings from outside are printable and short. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Times are ms since 1970 by this machine's clock. */
export interface SpanData {
  readonly name: string;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly attributes?: SpanAttributes;
  /** Why the step failed, shortly and in this program's words. Absent: it did not fail. */
  readonly error?: string;
  readonly children?: readonly SpanData[];
}

/** Ids as W3C Trace Context writes them: 32 and 16 hex digits in lower case, not all 0. */
export type TraceIds = Readonly<Record<'traceId' | 'spanId', string>>;

/** The trace of a stay, and its root span. */
export function contextOf(stay: Parameters<typeof stayKey>[0]): TraceIds {
  const hash = createHash('sha256')
    .update(`gitea-runners ${stayKey(stay)}`)
    .digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Reads `TRACEPARENT` (W3C Trace Context 1). Undefined: there is none, or it is not valid and does not count. */
export function readTraceparent(text: string | undefined): (TraceIds & { readonly isSampled: boolean }) | undefined {
  const match = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '');
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Receiver of a trace's spans. */
export interface SpanSink {
  /** Takes a root span with all below it. Returns at once. */
  readonly record: (root: SpanData, ids: TraceIds) => void;
  onLost: (spans: number, reason: SpansLost) => void;
  /** Sends the rest within `TRACING_BOUNDS.closeMs`. False: the time was over, and a request may still be under way. */
  readonly close: () => Promise<boolean>;
}

/** Samplers by their names in `OTEL_TRACES_SAMPLER`. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export interface TracingSettings {
  /** The whole address of OTLP over HTTP with JSON, e.g. `http://collector:4318/v1/traces`. */
  readonly url: URL;
  readonly sampler: (typeof SAMPLERS)[number];
  /** Share of the traces that the ratio samplers keep, 0 to 1. */
  readonly ratio: number;
  /** About the process, e.g. `service.name`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Name of the process and of the instrumentation, unless `service.name` is set. */
export const SERVICE_NAME = 'gitea-runners';

/** True if spans of this trace are kept: by its id, as OpenTelemetry's `TraceIdRatioBasedSampler` decides (JavaScript, 2.12.1). */
export function isKept(
  { sampler, ratio }: Pick<TracingSettings, 'sampler' | 'ratio'>,
  traceId: string,
  parent?: { readonly isSampled: boolean },
): boolean {
  if (parent && sampler.startsWith('parentbased_')) return parent.isSampled;
  if (sampler.endsWith('always_on')) return true;
  if (sampler.endsWith('always_off')) return false;
  const limit = ratio === 1 ? 0x1_0000_0000 : Math.floor(ratio * 0xffff_ffff);
  const words = traceId.match(/.{8}/g) ?? [];
  return words.reduce((sum, word) => (sum ^ Number.parseInt(word, 16)) >>> 0, 0) < limit;
}
