/** 7 DECIDE: one decision for every job and every runner, with one reason each. */
import type { Allotment } from './allot.ts';
import type { Assignment, Given } from './assign.ts';
import type { BackOff } from './back-off.ts';
import {
  type EmittedRunner,
  type GroupKey,
  type GroupSummary,
  type HeldUntil,
  type HoldingLimit,
  type JobDecision,
  type Plan,
  type RunnerDecision,
  type RunnerTrouble,
  takesPlace,
} from './decisions.ts';
import { compareText, count, type Group, type ListedJob, type LiveJob, memo, NO_POD } from './evidence.ts';
import type { Facts } from './facts.ts';
import { type IdleRunner, isRecordOfPool } from './idle.ts';
import { isOutlived } from './judge.ts';
import { type Room, WHOLE_GITEA } from './limits.ts';
import { poolIndexOf } from './names.ts';
import { firstWorking } from './owners.ts';
import { canServe, nextRepositories, type ReadyJob } from './queue.ts';
import { coversJob, endOf, isAtWork, patienceMs, type Runner } from './runners.ts';

/** What the decisions about jobs are made of. */
interface Answers extends Pick<Given, 'elsewhere'>, Facts {
  readonly served: ReadonlyMap<ListedJob, Assignment>;
  readonly backingOff: ReadonlyMap<ListedJob, BackOff>;
  /** The repository whose job gets the next place of a group with fairness `per-repository`. */
  readonly nextIn: ReadonlyMap<Group, string>;
  /** Places among the jobs that a cap holds back, from 1. */
  readonly positions: ReadonlyMap<ListedJob, number>;
  /** Limits that hold jobs back, without the caps. */
  readonly heldAt: ReadonlyMap<ListedJob, HoldingLimit>;
  readonly keyOf: (group: Group) => GroupKey;
}

type IdleByGroup = ReadonlyMap<Group, readonly IdleRunner[]>;

export function decide(facts: Facts, queue: readonly ReadyJob[], given: Given, idle: IdleByGroup): Plan {
  const { allotments, assignments, elsewhere, overdue, waitsAt } = given;
  // The same object for the same RunnerGroup each time: thousands of decisions share it, and are counted by it.
  const keys = new Map<string, GroupKey>();
  const keyOf = memo(({ namespace, name }: Group): GroupKey => {
    const key = keys.get(`${namespace}/${name}`) ?? { namespace, name };
    keys.set(`${namespace}/${name}`, key);
    return key;
  });
  const served = new Map([...assignments.values()].flat().map((each) => [each.listed, each]));
  const backingOff = new Map(
    [...allotments.values()].flatMap((each) => [...each.backingOff].map(([ready, backOff]) => [ready.listed, backOff])),
  );
  const heldAt = new Map(
    [...waitsAt].flatMap(([{ listed }, room]) => {
      const limit = holdingLimit(room);
      return limit ? [[listed, limit] as const] : [];
    }),
  );
  const heldBack = queue.filter(
    ({ listed }) => !served.has(listed) && !backingOff.has(listed) && !elsewhere.has(listed) && !heldAt.has(listed),
  );
  const nextIn = nextRepositories(heldBack, facts);
  const lines = new Map<GroupKey, number>();
  const positions = new Map<ListedJob, number>();
  for (const { listed } of heldBack) {
    const working = firstWorking(facts.ownersOf(listed));
    if (!working) continue;
    count(lines, keyOf(working), 1);
    positions.set(listed, lines.get(keyOf(working)) ?? 0);
  }
  const answers = { ...facts, elsewhere, served, backingOff, nextIn, positions, heldAt, keyOf };
  const jobs = facts.jobs.map((listed) => decideJob(listed, answers));
  const heldBy = countHeld(jobs);
  const followOne = followers(queue, given, idle, facts);
  const groups = new Map<GroupKey, GroupSummary>();
  const runners: RunnerDecision[] = [];
  for (const [group, allotment] of allotments) {
    const key = keyOf(group);
    const assigned = assignments.get(group) ?? [];
    const kept = idle.get(group) ?? [];
    const spare = kept.filter(({ because }) => because === 'spare').length;
    const [unreadJobs, renamedTo] = [facts.unreadJobsOf(group), facts.renamedTo(group)];
    const before = groups.get(key);
    groups.set(key, {
      group: key,
      cap: group.maxActiveRunners,
      busy: allotment.runners.filter(isAtWork).length + (before?.busy ?? 0),
      waiting: assigned.length + (before?.waiting ?? 0),
      debugging: allotment.runners.filter(({ state }) => state === 'debugging').length + (before?.debugging ?? 0),
      spare: spare + (before?.spare ?? 0),
      warm: kept.length - spare + (before?.warm ?? 0),
      held: heldBy.get(key) ?? 0,
      minIdle: before?.minIdle ?? group.minIdleRunners,
      ...(unreadJobs > 0 && { unreadJobs }),
      ...(renamedTo && { renamedTo }),
    });
    const decisions = decideRunners(key, allotment, { ...facts, overdue, assigned, kept });
    runners.push(...withDetails(decisions, allotment, facts.nowMs, followOne));
  }
  return Object.freeze({
    groups: Object.freeze([...groups.values()]),
    jobs: Object.freeze(jobs),
    runners: Object.freeze(
      facts.groups.some(({ size }) => size !== undefined) ? runners.sort(byGroupAndName) : runners,
    ),
  });
}

export function byGroupAndName(a: RunnerDecision, b: RunnerDecision): number {
  return (
    compareText(a.group.namespace, b.group.namespace) ||
    compareText(a.group.name, b.group.name) ||
    compareText(a.runner, b.runner)
  );
}

function holdingLimit({ limit, of, others }: Room): HoldingLimit | undefined {
  if (!limit) return undefined;
  const { name, most, branches } = limit;
  return {
    ...(name !== undefined && { name }),
    most,
    ...(of !== undefined && { of }),
    ...(branches && { branches }),
    ...(others.length > 0 && { others }),
  };
}

/** The decision about one job. */
function decideJob(listed: ListedJob, answers: Answers): JobDecision {
  const { job, origin } = listed;
  switch (job.status) {
    case 'completed':
      return { job, origin, verdict: 'done' };
    case 'in_progress': {
      const runner = job.runner === undefined ? undefined : answers.findRunner(job.runner);
      const group = runner?.state === 'foreign' ? undefined : runner?.group;
      if (group?.origin !== origin) return { job, origin, verdict: 'running' };
      return { job, origin, verdict: 'running', group: answers.keyOf(group) };
    }
    case 'blocked':
      return { job, origin, verdict: 'held', because: 'blocked' };
    case 'queued': {
      const served = answers.served.get(listed);
      if (!served) return holdJob(listed, answers);
      const group = answers.keyOf(served.group);
      return { job, origin, verdict: 'served', by: served.by, group, runner: served.runner };
    }
    default:
      return job.status satisfies never;
  }
}

/** Without spreads of objects: thousands of jobs may be held. */
function holdJob(listed: ListedJob, answers: Answers): JobDecision {
  const { backingOff, elsewhere, heldAt, ownersOf, nextIn, positions, keyOf } = answers;
  const { job, origin } = listed;
  const verdict = 'held';
  const runner = elsewhere.get(listed);
  if (runner !== undefined) return { job, origin, verdict, because: 'served-elsewhere', runner };
  const owners = ownersOf(listed);
  if (!owners.covered) {
    const { covered: _, ...reason } = owners;
    return { job, origin, verdict, ...reason };
  }
  const backOff = backingOff.get(listed);
  if (backOff) {
    const { group, untilMs } = backOff;
    return { job, origin, verdict, because: 'backing-off', group: keyOf(group), untilMs };
  }
  const working = firstWorking(owners);
  if (!working) return { job, origin, verdict, because: 'suspended', group: keyOf(owners.groups[0]) };
  const group = keyOf(working);
  const limit = heldAt.get(listed);
  if (limit) return { job, origin, verdict, because: 'limit', group, limit };
  const next = nextIn.get(working);
  const position = positions.get(listed) ?? 0;
  if (next === undefined) return { job, origin, verdict, because: 'cap', group, position };
  return { job, origin, verdict, because: 'cap', group, position, next };
}

/** How many jobs wait for each group. */
function countHeld(jobs: readonly JobDecision[]): ReadonlyMap<GroupKey, number> {
  const heldBy = new Map<GroupKey, number>();
  for (const decision of jobs) {
    if (decision.verdict !== 'held' || !decision.group) continue;
    count(heldBy, decision.group, 1);
  }
  return heldBy;
}

/** The facts, and the runners that cannot start. */
type RunnerFacts = Facts & Pick<Given, 'overdue'>;

/** What the runners of one group are wanted for. */
interface Wanted extends RunnerFacts {
  readonly assigned: readonly Assignment[];
  readonly kept: readonly IdleRunner[];
}

/** The decisions about all runners of one group: first those that jobs were given, in the order of their jobs. */
function decideRunners(group: GroupKey, allotment: Allotment, wanted: Wanted): readonly RunnerDecision[] {
  const { assigned, kept } = wanted;
  const decisions = new Map<string, RunnerDecision>();
  for (const { listed, runner, by } of assigned) {
    decisions.set(runner, { emit: true, runner, group, because: by, pinned: false, job: listed.job });
  }
  for (const { runner, living, because } of kept) {
    // A runner of a pool is printed as any new one. The others are let be.
    const isLetBe = living && (because === 'spare' || poolIndexOf(living.madeFor) === undefined);
    const skip = isLetBe && !living.live?.pinned;
    decisions.set(runner, { emit: true, runner, group, because, pinned: false, ...(skip && SKIP) });
  }
  for (const runner of allotment.runners) {
    if (!decisions.has(runner.name)) decisions.set(runner.name, decideUnassigned(runner, group, wanted));
  }
  return [...decisions.values()];
}

/** The decision about a runner that no ready job was given. */
function decideUnassigned(of: Runner, group: GroupKey, facts: RunnerFacts): RunnerDecision {
  const { name: runner, state, job, live } = of;
  switch (state) {
    case 'busy':
      return { emit: true, runner, group, because: 'busy', pinned: true, ...skipAtWork(live), ...(job && { job }) };
    case 'finishing':
      return { emit: true, runner, group, because: 'finishing', pinned: true, ...skipAtWork(live) };
    case 'debugging':
      return debuggingDecision(of, group);
    case 'moved':
      return { emit: true, runner, group, because: 'moved', pinned: true, skip: true };
    case 'free':
    case 'never-came':
    case 'replaced':
    case 'disabled':
      // Pinned when Gitea believed it busy: a claim that was lost, or a Job that was re-created in place of a lost one.
      if (live?.pinned) return { emit: true, runner, group, because: 'unpinning', pinned: false };
      if (state !== 'free') return { emit: false, runner, group, because: state };
      if (facts.overdue.has(of)) return { emit: false, runner, group, because: 'stuck' };
      if (of.group.suspend) return { emit: false, runner, group, because: 'suspended' };
      return { emit: false, runner, group, because: poolIndexOf(of.madeFor) === undefined ? 'surplus' : 'drained' };
    case 'foreign':
      return { emit: true, runner, group, because: 'foreign', pinned: true, ...SKIP, ...(job && { job }) };
    case 'lost':
      // The proof that it has ended must not be pruned: without it Gitea's word alone would count, and the place be taken again.
      return { emit: true, runner, group, because: 'lost', pinned: !live, skip: true, ...outlived(of, facts) };
    case 'failed':
      // The back-off counts the failures of a job: their records must not be pruned while it waits.
      if (isWanted(of, facts)) return { emit: true, runner, group, because: 'back-off-record', pinned: false, ...SKIP };
      return { emit: false, runner, group, because: state };
    case 'used-up':
      return usedUpDecision(of, group);
    case 'deleting':
    case 'gone':
    case 'offline':
      return { emit: false, runner, group, because: state };
    default:
      return state satisfies never;
  }
}

function outlived(of: Runner, { nowMs }: Facts): { readonly isOutlived?: true } {
  return isOutlived(of, of.job, nowMs) ? { isOutlived: true } : {};
}

/** True when the job that it was made for still waits for a runner, or its pool does. */
function isWanted(failed: Runner, facts: Facts): boolean {
  const { madeFor, group } = failed;
  if ('poolIndex' in madeFor) return isRecordOfPool(failed, facts);
  const job = facts.findJob(group.origin, madeFor.id)?.job;
  return job?.status === 'queued' && job.attempt === madeFor.attempt;
}

/** Argo CD keeps the Job as it is, and does not create it. */
const SKIP = { skip: true } as const;

/**
 * The Job of a runner at work must never be created again: a second runner would take its name. So Argo CD skips it once the pin is on the
 * live object. A sync of old manifests then creates nothing either.
 */
function skipAtWork(live: LiveJob | undefined): { readonly skip?: true } {
  const isToBePinned = live !== undefined && live.state !== 'deleting' && live.pinned !== true;
  return isToBePinned ? {} : SKIP;
}

/**
 * A runner that is held for debugging. Like that of a runner at work, its Job must never be created again. So Argo CD skips it once the live object says
 * what is printed.
 */
function debuggingDecision(runner: Runner, group: GroupKey): RunnerDecision {
  const { name, job, live } = runner;
  const keep = heldUntil(runner);
  const isPrinted = live?.pinned === true && live.endedAtMs === keep.endedAtMs && live.keepUntilMs === keep.untilMs;
  return {
    emit: true,
    runner: name,
    group,
    because: 'debugging',
    pinned: true,
    ...(isPrinted && { skip: true }),
    ...(job && { job }),
    keep,
  };
}

/**
 * A runner whose CI job is over. If its pod waits behind a pin, which no sync prunes, the pin goes first. The annotations stay until the Job
 * goes.
 */
function usedUpDecision(runner: Runner, group: GroupKey): RunnerDecision {
  const { name, live, hold } = runner;
  if (!live?.pinned || !hold?.isOver) return { emit: false, runner: name, group, because: 'used-up' };
  return { emit: true, runner: name, group, because: 'unpinning', pinned: false, keep: heldUntil(runner) };
}

function heldUntil({ name, hold }: Runner): HeldUntil {
  if (!hold) throw new Error(`runner ${name} stays without a time`);
  const { isOver: _, ...until } = hold;
  return until;
}

/** Two digits, as they are read. Nobody lives that long. */
const MOST_TRIED = 99;

/** A pod that Kubernetes finds no fault with, and that gets no further, is told after so long, ms. */
const STILL_FOR_MS = 60_000;

/** Kubernetes creates the pod of a Job within so long, unless a quota or an admission rule refuses it, ms. */
const POD_WITHIN_MS = 30_000;

/**
 * The decisions with their details, by name.
 * @param decisions about runners of this group; those that jobs were given come first, in the order of their jobs
 */
function withDetails(
  decisions: readonly RunnerDecision[],
  { group, runners, rooms }: Allotment,
  nowMs: number,
  followOne: (rooms: Allotment['rooms']) => number,
): readonly RunnerDecision[] {
  const liveOf = new Map(runners.map(({ name, live }) => [name, live]));
  const classes = priorityClasses(decisions, group, liveOf);
  const sized = sizeParts(group);
  const details = (decision: RunnerDecision): RunnerDecision => {
    if (!decision.emit) return decision;
    const priorityClass = classes.get(decision.runner);
    const isTold = takesPlace(decision) || decision.because === 'back-off-record';
    const live = liveOf.get(decision.runner);
    const trouble = isTold ? troubleOf(live, group, nowMs) : undefined;
    const isNew = !live && (decision.because === 'new-runner' || decision.because === 'warm');
    const triedBefore = isNew ? followOne(rooms) : (live?.triedBefore ?? 0);
    const registeredAt = live ? live.registeredAt : levelOf(decision, group);
    return {
      ...decision,
      ...sized,
      ...(registeredAt && { registeredAt }),
      ...(triedBefore > 0 && { triedBefore }),
      ...(priorityClass !== undefined && { priorityClass }),
      ...(trouble && { trouble }),
    };
  };
  return decisions.map(details).sort((a, b) => compareText(a.runner, b.runner));
}

/** Where `serve` registers a new runner. Gitea's name of a repository is that of now. */
function levelOf({ job }: EmittedRunner, { isBound, registeredAt }: Group): string | undefined {
  return isBound ? job && `repo:${job.repository}` : registeredAt;
}

/**
 * Counts how many runners in a row were given up before a new one. Each runner that this plan gives up is followed by one that gets places
 * under a limit of it. What was tried for a CI job that waits no longer says nothing of others.
 */
function followers(
  queue: readonly ReadyJob[],
  { allotments, assignments, overdue }: Given,
  idle: IdleByGroup,
  facts: Facts,
): (rooms: Allotment['rooms']) => number {
  // It did not come in time, ended at its deadline with nothing done, or Gitea has given it no job.
  const isGivenUp = (runner: Runner, live: LiveJob): boolean => {
    const { group, state } = runner;
    if (state === 'failed') return endOf(runner) - live.createdAtMs >= patienceMs(live, group.spawnTimeoutMs);
    if (state === 'never-came' || overdue.has(runner)) return true;
    return state === 'free' && queue.some((of) => coversJob(runner, of.listed.job) && !canServe(runner, of, facts));
  };
  const givenUp = [...allotments.values()].flatMap(({ group, runners, rooms }) => {
    const kept = new Set([...(assignments.get(group) ?? []), ...(idle.get(group) ?? [])].map(({ runner }) => runner));
    return runners.flatMap((runner) => {
      const { live } = runner;
      if (!live || kept.has(runner.name)) return [];
      // Asked first: to see whether a free one idles in vain, the whole queue is read.
      const waits = poolIndexOf(runner.madeFor) !== undefined || isWanted(runner, facts);
      if (!waits || !isGivenUp(runner, live)) return [];
      return { rooms, before: Math.min((live.triedBefore ?? 0) + 1, MOST_TRIED) };
    });
  });
  givenUp.sort((a, b) => b.before - a.before);
  return (rooms) => {
    const nth = givenUp.findIndex((each) => each.rooms.some((room) => rooms.includes(room)));
    return nth < 0 ? 0 : (givenUp.splice(nth, 1)[0]?.before ?? 0);
  };
}

/** What the Jobs of a group say of its size and limits. */
function sizeParts(group: Group): Pick<EmittedRunner, 'size' | 'weight' | 'limits' | 'scope'> {
  const { size, weight = 1, limits = [] } = group;
  const names = limits.flatMap(({ name }) => name ?? []);
  return {
    ...(size !== undefined && { size }),
    ...(weight > 1 && { weight }),
    ...(names.length > 0 && { limits: names }),
    // Others share its limits by it, and its list does not have the rows of bound runners.
    ...((names.length > 0 || group.isBound) && { scope: group.covers ?? WHOLE_GITEA }),
  };
}

/**
 * The PriorityClasses by runner. A Job that exists keeps its class, because its pod template cannot be changed. The others get the lowest
 * tiers with a place. First come runners at work (nobody sees their Jobs), then new ones in the order of their jobs.
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
  /** Takes a place of the first tier that has one and fits. Undefined: there is none, as when more runners work than the cap allows. */
  const take = (fits: (name: string) => boolean): string | undefined => {
    const tier = tiers.find(({ priorityClassName, free }) => free > 0 && fits(priorityClassName));
    if (tier) tier.free -= 1;
    return tier?.priorityClassName;
  };
  const unseen: EmittedRunner[] = [];
  for (const decision of decisions) {
    if (!decision.emit) continue;
    const live = liveOf.get(decision.runner);
    if (live) classes.set(decision.runner, live.priorityClass);
    // A class that no tier has, or that is full after a commit lowered it, takes no place.
    if (live && takesPlace(decision)) take((name) => name === live.priorityClass);
    if (!live && takesPlace(decision)) unseen.push(decision);
  }
  const atWork = unseen.filter(isBusy).sort((a, b) => compareText(a.runner, b.runner));
  for (const { runner } of [...atWork, ...unseen.filter((decision) => !isBusy(decision))]) {
    classes.set(
      runner,
      take(() => true),
    );
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
