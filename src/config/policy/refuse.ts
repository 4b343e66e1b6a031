/** The failures that a policy file leads to. Apart from the rules, which are loaded only when a policy is named. */

import { Failure } from '../../shared/failure.ts';
import { count, firstLines, printable, shortLine } from '../../shared/printable.ts';
import type { Denial } from './denial.ts';

/** Lines that are shown where stderr must be short. */
const SHOWN = 15;

/** `file:line: namespace/name: field: message [rule]`, one line, safe on a terminal. */
export function denialLine({ group, path, message, rule }: Denial): string {
  const where = group === undefined ? [] : [`${group.place.file}:${group.place.line}`, group.name];
  return `${shortLine([...where, path, message].filter((part) => part !== '').join(': '))} [${rule}]`;
}

/** Exit 3: everything that a policy denies in this run. `denials` is not empty. */
export function denied(file: string, denials: readonly Denial[]): Failure {
  const what = `${count(denials.length, 'denial')} by the policy ${printable(file)}. Nothing is served.`;
  const lines = firstLines(denials.map(denialLine), SHOWN, `gitea-runners validate --policy ${printable(file)}`);
  return new Failure('GR-POLICY-04', 3, [`serve RunnerGroups: ${what}`, ...lines].join('\n'), 'policy');
}

/** Exit 2: the policy file cannot be read, or is none. What it would deny is not known, so everything is refused. */
export function unusablePolicy(file: string, problems: readonly string[]): Failure {
  const what = `${count(problems.length, 'problem')}. Nothing is served without it.`;
  const lines = firstLines(problems.map(printable), SHOWN, 'correct these first');
  return new Failure('GR-POLICY-05', 2, [`read the policy ${printable(file)}: ${what}`, ...lines].join('\n'), 'policy');
}
