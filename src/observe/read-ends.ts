/** Which looks at Gitea read completed jobs also when no job is queued or runs. Others do not show the failure of the last CI job of a scope. */
import { describeScope } from '../clients/gitea/endpoints.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';

/** True for a group whose scope is also that of a group with `keepFailedSeconds`, perhaps its own: such groups share a look. */
export function endsReader(groups: readonly RunnerGroup[]): (group: RunnerGroup) => boolean {
  const scopeOf = ({ giteaUrl, scope }: RunnerGroup): string => `${giteaUrl} ${describeScope(scope)}`;
  const read = new Set(groups.filter(({ keepFailedSeconds }) => keepFailedSeconds > 0).map(scopeOf));
  // As for most: nobody keeps runners.
  return read.size === 0 ? () => false : (group) => read.has(scopeOf(group));
}
