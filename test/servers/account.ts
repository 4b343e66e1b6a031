/** An account on Gitea with its token: the API calls of people and programs in the tests. */
import * as z from 'zod';

/** An answer as it came. `body` is JSON where Gitea sent JSON, else text. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

const Job = z.object({
  id: z.number(),
  run_id: z.number(),
  name: z.string(),
  labels: z.array(z.string()).nullable(),
  run_attempt: z.number(),
  status: z.string(),
  conclusion: z.string().optional(),
  runner_name: z.string().optional(),
  head_branch: z.string().optional(),
  url: z.string(),
  created_at: z.string(),
  started_at: z.string(),
  completed_at: z.string(),
});
/** A job as Gitea's API shows it. */
export type ApiJob = z.infer<typeof Job>;

const Runner = z.object({
  id: z.number(),
  name: z.string(),
  status: z.string(),
  busy: z.boolean(),
  ephemeral: z.boolean(),
});

/** Level at which runners register and jobs are listed: the path of its API. */
export type LevelPath = '/admin' | '/user' | `/orgs/${string}` | `/repos/${string}/${string}`;

export class Account {
  readonly url: string;
  readonly name: string;
  readonly token: string;
  readonly #password: string;

  constructor(url: string, name: string, token: string, password: string) {
    this.url = url;
    this.name = name;
    this.token = token;
    this.#password = password;
  }

  /** Sends one request to `/api/v1<path>`, and returns any status. */
  async ask(method: string, path: string, body?: unknown, authorization = `token ${this.token}`): Promise<Answer> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Sends a request like `ask`. @throws if the status is not 2xx */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.ask(method, path, body);
    if (answer.status < 200 || answer.status > 299) {
      throw new Error(`${method} ${path} as ${this.name}: HTTP ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  /** A new user (the caller is an administrator), with a token of all scopes. */
  async createUser(name: string): Promise<Account> {
    const password = `pw-${name}-${this.#password}`;
    const email = `${name}@example.com`;
    await this.call('POST', '/admin/users', { username: name, email, password, must_change_password: false });
    const nobody = new Account(this.url, name, '', password);
    return new Account(this.url, name, await nobody.createToken(['all']), password);
  }

  /** A new token of this account with the given scopes, e.g. `read:organization`. */
  async createToken(scopes: readonly string[]): Promise<string> {
    const basic = `Basic ${Buffer.from(`${this.name}:${this.#password}`).toString('base64')}`;
    const name = `t${Date.now()}-${scopes.join('-').replaceAll(':', '-')}`;
    const answer = await this.ask('POST', `/users/${this.name}/tokens`, { name, scopes }, basic);
    if (answer.status !== 201) throw new Error(`create a token of ${this.name}: HTTP ${answer.status}`);
    return z.object({ sha1: z.string() }).parse(answer.body).sha1;
  }

  async createOrg(org: string): Promise<void> {
    await this.call('POST', '/orgs', { username: org });
  }

  /** An empty repository with a branch `main`, of an org or, without one, of this account. */
  async createRepo(name: string, org?: string): Promise<void> {
    const path = org === undefined ? '/user/repos' : `/orgs/${org}/repos`;
    await this.call('POST', path, { name, auto_init: true, default_branch: 'main', private: true });
  }

  /** `repository` is `owner/name`; the workflow is `.gitea/workflows/<file>`. */
  async addWorkflow(repository: string, file: string, text: string): Promise<void> {
    await this.putFile(repository, `.gitea/workflows/${file}`, text);
  }

  /**
   * Commits a file to `main`: a new one, or new text for an existing one. `path` is relative to the root of
   * `owner/name`.
   */
  async putFile(repository: string, path: string, text: string): Promise<void> {
    const content = Buffer.from(text).toString('base64');
    const sha = await this.#blobOf(repository, path);
    const method = sha === undefined ? 'POST' : 'PUT';
    await this.call(method, contentsOf(repository, path), { content, sha, message: `Write ${path}`, branch: 'main' });
  }

  /** Commits that a file is gone. @throws when there is none. */
  async deleteFile(repository: string, path: string): Promise<void> {
    const sha = await this.#blobOf(repository, path);
    if (sha === undefined) throw new Error(`delete ${path} of ${repository}: there is no such file`);
    await this.call('DELETE', contentsOf(repository, path), { sha, message: `Remove ${path}`, branch: 'main' });
  }

  async #blobOf(repository: string, path: string): Promise<string | undefined> {
    const answer = await this.ask('GET', `${contentsOf(repository, path)}?ref=main`);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw new Error(`read ${path} of ${repository}: HTTP ${answer.status}`);
    return z.object({ sha: z.string() }).parse(answer.body).sha;
  }

  /** Starts a workflow that has `on: workflow_dispatch`. */
  async dispatch(repository: string, file: string): Promise<void> {
    await this.call('POST', `/repos/${repository}/actions/workflows/${file}/dispatches`, { ref: 'main' });
  }

  /** Runs one finished job again (Gitea 1.26+). */
  async rerun(repository: string, job: ApiJob): Promise<void> {
    await this.call('POST', `/repos/${repository}/actions/runs/${job.run_id}/jobs/${job.id}/rerun`);
  }

  /** Returns all jobs of a level with one of these states, oldest first. */
  async jobs(level: LevelPath, ...states: readonly string[]): Promise<readonly ApiJob[]> {
    const query = states.map((state) => `status=${state}`).join('&');
    const jobs = new Map<number, ApiJob>();
    for (let page = 1; ; page += 1) {
      const body = await this.#list(`${level}/actions/jobs?${query}&limit=50&page=${page}`);
      const list = z.object({ jobs: z.array(Job), total_count: z.number() }).parse(body);
      for (const job of list.jobs) jobs.set(job.id, job);
      if (list.jobs.length === 0 || jobs.size >= list.total_count)
        return [...jobs.values()].sort((a, b) => a.id - b.id);
    }
  }

  /**
   * Reads a list of jobs. Gitea looks up the repository of each row after it has read the rows, so a repository that is
   * deleted in between causes a 500 (1.26.0, routers/api/v1/shared/action.go, ListJobs). A second request lists the
   * rest.
   */
  async #list(path: string): Promise<unknown> {
    const answer = await this.ask('GET', path);
    return answer.status === 200 ? answer.body : await this.call('GET', path);
  }

  /** Returns the log of a job so far. Empty before it runs. */
  async logOf(job: ApiJob): Promise<string> {
    const { body, status } = await this.ask('GET', `/repos/${repositoryOf(job)}/actions/jobs/${job.id}/logs`);
    return status === 200 ? String(body) : '';
  }

  /** The runners registered at a level, and below it for `/admin`. */
  async runners(level: LevelPath): Promise<readonly z.infer<typeof Runner>[]> {
    const body = await this.call('GET', `${level}/actions/runners?limit=50`);
    return z.object({ runners: z.array(Runner).nullable() }).parse(body).runners ?? [];
  }

  async runnerNames(level: LevelPath): Promise<readonly string[]> {
    return (await this.runners(level)).map(({ name }) => name);
  }

  /** The token with which runners of this level register. */
  async registrationToken(level: LevelPath): Promise<string> {
    const body = await this.call('POST', `${level}/actions/runners/registration-token`);
    return z.object({ token: z.string() }).parse(body).token;
  }
}

function contentsOf(repository: string, path: string): string {
  return `/repos/${repository}/contents/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** `owner/name` from a job's API address. */
export function repositoryOf(job: ApiJob): string {
  return /\/repos\/([^/]+\/[^/]+)\//.exec(job.url)?.[1] ?? '';
}
