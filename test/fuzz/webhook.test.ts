/**
 * Tests any bytes to the webhook server: only signed requests pass, each is answered soon, and the next good one is
 * served.
 */
import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { startHttpServer } from '../../src/serve/http/http-server.ts';
import { type Delivery, type WebhookEvent, WebhookGate } from '../../src/serve/webhook/gate.ts';
import { webhookListener } from '../../src/serve/webhook/listener.ts';
import { delivery, payload, SECRET, sign } from '../serve/deliveries.ts';
import { expectShowable, runCampaign, TIMEOUT_MS } from './campaign.ts';
import { byteChanges, nodeChanges, sometimes } from './mutate.ts';

const OLD_SECRET = 'the webhook secret before';
/** Time limit of a whole request, ms. Then node:http answers 408. */
const REQUEST_MS = 400;
const STATUSES = new Set([100, 202, 400, 401, 403, 404, 405, 408, 409, 413, 415, 417, 422, 431, 501, 503, 505]);

/** Pieces of text that mean something there, between `¦`. */
const TOKENS = [
  ...'\r\n¦\r\n\r\n¦: ¦ ¦\0¦\n¦\t¦POST ¦GET ¦HEAD ¦CONNECT ¦/webhook¦/../webhook¦ HTTP/1.1¦ HTTP/1.0'.split('¦'),
  ...'content-length: 0\r\n¦content-length: 99999999999\r\n¦transfer-encoding: chunked\r\n'.split('¦'),
  ...'expect: 100-continue\r\n¦upgrade: h2c\r\n¦x-gitea-signature: '.split('¦'),
  '0'.repeat(64),
  ...'{"action":¦workflow_job¦"id":0¦"full_name":"../.."'.split('¦'),
  'a: b\r\n'.repeat(50),
  'x'.repeat(20000),
];

/** A request before its bytes are changed. */
interface Request {
  readonly line: string;
  readonly body: Uint8Array;
  readonly secret: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const request: fc.Arbitrary<Request> = fc.record({
  line: fc.oneof(
    { weight: 6, arbitrary: fc.constant('POST /webhook HTTP/1.1') },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'GET /webhook HTTP/1.1',
        'POST / HTTP/1.1',
        'PUT /webhook?x HTTP/1.1',
        'PRI * HTTP/2.0',
      ),
    },
  ),
  body: fc
    .tuple(
      fc.nat(1e9).map((id) => payload({ id: id + 1 })),
      sometimes(nodeChanges, 1, 1),
      sometimes(byteChanges(TOKENS), 1, 2),
    )
    .map(([seed, change, bytes]) => bytes(Buffer.from(JSON.stringify(change(seed)) ?? ''))),
  secret: fc.constantFrom(SECRET, SECRET, OLD_SECRET, 'another secret', undefined),
  headers: fc.constantFrom<Record<string, string>>(
    {},
    { 'x-gitea-event': 'push' },
    { 'content-type': 'text/plain' },
    { 'x-gitea-runners-forwarded': '1' },
    { 'x-gitea-delivery': '../x' },
    { expect: '100-continue' },
  ),
});

function bytesOf({ line, body, secret, headers }: Request): Uint8Array {
  const signature = secret === undefined ? undefined : sign(body, secret);
  const all = {
    host: 'x',
    ...delivery(Buffer.from(body), { 'x-gitea-signature': signature }).headers,
    'content-length': String(body.length),
    ...headers,
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${line}\r\n${head.join('')}\r\n`), body]);
}

/** Several requests on one connection, perhaps with changed bytes. */
const conversation = fc
  .tuple(fc.array(request, { minLength: 1, maxLength: 3 }), sometimes(byteChanges(TOKENS), 1, 2))
  .map(([requests, change]) => change(Buffer.concat(requests.map(bytesOf))));

/** Sends the bytes and reads until the server closes the connection. */
function talk(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.end(bytes));
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => resolve(answer));
  });
}

test(
  'webhook',
  async () => {
    const accepted: { readonly event: WebhookEvent; readonly raw: Delivery }[] = [];
    const server = await startHttpServer({
      what: 'webhooks',
      address: { host: '127.0.0.1', port: 0 },
      requestMs: REQUEST_MS,
      onRequest: webhookListener(
        new WebhookGate(() => [SECRET, OLD_SECRET], Date.now),
        async (event, raw) => {
          accepted.push({ event, raw });
          return 202;
        },
        () => undefined,
      ),
    });
    try {
      await runCampaign({
        name: 'webhook',
        input: conversation,
        mostCpuMs: 1000,
        rounds: 1,
        check: async (bytes) => {
          accepted.length = 0;
          const start = performance.now();
          const answer = await talk(server.port, bytes);
          // The server looks for late requests once per REQUEST_MS; the rest is for a machine that is busy.
          expect(performance.now() - start).toBeLessThan(2 * REQUEST_MS + 10_000);
          expectGoodAnswer(answer);
          for (const { event, raw } of accepted) expectSigned(event, raw);
          const good = delivery(payload({ id: 1 + Math.floor(start * 1000) }));
          const served = await fetch(`http://127.0.0.1:${server.port}/webhook`, {
            method: 'POST',
            ...good,
            body: new Uint8Array(good.body),
          });
          expect(served.status).toBe(202);
        },
      });
    } finally {
      await server.close();
    }
  },
  TIMEOUT_MS,
);

function expectGoodAnswer(answer: string): void {
  for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) expect(STATUSES).toContain(Number(status));
  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 /);
  expectShowable(answer.replaceAll('\r\n', '\n'), [SECRET, OLD_SECRET]);
}

/** Judged by the test's own means. */
function expectSigned({ owner, repo, jobId, attempt, status }: WebhookEvent, { headers, body }: Delivery): void {
  expect([sign(body, SECRET), sign(body, OLD_SECRET)]).toContain(headers['x-gitea-signature']);
  const said = JSON.parse(Buffer.from(body).toString()) as {
    workflow_job: Record<string, unknown>;
    repository: Record<string, unknown>;
  };
  expect(said.workflow_job).toMatchObject({ id: jobId, run_attempt: attempt, status });
  expect(said.repository['full_name']).toBe(`${owner}/${repo}`);
  expect(`${owner}/${repo}`).toMatch(/^[\w.-]+\/[\w.-]+$/);
}
