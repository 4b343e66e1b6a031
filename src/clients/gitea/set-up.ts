/**
 * Reads for `doctor`: webhooks, repositories with Actions, and the registration token (Gitea 1.27.3). A webhook is listed
 * without its secret and its deliveries, which only Gitea's pages show.
 */
import * as z from 'zod';
import { type GiteaAccess, GiteaApi, type Question } from './api.ts';
import type { Level } from './endpoints.ts';
import { eachPage } from './lists.ts';
import { readToken, registrationTokenQuestion } from './registrations.ts';
import { readShape } from './shapes.ts';

export type Hook = Readonly<Awaited<ReturnType<typeof readHooks>>[number]>;
/** Facts that tell whether CI jobs can come from the repositories of a level. */
export type ActionsSeen = Readonly<NonNullable<Awaited<ReturnType<typeof readActions>>>>;

/** Pages of 50 rows. */
const MOST_PAGES = 4;

const HookRow = z.object({
  active: z.boolean(),
  events: z.array(z.string()).nullish(),
  config: z.record(z.string(), z.string()),
});
const RepoRow = z.object({ full_name: z.string(), has_actions: z.boolean() });

export async function readHooks(api: GiteaApi, level: Level) {
  const question = { ...level.runners, what: `list the webhooks of ${level.name}`, path: `${level.root}/hooks` };
  const rows = await readPages(api, question, HookRow);
  return rows.map(({ active, events, config }) => ({
    /** URL as it was entered. It may hold a password. */
    url: config['url'] ?? '',
    isActive: active,
    /** True if the webhook is sent for changes of CI jobs. */
    hasJobEvents: (events ?? []).includes('workflow_job'),
    contentType: config['content_type'] ?? '',
  }));
}

/** Reads which repositories of a level have Actions. Undefined: no list of Gitea shows it. @throws Failure */
export async function readActions(api: GiteaApi, level: Level) {
  const { jobs, name, root } = level;
  const questionOf = (action: string, path: string): Question => ({ ...jobs, what: `${action} ${name}`, path });
  const rows = root.startsWith('/repos/')
    ? [await api.get(questionOf('read', root), (json) => readShape(RepoRow, json, 'it'))]
    : root.startsWith('/orgs/') &&
      (await readPages(api, questionOf('list the repositories of', `${root}/repos`), RepoRow));
  if (!rows) return undefined;
  return {
    /** Number of repositories that were read, from at most `MOST_PAGES` pages. */
    repositories: rows.length,
    /** `owner/name` of those whose Actions are off. */
    off: rows.filter(({ has_actions }) => !has_actions).map(({ full_name }) => full_name),
  };
}

/** True if `token` is the level's registration token. @throws Failure: only a token that may write gets it */
export async function isRegistrationToken(access: GiteaAccess, level: Level, token: string): Promise<boolean> {
  const question = registrationTokenQuestion(level, `compare the registration token of ${level.name}`);
  return (await new GiteaApi({ ...access, careful: 'once' }).get(question, readToken)) === token;
}

async function readPages<T>(api: GiteaApi, question: Question, row: z.ZodType<T>): Promise<readonly T[]> {
  const rows: T[] = [];
  const read = (json: unknown) => ({ rows: readShape(z.array(row), json, 'it') });
  // A short page need not be the last: a server may limit their size. Only an empty page ends the list.
  for await (const page of eachPage(api, question, read, MOST_PAGES)) rows.push(...page.rows);
  return rows;
}
