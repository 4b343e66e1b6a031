import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readFiles } from '../../runnergroup/files.ts';
import type { SourceFile } from '../../runnergroup/source-file.ts';

/** Files by name, for the places of warnings. What can be read once only (a pipe, standard input) is left out. */
export function filesReadAgain(where: {
  readonly paths: readonly string[];
  readonly recursive: boolean;
  readonly cwd: string;
}): ReadonlyMap<string, SourceFile> {
  const paths = where.paths.filter((path) => canBeReadAgain(resolve(where.cwd, path)));
  if (paths.length === 0) return new Map();
  return new Map(readFiles({ ...where, paths }).files.map((file) => [file.name, file]));
}

function canBeReadAgain(path: string): boolean {
  try {
    const stat = statSync(path);
    return stat.isFile() || stat.isDirectory();
  } catch {
    return false;
  }
}
