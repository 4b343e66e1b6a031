/** Turns what was given into decisions: one for every job and every runner, with one reason each. */
import type { Allotment } from './allot.ts';
import type { Assignment } from './assign.ts';
import type { GroupKey, GroupSummary, JobDecision, Plan, RunnerDecision } from './decisions.ts';
import type { Group, LiveJob } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { Given } from './give.ts';
import { keptDecision, usedUpDecision } from './kept-decision.ts';
import type { ListedJob } from './listed-jobs.ts';
import { OF_POOL } from './names.ts';
import { firstWorking } from './owners.ts';
import { type Idle, isRecordOfSlot } from './pool.ts';
import { nextRepositories } from './queue.ts';
import type { BackOff, ReadyJob } from './ready-job.ts';
import { withDetails } from './runner-details.ts';
import { isAtWork, type Runner } from './runners.ts';

/** What the decisions about jobs are made of. */
interface Answers extends Pick<Given, 'elsewhere'>, Facts {
  readonly served: ReadonlyMap<ListedJob, Assignment>;
  readonly backingOff: ReadonlyMap<ListedJob, BackOff>;
  /** The repository whose job gets the next slot of a group with fairness `per-repository`. */
  readonly nextIn: ReadonlyMap<Group, string>;
  readonly keyOf: (group: Group) => GroupKey;
}

/** Runners that no job needs and that stay idle in the output. */
export interface KeptIdle {
  readonly pools: ReadonlyMap<Group, readonly Idle[]>;
  readonly spares: ReadonlyMap<Group, readonly Runner[]>;
}

export function decide(facts: Facts, queue: readonly ReadyJob[], given: Given, { pools, spares }: KeptIdle): Plan {
  const { allotments, assignments, elsewhere, overdue } = given;
  const keyOf = keyFinder();
  const served = new Map([...assignments.values()].flat().map((each) => [each.listed, each]));
  const backingOff = new Map(
    [...allotments.values()].flatMap((each) => [...each.backingOff].map(([ready, backOff]) => [ready.listed, backOff])),
  );
  const heldBack = queue.filter(
    ({ listed }) => !served.has(listed) && !backingOff.has(listed) && !elsewhere.has(listed),
  );
  const answers = { ...facts, elsewhere, served, backingOff, nextIn: nextRepositories(heldBack, facts), keyOf };
  const jobs = facts.jobs.map((listed) => decideJob(listed, answers));
  const heldBy = countHeld(jobs);
  const groups: GroupSummary[] = [];
  const runners: RunnerDecision[] = [];
  for (const [group, allotment] of allotments) {
    const key = keyOf(group);
    const assigned = assignments.get(group) ?? [];
    const spare = spares.get(group) ?? [];
    const warm = pools.get(group) ?? [];
    const busy = allotment.runners.filter(isAtWork).length;
    const debugging = allotment.runners.filter(({ state }) => state === 'kept').length;
    const held = heldBy.get(key) ?? 0;
    const counts = { busy, waiting: assigned.length, debugging, spare: spare.length, warm: warm.length, held };
    const unreadJobs = facts.unreadJobsOf(group);
    const unread = unreadJobs > 0 && { unreadJobs };
    groups.push({ group: key, cap: group.maxActiveRunners, ...counts, minIdle: group.minIdleRunners, ...unread });
    const wanted = { ...facts, overdue, assigned, spare, warm };
    const decisions = decideRunners(key, allotment, wanted);
    runners.push(...withDetails(decisions, allotment, facts));
  }
  return Object.freeze({ groups: Object.freeze(groups), jobs: Object.freeze(jobs), runners: Object.freeze(runners) });
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
function holdJob(listed: ListedJob, { backingOff, elsewhere, ownersOf, nextIn, keyOf }: Answers): JobDecision {
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
  const next = nextIn.get(working);
  if (next === undefined) return { job, origin, verdict, because: 'cap', group };
  return { job, origin, verdict, because: 'cap', group, next };
}

/** How many jobs wait for each group. */
function countHeld(jobs: readonly JobDecision[]): ReadonlyMap<GroupKey, number> {
  const heldBy = new Map<GroupKey, number>();
  for (const decision of jobs) {
    if (decision.verdict !== 'held' || !decision.group) continue;
    heldBy.set(decision.group, (heldBy.get(decision.group) ?? 0) + 1);
  }
  return heldBy;
}

/** The facts, and the runners that cannot start. */
type RunnerFacts = Facts & Pick<Given, 'overdue'>;

/** What the runners of one group are wanted for. */
interface Wanted extends RunnerFacts {
  readonly assigned: readonly Assignment[];
  readonly spare: readonly Runner[];
  readonly warm: readonly Idle[];
}

/** The decisions about all runners of one group: first those that jobs were given, in the order of their jobs. */
function decideRunners(group: GroupKey, allotment: Allotment, wanted: Wanted): readonly RunnerDecision[] {
  const { assigned, spare, warm } = wanted;
  const decisions = new Map<string, RunnerDecision>();
  for (const { listed, runner, by } of assigned) {
    decisions.set(runner, { emit: true, runner, group, because: by, pinned: false, job: listed.job });
  }
  for (const { runner, living } of warm) {
    const skip = living && living.madeFor.jobId !== OF_POOL && !living.live?.pinned;
    decisions.set(runner, { emit: true, runner, group, because: 'warm', pinned: false, ...(skip && SKIP) });
  }
  for (const { name: runner, live } of spare) {
    decisions.set(runner, { emit: true, runner, group, because: 'spare', pinned: false, ...(!live?.pinned && SKIP) });
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
    case 'kept':
      return keptDecision(of, group);
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
      return { emit: false, runner, group, because: of.madeFor.jobId === OF_POOL ? 'drained' : 'surplus' };
    case 'foreign':
      return { emit: true, runner, group, because: 'foreign', pinned: true, ...SKIP, ...(job && { job }) };
    case 'lost':
      // The proof that it has ended must not be pruned: without it Gitea's word alone would count, and the slot be taken again.
      return { emit: true, runner, group, because: 'lost', pinned: !live, skip: true };
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

/** True when the job that it was made for still waits for a runner, or the slot of its pool does. */
function isWanted(failed: Runner, facts: Facts): boolean {
  const { madeFor, group } = failed;
  if (madeFor.jobId === OF_POOL) return isRecordOfSlot(failed, facts);
  const { findJob } = facts;
  const job = findJob(group.origin, madeFor.jobId)?.job;
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

/** Answers the same key object for the same group each time: thousands of decisions share it, and are counted by it. */
function keyFinder(): (group: Group) => GroupKey {
  const keys = new Map<Group, GroupKey>();
  return (group) => {
    const known = keys.get(group);
    if (known) return known;
    const key = { namespace: group.namespace, name: group.name };
    keys.set(group, key);
    return key;
  };
}
