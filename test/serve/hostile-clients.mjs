/**
 * A process full of clients that only hold connections: `node hostile-clients.mjs PORT COUNT KIND`. A connection that is closed
 * is opened again. Prints `standing` once all have been open, then lives until it is killed.
 */
import { connect } from 'node:net';

const [port, count, kind] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4]];
const AGAIN_MS = 1000;
const TRICKLE_MS = 1000;

/** Bytes that a client sends at once, and those that it sends for ever. */
const SENDS = {
  idle: ['', ''],
  'slow headers': ['POST /webhook HTTP/1.1\r\nhost: x\r\nx: ', 'a'],
  'slow body': [
    'POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 200000\r\n\r\n{',
    'a',
  ],
  'a request that has no end': [
    'GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n',
    '1\r\na\r\n',
  ],
  'endless keep-alive': ['GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n', 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
};
const [first, more] = SENDS[kind];
let opened = 0;

function hold() {
  const socket = connect(port, '127.0.0.1');
  let trickle;
  socket.on('connect', () => {
    opened += 1;
    if (opened === count) process.stdout.write('standing\n');
    if (first) socket.write(first);
    if (more) trickle = setInterval(() => socket.write(more), TRICKLE_MS);
  });
  socket.on('data', () => undefined);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(trickle);
    setTimeout(hold, AGAIN_MS);
  });
}

for (let at = 0; at < count; at += 1) hold();
