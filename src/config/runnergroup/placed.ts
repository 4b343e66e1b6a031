/** Places of problems that are found after reading. The text of a file is parsed once more. */
import { groupBy } from '../../shared/keys.ts';
import { Budget } from './budget.ts';
import type { Path } from './documents.ts';
import { isMapping, pathText } from './paths.ts';
import { type PlainDocument, readPlainYaml } from './plain-yaml.ts';
import type { Problem } from './problems.ts';
import type { FilePlace, RunnerGroup, SourceFile } from './runner-group.ts';

export interface LateProblem {
  readonly group: RunnerGroup;
  /** Path from the document's root. */
  readonly path: Path;
  readonly message: string;
  readonly code: Problem['code'];
  /** Place of the value in a policy. Absent: not known, or the group has it. */
  readonly origin?: Path | undefined;
}

/** Adds places to findings. @param sources files by name; without its file, a problem has the group's place */
export async function placed(problems: readonly LateProblem[], sources: ReadonlyMap<string, SourceFile>) {
  const places = new Map<LateProblem, FilePlace>();
  const toFind = groupBy(problems, ({ group }) => keyOf(group.place));
  const find = ({ value, placeOf }: PlainDocument): void => {
    for (const base of basesOf(value)) {
      for (const problem of toFind.get(keyOf(placeOf(base))) ?? []) {
        places.set(problem, placeOf([...base, ...problem.path]));
      }
    }
  };
  const files = new Set(problems.flatMap(({ group }) => sources.get(group.place.file) ?? []));
  for (const file of files) {
    const plain = readPlainYaml(file);
    if (plain) plain.forEach(find);
    else {
      const { readDocuments } = await import('./documents.ts');
      readDocuments(file, new Budget(), (read) => 'document' in read && find(read.document));
    }
  }
  return problems.map((problem) => {
    const { group, path, message, code } = problem;
    return { place: places.get(problem) ?? group.place, path: pathText(path), message, code };
  });
}

/** A RunnerGroup is a document, or an item of a List. */
function basesOf(value: unknown): readonly Path[] {
  const items = isMapping(value) ? value['items'] : undefined;
  return Array.isArray(items) ? items.map((_, index) => ['items', index]) : [[]];
}

function keyOf({ file, line, column }: FilePlace): string {
  return `${file}:${line}:${column}`;
}
