/**
 * 6 IDLE: free runners that no job was given, and that are kept for jobs to come, in the slots that the limits have left after runners at work
 * and jobs. They are free runners for every other rule, so a ready job gets one before a new one is asked for. A runner is kept while it is
 *
 *   - warm: its group has a pool that it fills (`minIdleRunners`, docs/adr/0035), whatever it was started for. An index whose runner was given
 *     to a job waits until that runner is at work. What is still missing is started: indexes without a runner get their next name. Runners of
 *     an older pod template do not count, so the pool drains when its group changes;
 *   - or spare: it is younger than one spawn timeout, and CI goes on that it could have taken (docs/adr/0022). Runners of other groups, or of
 *     somebody else, took its job, but the next one is near. To drop it and start another one a minute later helps nobody. While the
 *     queue is too long to be read, every such runner is kept.
 */
import type { Allotment } from './allot.ts';
import type { Allocation } from './assign.ts';
import { failedOf, groupBackOff, nextTryMs } from './back-off.ts';
import { addTo, compareText } from './collections.ts';
import type { Group, Job, ListedJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import { FurtherRunners, limitsJobs } from './limits.ts';
import { POOL_LIFE_MS, poolIndexOf } from './names.ts';
import { coversJob, endOf, freeRunners, type GroupRunners, newName, type Runner } from './runners.ts';

/** A runner that no job was given, and what it is kept for. */
export interface IdleRunner {
  readonly runner: string;
  /** Undefined: it is asked for. */
  readonly living: Runner | undefined;
  readonly because: 'warm' | 'spare';
}

export type IdleByGroup = ReadonlyMap<Group, readonly IdleRunner[]>;

/** How long an index waits after a Job that is complete without a known CI job, ms. */
const UNSURE_MS = 10_000;
/** Failed Jobs that are kept as records, for each index. The back-off is at its longest before that. */
const MOST_RECORDS = 10;

export function keepIdle({ allotments, assignments, overdue }: Allocation, facts: Facts): IdleByGroup {
  const { jobs, nowMs, unreadJobsOf } = facts;
  const backOff = groupBackOff(facts);
  const furtherRunners = new FurtherRunners();
  for (const [group, allotment] of allotments)
    furtherRunners.take(allotment, (assignments.get(group)?.length ?? 0) - allotment.jobs.length);
  // Most plans never need this map.
  let atWork: ReadonlyMap<string, readonly Job[]> | undefined;
  const couldHaveWork = (runner: Runner): boolean => {
    atWork ??= jobsAtWork(jobs);
    return atWork.get(runner.group.look)?.some((job) => coversJob(runner, job)) === true;
  };
  return new Map(
    [...allotments].map(([group, allotment]) => {
      const { runners, nameOf } = allotment;
      const { minIdleRunners } = group;
      const assigned = assignments.get(group) ?? [];
      const takenNames = new Set(assigned.map(({ runner }) => runner));
      const idle: IdleRunner[] = [];
      const keep = (kept: readonly Runner[], because: IdleRunner['because'], most: number): readonly Runner[] => {
        const those = kept.slice(0, Math.max(0, most));
        for (const living of those) idle.push({ runner: living.name, living, because });
        for (const { name } of those) takenNames.add(name);
        furtherRunners.take(allotment, those.length);
        return those;
      };

      const takenRunners = runners.filter(({ name }) => takenNames.has(name));
      const most = furtherRunners.howManyMore(allotment);
      const fit = freeRunners(runners, takenNames)
        .filter((each) => !overdue.has(each) && isFit(each, nowMs))
        .sort(byIndex);
      const indexes = new Set(takenRunners.filter(isOfPool).map(indexOf));
      const missing = Math.min(minIdleRunners - indexes.size, most);
      const filled = keep(fit, 'warm', Math.min(minIdleRunners, most));
      for (const runner of filled.filter(isOfPool)) indexes.add(indexOf(runner));
      // While all runners of a group fail, one runner at a time is tried. A job has precedence over the pool.
      if (minIdleRunners > 0) for (const { by } of assigned) if (by === 'new-runner') backOff(group);
      const mayStart = (index: number): boolean =>
        !indexes.has(index) && indexBacksOffUntilMs(allotment, index, nowMs) <= nowMs && backOff(group) === undefined;
      for (let index = 1; index <= minIdleRunners && idle.length < missing; index += 1) {
        if (!mayStart(index)) continue;
        idle.push({ runner: newName(nameOf, { poolIndex: index }, facts), living: undefined, because: 'warm' });
        furtherRunners.take(allotment, 1);
      }

      // The runner's job may be among the unread ones.
      const mayBeAwaited = (runner: Runner): boolean =>
        unreadJobsOf(group) > 0 || (isYoung(runner, nowMs) && couldHaveWork(runner));
      const awaited = freeRunners(runners, takenNames).filter(
        (each) => mayBeAwaited(each) && isNotDrained(each) && each.live?.trouble?.queue === undefined,
      );
      // Gitea would give an idle runner to any job, also to one that the limit of its repository or branch holds back.
      keep(awaited, 'spare', limitsJobs(group) ? 0 : furtherRunners.howManyMore(allotment));
      return [group, idle];
    }),
  );
}

/** True when its group has a pool that is large enough for its index. */
function isOfPool({ madeFor, group }: Pick<Runner, 'madeFor' | 'group'>): boolean {
  return (poolIndexOf(madeFor) ?? Number.POSITIVE_INFINITY) <= group.minIdleRunners;
}

/** Returns the index of a pool's runner. Runners of jobs come last. */
function indexOf({ madeFor }: Runner): number {
  return poolIndexOf(madeFor) ?? Number.MAX_SAFE_INTEGER;
}

/** Registered runners first, then those of the pool, which ask Gitea most often; then the lowest index, then by name. */
function byIndex(a: Runner, b: Runner): number {
  return Number(b.registered) - Number(a.registered) || indexOf(a) - indexOf(b);
}

/** True for a runner that can wait in a pool: of the present pod template, and not too old. */
function isFit({ live, madeFor, isCurrent }: Runner, nowMs: number): boolean {
  const isOld = poolIndexOf(madeFor) !== undefined && live !== undefined && nowMs - live.createdAtMs >= POOL_LIFE_MS;
  return (!isOld || live.trouble?.isSuspended === true) && isCurrent();
}

/** The runners of an index, by name. */
function runnersOf({ runners }: Pick<GroupRunners, 'runners'>, index: number): readonly Runner[] {
  return runners.filter(({ madeFor }) => poolIndexOf(madeFor) === index).sort((a, b) => compareText(a.name, b.name));
}

/**
 * Returns when the next runner of an index may be started. After a failed Job, the back-off of jobs holds. A complete
 * Job without a known CI job has most likely run one: Gitea forgets names in its nightly clean-up, and only the newest
 * jobs are read. So it counts for `UNSURE_MS` only.
 */
function indexBacksOffUntilMs(allotment: Allotment, index: number, nowMs: number): number {
  const { group } = allotment;
  const failures = failedOf(runnersOf(allotment, index), group, nowMs);
  const failed = failures.filter(({ live }) => live?.state === 'failed');
  return failed.length > 0 ? nextTryMs(failed, group) : Math.max(...failures.map(endOf)) + UNSURE_MS;
}

/** True when the job that it was made for still waits for a runner, or its pool does. */
export function isWanted(failed: Runner, { findJob, byGroup }: Pick<Facts, 'findJob' | 'byGroup'>): boolean {
  const { madeFor, group } = failed;
  if ('poolIndex' in madeFor) return isRecordOfPool(failed, byGroup);
  const job = findJob(group.origin, madeFor.id)?.job;
  return job?.status === 'queued' && job.attempt === madeFor.attempt;
}

/** True for the Job of a failed runner that makes the back-off of its index longer: it must not be pruned. */
function isRecordOfPool(failed: Runner, byGroup: Facts['byGroup']): boolean {
  const { group } = failed;
  if (group.suspend || !isOfPool(failed)) return false;
  const ofIndex = runnersOf(byGroup.get(group) ?? { runners: [] }, indexOf(failed));
  if (ofIndex.some(({ registered }) => registered)) return false;
  const newestFirst = ofIndex.filter(({ state }) => state === 'failed').sort((a, b) => endOf(b) - endOf(a));
  return newestFirst.slice(0, MOST_RECORDS).includes(failed);
}

function isYoung({ live, group }: Runner, nowMs: number): boolean {
  return live !== undefined && nowMs - live.createdAtMs < group.spawnTimeoutMs;
}

/** A change of its group drains a pool at once. */
function isNotDrained({ madeFor, isCurrent }: Runner): boolean {
  return poolIndexOf(madeFor) === undefined || isCurrent();
}

/** Jobs in progress, by the looks that list them. */
function jobsAtWork(jobs: readonly ListedJob[]): ReadonlyMap<string, readonly Job[]> {
  const byLook = new Map<string, Job[]>();
  for (const { job, looks } of jobs) {
    if (job.status === 'in_progress') for (const look of looks) addTo(byLook, look, job);
  }
  return byLook;
}
