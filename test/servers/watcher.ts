/** Watches Gitea's queue beside the test, and notes when runners are at work: Gitea's own times are whole seconds. */
import type { Account, ApiJob } from './account.ts';
import { sleep } from './process.ts';

/** One stay of a job in the queue. */
export interface Stay {
  /** Absent while it waits, and when it was cancelled before any runner took it. */
  startedAtMs?: number;
  runner?: string;
  /** When it was not listed any more. */
  endedAtMs?: number;
}

const EVERY_MS = 200;

export class Watcher {
  readonly stays: Stay[] = [];
  readonly #open = new Map<number, Stay>();
  readonly #admin: Account;
  #stopped = false;
  #ended: Promise<void> | undefined;

  constructor(admin: Account) {
    this.#admin = admin;
  }

  start(): void {
    this.#ended = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }

  async #watch(): Promise<void> {
    while (!this.#stopped) {
      const jobs = await this.#admin.jobs('/admin', 'queued', 'in_progress');
      this.#note(jobs, Date.now());
      await sleep(EVERY_MS);
    }
  }

  #note(jobs: readonly ApiJob[], nowMs: number): void {
    for (const { id, status, runner_name } of jobs) {
      const stay = this.#open.get(id) ?? this.#begin(id);
      if (status !== 'in_progress') continue;
      stay.startedAtMs ??= nowMs;
      if (runner_name !== undefined) stay.runner = runner_name;
    }
    const seen = new Set(jobs.map(({ id }) => id));
    for (const [id, stay] of this.#open) {
      if (seen.has(id)) continue;
      stay.endedAtMs = nowMs;
      this.#open.delete(id);
    }
  }

  #begin(id: number): Stay {
    const stay: Stay = {};
    this.stays.push(stay);
    this.#open.set(id, stay);
    return stay;
  }
}
