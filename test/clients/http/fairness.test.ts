/** Who may send next, while all connections to a server are in use. */
import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { HttpClient, type HttpOptions } from '../../../src/clients/http/client.ts';
import { Deadline } from '../../../src/clients/http/deadline.ts';
import { serve } from '../../support/server.ts';
import { request } from './sending.ts';

function open(options: Partial<HttpOptions>): HttpClient {
  const client = new HttpClient({ env: {}, ...options });
  onTestFinished(() => client.close());
  return client;
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

test('queues take turns: one with many requests delays another one by one place', async () => {
  const seen: string[] = [];
  const server = await serve((incoming, response) => {
    seen.push(incoming.url ?? '');
    response.end('here');
  });
  const client = open({ connections: 1 });
  const ask = (queue: string, path: string) =>
    client.send(request(`${server.origin}/${path}`, { queue }), new Deadline(20_000));

  const big = numbers(40).map((at) => ask('big', `big${at}`));
  const small = numbers(3).map((at) => ask('small', `small${at}`));
  await Promise.all([...big, ...small]);

  const places = numbers(3).map((at) => seen.indexOf(`/small${at}`));
  expect(places).toEqual([2, 4, 6]);
  expect(seen.filter((path) => path.startsWith('/big'))).toEqual(numbers(40).map((at) => `/big${at}`));
});

test('a request that hangs gives its place to others, and its answer still counts', async () => {
  const hanging: ServerResponse[] = [];
  const server = await serve((incoming, response) => {
    if (incoming.url === '/hang') hanging.push(response);
    else response.end('here');
  });
  const client = open({ connections: 2, slowRequests: { afterMs: () => 20, most: 10 } });
  const ask = (path: string) => client.send(request(`${server.origin}/${path}`), new Deadline(20_000));

  const slow = numbers(6).map(() => ask('hang'));
  expect((await ask('quick')).text).toBe('here');

  expect(hanging).toHaveLength(6);
  for (const response of hanging) response.end('late');
  expect((await Promise.all(slow)).map(({ text }) => text)).toEqual(Array(6).fill('late'));
});

test('no more than so many requests hang without a place', async () => {
  const hanging: ServerResponse[] = [];
  const server = await serve((incoming, response) => {
    if (incoming.url === '/hang') hanging.push(response);
    else response.end('here');
  });
  const client = open({ connections: 2, slowRequests: { afterMs: () => 20, most: 3 } });
  const ask = (path: string) => client.send(request(`${server.origin}/${path}`), new Deadline(20_000));

  const slow = numbers(5).map(() => ask('hang'));
  const quick = ask('quick');
  while (hanging.length < 5) await new Promise((resolve) => setTimeout(resolve, 5));
  // All five have been slow for longer than needed, and the sixth still waits.
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(await Promise.race([quick.then(() => 'sent'), Promise.resolve('waits')])).toBe('waits');

  hanging[0]?.end('late');
  expect((await quick).text).toBe('here');
  for (const response of hanging) response.end('late');
  await Promise.all(slow);
});
