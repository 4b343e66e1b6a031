/**
 * Guesses which other jobs a job may have needed. Gitea's API does not say: `needs` is in the workflow file only.
 * Besides `mayFollow` there is one hint: a job that once began before another job of its run had ended does not need
 * that one, in any run of the repository.
 */
import { addTo, ByGitea, memo } from '../collections.ts';
import type { Job, ListedJob } from '../evidence.ts';
import { baseName, mayFollow } from '../ready-since.ts';

/** One job of one attempt of a run, or all legs of its matrix. */
interface Span {
  /** Begin of the first leg, ms. Infinity: none has begun. */
  readonly beginMs: number;
  /** End of the last leg, ms. Infinity: one has not ended. */
  readonly endMs: number;
}

/** All jobs of one attempt of a run, by base name. */
type Attempt = Map<string, Span>;

/** Says whether a job can have waited for the end of another job of its run. */
export function needsFinder(jobs: readonly ListedJob[]): (listed: ListedJob, earlier: Job) => boolean {
  // Most plans never need this map.
  let repositories: ReadonlyMap<string, HasBegunBefore> | undefined;
  return (listed, earlier) => {
    if (!mayFollow(listed, earlier)) return false;
    const { job, origin } = listed;
    repositories ??= indexRuns(jobs);
    const hasBegunBefore = repositories.get(`${origin} ${job.repository}`);
    return !hasBegunBefore?.(baseName(job), baseName(earlier));
  };
}

/** Finds cancelled jobs that were most likely blocked: without a begin, and a job they may have needed has not ended. */
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

/** True if any run of a repository shows a job of the first name that began before all jobs of the second name had ended. */
type HasBegunBefore = (one: string, other: string) => boolean;

/** The jobs of each attempt of each run, by repository. */
function indexRuns(jobs: readonly ListedJob[]): ReadonlyMap<string, HasBegunBefore> {
  const repositories = new Map<string, Map<string, Attempt>>();
  for (const { job, origin } of jobs) {
    const place = `${origin} ${job.repository}`;
    const attempts = repositories.get(place) ?? new Map<string, Attempt>();
    repositories.set(place, attempts);
    // A rerun keeps the run's id: what began at the first attempt says nothing about ends of the second.
    const key = `${job.runId} ${job.attempt}`;
    const attempt: Attempt = attempts.get(key) ?? new Map<string, Span>();
    attempts.set(key, attempt);
    const base = baseName(job);
    const { beginMs, endMs } = attempt.get(base) ?? { beginMs: Number.POSITIVE_INFINITY, endMs: 0 };
    const { startedAtMs = Number.POSITIVE_INFINITY, completedAtMs = 0, status } = job;
    const endedMs = status === 'completed' ? completedAtMs : Number.POSITIVE_INFINITY;
    attempt.set(base, { beginMs: Math.min(beginMs, startedAtMs), endMs: Math.max(endMs, endedMs) });
  }
  return new Map([...repositories].map(([at, attempts]) => [at, begunBefore([...attempts.values()])]));
}

function begunBefore(attempts: readonly Attempt[]): HasBegunBefore {
  const findOthers = memo((one: string) =>
    memo((other: string) =>
      attempts.some((attempt) => {
        const [first, second] = [attempt.get(one), attempt.get(other)];
        return first !== undefined && second !== undefined && first.beginMs < second.endMs;
      }),
    ),
  );
  return (one, other) => findOthers(one)(other);
}
