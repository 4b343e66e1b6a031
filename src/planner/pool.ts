/**
 * The warm pool (`minIdleRunners`, docs/adr/0035): idle runners for jobs to come. They are free runners for every other rule, so a ready
 * job gets one before a new one is asked for. The pool comes after runners at work and after the jobs: it gets what the cap has left.
 *
 *   1. Free runners that no job was given fill the pool, whatever they were started for.
 *   2. A slot whose runner was given to a job waits until that runner is at work.
 *   3. What is still missing is started: slots without a runner get their next name.
 *
 * Runners of an older pod template are not counted: the pool drains when its group changes.
 */
import type { Allotment } from './allot.ts';
import type { Assignment } from './assign.ts';
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import { groupBackOff } from './failing.ts';
import type { Given } from './give.ts';
import { OF_POOL, POOL_LIFE_MS, slotStay } from './names.ts';
import { backOffMs } from './patience.ts';
import { endOf, failedFor, freeRunners, isKnown, type Runner } from './runners.ts';
import { nextSlotName } from './slots.ts';

/** A runner of the pool. `living` is absent for one that is asked for. */
export interface Idle {
  readonly runner: string;
  readonly living: Runner | undefined;
}

/** How long a slot waits after a Job that is complete without a known CI job, ms. */
const UNSURE_MS = 10_000;
/** Failed Jobs that are kept as records, for each slot. The back-off is at its longest before that. */
const MOST_RECORDS = 10;

/** The idle runners in the pools of all groups that have one. */
export function fillPools(given: Given, facts: Facts): ReadonlyMap<Group, readonly Idle[]> {
  const pools = new Map<Group, readonly Idle[]>();
  const backOff = groupBackOff(facts);
  for (const [group, allotment] of given.allotments) {
    if (group.minIdleRunners === 0) continue;
    const assigned = given.assignments.get(group) ?? [];
    // While all runners of a group fail, one at a time is tried: for a job, if there is one.
    for (const { by } of assigned) if (by === 'new-runner') backOff(group);
    const mayStart = (slot: number): boolean =>
      slotBacksOffUntilMs(group, slot, facts) <= facts.nowMs && backOff(group) === undefined;
    pools.set(group, fillPool(allotment, assigned, given.overdue, { facts, mayStart }));
  }
  return pools;
}

interface Around {
  readonly facts: Facts;
  readonly mayStart: (slot: number) => boolean;
}

function fillPool(
  { group, nameOf, room, runners }: Allotment,
  assigned: readonly Assignment[],
  overdue: ReadonlySet<Runner>,
  { facts, mayStart }: Around,
): readonly Idle[] {
  const taken = new Set(assigned.map(({ runner }) => runner));
  const slots = new Set<number>();
  for (const runner of runners)
    if (taken.has(runner.name) && isOfSlot(runner, group)) slots.add(runner.madeFor.attempt);
  const left = room - assigned.length;
  const living = freeRunners(runners, taken)
    .filter((runner) => !overdue.has(runner) && !isOld(runner, facts) && runner.isCurrent())
    .sort(bySlot)
    .slice(0, Math.max(0, Math.min(group.minIdleRunners, left)));
  const wanted = Math.min(group.minIdleRunners - slots.size, left);
  for (const runner of living) if (isOfSlot(runner, group)) slots.add(runner.madeFor.attempt);
  const idle: Idle[] = living.map((runner) => ({ runner: runner.name, living: runner }));
  for (let slot = 1; slot <= group.minIdleRunners && idle.length < wanted; slot += 1) {
    if (slots.has(slot) || !mayStart(slot)) continue;
    idle.push({ runner: nextSlotName(nameOf, slot, (name) => isKnown(name, facts)), living: undefined });
  }
  return idle;
}

function isOfSlot({ madeFor }: Runner, { minIdleRunners }: Group): boolean {
  return madeFor.jobId === OF_POOL && madeFor.attempt <= minIdleRunners;
}

/** Registered runners first, then those of slots: they ask Gitea most often. Then the lowest slot. Those that are equal here stay by name. */
function bySlot(a: Runner, b: Runner): number {
  return (
    Number(b.registered) - Number(a.registered) ||
    Number(b.madeFor.jobId === OF_POOL) - Number(a.madeFor.jobId === OF_POOL) ||
    a.madeFor.attempt - b.madeFor.attempt
  );
}

function isOld({ live, madeFor }: Runner, { nowMs }: Facts): boolean {
  return madeFor.jobId === OF_POOL && live !== undefined && nowMs - live.createdAtMs >= POOL_LIFE_MS;
}

/**
 * When the next runner of a slot may be started. After a failed Job as for the jobs. A Job that is complete without a known CI job has most
 * likely had one: Gitea forgets names in its nightly clean-up, and only its newest jobs are read. So it counts for a moment only.
 */
function slotBacksOffUntilMs(group: Group, slot: number, facts: Facts): number {
  const ended = failedFor(slotStay(slot), group, facts);
  const failed = ended.filter(({ live }) => live?.state === 'failed');
  // When none has ended, this is before all times.
  const lastMs = (runners: readonly Runner[]): number => Math.max(...runners.map(endOf));
  if (failed.length === 0) return lastMs(ended) + UNSURE_MS;
  return lastMs(failed) + backOffMs(failed.length, group.spawnTimeoutMs);
}

/** True for the Job of a failed runner that makes the back-off of its slot longer: it must not be pruned. */
export function isRecordOfSlot(failed: Runner, { madeFor }: Facts): boolean {
  const { group } = failed;
  if (group.suspend || !isOfSlot(failed, group)) return false;
  const ofSlot = madeFor(group.origin, slotStay(failed.madeFor.attempt)).filter((runner) => runner.group === group);
  if (ofSlot.some(({ registered }) => registered)) return false;
  const newestFirst = ofSlot.filter(({ state }) => state === 'failed').sort((a, b) => endOf(b) - endOf(a));
  return newestFirst.slice(0, MOST_RECORDS).includes(failed);
}
