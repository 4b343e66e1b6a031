/** Problems of input files: their form, their text, and the failure that they end a run with. */
import { Failure } from '../../shared/failure.ts';
import { count, cut, firstLines, shortLine } from '../../shared/printable.ts';
import type { FilePlace, RunnerGroup, SourceFile } from './runner-group.ts';

/** Codes of faults of the input. Codes are permanent; docs/errors.md explains each. */
export type ProblemCode = `GR-INPUT-0${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}` | 'GR-INPUT-10';

/** Codes of valid input that is probably not intended. Only `validate` shows them. */
export type WarningCode = `GR-WARN-0${1 | 2 | 3 | 5 | 6 | 7 | 8 | 9}` | `GR-WARN-1${0 | 1 | 2 | 3 | 4 | 5}`;

/** A finding in an input file, with its place. Earlier forms: `TextProblem` and `FieldProblem`. */
export interface Problem {
  readonly place: FilePlace;
  /** The field as people write it, e.g. `spec.labels[0]`; empty when the whole file or document is meant. */
  readonly path: string;
  /** Received value and remedy. May hold text from the file: print it through `formatProblem` only. */
  readonly message: string;
  readonly code: ProblemCode | WarningCode | 'GR-POLICY-04';
  /** True if the file or a document of it could not be read. The part that could be read may mean something else. */
  readonly isUnreadable?: true;
}

const SHOWN = 15;

export interface ReadInSpite {
  /** RunnerGroups, broken ones too. */
  readonly count: number;
  readonly files: number;
  readonly groups: readonly RunnerGroup[];
  /** The pods of those that have problems elsewhere. */
  readonly pods: readonly RunnerGroup[];
  /** Files of the problems, by name. */
  readonly sources: ReadonlyMap<string, SourceFile>;
}

/** All problems of one run, by file, line and column. `message` shows the first 15; `problems` has all. */
export class InputProblems extends Failure {
  readonly problems: readonly Problem[];
  /** Absent: the problems were found after reading. */
  readonly read?: ReadInSpite;

  constructor(allProblems: readonly Problem[], read?: ReadInSpite) {
    const problems = [...allProblems].sort(byPlace);
    super(problems[0]?.code ?? 'GR-INPUT-01', 2, summary(problems));
    this.name = 'InputProblems';
    this.problems = problems;
    if (read) this.read = read;
  }
}

/** `file:line:column: path: message [code]`, one line, safe on a terminal. */
export function formatProblem({ place, path, message, code }: Problem): string {
  const position = `${place.file}:${place.line}:${place.column}`;
  return `${shortLine([position, path, message].filter((part) => part !== '').join(': '))} [${code}]`;
}

/** Quotes at most 60 characters of a value from a file, for use inside a message. Leaves out credentials of a URL. */
export function quoted(text: string): string {
  return `"${cut(text.replace(/\/\/[^/@]*@/g, '//…@'), 60)}"`;
}

function summary(problems: readonly Problem[]): string {
  const files = new Set(problems.map(({ place }) => place.file)).size;
  const lines = firstLines(problems.map(formatProblem), SHOWN, 'gitea-runners validate');
  return [`read RunnerGroups: ${count(problems.length, 'problem')} in ${count(files, 'file')}.`, ...lines].join('\n');
}

/** Orders problems by file, line, column and path. */
export function byPlace(a: Problem, b: Problem): number {
  return (
    compare(a.place.file, b.place.file) ||
    a.place.line - b.place.line ||
    a.place.column - b.place.column ||
    compare(a.path, b.path)
  );
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
