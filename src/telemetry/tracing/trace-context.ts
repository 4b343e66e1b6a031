/**
 * Which trace a CI job's way to its runner belongs to. The ids follow from the job itself: `serve`, its other replica and `generate` find
 * the same ones, and Argo CD need not pass anything on (docs/adr/0049).
 */
import { createHash } from 'node:crypto';

/** A stay of a CI job in the queue. */
export interface JobStay {
  /** Base URL of its Gitea. */
  readonly origin: string;
  readonly jobId: number;
  readonly attempt: number;
}

/** Ids as W3C Trace Context writes them: 32 and 16 hex digits in lower case, not all 0. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** The trace of a stay, and its root span. */
export function contextOf({ origin, jobId, attempt }: JobStay): Omit<TraceContext, 'isSampled'> {
  const hash = createHash('sha256').update(`gitea-runners ${origin} ${jobId} ${attempt}`).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Reads `TRACEPARENT` (W3C Trace Context 1). Undefined: there is none, or it is not valid and does not count. */
export function readTraceparent(text: string | undefined): TraceContext | undefined {
  const match = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text ?? '');
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
