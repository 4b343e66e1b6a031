import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { Deadline, type RequestLine } from '../../../src/clients/http/request.ts';
import { failureOf } from '../../support/failure-of.ts';
import { serve } from '../../support/server.ts';
import { answering, failureOfSending, open, request, send } from './sending.ts';

describe('tries again', () => {
  test.each([500, 502, 504])('a GET after %i twice at most, and gives the answer of the third try', async (status) => {
    const server = await answering([status], [status], [status], [200]);

    const answer = await send(request(server.origin));

    expect([answer.status, answer.text, server.count()]).toEqual([status, 'answer 3', 3]);
  });

  test('a GET whose connection broke', async () => {
    let count = 0;
    const server = await serve((incoming, response) => {
      count += 1;
      if (count === 1) incoming.socket.destroy();
      else response.end('here');
    });

    expect((await send(request(server.origin))).text).toBe('here');
  });

  test('a POST is never tried again, as it may have been carried out', async () => {
    const server = await answering([500], [200]);

    const answer = await send(request(server.origin, { method: 'POST', body: '{}' }));

    expect([answer.status, server.count()]).toEqual([500, 1]);
  });

  test('a POST whose connection broke is never tried again', async () => {
    let count = 0;
    const server = await serve((incoming) => {
      count += 1;
      incoming.socket.destroy();
    });

    const failure = await failureOfSending(request(server.origin, { method: 'POST', body: '{}' }));

    expect([failure.code, count]).toEqual(['GR-HTTP-04', 1]);
  });

  test.each([429, 503])('the client tries again after %i when Retry-After says so, in seconds', async (status) => {
    const server = await answering([status, { 'retry-after': '1' }], [200]);

    expect([(await send(request(server.origin))).status, server.count()]).toEqual([200, 2]);
  });

  test('the client does not try again when Retry-After is a date beyond the deadline', async () => {
    const server = await answering([503, { 'retry-after': 'Fri, 31 Dec 2100 23:59:59 GMT' }]);

    const failure = await failureOfSending(request(server.origin));

    expect([failure.code, server.count()]).toEqual(['GR-HTTP-10', 1]);
  });
});

test('redirects are followed within the origin, with the token', async () => {
  const seen: (string | undefined)[] = [];
  const server = await serve((incoming, response) => {
    seen.push(`${incoming.url} ${incoming.headers.authorization}`);
    if (incoming.url === '/old') response.writeHead(301, { location: '/new' }).end();
    else response.end('there');
  });

  expect((await send(request(`${server.origin}/old`))).text).toBe('there');
  expect(seen).toEqual(['/old token s3cret', '/new token s3cret']);
});

test.each(['another port', 'another scheme'])('redirects to %s never reach it', async (kind) => {
  const reached: (string | undefined)[] = [];
  const other = await serve((incoming, response) => {
    reached.push(incoming.headers.authorization);
    response.end('caught');
  });
  const target = kind === 'another port' ? other.origin : `https://127.0.0.1:${other.port}`;
  const server = await serve((_incoming, response) => {
    response.writeHead(302, { location: `${target}/` }).end();
  });

  const failure = await failureOfSending(request(`${server.origin}/path?q=1`));

  expect(failure.message).toBe(
    `read it: GET ${server.origin}/path: a redirect (302) to ${target}, another server, which is not followed. That is a login page, as a rule: exempt /api from it.`,
  );
  expect(reached).toEqual([]);
});

test('redirects are not followed for a POST', async () => {
  const server = await answering([307, { location: '/' }]);

  const answer = await send(request(server.origin, { method: 'POST', body: '{}' }));

  expect([answer.status, server.count()]).toEqual([307, 1]);
});

test.each([301, 307, 308])(
  'redirects are followed for a POST that may be repeated, with its body (%i)',
  async (status) => {
    const seen: string[] = [];
    const server = await serve(async (incoming, response) => {
      let body = '';
      for await (const piece of incoming) body += piece;
      seen.push(`${incoming.method} ${incoming.url} ${body}`);
      if (incoming.url === '/old') response.writeHead(status, { location: '/new' }).end();
      else response.end('there');
    });

    const asked = request(`${server.origin}/old`, { method: 'POST', body: '{"a":1}', repeats: true });

    expect((await send(asked)).text).toBe('there');
    expect(seen).toEqual(['POST /old {"a":1}', 'POST /new {"a":1}']);
  },
);

test('one attempt has a limit of time, before the whole', async () => {
  const server = await serve(() => undefined);

  const failure = await failureOfSending(request(server.origin), { attemptMs: 100 });

  expect(failure.message).toBe(
    `read it: GET ${server.origin}/: no complete answer within 0.1 s. Check the load of the server, and the network on the way to it.`,
  );
});

test('the whole in time, also while waiting for a free connection', async () => {
  const server = await serve(() => undefined);
  const client = open({ connections: 1 });
  const deadline = new Deadline(200);

  const failures = await Promise.all([1, 2, 3].map(() => failureOf(client.send(request(server.origin), deadline))));

  expect(failures.map(({ code }) => code)).toEqual(Array(3).fill('GR-HTTP-09'));
});

test('the length of a body that announces it, and of one that does not', async () => {
  const server = await serve((incoming, response) => {
    if (incoming.url === '/announced') response.writeHead(200, { 'content-length': 2000 });
    response.end('x'.repeat(2000));
  });

  const failures = [
    await failureOfSending(request(`${server.origin}/announced`), { bodyLimit: 1024 }),
    await failureOfSending(request(server.origin), { bodyLimit: 1024 }),
  ];

  expect(failures.map(({ message }) => message.replace(/.*: /, ''))).toEqual(
    Array(2).fill('the answer is longer than 1 KiB. Check that the URL is that of the right server.'),
  );
});

test('requests to one origin at the same time', async () => {
  let now = 0;
  let most = 0;
  const server = await serve((_incoming, response) => {
    now += 1;
    most = Math.max(most, now);
    setTimeout(() => {
      now -= 1;
      response.end();
    }, 10);
  });
  const client = open({ connections: 3 });
  const deadline = new Deadline(20_000);

  await Promise.all(Array.from({ length: 12 }, () => client.send(request(server.origin), deadline)));

  expect(most).toBe(3);
});

test('-v prints method, address, status and time of each attempt, and nothing else', async () => {
  const server = await answering([500], [200]);
  const lines: RequestLine[] = [];

  await send(request(`${server.origin}/a?page=2`, { queue: 'look 1' }), { onRequest: (line) => lines.push(line) });

  expect(lines.map(({ ms, ...line }) => ({ ...line, timed: ms >= 0 }))).toEqual([
    { method: 'GET', url: `${server.origin}/a?page=2`, status: 500, queue: 'look 1', timed: true },
    { method: 'GET', url: `${server.origin}/a?page=2`, status: 200, queue: 'look 1', timed: true },
  ]);
});

test('-v prints no target of a redirect, which may have the token in it', async () => {
  const server = await serve((incoming, response) => {
    if (incoming.url === '/a') response.writeHead(302, { location: '/a?access_token=s3cret' }).end();
    else response.end('there');
  });
  const lines: RequestLine[] = [];

  await send(request(`${server.origin}/a`), { onRequest: (line) => lines.push(line) });

  expect(lines.map(({ url, status }) => `${url} ${status}`)).toEqual([
    `${server.origin}/a 302`,
    `${server.origin}/a 200`,
  ]);
});

test('a POST sends JSON', async () => {
  const server = await serve(async (incoming, response) => {
    response.end(`${incoming.headers['content-type']} ${await text(incoming)}`);
  });

  expect((await send(request(server.origin, { method: 'POST', body: '{"a":1}' }))).text).toBe(
    'application/json {"a":1}',
  );
});
