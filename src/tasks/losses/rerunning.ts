/**
 * Has Gitea re-run the CI jobs whose runners were lost: one key of the queue per run.
 *
 *     lost job ─► a look shows that Gitea has ended it ─► delay ─► jobs of the run's latest attempt ─► decide.ts ─► POST, or nothing
 *
 * Bound: one run per second and Gitea. A run whose other jobs still run is asked about again later and later.
 */

import { askForRerun, readRunJobs } from '../../clients/gitea/runs.ts';
import type { LostJob } from '../../config/runnergroup/status.ts';
import type { RerunOutcome } from '../../serve/events.ts';
import { accessOf, BACKGROUND, LONGEST_TURN_MS, originOf } from '../../serve/looks/guest.ts';
import type { GroupAtLoss } from '../../serve/losses/book.ts';
import type { Again, KeyQueue, Turn } from '../../serve/queue.ts';
import type { StartTask, TaskContext } from '../../serve/task.ts';
import type { Failure } from '../../shared/failure.ts';
import { decideRerun } from './decide.ts';
import { isExpired, type LostRun, laterMs, lostRuns, showsEnd } from './due.ts';

const GAP_MS = 1_000;
/** Runs that are asked about at the same time, in all Giteas. */
const WIDTH = 8;

/** @param timeoutMs for all requests of one run. */
export function rerunLostJobs(timeoutMs: number): StartTask {
  return (context) => {
    const rerunner = new Rerunner(context, timeoutMs);
    return ({ is }) => {
      if (is === 'round-done') rerunner.follow();
    };
  };
}

class Rerunner {
  readonly #context: TaskContext;
  readonly #timeoutMs: number;
  readonly #line: KeyQueue;
  #runs: ReadonlyMap<string, LostRun> = new Map();
  /** Questions in a row that changed nothing, by key of the run. */
  readonly #tries = new Map<string, number>();
  /** Runs whose failure was told. */
  readonly #told = new Set<string>();

  constructor(context: TaskContext, timeoutMs: number) {
    this.#context = context;
    this.#timeoutMs = timeoutMs;
    this.#line = context.queue.open('rerun', {
      width: WIDTH,
      laneOf: (key) => this.#originOf(key),
      // One that hangs holds up no other Gitea.
      perLane: 1,
      gapMs: GAP_MS,
      deadlineMs: LONGEST_TURN_MS + 2 * timeoutMs,
      backOffMs: (failures) => laterMs(failures - 1),
      onFailure: (key, failure) => this.#tellFailure(key, failure),
      run: (key, turn) => this.#visit(key, turn),
    });
  }

  /** Takes in which jobs are lost now. */
  follow(): void {
    const { clock, losses } = this.#context;
    for (const at of losses.atLoss) {
      for (const loss of at.lost) if (isExpired(loss, clock.now())) this.#end(at, loss, 'expired');
    }
    this.#runs = new Map(lostRuns(losses.atLoss).map((run) => [run.key, run]));
    this.#line.keepOnly(this.#runs);
    for (const known of [this.#tries, this.#told])
      for (const key of known.keys()) if (!this.#runs.has(key)) known.delete(key);
    for (const [key, run] of this.#runs) {
      if (!this.#line.has(key) && showsEnd(run)) this.#line.add(key, run.at.group.evictionRetryDelaySeconds * 1000);
    }
  }

  #originOf(key: string): string {
    const run = this.#runs.get(key);
    return run ? originOf(run.at.target) : '';
  }

  async #visit(key: string, { signal }: Turn): Promise<Again | undefined> {
    const { guest } = this.#context;
    const run = this.#runs.get(key);
    if (!run) return undefined;
    const { target } = run.at;
    const pausedMs = guest.pauseMs(target);
    if (pausedMs > 0) return { inMs: pausedMs, firm: true };
    const left = await guest.visit(target, BACKGROUND, () => this.#ask(run, signal), signal);
    if (left === 0 || signal.aborted) {
      // A later loss of the same run begins again from the start.
      this.#tries.delete(key);
      return undefined;
    }
    const tries = this.#tries.get(key) ?? 0;
    this.#tries.set(key, tries + 1);
    return { inMs: laterMs(tries), firm: true };
  }

  /** Answers how many losses of the run are still to be seen to. @throws Failure */
  async #ask(run: LostRun, signal: AbortSignal): Promise<number> {
    const { guest } = this.#context;
    const { at, losses } = run;
    const access = accessOf(guest, at.target, this.#timeoutMs);
    const { drop, rerun } = decideRerun(losses, await readRunJobs(access, run), at.group.maxEvictionRetries);
    if (signal.aborted) return losses.length;
    for (const [loss, reason] of drop) this.#end(at, loss, reason);
    const left = losses.length - drop.size;
    if (!rerun || (await askForRerun(access, run, rerun.wish)) !== 'asked') return left;
    for (const loss of rerun.covers) this.#end(at, loss, 'rerun');
    return left - rerun.covers.length;
  }

  /** Once per run: it is tried again until the loss expires, because a right can be granted meanwhile. */
  #tellFailure(key: string, failure: Failure): void {
    const { guest, tell } = this.#context;
    guest.versions.clear();
    const run = this.#runs.get(key);
    const [lost] = run?.losses ?? [];
    if (this.#told.has(key) || !run || !lost) return;
    this.#told.add(key);
    tell({ is: 'rerun', object: run.at.live.object, lost, outcome: 'failed', failure });
  }

  #end(at: GroupAtLoss, lost: LostJob, outcome: RerunOutcome): void {
    const { changed, losses, tell } = this.#context;
    losses.settle(at.live.key, lost);
    tell({ is: 'rerun', object: at.live.object, lost, outcome });
    changed();
  }
}
