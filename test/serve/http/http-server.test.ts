import { request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import {
  type HttpServer,
  type HttpServerOptions,
  plain,
  servePages,
  startHttpServer,
} from '../../../src/serve/http/http-server.ts';
import { talk } from '../talk.ts';

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await startHttpServer({
    what: 'tests',
    address: { host: '127.0.0.1', port: 0 },
    onRequest: (_request, response) => response.end('here'),
    ...options,
  });
  onTestFinished(server.close);
  return server;
}

it('listens on all addresses when no host is given', async () => {
  const { port } = await start({ address: { port: 0 } });

  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here');
});

it('a server says which address it cannot have', async () => {
  const { port } = await start();

  const second = startHttpServer({
    what: 'metrics',
    address: { host: '127.0.0.1', port },
    onRequest: () => undefined,
  });

  await expect(second).rejects.toMatchObject({
    code: 'GR-LISTEN-01',
    exit: 1,
    message: expect.stringContaining(`listen for metrics on 127.0.0.1:${port}: the address is in use (EADDRINUSE)`),
  });
});

it('a server ends open connections when it is closed, with and without a request on them', async () => {
  const server = await start({ onRequest: () => undefined });
  const silent = await talk(server.port);
  const waiting = await talk(server.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');

  await server.close();

  expect([await silent.ended, await waiting.ended]).toEqual(['', '']);
  await expect(fetch(`http://127.0.0.1:${server.port}/`)).rejects.toThrow();
});

it.each([
  ['headers', 'GET / HTTP/1.1\r\nhost:'],
  ['a body', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab'],
])('a server does not wait for ever for %s', async (_, text) => {
  let malformed = 0;
  const { port } = await start({
    requestMs: 200,
    onRequest: () => undefined,
    onMalformed: () => {
      malformed += 1;
    },
  });

  const sender = await talk(port, text);

  expect(await sender.ended).toContain('HTTP/1.1 408 ');
  expect(malformed).toBe(1);
});

const pages = servePages({
  '/healthz': () => plain(200, 'ok'),
  '/metrics': async () => ({ status: 200, contentType: 'text/plain; version=0.0.4', body: 'up 1\n' }),
  '/readyz': () => plain(503, 'not ready'),
  '/broken': () => {
    throw new Error('secret words');
  },
});

it('pages are shown by their path, whatever the query', async () => {
  const { port } = await start({ onRequest: pages });

  const metrics = await fetch(`http://127.0.0.1:${port}/metrics?x=1`);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);

  expect([metrics.status, metrics.headers.get('content-type'), await metrics.text()]).toEqual([
    200,
    'text/plain; version=0.0.4',
    'up 1\n',
  ]);
  expect([ready.status, await ready.text()]).toEqual([503, 'not ready\n']);
});

it('pages have no body for HEAD', async () => {
  const { port } = await start({ onRequest: pages });

  const head = await fetch(`http://127.0.0.1:${port}/healthz`, { method: 'HEAD' });

  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '3', '']);
});

it.each(['/', '/healthz/', '/HEALTHZ', '//healthz', '/__proto__', '/constructor', '/%68ealthz'])(
  'pages do not exist at %s',
  async (path) => {
    const { port } = await start({ onRequest: pages });
    const status = new Promise((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', path }, (response) => resolve(response.resume().statusCode));
      sent.on('error', reject).end();
    });

    expect(await status).toBe(404);
  },
);

it('pages take nothing but GET and HEAD', async () => {
  const { port } = await start({ onRequest: pages });

  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { method: 'POST', body: 'x' });

  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

it('pages that fail are a 500 without the reason', async () => {
  const { port } = await start({ onRequest: pages });

  const answer = await fetch(`http://127.0.0.1:${port}/broken`);

  expect([answer.status, await answer.text()]).toEqual([500, 'an error\n']);
});
