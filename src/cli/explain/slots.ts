/** Which runners hold the slots of a full group. Pure. */

import { type EmittedRunner, takesSlot } from '../../planner/decisions.ts';
import { keyText } from '../../shared/key-text.ts';
import { runnerText, troubleText } from '../explain-text.ts';
import type { ExplainedGroup, Explanation } from '../explanation.ts';

/** Runners that are told; the others are counted. */
const MOST_SLOTS = 5;

/** One text per runner, those that block others first. */
export function slotLines(group: ExplainedGroup, { runners, groups, checkedAt }: Explanation): readonly string[] {
  const key = keyText(group);
  const holders = runners.filter(
    (each): each is EmittedRunner => each.emit && keyText(each.group) === key && takesSlot(each),
  );
  const told = [...holders].sort((a, b) => rank(a) - rank(b));
  const lines = told.slice(0, MOST_SLOTS).map((each) => {
    const text = each.trouble
      ? `its pod cannot start: ${troubleText(each.trouble)}`
      : runnerText(each, groups, Date.parse(checkedAt));
    return `${each.runner} ${text}`;
  });
  return told.length > MOST_SLOTS ? [...lines, `… and ${told.length - MOST_SLOTS} more`] : lines;
}

function rank({ trouble, because }: EmittedRunner): number {
  if (trouble) return 0;
  return because === 'debugging' ? 1 : 2;
}
