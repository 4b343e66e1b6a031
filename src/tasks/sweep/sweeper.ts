/**
 * Deletes dead registrations, one pass after the other.
 *
 *     runner lists and running jobs ─► Jobs in Kubernetes ─► choose.ts ─► dead ones, one by one:
 *       wait for the budget ─► running jobs again ─► the row again ─► DELETE
 *
 * The first pass deletes nothing: a row must have been seen twice. What was seen is kept in the `Sweeper` and nowhere else. After a restart
 * all of it must be seen again.
 */
import { type GiteaAccess, GiteaApi, type VersionCache } from '../../clients/gitea/api.ts';
import { describeScope } from '../../clients/gitea/endpoints.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { deleteRegistration, readRegistration, readRegistrations } from '../../clients/gitea/registrations.ts';
import { ownLevel } from '../../clients/gitea/user-repos.ts';
import type { Sender } from '../../clients/http/http-client.ts';
import { Deadline } from '../../clients/http/request.ts';
import type { TargetOf } from '../../plan/find-targets.ts';
import type { GroupKey } from '../../planner/decisions.ts';
import type { LiveJob } from '../../planner/evidence.ts';
import { subscriberOf } from '../../serve/planning/events.ts';
import type { Retry, Turn } from '../../serve/queue/work-queue.ts';
import type { StartTask } from '../../serve/task.ts';
import { type Clock, pause } from '../../shared/clock.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { inTurns, keyText } from '../../shared/keys.ts';
import { boundTo } from '../../shared/marks.ts';
import {
  type ChosenGroup,
  DEFAULT_BUDGET,
  deadRegistrations,
  type JudgedRegistration,
  type RowObservations,
  type StaysBecause,
} from './choose.ts';

export type SweepGroup = Pick<ChosenGroup, keyof GroupKey | 'byServe'> & { readonly target: GiteaTarget };

export interface SweeperOptions {
  readonly instance: string;
  /** Runs `work` when this Gitea may be asked: one look at a scope, or one deletion with its checks. */
  readonly ask: <T>(target: GiteaTarget, work: (access: GiteaAccess) => Promise<T>) => Promise<T>;
  /** Deletions per minute; also the most that one pass deletes, so that no pass acts on an old look. */
  readonly budget: number;
  /** Delete nothing but rows of groups `byServe`, only report what would be deleted. */
  readonly dryRun?: boolean;
  readonly clock: Pick<Clock, 'after' | 'steadyMs'>;
}

export interface SweepContext {
  readonly groups: readonly SweepGroup[];
  /** False for a Gitea that is to be left alone in this pass. Default: none is. */
  readonly mayAsk?: (target: GiteaTarget) => boolean;
  /** True if no further RunnerGroup exists (`SweepEvidence.areAll`). */
  readonly areAll?: boolean;
  /** Lists all Jobs of the groups' namespaces, after Gitea's lists. Undefined: not seen, nothing is deleted. @throws Failure */
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

export type SweepReport = Readonly<Awaited<ReturnType<Sweeper['pass']>>>;
/** A row of this program with its outcome. */
export type SweptRegistration = SweepReport['registrations'][number];

/** Asks without waiting for a turn. @param timeoutMs for each look and each deletion. */
export function atOnce(http: Sender, timeoutMs: number): SweeperOptions['ask'] {
  const versions: VersionCache = new Map();
  return ({ token, url }, work) => work({ http, url, token, deadline: new Deadline(timeoutMs), versions });
}

type ScopeLook = NonNullable<Awaited<ReturnType<typeof lookAt>>>;

/** Reads the runners of a scope. Undefined: Gitea shows them to their user alone. @throws Failure */
async function lookAt(access: GiteaAccess, target: GiteaTarget) {
  const level = await ownLevel(new GiteaApi(access), target.scope);
  return level && { target, level, look: await readRegistrations(access, level) };
}

/** Makes one pass after the other. `pass` must not be called before the last one has ended. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #observations: RowObservations = new Map();
  #nextDeletionMs = Number.NEGATIVE_INFINITY;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  async pass({ groups, areAll = false, liveJobs, mayAsk }: SweepContext, signal?: AbortSignal) {
    const targets = new Map(groups.map(({ target }) => [target.key, target]));
    const allowedTargets = [...targets.values()].filter((target) => mayAsk?.(target) ?? true);
    const { looks, ...read } = await this.#look(allowedTargets);
    const choice = deadRegistrations(
      {
        instance: this.#options.instance,
        groups: groups.map(({ target: { key: look, url: giteaUrl }, ...group }) => ({ ...group, giteaUrl, look })),
        areAll,
        looks: new Map([...looks].map(([key, { look }]) => [key, look])),
        liveJobs: await liveJobs(),
        nowMs: this.#options.clock.steadyMs(),
      },
      this.#observations,
    );
    this.#observations = choice.observations;

    const { failures, outcomes } = await this.#actOnAll(choice.registrations, looks, signal);
    return {
      /** Rows of this program, sorted by Gitea and id. */
      registrations: choice.registrations.flatMap((registration) => {
        const { group, id, name } = registration;
        const outcome = outcomes.get(registration);
        if (!outcome) return [];
        return { namespace: group.namespace, group: group.name, gitea: group.giteaUrl, id, name, outcome };
      }),
      /** Rows of other runners, which are never touched. */
      foreign: choice.foreign,
      /** Scopes whose runners Gitea shows to their user alone. */
      unlisted: read.unlisted,
      /** Failed reads and deletions. The other scopes were swept all the same. */
      failures: [...read.failures, ...failures],
    };
  }

  /** Looks at each scope. The failure of one does not stop the others. */
  async #look(targets: readonly GiteaTarget[]) {
    const lookOf = (target: GiteaTarget) => orFailure(this.#options.ask(target, (access) => lookAt(access, target)));
    const results = await Promise.all(targets.map(lookOf));
    const looks = results.flatMap((each) => (each && !(each instanceof Failure) ? each : []));
    return {
      looks: new Map(looks.map((each) => [each.target.key, each])),
      unlisted: targets.flatMap(({ scope }, at) => (results[at] ? [] : describeScope(scope))),
      failures: results.flatMap((each) => (each instanceof Failure ? each : [])),
    };
  }

  async #actOnAll(
    registrations: readonly JudgedRegistration[],
    looks: ReadonlyMap<string, ScopeLook>,
    signal: AbortSignal | undefined,
  ) {
    const outcomes = new Map<JudgedRegistration, SweepOutcome>();
    const failures: Failure[] = [];
    const stopped = new Set<string>();
    let deletions = 0;
    // A scope that has many dead rows, or never ends, leaves something of the budget to the others.
    const scopeOf = ({ group, verdict }: JudgedRegistration) => (verdict.is === 'dead' ? group.look : undefined);
    for (const registration of inTurns(registrations, scopeOf)) {
      const { look } = registration.group;
      const mayDelete = !stopped.has(look) && deletions < this.#options.budget;
      const done = await this.#actOn(registration, mayDelete ? looks.get(look) : undefined, signal);
      if (done instanceof Failure) {
        // A right that the token lacks is missing for the next row, too, and a failing server is left alone.
        stopped.add(look);
        failures.push(done);
        outcomes.set(registration, { is: 'failed', code: done.code });
      } else {
        if (done.is === 'deleted') deletions += 1;
        outcomes.set(registration, done);
      }
    }
    return { failures, outcomes };
  }

  async #actOn(
    registration: JudgedRegistration,
    scope: ScopeLook | undefined,
    signal: AbortSignal | undefined,
  ): Promise<SweepOutcome | Failure> {
    if (registration.verdict.is === 'kept') return registration.verdict;
    if (this.#options.dryRun && !registration.group.byServe) return { is: 'would-delete' };
    if (!scope) return { is: 'postponed' };
    const waitMs = this.#nextDeletionMs - this.#options.clock.steadyMs();
    if (waitMs > 0) await pause(this.#options.clock, waitMs, signal);
    if (signal?.aborted) return { is: 'postponed' };
    return await orFailure(this.#options.ask(scope.target, (access) => this.#delete(access, registration, scope)));
  }

  async #delete(access: GiteaAccess, { id, name }: JudgedRegistration, { level }: ScopeLook): Promise<SweepOutcome> {
    const { row, jobs } = await readRegistration(access, level, id);
    if (!row) return { is: 'gone' };
    if (row.id !== id || row.name !== name || !row.ephemeral) return { is: 'kept', because: 'changed' };
    if (row.online || row.busy) return { is: 'kept', because: 'online' };
    if (jobs.some(({ runner }) => runner === name)) return { is: 'kept', because: 'job-in-progress' };
    this.#nextDeletionMs = this.#options.clock.steadyMs() + 60_000 / this.#options.budget;
    return { is: await deleteRegistration(access, level, id) };
  }
}

const PAUSE_MS = 60_000;
/** Pause between passes that only count, ms: each costs a scope two or three requests. */
const COUNT_PAUSE_MS = 600_000;
/** Outcomes of dead rows that still exist. */
const LEFT: ReadonlySet<SweepOutcome['is']> = new Set(['would-delete', 'postponed', 'failed']);
/** How long a deleted group is remembered, ms: its last runners end after it. */
const REMEMBERED_MS = 3_600_000;
/** Most deleted groups and most repositories that are remembered. Rows beyond stay in Gitea. */
const MOST_REMEMBERED = 1000;
/** Time limit of a pass over all scopes of all Giteas, within their request budgets, ms. */
const LONGEST_PASS_MS = 3_600_000;
const ALL = 'all';
/** Most repositories whose left rows one pass reads, and how many passes read each. Two suffice to delete a row. */
const MOST_PLACES = 10;
const PASSES = 5;
/** Passes for a group that is only guessed: enough to see a row twice, 75 s apart. Others go first. */
const GUESS_PASSES = 3;
/** Most repositories of guessed rows. Rows beyond stay in Gitea. */
const MOST_GUESSED = 500;

/**
 * Sweeps once a minute. The list of a wider scope lacks the rows of a repository: these are read when some may be left.
 * @param deletes false (no `--sweep`): only rows of groups `byServe` go. Others are counted, mostly every ten minutes
 */
export function sweepDeadRows(deletes: boolean, instance: string, timeoutMs: number): StartTask {
  return ({ clock, cluster, giteas, isWell, queue, targetOf, tell }) => {
    const groups = new SweptGroups();
    let lastTargetOf: TargetOf | undefined;
    const places = new Map<string, Readonly<{ group: SweepGroup; passes: number; isGuess: boolean }>>();
    const nextPlaces = (): readonly SweepGroup[] =>
      [...places]
        .sort(([, a], [, b]) => Number(a.isGuess) - Number(b.isGuess))
        .slice(0, MOST_PLACES)
        .map(([key, place]) => {
          if (place.passes > 1) places.set(key, { ...place, passes: place.passes - 1 });
          else places.delete(key);
          return place.group;
        });
    const pauseMs = (): number => {
      const isUrgent = deletes || places.size > 0 || groups.at(clock.now()).some(({ byServe }) => byServe);
      return isUrgent ? PAUSE_MS : COUNT_PAUSE_MS;
    };
    const sweeper = new Sweeper({
      instance,
      ask: (target, work) => giteas.ask(target, timeoutMs, work),
      budget: DEFAULT_BUDGET,
      dryRun: !deletes,
      clock,
    });
    /** Sweeps once. If looks fail or Jobs cannot be seen, nothing is deleted. */
    const sweep = async (_: string, { signal }: Turn): Promise<Retry> => {
      const mayRead = ({ namespace }: SweepGroup): boolean => cluster.mayRead(namespace);
      const readable = [...groups.at(clock.now()), ...nextPlaces()].filter(mayRead);
      const liveJobs = async () => {
        const isSeen = cluster.fresh && readable.every(mayRead);
        return isSeen ? cluster.runners().map(({ job }) => job) : undefined;
      };
      const mayAsk = (target: GiteaTarget): boolean => isWell(target) && giteas.pauseMs(target) === 0;
      const result = await sweeper.pass({ groups: readable, areAll: true, mayAsk, liveJobs }, signal);
      const { registrations, failures } = result;
      tell({ is: 'dead-registrations', rows: registrations.filter(({ outcome }) => LEFT.has(outcome.is)) });
      for (const { gitea, name, outcome } of registrations) {
        if (outcome.is === 'deleted') tell({ is: 'registration-deleted', gitea, runner: name });
      }
      for (const failure of deletes ? failures : []) tell({ is: 'sweep-failed', failure, of: 'part' });
      return { inMs: pauseMs() };
    };
    const line = queue.open('sweep', {
      width: 1,
      deadlineMs: LONGEST_PASS_MS,
      // Without `--sweep`, a failed count is not reported.
      onFailure: (_, failure) => deletes && tell({ is: 'sweep-failed', failure, of: 'all' }),
      backOffMs: pauseMs,
      run: sweep,
    });
    // Without `--sweep` the first pass waits: a start is busy enough.
    line.add(ALL, deletes ? 0 : pauseMs());
    return subscriberOf({
      reconciled: () => {
        const now = targetOf();
        if (now === lastTargetOf) return;
        lastTargetOf = now;
        const existing = [...now].flatMap(([{ namespace, name, registration }, target]) =>
          target instanceof Failure ? [] : [{ namespace, name, target, byServe: registration.by === 'serve' }],
        );
        groups.exist(existing, clock.now());
        line.add(ALL, pauseMs());
      },
      'row-left': ({ at, isGuess = false, object: { metadata }, target: { key, ...target } }) => {
        const [owner = '', repo] = boundTo(at)?.split('/') ?? [];
        if (repo === undefined || places.size >= (isGuess ? MOST_GUESSED : MOST_REMEMBERED)) return;
        const place = { key: `${key} ${at}`, ...target, scope: { kind: 'repo', owner, repo } } as const;
        if (isGuess && places.has(place.key)) return;
        const group = { ...metadata, target: place, byServe: true };
        places.set(place.key, { group, passes: isGuess ? GUESS_PASSES : PASSES, isGuess });
      },
    });
  };
}

/** The groups whose registrations are swept: those that exist, and those that went not long ago. */
export class SweptGroups {
  #existing: readonly SweepGroup[] = [];
  /** Since when each group has been gone. The latest is last. */
  readonly #gone = new Map<string, { readonly group: SweepGroup; readonly sinceMs: number }>();

  /** Sets the existing groups. Call it at each change: a group that lived only between two passes leaves rows, too. */
  exist(groups: readonly SweepGroup[], nowMs: number): void {
    const keys = new Set(groups.map(keyOf));
    for (const group of this.#existing)
      if (!keys.has(keyOf(group))) this.#gone.set(keyOf(group), { group, sinceMs: nowMs });
    for (const key of keys) this.#gone.delete(key);
    for (const key of [...this.#gone.keys()].slice(0, -MOST_REMEMBERED)) this.#gone.delete(key);
    this.#existing = groups;
  }

  at(nowMs: number): readonly SweepGroup[] {
    for (const [key, { sinceMs }] of this.#gone) if (nowMs - sinceMs > REMEMBERED_MS) this.#gone.delete(key);
    return [...this.#existing, ...[...this.#gone.values()].map(({ group }) => group)];
  }
}

/** The key of a group is without its token: a new token takes the place of one that Gitea may refuse. */
function keyOf(group: SweepGroup): string {
  return [keyText(group), group.target.url, describeScope(group.target.scope)].join(' ');
}
