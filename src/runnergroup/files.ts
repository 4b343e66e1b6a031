/**
 * From PATHs to texts. Whoever commits to the repository must not choose which files are read:
 * - a folder gives its own `*.yaml`, `*.yml`, `*.json` (all below it with `recursive`), never hidden ones;
 * - a symbolic link counts when its target is inside the given folder (so a mounted ConfigMap works); one that leads out is
 *   an error, never a shorter list;
 * - a relative PATH itself must not leave the current folder (or the parent it names with `..`) through a link;
 * - only regular files in UTF-8, as many and as large together as budget.ts allows.
 *
 * Files are small and local, so they are read in one go: `node:fs/promises` costs a start 2 ms, and each file 0.3 ms.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MOST_BYTES, MOST_ENTRIES, MOST_FILES, MOST_PROBLEMS, tooMuch } from './budget.ts';
import type { Problem, ProblemCode } from './problems.ts';

/** A file that was read. `name`: relative to the current folder, for messages. */
export interface SourceFile {
  readonly name: string;
  readonly text: string;
}

/** Files in the order of their names, each once, and what could not be read. */
export interface ReadFiles {
  readonly files: readonly SourceFile[];
  readonly problems: readonly Problem[];
}

const READ_ENDING = /\.(?:yaml|yml|json)$/;

/** A file that was found: where it really is, and what it is called. */
interface Found {
  readonly real: string;
  readonly name: string;
}

interface Search {
  readonly cwd: string;
  readonly recursive: boolean;
  readonly found: Map<string, Found>;
  readonly folders: Set<string>;
  readonly problems: Problem[];
  /** Entries of folders that were looked at. */
  entries: number;
}

/** Thrown inside of this file only: too much was found, so the search ends. */
class Excess extends Error {
  readonly problem: Problem;

  constructor(name: string, limit: string) {
    super(limit);
    this.problem = fileProblem(name, tooMuch(limit), 'GR-INPUT-08');
  }
}

/** Reads everything that `paths` name. Never throws for what it finds in the file system: that becomes a problem. */
export function readFiles(options: {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly cwd: string;
}): ReadFiles {
  const { paths, recursive, cwd } = options;
  const search: Search = { cwd, recursive, found: new Map(), folders: new Set(), problems: [], entries: 0 };
  try {
    for (const path of paths.length > 0 ? paths : ['.']) findPath(path, search);
    return { files: readAll(search), problems: search.problems };
  } catch (error) {
    if (error instanceof Excess) return { files: [], problems: [...search.problems, error.problem] };
    throw error;
  }
}

function readAll({ found, problems }: Search): readonly SourceFile[] {
  const files: SourceFile[] = [];
  let room = MOST_BYTES;
  for (const { real, name } of [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const read = readBytes(real, room);
    if (read === 'too much') throw new Excess(name, '4 MiB');
    if ('wrong' in read) problems.push(fileProblem(name, read.wrong));
    else {
      room -= read.bytes.byteLength;
      const text = decode(read.bytes);
      if (text === undefined) problems.push(fileProblem(name, 'is not UTF-8 text'));
      else files.push({ name, text });
    }
  }
  return files;
}

function fileProblem(name: string, message: string, code: ProblemCode = 'GR-INPUT-01'): Problem {
  return { place: { file: name, line: 1, column: 1 }, path: '', message, code };
}

function findPath(path: string, search: Search): void {
  const absolute = resolve(search.cwd, path);
  const name = nameOf(absolute, search.cwd);
  try {
    const real = realpathSync.native(absolute);
    const border = borderOf(path, search.cwd);
    if (border !== undefined && !isInside(real, border)) {
      addProblem(name, 'is a symbolic link that leads out of its folder: it is not followed', search);
      return;
    }
    const status = statSync(real);
    if (status.isDirectory()) findInFolder(real, absolute, real, search);
    else add({ real, name }, search);
  } catch (error) {
    addError(error, name, search);
  }
}

/** The folder that a relative PATH must not leave; an absolute one outside the current folder is its giver's own choice. */
function borderOf(path: string, cwd: string): string | undefined {
  const fromCwd = relative(cwd, resolve(cwd, path));
  const up = fromCwd.split(sep).filter((part) => part === '..').length;
  if (isAbsolute(path) && up > 0) return undefined;
  return realpathSync.native(join(cwd, ...Array<string>(up).fill('..')));
}

function findInFolder(real: string, shown: string, border: string, search: Search): void {
  if (search.folders.has(real)) return;
  search.folders.add(real);
  for (const entry of entriesOf(real, shown, search)) {
    findEntry(entry, { real: join(real, entry.name), shown: join(shown, entry.name), border }, search);
  }
}

/** Without hidden ones, sorted. One by one, because a folder can have more entries than memory has room for. */
function entriesOf(real: string, shown: string, search: Search): readonly Dirent[] {
  const entries: Dirent[] = [];
  const folder = opendirSync(real);
  try {
    for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
      search.entries += 1;
      if (search.entries > MOST_ENTRIES)
        throw new Excess(nameOf(shown, search.cwd), `${MOST_ENTRIES} entries in their folders`);
      if (!entry.name.startsWith('.')) entries.push(entry);
    }
  } finally {
    folder.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function findEntry(
  entry: Dirent,
  at: { readonly real: string; readonly shown: string; readonly border: string },
  search: Search,
): void {
  const wanted = READ_ENDING.test(entry.name);
  const mayBeFolder = search.recursive && (entry.isDirectory() || entry.isSymbolicLink());
  if (!wanted && !mayBeFolder) return;
  const name = nameOf(at.shown, search.cwd);
  try {
    const real = entry.isSymbolicLink() ? realpathSync.native(at.real) : at.real;
    if (!isInside(real, at.border)) {
      addProblem(name, 'is a symbolic link that leads out of the given folder: it is not followed', search);
      return;
    }
    const isFolder = entry.isSymbolicLink() ? statSync(real).isDirectory() : entry.isDirectory();
    if (isFolder && search.recursive) findInFolder(real, at.shown, at.border, search);
    else if (!isFolder && wanted) add({ real, name }, search);
  } catch (error) {
    addError(error, name, search);
  }
}

function addError(error: unknown, name: string, search: Search): void {
  if (error instanceof Excess) throw error;
  addProblem(name, notRead(error), search);
}

function addProblem(name: string, message: string, search: Search): void {
  search.problems.push(fileProblem(name, message));
  if (search.problems.length >= MOST_PROBLEMS) throw new Excess(name, `${MOST_PROBLEMS} problems`);
}

function add(found: Found, search: Search): void {
  if (!search.found.has(found.real)) search.found.set(found.real, found);
  if (search.found.size > MOST_FILES) throw new Excess(found.name, `${MOST_FILES} files`);
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function nameOf(absolute: string, cwd: string): string {
  return relative(cwd, absolute).split(sep).join('/') || '.';
}

/** Reads at most `room` bytes, whatever the file system says about the size. A pipe or device is not opened for reading. */
function readBytes(
  path: string,
  room: number,
): { readonly bytes: Uint8Array } | { readonly wrong: string } | 'too much' {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = fstatSync(file);
      if (!status.isFile()) return { wrong: 'is no regular file' };
      if (status.size > room) return 'too much';
      // One byte more than it has: the file may grow meanwhile, or not tell its size.
      let bytes = Buffer.allocUnsafe(status.size + 1);
      let used = 0;
      for (;;) {
        const count = readSync(file, bytes, used, bytes.length - used, null);
        used += count;
        if (used > room) return 'too much';
        if (count === 0) return { bytes: bytes.subarray(0, used) };
        if (used === bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * used, room) + 1);
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { wrong: notRead(error) };
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
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

function notRead(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return REASONS[code] ?? `cannot be read: ${code}`;
}
