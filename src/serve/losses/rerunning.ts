/**
 * Has Gitea re-run the CI jobs whose runners were lost, while this process leads.
 *
 *     lost job ─► a look shows that Gitea has ended it ─► delay ─► jobs of the run's latest attempt ─► decide.ts ─► POST, or nothing
 *
 * Bound: one run per second and Gitea. A run whose other jobs still run is asked about again later and later.
 */
import { type Clock, pause } from '../../clock.ts';
import { Failure } from '../../failure.ts';
import { askForRerun, readRunJobs } from '../../gitea/reruns.ts';
import type { LostJob } from '../../runnergroup/status.ts';
import type { RerunOutcome, Tell } from '../events.ts';
import { accessOf, BACKGROUND, type Guest, originOf } from '../looks/guest.ts';
import type { LookoutOptions } from '../looks/lookout.ts';
import type { GroupAtLoss, LossBook } from './book.ts';
import { decideRerun } from './decide.ts';
import { firstPace, isExpired, type LostRun, laterPace, lostRuns, type RunPace, showsEnd } from './due.ts';

export interface RerunningOptions {
  readonly book: LossBook;
  readonly lookout: Pick<LookoutOptions, 'timeoutMs'>;
  /** Its budget and pauses hold for these requests, too. Whoever made it closes it. */
  readonly guest: Pick<Guest, 'clock' | 'http' | 'pauseMs' | 'versions' | 'visit'>;
  readonly clock: Clock;
  readonly tell: Tell;
  /** The book has changed. */
  readonly onChange: () => void;
}

const PAUSE_MS = 1_000;

/** Runs until `signal` is aborted. */
export async function rerunAgainAndAgain(options: RerunningOptions, signal: AbortSignal): Promise<void> {
  const rerunner = new Rerunner(options, signal);
  while (!signal.aborted) {
    rerunner.pass();
    await pause(options.clock, PAUSE_MS, signal);
  }
  await rerunner.ended();
}

class Rerunner {
  readonly #options: RerunningOptions;
  readonly #signal: AbortSignal;
  /** By key of the run. */
  #paces = new Map<string, RunPace>();
  /** What is under way, by origin of the Gitea: one that hangs holds up no other. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Runs whose failure was told. */
  readonly #told = new Set<string>();

  constructor(options: RerunningOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Begins to ask about one run of each Gitea at most, and does not wait. */
  pass(): void {
    const { book, clock, guest } = this.#options;
    for (const at of book.atLoss) {
      for (const loss of at.lost) if (isExpired(loss, clock.now())) this.#end(at, loss, 'expired');
    }
    const runs = lostRuns(book.atLoss);
    this.#forget(new Set(runs.map(({ key }) => key)));
    for (const run of runs) {
      const origin = originOf(run.at.target);
      if (this.#underWay.has(origin) || !this.#isDue(run) || guest.pauseMs(run.at.target) !== 0) continue;
      const work = this.#visit(run).finally(() => this.#underWay.delete(origin));
      this.#underWay.set(origin, work);
    }
  }

  /** Resolves when nothing is under way any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  #isDue(run: LostRun): boolean {
    const nowMs = this.#options.clock.now();
    const known = this.#paces.get(run.key);
    if (known) return nowMs >= known.notBeforeMs;
    if (showsEnd(run)) this.#paces.set(run.key, firstPace(run, nowMs));
    return false;
  }

  async #visit(run: LostRun): Promise<void> {
    await this.#options.guest
      .visit(run.at.target, BACKGROUND, () => this.#ask(run))
      .catch((error: unknown) => {
        // Leadership has ended while it waited for its turn.
        if (!this.#signal.aborted) throw error;
      });
  }

  async #ask(run: LostRun): Promise<void> {
    const { guest, lookout } = this.#options;
    const { key, at, losses } = run;
    const pace = this.#paces.get(key) ?? firstPace(run, this.#options.clock.now());
    let left = losses.length;
    try {
      const access = accessOf(guest, at.target, lookout.timeoutMs);
      const { drop, rerun } = decideRerun(losses, await readRunJobs(access, run), at.group.maxEvictionRetries);
      for (const [loss, reason] of drop) this.#end(at, loss, reason);
      left -= drop.size;
      if (!this.#signal.aborted && rerun && (await askForRerun(access, run, rerun.wish)) === 'asked') {
        for (const loss of rerun.covers) this.#end(at, loss, 'rerun');
        left -= rerun.covers.length;
      }
    } catch (error) {
      // Leadership has ended, and the connections with it.
      if (this.#signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      guest.versions.clear();
      this.#tellFailure(run, error);
    }
    // A later loss of the same run begins again from the start.
    if (left === 0) this.#paces.delete(key);
    else this.#paces.set(key, laterPace(pace, this.#options.clock.now()));
  }

  /** Once per run: it is tried again until the loss expires, because a right can be granted meanwhile. */
  #tellFailure({ key, at, losses }: LostRun, failure: Failure): void {
    const [lost] = losses;
    if (this.#told.has(key) || !lost) return;
    this.#told.add(key);
    this.#options.tell({ is: 'rerun', object: at.live.object, lost, outcome: 'failed', failure });
  }

  #end(at: GroupAtLoss, lost: LostJob, outcome: RerunOutcome): void {
    const { book, onChange, tell } = this.#options;
    book.settle(at.live.key, lost);
    tell({ is: 'rerun', object: at.live.object, lost, outcome });
    onChange();
  }

  #forget(existing: ReadonlySet<string>): void {
    for (const key of this.#paces.keys()) if (!existing.has(key)) this.#paces.delete(key);
    for (const key of this.#told) if (!existing.has(key)) this.#told.delete(key);
  }
}
