/** Asks Gitea what `src/clients/gitea` asks, in its words, and writes each answer to a file. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account, LevelPath } from './account.ts';
import type { GiteaVersion } from './build.ts';
import type { Gitea } from './gitea.ts';

/** Address in the recorded files, in place of the test's Gitea. */
export const EXAMPLE = 'https://gitea.example.com';

export const LEVELS: Readonly<Record<string, LevelPath>> = {
  global: '/admin',
  org: '/orgs/acme',
  user: '/user',
  repo: '/repos/acme/web',
};

const FOLDER = join(import.meta.dirname, '..', 'clients', 'gitea', 'recorded');
const HEADERS = ['content-type', 'link', 'x-total-count'];

interface Question {
  readonly name: string;
  /** Path below `/api/v1`. */
  readonly path: string;
  readonly by: Account;
  readonly token?: string;
}

export class Recording {
  readonly #folder: string;
  readonly #gitea: Gitea;
  readonly #mia: Account;
  readonly #lists: Readonly<Record<string, string>>;

  constructor(gitea: Gitea, mia: Account) {
    this.#gitea = gitea;
    this.#mia = mia;
    this.#folder = join(FOLDER, gitea.version);
    this.#lists = listsOf(gitea.version);
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { recursive: true });
  }

  /** Jobs and runners of one level; files `<prefix><level>-<list>.json`. */
  async lists(level: string, prefix = '', at = LEVELS[level]): Promise<void> {
    const by = level === 'user' ? this.#mia : this.#gitea.admin;
    for (const [list, query] of Object.entries(this.#lists)) {
      const path = `${at}/actions/jobs?${query}&limit=50&page=1`;
      await this.#save({ name: `${prefix}${level}-${list}`, path, by });
    }
    const path = `${at}/actions/runners?limit=50&page=1`;
    await this.#save({ name: `${prefix}${level}-runners`, path, by });
  }

  /** Records further requests of a look, with good answers. */
  async rest(): Promise<void> {
    const { admin: by } = this.#gitea;
    for (const page of [1, 2, 3]) {
      const path = `/orgs/acme/actions/jobs?status=queued&limit=2&page=${page}`;
      await this.#save({ name: `org-jobs-queued-pages-of-2-page-${page}`, path, by });
    }
    await this.#save({ name: 'version', path: '/version', by });
    await this.#save({ name: 'settings-api', path: '/settings/api', by });
    await this.#save({ name: 'user', path: '/user', by: this.#mia });
    await this.#save({ name: 'user-repos', path: '/users/mia/repos?limit=50&page=1', by });
    for (const list of ['jobs-active', 'jobs-completed']) {
      const path = `/repos/mia/mine/actions/jobs?${this.#lists[list]}&limit=50&page=1`;
      await this.#save({ name: `user-repo-${list}`, path, by });
    }
  }

  /** Refusals: a token without the scope, an unknown token, a user without rights (mia), things that do not exist. */
  async errors(): Promise<void> {
    const { admin } = this.#gitea;
    const mia = this.#mia;
    const unfit = await mia.createToken(['read:issue']);
    const queued = 'actions/jobs?status=queued&limit=50&page=1';
    const runners = 'actions/runners?limit=50&page=1';
    for (const [name, level] of Object.entries(LEVELS)) {
      await this.#save({ name: `error-403-scope-${name}-jobs`, path: `${level}/${queued}`, by: mia, token: unfit });
      await this.#save({ name: `error-403-scope-${name}-runners`, path: `${level}/${runners}`, by: mia, token: unfit });
      await this.#save({ name: `error-401-${name}-jobs`, path: `${level}/${queued}`, by: mia, token: 'x'.repeat(40) });
    }
    await this.#save({ name: 'error-guest-global-jobs', path: `/admin/${queued}`, by: mia });
    await this.#save({ name: 'error-guest-org-jobs', path: `/orgs/acme/${queued}`, by: mia });
    await this.#save({ name: 'error-guest-org-runners', path: `/orgs/acme/${runners}`, by: mia });
    await this.#save({ name: 'error-guest-repo-jobs', path: `/repos/acme/web/${queued}`, by: mia });
    await this.#save({ name: 'error-404-org-jobs', path: `/orgs/nowhere/${queued}`, by: admin });
    await this.#save({ name: 'error-404-repo-jobs', path: `/repos/acme/nothing/${queued}`, by: admin });
    await this.#save({ name: 'error-404-user-repos', path: '/users/nobody-here/repos?limit=50&page=1', by: admin });
    await this.#save({ name: 'error-400-status', path: '/orgs/acme/actions/jobs?status=running', by: admin });
  }

  async #save({ name, path, by, token = by.token }: Question): Promise<void> {
    const recordedAt = new Date().toISOString();
    const { status, headers, body } = await by.ask('GET', path, undefined, `token ${token}`);
    const shown = HEADERS.flatMap((key) => {
      const value = headers.get(key);
      return value === null ? [] : [[key, value] as const];
    });
    const answer = { status, headers: Object.fromEntries(shown), body };
    const text = JSON.stringify({ recordedAt, request: { method: 'GET', path: `/api/v1${path}` }, answer }, null, 2);
    writeFileSync(join(this.#folder, `${name}.json`), `${text.replaceAll(this.#gitea.url, EXAMPLE)}\n`);
  }
}

/** Queries of the jobs lists, as src/clients/gitea/lists.ts writes them. */
function listsOf(version: GiteaVersion): Readonly<Record<string, string>> {
  return {
    'jobs-active': 'status=queued&status=in_progress',
    'jobs-with-blocked': 'status=waiting&status=queued&status=in_progress',
    'jobs-queued': 'status=queued',
    'jobs-in-progress': 'status=in_progress',
    'jobs-blocked': 'status=waiting',
    'jobs-completed': version === '1.26.0' ? 'status=completed' : 'status=completed&sort=id&order=desc',
  };
}
