/**
 * From PATHs to texts. Whoever commits to the repository must not choose which files are read:
 * - a folder gives its own `*.yaml`, `*.yml`, `*.json` (all below it with `recursive`), never hidden ones;
 * - a symbolic link must lead to inside of the given folder (a mounted ConfigMap does); else it is an error;
 * - a relative PATH must not leave the current folder (or the parent it names with `..`) through a link;
 * - only regular files in UTF-8, as many and as large together as budget.ts allows;
 * - a pipe is read only if the command line names it: `-`, `/dev/stdin`, `<(…)`.
 *
 * Files are read in one go: `node:fs/promises` costs a start 2 ms, and each file 0.3 ms.
 */
import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { isAbsolute, join, posix, relative, resolve, sep } from 'node:path';
import { systemCode } from '../../shared/failure.ts';
import { MOST_BYTES, MOST_ENTRIES, MOST_FILES, MOST_PROBLEMS, tooMuch } from './budget.ts';
import type { Problem, ProblemCode } from './problems.ts';
import type { SourceFile } from './runner-group.ts';

const READ_ENDING = /\.(?:yaml|yml|json)$/;
/** Files of kustomize, Helm, npm, TypeScript and cdk8s. In a folder they are skipped. */
const NO_MANIFESTS =
  /^(?:kustomization\.ya?ml|Chart\.yaml|values(?:\.schema)?\.(?:ya?ml|json)|package(?:-lock)?\.json|tsconfig\.json|cdk8s\.yaml)$/;
/** The PATH of standard input, as in kubectl. */
export const STANDARD_INPUT = '-';

/** A file that was found: its real path, and its name in messages. */
type Found = Readonly<{ real: string; name: string; kind: 'file' | 'pipe' | 'standard input' }>;

export interface Where {
  /** Files and folders; none means the current folder. */
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly cwd: string;
  /** A file that is not read: that of `--policy`. */
  readonly except?: string | undefined;
}

type Search = ReturnType<typeof newSearch>;

const newSearch = (options: Where) => ({
  ...options,
  found: new Map<string, Found>(),
  folders: new Set<string>(),
  problems: [] as Problem[],
  /** Names of files in folders that tools own and that hold no manifests. */
  skipped: [] as string[],
  entries: 0,
});

/** Thrown inside this file only, to end the search: too much was found. */
class Excess extends Error {
  readonly problem: Problem;

  constructor(name: string, limit: string) {
    super(limit);
    this.problem = fileProblem(name, tooMuch(limit), 'GR-INPUT-08');
  }
}

/** All files that `paths` name, by name, each once. What cannot be read becomes a problem. */
export function readFiles(options: Where) {
  const search = newSearch(options);
  const { paths } = options;
  try {
    for (const path of paths.length > 0 ? paths : ['.']) findPath(path, search);
    return { files: readAll(search), problems: search.problems, skipped: search.skipped };
  } catch (error) {
    if (error instanceof Excess) return { files: [], problems: [...search.problems, error.problem], skipped: [] };
    throw error;
  }
}

function readAll({ found, problems, cwd, except = '' }: Search): readonly SourceFile[] {
  const files: SourceFile[] = [];
  let room = MOST_BYTES;
  for (const each of [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = each;
    if (resolve(cwd, name) === resolve(cwd, except)) continue;
    const content = orProblem(() => readFound(each, room));
    if (content === 'too much') throw new Excess(name, '4 MiB');
    if ('wrong' in content) problems.push(fileProblem(name, content.wrong));
    else {
      room -= content.bytes.byteLength;
      if (isUtf8(content.bytes)) files.push({ name, text: new TextDecoder().decode(content.bytes) });
      else
        problems.push(
          fileProblem(name, UTF_16.test(content.bytes.subarray(0, 2).join()) ? OF_POWERSHELL : 'is not UTF-8 text'),
        );
    }
  }
  return files;
}

const UTF_16 = /^(?:255,254|254,255)$/;
const OF_POWERSHELL = 'is UTF-16, as the > of PowerShell writes it: save it as UTF-8';

export function fileProblem(name: string, message: string, code?: ProblemCode): Problem {
  const kind = code === undefined ? ({ code: 'GR-INPUT-01', isUnreadable: true } as const) : { code };
  return { place: { file: name, line: 1, column: 1 }, path: '', message, ...kind };
}

function findPath(path: string, search: Search): void {
  const absolute = resolve(search.cwd, path);
  if (path === STANDARD_INPUT) add({ real: path, name: '<stdin>', kind: 'standard input' }, search);
  else if (isAbsolute(path) && isPipe(absolute)) add({ real: absolute, name: path, kind: 'pipe' }, search);
  else findReal(path, absolute, search);
}

function findReal(path: string, absolute: string, search: Search): void {
  const name = nameOf(path, search.cwd);
  try {
    const real = fs.realpathSync.native(absolute);
    const border = borderOf(path, search.cwd);
    const isOutside = border !== undefined && !isInside(real, border);
    if (isOutside) addProblem(name, 'is a symbolic link that leads out of its folder: it is not followed', search);
    else if (fs.statSync(real).isDirectory()) findInFolder(real, name, real, search);
    else add({ real, name, kind: 'file' }, search);
  } catch (error) {
    addError(error, name, search);
  }
}

/** `/dev/stdin` and bash's `<(…)` are links to pipes that have no real path. */
function isPipe(path: string): boolean {
  return orProblem(() => fs.statSync(path).isFIFO()) === true;
}

/** The folder that a relative PATH must not leave. Undefined for an absolute one outside the current folder. */
function borderOf(path: string, cwd: string): string | undefined {
  const fromCwd = relative(cwd, resolve(cwd, path));
  const up = fromCwd.split(sep).filter((part) => part === '..').length;
  if (isAbsolute(path) && up > 0) return undefined;
  return fs.realpathSync.native(join(cwd, ...Array<string>(up).fill('..')));
}

function findInFolder(real: string, shown: string, border: string, search: Search): void {
  if (search.folders.has(real)) return;
  search.folders.add(real);
  for (const entry of entriesOf(real, shown, search)) {
    findEntry(entry, { real: join(real, entry.name), name: posix.join(shown, entry.name), border }, search);
  }
}

/** Returns the visible entries of a folder, sorted. Reads one by one: they may be more than memory holds. */
function entriesOf(real: string, shown: string, search: Search): readonly fs.Dirent[] {
  const entries: fs.Dirent[] = [];
  const folder = fs.opendirSync(real);
  try {
    for (let entry = folder.readSync(); entry; entry = folder.readSync()) {
      search.entries += 1;
      if (search.entries > MOST_ENTRIES) throw new Excess(shown, `${MOST_ENTRIES} entries in their folders`);
      if (!entry.name.startsWith('.')) entries.push(entry);
    }
  } finally {
    folder.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

type EntryPlace = Readonly<Record<'real' | 'name' | 'border', string>>;

function findEntry(entry: fs.Dirent, { real: path, name, border }: EntryPlace, search: Search): void {
  const isReadable = READ_ENDING.test(entry.name);
  const isLink = entry.isSymbolicLink();
  if (!isReadable && !(search.recursive && (entry.isDirectory() || isLink))) return;
  try {
    const real = isLink ? fs.realpathSync.native(path) : path;
    const isOutside = !isInside(real, border);
    const isFolder = isLink && !isOutside ? fs.statSync(real).isDirectory() : entry.isDirectory();
    if (isOutside)
      addProblem(name, 'is a symbolic link that leads out of the given folder: it is not followed', search);
    else if (isFolder && search.recursive) findInFolder(real, name, border, search);
    else if (isFolder || !isReadable) return;
    else if (NO_MANIFESTS.test(entry.name)) search.skipped.push(name);
    else add({ real, name, kind: 'file' }, search);
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

function add(file: Found, search: Search): void {
  if (!search.found.has(file.real)) search.found.set(file.real, file);
  if (search.found.size > MOST_FILES) throw new Excess(file.name, `${MOST_FILES} files`);
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Returns the path from the current folder. An absolute one outside stays: `/srv/a`, not `../../srv/a`. */
function nameOf(path: string, cwd: string): string {
  const absolute = resolve(cwd, path);
  const fromCwd = relative(cwd, absolute);
  const name = isAbsolute(path) && fromCwd.split(sep)[0] === '..' ? absolute : fromCwd;
  return name.split(sep).join('/') || '.';
}

type ReadBytes = { readonly bytes: Uint8Array } | { readonly wrong: string } | 'too much';

/** First room for what comes out of a pipe. */
const PIPE_BYTES = 65_536;

/** Reads at most `room` bytes, whatever size the file system tells. A pipe is read until its writers close it. */
function readFound({ real, kind }: Found, room: number): ReadBytes {
  if (kind === 'standard input') return readToEnd(0, PIPE_BYTES, room);
  // A file may have become a pipe or device since it was found: opening must not wait for it.
  const file = fs.openSync(real, fs.constants.O_RDONLY | (kind === 'pipe' ? 0 : fs.constants.O_NONBLOCK));
  try {
    if (kind === 'pipe') return readToEnd(file, PIPE_BYTES, room);
    const status = fs.fstatSync(file);
    if (!status.isFile()) return { wrong: 'is no regular file' };
    // One byte more than the size: the file may grow meanwhile, or may not tell its size.
    return status.size > room ? 'too much' : readToEnd(file, status.size + 1, room);
  } finally {
    fs.closeSync(file);
  }
}

function orProblem<T>(ask: () => T): T | { readonly wrong: string } {
  try {
    return ask();
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

/** Pause until the next attempt to read bytes that are not there yet, ms. */
const PAUSE_MS = 5;

/** Reads like `readSync`, but waits: another process may have set standard input not to block (EAGAIN). */
function readSome(file: number, bytes: Uint8Array, offset: number): number {
  for (;;) {
    try {
      return fs.readSync(file, bytes, offset, bytes.length - offset, null);
    } catch (error) {
      if (systemCode(error) !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'cannot be read: permission denied. Make it readable for the user that runs gitea-runners',
  ELOOP: 'is a symbolic link that leads to itself',
  ENOTDIR: 'no such file or folder',
  ENAMETOOLONG: 'has a path that is too long',
  ENXIO: 'is no regular file',
  ERR_INVALID_ARG_VALUE: 'no such file or folder',
};

function notRead(error: unknown): string {
  const code = systemCode(error);
  return REASONS[code] ?? `cannot be read: ${code}`;
}
