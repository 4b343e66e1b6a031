/** Who may send next, while all connections to a server are in use. */
import { expect, onTestFinished, test } from 'vitest';
import { HttpClient, type HttpOptions } from '../../../src/clients/http/client.ts';
import { Deadline } from '../../../src/clients/http/request.ts';
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
