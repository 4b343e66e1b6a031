/** 7 DECIDE: one decision for every job and every runner, with one reason each. Their details: details.ts. */
import type { Allocation } from './assign.ts';
import { compareText, count, memo } from './collections.ts';
import type {
  DroppedBecause,
  EmittedBecause,
  EmittedRunner,
  GroupKey,
  HeldUntil,
  HoldingLimit,
  JobDecision,
  Plan,
  RunnerDecision,
} from './decisions.ts';
import { followers, summarize, withDetails } from './details.ts';
import { type Group, hasEnded, type ListedJob, type LiveJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import { type IdleByGroup, isWanted } from './idle.ts';
import { isOutlived } from './judge.ts';
import type { OpenLimit } from './limits.ts';
import { poolIndexOf } from './names.ts';
import { firstWorking } from './owners.ts';
import type { ReadyJob } from './queue.ts';
import type { Runner } from './runners.ts';

type KeyOf = (group: Group) => GroupKey;

export function decide(facts: Facts, queue: readonly ReadyJob[], allocation: Allocation, idle: IdleByGroup): Plan {
  const { allotments, assignments, overdue } = allocation;
  // One object for each RunnerGroup: thousands of decisions share it, and counts use it as their key.
  const keys = memo((text: string): GroupKey => {
    const [namespace = '', name = ''] = text.split('/');
    return { namespace, name };
  });
  const keyOf = memo(({ namespace, name }: Group) => keys(`${namespace}/${name}`));
  const answers = answerReady(queue, allocation, facts, keyOf);
  const jobs = facts.jobs.map((listed) => answers.get(listed) ?? decideOther(listed, facts, keyOf));
  const followOne = followers(queue, allocation, idle, facts);
  const runners = [...allotments].flatMap(([group, allotment]) => {
    const key = keyOf(group);
    const assigned = (assignments.get(group) ?? []).map(({ listed: { job }, runner, by }) => {
      return { emit: true, runner, group: key, because: by, pinned: false, job } as const;
    });
    const kept = (idle.get(group) ?? []).map(({ runner, living, because }): EmittedRunner => {
      // A living idle runner stays untouched, unless it was made for the pool and fills it.
      const isLetBe = living && (because === 'spare' || poolIndexOf(living.madeFor) === undefined);
      const skip = isLetBe && !living.live?.pinned && SKIP;
      return { emit: true, runner, group: key, because, pinned: false, ...skip };
    });
    const wantedNames = new Set([...assigned, ...kept].map(({ runner }) => runner));
    const unwantedRunners = allotment.runners.filter(({ name }) => !wantedNames.has(name));
    const unwanted = unwantedRunners.map((of) => decideUnwanted(of, key, overdue, facts));
    return withDetails([...assigned, ...kept, ...unwanted], allotment, facts.nowMs, followOne);
  });
  return Object.freeze({
    groups: Object.freeze(summarize(facts, keyOf, jobs, runners)),
    jobs: Object.freeze(jobs),
    runners: Object.freeze(runners.sort(byGroupAndName)),
  });
}

export function byGroupAndName(a: RunnerDecision, b: RunnerDecision): number {
  return (
    compareText(a.group.namespace, b.group.namespace) ||
    compareText(a.group.name, b.group.name) ||
    compareText(a.runner, b.runner)
  );
}

/** The decisions about ready jobs. Without spreads of objects: thousands of jobs may be held. */
function answerReady(
  queue: readonly ReadyJob[],
  { allotments, assignments, elsewhere, waitsAt }: Allocation,
  { ownersOf }: Pick<Facts, 'ownersOf'>,
  keyOf: KeyOf,
): ReadonlyMap<ListedJob, JobDecision> {
  const answers = new Map<ListedJob, JobDecision>();
  for (const { listed, group: assignedGroup, runner, by } of [...assignments.values()].flat()) {
    const { job, origin } = listed;
    answers.set(listed, { job, origin, verdict: 'served', by, group: keyOf(assignedGroup), runner });
  }
  const backingOff = new Map([...allotments.values()].flatMap((each) => [...each.backingOff]));
  const lines = new Map<GroupKey, number>();
  const next = new Map<Group, string>();
  const hold = (ready: ReadyJob): JobDecision => {
    const { listed } = ready;
    const { job, origin } = listed;
    const verdict = 'held';
    const runner = elsewhere.get(listed);
    if (runner !== undefined) return { job, origin, verdict, because: 'served-elsewhere', runner };
    const owners = ownersOf(listed);
    if (!owners.covered) {
      const { covered: _, ...reason } = owners;
      return { job, origin, verdict, ...reason };
    }
    const backOff = backingOff.get(ready);
    if (backOff) {
      const { because, group, untilMs } = backOff;
      return { job, origin, verdict, because, group: keyOf(group), untilMs };
    }
    const working = firstWorking(owners);
    if (!working) return { job, origin, verdict, because: 'suspended', group: keyOf(owners.groups[0]) };
    const group = keyOf(working);
    const limit = holdingLimit(waitsAt.get(ready));
    if (limit) return { job, origin, verdict, because: 'limit', group, limit };
    count(lines, group, 1);
    const position = lines.get(group) ?? 0;
    if (working.fairness !== 'per-repository') return { job, origin, verdict, because: 'cap', group, position };
    const first = next.get(working) ?? job.repository;
    next.set(working, first);
    return { job, origin, verdict, because: 'cap', group, position, next: first };
  };
  for (const ready of queue) if (!answers.has(ready.listed)) answers.set(ready.listed, hold(ready));
  return answers;
}

function holdingLimit(open: OpenLimit | undefined): HoldingLimit | undefined {
  if (!open?.limit) return undefined;
  const { of, others } = open;
  const { name, most, branches } = open.limit;
  return {
    ...(name !== undefined && { name }),
    most,
    ...(of !== undefined && { of }),
    ...(branches && { branches }),
    ...(others.length > 0 && { others }),
  };
}

/** The decision about a job that is not ready. */
function decideOther({ job, origin }: ListedJob, { findRunner }: Pick<Facts, 'findRunner'>, keyOf: KeyOf): JobDecision {
  if (job.status === 'completed') return { job, origin, verdict: 'done' };
  if (job.status !== 'in_progress') return { job, origin, verdict: 'held', because: 'blocked' };
  const runner = job.runner === undefined ? undefined : findRunner(job.runner);
  const group = runner?.state === 'foreign' ? undefined : runner?.group;
  if (group?.origin !== origin) return { job, origin, verdict: 'running' };
  return { job, origin, verdict: 'running', group: keyOf(group) };
}

/** The decision about a runner that is for no ready job and for no pool. */
function decideUnwanted(
  unwanted: Runner,
  group: GroupKey,
  overdue: Allocation['overdue'],
  facts: Pick<Facts, 'findJob' | 'byGroup' | 'nowMs'>,
): RunnerDecision {
  const { name: runner, state, job, live } = unwanted;
  const drop = (because: DroppedBecause) => ({ emit: false, runner, group, because }) as const;
  const print = (because: EmittedBecause, pinned: boolean) => ({ emit: true, runner, group, because, pinned }) as const;
  // A Job that Kueue has stopped is not a record: Kueue would start it again.
  if (live?.isStopped && hasEnded(live.state)) return live.pinned ? print('unpinning', false) : drop('failed');
  switch (state) {
    case 'busy':
      return { ...print('busy', true), ...skipAtWork(live), ...(job && { job }) };
    case 'finishing':
      return { ...print('finishing', true), ...skipAtWork(live) };
    case 'debugging':
      return {
        ...print('debugging', true),
        ...(isHoldWritten(unwanted) && SKIP),
        ...(job && { job }),
        keep: heldUntil(unwanted),
      };
    case 'moved':
      return { ...print('moved', true), ...SKIP };
    case 'free':
    case 'never-came':
    case 'replaced':
    case 'disabled':
      // Pinned when Gitea believed it busy: a claim that was lost, or a Job that was re-created in place of a lost one.
      if (live?.pinned) return print('unpinning', false);
      return drop(state === 'free' ? whyTooMany(unwanted, overdue) : state);
    case 'foreign':
      return { ...print('foreign', true), ...SKIP, ...(job && { job }) };
    case 'lost':
      // The proof that it has ended must not be pruned: without it Gitea's word alone would count, and the slot be taken again.
      return { ...print('lost', !live), ...SKIP, ...(isOutlived(unwanted, job, facts.nowMs) && { isOutlived: true }) };
    case 'failed':
      // The back-off counts the failures of a job: their records must not be pruned while it waits.
      return isWanted(unwanted, facts) ? { ...print('back-off-record', false), ...SKIP } : drop(state);
    case 'used-up':
      // A pod that waits behind a pin, which no sync prunes: the pin goes first. The annotations stay until the Job goes.
      if (live?.pinned && unwanted.hold?.isOver) return { ...print('unpinning', false), keep: heldUntil(unwanted) };
      return drop(state);
    case 'deleting':
    case 'gone':
    case 'offline':
      return drop(state);
    default:
      return state satisfies never;
  }
}

function whyTooMany(runner: Runner, overdue: Allocation['overdue']): DroppedBecause {
  const { group, madeFor } = runner;
  if (overdue.has(runner)) return 'stuck';
  if (group.suspend) return 'suspended';
  return poolIndexOf(madeFor) === undefined ? 'surplus' : 'drained';
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

/** True if the live Job says what is printed: one held for debugging is then skipped, like that of a busy runner. */
function isHoldWritten(runner: Runner): boolean {
  const { endedAtMs, untilMs } = heldUntil(runner);
  return runner.live?.pinned === true && runner.live.endedAtMs === endedAtMs && runner.live.keepUntilMs === untilMs;
}

function heldUntil({ name, hold }: Runner): HeldUntil {
  if (!hold) throw new Error(`runner ${name} stays without a time`);
  const { isOver: _, ...until } = hold;
  return until;
}
