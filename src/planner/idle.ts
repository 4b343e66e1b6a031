/**
 * 6 IDLE: runners that are kept idle for jobs to come, in what room the limits have left after runners at work and jobs. They are free runners
 * for every other rule, so a ready job gets one before a new one is asked for. First the warm pool (`minIdleRunners`, docs/adr/0035):
 *
 *   1. Free runners that no job was given fill the pool, whatever they were started for.
 *   2. An index whose runner was given to a job waits until that runner is at work.
 *   3. What is still missing is started: indexes without a runner get their next name.
 *
 * Runners of an older pod template are not counted: the pool drains when its group changes.
 *
 * Then spares (docs/adr/0022): runners that no ready job needs, because runners of other groups, or of somebody else, took their jobs. While
 * CI goes on that such a runner could have taken, the next job is near. To drop it and start another one a minute later helps nobody. So it
 * is kept until it is one spawn timeout old. And while the queue is too long to be read, every such runner is kept.
 */
import type { Allotment } from './allot.ts';
import type { Assignment, Given } from './assign.ts';
import { backOffMs, groupBackOff } from './back-off.ts';
import { addTo, compareText, type Group, type Job, type ListedJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import { FurtherRunners, limitsJobs } from './limits.ts';
import { POOL_LIFE_MS, poolIndexOf, RING, type RunnerNamer } from './names.ts';
import { coversJob, endOf, failedOf, freeRunners, type GroupRunners, isKnown, type Runner } from './runners.ts';

/** The idle runners of one group. */
export interface Idle {
  readonly warm: readonly WarmRunner[];
  readonly spare: readonly Runner[];
}

/** A runner of the pool. `living` is absent for one that is asked for. */
export interface WarmRunner {
  readonly runner: string;
  readonly living: Runner | undefined;
}

/** How long an index waits after a Job that is complete without a known CI job, ms. */
const UNSURE_MS = 10_000;
/** Failed Jobs that are kept as records, for each index. The back-off is at its longest before that. */
const MOST_RECORDS = 10;

/** The idle runners of all groups. */
export function keepIdle({ allotments, assignments, overdue }: Given, facts: Facts): ReadonlyMap<Group, Idle> {
  const backOff = groupBackOff(facts);
  const further = new FurtherRunners();
  for (const [group, allotment] of allotments)
    further.take(allotment, (assignments.get(group)?.length ?? 0) - allotment.jobs.length);
  // Most plans never ask.
  let atWork: ReadonlyMap<string, readonly Job[]> | undefined;
  const couldHaveWork = (runner: Runner): boolean => {
    atWork ??= jobsAtWork(facts.jobs);
    return atWork.get(runner.group.look)?.some((job) => coversJob(runner, job)) === true;
  };
  return new Map(
    [...allotments].map(([group, allotment]) => {
      const assigned = assignments.get(group) ?? [];
      // While all runners of a group fail, one at a time is tried: for a job, if there is one.
      if (group.minIdleRunners > 0) for (const { by } of assigned) if (by === 'new-runner') backOff(group);
      const mayStart = (index: number): boolean =>
        indexBacksOffUntilMs(allotment, index, facts) <= facts.nowMs && backOff(group) === undefined;
      const warm = fillPool(allotment, assigned, overdue, { facts, mayStart, room: further.roomFor(allotment) });
      further.take(allotment, warm.length);
      const taken = new Set([...assigned, ...warm].map(({ runner }) => runner));
      // Gitea would give an idle runner to any job, also to one that the limit of its repository or branch holds back.
      const left = limitsJobs(group) ? 0 : further.roomFor(allotment);
      // Its job may be among those that were not read.
      const mayBeAwaited = (runner: Runner): boolean =>
        facts.unreadJobsOf(group) > 0 || (isYoung(runner, facts) && couldHaveWork(runner));
      const spare = freeRunners(allotment.runners, taken)
        .filter((each) => mayBeAwaited(each) && isNotDrained(each))
        .slice(0, left);
      further.take(allotment, spare.length);
      return [group, { warm, spare }];
    }),
  );
}

interface Around {
  readonly facts: Facts;
  readonly mayStart: (index: number) => boolean;
  readonly room: number;
}

function fillPool(
  { group, nameOf, runners }: Allotment,
  assigned: readonly Assignment[],
  overdue: ReadonlySet<Runner>,
  { facts, mayStart, room: left }: Around,
): readonly WarmRunner[] {
  const { minIdleRunners } = group;
  const taken = new Set(assigned.map(({ runner }) => runner));
  const indexes = new Set<number>();
  const note = (runner: Runner): void => {
    if (isOfPool(runner)) indexes.add(indexOf(runner));
  };
  runners.filter(({ name }) => taken.has(name)).forEach(note);
  const living = freeRunners(runners, taken)
    .filter((runner) => !overdue.has(runner) && !isOld(runner, facts) && runner.isCurrent())
    .sort(byIndex)
    .slice(0, Math.max(0, Math.min(minIdleRunners, left)));
  const wanted = Math.min(minIdleRunners - indexes.size, left);
  living.forEach(note);
  const warm: WarmRunner[] = living.map((runner) => ({ runner: runner.name, living: runner }));
  for (let index = 1; index <= minIdleRunners && warm.length < wanted; index += 1) {
    if (indexes.has(index) || !mayStart(index)) continue;
    warm.push({ runner: nextName(nameOf, index, (name) => isKnown(name, facts)), living: undefined });
  }
  return warm;
}

/** True when its group has a pool that is large enough for its index. */
function isOfPool({ madeFor, group }: Pick<Runner, 'madeFor' | 'group'>): boolean {
  return (poolIndexOf(madeFor) ?? Number.POSITIVE_INFINITY) <= group.minIdleRunners;
}

/** Those of jobs come last. */
function indexOf({ madeFor }: Runner): number {
  return poolIndexOf(madeFor) ?? Number.MAX_SAFE_INTEGER;
}

/** Registered runners first, then those of the pool: they ask Gitea most often. Then the lowest index. Those that are equal here stay by name. */
function byIndex(a: Runner, b: Runner): number {
  return Number(b.registered) - Number(a.registered) || indexOf(a) - indexOf(b);
}

function isOld({ live, madeFor }: Runner, { nowMs }: Facts): boolean {
  return poolIndexOf(madeFor) !== undefined && live !== undefined && nowMs - live.createdAtMs >= POOL_LIFE_MS;
}

/**
 * The next name of an index. An index goes round a ring of names, and its next name stands behind the known ones. They stand in a row, so
 * they end where the most free names follow. So no runner gets the name of a Job that exists, or of a runner that is used up.
 *
 * "The lowest name that is free" would not do. When Gitea forgets the oldest runner of an index, its name is free again. Then the runner that
 * is just starting unseen would be exchanged for it.
 */
export function nextName(nameOf: RunnerNamer, poolIndex: number, isTaken: (name: string) => boolean): string {
  const madeFor = { poolIndex };
  const ring = Array.from({ length: RING }, (_, ordinal) => ordinal);
  const known = ring.filter((ordinal) => isTaken(nameOf(madeFor, ordinal)));
  const [first = 0] = known;
  const toNext = known.map((ordinal, nth) => (known[nth + 1] ?? RING + first) - ordinal);
  const last = known[toNext.indexOf(Math.max(...toNext))] ?? -1;
  if (known.length < RING) return nameOf(madeFor, (last + 1) % RING);
  for (let ordinal = RING; ; ordinal += 1) {
    const name = nameOf(madeFor, ordinal);
    if (!isTaken(name)) return name;
  }
}

/** The runners of an index, by name. */
function runnersOf({ runners }: Pick<GroupRunners, 'runners'>, index: number): readonly Runner[] {
  return runners.filter(({ madeFor }) => poolIndexOf(madeFor) === index).sort((a, b) => compareText(a.name, b.name));
}

/**
 * When the next runner of an index may be started. After a failed Job as for the jobs. A Job that is complete without a known CI job has most
 * likely had one: Gitea forgets names in its nightly clean-up, and only its newest jobs are read. So it counts for a moment only.
 */
function indexBacksOffUntilMs(allotment: Allotment, index: number, { nowMs }: Facts): number {
  const { group } = allotment;
  const ended = failedOf(runnersOf(allotment, index), group, nowMs);
  const failed = ended.filter(({ live }) => live?.state === 'failed');
  // When none has ended, this is before all times.
  const lastMs = (runners: readonly Runner[]): number => Math.max(...runners.map(endOf));
  if (failed.length === 0) return lastMs(ended) + UNSURE_MS;
  return lastMs(failed) + backOffMs(failed.length, group.spawnTimeoutMs);
}

/** True for the Job of a failed runner that makes the back-off of its index longer: it must not be pruned. */
export function isRecordOfPool(failed: Runner, { byGroup }: Facts): boolean {
  const { group } = failed;
  if (group.suspend || !isOfPool(failed)) return false;
  const ofIndex = runnersOf(byGroup.get(group) ?? { runners: [] }, indexOf(failed));
  if (ofIndex.some(({ registered }) => registered)) return false;
  const newestFirst = ofIndex.filter(({ state }) => state === 'failed').sort((a, b) => endOf(b) - endOf(a));
  return newestFirst.slice(0, MOST_RECORDS).includes(failed);
}

function isYoung({ live, group }: Runner, { nowMs }: Facts): boolean {
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
