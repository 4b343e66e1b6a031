/**
 * Asks Gitea how CI jobs ended, and tells it: only of jobs whose group wants to notify somebody.
 *
 *     round ─► ended jobs ─► newest completed jobs of the scope (one request for all of them), names of workflows ─► event `job-ended`
 *
 * It waits for its turn behind looks, so a Gitea that hangs delays neither looks nor rounds. A job that is not listed yet is asked for again.
 */
import { Failure } from '../../failure.ts';
import { GiteaApi } from '../../gitea/api.ts';
import { type JobEnd, levelsOf, readJobEnds, readWorkflows } from '../../gitea/job-ends.ts';
import type { GiteaTarget } from '../../gitea/observe.ts';
import type { NotifyTarget } from '../../runnergroup/notify-fields.ts';
import type { Tell } from '../events.ts';
import { accessOf, BACKGROUND, type Guest } from '../looks/guest.ts';
import type { LookoutOptions } from '../looks/lookout.ts';
import type { LeftJob } from '../planning/ended-jobs.ts';
import { type JobNotice, shortName } from './notice.ts';

/** An ended job of a group that notifies somebody. */
export interface AskedJob extends LeftJob {
  readonly target: GiteaTarget;
  readonly notify: readonly NotifyTarget[];
  /** Runners of its group stay so long after a failure; 0: they do not. */
  readonly keepFailedSeconds: number;
}

export interface EndReaderOptions {
  readonly lookout: Pick<LookoutOptions, 'timeoutMs'>;
  /** Its budget and pauses hold for these requests, too. Whoever made it closes it. */
  readonly guest: Pick<Guest, 'clock' | 'http' | 'versions' | 'visit'>;
  readonly tell: Tell;
  /** Pauses before the next question about a job that is not listed as completed; for tests. */
  readonly pausesMs?: readonly number[];
}

/** A cancelled job cleans up before it is listed. After the last pause nothing is told of it. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000];
/** Jobs that wait for an answer. More end at once only after an outage; the oldest ones are not told. */
const MOST_WAITING = 1_000;

interface Waiting {
  readonly asked: AskedJob;
  tries: number;
}

export class EndReader {
  readonly #options: EndReaderOptions;
  /** Due for a question now. */
  #due: Waiting[] = [];
  readonly #timers = new Set<() => void>();
  #asking = false;
  #closed = false;

  constructor(options: EndReaderOptions) {
    this.#options = options;
  }

  /** Asks soon, and returns at once. */
  ask(jobs: readonly AskedJob[]): void {
    this.#add(jobs.map((asked) => ({ asked, tries: 0 })));
  }

  close(): void {
    this.#closed = true;
    for (const takeBack of this.#timers) takeBack();
  }

  #add(jobs: readonly Waiting[]): void {
    this.#due.push(...jobs);
    const dropped = this.#due.length + this.#timers.size - MOST_WAITING;
    for (const { asked } of this.#due.splice(0, Math.max(0, dropped))) this.#lost(asked);
    if (!this.#asking && !this.#closed && this.#due.length > 0) void this.#askAll();
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    while (this.#due.length > 0 && !this.#closed) {
      const { target } = this.#due[0]?.asked ?? {};
      const batch = this.#due.filter(({ asked }) => asked.target === target);
      this.#due = this.#due.filter(({ asked }) => asked.target !== target);
      if (target) await this.#askBatch(target, batch);
    }
    this.#asking = false;
  }

  async #askBatch(target: GiteaTarget, batch: readonly Waiting[]): Promise<void> {
    const asked = batch.map((each) => each.asked);
    const reading = this.#options.guest.visit(target, BACKGROUND, () => this.#read(target, asked));
    const found = await reading.catch((error: unknown) => {
      if (error instanceof Failure || this.#closed) return NOTHING;
      throw error;
    });
    for (const waiting of batch) {
      const { job, runners } = waiting.asked;
      const end = found.ends.find(({ id, attempt }) => id === job.id && attempt === job.attempt);
      if (!end) this.#later(waiting);
      // Cancelled while it waited, or run by a runner of others: nothing to tell.
      else if (end.runner !== undefined && runners.includes(end.runner)) {
        this.#tell(waiting.asked, { ...end, runner: end.runner }, found.workflows.get(end.runId));
      }
    }
  }

  async #read(target: GiteaTarget, asked: readonly AskedJob[]): Promise<Ends> {
    const { guest, lookout } = this.#options;
    const api = new GiteaApi(accessOf(guest, target, lookout.timeoutMs));
    const repositories = asked.map(({ job }) => job.repository);
    const levels = await levelsOf(api, target.scope, repositories);
    const ends = await Promise.all(levels.map((level) => readJobEnds(api, level)));
    // A message without the workflow's name is better than none.
    const workflows = await Promise.all(levels.map((level) => readWorkflows(api, level).catch(ignoreFailure)));
    return { ends: ends.flat(), workflows: new Map(workflows.flatMap((each) => [...(each ?? [])])) };
  }

  #later(waiting: Waiting): void {
    const pauseMs = (this.#options.pausesMs ?? PAUSES_MS)[waiting.tries];
    if (pauseMs === undefined || this.#closed) {
      this.#lost(waiting.asked);
      return;
    }
    const takeBack = this.#options.guest.clock.after(pauseMs, () => {
      this.#timers.delete(takeBack);
      this.#add([{ ...waiting, tries: waiting.tries + 1 }]);
    });
    this.#timers.add(takeBack);
  }

  #lost({ notify }: AskedJob): void {
    if (this.#closed) return;
    for (const { slack } of notify)
      this.#options.tell({ is: 'notified', to: slack ? 'slack' : 'webhook', result: 'unknown' });
  }

  #tell(
    { job, origin, group, notify, keepFailedSeconds }: AskedJob,
    { result, runner }: JobEnd & { readonly runner: string },
    workflow: string | undefined,
  ): void {
    const notice: JobNotice = {
      namespace: group.namespace,
      group: group.name,
      gitea: origin,
      repository: job.repository,
      ...(workflow !== undefined && { workflow: shortName(workflow) }),
      job: shortName(job.name),
      jobId: job.id,
      attempt: job.attempt,
      result,
      url: job.url,
      runner,
      // By our clock; the plan goes by Gitea's. People need the minute.
      ...(result === 'failure' &&
        keepFailedSeconds > 0 && { keptUntilMs: this.#options.guest.clock.now() + keepFailedSeconds * 1000 }),
    };
    this.#options.tell({ is: 'job-ended', notice, notify });
  }
}

interface Ends {
  readonly ends: readonly JobEnd[];
  readonly workflows: ReadonlyMap<number, string>;
}

const NOTHING: Ends = { ends: [], workflows: new Map() };

function ignoreFailure(error: unknown): undefined {
  if (error instanceof Failure) return undefined;
  throw error;
}
