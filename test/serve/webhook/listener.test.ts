import { request as httpRequest } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHttpServer } from '../../../src/serve/http/http-server.ts';
import { type Delivery, type WebhookEvent, WebhookGate } from '../../../src/serve/webhook/gate.ts';
import { Forwarder, MAX_WEBHOOK_BYTES, webhookListener } from '../../../src/serve/webhook/listener.ts';
import { delivery, payload, RECORDED, recorded, SECRET, type TestDelivery } from '../deliveries.ts';
import { type Sender, talk } from '../talk.ts';

interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly events: WebhookEvent[];
  readonly raw: Delivery[];
  readonly refused: string[];
}

async function receiver(answer: () => Promise<number> = async () => 202, secret = SECRET): Promise<Receiver> {
  const events: WebhookEvent[] = [];
  const raw: Delivery[] = [];
  const refused: string[] = [];
  const server = await startHttpServer({
    what: 'webhooks',
    address: { host: '127.0.0.1', port: 0 },
    onRequest: webhookListener(
      new WebhookGate(
        () => [secret],
        () => 0,
      ),
      (event, delivered) => {
        events.push(event);
        raw.push(delivered);
        return answer();
      },
      (reason) => refused.push(reason),
    ),
    onMalformed: () => refused.push('malformed'),
  });
  onTestFinished(server.close);
  return { url: `http://127.0.0.1:${server.port}/webhook`, port: server.port, events, raw, refused };
}

async function send(to: Receiver, { headers, body }: TestDelivery): Promise<readonly [number, string]> {
  const answer = await fetch(to.url, { method: 'POST', headers, body });
  return [answer.status, await answer.text()];
}

/** A request as text. */
function raw(line: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const all = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line}\r\n${all.join('')}\r\n${body}`;
}

it.each(RECORDED)(
  'the webhook server takes %s as Gitea sent it, and answers 202 without a body',
  async (name, event) => {
    const { secret, headers, body } = recorded(name);
    const to = await receiver(undefined, secret);

    const sender = await talk(to.port, raw('POST /webhook HTTP/1.1', { ...headers, connection: 'close' }, body));

    expect(await sender.ended).toMatch(/^HTTP\/1\.1 202 Accepted\r\n[\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/);
    expect(to.events).toEqual([{ owner: 'acme', repo: 'web', ...event }]);
    expect(to.refused).toEqual([]);
  },
);

it('the webhook server takes a body in chunks', async () => {
  const to = await receiver();
  const { headers, body } = delivery();
  const status = new Promise((resolve, reject) => {
    const request = httpRequest(to.url, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    for (const byte of body) request.write(Buffer.of(byte));
    request.end();
  });

  expect(await status).toBe(202);
  expect(to.events).toHaveLength(1);
});

it.each([
  ['unsigned', 401, delivery(payload(), { 'x-gitea-signature': undefined })],
  ['signature', 403, delivery(payload(), { 'x-gitea-signature': '0'.repeat(64) })],
  ['event', 422, delivery(payload(), { 'x-gitea-event': 'push' })],
  ['payload', 422, delivery('{}')],
  ['media-type', 415, delivery(payload(), { 'content-type': 'application/jsonp' })],
])('the webhook server says why it refuses a delivery, with %s, and does nothing', async (reason, status, what) => {
  const to = await receiver();

  const [answered, text] = await send(to, what);

  expect(answered).toBe(status);
  expect(text).toMatch(/^[A-Z][^\n]+\.\n$/);
  expect([to.events, to.refused]).toEqual([[], [reason]]);
});

it('the webhook server takes a media type with a parameter', async () => {
  const to = await receiver();

  expect((await send(to, delivery(payload(), { 'content-type': 'Application/JSON; charset=utf-8' })))[0]).toBe(202);
});

it('the webhook server refuses a replay with 409', async () => {
  const to = await receiver();
  const once = delivery();

  expect([(await send(to, once))[0], (await send(to, once))[0]]).toEqual([202, 409]);
  expect([to.events.length, to.refused]).toEqual([1, ['replayed']]);
});

it.each([
  ['GET', '/webhook', 405, 'method'],
  ['POST', '/webhook/', 404, 'path'],
  ['POST', '/Webhook', 404, 'path'],
])('the webhook server refuses %s %s with %i', async (method, path, status, reason) => {
  const to = await receiver();

  expect((await fetch(new URL(path, to.url), { method })).status).toBe(status);
  expect([to.events, to.refused]).toEqual([[], [reason]]);
});

describe('a body', () => {
  const { headers } = delivery();

  it('a body of the longest length is read', async () => {
    const to = await receiver();
    const short = JSON.stringify(payload());
    const body = Buffer.from(short.padEnd(MAX_WEBHOOK_BYTES, ' '));

    expect((await send(to, delivery(body)))[0]).toBe(202);
  });

  it('a body without a length is refused as soon as it is too long, and the connection ends', async () => {
    const to = await receiver();
    const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;

    const sender = await talk(to.port, raw('POST /webhook HTTP/1.1', { ...headers, 'transfer-encoding': 'chunked' }));
    for (let sent = 0; sent <= MAX_WEBHOOK_BYTES; sent += 64 * 1024) sender.write(chunk);

    await sender.ended;
    expect([to.events, to.refused]).toEqual([[], ['too-large']]);
  });

  it('a body that stays away gives its memory to others: all together have 32 MiB', async () => {
    const to = await receiver();
    const slow: Sender[] = [];
    for (let nth = 0; nth < 129; nth += 1) {
      const length = String(MAX_WEBHOOK_BYTES);
      slow.push(await talk(to.port, raw('POST /webhook HTTP/1.1', { ...headers, 'content-length': length })));
      slow.at(-1)?.write(Buffer.alloc(MAX_WEBHOOK_BYTES - 1, ' '));
    }

    await slow[0]?.ended;

    expect((await send(to, delivery()))[0]).toBe(202);
  });

  it('a body that breaks off does nothing', async () => {
    const to = await receiver();

    const sender = await talk(to.port, raw('POST /webhook HTTP/1.1', { ...headers, 'content-length': '100' }, '{"act'));
    sender.end();

    await sender.ended;
    expect([to.events, to.refused]).toEqual([[], ['malformed']]);
  });
});

it('a delivery that is passed on holds what another replica needs to judge it, and is known as forwarded there', async () => {
  const leader = await receiver();
  const forwarder = new Forwarder();
  onTestFinished(forwarder.close);
  const follower = await receiver(async () => {
    const first = follower.raw[0];
    if (first === undefined) throw new Error('nothing to pass on');
    return await forwarder.send(leader.url, first);
  });

  const [status] = await send(follower, delivery(payload(), { 'x-other': 'private' }));

  expect(status).toBe(202);
  expect(leader.events).toEqual(follower.events);
  const again = leader.raw[0];
  expect(again && (await forwarder.send(leader.url, again))).toBe(503);
  expect(Object.keys(follower.raw[0]?.headers ?? {})).not.toContain('x-other');
});

it('a delivery that is passed on gets the refusal of the leader', async () => {
  const to = await receiver(async () => 409);

  expect((await send(to, delivery()))[0]).toBe(409);
});

it.each([
  ['nobody can be reached', () => Promise.reject(new Error('secret words'))],
  [
    'it cannot even be tried',
    () => {
      throw new Error('secret words');
    },
  ],
  ['the other one is in trouble', async () => 500],
  ['the other one sends elsewhere', async () => 302],
])('a delivery that is passed on is answered with 503 when %s, and may come again', async (_, answer) => {
  const answers = [answer, async () => 202];
  const to = await receiver(() => (answers.shift() ?? answer)());
  const once = delivery();

  const [first, text] = await send(to, once);
  const [second] = await send(to, once);

  expect([first, second]).toEqual([503, 202]);
  expect(text).not.toContain('secret words');
});
