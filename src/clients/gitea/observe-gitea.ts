/**
 * One look at Gitea: everything the planner may know from there, complete or not at all.
 *
 *   version ─┐                           (with `ahead` runners and newest completed jobs are asked for here, too)
 *   jobs ────┴─► queued and in_progress in one page? ─ no ─► queued, then in_progress, page by page
 *                          │ nothing there, no warm pool, no pinned Job: done (with `readsEnds`: newest completed jobs)
 *                          ▼
 *                runners  and  newest completed jobs        (in parallel; and rows of bound runners: bound-rows.ts)
 *                          ▼
 *                nobody sees live Jobs, and the oldest active job is older than these? ─► further completed jobs
 *                          ▼
 *                a runner of ours works but no job says so? ─► in_progress once more
 */
import type { Job, Look, RegisteredRunner } from '../../planner/evidence.ts';
import { Failure, joinFailures, orFailure, successes } from '../../shared/failure.ts';
import type { Scope } from '../../shared/scope.ts';
import { normalBase } from '../../shared/url.ts';
import { HttpClient, type HttpOptions, type Sender } from '../http/http-client.ts';
import { Deadline } from '../http/request.ts';
import type { Token } from '../tokens/token.ts';
import { GiteaApi, type VersionCache } from './api.ts';
import { type BoundRunner, namesAtWork, readBoundRows } from './bound-rows.ts';
import { LookMemory, Shelf } from './bounds.ts';
import { lacksHistory, readCompletedJobs, readHistory } from './completed-jobs.ts';
import { describeScope, type Level } from './endpoints.ts';
import { foreignToken } from './failures.ts';
import { type JobsById, readActiveJobs, readJobsIn, readRunners } from './lists.ts';
import { PAGE_LIMIT } from './paging.ts';
import { ownLevel, readJobsByRepo } from './user-repos.ts';

/** One scope of one Gitea with one token. Groups that share all three share the look. */
export interface GiteaTarget {
  readonly key: string;
  readonly url: string;
  readonly scope: Scope;
  readonly token: Token;
  /** Labels of its groups. A job with any other label is kept for people only. Absent: labels are not known. */
  readonly labels?: ReadonlySet<string>;
  /** A group keeps runners whose CI job failed: completed jobs are read also when no job is queued or runs. */
  readonly readsEnds?: true;
  /** Runners and completed jobs are read although nothing is queued or runs: a group keeps a warm pool. */
  readonly hasPool?: true;
}

/** Settings of all requests to Gitea, from flags and environment (command-settings.ts). Handed down whole. */
export interface GiteaSettings extends Pick<HttpOptions, 'ca' | 'env'> {
  /** Time limit for one look, or for the whole run of a command, ms. */
  readonly timeoutMs: number;
}

/** `clock`: by which times in answers are judged. */
export interface ObserveOptions
  extends Omit<GiteaSettings, 'timeoutMs'>,
    Pick<HttpOptions, 'clock' | 'clocks' | 'onRequest'> {
  /** Time limit for all targets and all requests together, ms. Default of the command: 20 000. */
  readonly deadlineMs: number;
  /** Lists blocked jobs, too (`explain`). */
  readonly includeBlocked: boolean;
  /** Asks for runners and completed jobs together with active jobs: one wait instead of two (docs/adr/0011). */
  readonly ahead?: boolean;
  /** Asked when more jobs completed since the oldest active one began. True: they are read, too (docs/adr/0019). */
  readonly needsHistory?: () => Promise<boolean>;
  /** Asked when no job is queued or runs. True: runners are read all the same, e.g. for a pinned one. */
  readonly needsRows?: () => Promise<boolean>;
  /** Asked when runners are read. Their rows stand in lists of their own (bound-rows.ts). */
  readonly boundRunners?: () => Promise<readonly BoundRunner[]>;
  /** Kept by a process that looks again and again. Default: these targets share it as if one namespace had them. */
  readonly memory?: Pick<LookMemory, 'begin'>;
  /** `GiteaAccess.careful`. */
  readonly careful?: boolean | 'once';
  /** `HttpRequest.queue` of all its requests. Default: the target's key. */
  readonly queue?: string;
  /** Kept by a process that looks again and again, so that it asks each version once. Default: a new one. */
  readonly versions?: VersionCache;
  /** Kept by the same, for open connections; `ca`, `env`, `onRequest` and `clocks` then have no effect. Default: a new one. */
  readonly http?: Sender;
}

/** Longest answer. 50 jobs take 60 KB, with a hundred steps each a megabyte; parsed it takes up to forty times as much. */
const BODY_LIMIT = 4 * 1024 * 1024;

/** Looks at all targets at once, and returns the looks by `key`. @throws Failure with all causes: exit 1, or exit 3 if a token is another Gitea's */
export async function observe(targets: readonly GiteaTarget[], options: ObserveOptions) {
  for (const target of targets) refuseForeignToken(target);
  return collectLooks(await observeEach(targets, options));
}

/** Looks at all targets, and returns each look or its failure by `key`. For a process that looks again and again. */
export async function observeEach(targets: readonly GiteaTarget[], options: ObserveOptions) {
  const deadline = new Deadline(options.deadlineMs, options.clock);
  // `clock` judges the times of Gitea's answers. Dates of servers are compared with this machine's clock.
  const { clock, ...sending } = options;
  const http = options.http ?? giteaClient(sending);
  const { careful = false, queue, versions = new Map() } = options;
  const memory = options.memory ?? new LookMemory(new Map(targets.map((target) => [target, new Set([''])])));
  const lookAtOne = async (target: GiteaTarget): Promise<Look> => {
    const { key, url, token, scope, labels } = target;
    refuseForeignToken(target);
    const { origin } = new URL(url);
    const furtherPages = targets.every(
      (otherTarget) => otherTarget === target || new URL(otherTarget.url).origin !== origin,
    );
    const room = memory.begin(key);
    const shelf = new Shelf(room, labels);
    const access = { http, url, token, deadline, versions, careful, queue: queue ?? key, shelf, now: clock?.now };
    const api = new GiteaApi(access);
    const look = await lookAt(api, target, options, furtherPages).catch((error: unknown) => {
      room.end(undefined);
      throw error;
    });
    room.end(shelf.used);
    const renamedTo = api.renamedTo(scope);
    return { ...look, ...(renamedTo && { renamedTo }), ...(shelf.leftOut > 0 && { unreadJobs: shelf.leftOut }) };
  };
  try {
    const looks = targets.map(async (target) => [target.key, await orFailure(lookAtOne(target))] as const);
    return new Map(await Promise.all(looks));
  } finally {
    if (http instanceof HttpClient && http !== options.http) await http.close();
  }
}

/** Sends requests to Gitea as `observe` does; to be closed by the caller. */
export function giteaClient({ deadlineMs, ...sending }: HttpOptions & Pick<ObserveOptions, 'deadlineMs'>): HttpClient {
  const addressIn = 'in spec.gitea.url, and in key url of the Secret with the token';
  const attemptMs = Math.max(10_000, deadlineMs / 2);
  return new HttpClient({ addressIn, ...sending, attemptMs, bodyLimit: BODY_LIMIT });
}

function refuseForeignToken({ url, scope, token }: GiteaTarget): void {
  if (normalBase(url) !== token.base) throw foreignToken(`look at ${describeScope(scope)}`, url, token);
}

/** Returns all looks. @throws Failure with the causes of all failed looks */
export function collectLooks(looks: ReadonlyMap<string, Look | Failure>): ReadonlyMap<string, Look> {
  const [first, ...otherFailures] = [...looks.values()].filter((look) => look instanceof Failure);
  if (first) throw joinFailures([first, ...otherFailures]);
  return successes(looks);
}

/** Looks at one target. @param furtherPages with `ahead`: also pages that may not be there */
async function lookAt(api: GiteaApi, target: GiteaTarget, options: ObserveOptions, furtherPages: boolean) {
  const { readsEnds = false, scope } = target;
  const { includeBlocked } = options;
  const level = await ownLevel(api, scope);
  if (level) return await lookAtLevel(api, level, target, options, furtherPages);
  const jobs: JobsById = new Map();
  if (scope.kind === 'user') await readJobsByRepo(api, scope.user, { includeBlocked, readsEnds }, jobs);
  return { jobs: [...jobs.values()], runners: [] };
}

async function lookAtLevel(
  api: GiteaApi,
  level: Level,
  target: GiteaTarget,
  options: ObserveOptions,
  furtherPages: boolean,
): Promise<Look> {
  const jobs: JobsById = new Map();
  const early = options.ahead ? lookAhead(api, level, furtherPages) : undefined;
  const read = await readActiveJobs(api, level, options.includeBlocked, jobs);
  // A job that is being cancelled (1.27) is in no list. Its runner was seen busy: its Job is pinned or, where nobody sees Jobs, has its
  // grace period.
  const active = [...jobs.values()].some(({ status }) => status !== 'blocked');
  if (!active && !target.hasPool && !(await options.needsRows?.())) {
    if (target.readsEnds) await (early ? early(jobs) : readCompletedJobs(api, level, jobs, { rows: PAGE_LIMIT }));
    return { jobs: [...jobs.values()], runners: [] };
  }

  // Reading several pages takes a while. Lists that were requested before would then be older than the jobs.
  const reading =
    early && read === 'snapshot'
      ? early(jobs)
      : Promise.all([readRunners(api, level), readCompletedJobs(api, level, jobs)]);
  // Jobs that `reading` adds have ended: they name nobody at work.
  const bound = options.boundRunners?.().then((all) => readBoundRows(api, target, all, jobs.values()));
  const [[ofLevel, completed], ofRepositories = []] = await Promise.all([reading, bound]);
  const runners = [...ofLevel, ...ofRepositories];
  if (lacksHistory(completed, jobs) && (await options.needsHistory?.())) await readHistory(api, completed, jobs);
  if (hasUnexplainedRunner(runners, jobs.values())) await readJobsIn(api, level, 'in_progress', jobs);
  return { jobs: [...jobs.values()], runners, rowsWereRead: true };
}

/** Requests all lists at once. A job in two of them counts as active, so its runner stays. */
function lookAhead(api: GiteaApi, level: Level, furtherPages: boolean) {
  const done: JobsById = new Map();
  const eagerAnswers = Promise.all([
    readRunners(api, level),
    readCompletedJobs(api, level, done, { isEager: furtherPages }),
  ]);
  // The answers may not be needed, and the failure of the first question comes first.
  eagerAnswers.catch(() => undefined);
  return async (jobs: JobsById) => {
    const answers = await eagerAnswers;
    for (const [id, job] of done) if (!jobs.has(id)) jobs.set(id, job);
    return answers;
  };
}

/** True if an ephemeral runner is busy and no job says so. (Other runners stay busy for 10 s after a job.) */
function hasUnexplainedRunner(runners: readonly RegisteredRunner[], jobs: Iterable<Job>): boolean {
  const working = namesAtWork(jobs);
  return runners.some(({ online, busy, ephemeral, name }) => online && busy && ephemeral && !working.has(name));
}
