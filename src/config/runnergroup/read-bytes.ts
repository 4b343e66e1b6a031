/** Reads the bytes of one file or pipe, never more than there is room for. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { systemCode } from '../../shared/failure.ts';

export type ReadBytes = { readonly bytes: Uint8Array } | { readonly wrong: string } | 'too much';

/** Reads a regular file, at most `room` bytes, whatever the file system says about its size. A pipe or device is not opened for reading. */
export function readFile(path: string, room: number): ReadBytes {
  return withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, (file) => {
    const status = fstatSync(file);
    if (!status.isFile()) return { wrong: 'is no regular file' };
    if (status.size > room) return 'too much';
    // One byte more than it has: the file may grow meanwhile, or not tell its size.
    return readToEnd(file, status.size + 1, room);
  });
}

/** First room for what comes out of a pipe. */
const PIPE_BYTES = 65_536;

/** Reads a pipe until its writers have closed it, at most `room` bytes. */
export function readPipe(path: string, room: number): ReadBytes {
  return withFile(path, constants.O_RDONLY, (file) => readToEnd(file, PIPE_BYTES, room));
}

/** Reads standard input until its end, at most `room` bytes. */
export function readStandardInput(room: number): ReadBytes {
  try {
    return readToEnd(0, PIPE_BYTES, room);
  } catch (error) {
    return { wrong: notRead(error) };
  }
}

function withFile(path: string, flags: number, read: (file: number) => ReadBytes): ReadBytes {
  try {
    const file = openSync(path, flags);
    try {
      return read(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { wrong: notRead(error) };
  }
}

function readToEnd(file: number, firstRoom: number, room: number): ReadBytes {
  let bytes = Buffer.allocUnsafe(firstRoom);
  let used = 0;
  for (;;) {
    const count = readSome(file, bytes, used);
    used += count;
    if (used > room) return 'too much';
    if (count === 0) return { bytes: bytes.subarray(0, used) };
    if (used === bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * used, room) + 1);
  }
}

/** How long to wait for bytes that are not there yet, ms. */
const PAUSE_MS = 5;

/** As `readSync`, but waits. Standard input does not block when another process that shares it has said so (EAGAIN). */
function readSome(file: number, bytes: Uint8Array, at: number): number {
  for (;;) {
    try {
      return readSync(file, bytes, at, bytes.length - at, null);
    } catch (error) {
      if (systemCode(error) !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'must not be read: permission denied',
  ELOOP: 'is a symbolic link that leads to itself',
  ENOTDIR: 'no such file or folder',
  ENAMETOOLONG: 'has a path that is too long',
  ENXIO: 'is no regular file',
  ERR_INVALID_ARG_VALUE: 'no such file or folder',
};

/** Why a file cannot be read, in words. */
export function notRead(error: unknown): string {
  const code = systemCode(error);
  return REASONS[code] ?? `cannot be read: ${code}`;
}
