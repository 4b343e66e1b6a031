/** A span as our code makes it, before OpenTelemetry sees it. */

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
