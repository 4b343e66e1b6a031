/**
 * Asks Gitea how CI jobs ended, and tells it: only of jobs whose group wants to notify somebody.
 *
 *     round ─► ended jobs ─► newest completed jobs of the scope (one request for all of them), names of workflows ─► event `job-ended`
 *
 * It waits for its turn behind looks, so a Gitea that hangs delays neither looks nor rounds. A job that is not listed yet is asked for again.
 */

import { GiteaApi } from '../../clients/gitea/api.ts';
import { type JobEnd, levelsOf, readJobEnds, readWorkflows } from '../../clients/gitea/job-ends.ts';
import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import type { NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import { accessOf, BACKGROUND, LONGEST_TURN_MS } from '../../serve/looks/guest.ts';
import type { LeftJob } from '../../serve/planning/ended-jobs.ts';
import type { KeyQueue, Turn } from '../../serve/queue.ts';
import type { TaskContext } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { type JobNotice, shortName } from './notice.ts';

/** An ended job of a group that notifies somebody. */
export interface AskedJob extends LeftJob {
  readonly target: GiteaTarget;
  readonly notify: readonly NotifyTarget[];
  /** Runners of its group stay so long after a failure; 0: they do not. */
  readonly keepFailedSeconds: number;
}

export interface EndReaderOptions {
  /** For all requests about one scope. */
  readonly timeoutMs: number;
  /** Pauses before the next question about a job that is not listed as completed; for tests. */
  readonly pausesMs?: readonly number[];
}

/** A cancelled job cleans up before it is listed. After the last pause nothing is told of it. */
const PAUSES_MS = [1_000, 5_000, 30_000, 120_000];
/** Jobs that wait for an answer. More end at once only after an outage; the oldest ones are not told. */
const MOST_WAITING = 1_000;
/** Scopes that are asked at the same time: one that hangs holds up no other. */
const WIDTH = 8;

interface Waiting {
  readonly asked: AskedJob;
  readonly tries: number;
  /** By the steady clock. */
  readonly dueMs: number;
}

export class EndReader {
  readonly #context: TaskContext;
  readonly #options: EndReaderOptions;
  readonly #line: KeyQueue;
  /** Oldest first. */
  #waiting: readonly Waiting[] = [];

  constructor(context: TaskContext, options: EndReaderOptions) {
    this.#context = context;
    this.#options = options;
    this.#line = context.queue.open('job-end', {
      nameOf: (key) => this.#waiting.find(({ asked }) => asked.target.key === key)?.asked.job.repository ?? key,
      width: WIDTH,
      deadlineMs: LONGEST_TURN_MS + options.timeoutMs,
      run: (key, turn) => this.#askScope(key, turn),
    });
  }

  /** Asks soon, and returns at once. */
  ask(jobs: readonly AskedJob[]): void {
    const dueMs = this.#context.clock.steadyMs();
    this.#add(jobs.map((asked) => ({ asked, tries: 0, dueMs })));
  }

  #add(jobs: readonly Waiting[]): void {
    const all = [...this.#waiting, ...jobs];
    const dropped = Math.max(0, all.length - MOST_WAITING);
    for (const { asked } of all.slice(0, dropped)) this.#lost(asked);
    this.#waiting = all.slice(dropped);
    const nowMs = this.#context.clock.steadyMs();
    for (const { asked, dueMs } of jobs) this.#line.add(asked.target.key, dueMs - nowMs);
  }

  /** All jobs of the scope that are due, with one question. */
  async #askScope(key: string, { signal }: Turn): Promise<undefined> {
    const { clock, guest } = this.#context;
    const nowMs = clock.steadyMs();
    const due = this.#waiting.filter(({ asked, dueMs }) => asked.target.key === key && dueMs <= nowMs);
    const [first] = due;
    if (!first) return;
    const { target } = first.asked;
    const jobs = due.map(({ asked }) => asked);
    const found = await guest
      .visit(target, BACKGROUND, () => this.#read(target, jobs), signal)
      // A question that fails says nothing of any job.
      .catch(ignoreFailure);
    if (signal.aborted) return;
    this.#waiting = this.#waiting.filter((each) => !due.includes(each));
    for (const waiting of due) {
      const { job, runners } = waiting.asked;
      const end = found?.ends.find(({ id, attempt }) => id === job.id && attempt === job.attempt);
      if (!end) this.#later(waiting);
      // Cancelled while it waited, or run by a runner of others: nothing to tell.
      else if (end.runner !== undefined && runners.includes(end.runner)) {
        this.#tell(waiting.asked, { ...end, runner: end.runner }, found?.workflows.get(end.runId));
      }
    }
  }

  async #read(target: GiteaTarget, asked: readonly AskedJob[]): Promise<Ends> {
    const { guest } = this.#context;
    const api = new GiteaApi(accessOf(guest, target, this.#options.timeoutMs));
    const repositories = asked.map(({ job }) => job.repository);
    const levels = await levelsOf(api, target.scope, repositories);
    const ends = await Promise.all(levels.map((level) => readJobEnds(api, level)));
    // A message without the workflow's name is better than none.
    const workflows = await Promise.all(levels.map((level) => readWorkflows(api, level).catch(ignoreFailure)));
    return { ends: ends.flat(), workflows: new Map(workflows.flatMap((each) => [...(each ?? [])])) };
  }

  #later({ asked, tries }: Waiting): void {
    const pauseMs = (this.#options.pausesMs ?? PAUSES_MS)[tries];
    if (pauseMs === undefined) this.#lost(asked);
    else this.#add([{ asked, tries: tries + 1, dueMs: this.#context.clock.steadyMs() + pauseMs }]);
  }

  #lost({ notify }: AskedJob): void {
    for (const { slack } of notify)
      this.#context.tell({ is: 'notified', to: slack ? 'slack' : 'webhook', result: 'unknown' });
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
        keepFailedSeconds > 0 && { keptUntilMs: this.#context.clock.now() + keepFailedSeconds * 1000 }),
    };
    this.#context.tell({ is: 'job-ended', notice, notify });
  }
}

interface Ends {
  readonly ends: readonly JobEnd[];
  readonly workflows: ReadonlyMap<number, string>;
}

function ignoreFailure(error: unknown): undefined {
  if (error instanceof Failure) return undefined;
  throw error;
}
