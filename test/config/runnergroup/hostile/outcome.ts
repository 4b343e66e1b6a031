/** Describes the result of reading one file in one line. */
import { formatProblem, InputProblems } from '../../../../src/config/runnergroup/problems.ts';
import { readFiles } from '../../../support/group-files.ts';
import { groupYaml } from '../../../support/run-cli.ts';

/** An odd or hostile file: its name in the list, its content, and the result of the reader (`outcomeOf`). */
export type Case = readonly [name: string, content: string | Uint8Array, outcome: string];

/** A good RunnerGroup: `runners/ci`, cap 5. */
export const GROUP = groupYaml('https://gitea.example.com').replace(/^ {2}resources: .*\n/m, '');

/** The start of an object of another kind. */
export const OTHER = 'apiVersion: v1\nkind: X\nmetadata: {name: x}\n';

/** The good group with one change. Throws when there is nothing to change. */
export function changed(from: string, to: string): string {
  if (!GROUP.includes(from)) throw new Error(`the group has no ${from}`);
  return GROUP.replace(from, () => to);
}

/** The good group with this as its cap. */
export function withCap(written: string): string {
  return changed('maxActiveRunners: 5', `maxActiveRunners: ${written}`);
}

/** The outcome of a cap that is none. */
export function noCap(got: string): string {
  return `11:3: spec.maxActiveRunners: must be a whole number, not ${got} [GR-INPUT-05]`;
}

/** The outcome of what the package `yaml` or `judgeDocument` refuses. */
export function noYaml(at: string, what: string): string {
  return `${at}: is no valid YAML: ${what} [GR-INPUT-02]`;
}

/** The outcome of a document that lacks a field of an object. */
export function noObject(at: string, field: string): string {
  return `${at}: is not a Kubernetes object: ${field} is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read [GR-INPUT-03]`;
}

export const SINGLE_VALUE =
  'is not a Kubernetes object, but a list or a single value: keep it out of these files [GR-INPUT-03]';

/** The outcome of a name at `metadata.name` of the good group. */
export function noName(at: string, got: string): string {
  return `${at}: metadata.name: must be lower-case letters, digits and dashes, with a letter or digit at both ends; got the string ${got} [GR-INPUT-05]`;
}

/**
 * Returns the groups and other objects of an accepted file: `NAMESPACE/NAME cap CAP, 61 characters at line 1`. Of a
 * refused file: its first problem, and the number of others.
 */
export async function outcomeOf(content: string | Uint8Array): Promise<string> {
  try {
    const { groups, others } = await readFiles({ 'a.yaml': content });
    const found = [
      ...groups.map(({ namespace, name, maxActiveRunners }) => `${namespace}/${name} cap ${maxActiveRunners}`),
      ...others.map(({ text, place }) => `${text.length} characters at line ${place.line}`),
    ];
    return found.join(', ') || 'nothing';
  } catch (error) {
    if (!(error instanceof InputProblems)) throw error;
    const [first, ...more] = error.problems.map(formatProblem);
    return `${first?.replace(/^a\.yaml:/, '')}${more.length > 0 ? ` and ${more.length} more` : ''}`;
  }
}
