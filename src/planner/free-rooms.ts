/**
 * The room of free runners where a limit is for CI jobs of each repository, organization or branch. Gitea does not know it, and does not tell
 * in which order it gives jobs away (docs/adr/0072).
 */
import { addTo, count, memo } from './collections.ts';
import type { Group, Job } from './evidence.ts';
import type { Facts } from './facts.ts';
import { FurtherRunners, limitsJobs, type Room, type Rooms, weightOf } from './limits.ts';
import type { Owners } from './owners.ts';
import type { ReadyJob } from './queue.ts';

/** Free runners among which Gitea may choose: those under one cap, of bound ones those of one repository. All sizes of a group have one cap. */
type Pool = object;

/** A group that covers ready jobs of one repository and branch. */
interface Covering {
  readonly pool: Pool;
  readonly group: Group;
  readonly job: Job;
  readonly jobs: number;
}

/**
 * Where more jobs wait than a limit per repository or branch has room for, all free runners of a pool share one room, which is what that limit
 * has left. Then it does not matter which jobs Gitea gives them.
 *
 * The own runner of a job that waits and has room stays: when it was started those jobs did not wait yet, so Gitea gives it an older one.
 */
export function roomsOfFree(queue: readonly ReadyJob[], rooms: Rooms, facts: Facts) {
  const ofFree = new Map<Pool, Room[]>();
  const capOf = memo((group: Group): Pool => rooms.ofGroup(group)[0] ?? group);
  const ofRepository = memo((cap: Pool) => memo((repository: string) => ({ cap, repository })));
  const poolOf = (group: Group, { repository }: Job): Pool =>
    group.isBound ? ofRepository(capOf(group))(repository.toLowerCase()) : capOf(group);
  const found = {
    ofGroup: (group: Group): readonly Room[] => ofFree.get(capOf(group)) ?? [],
    ofJob: (group: Group, job: Job): readonly Room[] =>
      (group.isBound && ofFree.size > 0 && ofFree.get(poolOf(group, job))) || [],
  };
  // As in nearly all plans.
  if (!facts.groups.some(limitsJobs)) return found;
  const living = livingPlaces(queue, rooms, poolOf);
  const short = shortRooms(wantedPlaces(coveringGroups(queue, facts, poolOf), rooms));
  // Jobs that were not read may be of any repository and branch.
  for (const group of facts.groups)
    if (facts.unreadJobsOf(group) > 0) for (const room of rooms.leastOf(group)) addTo(short, capOf(group), room);
  for (const [pool, some] of short) {
    const [least] = some.sort((a, b) => a.left - b.left);
    if (isOfRepository(pool)) ofFree.set(pool, some);
    else if (least) ofFree.set(pool, [{ ...least, left: Math.max(least.left, living.get(pool) ?? 0) }]);
  }
  return found;
}

/** By pool, the limits that have less room than is wanted. Bound runners of several repositories may be wanted under one limit. */
function shortRooms(wantedBy: ReadonlyMap<Pool, ReadonlyMap<Room, number>>): Map<Pool, Room[]> {
  const inAll = new Map<Room, number>();
  for (const wanted of wantedBy.values()) for (const [room, places] of wanted) count(inAll, room, places);
  const short = new Map<Pool, Room[]>();
  for (const [pool, wanted] of wantedBy)
    for (const [room, places] of wanted) {
      const most = isOfRepository(pool) ? (inAll.get(room) ?? 0) : places;
      if (most > room.left) addTo(short, pool, room);
    }
  return short;
}

function isOfRepository(pool: Pool): boolean {
  return 'repository' in pool;
}

type PoolOf = (group: Group, job: Job) => Pool;

/** The places of the own runners of jobs, by pool, as far as the limits of these jobs have room. */
function livingPlaces(queue: readonly ReadyJob[], rooms: Rooms, poolOf: PoolOf) {
  const living = new Map<Pool, number>();
  const kept = new FurtherRunners();
  for (const { listed, own } of queue)
    for (const { group } of own) {
      const needed = { group, rooms: rooms.ofJob(group, listed.job) };
      if (kept.roomFor(needed) === 0) continue;
      kept.take(needed, 1);
      count(living, poolOf(group, listed.job), weightOf(group));
    }
  return living;
}

/** Jobs that are alike are counted once: 50 groups may cover 10,000 jobs. */
function coveringGroups(queue: readonly ReadyJob[], { ownersOf }: Facts, poolOf: PoolOf): readonly Covering[] {
  const limitedOf = memo((owners: Owners) => (owners.covered ? owners.groups.filter(limitsJobs) : []));
  const alike = new Map<readonly Group[], Map<string, Job[]>>();
  for (const { listed } of queue) {
    const groups = limitedOf(ownersOf(listed));
    const ofGroups = alike.get(groups) ?? new Map<string, Job[]>();
    addTo(ofGroups, `${listed.job.repository} ${listed.job.branch}`, listed.job);
    alike.set(groups, ofGroups);
  }
  return [...alike].flatMap(([groups, byBranch]) =>
    [...byBranch.values()].flatMap((jobs) => {
      const [job] = jobs as [Job, ...Job[]];
      return groups.map((group) => ({ pool: poolOf(group, job), group, job, jobs: jobs.length }));
    }),
  );
}

/** The places that these jobs may take under their limits, by pool. One without a size counts as the heaviest: a large runner could take it. */
function wantedPlaces(covering: readonly Covering[], rooms: Rooms): ReadonlyMap<Pool, Map<Room, number>> {
  const heaviest = new Map<Pool, number>();
  for (const { pool, group } of covering) heaviest.set(pool, Math.max(weightOf(group), heaviest.get(pool) ?? 1));
  const wanted = new Map<Pool, Map<Room, number>>();
  for (const { pool, group, job, jobs } of covering) {
    const weight = group.size === undefined ? (heaviest.get(pool) ?? 1) : weightOf(group);
    const ofPool = wanted.get(pool) ?? new Map<Room, number>();
    for (const room of rooms.ofJob(group, job)) count(ofPool, room, jobs * weight);
    wanted.set(pool, ofPool);
  }
  return wanted;
}
