import type { RequestListener, ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { type HttpServerOptions, startHttpServer } from '../../../src/serve/http/http-server.ts';
import { type Sender, talk } from '../talk.ts';

const ASK = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

async function start(
  connections: NonNullable<HttpServerOptions['connections']>,
  onRequest: RequestListener = (_, response) => response.end('here'),
) {
  let dropped = 0;
  const server = await startHttpServer({
    what: 'tests',
    address: { host: '127.0.0.1', port: 0 },
    connections,
    onRequest,
    onDropped: () => {
      dropped += 1;
    },
  });
  onTestFinished(server.close);
  return { port: server.port, dropped: () => dropped };
}

async function answered(sender: Sender): Promise<void> {
  await expect.poll(() => sender.received()).toContain('200 OK');
}

it.each([
  ['says nothing', ''],
  ['has not sent all of its headers', 'GET / HTTP/1.1\r\nhost:'],
  ['has not sent all of its body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n'],
])('a connection that %s makes room', async (_, text) => {
  const { port } = await start({ total: 1, perAddress: 1 }, (request, response) => {
    if (request.method === 'GET') response.end('here');
  });
  const hostile = await talk(port, text);

  const good = await talk(port, ASK);

  await answered(good);
  expect(await hostile.ended).toBe('');
});

it('a connection that has got its answer makes room', async () => {
  const { port } = await start({ total: 1, perAddress: 1 });
  const before = await talk(port, ASK);
  await answered(before);

  const good = await talk(port, ASK);

  await answered(good);
  await before.ended;
});

it('a connection that waits for its answer keeps its place, and the new one is closed', async () => {
  const waiting: ServerResponse[] = [];
  const { port, dropped } = await start({ total: 1, perAddress: 1 }, (_, response) => waiting.push(response));
  const first = await talk(port, ASK);
  await expect.poll(() => waiting.length).toBe(1);

  const second = await talk(port, ASK);

  expect(await second.ended).toBe('');
  waiting[0]?.end('here');
  await answered(first);
  expect(dropped()).toBe(1);
});

it('a connection that was used again goes later than one that was not', async () => {
  const { port } = await start({ total: 2, perAddress: 2 });
  const used = await talk(port, ASK);
  const unused = await talk(port, ASK);
  await answered(unused);
  used.write(ASK);
  await expect.poll(() => used.received().match(/200 OK/g)?.length).toBe(2);

  const third = await talk(port, ASK);

  await answered(third);
  await unused.ended;
  used.write(ASK);
  await expect.poll(() => used.received().match(/200 OK/g)?.length).toBe(3);
});

it('an address with too many connections loses one of its own', async () => {
  const { port, dropped } = await start({ total: 10, perAddress: 2 });
  const other = await talk(port, '', '127.0.0.2');
  const first = await talk(port);
  const second = await talk(port);

  const third = await talk(port, ASK);

  await answered(third);
  expect(await first.ended).toBe('');
  second.write(ASK);
  other.write(ASK);
  await answered(second);
  await answered(other);
  expect(dropped()).toBe(1);
});

it('a place is free again when its connection has ended', async () => {
  const { port, dropped } = await start({ total: 1, perAddress: 1 });
  for (let nth = 0; nth < 3; nth += 1) {
    const sender = await talk(port, 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(await sender.ended).toContain('200 OK');
  }

  expect(dropped()).toBe(0);
});
