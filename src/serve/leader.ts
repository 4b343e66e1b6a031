/**
 * What the leading process does, until it leads no more:
 *
 *     cluster changes ──┐
 *     looks at Gitea ───┼─► round: plan each Application ─► difference ─► its waker
 *     once a second ────┘                    └─► status of its groups, metrics
 *
 * It changes nothing in the cluster but `status`; Jobs are made and pruned by Argo CD only.
 */
import { type ApplicationRef, applicationKey, applicationOf, type ObjectRef } from '../argocd/application.ts';
import { type WakeTarget, wake } from '../argocd/wake.ts';
import { Failure } from '../failure.ts';
import type { GiteaTarget } from '../gitea/observe.ts';
import { Deadline } from '../http/deadline.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import type { Plan } from '../plan/decisions.ts';
import type { TokenSources } from '../policy/api-token.ts';
import type { RunnerGroup, Scope } from '../runnergroup/runner-group.ts';
import type { SweepGroup } from '../sweep/sweep.ts';
import type { LiveCluster, LiveGroup, LiveRunnerOfApp } from './cluster.ts';
import { differenceOf, NO_DIFFERENCE, printedKeys } from './difference.ts';
import type { GroupFacts } from './group-status.ts';
import type { Log } from './log.ts';
import { Lookout, type LookoutOptions } from './lookout.ts';
import type { Metrics } from './metrics.ts';
import { countsOf, type Planning, planApplication, type SightedGroup } from './planning.ts';
import { RunnerIndex } from './runner-index.ts';
import { StatusWriter } from './status-writer.ts';
import { sweepAgainAndAgain } from './sweeping.ts';
import { TargetBook, type TargetOf } from './targets.ts';
import { WaitingTimes } from './waiting-times.ts';
import { type WakeOutcome, Waker } from './waker.ts';
import type { WebhookEvent } from './webhook.ts';

export interface LeaderOptions extends TokenSources {
  readonly cluster: LiveCluster;
  readonly client: KubeClient;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly instance: string;
  readonly sweep: boolean;
  readonly lookout: Omit<LookoutOptions, 'onLook' | 'onRequest' | 'now' | 'env'>;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Longest time for one wake: a hard refresh waits for Argo CD's queues, git and the generator. */
const WAKE_MS = 120_000;
/** Rounds are at least this far apart: watches tell of bursts. */
const ROUND_GAP_MS = 20;
/** Times in the plan (spawn timeout, back-off) pass without an event. */
const TICK_MS = 5_000;
/** With no job and no runner nothing depends on the time but `lastCheckTime`. */
const QUIET_MS = 30_000;
/** Secrets are read anew this often. */
const TOKENS_MS = 30_000;

interface App {
  readonly ref: ApplicationRef;
  readonly waker: Waker;
  /** Who names this Application as theirs. */
  groups: readonly ObjectRef[];
  /** Keys of the Jobs that the plan holds, and those that it held at the last wake: these are in Argo CD's copy of the output. */
  wanted: ReadonlySet<string>;
  printed: ReadonlySet<string>;
  /** The last look or plan failed: Argo CD may have met the same trouble and kept its error. */
  failing: boolean;
}

/** What a round found out about one Application. It holds while its inputs are the same, but not for ever: time changes plans. */
interface View {
  readonly inputs: readonly unknown[];
  readonly atMs: number;
  readonly lifeMs: number;
  readonly planning: Planning | undefined;
  readonly measures: readonly (() => void)[];
}

export class Leader {
  readonly #options: LeaderOptions;
  readonly #lookout: Lookout;
  readonly #book: TargetBook;
  readonly #statuses: StatusWriter;
  readonly #waits = new WaitingTimes();
  readonly #apps = new Map<string, App>();
  readonly #hashes = new WeakMap<RunnerGroup, string>();
  #index = new RunnerIndex([], () => undefined);
  /** When the end of a runner was last noticed, by group. */
  readonly #lastEndMs = new Map<string, number>();
  /** What the last round found out, by Application. */
  #views: ReadonlyMap<string, View> = new Map();
  #targetOf: TargetOf = new Map();
  #resolvedMs = 0;
  #resolved: readonly RunnerGroup[] = [];
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #again = false;
  #closed = false;
  #rounds = 0;
  /** Looks that were told, and how many of them the last round knew. */
  #news = 0;
  #planned = 0;

  constructor(options: LeaderOptions) {
    this.#options = options;
    const { client, env, log, lookout, metrics, now } = options;
    this.#book = new TargetBook(options);
    this.#statuses = new StatusWriter(client, now, (failure) => this.#clusterFailed(failure));
    this.#lookout = new Lookout({
      ...lookout,
      env,
      now,
      onRequest: ({ url, status, method, ms }) => {
        metrics.giteaRequests.inc({ origin: new URL(url).origin, status: String(status) });
        log.debug({ method, url, status, ms: Math.round(ms) }, 'request to Gitea');
      },
      onLook: ({ url }, { failure }) => {
        const { origin } = new URL(url);
        metrics.looks.inc({ origin });
        if (failure) {
          metrics.giteaErrors.inc({ origin, code: failure.code });
          log.warn({ code: failure.code, error: failure.message }, 'look at Gitea failed');
        }
        this.#news += 1;
        this.changed();
      },
    });
  }

  /** True once everything that exists was looked at once. */
  get settled(): boolean {
    return this.#rounds > 0 && this.#book.targets.every(({ key }) => this.#lookout.sightOf(key) !== undefined);
  }

  /** True once everything was looked at and each Application either shows its plan or was woken in vain. */
  get done(): boolean {
    const planned = this.#planned === this.#news && !this.#running;
    return this.settled && planned && [...this.#apps.values()].every(({ waker }) => waker.done);
  }

  /** What stands against "all is well", one line each. */
  get troubles(): readonly string[] {
    const looks = this.#book.targets.flatMap(({ key }) => this.#lookout.sightOf(key)?.failure ?? []);
    const tokens = [...this.#targetOf.values()].filter((target) => target instanceof Failure);
    const wakes = [...this.#apps].flatMap(([key, { waker }]) => (waker.trouble ? `${key}: ${waker.trouble}` : []));
    return [...[...looks, ...tokens].map(({ code, message }) => `${code} ${message}`), ...wakes];
  }

  /** Leads until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const tick = setInterval(() => this.changed(), TICK_MS);
    this.changed();
    const sweeping = this.#options.sweep ? this.#sweep(signal) : Promise.resolve();
    try {
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
    } finally {
      clearInterval(tick);
      clearTimeout(this.#timer);
      this.#closed = true;
      for (const { waker } of this.#apps.values()) waker.close();
      this.#statuses.close();
      await Promise.all([this.#lookout.close(), sweeping]);
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { cluster, env, instance, log, lookout, metrics } = this.#options;
    const groups = (): readonly SweepGroup[] =>
      [...this.#targetOf].flatMap(([{ namespace, name }, target]) =>
        target instanceof Failure ? [] : [{ namespace, name, target }],
      );
    const liveJobs = () => (cluster.fresh ? cluster.runners().map(({ job }) => job) : undefined);
    await sweepAgainAndAgain({ instance, lookout, env, groups, liveJobs, metrics, log }, signal);
  }

  /** Writes what the last round found out into the gauges: done when they are read, so that rounds are cheap. */
  measure(): void {
    const { heldJobs, maxActiveRunners, queuedJobs, ready, runners, uncoveredJobs } = this.#options.metrics;
    for (const gauge of [heldJobs, maxActiveRunners, queuedJobs, ready, runners, uncoveredJobs]) gauge.reset();
    for (const { measures } of this.#views.values()) for (const measure of measures) measure();
  }

  /** Something may have changed: a round follows soon. */
  changed(): void {
    if (this.#closed) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#round();
    }, ROUND_GAP_MS);
  }

  /** A webhook told of a job. */
  announced(event: WebhookEvent): void {
    this.#lookout.nudge((target) => covers(target.scope, event), event);
  }

  async #round(): Promise<void> {
    if (this.#closed) return;
    this.#running = true;
    this.#again = false;
    try {
      await this.#planAll();
    } finally {
      this.#running = false;
    }
    if (this.#again) this.changed();
  }

  async #planAll(): Promise<void> {
    const { cluster, metrics, now } = this.#options;
    // What is not seen proves something only while the copies are complete.
    if (!cluster.fresh) return;
    const groups = cluster.groups();
    const news = this.#news;
    await this.#resolveTargets(groups.flatMap(({ group }) => group ?? []));
    if (this.#closed) return;
    this.#indexRunners(groups);
    const byApp = this.#byApplication(groups);
    this.#forgetApps(new Set(byApp.keys()));
    const views = new Map<string, View>();
    for (const [key, members] of byApp) {
      views.set(key, await this.#viewOf(key, members));
      if (this.#closed) return;
    }
    this.#views = views;
    this.#statuses.keepOnly(new Set(groups.map(({ object }) => object.metadata.uid)));
    const plans = [...views.values()].flatMap(({ planning }) => (planning?.is === 'planned' ? planning.plan : []));
    const decisions = plans.flatMap(({ jobs }) => jobs);
    for (const { namespace, group, seconds } of this.#waits.take(decisions, now())) {
      metrics.waitSeconds.observe({ namespace, group }, seconds);
    }
    this.#rounds += 1;
    this.#planned = news;
  }

  async #resolveTargets(groups: readonly RunnerGroup[]): Promise<void> {
    const same = groups.length === this.#resolved.length && groups.every((group, at) => group === this.#resolved[at]);
    const now = this.#options.now();
    if (same && now - this.#resolvedMs < TOKENS_MS) return;
    this.#targetOf = await this.#book.resolve(groups);
    this.#resolved = groups;
    this.#resolvedMs = now;
    this.#lookout.watch(this.#book.targets);
  }

  async #viewOf(key: string, members: readonly LiveGroup[]): Promise<View> {
    const now = this.#options.now();
    const app = key === '' ? undefined : this.#appFor(key, members);
    const inputs = [
      app?.waker.last,
      app?.printed,
      this.#index,
      ...members.flatMap((member) => {
        const target = member.group && this.#targetOf.get(member.group);
        const sight = target && !(target instanceof Failure) ? this.#lookout.sightOf(target.key) : undefined;
        return [member, target, sight?.look, sight?.failure];
      }),
    ];
    const known = this.#views.get(key);
    if (known && now - known.atMs < known.lifeMs && isSame(known.inputs, inputs)) return known;
    const planning = await this.#plan(members);
    if (app && !this.#closed) this.#compare(app, key, members, planning);
    const measures = members.map((member) => this.#tell(member, planning, app));
    if (planning?.is === 'planned') measures.push(() => this.#measureUncovered(key, planning.plan));
    const quiet = planning?.is === 'planned' && planning.plan.jobs.length + planning.plan.runners.length === 0;
    return { inputs, atMs: now, lifeMs: quiet ? QUIET_MS : TICK_MS, planning, measures };
  }

  /** Sorts the Jobs anew when they have changed. The end of a runner is news that only a new look explains. */
  #indexRunners(groups: readonly LiveGroup[]): void {
    const runners = this.#options.cluster.runners();
    if (this.#index.all === runners) return;
    const before = this.#index.ended;
    this.#index = new RunnerIndex(runners, (runner) => this.#appKeyOfJob(runner));
    const concerned = new Set<string>();
    for (const [job, group] of this.#index.ended) if (!before.has(job)) concerned.add(group);
    if (concerned.size === 0) return;
    for (const group of concerned) this.#lastEndMs.set(group, this.#options.now());
    const targets = groups.flatMap(
      ({ key, group }) => (concerned.has(key) && group && this.#targetOf.get(group)) || [],
    );
    this.#lookout.nudge((target) => targets.includes(target));
  }

  async #plan(members: readonly LiveGroup[]): Promise<Planning | undefined> {
    const { instance, metrics, now } = this.#options;
    const sighted: SightedGroup[] = [];
    for (const { group, problem, key } of members) {
      // `generate` refuses the whole Application then.
      if (!group)
        return { is: 'failed', failure: new Failure('GR-INPUT-91', 2, `RunnerGroup ${key}: ${problem ?? ''}`) };
      const target = this.#targetOf.get(group);
      if (target === undefined) return { is: 'waiting' };
      const lookKey = target instanceof Failure ? key : target.key;
      const look = target instanceof Failure ? target : this.#newest(target);
      sighted.push({ group, templateHash: await this.#hashOf(group), lookKey, ...(look && { look }) });
    }
    // Jobs of other groups are none of its names; `generate`, which runs for this Application alone, may as well read past them.
    const runners = members.flatMap(({ key }) => this.#index.ofGroup(key));
    const done = metrics.planSeconds.startTimer();
    const planning = planApplication({ groups: sighted, runners, instance, nowMs: now() });
    done();
    return planning;
  }

  #newest({ key }: GiteaTarget): SightedGroup['look'] {
    const sight = this.#lookout.sightOf(key);
    return sight?.failure ?? sight?.look;
  }

  async #hashOf(group: RunnerGroup): Promise<string> {
    const known = this.#hashes.get(group);
    if (known !== undefined) return known;
    const { templateHash } = await import('../charts/pod-template.ts');
    const made = templateHash(group);
    this.#hashes.set(group, made);
    return made;
  }

  #compare(app: App, key: string, members: readonly LiveGroup[], planning: Planning | undefined): void {
    if (planning?.is !== 'planned') {
      app.failing ||= planning?.is === 'failed';
      app.waker.want(NO_DIFFERENCE, true);
      return;
    }
    if (app.failing) {
      app.failing = false;
      void this.#ask(key, app);
    }
    const { plan } = planning;
    const settled = members.every(({ key: group, group: read }) => {
      const target = read && this.#targetOf.get(read);
      const beganMs = target && !(target instanceof Failure) ? (this.#lookout.sightOf(target.key)?.beganMs ?? 0) : 0;
      return beganMs >= (this.#lastEndMs.get(group) ?? 0);
    });
    app.wanted = printedKeys(plan.runners);
    app.waker.want(differenceOf(plan.runners, this.#index.ofApp(key), app.printed), settled);
  }

  #tell(live: LiveGroup, planning: Planning | undefined, app: App | undefined): () => void {
    const { group, problem, object } = live;
    const target = group && this.#targetOf.get(group);
    const sight = target && !(target instanceof Failure) ? this.#lookout.sightOf(target.key) : undefined;
    const giteaFailure = target instanceof Failure ? target : sight?.failure;
    const counts = planning?.is === 'planned' && group ? countsOf(planning.plan, group) : undefined;
    const own = this.#index.ofGroup(live.key);
    const facts: GroupFacts = {
      generation: object.metadata.generation ?? undefined,
      suspended: group?.suspend ?? false,
      activeRunners: own.filter(({ job }) => job.state !== 'complete' && job.state !== 'failed').length,
      argocd: app
        ? { is: 'managed', differsForMs: app.waker.differsForMs(), ...(app.waker.last && { last: app.waker.last }) }
        : { is: 'unmanaged' },
      ...(problem !== undefined && { problem }),
      ...(counts && { counts }),
      ...(sight && { checkedAtMs: sight.endedMs }),
      ...(giteaFailure && { giteaFailure }),
      ...(planning?.is === 'failed' && !giteaFailure && { planFailure: planning.failure }),
    };
    const status = this.#statuses.put(object, facts);
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    return () => this.#measure(live, own, counts, ready);
  }

  #measure(
    { object, group }: LiveGroup,
    own: readonly LiveRunnerOfApp[],
    counts: ReturnType<typeof countsOf> | undefined,
    ready: boolean,
  ): void {
    const { metrics } = this.#options;
    const labels = { namespace: object.metadata.namespace, group: object.metadata.name };
    metrics.ready.set(labels, ready ? 1 : 0);
    if (group) metrics.maxActiveRunners.set(labels, group.maxActiveRunners);
    for (const state of ['starting', 'running', 'complete', 'failed', 'deleting', 'unknown'] as const) {
      metrics.runners.set({ ...labels, state }, own.filter(({ job }) => job.state === state).length);
    }
    if (!counts) return;
    metrics.queuedJobs.set(labels, counts.queued);
    for (const [reason, jobs] of Object.entries(counts.held)) metrics.heldJobs.set({ ...labels, reason }, jobs);
  }

  #measureUncovered(application: string, { jobs }: Plan): void {
    const uncovered = jobs.filter((job) => job.verdict === 'held' && job.because === 'labels-not-covered').length;
    this.#options.metrics.uncoveredJobs.set({ application }, uncovered);
  }

  /** Groups by their Application's key; empty: of none. */
  #byApplication(groups: readonly LiveGroup[]): ReadonlyMap<string, readonly LiveGroup[]> {
    const found = new Map<string, LiveGroup[]>();
    for (const group of groups) {
      const key = this.#appKeyOf(group) ?? '';
      const members = found.get(key);
      if (members) members.push(group);
      else found.set(key, [group]);
    }
    return found;
  }

  #appKeyOf({ trackingId, object }: LiveGroup): string | undefined {
    const app = applicationOf(trackingId, refOf(object.metadata));
    return app && applicationKey(app, this.#options.controlPlaneNamespace);
  }

  #appKeyOfJob({ trackingId, job }: LiveRunnerOfApp): string | undefined {
    const app = applicationOf(trackingId, { group: 'batch', kind: 'Job', namespace: job.namespace, name: job.name });
    return app && applicationKey(app, this.#options.controlPlaneNamespace);
  }

  #appFor(key: string, members: readonly LiveGroup[]): App {
    const groups = members.map(({ object }) => refOf(object.metadata));
    const known = this.#apps.get(key);
    if (known) {
      known.groups = groups;
      return known;
    }
    const [first] = members;
    const ref = first && applicationOf(first.trackingId, refOf(first.object.metadata));
    if (!ref) throw new Error(`no Application behind ${key}`);
    const none: ReadonlySet<string> = new Set();
    const made: App = {
      ref,
      groups,
      failing: false,
      wanted: none,
      printed: none,
      waker: this.#wakerFor(key, () => made),
    };
    this.#apps.set(key, made);
    void this.#ask(key, made);
    return made;
  }

  #wakerFor(application: string, app: () => App): Waker {
    const { argocd, log, metrics, now } = this.#options;
    return new Waker({
      now,
      wake: async () => {
        const { groups, ref, wanted } = app();
        const result = await wake(argocd, ref, groups, new Deadline(WAKE_MS));
        if (result.is === 'synced' || result.is === 'in-sync') app().printed = wanted;
        return result;
      },
      onWake: (outcome, ms) => {
        metrics.wakes.inc({ application, outcome: outcome.is });
        metrics.wakeSeconds.observe({ application }, ms / 1000);
        const level = outcome.is === 'synced' || outcome.is === 'in-sync' || outcome.is === 'busy' ? 'info' : 'warn';
        log[level]({ application, outcome: outcome.is, ms: Math.round(ms), ...textOf(outcome) }, 'woke Argo CD');
        this.changed();
      },
      onShown: (ms) => metrics.shownSeconds.observe({ application }, ms / 1000),
    });
  }

  /** At start and after each outage: an error that Argo CD kept meanwhile must be woken away, and so must an old output. */
  async #ask(application: string, { ref, waker }: App): Promise<void> {
    const { argocd, log } = this.#options;
    try {
      const state = await argocd.read(ref, new Deadline(WAKE_MS));
      const [first] = state.errors.filter(({ stops }) => stops);
      if (first) waker.owe({ is: 'error', message: first.message });
      else if (state.sync !== 'Synced') waker.owe();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      log.warn({ application, code: error.code, error: error.message }, 'cannot ask Argo CD');
      waker.owe({ is: 'failed', message: `${error.code} ${error.message}` });
    }
    this.changed();
  }

  #forgetApps(keys: ReadonlySet<string>): void {
    for (const [key, { waker }] of this.#apps) {
      if (keys.has(key)) continue;
      waker.close();
      this.#apps.delete(key);
    }
  }

  #clusterFailed(failure: Failure): void {
    const { log, metrics } = this.#options;
    metrics.clusterErrors.inc({ code: failure.code });
    log.warn({ code: failure.code, error: failure.message }, 'request to the cluster failed');
  }
}

function refOf({ namespace, name }: { readonly namespace: string; readonly name: string }): ObjectRef {
  return { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace, name };
}

function textOf(outcome: WakeOutcome): { readonly error?: string } {
  return 'message' in outcome && outcome.message !== undefined ? { error: outcome.message } : {};
}

/** True when a job of this repository may belong to the scope. Gitea's names are not case-sensitive. */
function covers(scope: Scope, { owner, repo }: { readonly owner: string; readonly repo: string }): boolean {
  const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
  switch (scope.kind) {
    case 'global':
      return true;
    case 'org':
      return same(scope.org, owner);
    case 'user':
      return same(scope.user, owner);
    case 'repo':
      return same(scope.owner, owner) && same(scope.repo, repo);
    default:
      return scope satisfies never;
  }
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, at) => each === b[at]);
}
