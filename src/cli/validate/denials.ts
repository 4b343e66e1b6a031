/** What a policy denies, as problems with places. */

import type { Denial } from '../../config/policy/denial.ts';
import type { Path } from '../../config/runnergroup/documents.ts';
import { type LateProblem, placed } from '../../config/runnergroup/placed.ts';
import type { Problem, ReadInSpite } from '../../config/runnergroup/problems.ts';
import { keyText } from '../../shared/key-text.ts';

const CODE = 'GR-POLICY-04';

/** A denial of a field has the place of the field. Those of the whole Application come first. */
export async function problemsOfDenials(
  denials: readonly Denial[],
  { groups, sources }: Pick<ReadInSpite, 'groups' | 'sources'>,
): Promise<readonly Problem[]> {
  const byName = new Map(groups.map((group) => [keyText(group), group]));
  const ofFields: LateProblem[] = [];
  const others: Problem[] = [];
  for (const { group: denied, path, message: said, rule } of denials) {
    const message = `${said} [${rule}]`;
    const group = denied && byName.get(denied.name);
    if (group) ofFields.push({ group, path: stepsOf(path), message, code: CODE });
    else others.push({ place: denied?.place ?? { file: '.', line: 1, column: 1 }, path, message, code: CODE });
  }
  return [...others, ...(await placed(ofFields, sources))];
}

/** `spec.labels[0]` -> `spec`, `labels`, 0 */
function stepsOf(path: string): Path {
  return [...path.matchAll(/\[(\d+)\]|\["(.*?)"\]|([^.[\]]+)/g)].map(([, index, key, name = '']) =>
    index === undefined ? (key ?? name) : Number(index),
  );
}
