/** The simulated Gitea behind a wire: answers that take time, webhooks, and an addressee of notifications. Its faults are switches. */

import { authenticate, ErrorAnswer } from '../../../simulator/gitea/access.ts';
import type { Answer } from '../../../simulator/gitea/ask.ts';
import { Gitea } from '../../../simulator/gitea/gitea.ts';
import { jobJson, shownStatus } from '../../../simulator/gitea/json.ts';
import { type JobRow, repoOf } from '../../../simulator/gitea/model.ts';
import { answer } from '../../../simulator/gitea/routes.ts';
import type { Wire, WireAnswer, WireRequest } from '../../../src/clients/http/wire.ts';
import type { Job, Look } from '../../../src/planner/evidence.ts';
import { parseRunnerName } from '../../../src/planner/names.ts';
import type { WebhookEvent } from '../../../src/serve/webhook/gate.ts';
import type { World } from './world.ts';

export const GITEA_URL = 'https://gitea.example.com';
/** Address of notifications. */
export const HOOK_URL = 'https://hook.example.com/ci';
export const TOKEN = 'secret-of-anna';
const SETUP = { root: GITEA_URL, maxResponseItems: 50, defaultPagingNum: 30, databaseOrder: 'by-id' } as const;
/** Polls are so long apart at most, while webhooks prove to arrive (docs/serve.md), and a tenth. */
export const LONGEST_POLL_MS = 66_000;

export class GiteaServer {
  readonly gitea: Gitea;
  isAway = false;
  looksFail = 0;
  registrations: 'good' | 'refused' | 'lost' = 'good';
  webhooks: 'good' | 'lost' | 'late' | 'twice' = 'good';
  /** The leading process hears them. */
  onWebhook: (event: WebhookEvent) => void = () => undefined;
  /** Re-runs that were asked for, by id of the run. */
  readonly reruns: number[] = [];
  /** Runs that were ended by request, and those of them with a living runner at work. */
  readonly ends: number[] = [];
  readonly livingEnds: number[] = [];
  /** True if a runner works at this CI job, and lives. */
  isWorkedAt: (jobId: number) => boolean = () => false;
  /** Notifications that came, as `<job id> <attempt>`. */
  readonly notified: string[] = [];
  /** Since when there has been trouble, and how long the pauses after it may last. */
  #trouble: readonly [sinceMs: number, pausesMs: number] = [0, 0];
  readonly #world: World;

  constructor(world: World, orgs: readonly string[], version: '1.27.3' | '28.0.0') {
    this.#world = world;
    this.gitea = new Gitea(version, world.clock.now);
    this.gitea.addUser('anna');
    for (const org of orgs) {
      this.gitea.addOrg(org, { owners: ['anna'] });
      this.gitea.addRepo(`${org}/web`);
    }
    this.gitea.addToken('anna', ['all'], TOKEN);
  }

  /** Somebody pushes: a run with one job. */
  push(org: string): JobRow {
    const { jobs } = this.gitea.push(`${org}/web`, { jobs: [{ key: 'build', runsOn: ['linux'] }] });
    const [job] = jobs;
    if (!job) throw new Error('a run without a job');
    this.announce(job);
    return this.gitea.state.jobs.get(job.id) ?? job;
  }

  /** Sends the webhook about a job as it is now. */
  announce(row: { readonly id: number }): void {
    this.#world.version += 1;
    const { state } = this.gitea;
    const job = state.jobs.get(row.id);
    if (!job) return;
    const { status } = shownStatus(job.status);
    const repo = repoOf(state, job);
    const event = { owner: repo.owner, repo: repo.name, status, jobId: job.id, attempt: job.attempt } as WebhookEvent;
    const chance = (): number => this.#world.luck('serve-gitea');
    if (this.webhooks === 'lost') {
      this.#world.obstacle('a webhook is lost', LONGEST_POLL_MS);
      return;
    }
    const lateMs = this.webhooks === 'late' ? 20_000 * chance() : chance() < 0.1 ? 2_500 : 200;
    if (lateMs > 3_000) this.#world.obstacle('a webhook is late', lateMs);
    this.#world.later(30 + lateMs * chance(), () => this.onWebhook(event));
    if (this.webhooks === 'twice') this.#world.later(30 + 10_000 * chance(), () => this.onWebhook(event));
  }

  /** A trouble of so many ms begins. Answers how long looks may have failed when it ends: those before it count, if pauses of theirs last. */
  troubledMs(nowMs: number, forMs: number): number {
    const [sinceMs, pausesMs] = this.#trouble;
    const fromMs = nowMs < pausesMs ? sinceMs : nowMs;
    this.#trouble = [fromMs, Math.max(pausesMs, nowMs + forMs + 2 * (nowMs + forMs - fromMs) + 20_000)];
    return nowMs + forMs - fromMs;
  }

  /** CI jobs of an organization, oldest first. */
  jobsOf(org: string): readonly { readonly id: number; readonly status: string }[] {
    const { state } = this.gitea;
    const rows = [...state.jobs.values()].filter((job) => repoOf(state, job).owner === org);
    return rows.map(({ id, status }) => ({ id, status: shownStatus(status).status }));
  }

  orgOf(run: number): string {
    const { state } = this.gitea;
    const row = state.runs.get(run);
    return row ? repoOf(state, row).owner : '';
  }

  /** True when the CI job that the runner was made for has ended. */
  hasEnded(runner: string): boolean {
    const { madeFor } = parseRunnerName(runner) ?? {};
    const row = madeFor && 'id' in madeFor ? this.gitea.state.jobs.get(madeFor.id) : undefined;
    return row !== undefined && shownStatus(row.status).status === 'completed';
  }

  /** A connection of one process. */
  wire(origin: string): Wire {
    return {
      send: (request) => ({
        answer: origin === GITEA_URL ? this.#serve(request) : this.#takeNotice(request),
        cancel: () => undefined,
      }),
      close: async () => undefined,
    };
  }

  /** Returns what a perfect look at an organization finds now. */
  look(org: string): Look {
    const { state } = this.gitea;
    const rows = [...state.jobs.values()].filter((job) => repoOf(state, job).owner === org);
    const jobs = rows.map((row) => this.#jobOf(row));
    const done = jobs.filter(({ status }) => status === 'completed').slice(-50);
    const active = jobs.filter(({ status }) => status !== 'completed');
    const runners = this.gitea.runners().filter(({ scope }) => scope.kind === 'owner' && scope.owner === org);
    return {
      jobs: [...active, ...done],
      runners: runners.map((row) => ({
        id: row.id,
        name: row.name,
        online: this.gitea.isOnline(row),
        busy: this.gitea.isBusy(row),
        disabled: false,
        ephemeral: true,
        labels: row.labels,
      })),
      rowsWereRead: true,
    };
  }

  #jobOf(row: JobRow): Job {
    const { state } = this.gitea;
    const { status, conclusion } = shownStatus(row.status);
    const task = state.tasks.get(row.taskId);
    const runner = task && state.runners.get(task.runnerId)?.name;
    return {
      id: row.id,
      attempt: row.attempt,
      runId: row.runId,
      repository: repoOf(state, row).fullName,
      name: row.name,
      url: String(jobJson(state, row, GITEA_URL)['html_url']),
      labels: row.labels ?? [],
      status: status === 'waiting' ? 'blocked' : (status as Job['status']),
      createdAtMs: row.created * 1000,
      ...(row.started > 0 && { startedAtMs: row.started * 1000 }),
      ...(row.stopped > 0 && { completedAtMs: row.stopped * 1000 }),
      ...(conclusion && conclusion !== 'success' && { conclusion: conclusion as 'failure' | 'cancelled' | 'skipped' }),
      ...(runner !== undefined && { runner }),
    };
  }

  async #serve({ body, headers, method, url }: WireRequest): Promise<WireAnswer> {
    const world = this.#world;
    await world.sleep(3 + 30 * world.luck('serve-gitea'));
    if (this.isAway) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    if (this.looksFail > 0 && method === 'GET' && world.luck('serve-gitea') < this.looksFail) {
      world.obstacle('a look fails', 10_000);
      return answerOf({ status: 502 }, world);
    }
    const isRegistration = url.pathname.endsWith('/Register');
    if (isRegistration && this.registrations === 'refused') return answerOf({ status: 503 }, world);
    const found = this.#ask(method, url, headers['authorization'], String(body ?? ''));
    if (isRegistration && this.registrations === 'lost')
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
    await world.sleep(2 + 20 * world.luck('serve-gitea'));
    return answerOf(found, world);
  }

  #ask(method: string, url: URL, authorization: string | undefined, body: string): Answer {
    const { state } = this.gitea;
    try {
      const doer = authenticate(state, { headers: { ...(authorization !== undefined && { authorization }) } });
      const [, id = '', what = ''] = /\/runs\/(\d+)\/(force-cancel|.*rerun)/.exec(url.pathname) ?? [];
      const run = Number(id);
      const isEnd = what === 'force-cancel';
      const isLiving = isEnd && this.gitea.jobsOfRun(run).some((job) => this.isWorkedAt(job.id));
      const found = answer({ state, setup: SETUP, doer, method, path: url.pathname, query: url.searchParams, body });
      if (method !== 'POST' || what === '' || found.status >= 300) return found;
      (isEnd ? this.ends : this.reruns).push(run);
      if (isLiving) this.livingEnds.push(run);
      this.#world.tell(`Gitea ${isEnd ? 'ends' : 're-runs'} run ${run}`);
      for (const job of this.gitea.jobsOfRun(run)) this.announce(job);
      return found;
    } catch (error) {
      if (error instanceof ErrorAnswer) return { status: error.status, body: { message: error.message } };
      throw error;
    }
  }

  async #takeNotice({ body }: WireRequest): Promise<WireAnswer> {
    const world = this.#world;
    await world.sleep(5 + 50 * world.luck('serve-gitea'));
    const { attempt, jobId } = JSON.parse(String(body)) as Record<string, unknown>;
    this.notified.push(`${String(jobId)} ${String(attempt)}`);
    return answerOf({ status: 200, body: {} }, world);
  }
}

function answerOf({ status, body, headers = {} }: Answer, world: World): WireAnswer {
  const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const lower = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
  const date = new Date(world.clock.now()).toUTCString();
  return { status, headers: { ...lower, date, 'content-type': 'application/json' }, read: async () => bytes };
}
