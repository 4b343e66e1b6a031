/**
 * Limits: how many slots are left for runners. A runner takes `weight` slots under each limit of its group. The first limit is the cap. The
 * others are named ones, which groups share, and those per repository, organization or branch (docs/adr/0072).
 */
import { addTo, compareText, count, memo } from './collections.ts';
import {
  type Evidence,
  type Group,
  isOfApplication,
  isOver,
  type Job,
  type Limit,
  type ListedJob,
  type LiveJob,
  liveJobsOf,
} from './evidence.ts';
import { PENDING_TIMEOUTS } from './judge.ts';
import { parseRunnerName } from './names.ts';
import { fitsPattern } from './patterns.ts';
import { nameNow, ownerOf } from './repositories.ts';
import { isAtWork, type Runner, type Runners } from './runners.ts';

/** `LiveJob.scope` of a group that serves all of its Gitea. */
export const WHOLE_GITEA = '*';

/** A limit with the slots that it leaves. */
export interface OpenLimit {
  /** Absent: it is the cap. */
  readonly limit?: Limit;
  /** The repository or organization that it is of. */
  readonly of?: string;
  /** Free slots. Below 0: more runners work than the limit allows. */
  left: number;
  /** Jobs of other Applications that take slots here. The first three, for people. */
  readonly others: readonly Pick<LiveJob, 'name' | 'application'>[];
}

/** Slots that one runner of a group takes. */
export function weightOf({ weight = 1 }: Pick<Group, 'weight'>): number {
  return weight;
}

/** True for a limit that depends on the CI job. Gitea does not know it when it gives jobs to runners. */
export function dependsOnJob(limit: { readonly per?: unknown; readonly branches?: unknown } | undefined): boolean {
  return limit?.per !== undefined || limit?.branches !== undefined;
}

/** True for a group with such a limit. */
export function limitsJobs({ limits = [] }: Group): boolean {
  return limits.some(dependsOnJob);
}

/** True if jobs of this branch count. An unknown branch counts. */
export function limitsBranch({ branches }: Pick<Limit, 'branches'>, branch: string | undefined): boolean {
  if (branches === undefined || branch === undefined) return true;
  return branch !== '' && branches.some((pattern) => fitsPattern(pattern, branch));
}

/** Slots in use, by key of the limit. */
interface TakenSlots {
  /** Slots of our runners at work. */
  readonly slots: Map<string, number>;
  readonly shared: ReadonlyMap<string, readonly Sharer[]>;
  /** The lowest number of the groups that share a limit. */
  readonly most: Map<string, number>;
  /** How many groups have the limit. */
  readonly groupsByKey: ReadonlyMap<string, number>;
}

/** A runner under a limit that several Applications share: one of another Application, or a free one of ours. */
interface Sharer {
  readonly live: LiveJob;
  readonly weight: number;
  readonly isFree: boolean;
  readonly isOurs: boolean;
}

export type OpenLimits = ReturnType<typeof openLimits>;

/** All limits, before any job has a slot. Groups that share a limit get the same object. */
export function openLimits({ slots, shared, most, groupsByKey }: TakenSlots) {
  const caps = new Map<string, OpenLimit>();
  const opened = memo((_key: string) => new Map<string | undefined, OpenLimit>());
  const open = (limit: Limit, repository?: string): OpenLimit => {
    const part = repository === undefined ? undefined : partOf(limit, repository);
    const ofLimit = opened(limit.key);
    const before = ofLimit.get(part);
    if (before) return before;
    const now = part === undefined ? openLimit(limit, [limit.key]) : openPart(limit, part);
    ofLimit.set(part, now);
    return now;
  };
  const openPart = (limit: Limit, part: string): OpenLimit => {
    const key = `${limit.key} ${part}`;
    // A runner of which nobody knows for whom it works may work for anybody.
    const isUnused = !slots.has(key) && !shared.has(key);
    const { left, others } = isUnused ? open(limit) : openLimit(limit, [key, limit.key]);
    return { limit, of: part, left, others };
  };
  const openLimit = (limit: Limit, keys: readonly string[]): OpenLimit => {
    const atWork = keys.reduce((sum, each) => sum + (slots.get(each) ?? 0), 0);
    const sharers = keys.flatMap((each) => shared.get(each) ?? []);
    const left = leftForOurs((most.get(limit.key) ?? 0) - atWork, sharers);
    const foreign = sharers.filter(({ isOurs }) => !isOurs).slice(0, 3);
    const others = foreign.map(({ live: { name, application } }) => ({ name, ...(application && { application }) }));
    return { limit, left, others };
  };
  /** The least that the limit leaves to a job of any repository. */
  const leastLeft = (limit: Limit): number => {
    const parts = [...slots.keys(), ...shared.keys()].filter((key) => key.startsWith(`${limit.key} `));
    const lefts = parts.map((key) => open(limit, key.slice(limit.key.length + 1)).left);
    return Math.min(open(limit).left, ...lefts);
  };
  const capOf = (group: Group): OpenLimit => {
    const { maxActiveRunners, suspend } = group;
    const key = capKey(group);
    const cap = caps.get(key) ?? { left: suspend ? 0 : maxActiveRunners - (slots.get(key) ?? 0), others: [] };
    caps.set(key, cap);
    return cap;
  };
  const limitsOfJobs = memo(({ limits = [] }: Group): readonly Limit[] => limits.filter(dependsOnJob));
  return {
    /** The cap of a group, and its limits that are the same for all jobs. */
    ofGroup: (group: Group): readonly OpenLimit[] => {
      const { limits = [] } = group;
      return [capOf(group), ...limits.filter((limit) => !dependsOnJob(limit)).map((limit) => open(limit))];
    },

    /** Returns the limits per repository, organization or branch that the job counts under. @param among some of the group's limits; absent: all */
    ofJob: (group: Group, { repository, branch }: Job, among = limitsOfJobs(group)): readonly OpenLimit[] =>
      among.flatMap((limit) => (limitsBranch(limit, branch) ? [open(limit, repository)] : [])),

    /** The limits that depend on the job and can stop a free runner. The cap stops it before the others do. */
    strictOf: (group: Group): readonly Limit[] => {
      const { left } = capOf(group);
      if (left <= 0) return [];
      const isOfSeveral = (limit: Limit): boolean => group.isBound === true && (groupsByKey.get(limit.key) ?? 1) > 1;
      return limitsOfJobs(group).filter((limit) => isOfSeveral(limit) || leastLeft(limit) < left);
    },

    /**
     * The least that its limits leave to a job of which nothing is known, beside our own runners: unlike `leastLeft` it
     * leaves those of other Applications out. A bound runner is of a repository, but of no branch.
     */
    leastOf: ({ isBound, limits = [] }: Group): readonly OpenLimit[] =>
      limits.flatMap((limit) => {
        if (isBound && limit.branches === undefined) return [];
        const slotsTaken = [...slots].flatMap(([key, sum]) => (key.startsWith(`${limit.key} `) ? sum : []));
        const { left, ...least } = open(limit);
        return { ...least, left: left - Math.max(0, ...slotsTaken) };
      }),
  };
}

interface OfGroup {
  readonly group: Group;
  readonly limits: readonly Readonly<OpenLimit>[];
}

/** Counts slots of runners that serve no job of `Allotment.jobs`. */
export class FurtherRunners {
  readonly #taken = new Map<Readonly<OpenLimit>, number>();

  /** Returns how many more runners of this group may exist. */
  howManyMore({ group, limits }: OfGroup): number {
    const leftOf = (limit: Readonly<OpenLimit>): number => limit.left - (this.#taken.get(limit) ?? 0);
    return Math.max(0, Math.min(...limits.map((limit) => Math.floor(leftOf(limit) / weightOf(group)))));
  }

  take({ group, limits }: OfGroup, runners: number): void {
    for (const limit of limits) count(this.#taken, limit, runners * weightOf(group));
  }
}

/** Returns how many of these slots other Applications leave. The oldest free runners stay, as many as fit. A new one needs a slot that none has. */
function leftForOurs(slots: number, sharers: readonly Sharer[]): number {
  const byAge = [...sharers].sort(
    (a, b) =>
      Number(a.isFree) - Number(b.isFree) ||
      a.live.createdAtMs - b.live.createdAtMs ||
      compareText(a.live.name, b.live.name),
  );
  let open = slots;
  let ours = 0;
  let foreignSlots = 0;
  for (const { weight, isFree, isOurs } of byAge) {
    if (!isOurs) foreignSlots += weight;
    if (isFree && weight > open) continue;
    open -= weight;
    if (isOurs) ours += weight;
  }
  return Math.max(ours, slots - foreignSlots);
}

/** Counts runners at work, or held for debugging, and the Jobs of other Applications that are seen. */
export function countTaken(
  groups: readonly Group[],
  runners: Runners,
  evidence: Evidence,
  jobs: readonly ListedJob[],
): TakenSlots {
  const slots = new Map<string, number>();
  const mostByKey = new Map<string, number>();
  const groupsByKey = new Map<string, number>();
  const limitByName = new Map<string, Limit>();
  for (const limit of groups.flatMap(({ limits = [] }) => limits)) {
    const lowest = Math.min(limit.most, mostByKey.get(limit.key) ?? limit.most);
    mostByKey.set(limit.key, lowest);
    count(groupsByKey, limit.key, 1);
    if (limit.name !== undefined) limitByName.set(limit.name, { ...limit, most: lowest });
  }
  const ours = [...runners.byGroup.values()].flatMap((ofGroup) => ofGroup.runners);
  for (const { group, slots: runnerSlots, job, live } of ours.filter(holdsSlots)) {
    const weight = runnerSlots * Math.max(weightOf(group), live?.weight ?? 1);
    // A runner that works while the spec changes counts under its former limits, too.
    const before = (live?.limits ?? []).flatMap((name) => limitByName.get(name) ?? []);
    const limits = [...(group.limits ?? []), ...before].filter((limit) => limitsBranch(limit, job?.branch));
    const repositoryNow = live?.repository && nameNow(live.repository, group, evidence.looks.get(group.look));
    const keys = limits.map((limit) => keyFor(limit, job?.repository ?? repositoryNow ?? live?.repository));
    for (const key of new Set([capKey(group), ...keys])) count(slots, key, weight);
  }
  const shared = limitByName.size === 0 ? new Map() : sharersOf(limitByName, groups, runners, evidence, jobs);
  return { slots, shared, most: mostByKey, groupsByKey };
}

function sharersOf(
  limitByName: ReadonlyMap<string, Limit>,
  groups: readonly Group[],
  { byGroup, findRunner }: Runners,
  evidence: Evidence,
  jobs: readonly ListedJob[],
): ReadonlyMap<string, readonly Sharer[]> {
  const sharersByKey = new Map<string, Sharer[]>();
  const jobOf = new Map(jobs.map(({ job }) => [job.runner, job]));
  const groupsOf = memo((key: string) => groups.filter(({ limits = [] }) => limits.some((limit) => limit.key === key)));
  const jobOfId = new Map(jobs.map(({ job, origin }) => [`${origin} ${job.id}`, job]));
  /** A Job has the repository's name from before a rename, its CI job the current one. */
  const withName = (live: LiveJob): LiveJob => {
    const madeFor = parseRunnerName(live.name)?.madeFor;
    const job = jobOf.get(live.name) ?? (madeFor && 'id' in madeFor && jobOfId.get(`${live.giteaUrl} ${madeFor.id}`));
    return job ? { ...live, repository: job.repository } : live;
  };
  const note = (limit: Limit, live: LiveJob, group: Group, weight: number, isOurs: boolean): void => {
    const isFree = !live.pinned && !jobOf.has(live.name);
    const patienceMs = Math.max(...groupsOf(limit.key).map(({ spawnTimeoutMs }) => spawnTimeoutMs));
    if (isFree && evidence.nowMs >= comesUntilMs(live, patienceMs)) return;
    const repositoryNow = live.repository && nameNow(live.repository, group, evidence.looks.get(group.look));
    addTo(sharersByKey, keyFor(limit, repositoryNow ?? live.repository), { live, weight, isFree, isOurs });
  };
  const foreignRunners = liveJobsOf(evidence).filter(({ state, name }) => !isOver(state) && !findRunner(name));
  for (const live of foreignRunners.map(withName))
    for (const limit of (live.limits ?? []).flatMap((name) => limitByName.get(name) ?? [])) {
      const group = groupsOf(limit.key).find((each) => isSharedWith(each, live, evidence));
      if (group) note(limit, live, group, Math.min(live.weight ?? 1, limit.most), false);
    }
  if (sharersByKey.size === 0) return sharersByKey;
  const free = [...byGroup.values()].flatMap(({ runners }) => runners.filter(({ state }) => state === 'free'));
  for (const {
    group,
    live,
    group: { limits = [] },
  } of free)
    if (live)
      for (const limit of limits) note(limit, withName(live), group, Math.max(weightOf(group), live.weight ?? 1), true);
  return sharersByKey;
}

/**
 * Returns until when the free runner of another Application counts (law P11): for one spawn timeout, and for twelve
 * while its pod starts without a problem.
 * @param sinceMs start of that time at the earliest
 */
export function comesUntilMs(live: LiveJob, spawnTimeoutMs: number, sinceMs = 0): number {
  const { state, trouble, stillSinceMs, createdAtMs, runningSinceMs = createdAtMs } = live;
  const mayStart = trouble === undefined || stillSinceMs !== undefined || trouble.isSuspended === true;
  const timeouts = state === 'starting' && mayStart ? PENDING_TIMEOUTS : 1;
  return Math.max(runningSinceMs, sinceMs) + timeouts * spawnTimeoutMs;
}

/**
 * A limit is shared within an Application. Anybody in the namespace may write its name, so other Applications share it only within one Gitea,
 * for scopes of one owner. A Job of this Application that is none of its runners is of a group that is gone, or that cannot be planned now.
 */
function isSharedWith(group: Group, live: LiveJob, evidence: Evidence): boolean {
  if (isOfApplication(live, evidence)) return true;
  const { giteaUrl, scope, repository } = live;
  const covers = group.covers ?? WHOLE_GITEA;
  const now = evidence.looks.get(group.look)?.renamedTo ?? covers;
  const [owner, ownerNow] = [covers, now].map(ownerOf);
  // A Job of an older version does not tell its scope. After a rename the spec may have the old name, and the CI job the new one.
  const ofJob = ownerOf(repository ?? '');
  const livingOwner = scope === undefined ? ofJob : ownerOf(scope);
  const isOfOwner = livingOwner === owner || livingOwner === ownerNow || (scope !== WHOLE_GITEA && ofJob === ownerNow);
  return giteaUrl === group.origin && isOfOwner;
}

function holdsSlots(runner: Runner): boolean {
  return isAtWork(runner) || runner.state === 'debugging';
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
  return per === 'repository' ? repository.toLowerCase() : ownerOf(repository);
}
