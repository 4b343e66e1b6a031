/**
 * Spans as our code makes them, before OpenTelemetry sees them, and the trace that a CI job's way to its runner belongs to. The ids follow from
 * the job itself: `serve`, its other replica and `generate` find the same ones, and Argo CD need not pass anything on (docs/adr/0049).
 */
import { createHash } from 'node:crypto';
import type { SpansLost } from '../../serve/events.ts';

/** Never a token, a header or a body. Strings that came from outside are printable and short. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Something that took time. Times are ms since 1970 by this machine's clock. */
export interface SpanData {
  readonly name: string;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly attributes?: SpanAttributes;
  /** It failed; a short reason of ours. */
  readonly error?: string;
  readonly children?: readonly SpanData[];
}

/** A stay of a CI job in the queue. */
export interface JobStay {
  /** Base URL of its Gitea. */
  readonly origin: string;
  readonly jobId: number;
  readonly attempt: number;
}

/** Ids as W3C Trace Context writes them: 32 and 16 hex digits in lower case, not all 0. */
export interface TraceIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** The trace of a stay, and its root span. */
export function contextOf({ origin, jobId, attempt }: JobStay): TraceIds {
  const hash = createHash('sha256').update(`gitea-runners ${origin} ${jobId} ${attempt}`).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Reads `TRACEPARENT` (W3C Trace Context 1). Undefined: there is none, or it is not valid and does not count. */
export function readTraceparent(text: string | undefined): (TraceIds & { readonly isSampled: boolean }) | undefined {
  const match = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '');
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Where the spans of a trace go. */
export interface SpanSink {
  /** Takes a root span with all below it. Returns at once. */
  readonly record: (root: SpanData, ids: TraceIds) => void;
  /** Called when spans were lost. */
  onLost: (spans: number, reason: SpansLost) => void;
  /** Sends what is left, for `TRACING_BOUNDS.closeMs` at most. False: it was not done by then, and a request may be under way still. */
  readonly close: () => Promise<boolean>;
}
