/**
 * All Applications that manage groups of ours: what each waits for (wake-state.ts), and what Argo CD says that it has printed.
 *
 * Two classes of the queue. `wake`: a refresh costs Argo CD a core for about a second, so few Applications are woken at the same time.
 * Namespaces of RunnerGroups take turns, and within one whose need became due first goes first. `ask`: Argo CD is read at the start,
 * after each outage of Gitea, and once a minute while nothing is wanted. Nothing is remembered from our own plans: another leader may
 * have woken the Application, and others refresh it.
 */
import { type AppState, operationWords } from '../clients/argocd/app-state.ts';
import { type ApplicationRef, type ObjectRef, shardRef } from '../clients/argocd/application.ts';
import { Deadline } from '../clients/http/request.ts';
import { parseRunnerName } from '../planner/names.ts';
import type { Clock } from '../shared/clock.ts';
import { Failure, orFailure } from '../shared/failure.ts';
import { keepOnly, keyText } from '../shared/keys.ts';
import type { Tell } from './planning/events.ts';
import type { AppVerdict, WakeFacts } from './planning/reconcile.ts';
import type { KeyQueue, Retry, Turn, WorkQueue } from './queue/work-queue.ts';
import { applicationOfGroup, isListed, type Listing, type LiveGroup, refOf, siblingsOf } from './seen/live.ts';
import { ANSWER_MS, recordSteps, type WakeResult, type WakeStep, type WakeTarget, wake } from './waking/wake.ts';
import * as wakeState from './waking/wake-state.ts';

interface ApplicationsOptions {
  readonly argocd: WakeTarget;
  readonly queue: WorkQueue;
  readonly clock: Clock;
  readonly wakes: number;
  readonly tell: Tell;
  /** Called when a wake has ended (`outcome`), or Argo CD has answered a question. */
  readonly onNews: (application: string, outcome?: wakeState.WakeOutcome) => void;
}

interface Managed {
  readonly ref: ApplicationRef;
  /** The RunnerGroups whose annotations name this Application. A shard other than shard 0 has one entry, which says that it is this shard. */
  groups: readonly ObjectRef[];
  /** Key of shard 0, which has made the RunnerGroups. Only the other shards have it. */
  readonly head?: string;
  lane: string;
  state: wakeState.WakeState;
  /** Keys of our Jobs in Argo CD's copy of the output, as it has said last. */
  printed: ReadonlySet<string>;
  /** True if Argo CD has confirmed that the Application manages one of these groups. */
  isProven: boolean;
  listing?: Listing | undefined;
  /** Argo CD may have met a fault that is not known here: nobody has asked since this began, or since Gitea failed. */
  mustBeAsked: boolean;
}

/** Longest time for one wake. A refresh that is late is waited for: to ask for another one would make Argo CD slower. */
const WAKE_MS = 600_000;
/** How often the Application is read while nothing is wanted of it, if Argo CD has said nothing in between, ms. */
const ASK_EVERY_MS = 60_000;
const ASKS_AT_ONCE = 8;
/** Most hanging wakes that give their place to others. With more of them, the next wakes wait until one ends. */
const MOST_HANGING = 120;
/** A wake hangs after so many times the median of the last ones, within these bounds, ms. */
const TIMES_AS_LONG = 4;
/** A wake of less time never counts as hanging, ms, however fast the last ones were. */
const SHORTEST_HANG_MS = 5_000;
/** A wake of more time always counts as hanging, ms, however slow the last ones were. */
const LONGEST_HANG_MS = 60_000;
const WAKES_REMEMBERED = 8;

export class Applications {
  readonly #options: ApplicationsOptions;
  readonly #apps = new Map<string, Managed>();
  readonly #wakes: KeyQueue;
  readonly #asks: KeyQueue;
  #lastWakesMs: readonly number[] = [];

  constructor(options: ApplicationsOptions) {
    this.#options = options;
    const { queue, wakes: width } = options;
    this.#wakes = queue.open('wake', {
      width,
      laneOf: (key) => this.#apps.get(key)?.lane ?? '',
      slow: { afterMs: () => hangsAfterMs(this.#lastWakesMs), most: MOST_HANGING },
      deadlineMs: WAKE_MS + 2 * ANSWER_MS,
      // The wake's own deadline is shorter. This one catches mistakes in this program.
      onFailure: (key, failure) => this.#failed(key, failure),
      run: (key, turn) => this.#wake(key, turn),
    });
    this.#asks = queue.open('ask', { width: ASKS_AT_ONCE, deadlineMs: 2 * ANSWER_MS, run: (key) => this.#ask(key) });
  }

  /** True once each Application shows its plan, or its last wake failed. */
  get done(): boolean {
    return [...this.#apps.values()].every(({ state }) => wakeState.isDone(state));
  }

  get troubles(): readonly string[] {
    return [...this.#apps].flatMap(([key, { state }]) => {
      const trouble = wakeState.troubleOf(state);
      return trouble === undefined ? [] : `${key}: ${trouble}`;
    });
  }

  get wakes(): ReadonlyMap<string, WakeFacts> {
    return new Map([...this.#apps].map(([key, { listing, printed, state }]) => [key, { listing, printed, state }]));
  }

  /** Returns the Applications of these groups with their other shards, by key. Groups without an Application have the key ''. */
  #wanted(byApp: ReadonlyMap<string, readonly LiveGroup[]>) {
    const wanted = new Map<string, Pick<Managed, 'ref' | 'groups' | 'head' | 'lane'>>();
    for (const [key, members] of byApp) {
      if (key === '') continue;
      const counting = members.filter((member) => isListed(member, this.#apps.get(key)?.listing));
      const [first = members[0]] = counting;
      const ref = first && applicationOfGroup(first);
      if (!ref) throw new Error(`no Application behind ${key}`);
      const lane = first.object.metadata.namespace;
      wanted.set(key, { ref, groups: members.map(({ object }) => refOf(object.metadata)), lane });
      for (const sibling of siblingsOf(counting, key))
        wanted.set(sibling.key, { ref: sibling.ref, groups: [shardRef(sibling.shard)], head: key, lane });
    }
    return wanted;
  }

  /** Replaces the set of existing Applications, with their groups. */
  keep(byApp: ReadonlyMap<string, readonly LiveGroup[]>): void {
    const wanted = this.#wanted(byApp);
    keepOnly(this.#apps, wanted);
    this.#wakes.keepOnly(this.#apps);
    this.#asks.keepOnly(this.#apps);
    for (const [key, app] of wanted) {
      const before = this.#apps.get(key);
      if (before) {
        this.#askForNew(key, before, app.groups);
        [before.groups, before.lane] = [app.groups, app.lane];
        continue;
      }
      const unasked = { state: wakeState.NEVER_WOKEN, printed: new Set<string>(), isProven: false, mustBeAsked: true };
      this.#apps.set(key, { ...app, ...unasked });
      this.#asks.add(key);
    }
  }

  /** A commit may have brought a group since Argo CD was asked. Each is asked for once at once, then every minute. */
  #askForNew(key: string, app: Managed, groups: readonly ObjectRef[]): void {
    const known = new Set([...app.groups.map(keyText), ...(app.listing?.keys() ?? [])]);
    if (!app.listing || groups.every((group) => known.has(keyText(group)))) return;
    app.mustBeAsked = true;
    this.#asks.add(key);
  }

  follow(key: string, { planning, difference, settled }: Pick<AppVerdict, 'planning' | 'difference' | 'settled'>) {
    const app = this.#apps.get(key);
    if (!app) return;
    const isFailed = planning.is === 'failed';
    this.#hears(key, app, isFailed ? { is: 'no-plan' } : { is: 'planned', difference, settled });
    if (isFailed) app.mustBeAsked = true;
    else if (planning.is === 'planned' && app.mustBeAsked) this.#asks.add(key);
  }

  #hears(key: string, app: Managed, news: wakeState.WakeNews): void {
    const nowMs = this.#options.clock.steadyMs();
    const before = app.state;
    app.state = wakeState.follow(before, news, nowMs);
    const shownMs = wakeState.shownAfterMs(before, app.state, nowMs);
    if (shownMs !== undefined) this.#options.tell({ is: 'plan-shown', application: key, ms: shownMs });
    const { untilMs } = app.state;
    this.#wakes.set(key, untilMs === undefined ? undefined : untilMs - nowMs);
  }

  /** Wakes one Application at its turn, if its state still asks for that. */
  async #wake(key: string, { giveWay, signal, waitedMs }: Turn): Promise<undefined> {
    const { argocd, clock, onNews, tell } = this.#options;
    const app = this.#apps.get(key);
    if (!app) return;
    this.#hears(key, app, { is: 'its-turn' });
    if (app.state.is !== 'waking') return;
    const beganMs = clock.steadyMs();
    const steps: WakeStep[] = [];
    const recorded = recordSteps(argocd, steps, signal);
    /** How long Argo CD took to compare: until the first sync, or the first wait for another operation. */
    let comparedMs: number | undefined;
    const noteCompared = (): void => {
      comparedMs ??= clock.steadyMs() - beganMs;
    };
    const sync: WakeTarget['sync'] = (ref, deadline) => {
      noteCompared();
      return recorded.sync(ref, deadline);
    };
    const onBusy = (): void => {
      noteCompared();
      giveWay();
    };
    const limits = { deadline: new Deadline(WAKE_MS, clock), onBusy };
    const begin = async () =>
      (await this.#stranger(app, recorded)) ?? (await wake({ ...recorded, sync }, app.ref, app.groups, limits));
    const result = await orFailure(begin());
    if (!(result instanceof Failure)) note(app, result.app);
    const outcome = result instanceof Failure ? wakeState.failedOutcome(result, steps) : outcomeOf(result, clock.now());
    const ms = clock.steadyMs() - beganMs;
    if (this.#apps.get(key) !== app || signal.aborted) return;
    // Only a wake with a refresh tells how fast Argo CD is. The sync may have waited for another operation.
    if (outcome.is !== 'failed' && steps.some(({ step }) => step === 'refresh'))
      this.#lastWakesMs = [...this.#lastWakesMs, comparedMs ?? ms].slice(-WAKES_REMEMBERED);
    tell({ is: 'woken', application: key, outcome, ms, waitedMs, steps });
    this.#hears(key, app, { is: 'woken', outcome, comparedMs });
    this.#asks.set(key, ASK_EVERY_MS);
    onNews(key, outcome);
  }

  /** Answers `foreign` if shard 0 does not manage the RunnerGroup: anybody may write that it has shards. */
  async #stranger({ head = '' }: Managed, argocd: WakeTarget): Promise<WakeResult | undefined> {
    const first = this.#apps.get(head);
    if (!first || first.isProven) return undefined;
    const state = await argocd.read(first.ref, new Deadline(ANSWER_MS, argocd.clock));
    note(first, state);
    return first.isProven ? undefined : { is: 'foreign', app: state };
  }

  #failed(key: string, failure: Failure): void {
    const app = this.#apps.get(key);
    if (app) this.#hears(key, app, { is: 'woken', outcome: wakeState.failedOutcome(failure) });
  }

  /** Reads one Application. An error, or a Job of ours that is out of sync, leads to a wake. Nothing else does. */
  async #ask(key: string): Promise<Retry | undefined> {
    const { argocd, clock, onNews, tell } = this.#options;
    const app = this.#apps.get(key);
    if (!app) return undefined;
    const isRoutine = !app.mustBeAsked;
    // A wake under way will show the same.
    if (isRoutine && !wakeState.isDone(app.state)) return { inMs: ASK_EVERY_MS };
    const { beganMs, last } = app.state;
    app.mustBeAsked = false;
    const state = await orFailure(argocd.read(app.ref, new Deadline(ANSWER_MS, clock)));
    if (state instanceof Failure) {
      if (this.#apps.get(key) !== app) return undefined;
      tell({ is: 'ask-failed', application: key, failure: state });
      // Nothing is known to be wrong: the next read is in a minute. An Argo CD that comes back is not flooded.
      if (!isRoutine) this.#hears(key, app, { is: 'unwell', outcome: wakeState.failedOutcome(state) });
    }
    // A wake that has begun or ended since then knows more.
    else if (app.state.beganMs === beganMs && app.state.last === last) this.#answered(key, app, state);
    onNews(key);
    return { inMs: ASK_EVERY_MS };
  }

  #answered(key: string, app: Managed, state: AppState): void {
    // While an operation or refresh is under way, this state is old. Another wake would make a slow Argo CD slower.
    const misses = note(app, state) && !state.isOperating && !state.refreshPending;
    const [first] = state.errors.filter(({ stops }) => stops);
    if (first) this.#hears(key, app, { is: 'unwell', outcome: { is: 'error', message: first.message } });
    else if (state.sync === 'Unknown' || misses) this.#hears(key, app, { is: 'unwell' });
  }
}

/** Stores which Jobs and RunnerGroups Argo CD says are printed. Returns true if one of our Jobs is out of sync. */
function note(app: Managed, { errors, groups, jobs, manages, sync }: AppState): boolean {
  app.isProven = app.groups.some(manages);
  if (sync === 'Unknown' || !app.isProven || errors.some(({ stops }) => stops)) return false;
  const none = app.groups.map((group) => [keyText(group), false] as const);
  app.listing = groups && new Map([...none, ...groups.map((group) => [group, true] as const)]);
  const ours = jobs.filter(({ name }) => parseRunnerName(name) !== undefined);
  app.printed = new Set(ours.map(keyText));
  return ours.some(({ outOfSync }) => outOfSync);
}

function outcomeOf(result: WakeResult, nowMs: number): wakeState.WakeOutcome {
  if (result.is === 'error') return { is: 'error', message: result.errors[0]?.message ?? 'no reason given' };
  // A sync of somebody else's Application does not count.
  if (result.is === 'foreign') return { is: 'foreign' };
  const { message = '', phase } = result.app.operation ?? {};
  const hasFailed = phase === 'Failed' || phase === 'Error';
  const lasting = result.is === 'busy' ? operationWords(result.app, nowMs) : undefined;
  const end = lasting?.end === undefined ? '' : `. To end it: ${lasting.end}`;
  const says = [lasting ? lasting.says + end : [], result.app.warnings].flat().join('; ');
  return { is: result.is, ...(hasFailed && message !== '' && { message }), ...(says !== '' && { says }) };
}

/** Pure. After how long a wake gives its place to others, when the wakes before it took these times, ms. */
export function hangsAfterMs(lastMs: readonly number[]): number {
  const median = [...lastMs].sort((a, b) => a - b)[Math.floor(lastMs.length / 2)] ?? LONGEST_HANG_MS;
  return Math.min(Math.max(TIMES_AS_LONG * median, SHORTEST_HANG_MS), LONGEST_HANG_MS);
}
