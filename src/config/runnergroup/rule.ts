/** What the rules of the fields have in common: what they are given, and what they answer. */
import type { Path } from './documents.ts';
import type { FieldProblem } from './field-problem.ts';
import type { WrittenSpec } from './schema.ts';

/** A spec of which some fields may have failed their own check. */
export interface Draft {
  /** Fields that passed, with defaults; the others are absent. */
  readonly spec: Partial<WrittenSpec>;
  /** `metadata.name`, when it is a good one. */
  readonly groupName: string | undefined;
  /** True when the field at this path below `spec`, or something in it, has a problem of its own. */
  readonly unclear: (...path: Path) => boolean;
}

/** Either the normal form or its problems. No value and no problems: the schema has reported the fields already. */
export type Ruled<T> = { readonly value: T } | { readonly problems: readonly FieldProblem[] };

export const UNCLEAR = { problems: [] };

export function ok<T>(value: T): Ruled<T> {
  return { value };
}

/** The answer of a rule that finds one problem. `path` is below `spec`. */
export function wrong(path: Path, message: string): { readonly problems: readonly FieldProblem[] } {
  return { problems: [problemAt(path, message)] };
}

/** @param path below `spec` */
export function problemAt(path: Path, message: string): FieldProblem {
  return { path: ['spec', ...path], message, code: 'GR-INPUT-06', together: true };
}
