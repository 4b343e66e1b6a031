/**
 * What the leading process does, until it leads no more:
 *
 *     cluster changes ──┐
 *     looks at Gitea ───┼─► round: plan each Application ─► difference ─► its waker
 *     once a second ────┘                    └─► status of its groups, metrics
 *
 * It changes nothing in the cluster but `status`; Jobs are made and pruned by Argo CD only.
 */
import type { WakeTarget } from '../argocd/wake.ts';
import { Failure } from '../failure.ts';
import type { GiteaTarget } from '../gitea/observe.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { SweepGroup } from '../sweep/sweep.ts';
import type { TokenSources } from '../tokens/api-token.ts';
import { ClockWatch } from './clock-watch.ts';
import type { LiveCluster, LiveGroup, LiveRunnerOfApp } from './cluster/live-cluster.ts';
import { StatusWriter } from './cluster/status-writer.ts';
import { Lookout, type LookoutOptions, type Sight } from './looks/lookout.ts';
import { TargetBook, type TargetOf } from './looks/targets.ts';
import type { GroupFacts } from './planning/group-status.ts';
import { applicationOfGroup, byApplication, keyOfJob, refOf } from './planning/ownership.ts';
import { countsOf, type Planning, planApplication, type SightedGroup } from './planning/plan-application.ts';
import { isSame, RunnerIndex } from './planning/runner-index.ts';
import { WaitingTimes } from './planning/waiting-times.ts';
import { measureApplication, measureGroup, resetMeasures } from './subscribers/gauges.ts';
import type { Log } from './subscribers/log.ts';
import type { Metrics } from './subscribers/metrics.ts';
import { sweepAgainAndAgain } from './sweeping.ts';
import { ManagedApp } from './waking/managed-app.ts';
import { concerns, type WebhookEvent } from './webhook/gate.ts';

export interface LeaderOptions extends TokenSources {
  readonly cluster: LiveCluster;
  readonly client: KubeClient;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly instance: string;
  readonly sweep: boolean;
  readonly lookout: Omit<LookoutOptions, 'onLook' | 'onLate' | 'onRequest' | 'now' | 'env'>;
  readonly now: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Rounds are at least this far apart: watches tell of bursts. */
const ROUND_GAP_MS = 20;
/** Times in the plan (spawn timeout, back-off) pass without an event. */
const TICK_MS = 5_000;
/** With no job and no runner nothing depends on the time but `lastCheckTime`. */
const QUIET_MS = 30_000;
/** Secrets are read anew this often. */
const TOKENS_MS = 30_000;

/** What is told when one Gitea has too many scopes to look at. */
const LATE =
  'looks at Gitea come late: all scopes share 20 requests per second. Use fewer and wider scopes: one RunnerGroup of an org in place of one per repository';

/**
 * Lets the event loop turn. A plan takes the process for itself, and there are many Applications: between two plans probes,
 * webhooks, signals and the renewal of the Lease get their turn.
 */
async function breath(): Promise<void> {
  await new Promise(setImmediate);
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
  readonly #clocks: ClockWatch;
  readonly #waits = new WaitingTimes();
  readonly #apps = new Map<string, ManagedApp>();
  readonly #hashes = new WeakMap<RunnerGroup, string>();
  #index = new RunnerIndex([], () => undefined);
  /** When the end of a runner was last noticed, by group. */
  readonly #lastEndMs = new Map<string, number>();
  /** What the last round found out, by Application. */
  #views: ReadonlyMap<string, View> = new Map();
  /** Kept while the groups are the same list. */
  #sorted:
    | { readonly groups: readonly LiveGroup[]; readonly byApp: ReadonlyMap<string, readonly LiveGroup[]> }
    | undefined;
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
    this.#clocks = new ClockWatch({ clocks: lookout.clocks, kubernetes: client.origin, metrics, log, now });
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
      onLate: (origin, scopes) => log.warn({ origin, scopes }, LATE),
    });
  }

  /** True once everything that exists was looked at once. */
  get settled(): boolean {
    return this.#rounds > 0 && this.#book.targets.every(({ key }) => this.#lookout.sightOf(key) !== undefined);
  }

  /** True once everything was looked at and each Application either shows its plan or was woken in vain. */
  get done(): boolean {
    const planned = this.#planned === this.#news && !this.#running;
    return this.settled && planned && [...this.#apps.values()].every(({ done }) => done);
  }

  /** What stands against "all is well", one line each. */
  get troubles(): readonly string[] {
    const looks = this.#book.targets.flatMap(({ key }) => this.#lookout.sightOf(key)?.failure ?? []);
    const tokens = [...this.#targetOf.values()].filter((target) => target instanceof Failure);
    const wakes = [...this.#apps].flatMap(([key, { trouble }]) => (trouble ? `${key}: ${trouble}` : []));
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
      for (const app of this.#apps.values()) app.close();
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
    resetMeasures(this.#options.metrics);
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
    this.#lookout.nudge((target) => concerns(event, target.scope), event);
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
    const byApp = this.#sort(groups);
    this.#forgetApps(new Set(byApp.keys()));
    const views = new Map<string, View>();
    for (const [key, members] of byApp) {
      const view = await this.#viewOf(key, members);
      if (view !== this.#views.get(key)) await breath();
      if (this.#closed) return;
      views.set(key, view);
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

  #sort(groups: readonly LiveGroup[]): ReadonlyMap<string, readonly LiveGroup[]> {
    if (this.#sorted?.groups === groups) return this.#sorted.byApp;
    const byApp = byApplication(groups, this.#options.controlPlaneNamespace);
    this.#sorted = { groups, byApp };
    return byApp;
  }

  async #resolveTargets(groups: readonly RunnerGroup[]): Promise<void> {
    const same = groups.length === this.#resolved.length && groups.every((group, at) => group === this.#resolved[at]);
    const now = this.#options.now();
    if (same && now - this.#resolvedMs < TOKENS_MS) return;
    this.#targetOf = await this.#book.resolve(groups);
    this.#resolved = groups;
    this.#resolvedMs = now;
    this.#lookout.watch(this.#book.namespacesOf);
  }

  async #viewOf(key: string, members: readonly LiveGroup[]): Promise<View> {
    const now = this.#options.now();
    const app = key === '' ? undefined : this.#appFor(key, members);
    const others = this.#printedElsewhere(members);
    const inputs = [
      app?.last,
      app?.printed,
      this.#index.ofApp(key),
      ...members.flatMap((member) => {
        const target = member.group && this.#targetOf.get(member.group);
        const sight = this.#sightOf(member.group);
        return [member, target, sight?.look, sight?.failure, this.#index.ofGroup(member.key)];
      }),
      ...others,
    ];
    const known = this.#views.get(key);
    if (known && now - known.atMs < known.lifeMs && isSame(known.inputs, inputs)) return known;
    const planning = await this.#plan(members, others);
    if (app && !this.#closed) this.#compare(app, key, members, planning);
    const measures = members.map((member) => this.#tell(member, planning, app));
    if (planning?.is === 'planned') measures.push(() => measureApplication(this.#options.metrics, key, planning.plan));
    const giteas = members.flatMap(({ group }) => group?.giteaUrl ?? []);
    measures.push(() => this.#clocks.measure(giteas));
    const quiet = planning?.is === 'planned' && planning.plan.jobs.length + planning.plan.runners.length === 0;
    return { inputs, atMs: now, lifeMs: quiet ? QUIET_MS : TICK_MS, planning, measures };
  }

  /** Sorts the Jobs anew when they have changed. The end of a runner is news that only a new look explains. */
  #indexRunners(groups: readonly LiveGroup[]): void {
    const runners = this.#options.cluster.runners();
    if (this.#index.all === runners) return;
    const before = this.#index.ended;
    const appOf = (runner: LiveRunnerOfApp) => keyOfJob(runner, this.#options.controlPlaneNamespace);
    this.#index = new RunnerIndex(runners, appOf, this.#index);
    const concerned = new Set<string>();
    for (const [job, group] of this.#index.ended) if (!before.has(job)) concerned.add(group);
    if (concerned.size === 0) return;
    for (const group of concerned) this.#lastEndMs.set(group, this.#options.now());
    const targets = groups.flatMap(
      ({ key, group }) => (concerned.has(key) && group && this.#targetOf.get(group)) || [],
    );
    this.#lookout.nudge((target) => targets.includes(target));
  }

  async #plan(members: readonly LiveGroup[], others: readonly LiveRunnerOfApp[]): Promise<Planning | undefined> {
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
    // Of other Jobs the planner reads only those that were printed for a job of these looks.
    const runners = [...members.flatMap(({ key }) => this.#index.ofGroup(key)), ...others];
    const done = metrics.planSeconds.startTimer();
    const clocks = this.#clocks.correctionFor(sighted.map(({ group }) => group.giteaUrl));
    const planning = planApplication({ groups: sighted, runners, instance, nowMs: now(), clocks });
    done();
    return planning;
  }

  /** Jobs of other groups that were printed for a queued job that these groups see. */
  #printedElsewhere(members: readonly LiveGroup[]): readonly LiveRunnerOfApp[] {
    const own = new Set(members.flatMap(({ key }) => this.#index.ofGroup(key)));
    const found = new Set<LiveRunnerOfApp>();
    for (const { group } of members) {
      for (const { status, url } of this.#sightOf(group)?.look?.jobs ?? []) {
        if (status !== 'queued') continue;
        for (const runner of this.#index.printedFor(url)) if (!own.has(runner)) found.add(runner);
      }
    }
    return [...found];
  }

  /** The last look for a group; undefined when it has no target, or that was not looked at yet. */
  #sightOf(group: RunnerGroup | undefined): Sight | undefined {
    const target = group && this.#targetOf.get(group);
    return target && !(target instanceof Failure) ? this.#lookout.sightOf(target.key) : undefined;
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

  #compare(app: ManagedApp, key: string, members: readonly LiveGroup[], planning: Planning | undefined): void {
    if (planning?.is !== 'planned') {
      app.unplanned(planning?.is === 'failed');
      return;
    }
    const settled = members.every(({ key: group, group: read }) => {
      return (this.#sightOf(read)?.beganMs ?? 0) >= (this.#lastEndMs.get(group) ?? 0);
    });
    app.planned(planning.plan, this.#index.ofApp(key), settled);
  }

  #tell(live: LiveGroup, planning: Planning | undefined, app: ManagedApp | undefined): () => void {
    const { group, problem, object } = live;
    const target = group && this.#targetOf.get(group);
    const sight = this.#sightOf(group);
    const giteaFailure = target instanceof Failure ? target : sight?.failure;
    const counts = planning?.is === 'planned' && group ? countsOf(planning.plan, group) : undefined;
    const own = this.#index.ofGroup(live.key);
    const facts: GroupFacts = {
      generation: object.metadata.generation ?? undefined,
      suspended: group?.suspend ?? false,
      activeRunners: own.filter(({ job }) => job.state !== 'complete' && job.state !== 'failed').length,
      argocd: app
        ? { is: 'managed', differsForMs: app.differsForMs, ...(app.last && { last: app.last }) }
        : { is: 'unmanaged' },
      ...(problem !== undefined && { problem }),
      ...(counts && { counts }),
      ...(sight && { checkedAtMs: sight.endedMs }),
      ...(giteaFailure && { giteaFailure }),
      ...(planning?.is === 'failed' && !giteaFailure && { planFailure: planning.failure }),
    };
    const status = this.#statuses.put(object, facts);
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    return () => measureGroup(this.#options.metrics, { live, runners: own, counts, ready });
  }

  #appFor(key: string, members: readonly LiveGroup[]): ManagedApp {
    const groups = members.map(({ object }) => refOf(object.metadata));
    const known = this.#apps.get(key);
    if (known) {
      known.groups = groups;
      return known;
    }
    const [first] = members;
    const ref = first && applicationOfGroup(first);
    if (!ref) throw new Error(`no Application behind ${key}`);
    const made = new ManagedApp(key, ref, groups, { ...this.#options, onNews: () => this.changed() });
    this.#apps.set(key, made);
    return made;
  }

  #forgetApps(keys: ReadonlySet<string>): void {
    for (const [key, app] of this.#apps) {
      if (keys.has(key)) continue;
      app.close();
      this.#apps.delete(key);
    }
  }

  #clusterFailed(failure: Failure): void {
    const { log, metrics } = this.#options;
    metrics.clusterErrors.inc({ code: failure.code });
    log.warn({ code: failure.code, error: failure.message }, 'request to the cluster failed');
  }
}
