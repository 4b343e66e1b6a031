/** 7 DECIDE, the details of decisions that are made: what a runner's Job says besides, its class, its trouble, and sums for people. */
import type { Allotment } from './allot.ts';
import type { Allocation } from './assign.ts';
import { compareText, count, memo } from './collections.ts';
import {
  type EmittedBecause,
  type EmittedRunner,
  type GroupKey,
  type GroupSummary,
  type JobDecision,
  type RunnerDecision,
  type RunnerTrouble,
  takesSlot,
} from './decisions.ts';
import { type Group, type LiveJob, NO_POD } from './evidence.ts';
import type { Facts } from './facts.ts';
import { type IdleByGroup, isWanted } from './idle.ts';
import { WHOLE_GITEA } from './limits.ts';
import { poolIndexOf } from './names.ts';
import { canServe, type ReadyJob } from './queue.ts';
import { coversJob, endOf, patienceMs, type Runner } from './runners.ts';

/** Two digits, as they are read. Nobody lives that long. */
const MOST_TRIED = 99;

/** How long a pod may make no progress without an error before people are told, ms. */
const STILL_FOR_MS = 60_000;

/** Kubernetes creates the pod of a Job within so long, unless a quota or an admission rule refuses it, ms. */
const POD_WITHIN_MS = 30_000;

/** The decisions with their details. @param decisions of this group: those for jobs first, in the order of the jobs */
export function withDetails(
  decisions: readonly RunnerDecision[],
  { group, runners, limits }: Allotment,
  nowMs: number,
  followOne: (limits: Allotment['limits']) => number,
): readonly RunnerDecision[] {
  const liveOf = new Map(runners.map(({ name, live }) => [name, live]));
  const classes = priorityClasses(decisions, group, liveOf);
  const sized = sizeParts(group);
  const details = (decision: RunnerDecision): RunnerDecision => {
    if (!decision.emit) return decision;
    const priorityClass = classes.get(decision.runner);
    const isTold = takesSlot(decision) || decision.because === 'back-off-record';
    const live = liveOf.get(decision.runner);
    const trouble = isTold ? troubleOf(live, group, nowMs) : undefined;
    const isNew = !live && (decision.because === 'new-runner' || decision.because === 'warm');
    const triedBefore = isNew ? followOne(limits) : (live?.triedBefore ?? 0);
    const registeredAt = live ? live.registeredAt : levelOf(decision, group);
    const queue = live ? live.queue : group.queue;
    return {
      ...decision,
      ...sized,
      ...(registeredAt && { registeredAt }),
      ...(queue && { queue }),
      ...(isKueues(decision, live) && { skip: true }),
      ...(triedBefore > 0 && { triedBefore }),
      ...(priorityClass !== undefined && { priorityClass }),
      ...(trouble && { trouble }),
    };
  };
  return decisions.map(details);
}

/** True for a Job that Kueue starts and stops: an older state could hold it again. Only a pin must be written. */
function isKueues({ because, pinned }: EmittedRunner, live: LiveJob | undefined): boolean {
  return live?.queue !== undefined && !pinned && because !== 'unpinning';
}

/** Returns the level at which `serve` registers a new runner, with the repository's current name. */
function levelOf({ job }: EmittedRunner, { isBound, registeredAt }: Group): string | undefined {
  return isBound ? job && `repo:${job.repository}` : registeredAt;
}

/**
 * Counts how many runners in a row were given up before a new one. For each runner that this plan gives up, one new
 * runner gets slots under one of its limits. Attempts for a CI job that no longer waits do not count for other jobs.
 */
export function followers(
  queue: readonly ReadyJob[],
  { allotments, assignments, overdue }: Allocation,
  idle: IdleByGroup,
  facts: Facts,
): (limits: Allotment['limits']) => number {
  // The runner did not come in time, reached its deadline without a CI job, or got no job from Gitea.
  const isGivenUp = (runner: Runner, live: LiveJob): boolean => {
    const { group, state } = runner;
    if (state === 'failed') return endOf(runner) - live.createdAtMs >= patienceMs(live, group.spawnTimeoutMs);
    if (state === 'never-came' || overdue.has(runner)) return true;
    return state === 'free' && queue.some((of) => coversJob(runner, of.listed.job) && !canServe(runner, of, facts));
  };
  const givenUp = [...allotments.values()].flatMap(({ group, runners, limits }) => {
    const kept = new Set([...(assignments.get(group) ?? []), ...(idle.get(group) ?? [])].map(({ runner }) => runner));
    return runners.flatMap((runner) => {
      const { live } = runner;
      if (!live || kept.has(runner.name)) return [];
      // Asked first: to see whether a free one idles in vain, the whole queue is read.
      const waits = poolIndexOf(runner.madeFor) !== undefined || isWanted(runner, facts);
      if (!waits || !isGivenUp(runner, live)) return [];
      return { limits, before: Math.min((live.triedBefore ?? 0) + 1, MOST_TRIED) };
    });
  });
  givenUp.sort((a, b) => b.before - a.before);
  return (limits) => {
    const nth = givenUp.findIndex((each) => each.limits.some((limit) => limits.includes(limit)));
    return nth < 0 ? 0 : (givenUp.splice(nth, 1)[0]?.before ?? 0);
  };
}

/** Returns the size, weight, limits and scope that the Jobs of a group carry. */
function sizeParts(group: Group): Pick<EmittedRunner, 'size' | 'weight' | 'limits' | 'scope'> {
  const { size, weight = 1, limits = [] } = group;
  const names = limits.flatMap(({ name }) => name ?? []);
  return {
    ...(size !== undefined && { size }),
    ...(weight > 1 && { weight }),
    ...(names.length > 0 && { limits: names }),
    // Other groups find its limits by the scope. The list of the scope lacks the rows of bound runners.
    ...((names.length > 0 || group.isBound) && { scope: group.covers ?? WHOLE_GITEA }),
  };
}

/**
 * The PriorityClasses by runner. A Job that exists keeps its class, because its pod template cannot be changed. The others get the lowest
 * tiers with a slot. First come runners at work (nobody sees their Jobs), then new ones in the order of their jobs.
 */
function priorityClasses(
  decisions: readonly RunnerDecision[],
  { priorityTiers }: Group,
  liveOf: ReadonlyMap<string, LiveJob | undefined>,
): ReadonlyMap<string, string | undefined> {
  const classes = new Map<string, string | undefined>();
  const tiers = priorityTiers.map(({ priorityClassName, threshold }, nth) => {
    return { priorityClassName, free: threshold - (priorityTiers[nth - 1]?.threshold ?? 0) };
  });
  /** Takes a slot of the first tier that has one and fits. Undefined: there is none, as when more runners work than the cap allows. */
  const take = (fits = (_: string) => true): string | undefined => {
    const tier = tiers.find(({ priorityClassName, free }) => free > 0 && fits(priorityClassName));
    if (tier) tier.free -= 1;
    return tier?.priorityClassName;
  };
  const unseen: EmittedRunner[] = [];
  for (const decision of decisions) {
    if (!decision.emit) continue;
    const live = liveOf.get(decision.runner);
    if (live) classes.set(decision.runner, live.priorityClass);
    // A class that no tier has, or that is full after a commit lowered it, takes no slot.
    if (live && takesSlot(decision)) take((name) => name === live.priorityClass);
    if (!live && takesSlot(decision)) unseen.push(decision);
  }
  const atWork = unseen.filter(isBusy).sort((a, b) => compareText(a.runner, b.runner));
  for (const { runner } of [...atWork, ...unseen.filter((decision) => !isBusy(decision))]) {
    classes.set(runner, take());
  }
  return classes;
}

function isBusy({ because }: EmittedRunner): boolean {
  return because === 'busy' || because === 'finishing';
}

function troubleOf(live: LiveJob | undefined, group: Group, nowMs: number): RunnerTrouble | undefined {
  if (!live?.trouble) return undefined;
  const { trouble, stillSinceMs } = live;
  const ageMs = nowMs - (stillSinceMs ?? live.createdAtMs);
  if (trouble.reason === NO_POD && ageMs < POD_WITHIN_MS) return undefined;
  if (stillSinceMs !== undefined && ageMs < STILL_FOR_MS) return undefined;
  const isLate = !trouble.isSuspended && (live.state !== 'starting' || ageMs >= group.spawnTimeoutMs);
  return { ...trouble, isLate, ...(stillSinceMs !== undefined && { stillSinceMs }) };
}

/** Sums of each RunnerGroup, all its sizes together. */
export function summarize(
  { groups, unreadJobsOf, renamedTo }: Facts,
  keyOf: (group: Group) => GroupKey,
  jobs: readonly JobDecision[],
  runners: readonly RunnerDecision[],
): readonly GroupSummary[] {
  const heldByGroup = new Map<GroupKey, number>();
  for (const each of jobs) if (each.verdict === 'held' && each.group) count(heldByGroup, each.group, 1);
  const reasonsOf = memo((_: GroupKey) => new Map<string, number>());
  for (const { emit, group, because } of runners) if (emit) count(reasonsOf(group), because, 1);
  // The group without a size comes last, so it wins.
  const byKey = new Map(groups.toReversed().map((group) => [keyOf(group), group]));
  return [...new Set(groups.map(keyOf))].map((key) => {
    const group = byKey.get(key) as Group;
    const sum = (...reasons: readonly EmittedBecause[]): number =>
      reasons.reduce((all, because) => all + (reasonsOf(key).get(because) ?? 0), 0);
    const [unreadJobs, nowCalled] = [unreadJobsOf(group), renamedTo(group)];
    return {
      group: key,
      cap: group.maxActiveRunners,
      busy: sum('busy', 'finishing', 'moved'),
      waiting: sum('own-runner', 'chain', 'free-runner', 'new-runner'),
      debugging: sum('debugging'),
      spare: sum('spare'),
      warm: sum('warm'),
      held: heldByGroup.get(key) ?? 0,
      minIdle: group.minIdleRunners,
      ...(unreadJobs > 0 && { unreadJobs }),
      ...(nowCalled && { renamedTo: nowCalled }),
    };
  });
}
