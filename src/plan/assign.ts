/**
 * Gives the jobs that one group has room for their runners. In this order, so that runners that are starting already are
 * kept and nothing is started twice:
 *
 *  1. a job keeps its own living runner;
 *  2. chain: job A was taken by the runner made for job B, so A's runner is without work and serves B (chain.ts);
 *  3. free living runners that are left go to the youngest jobs (Gitea gives them the oldest, and those jobs' starting
 *     runners then follow by the chain);
 *  4. the rest get new names.
 */
import type { Candidate } from './chain.ts';
import type { ServedBy } from './decisions.ts';
import type { Group } from './evidence.ts';
import type { RunnerNamer } from './names.ts';
import { backOffMs, missedRunners } from './patience.ts';
import type { Asked } from './replay.ts';
import { byReadiness, covers, type Roster, type Rosters, type Runner } from './roster.ts';
import type { SeenJob } from './world.ts';

/** A job and its runner. */
export interface Assignment {
  readonly seen: SeenJob;
  readonly group: Group;
  readonly runner: string;
  readonly by: ServedBy;
}

/** What `assignRunners` needs to know of one group. */
export interface GroupState {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly roster: Roster;
  /** Of all groups. */
  readonly rosters: Rosters;
  readonly readySinceMs: (seen: SeenJob) => number;
  /** Runners in a row that the job was given in the past and that have not come, where the past is replayed. */
  readonly missedBy: (seen: SeenJob) => number;
  /** Cap less busy and finishing runners, never below 0; 0 when suspended. */
  readonly room: number;
  readonly nowMs: number;
}

/** Whatever the group. */
export type Times = Pick<GroupState, 'readySinceMs' | 'missedBy' | 'nowMs'>;

/** True when this runner can be expected to take the job, now or when it has started. */
export function canServe(times: Times, runner: Runner, seen: SeenJob): boolean {
  return runner.state === 'free' && covers(runner, seen.job) && !isAsleep(times, runner, seen);
}

/** A runner that has not come in so many times its patience, and is online and idle all the same, does not ask any more. */
const ASLEEP_AFTER_MISSED = 2;

/**
 * True when a registered runner lets a job wait that it could have taken long ago. Up to Gitea 1.26 a runner that loses the race for a job
 * sleeps until another one becomes ready (#38200); a new runner tries at once. Kubernetes tells its age. Where the generator does not see
 * Kubernetes, the replayed past tells how long the job has waited for its runner.
 */
function isAsleep(
  { readySinceMs, missedBy, nowMs }: Times,
  { group, registered, live }: Runner,
  seen: SeenJob,
): boolean {
  if (!registered) return false;
  if (!live) return missedBy(seen) >= ASLEEP_AFTER_MISSED;
  const bothSinceMs = Math.max(live.createdAtMs, readySinceMs(seen));
  return nowMs - bothSinceMs >= group.spawnTimeoutMs;
}

/** A job's runners failed before they took any job; the next one waits until `untilMs`. */
export interface BackOff {
  readonly group: Group;
  readonly untilMs: number;
}

/** The back-off that is in force for a new runner of this job, if any. */
export function backOffOf(state: GroupState, seen: SeenJob): BackOff | undefined {
  const { group } = state;
  const made = state.rosters.madeFor(group.origin, seen.job);
  const endOf = ({ live }: Runner): number => live?.finishedAtMs ?? live?.createdAtMs ?? 0;
  // A clock that is far ahead must not hold the job for days.
  const isPast = (runner: Runner): boolean => endOf(runner) < state.nowMs + group.spawnTimeoutMs;
  const failed = made.filter((runner) => runner.state === 'failed' && runner.group === group && isPast(runner));
  if (failed.length === 0) return undefined;
  const untilMs = Math.max(...failed.map(endOf)) + backOffMs(failed.length, group.spawnTimeoutMs);
  return untilMs > state.nowMs ? { group, untilMs } : undefined;
}

/**
 * One runner for each of the candidates (jobs of this group, longest ready first, at most `room`), and free runners that are left for
 * `backingOff` (jobs that may not have a new one now) as far as there is room.
 */
export function assignRunners(
  state: GroupState,
  candidates: readonly Candidate[],
  backingOff: readonly SeenJob[],
): readonly Assignment[] {
  const taken = new Set<string>();
  const assigned = new Map<SeenJob, Assignment>();
  const assign = (seen: SeenJob, runner: string, by: ServedBy): void => {
    taken.add(runner);
    assigned.set(seen, { seen, group: state.group, runner, by });
  };

  const selected = candidates.map(({ seen }) => seen);
  for (const { seen, own } of candidates) {
    // The registered one comes first.
    const mine = own.find(({ group }) => group === state.group);
    if (mine) assign(seen, mine.name, 'own-runner');
  }
  for (const candidate of candidates) {
    if (assigned.has(candidate.seen)) continue;
    const next = livingFor(state, candidate, taken);
    if (next !== undefined) assign(candidate.seen, next, 'chain');
  }

  const free = freeRunners(state.roster, taken);
  const withoutOne = selected.filter((seen) => !assigned.has(seen)).reverse();
  const mayShare = backingOff.slice(0, Math.max(0, state.room - selected.length));
  for (const seen of [...withoutOne, ...mayShare]) {
    const fitting = free.findIndex((runner) => canServe(state, runner, seen));
    const [runner] = fitting < 0 ? [] : free.splice(fitting, 1);
    if (runner) assign(seen, runner.name, 'free-runner');
  }

  for (const candidate of candidates) {
    const { seen } = candidate;
    if (assigned.has(seen)) continue;
    const { madeFor, missed } = askedIn(state, candidate) ?? { madeFor: seen, missed: missedSoFar(state, seen) };
    assign(seen, newName(state, madeFor, missed, taken), madeFor === seen ? 'new-runner' : 'chain');
  }
  return [...assigned.values()];
}

/** Free runners that nobody has yet, registered ones first. */
export function freeRunners(roster: Roster, taken: ReadonlySet<string>): Runner[] {
  return roster.runners.filter((runner) => runner.state === 'free' && !taken.has(runner.name)).sort(byReadiness);
}

/** The runner that the job was given in the past, when that was one of this group. */
function askedIn({ group }: GroupState, { asked }: Candidate): Asked | undefined {
  return asked?.group === group ? asked : undefined;
}

/** The living runner that the job waits for, unless somebody else has it. */
function livingFor(state: GroupState, candidate: Candidate, taken: ReadonlySet<string>): string | undefined {
  const { seen, living } = candidate;
  const asked = askedIn(state, candidate);
  const made = asked ? state.rosters.madeFor(seen.origin, asked.madeFor.job) : [];
  const isFree = (runner: Runner): boolean => runner.group === state.group && !taken.has(runner.name);
  if (living && isFree(living)) return living.name;
  return made.find((runner) => isFree(runner) && canServe(state, runner, seen))?.name;
}

/** The lowest ordinal whose name nothing speaks against, and one more for each runner that should have come and has not. */
function newName(state: GroupState, seen: SeenJob, missed: number, taken: ReadonlySet<string>): string {
  let toSkip = missed;
  for (let ordinal = 0; ; ordinal += 1) {
    const name = state.nameOf(seen.job, ordinal);
    const known = state.rosters.find(name)?.state ?? 'offline';
    if (known !== 'offline' || taken.has(name)) continue;
    if (toSkip === 0) return name;
    toSkip -= 1;
  }
}

/** How many of its runners have not come. Where Kubernetes shows this group's Jobs, it also shows those: nothing is to be counted. */
function missedSoFar({ group, readySinceMs, roster, nowMs }: GroupState, seen: SeenJob): number {
  return roster.sighted ? 0 : missedRunners(readySinceMs(seen), nowMs, group.spawnTimeoutMs);
}
