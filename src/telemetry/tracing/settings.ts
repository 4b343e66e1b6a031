/** Where spans go, and which traces are kept. Made from flags in `src/cli/tracing.ts`. */

/** As `OTEL_TRACES_SAMPLER` names them. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

export interface TracingSettings {
  /** The whole address of OTLP over HTTP with JSON, e.g. `http://collector:4318/v1/traces`. */
  readonly url: URL;
  readonly sampler: SamplerName;
  /** Share of the traces that the ratio samplers keep, 0 to 1. */
  readonly ratio: number;
  /** About the process, e.g. `service.name`. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** Name of the process and of the instrumentation, unless `service.name` is set. */
export const SERVICE_NAME = 'gitea-runners';

/**
 * True when spans of this trace are kept. The share is decided by the trace's id, as OpenTelemetry's `TraceIdRatioBasedSampler` for
 * JavaScript does (2.12.1), so that all processes keep the same traces.
 * @param parent what the caller has decided; absent: the trace begins here.
 */
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
