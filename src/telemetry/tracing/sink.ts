/** Where the spans of a trace go. */
import type { SpanData } from './span.ts';
import type { TraceContext } from './trace-context.ts';

/** `queue`: too many wait for the collector. `collector`: it has not taken them. */
export type SpansLost = 'queue' | 'collector';

export interface SpanSink {
  /** Takes a root span with all below it. Returns at once. */
  readonly record: (root: SpanData, context: Omit<TraceContext, 'isSampled'>) => void;
  /** Called when spans were lost. */
  onLost: (spans: number, reason: SpansLost) => void;
  /** Sends what is left; ends after `TRACING_BOUNDS.closeMs` at the latest. False: it was not done by then, and a request may be under way still. */
  readonly close: () => Promise<boolean>;
}
