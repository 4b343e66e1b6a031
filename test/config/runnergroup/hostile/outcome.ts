/** What the reader makes of one file, in one line. */
import { formatProblem, InputProblems } from '../../../../src/config/runnergroup/problems.ts';
import { readFiles } from '../../../support/group-files.ts';
import { groupYaml } from '../../../support/run-cli.ts';

/** One odd or hostile file: its name in the list, its content, and what the reader makes of it (`outcomeOf`). */
export type Case = readonly [name: string, content: string | Uint8Array, outcome: string];

/** A good RunnerGroup: `runners/ci`, cap 5. */
export const GROUP = groupYaml('https://gitea.example.com').replace(/^ {2}resources: .*\n/m, '');

/** The good group with one change. Throws when there is nothing to change. */
export function changed(from: string, to: string): string {
  if (!GROUP.includes(from)) throw new Error(`the group has no ${from}`);
  return GROUP.replace(from, () => to);
}

/** Accepted: `groups: NAME cap CAP; others: KIND`. Refused: the first problem, and how many there are more. */
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
