/** `gitea-runners import`: RunnerGroups made of what other tools have. It asks no server and changes none. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { runnerGroupFromObject } from '../config/runnergroup/from-object.ts';
import { API_VERSION, KIND } from '../config/runnergroup/schema.ts';
import { dnsLabelOf } from '../config/runnergroup/words.ts';
import { yamlText } from '../config/runnergroup/yaml-text.ts';
import { Failure } from '../shared/failure.ts';
import type { ExitCode, Io } from '../shared/io.ts';
import { count, printable } from '../shared/printable.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import { fromObject, type ImportedGroup, type Known } from './import/objects.ts';
import { toScope } from './init/answers.ts';

/** Of one file, as for RunnerGroups. */
const MOST_BYTES = 4 * 1024 * 1024;

const OF_ARC = z.looseObject({ githubConfigUrl: z.string() });

/** One RunnerGroup for each object that starts Gitea runners; notes stand above it as comments. @throws Failure exit 2 */
export function importGroups(files: readonly string[], flags: FlagsOf<'import'>, io: Io): ExitCode {
  const known = knownFrom(flags, io);
  const namespace = flagValue('groupNamespace', flags, io);
  const objects = files.flatMap((file) => read(file, io));
  const found = objects.flatMap((object) => fromObject(object, known, objects) ?? []);
  if (found.length === 0)
    throw new Failure(
      'GR-IMPORT-02',
      2,
      objects.some((object) => OF_ARC.safeParse(object).success)
        ? `import: ${files.join(', ')} has values of ARC, which say nothing of Gitea. Start with 'gitea-runners init': maxRunners is maxActiveRunners, minRunners is minIdleRunners, and the scale set's name is a label.`
        : `import: no Gitea runner was found in ${files.join(', ')}. Known are the operator's RunnerGroup, KEDA's ScaledJob, and Deployments, StatefulSets and DaemonSets with a runner. A runner's config.yaml is read from its ConfigMap.`,
    );
  const missing = new Set(found.flatMap((each) => each.missing));
  if (missing.size > 0)
    throw new Failure('GR-IMPORT-03', 2, `import: ${[...missing].join(', ')} must be given: no file says it.`);
  const made = found.map((each) => textOf(each, namespace));
  const bad = made.flatMap(({ problem }) => problem ?? []);
  if (bad.length === found.length) throw new Failure('GR-IMPORT-04', 2, bad.join('\n'));
  io.out(made.map(({ text }) => text).join('---\n'));
  io.err(
    `${count(found.length - bad.length, 'RunnerGroup')}. What was not carried over stands above each as a comment.\n`,
  );
  for (const problem of bad) io.err(`warning: ${problem} It is printed as a comment.\n`);
  return 0;
}

function knownFrom(flags: FlagsOf<'import'>, io: Io): Known {
  const owner = flagValue('owner', flags, io);
  const scope = flagValue('scope', flags, io);
  const isSaid = owner !== undefined || scope === 'global';
  return { scope: isSaid ? toScope('import', scope, owner ?? '') : undefined, gitea: flagValue('gitea', flags, io) };
}

/** The objects of a file, those of a `List` too. */
function read(file: string, io: Io): readonly unknown[] {
  const objects = parse(file, io);
  return objects.flatMap((object) =>
    typeof object === 'object' && object !== null && 'items' in object && Array.isArray(object.items)
      ? object.items
      : [object],
  );
}

/** The usual mistakes, in words. */
const WORDS: ReadonlyMap<unknown, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EISDIR', 'it is a folder. Name the files in it'],
]);

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function parse(file: string, io: Io): readonly unknown[] {
  const path = file === '-' ? 0 : resolve(io.cwd, file);
  try {
    if (typeof path === 'string' && statSync(path).size > MOST_BYTES) throw new Error('is longer than 4 MiB');
    const text = readFileSync(path, 'utf8');
    if (text.length > MOST_BYTES) throw new Error('is longer than 4 MiB');
    return parseAllDocuments(text, { logLevel: 'silent' }).map((document) => {
      const [error] = document.errors;
      if (error) throw new Error(error.message.split('\n')[0]?.replace(/:$/, ''));
      return document.toJS({ maxAliasCount: 100 }) as unknown;
    });
  } catch (error) {
    const why = WORDS.get(codeOf(error)) ?? (error instanceof Error ? error.message : 'it cannot be read');
    throw new Failure('GR-IMPORT-01', 2, `import ${file}: ${printable(why)}.`);
  }
}

/** A group that would not be valid is all comment: it takes nothing away from the others. */
function textOf(
  { name, namespace = '', spec, notes }: ImportedGroup,
  byDefault: string,
): { readonly text: string; readonly problem?: string } {
  const metadata = { name: dnsLabelOf(name), namespace: namespace || byDefault };
  const result = runnerGroupFromObject({ ...metadata, spec });
  const comments = notes.map((note) => `# ${printable(note)}\n`).join('');
  const text = `${comments}${yamlText({ apiVersion: API_VERSION, kind: KIND, metadata, spec })}`;
  if ('group' in result) return { text };
  const problem = `import ${metadata.namespace}/${metadata.name}: the RunnerGroup would not be valid: ${printable(result.problem)}.`;
  return { text: `# ${problem}\n${text.replace(/^(?!#)(?=.)/gm, '# ')}`, problem };
}
