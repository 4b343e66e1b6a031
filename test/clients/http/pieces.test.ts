/** A hostile server sends its answer in pieces of one byte: memory goes by bytes, not by pieces. */
import { createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { listen } from '../../support/server.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { request, send } from './sending.ts';

const PIECES = 1024 * 1024;
const AT_ONCE = 8192;
/** A Buffer for each piece took 370 MiB. */
const MOST_MIB = 120;

function trickle(socket: Socket): void {
  const some = Buffer.from('1\r\nx\r\n'.repeat(AT_ONCE));
  let left = PIECES;
  const go = (): void => {
    while (left > 0) {
      left -= AT_ONCE;
      if (!socket.write(some) && left > 0) return void socket.once('drain', go);
    }
    socket.end('0\r\n\r\n');
  };
  socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
  go();
}

function memoryMib(): number {
  return process.memoryUsage().rss / 1024 / 1024;
}

test.each([
  ['directly', false],
  ['through a proxy', true],
])('an answer in pieces of one byte, %s', async (_, isProxied) => {
  const server = await listen(createServer((socket) => socket.once('data', () => trickle(socket))));
  // No time passes: a busy machine may take as long as it needs.
  const clock = new VirtualClock();
  const before = memoryMib();
  let peak = before;
  const watching = setInterval(() => {
    peak = Math.max(peak, memoryMib());
  }, 10);

  const asked = isProxied
    ? send(request('http://gitea.example.com/'), { clock, env: { HTTP_PROXY: server.origin } })
    : send(request(server.origin), { clock });
  const { text } = await asked.finally(() => clearInterval(watching));

  expect(text).toBe('x'.repeat(PIECES));
  expect(Math.max(peak, memoryMib()) - before).toBeLessThan(MOST_MIB);
});
