/** A collector that keeps what it gets: a real HTTP server that reads OTLP as JSON (opentelemetry-proto 1.x, `trace/v1/trace.proto`). */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: an error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

export interface OtlpServer {
  readonly url: string;
  readonly port: number;
  readonly spans: readonly ReceivedSpan[];
  /** Headers of each request. */
  readonly headers: readonly IncomingHttpHeaders[];
  readonly bodies: readonly string[];
  readonly close: () => Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Spans {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
}

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
}

/** @param answer default: 200 with an empty answer. Nothing: the request hangs. */
export async function startOtlpServer({
  host = '127.0.0.1',
  answer = (response: ServerResponse) => void response.setHeader('content-type', 'application/json').end('{}'),
} = {}): Promise<OtlpServer> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (request.method !== 'POST' || request.url !== '/v1/traces') {
      response.writeHead(404).end();
      return;
    }
    headers.push(request.headers);
    bodies.push(body);
    spans.push(...read(JSON.parse(body) as Spans));
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    spans,
    headers,
    bodies,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function read({ resourceSpans }: Spans): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ traceId, spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano, attributes, status }) => ({
        traceId,
        spanId,
        ...(parentSpanId && { parentSpanId }),
        name,
        beganMs: Number(BigInt(startTimeUnixNano) / 1000n) / 1000,
        endedMs: Number(BigInt(endTimeUnixNano) / 1000n) / 1000,
        attributes: valuesOf(attributes ?? []),
        status: status?.code ?? 0,
        resource: valuesOf(resource.attributes),
      })),
  );
}

function valuesOf(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
