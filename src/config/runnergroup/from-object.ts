/** A RunnerGroup that stands in a cluster -> the same normal form as from a file. */
import { API_VERSION, KIND } from '../../shared/marks.ts';
import { PROBLEM, PROBLEM_REASON } from './broken.ts';
import { readAll } from './documents.ts';
import type { RunnerGroup } from './runner-group.ts';
import { DENIED } from './status.ts';
import { type GroupDefaults, toRunnerGroup } from './to-runner-group.ts';

interface WrittenObject {
  readonly namespace: string;
  readonly name: string;
  readonly spec: unknown;
  /** The annotations that this program knows. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** A policy may match groups by their labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Returns the group, or all its faults in one string: the CRD admits more than this program. */
export function runnerGroupFromObject(
  object: WrittenObject,
  defaults?: GroupDefaults,
): { readonly group: RunnerGroup } | { readonly problem: string; readonly isDenied?: boolean } {
  const { namespace, name, spec, annotations, labels } = object;
  // The printed spec of a broken group has no content. The annotation has its problem.
  const notedProblem = annotations?.[PROBLEM];
  if (notedProblem !== undefined) return { problem: notedProblem, isDenied: annotations?.[PROBLEM_REASON] === DENIED };
  const metadata = { name, namespace, annotations, labels };
  const text = jsonOf({ apiVersion: API_VERSION, kind: KIND, metadata, spec });
  if (text === undefined) return { problem: 'spec is nested too deep' };
  const [read] = readAll({ name: `${namespace}/${name}`, text });
  if (read === undefined || 'problem' in read) return { problem: read?.problem.message ?? 'is empty' };
  const { document } = read;
  const result = toRunnerGroup({ document, base: [], value: document.value }, namespace, defaults);
  if ('group' in result) return result;
  return { problem: result.problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ') };
}

/** Writes JSON. Undefined: it is nested too deep for the stack; Kubernetes takes 10,000 levels. */
function jsonOf(object: object): string | undefined {
  try {
    return JSON.stringify(object);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
