/** The flags of tracing. Their standard OpenTelemetry variables count where ours are not set. */
import { Failure } from '../../shared/failure.ts';
import { SAMPLERS, type SamplerName } from '../../telemetry/tracing/settings.ts';
import type { Flag, Source } from './flag.ts';

const MOST_ATTRIBUTES = 32;
const LONGEST_ATTRIBUTE = 255;

export const TRACING_FLAGS = {
  tracingEndpoint: {
    of: ['generate', 'serve'],
    value: 'URL',
    standard: ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
    defaultNote: 'trace nothing',
    help: 'OpenTelemetry collector, OTLP over HTTP: spans are sent there',
    more: '[Tracing](tracing.md). `/v1/traces` is added.',
  },
  tracingInsecure: {
    of: ['generate', 'serve'],
    standard: ['OTEL_EXPORTER_OTLP_TRACES_INSECURE', 'OTEL_EXPORTER_OTLP_INSECURE'],
    help: 'the endpoint may be http',
  },
  tracingSampler: {
    of: ['generate', 'serve'],
    value: 'SAMPLER',
    standard: ['OTEL_TRACES_SAMPLER'],
    default: 'parentbased_always_on',
    help: `which traces are kept: ${SAMPLERS.join(', ')}`,
    read: readSampler,
  },
  tracingSamplerArg: {
    of: ['generate', 'serve'],
    value: 'RATIO',
    standard: ['OTEL_TRACES_SAMPLER_ARG'],
    default: 1,
    help: 'share of the traces that the ratio samplers keep, 0 to 1',
    read: readRatio,
  },
  tracingResourceAttributes: {
    of: ['generate', 'serve'],
    value: 'LIST',
    standard: ['OTEL_RESOURCE_ATTRIBUTES'],
    defaultNote: 'none',
    help: `about the process, on each span: KEY=VALUE, comma-separated, at most ${MOST_ATTRIBUTES}`,
    read: readAttributes,
  },
} as const satisfies Readonly<Record<string, Flag>>;

function readSampler(text: string, { name }: Source): SamplerName {
  const found = SAMPLERS.find((sampler) => sampler === text);
  if (found) return found;
  throw new Failure('GR-FLAG-22', 2, `read ${name}: it must be one of ${SAMPLERS.join(', ')}.`);
}

function readRatio(text: string, { name }: Source): number {
  const value = /^(?:0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : -1;
  if (value >= 0) return value;
  throw new Failure('GR-FLAG-22', 2, `read ${name}: it must be a number from 0 to 1, e.g. 0.1.`);
}

/** As `OTEL_RESOURCE_ATTRIBUTES` is written: values are percent-encoded. */
function readAttributes(text: string, { name }: Source): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const read = pairs.flatMap((pair) => {
    const [, key = '', value = ''] = /^\s*([A-Za-z][\w.\-/]*)\s*=\s*([\x21-\x7e]*)\s*$/.exec(pair) ?? [];
    const decoded = decode(value);
    const isGood = key !== '' && decoded !== undefined && Math.max(key.length, decoded.length) <= LONGEST_ATTRIBUTE;
    return isGood ? [[key, decoded] as const] : [];
  });
  if (read.length === pairs.length && read.length <= MOST_ATTRIBUTES) return Object.fromEntries(read);
  throw new Failure(
    'GR-FLAG-22',
    2,
    `read ${name}: it must be KEY=VALUE, comma-separated, at most ${MOST_ATTRIBUTES} of them with at most ${LONGEST_ATTRIBUTE} characters each. Write other characters as %2C.`,
  );
}

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
