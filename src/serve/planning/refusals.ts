/** What the policy file says about the RunnerGroups in the cluster. As `generate` does it, but for what only Argo CD knows. Pure. */

import { checkApplication, checkGroup } from '../../config/policy/check.ts';
import type { Asker } from '../../config/policy/denial.ts';
import type { ReadPolicy } from '../../config/policy/read.ts';
import { denied, unusablePolicy } from '../../config/policy/refuse.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { Failure } from '../../shared/failure.ts';
import type { LiveGroup } from './live.ts';

/** Why a group is not served. Groups that the policy allows are not in it. */
export type Refusals = ReadonlyMap<RunnerGroup, Failure>;

/** Project, repository and destination of an Application are its own `generate`'s to judge: no object in the cluster proves them. */
const UNKNOWN: Asker = { isArgoCd: false };

/** @param byApp as `Survey.byApp` */
export function refusalsOf(file: string, read: ReadPolicy, byApp: ReadonlyMap<string, readonly LiveGroup[]>): Refusals {
  return new Map([...byApp].flatMap(([app, members]) => refusalsIn(file, read, app, members)));
}

function refusalsIn(
  file: string,
  read: ReadPolicy,
  application: string,
  members: readonly LiveGroup[],
): readonly (readonly [RunnerGroup, Failure])[] {
  const groups = members.flatMap(({ group }) => group ?? []);
  if ('problems' in read) return groups.map((group) => [group, unusablePolicy(file, read.problems)] as const);
  const { policy } = read;
  // Groups of no Application have nothing in common.
  const common = application === '' ? [] : checkApplication(policy, groups, UNKNOWN);
  return groups.flatMap((group) => {
    const denials = [...common, ...checkGroup(policy, group, UNKNOWN)];
    return denials.length === 0 ? [] : [[group, denied(file, denials)] as const];
  });
}
