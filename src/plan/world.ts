/** Joins the looks into one view per Gitea: every job once, in age order, and who sees it. */
import { ByGitea } from './by-gitea.ts';
import type { Evidence, Group, Job, JobStatus, Look } from './evidence.ts';

/** A job together with its Gitea and the looks that list it. */
export interface SeenJob {
  readonly job: Job;
  readonly origin: string;
  readonly looks: ReadonlySet<string>;
}

/** How far a job has come. Two looks are never taken in the same instant; the later state is the true one. */
const PROGRESS: Readonly<Record<JobStatus, number>> = { blocked: 0, queued: 1, completed: 2, in_progress: 3 };

/** The look of a group. Throws when it is missing: planning without it would drop the group's runners. */
export function lookOf(group: Group, evidence: Evidence): Look {
  const look = evidence.looks.get(group.look);
  if (!look) throw new Error(`no look at Gitea for RunnerGroup ${group.namespace}/${group.name}`);
  return look;
}

/** All jobs that any look lists. */
export interface World {
  /** Oldest first (`byAge`). */
  readonly jobs: readonly SeenJob[];
  readonly find: (origin: string, id: number) => SeenJob | undefined;
}

/**
 * Every job of every look once. When looks disagree the higher attempt wins, then the busier state: a job that any look shows in
 * progress stays in progress, because dropping its runner kills it.
 */
export function seeJobs(groups: readonly Group[], evidence: Evidence): World {
  const seen = new ByGitea<OpenJob>();
  const jobs: OpenJob[] = [];
  const read = new Set<string>();
  const joined = setJoiner();
  for (const group of groups) {
    if (read.has(group.look)) continue;
    read.add(group.look);
    const { origin } = group;
    const ofGitea = seen.ofGitea(origin);
    const here: ReadonlySet<string> = new Set([group.look]);
    for (const job of lookOf(group, evidence).jobs) {
      const known = ofGitea.get(job.id);
      if (!known) {
        const first = { job, origin, looks: here };
        ofGitea.set(job.id, first);
        jobs.push(first);
        continue;
      }
      known.looks = joined(known.looks, group.look);
      if (isNewer(job, known.job)) known.job = job;
    }
  }
  return { jobs: jobs.sort(byAge), find: (origin, id) => seen.get(origin, id) };
}

/** While the looks are joined. */
interface OpenJob {
  job: Job;
  readonly origin: string;
  looks: ReadonlySet<string>;
}

/** A function that adds to a set without changing it. Equal sets of looks are the same object, so owners are found once for each. */
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

function isNewer(a: Job, b: Job): boolean {
  if (a.attempt !== b.attempt) return a.attempt > b.attempt;
  if (a.status !== b.status) return PROGRESS[a.status] > PROGRESS[b.status];
  if (isSame(a, b)) return false;
  // Same state, read twice: any fixed choice will do, so that the order of the looks does not matter.
  return JSON.stringify(a) > JSON.stringify(b);
}

/** What several looks see is nearly always this: one text for each would cost more than the rest of the planning. */
function isSame(a: Job, b: Job): boolean {
  return (
    a.runner === b.runner &&
    a.startedAtMs === b.startedAtMs &&
    a.completedAtMs === b.completedAtMs &&
    a.createdAtMs === b.createdAtMs &&
    a.runId === b.runId &&
    a.repository === b.repository &&
    a.name === b.name &&
    a.url === b.url &&
    a.labels.length === b.labels.length &&
    a.labels.every((label, at) => label === b.labels[at])
  );
}

/** Oldest first: `createdAtMs`, then id, then Gitea. No two jobs are equal. */
export function byAge(a: SeenJob, b: SeenJob): number {
  return a.job.createdAtMs - b.job.createdAtMs || a.job.id - b.job.id || compareText(a.origin, b.origin);
}

/** By namespace and name, which no two groups share. */
export function byKey(a: Group, b: Group): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** Order by UTF-16 code units: the same on every machine, unlike `localeCompare`. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
