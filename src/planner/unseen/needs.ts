/**
 * Guesses which other jobs a job may have needed. Gitea's API does not say: `needs` is in the workflow file only.
 * Besides `mayFollow` there is one hint: a job that once began before another job of its run had ended does not need
 * that one, in any run of the repository.
 */

import { addTo, ByGitea } from '../collections.ts';
import type { Job, ListedJob } from '../evidence.ts';
import { baseName, mayFollow } from '../ready-since.ts';

/** One job of one attempt of a run, or all legs of its matrix. */
interface Span {
  /** Begin of the first leg, ms. Infinity: none has begun. */
  beginMs: number;
  /** End of the last leg, ms. Infinity: one has not ended. */
  endMs: number;
}

/** All jobs of one attempt of a run, by base name. */
type Attempt = Map<string, Span>;

/** The known runs of one repository. */
interface Repository {
  readonly attempts: Map<string, Attempt>;
  /** Results so far, by both names. */
  readonly begunBefore: Map<string, boolean>;
}

/** Says whether a job can have waited for the end of another job of its run. */
export function needsFinder(jobs: readonly ListedJob[]): (listed: ListedJob, other: Job) => boolean {
  // Most plans never need this map.
  let repositories: ReadonlyMap<string, Repository> | undefined;
  return (listed, other) => {
    if (!mayFollow(listed, other)) return false;
    const { job, origin } = listed;
    repositories ??= indexRuns(jobs);
    const repository = repositories.get(`${origin} ${job.repository}`);
    return !repository || !hasBegunBefore(repository, baseName(job), baseName(other));
  };
}

/**
 * Returns a function that says whether a cancelled job without a begin was most likely blocked: a job that it may have
 * needed has not ended.
 */
export function blockedFinder(jobs: readonly ListedJob[]): (cancelled: ListedJob) => boolean {
  const mayNeed = needsFinder(jobs);
  // Most plans never need this map.
  let runs: ByGitea<Job[]> | undefined;
  return (cancelled) => {
    const { attempt, runId } = cancelled.job;
    runs ??= indexByRun(jobs);
    const ofRun = runs.get(cancelled.origin, runId) ?? [];
    return ofRun.some(
      (other) => other.attempt === attempt && other.status !== 'completed' && mayNeed(cancelled, other),
    );
  };
}

function indexByRun(jobs: readonly ListedJob[]): ByGitea<Job[]> {
  const runs = new ByGitea<Job[]>();
  for (const { job, origin } of jobs) addTo(runs.ofGitea(origin), job.runId, job);
  return runs;
}

/** True when any run shows a job of the first name that began before all jobs of the second name had ended. */
function hasBegunBefore({ attempts, begunBefore }: Repository, base: string, other: string): boolean {
  const key = `${base}\n${other}`;
  const known = begunBefore.get(key);
  if (known !== undefined) return known;
  const found = [...attempts.values()].some((attempt) => {
    const [one, two] = [attempt.get(base), attempt.get(other)];
    return one !== undefined && two !== undefined && one.beginMs < two.endMs;
  });
  begunBefore.set(key, found);
  return found;
}

function indexRuns(jobs: readonly ListedJob[]): ReadonlyMap<string, Repository> {
  const repositories = new Map<string, Repository>();
  for (const { job, origin } of jobs) {
    const at = `${origin} ${job.repository}`;
    const repository = repositories.get(at) ?? { attempts: new Map<string, Attempt>(), begunBefore: new Map() };
    repositories.set(at, repository);
    // A rerun keeps the run's id: what began at the first attempt says nothing about ends of the second.
    const key = `${job.runId} ${job.attempt}`;
    const attempt: Attempt = repository.attempts.get(key) ?? new Map<string, Span>();
    repository.attempts.set(key, attempt);
    const base = baseName(job);
    const span = attempt.get(base);
    const beginMs = Math.min(span?.beginMs ?? Number.POSITIVE_INFINITY, job.startedAtMs ?? Number.POSITIVE_INFINITY);
    const endMs = Math.max(
      span?.endMs ?? 0,
      job.status === 'completed' ? (job.completedAtMs ?? 0) : Number.POSITIVE_INFINITY,
    );
    attempt.set(base, { beginMs, endMs });
  }
  return repositories;
}
