/**
 * Turns Gitea's JSON (modules/structs/repo_actions.go) into our types. Used fields are checked strictly: a list without
 * a job that is half understood would prune a runner. Errors name field and job, never content.
 */
import * as z from 'zod';
import type { Job, JobStatus, RegisteredRunner } from '../../planner/evidence.ts';
import { once } from '../../shared/once.ts';
import { parseUrl } from '../../shared/url.ts';
import { placeOf } from '../http/request.ts';
import { boundedBranch, boundedLink, boundedName, labelsOfJob, labelsOfRunner, Shelf } from './bounds.ts';
import { isGiteaName } from './endpoints.ts';
import type { VersionFacts } from './version.ts';

/** Error with the part that does not fit, as a clause: `job 17 has an unusable "labels[0]"`. */
export class ShapeError extends Error {}

/** One page of a list with the count in its body, which every version and list has. */
export type ListPage<T> = Readonly<{ rows: readonly T[]; total: number }>;

/** Schemas of the used fields. They take 5 ms of a start, so they are made while the first answer is on its way. */
const listShapes = once(() => {
  // z.int() accepts safe integers only: a larger id would be rounded by JSON.parse and name another job.
  const Id = z.int().positive();
  const Count = z.int().nonnegative();
  // Runner names have room for five digits; Gitea stops at MAX_RERUN_ATTEMPTS, 50 by default.
  const Attempt = Count.max(99_999);
  const Time = z.iso.datetime({ offset: true });
  return {
    JobPage: z.object({ jobs: z.array(z.unknown()), total_count: Count }),
    RunnerPage: z.object({ runners: z.array(z.unknown()), total_count: Count }),
    VersionAnswer: z.object({ version: z.string() }),
    JobRow: z.object({
      id: Id,
      run_id: Id,
      url: z.string(),
      run_url: z.string(),
      html_url: z.string(),
      name: z.string(),
      labels: z.array(z.string()).nullable(),
      run_attempt: Attempt,
      status: z.string().min(1),
      // Only completed jobs have a conclusion.
      conclusion: z.string().nullish(),
      runner_name: z.string().optional(),
      // Branch of the run: `BranchName()` of its ref (`ToActionWorkflowJob`, services/convert/convert.go, 1.26.0 and
      // 1.27.3). Present for a push, a dispatch and a schedule. Absent for a ref that is not a branch: a tag, and the
      // head of a pull request (services/actions/notifier_helper.go).
      head_branch: z.string().optional(),
      head_sha: z.string().nullish(),
      created_at: Time,
      started_at: Time,
      completed_at: Time,
    }),
    RunnerRow: z.object({
      id: Id,
      name: z.string(),
      status: z.string(),
      busy: z.boolean(),
      // Since 1.26 (#36776).
      disabled: z.boolean().optional(),
      ephemeral: z.boolean(),
      labels: z.array(z.object({ name: z.string() })).nullable(),
    }),
  };
});

type JobRowShape = ReturnType<typeof listShapes>['JobRow'];

const userShapes = once(() => ({
  UserAnswer: z.object({ login: z.string().refine(isGiteaName) }),
  ApiSettings: z.object({ max_response_items: z.int().positive() }),
  RepoRow: z.object({
    name: z.string().refine(isGiteaName),
    owner: z.object({ login: z.string().refine(isGiteaName) }),
    empty: z.boolean(),
    has_actions: z.boolean(),
  }),
}));

/** Optional: the first answer makes the shapes otherwise. */
export function prepareToRead(): void {
  listShapes();
}

/** Jobs from which a compiled check pays off: 4 ms to make, a tenth of the time per job (docs/performance.md). */
const MANY = 200;
/** Accepts good rows only. `check` finds the fault of the others. */
const compiledJobRow = once(() => z.compile(listShapes().JobRow));

/** Reads a jobs list. Times are judged by the clock `nowMs`, ms since 1970. Throws `ShapeError`. */
export function readJobPage(
  json: unknown,
  version: VersionFacts,
  nowMs: number,
  shelf: Shelf = new Shelf(),
): ListPage<Job> {
  const page = readShape(listShapes().JobPage, json, 'the list');
  const shape = page.total_count > MANY ? compiledJobRow() : listShapes().JobRow;
  return {
    rows: page.jobs.map((row, index) => readJob(row, index, { version, shape, nowMs, shelf })),
    total: page.total_count,
  };
}

export function readRunnerPage(json: unknown, shelf: Shelf = new Shelf()): ListPage<RegisteredRunner> {
  const page = readShape(listShapes().RunnerPage, json, 'the list');
  return { rows: page.runners.map((row, index) => readRunner(row, index, shelf)), total: page.total_count };
}

/** Readers of `/version`, `/user` and `/settings/api`. @throws ShapeError */
export const readVersionText = (json: unknown) => readShape(listShapes().VersionAnswer, json, 'the answer').version;
export const readLogin = (json: unknown) => readShape(userShapes().UserAnswer, json, 'the answer').login;
export const readMaxItems = (json: unknown) =>
  readShape(userShapes().ApiSettings, json, 'the answer').max_response_items;

/** Reads a page of repositories: a bare list, its count is in a header. Throws `ShapeError`. */
export function readRepos(json: unknown) {
  return readShape(z.array(z.unknown()), json, 'the list').map((row, index) => {
    const repo = readShape(userShapes().RepoRow, row, `repository ${index + 1} of the page`);
    // A repository without a commit, or with Actions switched off, has no queued job. Jobs of an archived repository
    // stay (updateRepoArchivedState stops schedules only).
    return { owner: repo.owner.login, name: repo.name, mayHaveJobs: repo.has_actions && !repo.empty };
  });
}

type RowReading = Readonly<{ version: VersionFacts; shape: JobRowShape; nowMs: number; shelf: Shelf }>;

function readJob(json: unknown, index: number, { version, shape, nowMs, shelf }: RowReading): Job {
  const subject = nameRow('job', json, index);
  const row = readShape(shape, json, subject);
  const status = toJobStatus(row.status);
  const times = readTimes(row, status, subject, nowMs);
  const claimed = status === 'in_progress' || status === 'completed';
  const runner = claimed ? row.runner_name : undefined;
  const repository = readRepository(row.url, row.run_url, subject);
  const link = readLink(row.html_url);
  if (link === undefined) throw unusable(subject, 'html_url');
  const labels = labelsOfJob(row.labels ?? []);
  const texts = [boundedName(row.name), boundedLink(link), boundedName(runner ?? '')];
  const isWaiting = status === 'queued' || status === 'blocked';
  const isUncovered = isWaiting && !shelf.mayBeCovered(labels);
  const useOfCovered = status === 'in_progress' ? 'needed' : 'optional';
  const use = isUncovered ? 'uncovered' : useOfCovered;
  if (!shelf.reserveRow(row.id, use, isUncovered ? [] : texts)) return { ...unreadableJob(row.id), name: NO_ROOM };
  const [name = '', url = '', runnerName = ''] = isUncovered ? texts.map((text) => shelf.textIfRoom(text)) : texts;
  return {
    id: row.id,
    attempt: toAttempt(row.run_attempt, status, version),
    runId: row.run_id,
    repository: shelf.text(repository),
    ...readRef(row, (text) => (isUncovered ? shelf.textIfRoom(text) || undefined : shelf.text(text))),
    name,
    url,
    labels: shelf.labels(labels),
    status,
    ...times,
    ...(status === 'completed' && conclusionOf(row.conclusion)),
    ...(runnerName && { runner: runnerName }),
  };
}

function readRef(
  row: z.infer<JobRowShape>,
  keep: (text: string) => string | undefined,
): Pick<Job, 'branch' | 'commit'> {
  const ref = boundedBranch(row.head_branch ?? '');
  const branch = ref === undefined ? undefined : keep(ref);
  const commit = keep(/^[0-9a-f]{7}/.exec(row.head_sha ?? '')?.[0] ?? '');
  return { ...(branch !== undefined && { branch }), ...(commit && { commit }) };
}

function conclusionOf(word: string | undefined | null): Pick<Job, 'conclusion'> {
  return word === 'failure' || word === 'cancelled' || word === 'skipped' ? { conclusion: word } : {};
}

function readRunner(json: unknown, index: number, shelf: Shelf): RegisteredRunner {
  const row = readShape(listShapes().RunnerRow, json, nameRow('runner', json, index));
  const { id, name, busy, disabled = false, ephemeral, status } = row;
  const labels = labelsOfRunner((row.labels ?? []).map((label) => label.name));
  if (!shelf.reserveRow(-id, 'needed', [boundedName(name)])) return { ...unreadableRunner(id), name: NO_ROOM };
  const kept = { name: boundedName(name), labels: shelf.labels(labels) };
  return { id, ...kept, online: status === 'online', busy, disabled, ephemeral };
}

/** A job that waits or runs must have a plausible time of creation. A completed one may have another time instead. */
function readTimes(row: z.infer<JobRowShape>, status: JobStatus, subject: string, nowMs: number) {
  const created = toTime(row.created_at, EARLIEST_MS, nowMs);
  if (created === undefined && status !== 'completed') {
    throw new ShapeError(
      `${subject} has a "created_at" before 2015, or more than a day ahead of the clock of this machine`,
    );
  }
  const started = toTime(row.started_at, created ?? EARLIEST_MS, nowMs);
  const completed = toTime(row.completed_at, started ?? created ?? EARLIEST_MS, nowMs);
  return {
    createdAtMs: created ?? started ?? completed ?? nowMs,
    ...(started !== undefined && { startedAtMs: started }),
    ...(completed !== undefined && { completedAtMs: completed }),
  };
}

/** No job is older: Gitea has had Actions since 2023. An unset time is the epoch, or the year 1 (Go). */
const EARLIEST_MS = Date.UTC(2015, 0, 1);
/** Most difference between the clocks of Gitea's machines and of this one, ms. A time outside counts as unreadable. */
const CLOCK_SKEW_MS = 24 * 60 * 60_000;

/** Parses a time. Undefined: unset, or impossible: a day before what came earlier, or a day ahead of now. */
function toTime(text: string, afterMs: number, nowMs: number): number | undefined {
  const ms = Date.parse(text);
  const earliestMs = Math.max(EARLIEST_MS, afterMs - CLOCK_SKEW_MS);
  return ms >= earliestMs && ms <= nowMs + CLOCK_SKEW_MS ? ms : undefined;
}

/** Returns `owner/name` from the end of a job's API address: no other field holds it (`ToActionWorkflowJob`). */
export function readRepository(url: string, runUrl: string, subject: string): string {
  const field = url === '' ? 'run_url' : 'url';
  const text = url === '' ? runUrl : url;
  const match = /\/api\/v1\/repos\/([^/?#]+)\/([^/?#]+)\/actions\/(?:jobs|runs)\/\d+$/.exec(text);
  const owner = decode(match?.[1]);
  const name = decode(match?.[2]);
  if (owner === undefined || name === undefined) throw unusable(subject, field);
  return `${owner}/${name}`;
}

function decode(segment: string | undefined): string | undefined {
  if (segment === undefined) return undefined;
  try {
    const name = decodeURIComponent(segment);
    return isGiteaName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

function nameRow(kind: string, json: unknown, index: number): string {
  const id = typeof json === 'object' && json !== null && 'id' in json ? json.id : undefined;
  return Number.isSafeInteger(id) ? `${kind} ${String(id)}` : `${kind} number ${index + 1} of the page`;
}

/** Returns the value in its shape. @throws ShapeError that names the field */
export function readShape<T>(schema: z.ZodType<T>, json: unknown, subject: string): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw unusable(subject, placeOf(result.error));
}

function unusable(subject: string, field: string): ShapeError {
  return new ShapeError(
    field === '' ? `${subject} is not an object of the expected form` : `${subject} has no usable "${field}"`,
  );
}

/** Turns Gitea's word for a job's state into ours. An unknown word counts as blocked: a runner for it would idle. */
export function toJobStatus(word: string): JobStatus {
  return word === 'queued' || word === 'in_progress' || word === 'completed' ? word : 'blocked';
}

/** Returns an attempt that stays while a job waits and runs. Up to 1.26 `run_attempt` grows by 1 at the claim. */
export function toAttempt(runAttempt: number, status: JobStatus, version: VersionFacts): number {
  const claimed = status === 'in_progress' || status === 'completed';
  return version.attemptGrowsAtClaim && claimed ? Math.max(0, runAttempt - 1) : runAttempt;
}

/** Returns the address of a page. Undefined: it is not http(s), and people click on it. */
function readLink(text: string): string | undefined {
  if (text === '') return text;
  const url = parseUrl(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.href : undefined;
}

/** Name of a row that the look has no room for. The list counts it; no look has it. */
export const NO_ROOM = '(no room)\n';

/** Stands for a row that could not be read: `isReadable` is false for it if its id is below 0. */
export function unreadableJob(id: number): Job {
  return { id, attempt: 0, runId: 0, repository: '', name: '', url: '', labels: [], status: 'blocked', createdAtMs: 0 };
}

export function unreadableRunner(id: number): RegisteredRunner {
  return { id, name: '', online: false, busy: false, disabled: false, ephemeral: false, labels: [] };
}

/** False if the row replaces one that could not be read or kept. */
export function isReadable({ id, name }: { readonly id: number; readonly name: string }): boolean {
  return id > 0 && name !== NO_ROOM;
}
