/**
 * From PATHs to texts. Whoever commits to the repository must not choose which files are read:
 * - a folder gives its own `*.yaml`, `*.yml`, `*.json` (all below it with `recursive`), never hidden ones;
 * - a symbolic link counts when its target is inside the given folder (so a mounted ConfigMap works); one that leads out is
 *   an error, never a shorter list;
 * - a relative PATH itself must not leave the current folder (or the parent it names with `..`) through a link;
 * - only regular files of at most 4 MiB in UTF-8.
 *
 * Files are small and local, so they are read in one go: `node:fs/promises` costs a start 2 ms, and each file 0.3 ms.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Problem } from './problems.ts';

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

export const MOST_BYTES = 4 * 1024 * 1024;
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
}

/** Reads everything that `paths` name. Never throws for what it finds in the file system: that becomes a problem. */
export function readFiles(options: {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly cwd: string;
}): ReadFiles {
  const { paths, recursive, cwd } = options;
  const search: Search = { cwd, recursive, found: new Map(), folders: new Set(), problems: [] };
  for (const path of paths.length > 0 ? paths : ['.']) findPath(path, search);
  const found = [...search.found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const files: SourceFile[] = [];
  for (const { real, name } of found) {
    const read = readText(real);
    if ('wrong' in read) search.problems.push(fileProblem(name, read.wrong));
    else files.push({ name, text: read.text });
  }
  return { files, problems: search.problems };
}

function fileProblem(name: string, message: string): Problem {
  return { place: { file: name, line: 1, column: 1 }, path: '', message, code: 'GR-INPUT-01' };
}

function findPath(path: string, search: Search): void {
  const absolute = resolve(search.cwd, path);
  const name = nameOf(absolute, search.cwd);
  try {
    const real = realpathSync.native(absolute);
    const border = borderOf(path, search.cwd);
    if (border !== undefined && !isInside(real, border)) {
      search.problems.push(fileProblem(name, 'is a symbolic link that leads out of its folder: it is not followed'));
      return;
    }
    const status = statSync(real);
    if (status.isDirectory()) findInFolder(real, absolute, real, search);
    else add({ real, name }, search);
  } catch (error) {
    search.problems.push(fileProblem(name, notRead(error)));
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
  const entries = readdirSync(real, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    findEntry(entry, { real: join(real, entry.name), shown: join(shown, entry.name), border }, search);
  }
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
      search.problems.push(
        fileProblem(name, 'is a symbolic link that leads out of the given folder: it is not followed'),
      );
      return;
    }
    const isFolder = entry.isSymbolicLink() ? statSync(real).isDirectory() : entry.isDirectory();
    if (isFolder && search.recursive) findInFolder(real, at.shown, at.border, search);
    else if (!isFolder && wanted) add({ real, name }, search);
  } catch (error) {
    search.problems.push(fileProblem(name, notRead(error)));
  }
}

function add(found: Found, search: Search): void {
  if (!search.found.has(found.real)) search.found.set(found.real, found);
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function nameOf(absolute: string, cwd: string): string {
  return relative(cwd, absolute).split(sep).join('/') || '.';
}

/** Reads at most the limit, whatever the file system says about the size. A pipe or device is not opened for reading. */
function readText(path: string): { readonly text: string } | { readonly wrong: string } {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const status = fstatSync(file);
      if (!status.isFile()) return { wrong: 'is no regular file' };
      if (status.size > MOST_BYTES) return { wrong: 'is larger than 4 MiB' };
      return decode(readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    return { wrong: notRead(error) };
  }
}

function decode(bytes: Uint8Array): { readonly text: string } | { readonly wrong: string } {
  if (bytes.byteLength > MOST_BYTES) return { wrong: 'is larger than 4 MiB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { wrong: 'is not UTF-8 text' };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'must not be read: permission denied',
  ELOOP: 'is a symbolic link that leads to itself',
  ENOTDIR: 'no such file or folder',
};

function notRead(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
  return REASONS[code] ?? `cannot be read: ${code}`;
}
