/**
 * Scope user with another user's token: Gitea has no `/users/{user}/actions/…`, so each repository is asked.
 *
 * Such a look has no runners: Gitea lists them for that user alone. So the planner does not see a runner that is idle, or
 * whose job is being cancelled. The user's own token has no such limits, and needs one request for all repositories.
 */
import { Failure, orFailure } from '../../shared/failure.ts';
import type { Scope } from '../../shared/scope.ts';
import type { GiteaApi, Question } from './api.ts';
import { readCompletedJobs } from './completed-jobs.ts';
import { type Level, levelOf, repoLevel, segment } from './endpoints.ts';
import { askPageSize, type JobsById, pageOf, readActiveJobs } from './lists.ts';
import { PAGE_LIMIT } from './paging.ts';
import { readLogin, readRepos } from './shapes.ts';

const PASSES = 4;
/** Repositories of one user. Each costs a look one request, two when anything is queued or runs. */
const MOST_REPOS = 500;

/** The level of a scope. Undefined: of a user whose token this is not (Gitea's names ignore case). */
export async function ownLevel(api: GiteaApi, scope: Scope): Promise<Level | undefined> {
  if (scope.kind !== 'user') return levelOf(scope);
  const hints = { rights: { scope: 'scope read:user' }, missing: 'Check spec.gitea.url' };
  const ask = (action: string, path: string) => api.get({ what: action, path, ...hints }, readLogin);
  const login = await ask('ask whose token it is', '/user');
  const isOwn = (name = scope.user): boolean => name.toLowerCase() === login.toLowerCase();
  if (isOwn()) return levelOf(scope);
  // The user may have been renamed. His list of repositories tells the new name, if the token may read it.
  const listed = await orFailure(firstPage(api, scope.user));
  if (listed instanceof Failure) await orFailure(ask('ask for his name', `/users/${segment(scope.user)}`));
  return isOwn(api.renamedTo(scope)) ? levelOf(scope) : undefined;
}

/** Puts the jobs of all repositories of `user` into `jobs`; completed ones if any is active, or by `readsEnds`. */
export async function readJobsByRepo(
  api: GiteaApi,
  user: string,
  { includeBlocked, readsEnds }: { readonly includeBlocked: boolean; readonly readsEnds: boolean },
  jobs: JobsById,
): Promise<void> {
  const levels = await levelsOfUser(api, user);
  await Promise.all(levels.map((level) => readActiveJobs(api, level, includeBlocked, jobs)));
  const active = [...jobs.values()].some(({ status }) => status !== 'blocked');
  if (active || readsEnds)
    await Promise.all(levels.map((level) => readCompletedJobs(api, level, jobs, { rows: PAGE_LIMIT })));
}

/**
 * Returns the levels of a user's repositories that may have jobs. Gitea counts rows that the token may not see, so a page
 * may be short or empty in the middle: the number of pages follows from X-Total-Count and the server's page size.
 * @throws Failure: also for a 403 or 404 of a listed repository
 */
export async function levelsOfUser(api: GiteaApi, user: string): Promise<readonly Level[]> {
  const question = reposOf(user);
  const size = await askPageSize(api);
  for (let pass = 1; ; pass += 1) {
    const first = await (pass === 1 ? firstPage(api, user) : readRepoPage(api, question, 1));
    // After a full last page one more page is read: it is empty, or the count is wrong. `floor` includes that page if
    // the last page is full.
    const numbers = Array.from({ length: Math.floor(first.total / size) }, (_, index) => index + 2);
    const pages = [first, ...(await Promise.all(numbers.map((page) => readRepoPage(api, question, page))))];
    const moves = pages.some(({ total }) => total !== first.total);
    const tooFull = pages.some(({ rows }, index) => rows.length > Math.max(0, first.total - index * size));
    const repos = pages.flatMap(({ rows }) => rows.filter(({ mayHaveJobs }) => mayHaveJobs));
    if (!moves && !tooFull) return repos.map(({ owner, name }) => repoLevel(owner, name));
    if (pass === PASSES) {
      const received = moves ? 'X-Total-Count changes with every page' : 'more rows arrived than X-Total-Count says';
      throw api.failure(question, 'GR-GITEA-09', received, 'Check what stands before Gitea (caches), or try again');
    }
  }
}

function reposOf(user: string): Question {
  return {
    what: `list the repositories of user ${user}`,
    path: `/users/${segment(user)}/repos`,
    rights: { scope: 'scopes read:user and read:repository' },
    missing: `Check that user ${user} exists and that the token's user may see it`,
  };
}

const firstPages = new WeakMap<GiteaApi, ReturnType<typeof readRepoPage>>();

/** Asked once for one look. */
function firstPage(api: GiteaApi, user: string): ReturnType<typeof readRepoPage> {
  if (!firstPages.has(api)) firstPages.set(api, readRepoPage(api, reposOf(user), 1));
  return firstPages.get(api) as ReturnType<typeof readRepoPage>;
}

async function readRepoPage(api: GiteaApi, question: Question, page: number) {
  const { rows, header } = await api.get(pageOf(question, page), (json, _version, answer) => ({
    rows: readRepos(json),
    header: answer.header('x-total-count') ?? '',
  }));
  if (!/^\d{1,9}$/.test(header)) {
    const received = 'the header X-Total-Count is missing, so the end of the list is unknown';
    const remedy = 'Let what stands before Gitea pass it on, or use a token of the user himself';
    throw api.failure(question, 'GR-GITEA-09', received, remedy);
  }
  const total = Number(header);
  if (total > MOST_REPOS) {
    const received = `Gitea counts ${total} repositories; at most ${MOST_REPOS} are asked one by one`;
    const remedy =
      'Use a token of the user himself (one request for all of them), or a RunnerGroup of scope repo for each repository that needs runners';
    throw api.failure(question, 'GR-GITEA-10', received, remedy);
  }
  return { rows, total };
}
