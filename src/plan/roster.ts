/**
 * Every runner of ours that any evidence names, and what is true of it. One runner, one state, decided in this order:
 *
 *     runs a job in Gitea ............... busy        (unless its Job is seen ended: then lost)
 *     its Job has ended ................. used-up     (failed when no CI job is known that it ran)
 *     online and busy, no job listed .... finishing   (a job being cancelled is in no list, Gitea 1.27)
 *     its Job is being deleted .......... deleting
 *     online ............................ free        (disabled ones: disabled)
 *     has finished a job ................ used-up
 *     Job starts or runs, young ......... free        (older than the spawn timeout: never-came)
 *     only an offline row ............... offline
 *
 * An online row comes before "has finished a job": Gitea deletes the row of an ephemeral runner with its job, so a row means
 * that a new runner lives under the old name (a Job that was made anew while Gitea still believed the lost one busy).
 */
import type { Evidence, Group, Job, LiveJob, RegisteredRunner } from './evidence.ts';
import { groupHash, namePrefix, parseRunnerName, type RunnerName } from './names.ts';
import { compareText, lookOf, type SeenJob } from './world.ts';

export type RunnerState =
  | 'busy'
  | 'finishing'
  | 'free'
  | 'used-up'
  | 'failed'
  | 'lost'
  | 'never-came'
  | 'disabled'
  | 'deleting'
  | 'offline';

/** One runner of one group. */
export interface Runner {
  readonly name: string;
  readonly madeFor: RunnerName;
  readonly state: RunnerState;
  /** Online in Gitea's list: it can take a job this second. */
  readonly registered: boolean;
  /** The job it runs or, when it runs none, has run. */
  readonly job: Job | undefined;
  readonly live: LiveJob | undefined;
}

/** The runners of one group. */
export interface Roster {
  readonly runners: ReadonlyMap<string, Runner>;
  /** Runners made for one stay of a job in the queue, registered ones first, then by name. */
  readonly madeFor: (job: Pick<Job, 'id' | 'attempt'>) => readonly Runner[];
  /** True when Kubernetes shows at least one Job of this group: then what it does not show is not starting either. */
  readonly sighted: boolean;
}

interface Traces {
  readonly madeFor: RunnerName;
  running?: Job;
  completed?: Job;
  row?: RegisteredRunner;
  live?: LiveJob;
}

/** The roster of every group, in the order of `groups`. Throws when two groups could take each other's runners for their own. */
export function takeRosters(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly SeenJob[],
): ReadonlyMap<Group, Roster> {
  const ownerOf = indexGroups(groups, evidence.instance);
  const traces = new Map<Group, Map<string, Traces>>(groups.map((group) => [group, new Map()]));

  /** The traces of the runner of that name, when it is of one of our groups. */
  const traceOf = (name: string, isPlace: (group: Group) => boolean): Traces | undefined => {
    const madeFor = parseRunnerName(name);
    const group = madeFor && ownerOf.get(`${madeFor.prefix} ${madeFor.groupHash}`);
    const ofGroup = group && isPlace(group) ? traces.get(group) : undefined;
    if (!madeFor || !ofGroup) return undefined;
    const known = ofGroup.get(name) ?? { madeFor };
    ofGroup.set(name, known);
    return known;
  };

  for (const { job, origin } of jobs) {
    if (job.runner === undefined) continue;
    const trace = traceOf(job.runner, (group) => group.origin === origin);
    if (trace && job.status === 'in_progress') trace.running ??= job;
    // Jobs come oldest first: of several jobs under one name the last one counts.
    if (trace && job.status === 'completed') trace.completed = job;
  }
  for (const group of groups) {
    for (const row of lookOf(group, evidence).runners) {
      const trace = traceOf(row.name, (owner) => owner.origin === group.origin);
      if (trace) trace.row = strongerRow(trace.row, row);
    }
  }
  for (const live of evidence.liveJobs) {
    const trace = traceOf(live.name, (group) => group.namespace === live.namespace);
    if (trace) trace.live = live;
  }

  return new Map(groups.map((group) => [group, rosterOf(group, traces.get(group) ?? new Map(), evidence.nowMs)]));
}

function rosterOf(group: Group, traces: ReadonlyMap<string, Traces>, nowMs: number): Roster {
  const runners = new Map<string, Runner>();
  const byJob = new Map<string, Runner[]>();
  let sighted = false;
  for (const [name, trace] of traces) {
    const runner = judge(name, trace, group, nowMs);
    runners.set(name, runner);
    const key = `${runner.madeFor.jobId} ${runner.madeFor.attempt}`;
    byJob.set(key, [...(byJob.get(key) ?? []), runner]);
    sighted ||= trace.live !== undefined;
  }
  for (const ofJob of byJob.values()) ofJob.sort(byReadiness);
  return { runners, sighted, madeFor: ({ id, attempt }) => byJob.get(`${id} ${attempt}`) ?? [] };
}

/** Registered runners first (they need no start), then by name. */
export function byReadiness(a: Runner, b: Runner): number {
  return Number(b.registered) - Number(a.registered) || compareText(a.name, b.name);
}

function indexGroups(groups: readonly Group[], instance: string): ReadonlyMap<string, Group> {
  const index = new Map<string, Group>();
  for (const group of groups) {
    const key = `${namePrefix(group.name)} ${groupHash(instance, group)}`;
    const other = index.get(key);
    if (other) throw new GroupsCollide(other, group);
    index.set(key, group);
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

/** Names are not unique in Gitea: of several rows the one with most life counts. */
function strongerRow(a: RegisteredRunner | undefined, b: RegisteredRunner): RegisteredRunner {
  const life = (row: RegisteredRunner): number =>
    (row.online ? 4 : 0) + (row.online && row.busy ? 2 : 0) + (row.disabled ? 0 : 1);
  return a && life(a) >= life(b) ? a : b;
}

function judge(name: string, trace: Traces, group: Group, nowMs: number): Runner {
  return {
    name,
    madeFor: trace.madeFor,
    state: stateOf(trace, group, nowMs),
    registered: trace.row?.online ?? false,
    job: trace.running ?? trace.completed,
    live: trace.live,
  };
}

function stateOf({ running, completed, row, live }: Traces, group: Group, nowMs: number): RunnerState {
  const finished = live?.state === 'complete' || live?.state === 'failed';
  // Gitea believes a lost runner busy for 10-15 minutes; its finished Job is the newer truth and frees the slot.
  if (running) return finished ? 'lost' : 'busy';
  // Complete counts too: the dind images end with 0 whatever happened (runner repository, Dockerfile, s6).
  if (finished) return completed ? 'used-up' : 'failed';
  if (row?.online && row.busy) return 'finishing';
  if (live?.state === 'deleting') return 'deleting';
  if (row?.online) return row.disabled ? 'disabled' : 'free';
  if (completed) return 'used-up';
  if (live) return nowMs - live.createdAtMs < group.spawnTimeoutMs ? 'free' : 'never-came';
  return 'offline';
}
