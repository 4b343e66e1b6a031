/**
 * Deletes dead registrations, one pass after the other.
 *
 *     runner lists and running jobs ─► Jobs in Kubernetes ─► choose.ts ─► dead ones, one by one:
 *       wait for the budget ─► running jobs again ─► the row again ─► DELETE
 *
 * The first pass deletes nothing: a row must have been seen twice. What was seen is kept in the `Sweeper` and nowhere else. After a restart
 * all of it must be seen again.
 */

import type { GiteaAccess, VersionCache } from '../../clients/gitea/api.ts';
import { describeScope, type Level } from '../../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import {
  deleteRegistration,
  readRegistration,
  readRegistrations,
  registrationLevel,
} from '../../clients/gitea/registrations.ts';
import type { HttpClient } from '../../clients/http/client.ts';
import { Deadline } from '../../clients/http/deadline.ts';
import type { LiveJob, Look } from '../../planner/evidence.ts';
import { type Clock, pause } from '../../shared/clock.ts';
import { Failure } from '../../shared/failure.ts';
import { groupBy } from '../../shared/group-by.ts';
import { DEFAULT_BUDGET } from './budget.ts';
import { deadRegistrations, type JudgedRegistration, type Sightings, type StaysBecause } from './choose.ts';

/** A group whose registrations are swept; it may have been removed already. */
export interface SweepGroup {
  readonly namespace: string;
  readonly name: string;
  readonly target: GiteaTarget;
}

export interface SweeperOptions {
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  readonly http: HttpClient;
  readonly versions?: VersionCache;
  /** For the look at one scope, and for each deletion with its checks, ms. */
  readonly timeoutMs: number;
  /** Deletions per minute, default 60; also the most that one pass deletes, so that no pass acts on an old look. */
  readonly budget?: number;
  /** Delete nothing, only report what would be deleted. */
  readonly dryRun?: boolean;
  readonly clock: Pick<Clock, 'after' | 'steadyMs'>;
  /** Name of the queue of its requests. */
  readonly queue?: string;
  /** Has one look or one deletion done when it may ask this Gitea. Default: at once. */
  readonly visit?: <T>(target: GiteaTarget, work: () => Promise<T>) => Promise<T>;
}

export interface SweepScene {
  readonly groups: readonly SweepGroup[];
  /** False for a Gitea that is to be left alone in this pass. Default: none is. */
  readonly mayAsk?: (target: GiteaTarget) => boolean;
  /** As `SweepEvidence.areAll`. */
  readonly areAll?: boolean;
  /**
   * All Jobs of ours in the groups' namespaces, asked for after Gitea's lists were read; undefined when nobody can look: then nothing is
   * deleted. May throw `Failure`, which ends the pass.
   */
  readonly liveJobs: () => Promise<readonly LiveJob[] | undefined>;
}

export type SweepOutcome =
  | { readonly is: 'deleted' }
  /** Already deleted by someone else or by Gitea. */
  | { readonly is: 'gone' }
  | { readonly is: 'would-delete' }
  /** Dead, but the budget of this pass is used up, or a deletion in this scope failed. */
  | { readonly is: 'postponed' }
  | { readonly is: 'failed'; readonly code: string }
  | { readonly is: 'kept'; readonly because: StaysBecause | 'changed'; readonly witness?: string };

/** A row of ours and what became of it. */
export interface SweptRegistration {
  readonly namespace: string;
  readonly group: string;
  readonly gitea: string;
  readonly id: number;
  readonly name: string;
  readonly outcome: SweepOutcome;
}

export interface SweepReport {
  /** By Gitea and id. */
  readonly registrations: readonly SweptRegistration[];
  /** Rows of other runners, which are never touched. */
  readonly foreign: number;
  /** Scopes whose runners Gitea shows to their user alone. */
  readonly unlisted: readonly string[];
  /** What could not be read or deleted; the other scopes were swept all the same. */
  readonly failures: readonly Failure[];
}

/** One scope that was looked at. */
interface ScopeLook {
  readonly target: GiteaTarget;
  readonly level: Level;
  readonly look: Look;
}

/** Sweeps again and again; `pass` must not be called before the one before has ended. */
export class Sweeper {
  readonly #options: SweeperOptions;
  readonly #versions: VersionCache;
  readonly #budget: number;
  #sightings: Sightings = new Map();
  #nextDeletionMs = Number.NEGATIVE_INFINITY;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#versions = options.versions ?? new Map();
    this.#budget = options.budget ?? DEFAULT_BUDGET;
  }

  /** Looks and deletes. When `signal` is aborted it stops before the next deletion. */
  async pass({ groups, areAll = false, liveJobs, mayAsk }: SweepScene, signal?: AbortSignal): Promise<SweepReport> {
    const failures: Failure[] = [];
    const unlisted: string[] = [];
    const targets = new Map(groups.map(({ target }) => [target.key, target]));
    const asked = [...targets.values()].filter((target) => mayAsk?.(target) ?? true);
    const looks = await this.#lookAt(asked, failures, unlisted);
    const choice = deadRegistrations(
      {
        instance: this.#options.instance,
        groups: groups.map(({ namespace, name, target: { key, url } }) => ({
          namespace,
          name,
          giteaUrl: url,
          look: key,
        })),
        areAll,
        looks: new Map([...looks].map(([key, { look }]) => [key, look])),
        liveJobs: await liveJobs(),
        nowMs: this.#options.clock.steadyMs(),
      },
      this.#sightings,
    );
    this.#sightings = choice.sightings;

    const outcomes = new Map<JudgedRegistration, SweepOutcome>();
    const stopped = new Set<string>();
    let deletions = 0;
    for (const judged of inTurns(choice.registrations)) {
      const scope = looks.get(judged.group.look);
      const mayDelete = !stopped.has(judged.group.look) && deletions < this.#budget;
      const outcome = await this.#actOn(judged, mayDelete ? scope : undefined, failures, signal);
      if (outcome.is === 'deleted') deletions += 1;
      // What a token may not do once it may not do for the next row either, and a server that fails is left alone.
      if (outcome.is === 'failed') stopped.add(judged.group.look);
      outcomes.set(judged, outcome);
    }
    const registrations = choice.registrations.flatMap((judged): readonly SweptRegistration[] => {
      const outcome = outcomes.get(judged);
      const { group, id, name } = judged;
      return outcome
        ? [{ namespace: group.namespace, group: group.name, gitea: group.giteaUrl, id, name, outcome }]
        : [];
    });
    return { registrations, foreign: choice.foreign, unlisted, failures };
  }

  /** Every target once, all at the same time. The failure of one scope does not stop the others. */
  async #lookAt(
    targets: readonly GiteaTarget[],
    failures: Failure[],
    unlisted: string[],
  ): Promise<ReadonlyMap<string, ScopeLook>> {
    const looks = new Map<string, ScopeLook>();
    await Promise.all(
      targets.map(async (target) => {
        try {
          await this.#visit(target, async () => {
            const access = this.#accessTo(target);
            const level = await registrationLevel(access, target.scope);
            if (level) looks.set(target.key, { target, level, look: await readRegistrations(access, level) });
            else unlisted.push(describeScope(target.scope));
          });
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          failures.push(error);
        }
      }),
    );
    return looks;
  }

  async #actOn(
    judged: JudgedRegistration,
    scope: ScopeLook | undefined,
    failures: Failure[],
    signal: AbortSignal | undefined,
  ): Promise<SweepOutcome> {
    const { verdict } = judged;
    if (!verdict.dead) {
      const { because, witness } = verdict;
      return { is: 'kept', because, ...(witness !== undefined && { witness }) };
    }
    if (this.#options.dryRun) return { is: 'would-delete' };
    if (!scope) return { is: 'postponed' };
    try {
      const waitMs = this.#nextDeletionMs - this.#options.clock.steadyMs();
      if (waitMs > 0) await pause(this.#options.clock, waitMs, signal);
      if (signal?.aborted) return { is: 'postponed' };
      return await this.#visit(scope.target, () => this.#delete(judged, scope));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
      return { is: 'failed', code: error.code };
    }
  }

  async #delete({ id, name }: JudgedRegistration, { target, level }: ScopeLook): Promise<SweepOutcome> {
    const access = this.#accessTo(target);
    const { row, jobs } = await readRegistration(access, level, id);
    if (!row) return { is: 'gone' };
    if (row.id !== id || row.name !== name || !row.ephemeral) return { is: 'kept', because: 'changed' };
    if (row.online || row.busy) return { is: 'kept', because: 'online' };
    if (jobs.some(({ runner }) => runner === name)) return { is: 'kept', because: 'job-in-progress' };
    this.#nextDeletionMs = this.#options.clock.steadyMs() + 60_000 / this.#budget;
    return { is: await deleteRegistration(access, level, id) };
  }

  async #visit<T>(target: GiteaTarget, work: () => Promise<T>): Promise<T> {
    const { visit } = this.#options;
    return await (visit ? visit(target, work) : work());
  }

  #accessTo({ url, token }: GiteaTarget): GiteaAccess {
    const { http, queue, timeoutMs } = this.#options;
    const deadline = new Deadline(timeoutMs);
    return { http, url, token, deadline, versions: this.#versions, ...(queue !== undefined && { queue }) };
  }
}

/** The first dead row of each scope, then the second ones: a scope that has many, or never ends, leaves something of the budget to others. */
function inTurns(registrations: readonly JudgedRegistration[]): readonly JudgedRegistration[] {
  const byScope = groupBy(registrations, ({ group, verdict }) => (verdict.dead ? group.look : undefined));
  const turns = new Map([...byScope.values()].flatMap((rows) => rows.map((row, turn) => [row, turn] as const)));
  return registrations.toSorted((a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0));
}
