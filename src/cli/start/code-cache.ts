/**
 * V8's code cache of the program's files, which halves the time of a start. `scripts/code-cache.mjs` writes `FILE.cache`:
 *
 *   maker (Node's version, processor, system) | the whole source | the data | the data again
 *
 * All of it is compared, so a wrong or damaged cache is never used. V8 compares only the length of the source and its flags.
 * New memory costs most in a start: nothing is read twice as a whole, and no text is copied. This module writes nothing.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** A part of the program that is a command. */
export interface ProgramPart {
  readonly main: () => void;
}

const START = Buffer.from('(function (exports, require, module) {');
const END = Buffer.from('\n})');
const loaded = new Map<string, unknown>();

/** Compiles and runs a file of the program once, with its code cache if that fits. Returns its exports. */
export function load(file: string): unknown {
  if (!loaded.has(file)) {
    const source = readSource(file);
    const script = compile(source, file, openCache(source, `${file}.cache`));
    const loadPart = (part: string) => load(join(dirname(file), part));
    loaded.set(file, run(script, loadPart));
  }
  return loaded.get(file);
}

/** Reads a file of the program, wrapped in a function. One Buffer holds all of it: V8 would copy joined parts. */
export function readSource(file: string): Buffer {
  return inFile(file, (fd) => {
    const { size } = fstatSync(fd);
    const source = Buffer.allocUnsafeSlow(START.length + size + END.length);
    START.copy(source);
    if (readSync(fd, source, START.length, size, 0) !== size) throw new Error(`${file} changes while it is read`);
    END.copy(source, START.length + size);
    return source;
  });
}

/** @param source ASCII, as esbuild writes it: one byte per character is all V8 needs to keep. */
export function compile(source: Buffer, file: string, cachedData?: Buffer): Script {
  return new Script(source.toString('latin1'), { filename: file, ...(cachedData && { cachedData }) });
}

/** Runs a compiled file as Node runs CommonJS. `require` finds Node's own modules, and other parts by `loadPart`. */
export function run(script: Script, loadPart: (name: string) => unknown): unknown {
  const module: { exports: unknown } = { exports: {} };
  const requireFrom = (name: string) => (name.startsWith('./') ? loadPart(name) : require(name));
  script.runInThisContext()(module.exports, requireFrom, module);
  return module.exports;
}

/** The properties of the process that make a cache, as far as V8 does not compare them itself. */
type Maker = Pick<NodeJS.Process, 'version' | 'arch' | 'platform'>;

/** The bytes of `FILE.cache`. */
export function sealed(source: Buffer, data: Buffer, maker: Maker = process): Buffer {
  return Buffer.concat([keyOf(maker), source, data, data]);
}

/** The data in a cache, when it is there, whole, and was made of this source by this Node. */
export function openCache(source: Buffer, cache: string): Buffer | undefined {
  try {
    return inFile(cache, (fd) => {
      const key = keyOf(process);
      const start = key.length + source.length;
      const length = (fstatSync(fd).size - start) / 2;
      if (!Number.isInteger(length) || length <= 0) return undefined;
      if (!hasBytesAt(fd, key, 0) || !hasBytesAt(fd, source, key.length)) return undefined;
      const data = Buffer.allocUnsafeSlow(length);
      readSync(fd, data, 0, length, start);
      return hasBytesAt(fd, data, start + length) ? data : undefined;
    });
  } catch {
    return undefined;
  }
}

function hasBytesAt(fd: number, bytes: Buffer, offset: number): boolean {
  const piece = Buffer.allocUnsafe(Math.min(bytes.length, 65_536));
  for (let from = 0; from < bytes.length; from += piece.length) {
    const read = readSync(fd, piece, 0, piece.length, offset + from);
    const expected = bytes.subarray(from, from + piece.length);
    if (!expected.equals(piece.subarray(0, Math.min(read, expected.length)))) return false;
  }
  return true;
}

function inFile<T>(file: string, use: (fd: number) => T): T {
  const fd = openSync(file, 'r');
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function keyOf({ version, arch, platform }: Maker): Buffer {
  return Buffer.from(`${version} ${arch} ${platform}\0`);
}
