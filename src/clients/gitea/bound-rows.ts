/**
 * Reads rows of runners that are bound to one repository, which lists of organizations and users lack
 * (`FindRunnerOptions`, Gitea 1.27.3). Asks only where a runner's container runs and no job names it.
 */
import type { Job, LiveJob, RegisteredRunner } from '../../planner/evidence.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';
import { hasJobsOf, type Scope } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';
import type { GiteaApi } from './api.ts';
import { isGiteaName, levelOfRepository } from './endpoints.ts';
import { readRunners } from './lists.ts';

/** A runner that gets jobs of one repository alone, and whose container runs. */
export type BoundRunner = Pick<LiveJob, 'name' | 'boundTo' | 'giteaUrl'>;

/** Repositories asked in one look. Of a runner without a row nothing is known, so it stays. */
const MOST_REPOSITORIES = 10;
/** Failures that do not end the look: the repository is gone, or the token may not see its runners. */
const TELLS_NOTHING = new Set(['not-found', 'forbidden', 'policy']);

/** The rows of these runners, if they are in the scope and none of the jobs names them. @throws Failure */
export async function readBoundRows(
  api: GiteaApi,
  { url, scope }: { readonly url: string; readonly scope: Scope },
  bound: readonly BoundRunner[],
  jobs: Iterable<Job>,
): Promise<readonly RegisteredRunner[]> {
  // These two lists have the rows of bound runners.
  if (scope.kind === 'global' || scope.kind === 'repo') return [];
  const atWork = namesAtWork(jobs);
  const place = { ...scope, now: api.renamedTo(scope) };
  const boundByRepository = groupBy(bound, ({ name, boundTo = '', giteaUrl = url }) => {
    const [, repo = ''] = boundTo.split('/');
    // Somebody may write a Job that says what no repository is called.
    const isHere = normalBase(giteaUrl) === normalBase(url) && isGiteaName(repo) && hasJobsOf(place, boundTo);
    return isHere && !atWork.has(name) ? boundTo.toLowerCase() : undefined;
  });
  const rowsOfRepositories = inTurn([...boundByRepository.keys()].sort(), api.nowMs()).map(async (repository) => {
    const rows = await orFailure(readRunners(api, levelOfRepository(repository)));
    if (rows instanceof Failure && !TELLS_NOTHING.has(rows.kind)) throw rows;
    const names = new Set(boundByRepository.get(repository)?.map(({ name }) => name));
    return rows instanceof Failure ? [] : rows.filter(({ name }) => names.has(name));
  });
  return (await Promise.all(rowsOfRepositories)).flat();
}

/** Names of runners that have a job. */
export function namesAtWork(jobs: Iterable<Job>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { status, runner } of jobs) if (status === 'in_progress' && runner !== undefined) names.add(runner);
  return names;
}

/** Returns some of them, chosen by the time: each has its turn, and nothing is remembered between two looks. */
function inTurn<T>(all: readonly T[], nowMs: number): readonly T[] {
  const first = Math.trunc(nowMs) % Math.max(1, all.length);
  return [...all.slice(first), ...all.slice(0, first)].slice(0, MOST_REPOSITORIES);
}
