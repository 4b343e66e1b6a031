/**
 * V8's code cache for one of our files. `scripts/code-cache.mjs` writes the compiled code beside the file, as `FILE.cache`. It does so
 * after a run, so that the cache also holds functions that run late. The cache halves the time of a start.
 *
 *   FILE.cache = maker (Node's version, processor, system) | the whole source | the data | the data again
 *
 * A wrong cache is never used, because everything is compared. When the source or Node differs, or the file is cut or changed, the
 * source is compiled without the cache. V8 itself compares only the length of the source and its flags, and takes damaged data.
 * Comparing costs less than a checksum, which would need node:crypto. This module writes nothing: the folder may be read-only.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** A part of the program that is a command. */
export interface ProgramPart {
  readonly main: () => void;
}

const loaded = new Map<string, unknown>();

/** Compiles and runs a file of ours, with its code cache when that fits; once. Answers what it exports. */
export function load(file: string): unknown {
  if (!loaded.has(file)) {
    const source = readFileSync(file);
    const script = compile(source, file, openCache(source, file));
    loaded.set(
      file,
      run(script, (part) => load(join(dirname(file), part))),
    );
  }
  return loaded.get(file);
}

/** @param source ASCII, as esbuild writes it: one byte per character is all V8 needs to keep. */
export function compile(source: Buffer, file: string, cachedData?: Buffer): Script {
  const text = `(function (exports, require, module) {${source.toString('latin1')}\n})`;
  return new Script(text, { filename: file, ...(cachedData && { cachedData }) });
}

/**
 * Runs a compiled file as Node runs a CommonJS module, but `require` finds Node's own modules and other parts only: all else is bundled.
 * @param loadPart loads the part beside this one that is called `./NAME.cjs`.
 */
export function run(script: Script, loadPart: (name: string) => unknown): unknown {
  const module: { exports: unknown } = { exports: {} };
  const requireFrom = (name: string) => (name.startsWith('./') ? loadPart(name) : require(name));
  script.runInThisContext()(module.exports, requireFrom, module);
  return module.exports;
}

/** What makes a cache, as far as V8 does not look at it itself. */
type Maker = Pick<NodeJS.Process, 'version' | 'arch' | 'platform'>;

/** The bytes of `FILE.cache`. */
export function sealed(source: Buffer, data: Buffer, maker: Maker = process): Buffer {
  return Buffer.concat([keyOf(maker), source, data, data]);
}

/** The data in a cache, when it is whole and was made of this source by this Node. */
export function unsealed(cache: Buffer, source: Buffer): Buffer | undefined {
  const key = keyOf(process);
  const start = key.length + source.length;
  const end = start + (cache.length - start) / 2;
  if (!Number.isInteger(end) || end <= start) return undefined;
  const fits = cache.subarray(0, key.length).equals(key) && cache.subarray(key.length, start).equals(source);
  const data = cache.subarray(start, end);
  return fits && data.equals(cache.subarray(end)) ? data : undefined;
}

function keyOf({ version, arch, platform }: Maker): Buffer {
  return Buffer.from(`${version} ${arch} ${platform}\0`);
}

function openCache(source: Buffer, file: string): Buffer | undefined {
  try {
    return unsealed(readFileSync(`${file}.cache`), source);
  } catch {
    return undefined;
  }
}
