/** Reads a small YAML file of an operator. It is not a manifest. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import type * as z from 'zod';
import { systemCode } from '../shared/failure.ts';
import { printable } from '../shared/printable.ts';
import { problemOf } from './runnergroup/field-problem.ts';

const LONGEST_FILE = 262_144;

/** Parses the file. @param toError makes the failure for a fault of the file */
export async function readSmallYaml<T>(file: string, shape: z.ZodType<T>, toError: (problem: string) => Error) {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw toError(`it cannot be read: ${systemCode(error)}`);
  });
  if (text.length > LONGEST_FILE) throw toError(`it has more than ${LONGEST_FILE} characters`);
  const document = parseDocument(text);
  if (document.errors.length > 0) throw toError('it is no YAML');
  const value: unknown = document.toJS({ maxAliasCount: 10 });
  const { data, error } = shape.safeParse(value);
  if (!error) return data;
  throw toError(printable(problemOf(error, shape, value)));
}
