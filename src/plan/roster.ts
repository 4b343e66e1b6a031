/**
 * Every runner of ours that any evidence names, and what is true of it. One runner, one state, decided in this order:
 *
 *     runs a job in Gitea ............... busy        (unless its Job is seen ended: then lost)
 *     its Job has ended ................. used-up     (failed when no CI job is known that it ran)
 *     online and busy, no job listed .... finishing   (a job being cancelled is in no list, Gitea 1.27)
 *     its Job is being deleted .......... deleting
 *     online, Jobs are seen, not its own  gone        (it was pruned idle; Gitea believes in it for a minute)
 *     online ............................ free        (disabled ones: disabled)
 *     has finished a job ................ used-up
 *     Job starts or runs, young ......... free        (older than the spawn timeout: never-came;
 *                                                      of an older pod template: replaced)
 *     only an offline row ............... offline
 *
 * An online row comes before "has finished a job": Gitea deletes the row of an ephemeral runner with its job, so a row means
 * that a new runner lives under the old name (a Job that was made anew while Gitea still believed the lost one busy).
 */
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
  stayText,
} from './names.ts';
import { compareText, lookOf, type SeenJob } from './world.ts';

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
  readonly madeFor: RunnerName;
  readonly state: RunnerState;
  /** Online in Gitea's list: it can take a job this second. */
  readonly registered: boolean;
  /** The job it runs or, when it runs none, has run. */
  readonly job: Job | undefined;
  readonly live: LiveJob | undefined;
  /** Labels it registered with; undefined while it has not: then they are its group's. */
  readonly labels: ReadonlySet<string> | undefined;
}

/** The runners of one group. */
export interface Roster {
  readonly runners: ReadonlyMap<string, Runner>;
  /** Runners made for one stay of a job in the queue, registered ones first, then by name. */
  readonly madeFor: (stay: Stay) => readonly Runner[];
  /** True when Kubernetes shows at least one Job of this group: then what it does not show is not starting either. */
  readonly sighted: boolean;
}

interface Context {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly nowMs: number;
  /** Kubernetes shows Jobs of this group, so these are all there are. */
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

  return new Map(groups.map((group) => [group, rosterOf(group, traces.get(group) ?? new Map(), evidence)]));
}

function rosterOf(
  group: Group,
  traces: ReadonlyMap<string, Traces>,
  { instance, nowMs }: Pick<Evidence, 'instance' | 'nowMs'>,
): Roster {
  const nameOf = runnerNamer(instance, group);
  const runners = new Map<string, Runner>();
  const byJob = new Map<string, Runner[]>();
  const sighted = [...traces.values()].some(({ live }) => live !== undefined);
  for (const [name, trace] of traces) {
    const runner = judge(name, trace, { group, nameOf, nowMs, sighted });
    runners.set(name, runner);
    const key = stayText(runner.madeFor.jobId, runner.madeFor.attempt);
    byJob.set(key, [...(byJob.get(key) ?? []), runner]);
  }
  for (const ofJob of byJob.values()) ofJob.sort(byReadiness);
  return { runners, sighted, madeFor: ({ id, attempt }) => byJob.get(stayText(id, attempt)) ?? [] };
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

function judge(name: string, trace: Traces, context: Context): Runner {
  return {
    name,
    madeFor: trace.madeFor,
    state: stateOf(name, trace, context),
    registered: trace.row?.online ?? false,
    job: trace.running ?? trace.completed,
    live: trace.live,
    labels: trace.row?.online ? new Set(trace.row.labels) : undefined,
  };
}

function stateOf(name: string, { madeFor, running, completed, row, live }: Traces, context: Context): RunnerState {
  const finished = live?.state === 'complete' || live?.state === 'failed';
  // Gitea believes a lost runner busy for 10-15 minutes; its finished Job is the newer truth and frees the slot.
  if (running) return finished ? 'lost' : 'busy';
  // Complete counts too: the dind images end with 0 whatever happened (runner repository, Dockerfile, s6).
  if (finished) return completed ? 'used-up' : 'failed';
  if (row?.online && row.busy) return 'finishing';
  if (live?.state === 'deleting') return 'deleting';
  if (row?.online && !live && context.sighted) return 'gone';
  if (row?.online) return row.disabled ? 'disabled' : 'free';
  if (completed) return 'used-up';
  if (!live) return 'offline';
  if (context.nowMs - live.createdAtMs >= context.group.spawnTimeoutMs) return 'never-came';
  return isOfThisTemplate(name, madeFor, context.nameOf) ? 'free' : 'replaced';
}

/** False when the name was made from another pod template: then nobody knows what that runner can do. */
function isOfThisTemplate(name: string, { jobId: id, attempt }: RunnerName, nameOf: RunnerNamer): boolean {
  for (let ordinal = 0; ordinal < ORDINALS_SEARCHED; ordinal += 1) {
    if (nameOf({ id, attempt }, ordinal) === name) return true;
  }
  return false;
}

/** True when a runner has all labels of the job: Gitea may give it to it. */
export function covers(runner: Runner, job: Job): boolean {
  return job.labels.every((label) => runner.labels?.has(label) ?? true);
}
