/**
 * Every runner of ours that any evidence names, and what is true of it. One runner, one state, decided in this order:
 *
 *     runs a job in Gitea ............... busy        (lost, when its Job is seen ended, or is not seen and the runner is silent)
 *     its Job has ended ................. used-up     (failed when no CI job is known that it ran)
 *     online and busy, no job listed .... finishing   (a job being cancelled is in no list, Gitea 1.27)
 *     its Job is being deleted .......... deleting
 *     online, Jobs are seen, not its own  gone        (it was pruned idle; Gitea believes in it for a minute)
 *     online ............................ free        (disabled ones: disabled)
 *     has finished a job ................ used-up     (not when its pod has not started: that Job was re-created)
 *     its pod may still come ............ free        (replaced, when it is of an older pod template)
 *     its pod comes no more ............. never-came
 *     only an offline row ............... offline
 *
 * A new runner may live under an old name: its Job was re-created. So an online row comes before "has finished a job": Gitea deletes the
 * row of an ephemeral runner with its job. Which pod ran a job is never told by comparing a time of Kubernetes with one of Gitea: clocks differ.
 */
import { ByGitea } from './by-gitea.ts';
import type { Evidence, Group, Job, LiveJob, RegisteredRunner } from './evidence.ts';
import {
  groupHash,
  namePrefix,
  ORDINALS_SEARCHED,
  parseRunnerName,
  type RunnerName,
  type RunnerNamer,
  runnerNamer,
  type Stay,
} from './names.ts';
import { mayStillCome } from './patience.ts';
import { byKey, compareText, lookOf, type SeenJob } from './world.ts';

export type RunnerState =
  | 'busy'
  | 'finishing'
  | 'free'
  | 'used-up'
  | 'failed'
  | 'lost'
  | 'never-came'
  | 'replaced'
  | 'disabled'
  | 'deleting'
  | 'gone'
  | 'offline';

/** One runner of one group. */
export interface Runner {
  readonly name: string;
  readonly group: Group;
  readonly madeFor: RunnerName;
  readonly state: RunnerState;
  /** Places under the cap that it takes while it works: more than 1 when its Job was re-created, since another runner has its name, too. */
  readonly slots: number;
  /** Online in Gitea's list: it can take a job this second. */
  readonly registered: boolean;
  /** The job it runs or, when it runs none, has run. */
  readonly job: Job | undefined;
  readonly live: LiveJob | undefined;
  /** Labels it registered with; undefined while it has not: then they are its group's. */
  readonly labels: readonly string[] | undefined;
}

/** The runners of one group. */
export interface Roster {
  readonly runners: readonly Runner[];
  /** True when Kubernetes shows at least one Job of this group: then what it does not show is not starting either. */
  readonly sighted: boolean;
}

interface Context {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly nowMs: number;
  /** The Jobs are as they were at this time, or later. */
  readonly liveSinceMs: number;
  /** Kubernetes shows Jobs of this group, so these are all there are. */
  readonly sighted: boolean;
  /** True when a runner at work would have reported to this Gitea lately: it was there to be reported to. */
  readonly wasUp: () => boolean;
  /** How many runners are known that were made for one stay of a job in the queue. */
  readonly countMadeFor: (stay: RunnerName) => number;
}

interface Traces {
  readonly name: string;
  readonly group: Group;
  readonly madeFor: RunnerName;
  running: Job | undefined;
  /** Jobs in progress under its name. */
  runs: number;
  completed: Job | undefined;
  row: RegisteredRunner | undefined;
  live: LiveJob | undefined;
  /** What they say in the end. */
  runner: Runner | undefined;
}

/** All runners of ours. */
export interface Rosters {
  /** In the order of the groups. */
  readonly byGroup: ReadonlyMap<Group, Roster>;
  /** The runner of that name; one at most, since no two groups share names. */
  readonly find: (name: string) => Runner | undefined;
  /** Runners made for one stay of a job in the queue: by group, of each the registered ones first, then by name. */
  readonly madeFor: (origin: string, stay: Stay) => readonly Runner[];
}

/** The rosters of all groups. Throws when two groups could take each other's runners for their own. */
export function takeRosters(groups: readonly Group[], evidence: Evidence, jobs: readonly SeenJob[]): Rosters {
  const ownerOf = indexGroups(groups, evidence.instance);
  const byName = new Map<string, Traces>();
  const tracesOf = new Map<Group, Traces[]>(groups.map((group) => [group, []]));

  /** The traces of the runner of that name, when it is of one of our groups. */
  const traceOf = (name: string, isPlace: (group: Group) => boolean): Traces | undefined => {
    // Most runners leave several traces; their names are read once.
    const known = byName.get(name);
    if (known) return isPlace(known.group) ? known : undefined;
    const madeFor = parseRunnerName(name);
    const group = madeFor && ownerOf.get(madeFor.groupHash)?.get(madeFor.prefix);
    if (!group || !isPlace(group)) return undefined;
    const made = {
      name,
      group,
      madeFor,
      running: undefined,
      runs: 0,
      completed: undefined,
      row: undefined,
      live: undefined,
      runner: undefined,
    };
    byName.set(name, made);
    tracesOf.get(group)?.push(made);
    return made;
  };

  for (const { job, origin } of jobs) {
    if (job.runner === undefined) continue;
    const trace = traceOf(job.runner, (group) => group.origin === origin);
    if (trace) noteJob(trace, job);
  }
  const read = new Set<string>();
  for (const group of groups) {
    if (read.has(group.look)) continue;
    read.add(group.look);
    for (const row of lookOf(group, evidence).runners) {
      const trace = traceOf(row.name, (owner) => owner.origin === group.origin);
      if (trace) trace.row = strongerRow(trace.row, row);
    }
  }
  for (const live of evidence.liveJobs) {
    const trace = traceOf(live.name, (group) => group.namespace === live.namespace);
    if (trace) trace.live = live;
  }

  // Asked for runners that are silent only.
  let up: ReadonlySet<string> | undefined;
  const wasUp = (origin: string): boolean => {
    up ??= new Set(jobs.flatMap((seen) => (isLately(seen.job, evidence.nowMs) ? seen.origin : [])));
    return up.has(origin);
  };
  const byGroup = new Map(
    [...tracesOf].map(([group, traces]) => [group, rosterOf(group, traces, evidence, () => wasUp(group.origin))]),
  );
  const byJob = indexRunners(byGroup);
  return {
    byGroup,
    find: (name) => byName.get(name)?.runner,
    madeFor: (origin, { id, attempt }) => {
      const made = byJob.get(origin, id) ?? NONE;
      const isOfStay = ({ madeFor }: Runner): boolean => madeFor.attempt === attempt;
      return made.every(isOfStay) ? made : made.filter(isOfStay);
    },
  };
}

/** Of several jobs under one name the one that began last counts; jobs come oldest first. */
function noteJob(trace: Traces, job: Job): void {
  if (job.status === 'completed' && isNotBefore(job, trace.completed)) trace.completed = job;
  if (job.status !== 'in_progress') return;
  trace.runs += 1;
  if (isNotBefore(job, trace.running)) trace.running = job;
}

function rosterOf(
  group: Group,
  traces: readonly Traces[],
  { instance, nowMs, liveSinceMs = nowMs - LOOK_TAKES_MS }: Evidence,
  wasUp: () => boolean,
): Roster {
  const nameOf = runnerNamer(instance, group);
  const sighted = traces.some(({ live }) => live !== undefined);
  const countMadeFor = ({ jobId, attempt }: RunnerName): number =>
    traces.filter(({ madeFor }) => madeFor.jobId === jobId && madeFor.attempt === attempt).length;
  const context: Context = { group, nameOf, nowMs, liveSinceMs, sighted, wasUp, countMadeFor };
  const runners = traces.map((trace) => {
    trace.runner = judge(trace, context);
    return trace.runner;
  });
  return { runners, sighted };
}

const NONE: readonly Runner[] = [];

/** All runners by the job that they were made for. */
function indexRunners(rosters: ReadonlyMap<Group, Roster>): ByGitea<readonly Runner[]> {
  const index = new ByGitea<Runner[]>();
  for (const [{ origin }, { runners }] of rosters) {
    const ofGitea = index.ofGitea(origin);
    for (const runner of runners) {
      const others = ofGitea.get(runner.madeFor.jobId);
      if (others) others.push(runner);
      else ofGitea.set(runner.madeFor.jobId, [runner]);
    }
  }
  index.forEach((ofJob) => {
    ofJob.sort((a, b) => byKey(a.group, b.group) || byReadiness(a, b));
  });
  return index;
}

/** Registered runners first (they need no start), then by name. */
export function byReadiness(a: Runner, b: Runner): number {
  return Number(b.registered) - Number(a.registered) || compareText(a.name, b.name);
}

/** Groups by their hash, then by the prefix of their runners' names. */
function indexGroups(groups: readonly Group[], instance: string): ReadonlyMap<string, ReadonlyMap<string, Group>> {
  const index = new Map<string, Map<string, Group>>();
  for (const group of groups) {
    const hash = groupHash(instance, group);
    const ofHash = index.get(hash) ?? new Map<string, Group>();
    const prefix = namePrefix(group.name);
    const other = ofHash.get(prefix);
    if (other) throw new GroupsCollide(other, group);
    index.set(hash, ofHash.set(prefix, group));
  }
  return index;
}

/** Two groups with the same name prefix and group hash; 1 in 65,536 for two groups that share a name. */
export class GroupsCollide extends Error {
  constructor(a: Group, b: Group) {
    super(
      `RunnerGroups ${a.namespace}/${a.name} and ${b.namespace}/${b.name} would have the same runner names; rename one of them`,
    );
    this.name = 'GroupsCollide';
  }
}

/** Names are not unique in Gitea: of several rows the one with most life counts, then the newest. */
function strongerRow(a: RegisteredRunner | undefined, b: RegisteredRunner): RegisteredRunner {
  const life = (row: RegisteredRunner): number =>
    (row.online ? 4 : 0) + (row.online && row.busy ? 2 : 0) + (row.disabled ? 0 : 1);
  return a && (life(a) - life(b) || a.id - b.id) >= 0 ? a : b;
}

function judge(trace: Traces, context: Context): Runner {
  return {
    name: trace.name,
    group: trace.group,
    madeFor: trace.madeFor,
    state: stateOf(trace, context),
    slots: Math.max(1, trace.runs) + (isRecreated(trace, trace.running, context) ? 1 : 0),
    registered: trace.row?.online ?? false,
    job: trace.running ?? trace.completed,
    live: trace.live,
    labels: trace.row?.online ? trace.row.labels : undefined,
  };
}

function stateOf(trace: Traces, context: Context): RunnerState {
  const { name, madeFor, running, completed, row, live } = trace;
  const finished = hasEnded(live);
  // Gitea believes a lost runner busy for 10-15 minutes; its finished Job is the newer truth and frees the slot.
  if (running) return isLost(trace, running, context) ? 'lost' : 'busy';
  // Complete counts too: the dind images end with 0 whatever happened (runner repository, Dockerfile, s6).
  if (finished) return completed ? 'used-up' : 'failed';
  if (row?.online && row.busy) return 'finishing';
  if (live?.state === 'deleting') return 'deleting';
  if (row?.online && !live && context.sighted) return 'gone';
  if (row?.online) return row.disabled ? 'disabled' : 'free';
  if (completed && !isRecreated(trace, completed, context)) return 'used-up';
  if (!live) return 'offline';
  if (!mayStillCome(live, { nowMs: context.nowMs, spawnTimeoutMs: context.group.spawnTimeoutMs })) return 'never-came';
  return isOfThisTemplate(name, madeFor, context) ? 'free' : 'replaced';
}

/** Gitea calls a runner offline that it has not heard of for so long (`models/actions/runner.go` RunnerOfflineTime). One at work reports every second. */
export const OFFLINE_AFTER_MS = 60_000;
/** Within so long after Gitea is back, runners at work have reported. */
const REPORTS_WITHIN_MS = 15_000;

/** True when something shows that Gitea was there, long enough ago for all runners to report since, and not before the last reports of those that are offline. */
function isLately({ createdAtMs, startedAtMs = 0, completedAtMs = 0 }: Job, nowMs: number): boolean {
  return [createdAtMs, startedAtMs, completedAtMs].some(
    (atMs) => nowMs - atMs < OFFLINE_AFTER_MS && nowMs - atMs > REPORTS_WITHIN_MS,
  );
}

/**
 * True when the pod of a runner at work has ended without a word to Gitea. Its Job is seen ended; or its Job is unseen, and Gitea, which
 * was there, has not heard of the runner since.
 */
function isLost(trace: Traces, running: Job, { nowMs, wasUp }: Context): boolean {
  const { live, row } = trace;
  if (hasEnded(live)) return !hasEndedAnother(trace);
  if (live || !row || row.online || !wasUp()) return false;
  return nowMs - (running.startedAtMs ?? nowMs) > OFFLINE_AFTER_MS;
}

function hasEnded(live: LiveJob | undefined): boolean {
  return live?.state === 'complete' || live?.state === 'failed';
}

function isNotBefore(job: Job, other: Job | undefined): boolean {
  return (job.startedAtMs ?? 0) >= (other?.startedAtMs ?? 0);
}

/** No look takes longer from its first list to its last (`GITEA_RUNNERS_TIMEOUT`). */
const LOOK_TAKES_MS = 20_000;
/** Gitea shows whole seconds, and clocks are never quite alike. */
const CLOCKS_APART_MS = 2000;

/**
 * True when its Job was re-created under the name of a runner that has taken a CI job: the pod that is seen has not started, so it has run
 * nothing. The lists of one look are not of the same second: a CI job that began after the Jobs were listed proves nothing.
 */
function isRecreated({ live }: Traces, job: Job | undefined, { liveSinceMs }: Context): boolean {
  return live?.state === 'starting' && (job?.startedAtMs ?? liveSinceMs) + CLOCKS_APART_MS < liveSinceMs;
}

/**
 * True when the end of its Job is that of a second runner of its name, which began a CI job later and has finished it. The Job was
 * re-created while the first runner worked, so that one still does.
 */
function hasEndedAnother({ running, completed }: Traces): boolean {
  return (completed?.startedAtMs ?? 0) > (running?.startedAtMs ?? 0);
}

/** False when the name was made from another pod template: then nobody knows what that runner can do. */
function isOfThisTemplate(name: string, madeFor: RunnerName, { nameOf, countMadeFor }: Context): boolean {
  const { jobId: id, attempt } = madeFor;
  const isName = (ordinal: number): boolean => nameOf({ id, attempt }, ordinal) === name;
  for (let ordinal = 0; ordinal < ORDINALS_SEARCHED; ordinal += 1) if (isName(ordinal)) return true;
  // Names that are used up are passed over, however many they are.
  const last = ORDINALS_SEARCHED + countMadeFor(madeFor);
  for (let ordinal = ORDINALS_SEARCHED; ordinal < last; ordinal += 1) if (isName(ordinal)) return true;
  return false;
}

/** True when a runner has all labels of the job: Gitea may give it to it. */
export function covers(runner: Runner, job: Job): boolean {
  return job.labels.every((label) => runner.labels?.includes(label) ?? true);
}
