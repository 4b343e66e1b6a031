/** Flags of tracing -> settings. Nothing of it is loaded or read without an endpoint. */
import { Failure } from '../shared/failure.ts';
import type { Io } from '../shared/io.ts';
import { parseUrl } from '../shared/parse-url.ts';
import type { TracingSettings } from '../telemetry/tracing/settings.ts';
import { variableOf } from './flags/flag.ts';
import { flagValue, type GivenFlags } from './flags/flags.ts';

type TracingFlags = GivenFlags<
  'tracingEndpoint' | 'tracingInsecure' | 'tracingSampler' | 'tracingSamplerArg' | 'tracingResourceAttributes'
>;

const PATH = '/v1/traces';
/** Headers may hold a token, and a process shows its environment to many. */
const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];

/** Undefined: no endpoint is named, and nothing is traced. @throws Failure exit 2 */
export function tracingFrom(flags: TracingFlags, io: Pick<Io, 'env'>): TracingSettings | undefined {
  const endpoint = flagValue('tracingEndpoint', flags, io);
  if (endpoint === undefined) return undefined;
  const [headers] = HEADERS.filter((name) => io.env[name]);
  if (headers !== undefined) {
    const message = `read ${headers}: spans are sent without headers of yours, so that no token stands in the environment. Remove the variable. Let the network protect the collector: a NetworkPolicy, mutual TLS of a mesh.`;
    throw new Failure('GR-FLAG-23', 2, message);
  }
  // In the standard variables http says by itself that the connection is plain.
  const isStandard = !flags.tracingEndpoint && !io.env[variableOf('tracingEndpoint')] && endpoint.startsWith('http:');
  return {
    url: urlOf(endpoint, isStandard || flagValue('tracingInsecure', flags, io)),
    sampler: flagValue('tracingSampler', flags, io),
    ratio: flagValue('tracingSamplerArg', flags, io),
    attributes: flagValue('tracingResourceAttributes', flags, io) ?? {},
  };
}

/** `https` unless it is said that the connection may be plain. */
function urlOf(endpoint: string, isInsecure: boolean): URL {
  const text = endpoint.includes('://') ? endpoint : `${isInsecure ? 'http' : 'https'}://${endpoint}`;
  const url = parseUrl(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '' || url.search) {
    const message =
      'read --tracing-endpoint: it must be the base URL of OTLP over HTTP, e.g. https://otel-collector.observability:4318, without user and password.';
    throw new Failure('GR-FLAG-22', 2, message);
  }
  if (url.protocol === 'http:' && !isInsecure) {
    const message =
      'read --tracing-endpoint: it begins with http, so anybody on the way can read the spans. Use https, or add --tracing-insecure.';
    throw new Failure('GR-FLAG-22', 2, message);
  }
  if (!url.pathname.endsWith(PATH)) url.pathname = `${url.pathname.replace(/\/+$/, '')}${PATH}`;
  return url;
}
