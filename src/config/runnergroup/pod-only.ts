/** A RunnerGroup with mistakes elsewhere in its spec: its pod can be checked all the same. */
import { SILENT_SPEC } from './broken.ts';
import { isMapping, valueAt } from './paths.ts';
import type { Problem } from './problems.ts';
import { POD_FIELDS, type RunnerGroup } from './runner-group.ts';
import { type SourceObject, toRunnerGroup } from './to-runner-group.ts';

/** Also of an item of a List. */
const FIELD = /^(?:items\[\d+\]\.)?spec\.(\w+)/;

const MEANT = /did you mean "(\w+)"/;

/**
 * A group that has the pod of this one, with the name `name`. Its other fields say nothing.
 * Undefined: one of the three fields that decide about the pod is wrong itself, or misspelt.
 */
export function podOnly(
  { document, base, value }: SourceObject,
  problems: readonly Problem[],
  name: string,
): RunnerGroup | undefined {
  const spec = valueAt(value, ['spec']);
  if (!isMapping(spec)) return undefined;
  // A misspelt field is as wrong as the one that was meant: its default may not be what the pod is to have.
  const wrong = new Set(problems.flatMap(({ path, message }) => [FIELD.exec(path)?.[1], MEANT.exec(message)?.[1]]));
  const deciding = ['podTemplate', 'securityProfile', 'containerMode'];
  if (deciding.some((field) => wrong.has(field))) return undefined;
  const kept = [...deciding, ...POD_FIELDS].filter((field) => Object.hasOwn(spec, field) && !wrong.has(field));
  const metadata = { name, namespace: 'default' };
  // Without any label it would be wrong.
  const silent = { ...SILENT_SPEC, groupLabel: true, ...Object.fromEntries(kept.map((field) => [field, spec[field]])) };
  const { apiVersion, kind } = value as Readonly<Record<string, unknown>>;
  const result = toRunnerGroup({ document, base, value: { apiVersion, kind, metadata, spec: silent } }, 'default');
  return 'group' in result ? result.group : undefined;
}
