/**
 * Hostile requests on the port of webhooks, against the whole of `serve`, over sockets: each is refused with the status in the
 * table and changes nothing, and after each a good webhook still works. The red team's list, and more.
 */
import { expect, it } from 'vitest';
import { MAX_WEBHOOK_BYTES } from '../../../src/serve/webhook/listener.ts';
import { delivery, payload, SECRET, sign, type TestDelivery } from '../deliveries.ts';
import { type Replica, type Rig, startRig, until } from '../rig.ts';
import { talk } from '../talk.ts';

const EVENT = JSON.stringify(payload());

/** A request as bytes. Its length is announced unless the headers say otherwise. */
function bytes({ headers, body }: TestDelivery, line = 'POST /webhook HTTP/1.1'): Buffer {
  const has = (name: string): boolean => name in headers;
  const length = has('content-length') || has('transfer-encoding') ? {} : { 'content-length': String(body.length) };
  const all = Object.entries({ host: 'x', connection: 'close', ...length, ...headers });
  return Buffer.concat([
    Buffer.from(`${line}\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`),
    body,
  ]);
}

/** A request that is right but for these headers. An empty value is sent; undefined leaves the header out. */
const withHeaders = (headers: Readonly<Record<string, string | undefined>>, body: string | Buffer = EVENT): Buffer =>
  bytes(delivery(body, headers));
/** A rightly signed body. */
const signed = (body: string | Buffer | object): Buffer => bytes(delivery(body));
const job = (fields: object): Buffer => signed(payload(fields));
const inRepository = (repository: unknown): Buffer => signed(payload({}, { repository }));
const lines = (...text: readonly string[]): Buffer => Buffer.from(`${text.join('\r\n')}\r\n\r\n`);
const chunked = (chunks: string): Buffer =>
  Buffer.concat([
    bytes({ ...delivery(EVENT, { 'transfer-encoding': 'chunked' }), body: Buffer.alloc(0) }),
    Buffer.from(chunks),
  ]);

const SIGNATURES: readonly [string, number, Buffer][] = [
  ['no signature', 401, withHeaders({ 'x-gitea-signature': undefined })],
  ['an empty signature', 401, withHeaders({ 'x-gitea-signature': '' })],
  ['a signature of zeros', 403, withHeaders({ 'x-gitea-signature': '0'.repeat(64) })],
  ['a signature of another body', 403, withHeaders({ 'x-gitea-signature': sign(Buffer.from('other')) })],
  ['a signature with another secret', 403, withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT), 'other') })],
  ['a signature with the empty secret', 403, withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT), '') })],
  ['a signature in upper case', 401, withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT)).toUpperCase() })],
  ["GitHub's form of a signature", 401, withHeaders({ 'x-gitea-signature': `sha256=${sign(Buffer.from(EVENT))}` })],
  ['a signature that is too long', 401, withHeaders({ 'x-gitea-signature': `${sign(Buffer.from(EVENT))}00` })],
  [
    'two signatures, the right one first',
    401,
    withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT)), 'X-Gitea-Signature': '0'.repeat(64) }),
  ],
  [
    "GitHub's header in place of Gitea's",
    401,
    withHeaders({ 'x-gitea-signature': undefined, 'x-hub-signature-256': `sha256=${sign(Buffer.from(EVENT))}` }),
  ],
  [
    'a body that was changed after it was signed',
    403,
    withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT)) }, `${EVENT} `),
  ],
];

const REQUESTS: readonly [string, number, Buffer][] = [
  ['GET', 405, bytes(delivery(), 'GET /webhook HTTP/1.1')],
  ['OPTIONS', 405, bytes(delivery(), 'OPTIONS /webhook HTTP/1.1')],
  ['a method that does not exist', 400, bytes(delivery(), 'STEAL /webhook HTTP/1.1')],
  ['another path', 404, bytes(delivery(), 'POST /metrics HTTP/1.1')],
  ['a query', 404, bytes(delivery(), 'POST /webhook?x HTTP/1.1')],
  ['a path with dots', 404, bytes(delivery(), 'POST /x/../webhook HTTP/1.1')],
  ['an encoded path', 404, bytes(delivery(), 'POST /%77ebhook HTTP/1.1')],
  ['an absolute address', 404, bytes(delivery(), 'POST http://elsewhere/webhook HTTP/1.1')],
  ['no host', 400, lines('POST /webhook HTTP/1.1', 'content-length: 0')],
  ['HTTP/2 in plain text', 400, lines('PRI * HTTP/2.0', '', 'SM')],
  ['no HTTP at all', 400, lines('hello')],
  ['a TLS greeting', 400, Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
  ['headers without an end', 431, lines('POST /webhook HTTP/1.1', `x: ${'x'.repeat(20_000)}`)],
  ['a header with a line feed alone', 400, Buffer.from('POST /webhook HTTP/1.1\nhost: x\nx\n: y\n\n')],
  ['a content type of text', 415, withHeaders({ 'content-type': 'text/plain' })],
  ['a form', 415, withHeaders({ 'content-type': 'application/x-www-form-urlencoded' }, `payload=${EVENT}`)],
  ['no content type', 415, withHeaders({ 'content-type': undefined })],
  [
    'two content types, JSON last',
    415,
    withHeaders({ 'content-type': undefined, 'Content-Type': 'text/plain', 'CONTENT-TYPE': 'application/json' }),
  ],
  ['another event', 422, withHeaders({ 'x-gitea-event': 'push' })],
  ['no event', 422, withHeaders({ 'x-gitea-event': undefined })],
  ['the event twice', 422, withHeaders({ 'X-Gitea-Event': 'push', 'x-gitea-event': 'workflow_job' })],
];

const LENGTHS: readonly [string, number, Buffer][] = [
  ['a body that is too long', 413, signed(EVENT.padEnd(MAX_WEBHOOK_BYTES + 1, ' '))],
  ['an announced body that is too long', 413, withHeaders({ 'content-length': '99999999999' }, '')],
  ['a length below zero', 400, withHeaders({ 'content-length': '-1' })],
  ['a length that is no number', 400, withHeaders({ 'content-length': '0x10' })],
  ['two lengths', 400, withHeaders({ 'Content-Length': '1', 'content-length': String(EVENT.length) })],
  ['a length and chunks', 400, withHeaders({ 'content-length': '3', 'transfer-encoding': 'chunked' })],
  ['an encoding that is not known', 400, withHeaders({ 'transfer-encoding': 'gzip' })],
  ['a chunk whose length is no number', 400, chunked('zz\r\n')],
  ['a chunk of a huge length', 413, chunked(`fffffff\r\n${'x'.repeat(MAX_WEBHOOK_BYTES + 1)}`)],
  ['a chunk that is longer than it says', 400, chunked('1\r\nxx\r\n0\r\n\r\n')],
  ['endless chunks', 413, chunked(`1000\r\n${'x'.repeat(4096)}\r\n`.repeat(65))],
  ['no body', 403, withHeaders({ 'x-gitea-signature': sign(Buffer.from(EVENT)) }, '')],
];

const BODIES: readonly [string, Buffer][] = [
  ['JSON that is cut off', signed('{')],
  ['an empty body', signed('')],
  ['a list', signed('[]')],
  ['null', signed('null')],
  ['100,000 brackets', signed('['.repeat(100_000))],
  ['UTF-16', signed(Buffer.from(EVENT, 'utf16le'))],
  [
    'bytes that are no UTF-8',
    signed(Buffer.concat([Buffer.from(EVENT.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')])),
  ],
  ['a prototype for the event', signed('{"__proto__":{"action":"queued"},"workflow_job":{"id":1}}')],
  ['a prototype for the job', signed(EVENT.replace('"workflow_job"', '"__proto__":{},"constructor"'))],
  ['no job', signed({ action: 'queued', repository: { full_name: 'acme/web' } })],
  ['a job that is a list', signed(payload({}, { workflow_job: [] }))],
  ['an id that is a string', job({ id: '7' })],
  ['an id beyond the safe integers', signed(EVENT.replace('"id":7', '"id":9007199254740993'))],
  ['an id of zero', job({ id: 0 })],
  ['half an id', job({ id: 7.5 })],
  ['an attempt that is no number', job({ run_attempt: 'NaN' })],
  ['an attempt below zero', job({ run_attempt: -1 })],
  ['a status that does not exist', job({ status: 'exploded' })],
  ['no repository', signed(payload({}, { repository: undefined }))],
  ['a repository that is a string', inRepository('acme/web')],
  ['a repository outside of its owner', inRepository({ full_name: '../../x' })],
  ['a repository of three parts', inRepository({ full_name: 'acme/web/x' })],
  ['a repository with a null byte', inRepository({ full_name: 'acme\u0000/web' })],
  ['a repository with a line feed', inRepository({ full_name: 'acme/web\nX-Evil: 1' })],
  ['a repository with a terminal escape', inRepository({ full_name: 'acme/\u001b[31m' })],
  ['a repository of a megabyte, nearly', inRepository({ full_name: `acme/${'w'.repeat(200_000)}` })],
];

interface Scene {
  readonly rig: Rig;
  readonly replica: Replica;
  readonly looks: () => Promise<number>;
}

async function scene(): Promise<Scene> {
  const rig = await startRig();
  const replica = await rig.start({ pollMs: 60_000 });
  const looks = (): Promise<number> => replica.metric('gitea_runners_looks_total');
  await until('the first look', async () => (await looks()) === 1);
  return { rig, replica, looks };
}

/** Sends bytes and answers the status of each answer. */
async function send({ replica }: Scene, request: Buffer): Promise<readonly number[]> {
  const sender = await talk(replica.webhooks);
  sender.write(request);
  const text = await sender.ended;
  return [...text.matchAll(/^HTTP\/1\.1 (\d+) /gm)].map(([, status]) => Number(status));
}

/** A good webhook is accepted, and makes a look and a Job. */
async function expectGood(it: Scene, jobId = 4711): Promise<void> {
  const { rig, looks } = it;
  const before = await looks();
  rig.simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  expect(await send(it, job({ id: jobId }))).toEqual([202]);
  await until('a look', async () => (await looks()) > before);
  await until('a Job', () => rig.cluster.all('jobs').length === 1);
}

/** @param table its requests, each refused with its status; then a good one. */
async function expectRefused(table: readonly (readonly [string, number, Buffer])[]): Promise<void> {
  const at = await scene();
  const outcomes: unknown[] = [];
  for (const [name, , request] of table) outcomes.push([name, await send(at, request)]);

  expect(outcomes).toEqual(table.map(([name, status]) => [name, [status]]));
  expect(await at.looks()).toBe(1);
  const log = JSON.stringify(at.replica.log);
  expect(log).not.toContain(SECRET);
  expect(log).not.toContain('"level":"error"');
  await expectGood(at);
}

it('the port of webhooks refuses every wrong signature, and goes on', () => expectRefused(SIGNATURES));

it('the port of webhooks refuses every wrong request, and goes on', () => expectRefused(REQUESTS));

it('the port of webhooks refuses every wrong length, and goes on', () => expectRefused(LENGTHS));

it('the port of webhooks refuses every signed body that is no event with 422, and goes on', () =>
  expectRefused(BODIES.map(([name, request]) => [name, 422, request])));

it('the port of webhooks refuses what it has seen before, with the same id or another', async () => {
  const at = await scene();
  const once = delivery();
  const again = { ...once, headers: { ...once.headers, 'x-gitea-delivery': 'another' } };
  const sameId = delivery(payload({ id: 8 }), { 'x-gitea-delivery': once.headers['x-gitea-delivery'] });

  const statuses = [];
  for (const one of [once, once, again, sameId]) statuses.push(await send(at, bytes(one)));

  expect(statuses).toEqual([[202], [409], [409], [409]]);
  await expectGood(at);
});

it('the port of webhooks takes an old event and one of a foreign organisation, which prove nothing', async () => {
  const at = await scene();
  const old = job({ id: 1, created_at: '0001-01-01T00:00:00Z', started_at: '9999-12-31T23:59:59Z' });
  const foreign = signed(payload({ id: 2 }, { repository: { full_name: 'nobody/x' } }));

  expect([await send(at, old), await send(at, foreign)]).toEqual([[202], [202]]);
  expect(at.rig.cluster.all('jobs')).toEqual([]);
  await expectGood(at);
});

it('the port of webhooks reads nothing after a request that it refused before its end', async () => {
  const at = await scene();
  const smuggled = job({ id: 9 });
  const outer = bytes({ headers: { 'content-length': String(smuggled.length) }, body: smuggled }, 'POST /x HTTP/1.1');

  expect(await send(at, outer)).toEqual([404]);
  expect(await at.looks()).toBe(1);
  await expectGood(at);
});

it('the port of webhooks judges each of many requests in one piece by itself', async () => {
  const at = await scene();
  const keep = { connection: 'keep-alive' };
  const bad = bytes(delivery(EVENT, { ...keep, 'x-gitea-signature': '0'.repeat(64) }));
  const good = bytes(delivery(payload({ id: 5 }), keep));
  const last = bytes(delivery(EVENT, { 'x-gitea-event': 'push' }));

  expect(await send(at, Buffer.concat([bad, good, bad, last]))).toEqual([403, 202, 403, 422]);
  await expectGood(at);
});
