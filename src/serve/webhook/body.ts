/** Reads bodies of strangers, and answers them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HalfBodies } from './half-bodies.ts';

/**
 * The body; undefined as soon as it is known to be too long, and then the rest is not read. Rejects when the sender goes away,
 * and when the unread bodies together need too much memory and this one is the oldest.
 * @param halves with the same limit
 */
export async function readBody(
  request: IncomingMessage,
  mostBytes: number,
  halves: HalfBodies,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > mostBytes) return undefined;
  return await new Promise((resolve, reject) => {
    const half = halves.begin(() => reject(new Error('too many bodies are being read')));
    request.on('data', (chunk: Buffer) => {
      if (half.add(chunk)) return;
      request.pause();
      resolve(undefined);
    });
    request.once('end', () => resolve(half.bytes()));
    request.once('error', reject);
    request.once('close', () => {
      half.end();
      reject(new Error('the sender went away'));
    });
  });
}

/** The rest of an incomplete body is not read: then the connection is closed after the answer. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = message && `${message}\n`;
  response.writeHead(status, {
    ...(text && { 'content-type': 'text/plain; charset=utf-8' }),
    'content-length': Buffer.byteLength(text),
    ...(!request.complete && { connection: 'close' }),
    ...headers,
  });
  response.end(text);
}
