/** Reads RunnerGroups for a command. Reports files that are not manifests, and folders without RunnerGroups. */
import { readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { readFiles, STANDARD_INPUT } from '../../config/runnergroup/group-files.ts';
import { type ReadOptions, type ReadResult, readRunnerGroups } from '../../config/runnergroup/read.ts';
import { Failure } from '../../shared/failure.ts';
import type { Io } from '../../shared/io.ts';
import { firstNames, printable } from '../../shared/printable.ts';

/** Files that a message names; the others are counted. */
const SHOWN = 5;

/** Reads the groups of `paths`. One line on stderr names the skipped files. @throws InputProblems exit 2 */
export async function readGroups(
  readOptions: Pick<ReadOptions, 'paths' | 'recursive' | 'isolate' | 'defaults' | 'except'>,
  io: Io,
): Promise<ReadResult> {
  // Groups without a namespace go where Argo CD puts them.
  const defaultNamespace = io.env['ARGOCD_APP_NAMESPACE'] || 'default';
  const read = await readRunnerGroups({ ...readOptions, cwd: io.cwd, defaultNamespace });
  const { skipped } = read;
  if (skipped.length > 0)
    io.err(`${printable(`skipped, because not a Kubernetes manifest: ${firstNames(skipped, SHOWN)}`)}\n`);
  return read;
}

/** Files of other tools, and what to do with them. The first match counts. */
const OF_OTHERS: readonly (readonly [RegExp, string])[] = [
  [
    /^\s*"?githubConfigUrl"?:/m,
    "It holds values of ARC, which serves GitHub: 'gitea-runners import FILE' says what becomes of them",
  ],
  [/\bkind"?: *"?ScaledJob\b/, "It holds an object of KEDA: 'gitea-runners import FILE' makes a RunnerGroup of it"],
  [
    /\bkind"?: *"?(?:Deployment|StatefulSet|DaemonSet)\b[\s\S]*\b(?:GITEA_INSTANCE_URL|act_runner)\b/,
    "It holds a runner that always runs: 'gitea-runners import FILE' makes a RunnerGroup of it",
  ],
];

interface SearchedPlaces extends Pick<ReadOptions, 'paths' | 'recursive' | 'cwd'> {
  /** True for a command that would have asked Gitea: its message says why it reports nothing about Gitea. */
  readonly asksGitea?: boolean;
}

/** The error of a command that found no RunnerGroup. Names files in folders below that `--recursive` would read. */
export function noGroups({ paths, recursive, cwd, asksGitea = false }: SearchedPlaces): Failure {
  const placeNames = new Map([
    [STANDARD_INPUT, 'standard input'],
    ['.', `the current folder (${cwd})`],
  ]);
  const searchedPlaces = paths.map((path) => placeNames.get(path) ?? path).join(', ');
  const below = recursive ? [] : filesBelow(paths, cwd);
  const ofOthers = (): string | undefined => {
    const { files } = readFiles({ paths: paths.filter((path) => path !== STANDARD_INPUT), recursive: false, cwd });
    return OF_OTHERS.find(([pattern]) => files.some(({ text }) => pattern.test(text)))?.[1];
  };
  const remedy =
    below.length === 0
      ? (otherEndings(paths, cwd) ??
        ofOthers() ??
        'Name the files or folders that hold RunnerGroups, as PATH or GITEA_RUNNERS_PATH')
      : `Below it ${below.length === 1 ? 'is' : 'are'} ${firstNames(below, SHOWN)}: add --recursive (-R), or name them`;
  const message = `find RunnerGroups: no RunnerGroup in ${searchedPlaces}${asksGitea ? ', Gitea was not asked' : ''}. ${remedy}.`;
  return new Failure('GR-INPUT-09', 2, message);
}

/** Says which YAML files of folders are not read, because of their ending. Undefined: there are none. */
function otherEndings(paths: readonly string[], cwd: string): string | undefined {
  const folders = paths.map((path) => resolve(cwd, path)).filter(isFolder);
  const names = folders
    .flatMap((folder) => readdirSync(folder))
    .filter((name) => /\.ya?ml./i.test(name) || (/\.ya?ml$/i.test(name) && !/\.ya?ml$/.test(name)));
  return names.length === 0
    ? undefined
    : `${firstNames(names, SHOWN)}: only names that end with .yaml, .yml or .json are read. Rename it, or name it`;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Files that hold the word, and that only `--recursive` reads. */
function filesBelow(paths: readonly string[], cwd: string): readonly string[] {
  const folders = paths.filter((path) => isFolder(resolve(cwd, path)));
  if (folders.length === 0) return [];
  const read = new Set(readFiles({ paths: folders, recursive: false, cwd }).files.map(({ name }) => name));
  return readFiles({ paths: folders, recursive: true, cwd })
    .files.filter(({ name, text }) => !read.has(name) && /\bRunnerGroup\b/.test(text))
    .map(({ name }) => name);
}
