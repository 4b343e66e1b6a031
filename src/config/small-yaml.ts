/** Reads a small YAML file of an operator. It is not a manifest. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import type * as z from 'zod';
import { systemCode } from '../shared/failure.ts';
import { printable } from '../shared/printable.ts';

/** Most characters of the file. A longer one is refused. */
const LONGEST_FILE = 262_144;

/** Parses the file. @param wrong makes the failure for a fault of the file */
export async function readSmallYaml<T>(file: string, shape: z.ZodType<T>, wrong: (what: string) => Error): Promise<T> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw wrong(`it cannot be read: ${systemCode(error)}`);
  });
  if (text.length > LONGEST_FILE) throw wrong(`it has more than ${LONGEST_FILE} characters`);
  const document = parseDocument(text);
  if (document.errors.length > 0) throw wrong('it is no YAML');
  const { data, error } = shape.safeParse(document.toJS({ maxAliasCount: 10 }));
  if (!error) return data;
  const [issue] = error.issues;
  throw wrong(`${printable(issue?.path.join('.') || 'the file')}: ${printable(issue?.message ?? 'is wrong')}`);
}
