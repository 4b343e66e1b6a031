/** 1 JOIN: every job once, oldest first, and which looks list it. */
import type { Evidence, Group, Job, JobStatus, Look } from './evidence.ts';
import { ByGitea } from './maps.ts';

/** A job, its Gitea, and the looks that list it. */
export interface ListedJob {
  readonly job: Job;
  readonly origin: string;
  /** In the order of their groups. */
  readonly looks: readonly string[];
}

/** All jobs that any look lists. */
export interface JobList {
  /** Oldest first (`byAge`). */
  readonly jobs: readonly ListedJob[];
  readonly findJob: (origin: string, id: number) => ListedJob | undefined;
}

/** How far a job has come. Two looks are never taken in the same instant; the later state is the true one. */
const PROGRESS: Readonly<Record<JobStatus, number>> = { blocked: 0, queued: 1, completed: 2, in_progress: 3 };

/**
 * Each look of these groups once, with one of the groups that read it.
 * @throws Error when one is missing: a plan without it would drop the runners of its groups
 */
export function looksOf(groups: readonly Group[], evidence: Evidence): readonly (readonly [Group, Look])[] {
  const firstOf = new Map<string, readonly [Group, Look]>();
  for (const group of groups) {
    const look = evidence.looks.get(group.look);
    if (!look) throw new Error(`no look at Gitea for RunnerGroup ${group.namespace}/${group.name}`);
    if (!firstOf.has(group.look)) firstOf.set(group.look, [group, look]);
  }
  return [...firstOf.values()];
}

/**
 * Joins all looks. When two looks disagree about a job, the higher attempt wins, then the later state. A job that any look shows in
 * progress stays in progress, because dropping its runner kills it.
 */
export function joinLooks(groups: readonly Group[], evidence: Evidence): JobList {
  const known = new ByGitea<{ job: Job; readonly origin: string; readonly looks: string[] }>();
  for (const [{ look, origin }, { jobs: listed }] of looksOf(groups, evidence)) {
    const ofGitea = known.ofGitea(origin);
    for (const job of listed) {
      const other = ofGitea.get(job.id);
      if (!other) {
        ofGitea.set(job.id, { job, origin, looks: [look] });
        continue;
      }
      other.looks.push(look);
      if (isNewer(job, other.job)) other.job = job;
    }
  }
  return { jobs: [...known.values()].sort(byAge), findJob: (origin, id) => known.get(origin, id) };
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
