/**
 * The process of a command that prints once and ends. Node's own `process.stdout` loads a stream, and a process that ends by itself
 * first frees what it holds. Both together take 5 ms (docs/performance.md).
 */
import { writeSync } from 'node:fs';
import { columnsFrom } from '../cli/columns.ts';
import type { ExitCode, Io } from '../cli/io.ts';
import { endOnRefusedOutput } from '../cli/refused-output.ts';
import { systemCode } from '../failure.ts';

/** Descriptors that accept no more bytes at the moment: they do not block, and their reader is slow. */
const slow = new Set<1 | 2>();

/** As `mainIo`, but what is printed has left the process when `out` and `err` return, unless the reader is slow. */
export function quickIo(): Io {
  return {
    env: process.env,
    cwd: process.cwd(),
    get terminal() {
      return process.stdout.isTTY === true;
    },
    get columns() {
      return columnsFrom(process.env) ?? process.stdout.columns ?? 80;
    },
    now: Date.now,
    out: (text) => print(1, text),
    outPieces: printPieces,
    err: (text) => print(2, text),
  };
}

/** Ends the process at once; when a reader is slow, as soon as it has taken everything. */
export function quickEnd(code: ExitCode): void {
  process.exitCode = code;
  if (slow.size === 0) process.exit();
}

function print(descriptor: 1 | 2, text: string): void {
  write(descriptor, Buffer.from(text));
}

/** What is collected before it is written. */
const BUFFER_BYTES = 262_144;
/** No character of a string takes more bytes in UTF-8. */
const BYTES_PER_CHARACTER = 3;

/** 10,000 Jobs are 32 MB of text, of which no more than the buffer is ever copied together. */
function printPieces(texts: readonly string[]): void {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let used = 0;
  const flush = () => {
    write(1, buffer.subarray(0, used));
    used = 0;
  };
  for (const text of texts) {
    const most = text.length * BYTES_PER_CHARACTER;
    if (used + most > BUFFER_BYTES) flush();
    if (most > BUFFER_BYTES) write(1, Buffer.from(text));
    else used += buffer.write(text, used);
  }
  flush();
}

function write(descriptor: 1 | 2, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    if (slow.has(descriptor)) {
      leaveToNode(descriptor, bytes.subarray(done));
      return;
    }
    try {
      done += writeSync(descriptor, bytes, done);
    } catch (error) {
      onRefusal(descriptor, error);
    }
  }
}

function onRefusal(descriptor: 1 | 2, error: unknown): void {
  if (systemCode(error) !== 'EAGAIN') endOnRefusedOutput(error);
  slow.add(descriptor);
}

function leaveToNode(descriptor: 1 | 2, bytes: Uint8Array): void {
  const stream = descriptor === 1 ? process.stdout : process.stderr;
  if (stream.listenerCount('error') === 0) stream.on('error', endOnRefusedOutput);
  // A copy: the room is used again before the stream has written it.
  stream.write(Uint8Array.from(bytes));
}
