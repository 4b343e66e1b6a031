/** Tests the order of requests while all connections to a server are in use. */
import { expect, test } from 'vitest';
import { Deadline } from '../../../src/clients/http/request.ts';
import { upTo } from '../../support/looking.ts';
import { serve } from '../../support/server.ts';
import { open, request } from './sending.ts';

test('queues take turns: one with many requests delays another one by one place', async () => {
  const seen: string[] = [];
  const server = await serve((incoming, response) => {
    seen.push(incoming.url ?? '');
    response.end('here');
  });
  const client = open({ connections: 1 });
  const ask = (queue: string, path: string) =>
    client.send(request(`${server.origin}/${path}`, { queue }), new Deadline(20_000));

  const big = upTo(40).map((at) => ask('big', `big${at}`));
  const small = upTo(3).map((at) => ask('small', `small${at}`));
  await Promise.all([...big, ...small]);

  const places = upTo(3).map((at) => seen.indexOf(`/small${at}`));
  expect(places).toEqual([2, 4, 6]);
  expect(seen.filter((path) => path.startsWith('/big'))).toEqual(upTo(40).map((at) => `/big${at}`));
});
