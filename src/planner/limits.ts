/**
 * Limits: how many places are left for runners. A runner takes `weight` places under each limit of its group. The first limit is the cap. The
 * others are named ones, which groups share, and those per repository, organization or branch (docs/adr/0072).
 */
import {
  addTo,
  compareText,
  count,
  type Evidence,
  type Group,
  isOver,
  type Job,
  type Limit,
  type ListedJob,
  type LiveJob,
  liveJobsOf,
  memo,
} from './evidence.ts';
import { isAtWork, type Runner, type Runners } from './runners.ts';

/** What is left under one limit. */
export interface Room {
  /** Absent: it is the cap. */
  readonly limit?: Limit;
  /** The repository or organization that it is of. */
  readonly of?: string;
  /** Below 0: more runners work than may. */
  left: number;
  /** Free runners of other Applications that take places here. A runner of ours may be older. */
  readonly rivals: readonly LiveJob[];
}

/** Places that one runner of a group takes. */
export function weightOf({ weight = 1 }: Pick<Group, 'weight'>): number {
  return weight;
}

/** True for a limit that depends on the CI job. Gitea does not know it when it gives jobs to runners. */
export function dependsOnJob(limit: Limit | undefined): boolean {
  return limit?.per !== undefined || limit?.branches !== undefined;
}

/** True for a group with such a limit. */
export function limitsJobs({ limits = [] }: Group): boolean {
  return limits.some(dependsOnJob);
}

/** True when jobs of this branch count. One that is not known may be any. */
export function limitsBranch({ branches }: Pick<Limit, 'branches'>, branch: string | undefined): boolean {
  if (branches === undefined || branch === undefined) return true;
  return branch !== '' && branches.some((pattern) => fitsBranch(pattern, branch));
}

/** @param pattern has one star at most (schema.ts): `*` is any characters but a slash, `**` any */
function fitsBranch(pattern: string, branch: string): boolean {
  const [start = '', end] = pattern.split(/\*+/);
  if (end === undefined) return branch === pattern;
  if (!branch.startsWith(start) || !branch.slice(start.length).endsWith(end)) return false;
  return pattern.includes('**') || !branch.slice(start.length, branch.length - end.length).includes('/');
}

/** Runners that take places, by key of the limit. */
interface Taken {
  readonly places: Map<string, number>;
  readonly rivals: Map<string, LiveJob[]>;
  /** Of groups that share a limit the lowest number counts. */
  readonly most: Map<string, number>;
  /** `limitsBranch`, each answer worked out once. */
  readonly isFor: (limit: Limit) => (branch: string | undefined) => boolean;
}

/** What is left of the limits before any job has a place. The same limit has the same room. */
export class Rooms {
  readonly #taken: Taken;
  readonly #rooms = new Map<string, Room>();

  constructor(taken: Taken) {
    this.#taken = taken;
  }

  /** The cap of a group, and its limits that are the same for all jobs. */
  ofGroup(group: Group): readonly Room[] {
    const { limits = [], maxActiveRunners, suspend } = group;
    const key = capKey(group);
    const left = suspend ? 0 : maxActiveRunners - (this.#taken.places.get(key) ?? 0);
    const cap = this.#rooms.get(key) ?? { left, rivals: [] };
    this.#rooms.set(key, cap);
    return [cap, ...limits.filter((limit) => !dependsOnJob(limit)).map((limit) => this.#roomOf(limit))];
  }

  /** Its limits per repository, organization or branch that the job counts under. */
  ofJob({ limits = [] }: Group, { repository, branch }: Job): readonly Room[] {
    const own = limits.filter((limit) => dependsOnJob(limit) && this.#taken.isFor(limit)(branch));
    return own.map((limit) => this.#roomOf(limit, repository));
  }

  /** The least that its limits per repository, organization or branch leave to a job of which nothing is known. */
  leastOf({ limits = [] }: Group): readonly Room[] {
    return limits.filter(dependsOnJob).map((limit) => {
      const taken = [...this.#taken.places].flatMap(([key, places]) => (key.startsWith(`${limit.key} `) ? places : []));
      const room = this.#roomOf(limit);
      return { ...room, left: room.left - Math.max(0, ...taken) };
    });
  }

  #roomOf(limit: Limit, repository?: string): Room {
    const { places, rivals, most } = this.#taken;
    const key = keyFor(limit, repository);
    const of = repository === undefined ? undefined : partOf(limit, repository);
    // A runner of which nobody knows for whom it works may work for anybody.
    const doubtful = limit.key === key ? 0 : (places.get(limit.key) ?? 0);
    const left = (most.get(limit.key) ?? 0) - (places.get(key) ?? 0) - doubtful;
    const room = this.#rooms.get(key) ?? { limit, ...(of && { of }), left, rivals: rivals.get(key) ?? [] };
    this.#rooms.set(key, room);
    return room;
  }
}

/** Counts runners at work, or held for debugging, and the Jobs of other Applications that are seen. */
export function countTaken(
  groups: readonly Group[],
  { byGroup, findRunner }: Runners,
  evidence: Evidence,
  jobs: readonly ListedJob[],
): Taken {
  const isFor = memo((limit: Limit) => memo((branch: string | undefined) => limitsBranch(limit, branch)));
  const taken: Taken = { places: new Map(), rivals: new Map(), most: new Map(), isFor };
  const named = new Map<string, Limit>();
  for (const limit of groups.flatMap(({ limits = [] }) => limits)) {
    if (limit.name !== undefined) named.set(limit.name, limit);
    taken.most.set(limit.key, Math.min(limit.most, taken.most.get(limit.key) ?? limit.most));
  }
  const printed = (live: LiveJob | undefined): readonly Limit[] =>
    (live?.limits ?? []).flatMap((name) => named.get(name) ?? []);
  const taking = [...byGroup.values()].flatMap(({ runners }) => runners).filter(takesPlaces);
  for (const { group, places, job, live } of taking) {
    const weight = places * Math.max(weightOf(group), live?.weight ?? 1);
    // One that works while the spec changes counts under the limits of before, too.
    const limits = [...(group.limits ?? []), ...printed(live)].filter((limit) => isFor(limit)(job?.branch));
    const keys = limits.map((limit) => keyFor(limit, (job ?? live)?.repository));
    for (const key of new Set([capKey(group), ...keys])) count(taken.places, key, weight);
  }
  if (named.size === 0) return taken;
  const others = liveJobsOf(evidence).filter(({ state, name }) => !isOver(state) && !findRunner(name));
  const claimed = new Set(jobs.flatMap(({ job }) => job.runner ?? []));
  for (const live of others) {
    for (const limit of printed(live)) {
      const key = keyFor(limit, live.repository);
      count(taken.places, key, live.weight ?? 1);
      if (!live.pinned && !claimed.has(live.name)) addTo(taken.rivals, key, live);
    }
  }
  return taken;
}

function takesPlaces(runner: Runner): boolean {
  return isAtWork(runner) || runner.state === 'debugging';
}

/** The first of these rooms that a runner of this weight does not fit into. @param own runners for the same job that live */
export function firstWithout(rooms: readonly Room[], weight: number, own: readonly Runner[]): Room | undefined {
  return rooms.find(({ left, rivals }) => left + (rivals.length > 0 ? placesOfYounger(rivals, own) : 0) < weight);
}

/** Two Applications may start a runner each for the last place. Both see which one is older, so one stays. */
function placesOfYounger(rivals: readonly LiveJob[], own: readonly Runner[]): number {
  const live = own.find((runner) => runner.live)?.live;
  if (!live) return 0;
  const younger = rivals.filter(
    (other) => (other.createdAtMs - live.createdAtMs || compareText(other.name, live.name)) > 0,
  );
  return younger.reduce((sum, { weight = 1 }) => sum + weight, 0);
}

function capKey({ namespace, name }: Group): string {
  return `cap ${namespace}/${name}`;
}

/** @param repository absent: it is not known */
function keyFor(limit: Limit, repository: string | undefined): string {
  const part = repository === undefined ? undefined : partOf(limit, repository);
  return part === undefined ? limit.key : `${limit.key} ${part}`;
}

/** Gitea ignores case. */
function partOf({ per }: Limit, repository: string): string | undefined {
  if (per === undefined) return undefined;
  const name = repository.toLowerCase();
  return per === 'repository' ? name : name.split('/')[0];
}
