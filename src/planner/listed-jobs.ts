/** Joins the looks at each Gitea: every job once, oldest first, and which looks list it. */
import { ByGitea } from './by-gitea.ts';
import type { Evidence, Group, Job, JobStatus, Look } from './evidence.ts';

/** A job, its Gitea, and the looks that list it. */
export interface ListedJob {
  readonly job: Job;
  readonly origin: string;
  readonly looks: ReadonlySet<string>;
}

/** All jobs that any look lists. */
export interface JobList {
  /** Oldest first (`byAge`). */
  readonly jobs: readonly ListedJob[];
  readonly findJob: (origin: string, id: number) => ListedJob | undefined;
}

/** How far a job has come. Two looks are never taken in the same instant; the later state is the true one. */
const PROGRESS: Readonly<Record<JobStatus, number>> = { blocked: 0, queued: 1, completed: 2, in_progress: 3 };

/** The look of a group. Throws when it is missing: planning without it would drop the group's runners. */
function lookOf(group: Group, evidence: Evidence): Look {
  const look = evidence.looks.get(group.look);
  if (!look) throw new Error(`no look at Gitea for RunnerGroup ${group.namespace}/${group.name}`);
  return look;
}

/** Each look of these groups once, with one of the groups that read it. */
export function looksOf(groups: readonly Group[], evidence: Evidence): readonly (readonly [Group, Look])[] {
  const firstOf = new Map<string, readonly [Group, Look]>();
  for (const group of groups) {
    if (!firstOf.has(group.look)) firstOf.set(group.look, [group, lookOf(group, evidence)]);
  }
  return [...firstOf.values()];
}

/**
 * Joins all looks. When two looks disagree about a job, the higher attempt wins, then the later state. A job that any look shows in
 * progress stays in progress, because dropping its runner kills it.
 */
export function joinLooks(groups: readonly Group[], evidence: Evidence): JobList {
  const known = new ByGitea<OpenJob>();
  const jobs: OpenJob[] = [];
  const joined = setJoiner();
  for (const [{ look, origin }, { jobs: listed }] of looksOf(groups, evidence)) {
    const ofGitea = known.ofGitea(origin);
    const here: ReadonlySet<string> = new Set([look]);
    for (const job of listed) {
      const other = ofGitea.get(job.id);
      if (!other) {
        const first = { job, origin, looks: here };
        ofGitea.set(job.id, first);
        jobs.push(first);
        continue;
      }
      other.looks = joined(other.looks, look);
      if (isNewer(job, other.job)) other.job = job;
    }
  }
  return { jobs: jobs.sort(byAge), findJob: (origin, id) => known.get(origin, id) };
}

/** A `ListedJob` while the looks are joined. */
interface OpenJob {
  job: Job;
  readonly origin: string;
  looks: ReadonlySet<string>;
}

/** Adds to a set without changing it. Equal sets are the same object, so the owners of a set of looks are worked out once. */
function setJoiner(): (set: ReadonlySet<string>, more: string) => ReadonlySet<string> {
  const known = new Map<ReadonlySet<string>, Map<string, ReadonlySet<string>>>();
  return (set, more) => {
    const bigger = known.get(set) ?? new Map<string, ReadonlySet<string>>();
    known.set(set, bigger);
    const joined = bigger.get(more) ?? new Set([...set, more]);
    bigger.set(more, joined);
    return joined;
  };
}

/** Of the same state, read twice, the first one will do. */
function isNewer(a: Job, b: Job): boolean {
  return a.attempt === b.attempt ? PROGRESS[a.status] > PROGRESS[b.status] : a.attempt > b.attempt;
}

/** Oldest first: `createdAtMs`, then id, then Gitea. No two jobs are equal. */
function byAge(a: ListedJob, b: ListedJob): number {
  return a.job.createdAtMs - b.job.createdAtMs || a.job.id - b.job.id || compareText(a.origin, b.origin);
}

/** By namespace and name. No two groups are equal. */
export function byKey(a: Group, b: Group): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Order by UTF-16 code units: the same on every machine, unlike `localeCompare`. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
