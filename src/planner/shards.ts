/**
 * SHARDS: several Applications print one folder, each its part of the same plan (docs/adr/0109). All see the same groups, looks and Jobs, so
 * caps, limits, order and pools are those of one Application. Only here is decided whose a runner is:
 *
 *   - a Job that lives is of the shard that its label names, for ever. One without a label is of shard 0. When there are fewer shards than
 *     that, it is of the shard that its name falls to;
 *   - a new one is of the shard that its name falls to. The name follows from job, attempt and ordinal, so the next try may be another shard's.
 *
 * Shards sync at different times, and one may be broken for hours. So:
 *
 *   - a job that no Job was seen for gets the next ordinal after each spawn timeout (`turnsLost` in assign.ts);
 *   - a runner that goes keeps its slots until its Job is gone: the one after it may be another shard's (`waitingForSlots`);
 *   - what another Application has left behind is printed so that it is applied once: then it can be pruned (`inShards`).
 */
import { hash } from 'node:crypto';
import type { Allotment } from './allot.ts';
import type { Allocation } from './assign.ts';
import { count } from './collections.ts';
import type { EmittedRunner, Plan, RunnerDecision } from './decisions.ts';
import { type Evidence, isOver, type LiveJob, liveJobsOf, siblingOf } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { IdleByGroup } from './idle.ts';
import { type OpenLimit, weightOf } from './limits.ts';

/** 2^32 divided by the golden ratio: neighbouring numbers become distant ones. */
const GOLDEN_RATIO = 0x9e3779b9;

/** Returns the shard that a name falls to. With another number of shards few names fall to another one (rendezvous hashing). */
export function shardOfName(name: string, shards: number): number {
  const seed = Number.parseInt(hash('sha256', name).slice(0, 8), 16);
  let [best, bestScore] = [0, -1];
  for (let shard = 0; shard < shards; shard += 1) {
    const score = mixed(seed ^ Math.imul(shard + 1, GOLDEN_RATIO));
    if (score > bestScore) [best, bestScore] = [shard, score];
  }
  return best;
}

/** 32 bits in which each depends on all of those before (the last step of MurmurHash3). */
function mixed(bits: number): number {
  const first = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return (second ^ (second >>> 16)) >>> 0;
}

/** The shard that prints a runner. */
function shardOf(name: string, live: LiveJob | undefined, shards: number): number {
  const home = live && (live.shard ?? 0);
  return home !== undefined && home < shards ? home : shardOfName(name, shards);
}

/** New runners that wait for slots: those that are left when every Job that goes still has its own. */
export function waitingForSlots(
  { allotments, assignments }: Allocation,
  idle: IdleByGroup,
  facts: Facts,
): ReadonlySet<string> {
  const slotsTaken = new Map<Readonly<OpenLimit>, number>();
  const take = (limits: readonly Readonly<OpenLimit>[], slots: number): void => {
    for (const limit of limits) count(slotsTaken, limit, slots);
  };
  const started: (Pick<Allotment, 'limits'> & { readonly name: string; readonly weight: number })[] = [];
  for (const [group, { limits, jobs, runners }] of allotments) {
    const weight = weightOf(group);
    const assigned = assignments.get(group) ?? [];
    const kept = [...assigned, ...(idle.get(group) ?? [])].map(({ runner }) => runner);
    take(limits, (kept.length - jobs.length) * weight);
    for (const name of kept) if (!facts.findRunner(name)?.live) started.push({ name, weight, limits });
    const stays = new Set(kept);
    const goes = runners.filter(
      ({ name, state, live }) => GOES.has(state) && !stays.has(name) && live && !isOver(live.state),
    );
    for (const { live } of goes) take(limits, Math.max(weight, live?.weight ?? 1));
  }
  const waiting = new Set<string>();
  // The runner that came last waits first.
  for (const { name, weight, limits } of started.toReversed()) {
    if (limits.every((limit) => limit.left >= (slotsTaken.get(limit) ?? 0))) continue;
    waiting.add(name);
    take(limits, -weight);
  }
  return waiting;
}

/** Reasons of runners that have left the plan. They take no slot, and may take a CI job until their Job is deleted. */
const GOES: ReadonlySet<string> = new Set(['free', 'never-came', 'replaced', 'disabled']);

/**
 * Returns the plan with the shard of each runner. A Job that no sync of that shard's Application has applied does not
 * belong to it, so Argo CD does not prune it. Such a Job is printed to be applied: with the reason that keeps it, or
 * once more before it goes.
 */
export function inShards(plan: Plan, shards: number, evidence: Evidence, waiting: ReadonlySet<string>): Plan {
  const { application } = evidence;
  const liveOf = new Map(liveJobsOf(evidence).map((live) => [`${live.namespace}/${live.name}`, live]));
  const runners = plan.runners.map((decision): RunnerDecision => {
    const { group, runner } = decision;
    const live = liveOf.get(`${group.namespace}/${runner}`);
    const shard = shardOf(runner, live, shards);
    if (waiting.has(runner)) return { ...(decision as EmittedRunner), shard, skip: true };
    const isLeft =
      live?.application !== undefined &&
      application !== undefined &&
      live.application !== siblingOf(application, shard) &&
      !isOver(live.state);
    if (!decision.emit)
      return isLeft ? { emit: true, runner, group, because: 'unpinning', pinned: false, shard } : decision;
    const { skip, ...applied } = decision;
    // Jobs that Kueue may start, and Jobs of groups that cannot be planned, are never applied.
    const isApplied = isLeft && live.queue === undefined && decision.because !== 'group-in-trouble';
    return isApplied ? { ...applied, shard } : { ...decision, shard };
  });
  return Object.freeze({ ...plan, runners: Object.freeze(runners) });
}
