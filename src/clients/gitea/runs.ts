/** Finds a run by the number that Gitea shows beside its title. Rows of jobs have the id of their run only. */
import * as z from 'zod';
import { Deadline } from '../http/deadline.ts';
import { GiteaApi, type Question } from './api.ts';
import { GLOBAL_LEVEL, type Level, orgLevel, ownUserLevel, repoLevel } from './endpoints.ts';
import { type GiteaTarget, giteaClient, type ObserveOptions } from './observe.ts';
import { PAGE_LIMIT } from './paging.ts';
import { readShape } from './shapes.ts';

/** A run of a workflow. */
export interface Run {
  readonly id: number;
  /** As Gitea shows it: it counts the runs of the repository. */
  readonly number: number;
  /** `owner/name` */
  readonly repository: string;
  /** File name of the workflow. */
  readonly workflow: string;
  readonly event: string;
  readonly branch: string;
  /** Gitea's word: `queued`, `waiting`, `in_progress` or `completed`. */
  readonly status: string;
  readonly conclusion?: string;
  /** Its page; empty when Gitea tells no http(s) address. */
  readonly url: string;
  /** Its repository has Actions switched off. Gitea lists its jobs as before, and gives them to no runner (measured: 1.26.0, 1.27.3). */
  readonly isActionsOff?: true;
}

/** Pages of unfinished runs, and of the newest runs of all kinds, that are read: a run that people ask about is a new one. */
const MOST_PAGES = { active: 4, all: 2 } as const;

const RunPage = z.object({ workflow_runs: z.array(z.unknown()), total_count: z.int().nonnegative() });
const RunRow = z.object({
  id: z.int().positive(),
  run_number: z.int().nonnegative(),
  path: z.string(),
  event: z.string(),
  head_branch: z.string().optional(),
  status: z.string(),
  conclusion: z.string().optional(),
  html_url: z.string(),
  repository: z.object({ full_name: z.string(), has_actions: z.boolean().optional() }),
});

/** A run by its number, or by its id. */
export type RunWanted = Pick<Run, 'repository'> & ({ readonly number: number } | { readonly id: number });

/** Undefined: it is not among the unfinished runs, nor among the newest ones. @throws Failure when Gitea does not answer. */
export async function findRun(
  target: GiteaTarget,
  wanted: RunWanted,
  options: Pick<ObserveOptions, 'deadlineMs' | 'ca' | 'env' | 'onRequest'>,
): Promise<Run | undefined> {
  const http = giteaClient(options);
  try {
    const deadline = new Deadline(options.deadlineMs);
    const api = new GiteaApi({ http, url: target.url, token: target.token, deadline, versions: new Map() });
    const level = levelFor(target, wanted.repository);
    const is = (run: Run): boolean =>
      ('id' in wanted ? run.id === wanted.id : run.number === wanted.number) &&
      run.repository.toLowerCase() === wanted.repository.toLowerCase();
    const active = ['queued', 'in_progress', 'waiting'];
    return (await search(api, level, active, is)) ?? (await search(api, level, [], is));
  } finally {
    await http.close();
  }
}

/** The rights that list jobs list runs. A user's own token lists at his level, another one's asks the repository. */
function levelFor({ scope }: GiteaTarget, repository: string): Level {
  const [owner = '', name = ''] = repository.split('/');
  switch (scope.kind) {
    case 'global':
      return GLOBAL_LEVEL;
    case 'org':
      return orgLevel(scope.org);
    case 'user':
      return ownUserLevel(scope.user);
    case 'repo':
      return repoLevel(owner, name);
    default:
      return scope satisfies never;
  }
}

async function search(
  api: GiteaApi,
  level: Level,
  states: readonly string[],
  is: (run: Run) => boolean,
): Promise<Run | undefined> {
  const most = states.length > 0 ? MOST_PAGES.active : MOST_PAGES.all;
  for (let page = 1; page <= most; page += 1) {
    const { runs, total } = await api.get(questionFor(level, states, page), readRunPage);
    const found = runs.find(is);
    if (found || runs.length === 0 || page * runs.length >= total) return found;
  }
  return undefined;
}

function questionFor(level: Level, states: readonly string[], page: number): Question {
  return {
    what: `list ${states.length > 0 ? 'unfinished ' : ''}runs of ${level.name}`,
    path: level.jobsPath.replace(/jobs$/, 'runs'),
    query: [
      ...states.map((state) => ['status', state] as const),
      ['page', String(page)] as const,
      ['limit', String(PAGE_LIMIT)] as const,
    ],
    rights: level.jobsRights,
    missing: level.missing,
  };
}

function readRunPage(json: unknown): { readonly runs: readonly Run[]; readonly total: number } {
  const page = readShape(RunPage, json, 'the list');
  const runs = page.workflow_runs.map((row, index): Run => {
    const data = readShape(RunRow, row, `run number ${index + 1} of the page`);
    const { id, run_number: number, path, event, head_branch: branch = '', status, conclusion, html_url: url } = data;
    return {
      id,
      number,
      repository: data.repository.full_name,
      workflow: path.replace(/@.*$/, ''),
      event,
      branch,
      status,
      ...(conclusion && { conclusion }),
      url: /^https?:\/\//.test(url) ? url : '',
      ...(data.repository.has_actions === false && { isActionsOff: true as const }),
    };
  });
  return { runs, total: page.total_count };
}
