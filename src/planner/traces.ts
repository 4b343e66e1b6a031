/** Gathers the evidence about each runner of ours for `judge.ts`: CI jobs that name it, its row, its Job. */
import { addTo } from './collections.ts';
import type { GroupKey } from './decisions.ts';
import {
  type Evidence,
  type Group,
  type Job,
  type ListedJob,
  type LiveJob,
  type Look,
  liveJobsOf,
  looksOf,
  type RegisteredRunner,
} from './evidence.ts';
import { groupHash, type MadeFor, namePrefix, parseRunnerName, type RunnerName } from './names.ts';
import { nameNow } from './repositories.ts';

/** All evidence about one runner. */
export interface RunnerTraces {
  readonly name: string;
  readonly group: Group;
  readonly madeFor: MadeFor;
  /** Jobs in progress under its name. More than one when its Job was re-created. */
  readonly runs: number;
  /** The job in progress and the completed job that began last. */
  readonly running: Job | undefined;
  readonly completed: Job | undefined;
  readonly row: RegisteredRunner | undefined;
  /** True if a row of the runner is in the list of its group's own scope. */
  readonly isListedHere: boolean;
  /** Ids of all rows of its name: names are not unique in Gitea. */
  readonly rowIds: ReadonlySet<number>;
  readonly live: LiveJob | undefined;
}

type OpenTraces = { -readonly [K in keyof RunnerTraces]: RunnerTraces[K] } & { readonly rowIds: Set<number> };

/**
 * The traces of all runners, by group, in the order of the groups.
 * @param heirs groups of runners whose own group is gone
 * @throws GroupsCollide when two groups could take each other's runners for their own
 */
export function gatherTraces(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly ListedJob[],
  heirs: ReadonlyMap<string, Group>,
): ReadonlyMap<Group, readonly RunnerTraces[]> {
  const findGroup = groupFinder(groups, evidence.instance);
  const findSize = sizeFinder(groups, evidence, jobs);
  const byName = new Map<string, OpenTraces>();
  const byGroup = new Map<Group, OpenTraces[]>(groups.map((group) => [group, []]));

  /** Returns the traces of the runner with this name, if its group belongs to this Gitea or this namespace. */
  const tracesOf = (name: string, field: 'origin' | 'namespace', place: string): OpenTraces | undefined => {
    // Most runners leave several traces. Each name is parsed once.
    const runner = byName.get(name);
    if (runner) return runner.group[field] === place ? runner : undefined;
    const parts = parseRunnerName(name);
    const foundGroup = parts && (findGroup(parts) ?? heirs.get(name));
    if (!foundGroup || foundGroup[field] !== place) return undefined;
    const group = findSize(foundGroup, name);
    const { madeFor } = parts;
    const nothing = { running: undefined, completed: undefined, row: undefined, live: undefined };
    const first: OpenTraces = { name, group, madeFor, runs: 0, isListedHere: false, rowIds: new Set(), ...nothing };
    byName.set(name, first);
    byGroup.get(group)?.push(first);
    return first;
  };

  for (const { job, origin } of jobs) {
    if (job.runner === undefined) continue;
    const traces = tracesOf(job.runner, 'origin', origin);
    if (traces) noteJob(traces, job);
  }
  for (const [{ origin, look }, { runners }] of looksOf(groups, evidence)) {
    for (const row of runners) {
      // Every runner of this program is ephemeral. Anybody may register another one under such a name.
      const traces = row.ephemeral ? tracesOf(row.name, 'origin', origin) : undefined;
      if (traces) noteRow(traces, row, look);
    }
  }
  for (const live of liveJobsOf(evidence)) {
    const traces = tracesOf(live.name, 'namespace', live.namespace);
    if (traces) traces.live = live;
  }
  return byGroup;
}

/** Finds the size of a runner by its Job, or else by the labels of its registration. One of a removed size is of the group without a size. */
function sizeFinder(
  groups: readonly Group[],
  evidence: Evidence,
  jobs: readonly ListedJob[],
): (found: Group, name: string) => Group {
  const sizesOf = new Map<string, Group[]>();
  for (const group of groups) if (group.size !== undefined) addTo(sizesOf, sizesKey(group), group);
  if (sizesOf.size === 0) return (found) => found;
  const sizeOf = new Map<string, readonly string[]>();
  // The runner's Job may be gone, and the row of a bound runner is not always read.
  for (const { job } of jobs) if (job.runner !== undefined) sizeOf.set(job.runner, job.labels);
  for (const [, { runners }] of looksOf(groups, evidence)) for (const row of runners) sizeOf.set(row.name, row.labels);
  for (const { name, size } of liveJobsOf(evidence)) sizeOf.set(name, size === undefined ? [] : [size]);
  return (group, name) => {
    const marks = sizeOf.get(name) ?? [];
    return sizesOf.get(sizesKey(group))?.find(({ size = '' }) => marks.includes(size)) ?? group;
  };
}

/** Returns one key for all sizes of a RunnerGroup. */
export function sizesKey({ namespace, name }: GroupKey): string {
  return `${namespace}/${name}`;
}

/** Finds the group of a runner (without a size) by the parts of its name. @throws GroupsCollide when two groups could take each other's runners */
function groupFinder(groups: readonly Group[], instance: string): (name: RunnerName) => Group | undefined {
  const whole = groups.filter(({ size }) => size === undefined);
  const [collision] = findCollisions(whole, instance);
  if (collision) throw collision[1];
  const index = new Map(whole.map((group) => [namesKey(group, instance), group]));
  return ({ prefix, groupHash: hash }) => index.get(`${prefix} ${hash}`);
}

/** Finds the group of a Job. Groups of other namespaces may have the same runner names. */
export function jobGroupFinder<G extends GroupKey>(groups: readonly G[], instance: string) {
  const index = new Map(groups.map((group) => [`${group.namespace} ${namesKey(group, instance)}`, group]));
  return ({ namespace, name }: Pick<LiveJob, 'namespace' | 'name'>): G | undefined => {
    const { prefix, groupHash: hash } = parseRunnerName(name) ?? {};
    return index.get(`${namespace} ${prefix} ${hash}`);
  };
}

/** Returns the groups that have their runner names in common with another one, and with which. */
export function findCollisions<G extends GroupKey>(groups: readonly G[], instance: string) {
  const byNames = new Map<string, G[]>();
  for (const group of groups) addTo(byNames, namesKey(group, instance), group);
  const colliding = [...byNames.values()].filter(({ length }) => length > 1);
  return colliding.flatMap((all) => all.map((each) => [each, new GroupsCollide(all)] as const));
}

function namesKey(group: GroupKey, instance: string): string {
  return `${namePrefix(group.name)} ${groupHash(instance, group)}`;
}

/** Groups have the same name prefix and group hash. The chance is 1 in 65,536 for two groups of the same name. */
export class GroupsCollide extends Error {
  constructor(groups: readonly GroupKey[]) {
    super(`RunnerGroups ${groups.map(sizesKey).join(' and ')} would have the same runner names; rename one of them`);
    this.name = 'GroupsCollide';
  }
}

/** True if the Job was made for another Gitea or scope than its group has now, by its pod or its repository. Missing information proves nothing. */
export function isOfOtherScope({ giteaUrl, repository }: LiveJob, group: Group, look: Look | undefined): boolean {
  if (giteaUrl !== undefined && giteaUrl !== group.origin) return true;
  return repository !== undefined && nameNow(repository, group, look) === undefined;
}

/** Jobs come oldest first. */
function noteJob(traces: OpenTraces, job: Job): void {
  const isLater = (other: Job | undefined): boolean => (job.startedAtMs ?? 0) >= (other?.startedAtMs ?? 0);
  if (job.status === 'completed' && isLater(traces.completed)) traces.completed = job;
  if (job.status !== 'in_progress') return;
  traces.runs += 1;
  if (isLater(traces.running)) traces.running = job;
}

/** Two looks may show the same row. */
function noteRow(traces: OpenTraces, row: RegisteredRunner, look: string): void {
  if (look === traces.group.look) traces.isListedHere = true;
  traces.rowIds.add(row.id);
  traces.row = strongerRow(traces.row, row);
}

/** Names are not unique in Gitea. Of several rows the one with most life counts, then the newest. */
function strongerRow(a: RegisteredRunner | undefined, b: RegisteredRunner): RegisteredRunner {
  const life = (row: RegisteredRunner): number =>
    (row.online ? 4 : 0) + (row.online && row.busy ? 2 : 0) + (row.disabled ? 0 : 1);
  return a && (life(a) - life(b) || a.id - b.id) >= 0 ? a : b;
}
