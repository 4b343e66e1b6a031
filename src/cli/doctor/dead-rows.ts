/** Dead rows of runners in Gitea: how many there seem to be, and whether `serve` deletes them. Pure. */

import type { Look } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { SETTINGS } from '../../shared/installed/names.ts';
import { deadRegistrations } from '../../tasks/sweep/choose.ts';
import { type DoctorFinding, good, unknown } from './finding.ts';
import type { Installation } from './installation.ts';

const CHECK = 'dead rows in Gitea';

/** Nothing when no Gitea was seen. */
export function deadRows(seen: Installation): readonly DoctorFinding[] {
  const { argocdNamespace, gitea, liveJobs, settings } = seen;
  const looks = new Map<string, Look>();
  const groups = gitea.scopes.flatMap(({ groups: ofScope, look: found, name, url }) => {
    if (found instanceof Failure) return [];
    const look = `${url} ${name}`;
    looks.set(look, found);
    return ofScope.map((group) => ({ namespace: group.namespace, name: group.name, giteaUrl: url, look }));
  });
  if (groups.length === 0) return [];
  if (liveJobs instanceof Failure)
    return [unknown(CHECK, `not counted, because the Jobs cannot be listed: ${liveJobs.code}`)];
  const data = 'value' in settings ? settings.value.data : {};
  const instance = data['GITEA_RUNNERS_INSTANCE'] ?? '';
  const { registrations } = deadRegistrations({ instance, groups, looks, liveJobs, nowMs: 0 }, new Map());
  // A second look, later, would make sure: docs/commands.md, "sweep".
  const dead = registrations.filter(({ verdict }) => !verdict.dead && verdict.because === 'seen-too-briefly').length;
  if (dead === 0) return [good(CHECK, 'none')];
  const text = `${dead} of ${registrations.length} rows of its runners seem dead`;
  if (['true', '1'].includes(data['GITEA_RUNNERS_SWEEP'] ?? '')) return [good(CHECK, `${text}; serve deletes them`)];
  return [
    unknown(
      CHECK,
      `${text}; nothing deletes them, because --sweep is off`,
      `Set GITEA_RUNNERS_SWEEP: "true" in ConfigMap ${SETTINGS} of namespace ${argocdNamespace}, with an API token that may write. Or run gitea-runners sweep once`,
    ),
  ];
}
