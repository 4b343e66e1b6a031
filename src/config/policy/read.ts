/** From a policy file to a policy, or everything that is wrong with the file. */
import { readFileSync } from 'node:fs';
import type * as z from 'zod';
import { systemReason } from '../../shared/failure.ts';
import { type Path, readAll, type SourceDocument } from '../runnergroup/documents.ts';
import { problemsOfIssue } from '../runnergroup/field-problem.ts';
import { namesAt, pathText, valueAt } from '../runnergroup/paths.ts';
import { type Policy, PolicyDocument } from './schema.ts';

/** 1 MiB: no ConfigMap holds more. */
export const MOST_POLICY_BYTES = 1_048_576;

/** Exactly one of both. `problems`: one line each, not yet safe to print; `file:line:column: path: message`. */
export type ReadPolicy = { readonly policy: Policy } | { readonly problems: readonly string[] };

/** Reads the file in one go. Never throws for what stands there, nor for a file that is not there. */
export function readPolicyFile(file: string): ReadPolicy {
  try {
    const bytes = readFileSync(file);
    if (bytes.length > MOST_POLICY_BYTES) return { problems: [`${file}: has more than ${MOST_POLICY_BYTES} bytes`] };
    return readPolicy(file, new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    const what = error instanceof TypeError ? 'is not UTF-8' : `cannot be read: ${systemReason(error)}`;
    return { problems: [`${file}: ${what}`] };
  }
}

/** @param name for messages */
export function readPolicy(name: string, text: string): ReadPolicy {
  const found = readAll({ name, text });
  const broken = found.flatMap((read) => ('problem' in read ? [read.problem] : []));
  if (broken.length > 0) return { problems: broken.map(({ place, message }) => line(place, '', message)) };
  const documents = found.flatMap((read) => ('document' in read ? [read.document] : []));
  const [document] = documents;
  if (document === undefined || documents.length > 1)
    return { problems: [`${name}: has ${documents.length} documents; a policy is exactly one`] };
  const parsed = PolicyDocument.safeParse(document.value);
  if (parsed.success) return { policy: parsed.data.spec };
  return { problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, document)) };
}

function problemsOf(issue: z.core.$ZodIssue, document: SourceDocument): readonly string[] {
  const around = {
    schemaCommand: 'gitea-runners schema --kind RunnerPolicy',
    namesAt: (path: Path) => namesAt(PolicyDocument, path),
    valueAt: (path: Path) => valueAt(document.value, path),
    writtenAt: (path: Path) => document.writtenAt(path),
  };
  return problemsOfIssue(issue, around).map(({ path, message }) =>
    line(document.placeOf(path), pathText(path), message),
  );
}

function line(place: SourceDocument['place'], path: string, message: string): string {
  return [`${place.file}:${place.line}:${place.column}`, path, message].filter((part) => part !== '').join(': ');
}
