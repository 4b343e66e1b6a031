/**
 * The limits of free runners, where a limit is for CI jobs of each repository, organization or branch. Gitea does not know it, and does not
 * tell in which order it gives jobs away (docs/adr/0072).
 */
import { addTo, count, memo } from './collections.ts';
import type { Group, Job } from './evidence.ts';
import type { Facts } from './facts.ts';
import { FurtherRunners, limitsJobs, type OpenLimit, type OpenLimits, weightOf } from './limits.ts';
import type { Owners } from './owners.ts';
import type { ReadyJob } from './queue.ts';

/** A set of free runners among which Gitea may choose: all of one cap (that of a group with its sizes), or the bound ones of one repository. */
type Pool = object;

/** A group that covers ready jobs of one repository and branch. */
interface Covering {
  readonly pool: Pool;
  readonly group: Group;
  readonly job: Job;
  readonly jobs: number;
}

/**
 * Where more jobs wait than a limit per repository or branch has slots for, all free runners of a pool together get only the slots that this
 * limit leaves. Then it does not matter which jobs Gitea gives them.
 *
 * The own runner of a job that waits, and that its limits have slots for, stays. When it was started those jobs did not wait yet, so Gitea
 * gives it an older one.
 */
export function limitsOfFree(queue: readonly ReadyJob[], limits: OpenLimits, facts: Facts) {
  const ofFree = new Map<Pool, OpenLimit[]>();
  const capOf = memo((group: Group): Pool => limits.ofGroup(group)[0] ?? group);
  const ofRepository = memo((cap: Pool) => memo((repository: string) => ({ cap, repository })));
  const poolOf = (group: Group, { repository }: Job): Pool =>
    group.isBound ? ofRepository(capOf(group))(repository.toLowerCase()) : capOf(group);
  const freeLimits = {
    ofGroup: (group: Group): readonly OpenLimit[] => ofFree.get(capOf(group)) ?? [],
    ofJob: (group: Group, job: Job): readonly OpenLimit[] =>
      (group.isBound && ofFree.size > 0 && ofFree.get(poolOf(group, job))) || [],
  };
  // Most plans have no such limit.
  if (!facts.groups.some(limitsJobs)) return freeLimits;
  const living = livingSlots(queue, limits, poolOf);
  const strictOf = memo(limits.strictOf);
  const short = shortLimits(wantedSlots(coveringGroups(queue, facts, strictOf, poolOf), strictOf, limits));
  // Jobs that were not read may be of any repository and branch.
  for (const group of facts.groups)
    if (facts.unreadJobsOf(group) > 0) for (const limit of limits.leastOf(group)) addTo(short, capOf(group), limit);
  for (const [pool, openLimits] of short) {
    const [least] = openLimits.sort((a, b) => a.left - b.left);
    if (isOfRepository(pool)) ofFree.set(pool, openLimits);
    else if (least) ofFree.set(pool, [{ ...least, left: Math.max(least.left, living.get(pool) ?? 0) }]);
  }
  return freeLimits;
}

/** Returns, by pool, the limits with fewer slots than its jobs want. Several repositories may want slots of one. */
function shortLimits(wantedBy: ReadonlyMap<Pool, ReadonlyMap<OpenLimit, number>>): Map<Pool, OpenLimit[]> {
  const inAll = new Map<OpenLimit, number>();
  for (const slotsByLimit of wantedBy.values()) for (const [limit, slots] of slotsByLimit) count(inAll, limit, slots);
  const short = new Map<Pool, OpenLimit[]>();
  for (const [pool, slotsByLimit] of wantedBy)
    for (const [limit, slots] of slotsByLimit) {
      const most = isOfRepository(pool) ? (inAll.get(limit) ?? 0) : slots;
      if (most > limit.left) addTo(short, pool, limit);
    }
  return short;
}

function isOfRepository(pool: Pool): boolean {
  return 'repository' in pool;
}

type PoolOf = (group: Group, job: Job) => Pool;
type StrictOf = OpenLimits['strictOf'];

/** The slots of the own runners of jobs, by pool, as far as the limits of these jobs have them. */
function livingSlots(queue: readonly ReadyJob[], limits: OpenLimits, poolOf: PoolOf) {
  const living = new Map<Pool, number>();
  const furtherRunners = new FurtherRunners();
  for (const { listed, ownRunners } of queue)
    for (const { group } of ownRunners) {
      const needed = { group, limits: limits.ofJob(group, listed.job) };
      if (furtherRunners.howManyMore(needed) === 0) continue;
      furtherRunners.take(needed, 1);
      count(living, poolOf(group, listed.job), weightOf(group));
    }
  return living;
}

/** Evaluates jobs of one repository and branch once, with their number. @param strictOf the limits that can stop a free runner of the group */
function coveringGroups(
  queue: readonly ReadyJob[],
  { ownersOf }: Facts,
  strictOf: StrictOf,
  poolOf: PoolOf,
): readonly Covering[] {
  const isStopped = (group: Group): boolean => strictOf(group).length > 0;
  const limitedOf = memo((owners: Owners) => (owners.covered ? owners.groups.filter(isStopped) : []));
  const jobsByGroups = new Map<readonly Group[], Map<string, Job[]>>();
  for (const { listed } of queue) {
    const groups = limitedOf(ownersOf(listed));
    const ofGroups = jobsByGroups.get(groups) ?? new Map<string, Job[]>();
    addTo(ofGroups, `${listed.job.repository} ${listed.job.branch}`, listed.job);
    jobsByGroups.set(groups, ofGroups);
  }
  return [...jobsByGroups].flatMap(([groups, byBranch]) =>
    [...byBranch.values()].flatMap((jobs) => {
      const [job] = jobs as [Job, ...Job[]];
      return groups.map((group) => ({ pool: poolOf(group, job), group, job, jobs: jobs.length }));
    }),
  );
}

/** Returns the slots that these jobs may take, by pool. A job without a size counts as the heaviest. */
function wantedSlots(
  covering: readonly Covering[],
  strictOf: StrictOf,
  limits: OpenLimits,
): ReadonlyMap<Pool, Map<OpenLimit, number>> {
  const heaviest = new Map<Pool, number>();
  for (const { pool, group } of covering) heaviest.set(pool, Math.max(weightOf(group), heaviest.get(pool) ?? 1));
  const slotsByPool = new Map<Pool, Map<OpenLimit, number>>();
  for (const { pool, group, job, jobs } of covering) {
    const weight = group.size === undefined ? (heaviest.get(pool) ?? 1) : weightOf(group);
    const ofPool = slotsByPool.get(pool) ?? new Map<OpenLimit, number>();
    for (const limit of limits.ofJob(group, job, strictOf(group))) count(ofPool, limit, jobs * weight);
    slotsByPool.set(pool, ofPool);
  }
  return slotsByPool;
}
