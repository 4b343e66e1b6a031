/** The pages of `/api/v1` that generators, sweepers and tests use. One request in, one answer out; no sockets here. */
import { hash } from 'node:crypto';
import { ErrorAnswer, notFound, publicOnly, requireScope, requireUser, visibleRepo } from './access.ts';
import type { Answer, Ask } from './ask.ts';
import { jobJson, repoJson, runJson, runnerJson, runStatus, userJson } from './json.ts';
import { adminLevel, type ListedLevel, orgLevel, repoLevel, userLevel } from './levels.ts';
import { countHeaders, orderJobs, orderRunners, pageOf, statusFilter } from './lists.ts';
import { isDone, jobsOfAttempt, type RepoRow, type RunRow, repoOf } from './model.ts';
import { ownsRepo, readsRepo } from './people.ts';
import { cancelRun } from './queue.ts';
import { redirectOf } from './redirects.ts';
import { registrationToken, scopeOfToken } from './registration-tokens.ts';
import { type RerunChoice, RerunRefused, rerun } from './reruns.ts';
import { deleteRunner, register } from './runners.ts';

/** No such page: Gitea's router answers in plain text (routers/init.go, http.NotFound). */
const NO_PAGE: Answer = { status: 404 };
const WRONG_METHOD: Answer = { status: 405 };

const REGISTER = '/api/actions/runner.v1.RunnerService/Register';

/**
 * Handles `Register` without `Declare`, in JSON (routers/api/actions/runner/runner.go): the row is offline until its
 * runner comes. The request needs a registration token and no login.
 */
function registerOnly({ state, body }: Ask): Answer {
  const {
    name = '',
    token = '',
    labels = [],
  } = JSON.parse(body) as Readonly<Partial<Record<'name' | 'token', string> & Record<'labels', readonly string[]>>>;
  const scope = scopeOfToken(state, token);
  if (!scope) return { status: 500, body: { code: 'unknown', message: 'runner registration token not found' } };
  const row = register(state, { name, scope, labels });
  row.lastOnline = 0;
  const secret = hash('sha1', `secret of runner ${row.id}`);
  const uuid = secret.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
  return { status: 200, body: { runner: { id: String(row.id), uuid, token: secret, name, labels, ephemeral: true } } };
}

/** Answers one request. @throws ErrorAnswer for every answer that is an error in Gitea's JSON form. */
export function answer(ask: Ask): Answer {
  if (ask.path === REGISTER) return registerOnly(ask);
  const [api, v1, ...rest] = ask.path.split('/').slice(1).map(decodeURIComponent);
  if (api !== 'api' || v1 !== 'v1') return NO_PAGE;
  const [room = '', ...below] = rest;
  const redirect = redirectOf(ask);
  if (redirect) return redirect;
  switch (room) {
    case 'version':
      return below.length === 0 ? { status: 200, body: { version: ask.state.version } } : NO_PAGE;
    case 'settings':
      return settings(ask, below);
    case 'user':
      if (below[0] === 'orgs') return ownOrgs(ask);
      return below.length === 0 ? currentUser(ask) : actions(ask, below, userLevel);
    case 'users':
      return below[1] === 'orgs' ? orgPermissions(ask, below) : userRepos(ask, below);
    case 'admin':
      return actions(ask, below, adminLevel);
    case 'orgs':
      if (below.length === 1) return oneOrg(ask, below[0] ?? '');
      return actions(ask, below.slice(1), () => orgLevel(ask, below[0] ?? ''));
    case 'repos':
      if (below.length === 2) return oneRepo(ask, below.join('/'));
      return below[2] === 'statuses'
        ? addCommitStatus(ask, `${below[0]}/${below[1]}`, below.slice(3))
        : actions(ask, below.slice(2), () => repoLevel(ask, `${below[0]}/${below[1]}`));
    default:
      return NO_PAGE;
  }
}

/** `POST /repos/{owner}/{repo}/statuses/{sha}` (routers/api/v1/repo/status.go). Any sha is a commit here. */
function addCommitStatus({ state, doer, method, body }: Ask, fullName: string, below: readonly string[]): Answer {
  const [sha = ''] = below;
  if (below.length !== 1) return NO_PAGE;
  if (method !== 'POST') return WRONG_METHOD;
  requireScope(doer, 'repository', method);
  const user = requireUser(doer);
  const repo = visibleRepo(state, doer, fullName);
  if (!user.admin && !ownsRepo(state, user, repo))
    throw new ErrorAnswer(403, 'user should have a permission to write to a repo');
  const {
    context,
    description,
    state: is,
    target_url: targetUrl,
  } = JSON.parse(body) as Readonly<Record<string, string>>;
  if (!context || !description || !is || targetUrl === undefined) throw new ErrorAnswer(422, 'a field is missing');
  state.commitStatuses.push({ repoId: repo.id, sha, state: is, context, description, targetUrl });
  return { status: 201, body: { context, description, status: is, target_url: targetUrl } };
}

function settings({ setup }: Ask, below: readonly string[]): Answer {
  if (below.join('/') !== 'api') return NO_PAGE;
  return {
    status: 200,
    body: { max_response_items: setup.maxResponseItems, default_paging_num: setup.defaultPagingNum },
  };
}

function currentUser({ doer, method, setup }: Ask): Answer {
  requireScope(doer, 'user', method);
  const user = requireUser(doer);
  return { status: 200, body: userJson(user, user.admin, setup.root) };
}

function userRepos({ state, setup, doer, method, path, query }: Ask, below: readonly string[]): Answer {
  const [name = '', page] = below;
  if (page !== 'repos' || below.length !== 2) return NO_PAGE;
  requireScope(doer, 'user', method);
  requireScope(doer, 'repository', method);
  if (!state.users.has(name) && !state.orgs.has(name)) {
    throw new ErrorAnswer(404, `user redirect does not exist [name: ${name}]`);
  }
  const user = doer.user;
  const shown = [...state.repos.values()].filter((repo) => {
    if (repo.owner !== name) return false;
    return !repo.private || (!publicOnly(state, doer) && user && (user.admin || readsRepo(state, user, repo)));
  });
  const cut = pageOf(shown, query, setup);
  const headers = countHeaders(cut, path, query, setup.root);
  return { status: 200, headers, body: cut.rows.map((repo) => repoJson(repo, setup.root)) };
}

/** routers/api/v1/org/org.go, GetUserOrgsPermissions. */
function orgPermissions({ state, doer, method }: Ask, [user = '', , name = '', page]: readonly string[]): Answer {
  if (page !== 'permissions') return NO_PAGE;
  requireScope(doer, 'user', method);
  requireScope(doer, 'organization', method);
  requireUser(doer);
  const org = state.orgs.get(name);
  if (!org || !state.users.has(user)) throw notFound(state);
  const is_owner = org.owners.includes(user);
  const can_read = is_owner || org.members.includes(user);
  const rights = { can_read, can_write: is_owner, is_admin: is_owner, is_owner, can_create_repository: is_owner };
  return { status: 200, body: rights };
}

/** routers/api/v1/org/org.go, ListMyOrgs. */
function ownOrgs({ state, doer, method }: Ask): Answer {
  requireScope(doer, 'user', method);
  requireScope(doer, 'organization', method);
  const { name } = requireUser(doer);
  const own = [...state.orgs].filter(([, { members, owners }]) => owners.includes(name) || members.includes(name));
  return { status: 200, body: own.map(([org]) => ({ name: org })) };
}

/** routers/api/v1/org/org.go, Get. All organizations are public here. */
function oneOrg({ state, doer, method }: Ask, name: string): Answer {
  requireScope(doer, 'organization', method);
  if (!state.orgs.has(name)) throw notFound(state);
  return { status: 200, body: { name } };
}

function oneRepo({ state, setup, doer, method }: Ask, fullName: string): Answer {
  requireScope(doer, 'repository', method);
  const repo = visibleRepo(state, doer, fullName);
  const admin = doer.user !== undefined && (doer.user.admin || ownsRepo(state, doer.user, repo));
  return { status: 200, body: { ...repoJson(repo, setup.root), permissions: { admin, push: admin, pull: true } } };
}

function actions(ask: Ask, below: readonly string[], levelOf: (ask: Ask) => ListedLevel): Answer {
  const [room, page, ...rest] = below;
  if (room !== 'actions' || page === undefined) return NO_PAGE;
  const level = levelOf(ask);
  if (page === 'runners') return rest.length === 0 ? listRunners(ask, level) : oneRunner(ask, level, rest);
  if (rest.length === 0 && page === 'jobs') return listJobs(ask, level);
  if (rest.length === 0 && page === 'runs') return listRuns(ask, level);
  return level.repo ? repoPages(ask, level, level.repo, [page, ...rest]) : NO_PAGE;
}

function listJobs(ask: Ask, level: ListedLevel, run?: RunRow): Answer {
  const { state, setup, method, path, query } = ask;
  if (method !== 'GET') return WRONG_METHOD;
  level.requireReader();
  const statuses = statusFilter(state, query);
  const source = run ? jobsOfAttempt(state, run) : [...state.jobs.values()];
  const jobs = source.filter((job) => level.repos(repoOf(state, job)) && (!statuses || statuses.has(job.status)));
  const page = pageOf(orderJobs(state, jobs, query, setup.databaseOrder), query, setup);
  const headers = state.traits.countHeaders ? countHeaders(page, path, query, setup.root) : {};
  const body = { jobs: page.rows.map((job) => jobJson(state, job, setup.root)), total_count: page.total };
  return { status: 200, headers, body };
}

function listRuns(ask: Ask, level: ListedLevel): Answer {
  const { state, setup, method, path, query } = ask;
  if (method !== 'GET') return WRONG_METHOD;
  level.requireReader();
  const statuses = statusFilter(state, query);
  const runs = [...state.runs.values()]
    .filter((run) => level.repos(repoOf(state, run)) && (!statuses || statuses.has(runStatus(state, run))))
    .sort((a, b) => b.id - a.id);
  const page = pageOf(runs, query, setup);
  const headers = state.traits.countHeaders ? countHeaders(page, path, query, setup.root) : {};
  const body = { workflow_runs: page.rows.map((run) => runJson(state, run, setup.root)), total_count: page.total };
  return { status: 200, headers, body };
}

function listRunners(ask: Ask, level: ListedLevel): Answer {
  const { state, setup, method, query } = ask;
  if (method !== 'GET') return WRONG_METHOD;
  level.requireOwner();
  const disabled = state.traits.disabledRunners ? query.get('disabled') : null;
  const runners = [...state.runners.values()].filter(
    (runner) =>
      !runner.deleted && level.runners(runner) && (!disabled || runner.disabled === ['1', 'true'].includes(disabled)),
  );
  const page = pageOf(orderRunners(state, runners), query, setup);
  const body = { runners: page.rows.map((runner) => runnerJson(state, runner)), total_count: page.total };
  return { status: 200, body };
}

function oneRunner(ask: Ask, level: ListedLevel, rest: readonly string[]): Answer {
  const { state, method, body } = ask;
  const id = Number(rest[0]);
  if (rest.length !== 1) return NO_PAGE;
  if (rest[0] === 'registration-token') return giveRegistrationToken(ask, level);
  if (method === 'PATCH' && !state.traits.disabledRunners) return WRONG_METHOD;
  level.requireOwner();
  const runner = state.runners.get(id);
  if (!runner || runner.deleted)
    throw notFound(state, `runner with id ${id}: resource does not exist`, ['Runner not found']);
  const foreign = 'No permission to access this runner';
  if (!level.runners(runner)) throw notFound(state, foreign, [foreign]);
  switch (method) {
    case 'DELETE':
      deleteRunner(state, id);
      return { status: 204 };
    case 'PATCH':
      runner.disabled = disabledOf(body);
      runner.tasksVersion = 0;
      return { status: 200, body: runnerJson(state, runner) };
    case 'GET':
      return { status: 200, body: runnerJson(state, runner) };
    default:
      return WRONG_METHOD;
  }
}

/** GET works up to 1.26.x in Gitea. Nothing here uses it. */
function giveRegistrationToken({ state, method }: Ask, level: ListedLevel): Answer {
  if (method !== 'POST') return WRONG_METHOD;
  level.requireOwner();
  return { status: 200, body: { token: registrationToken(state, level.scope) } };
}

function disabledOf(body: string): boolean {
  try {
    const form: unknown = JSON.parse(body);
    if (typeof form === 'object' && form !== null && 'disabled' in form && typeof form.disabled === 'boolean') {
      return form.disabled;
    }
  } catch {
    // A body that is not JSON lacks the field, too.
  }
  throw new ErrorAnswer(422, '[Disabled]: Required');
}

/** Pages that only the repository level has: one job, one run, reruns. */
function repoPages(ask: Ask, level: ListedLevel, repo: RepoRow, below: readonly string[]): Answer {
  const { state, setup, method } = ask;
  const shape = below.map((part) => (/^\d+$/.test(part) ? 'N' : part)).join('/');
  const [first, second] = below.filter((part) => /^\d+$/.test(part)).map(Number);
  // All who may read the repository's Actions, in all versions. Rows are not simulated.
  if (shape === 'tasks') return { status: 200, body: { workflow_runs: null, total_count: 0 } };
  level.requireReader();
  if (shape === 'jobs/N') {
    const job = state.jobs.get(first ?? 0);
    if (!job || job.repoId !== repo.id) throw notFound(state, 'not found', ['not found', 'resource does not exist']);
    return method === 'GET' ? { status: 200, body: jobJson(state, job, setup.root) } : WRONG_METHOD;
  }
  return runPages(ask, level, repo, shape, first, second);
}

function runPages(
  ask: Ask,
  level: ListedLevel,
  repo: RepoRow,
  shape: string,
  first: number | undefined,
  second: number | undefined,
): Answer {
  const { state, setup, method } = ask;
  const run = state.runs.get(first ?? 0);
  const reruns = ['runs/N/rerun', 'runs/N/rerun-failed-jobs', 'runs/N/jobs/N/rerun'].includes(shape);
  const cancels = state.traits.forceCancel && shape === 'runs/N/force-cancel';
  const known = ['runs/N', 'runs/N/jobs'].includes(shape) || reruns || cancels;
  if (!known || (reruns && !state.traits.rerunEndpoint)) return NO_PAGE;
  const noRun = `run with id ${first}: resource does not exist`;
  if (!run || run.repoId !== repo.id) throw notFound(state, noRun, ['not found', noRun]);
  if (shape === 'runs/N') return { status: 200, body: runJson(state, run, setup.root) };
  if (shape === 'runs/N/jobs') return listJobs(ask, level, run);
  if (cancels) return method === 'POST' ? forceCancelPage(ask, repo, run) : WRONG_METHOD;
  return method === 'POST' ? rerunPage(ask, repo, run, shape.includes('failed') ? 'failed' : second) : WRONG_METHOD;
}

function requireWriter({ state, doer }: Ask, repo: RepoRow): void {
  const user = requireUser(doer);
  if (!user.admin && !ownsRepo(state, user, repo)) {
    throw new ErrorAnswer(403, 'user should have specific write permission or be a repo admin or a site admin');
  }
}

/** routers/api/v1/repo/actions_run.go, ForceCancelWorkflowRun (28.0). */
function forceCancelPage(ask: Ask, repo: RepoRow, run: RunRow): Answer {
  const { state, setup } = ask;
  requireWriter(ask, repo);
  if (jobsOfAttempt(state, run).every(({ status }) => isDone(status)))
    throw new ErrorAnswer(409, 'run is already completed');
  cancelRun(state, run.id, true);
  return { status: 200, body: runJson(state, run, setup.root) };
}

function rerunPage(ask: Ask, repo: RepoRow, run: RunRow, choice: RerunChoice): Answer {
  const { state, setup } = ask;
  requireWriter(ask, repo);
  const old = jobsOfAttempt(state, run).find((job) => job.id === choice);
  if (typeof choice === 'number' && !old) {
    throw notFound(state, 'workflow job not found', ['not found', `workflow job with id ${choice}`]);
  }
  try {
    const jobs = rerun(state, run.id, choice);
    const again = jobs.find((job) => job.position === old?.position);
    return { status: 201, body: again ? jobJson(state, again, setup.root) : runJson(state, run, setup.root) };
  } catch (error) {
    if (error instanceof RerunRefused) throw new ErrorAnswer(400, error.message);
    throw error;
  }
}
