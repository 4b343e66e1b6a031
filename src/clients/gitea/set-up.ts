/**
 * What `doctor` asks Gitea besides jobs and runners: webhooks, repositories with Actions, the registration token.
 *
 * Read in 1.27.3 (routers/api/v1/api.go, services/webhook/general.go `ToHook`): a webhook is listed without its secret and without its
 * deliveries, which only Gitea's web pages show. Since 1.26 only a POST gets the registration token. It is the newest of its scope. If the
 * scope has none, Gitea makes one.
 */
import * as z from 'zod';
import { Failure } from '../../shared/failure.ts';
import { parseJson } from '../http/parse-json.ts';
import { type GiteaAccess, type GiteaApi, type Question, requestTo } from './api.ts';
import type { Level } from './endpoints.ts';
import { failureOfShape, failureOfStatus } from './failures.ts';
import { PAGE_LIMIT } from './paging.ts';
import { registrationTokenQuestion } from './registrations.ts';
import { readShape } from './shapes.ts';

/** A webhook of one level. */
export interface Hook {
  /** As it was entered; it may hold a password. */
  readonly url: string;
  readonly isActive: boolean;
  /** It is sent when a CI job changes. */
  readonly hasJobEvents: boolean;
  readonly contentType: string;
}

/** Whether CI jobs can come out of the repositories of a level. */
export interface ActionsSeen {
  /** Repositories that were looked at, at most `MOST_PAGES` pages. */
  readonly repositories: number;
  /** `owner/name` of those whose Actions are off. */
  readonly off: readonly string[];
}

/** Of 50 rows each. */
const MOST_PAGES = 4;

const HookRow = z.object({
  active: z.boolean(),
  events: z.array(z.string()).nullish(),
  config: z.record(z.string(), z.string()),
});
const RepoRow = z.object({ full_name: z.string(), has_actions: z.boolean() });

/** The webhooks of a level. Throws `Failure`, for a 403 with the right that is missing. */
export async function readHooks(api: GiteaApi, level: Level): Promise<readonly Hook[]> {
  const question = {
    what: `list the webhooks of ${level.name}`,
    path: level.jobsPath.replace(/\/actions\/jobs$/, '/hooks'),
    rights: level.runnersRights,
    missing: level.missing,
  };
  const rows = await readPages(api, question, HookRow);
  return rows.map(({ active, events, config }) => ({
    url: config['url'] ?? '',
    isActive: active,
    hasJobEvents: (events ?? []).includes('workflow_job'),
    contentType: config['content_type'] ?? '',
  }));
}

/** Undefined: no list of Gitea shows it for this level (the whole instance, a user). Throws `Failure`. */
export async function readActions(api: GiteaApi, level: Level): Promise<ActionsSeen | undefined> {
  const [, base, kind] = /^(\/(orgs|repos)\/.*)\/actions\/jobs$/.exec(level.jobsPath) ?? [];
  if (base === undefined) return undefined;
  const hints = { rights: level.jobsRights, missing: level.missing };
  const rows =
    kind === 'repos'
      ? [await api.get({ ...hints, what: `read ${level.name}`, path: base }, (json) => readShape(RepoRow, json, 'it'))]
      : await readPages(
          api,
          { ...hints, what: `list the repositories of ${level.name}`, path: `${base}/repos` },
          RepoRow,
        );
  const off = rows.filter(({ has_actions }) => !has_actions).map(({ full_name }) => full_name);
  return { repositories: rows.length, off };
}

/**
 * True when `token` is the registration token of the level. It is compared and not kept. Throws `Failure`: Gitea gives it only to a token
 * that may write.
 */
export async function isRegistrationToken(access: GiteaAccess, level: Level, token: string): Promise<boolean> {
  const question = registrationTokenQuestion(level, `compare the registration token of ${level.name}`);
  const request = { ...requestTo(access, question), once: true };
  const answer = await access.http.send(request, access.deadline);
  if (answer.status !== 200 && answer.status !== 201) throw failureOfStatus(request, answer, question, access.token);
  const { data } = z.object({ token: z.string().min(1) }).safeParse(parseJson(answer.text));
  if (data) return data.token === token;
  throw failureOfShape(request, 'it has no usable "token"');
}

async function readPages<T>(api: GiteaApi, question: Question, row: z.ZodType<T>): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const query = [['page', String(page)] as const, ['limit', String(PAGE_LIMIT)] as const];
    const more = await api.get({ ...question, query }, (json) => readShape(z.array(row), json, 'it'));
    rows.push(...more);
    // A server may allow smaller pages only: the last one is the empty one.
    if (more.length === 0) break;
  }
  return rows;
}

/** What Gitea answered, or why it did not. */
export async function orFailure<T>(asked: Promise<T>): Promise<T | Failure> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}
