/** A sender that writes what it likes, for what an HTTP client would not send. */
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Sender {
  /** Sends more. */
  readonly write: (bytes: string | Uint8Array) => void;
  /** Stops sending. */
  readonly end: () => void;
  /** Everything that came until the other side ended the connection. */
  readonly ended: Promise<string>;
  /** Returns the received bytes so far. */
  readonly received: () => string;
}

/** Connects to a port of loopback and sends `text`; gone with the test. @param from one of loopback's addresses (Linux has many). */
export async function talk(port: number, text = '', from = '127.0.0.1'): Promise<Sender> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  onTestFinished(() => void socket.destroy());
  let received = '';
  const ended = new Promise<string>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1');
    });
    // A server that closes on unread bytes resets the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve).once('error', reject);
  });
  const write = (bytes: string | Uint8Array) => void (socket.writable && socket.write(bytes));
  if (text) write(text);
  return { write, end: () => void socket.end(), ended, received: () => received };
}
