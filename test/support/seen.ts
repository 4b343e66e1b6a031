/** Input of tests that plan. */
import type { PlanInput, SeenGroup } from '../../src/plan/plan-seen.ts';
import type { LiveJob } from '../../src/planner/evidence.ts';
import { Failure } from '../../src/shared/failure.ts';
import { NOW, namesAtWork, ORIGIN, podsOf } from './scenario.ts';

export const API_SERVER = 'https://kubernetes';

/** Returns these groups in a cluster with these runners, seen a moment ago. No server has told of its clock. */
export function seenOf(
  groups: readonly SeenGroup[],
  {
    runners = [],
    nowMs = NOW,
    ...over
  }: Partial<PlanInput> & { readonly runners?: readonly { readonly job: LiveJob }[] } = {},
): PlanInput {
  const jobs = runners.map(({ job }) => job);
  const looks = groups.flatMap(({ look }) => (look === undefined || look instanceof Failure ? [] : look));
  const pods = podsOf(
    namesAtWork(looks),
    groups.map(({ group }) => group),
  );
  const cluster = { origin: API_SERVER, jobs, pods, listedAtMs: nowMs - 5_000 };
  return { instance: '', groups, broken: [], suspended: new Map(), cluster, clockOf: () => undefined, nowMs, ...over };
}

/** Clocks of Gitea and Kubernetes that are so much ahead of this machine's, exactly. */
export function clocksAhead(giteaMs: number, kubernetesMs: number): PlanInput['clockOf'] {
  const aheadMs = new Map([
    [ORIGIN, giteaMs],
    [API_SERVER, kubernetesMs],
  ]);
  return (origin) => {
    const ms = aheadMs.get(origin);
    return ms === undefined ? undefined : { leastMs: ms, mostMs: ms };
  };
}
