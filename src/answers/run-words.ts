/** The words by which people know a run. Pure. */
import type { Run } from '../clients/gitea/runs.ts';
import type { Job } from '../planner/evidence.ts';
import { cut } from '../shared/printable.ts';

/** Characters of a branch or a workflow. */
const LONGEST = 60;

/** Formats a run: `acme/shop #128`, `Mend the cart`, `feature/x`, `3f2a91c`, `ci.yml`, `push by ann`. No unknown parts. */
export function runWords({ branch = '', commit, repository }: Job, run?: Run): readonly [string, ...string[]] {
  const { actor, event, number, title, workflow = '' } = run ?? {};
  const trigger = [event, actor && `by ${actor}`].filter(Boolean).join(' ');
  const details = [title, cut(branch, LONGEST), commit, cut(workflow, LONGEST), trigger];
  return [number === undefined ? repository : `${repository} #${number}`, ...details.flatMap((word) => word || [])];
}
