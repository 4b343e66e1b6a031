/**
 * The leading process, until it leads no more. It times and wires; what follows from what is decided in `round.ts`:
 *
 *     cluster changes ──┐                      ┌─► wakers (waking/), one per Application
 *     looks at Gitea ───┼─► scene ─► round ────┼─► status of the groups
 *     every 5 s ────────┘                      └─► events
 *
 * It changes nothing in the cluster but `status`. Only Argo CD makes and prunes Jobs.
 */
import type { WakeTarget } from '../argocd/wake.ts';
import { Failure } from '../failure.ts';
import { isRefusal } from '../gitea/failures.ts';
import { untilAborted } from '../http/until-aborted.ts';
import type { KubeClient } from '../kubernetes/client.ts';
import { isPinnedAlive } from '../plan/evidence.ts';
import type { SecretReader, TokenSources } from '../tokens/api-token.ts';
import { breath } from './breath.ts';
import type { LiveCluster } from './cluster/live-cluster.ts';
import { StatusWriter } from './cluster/status-writer.ts';
import type { Tell } from './events.ts';
import { Lookout, type LookoutOptions } from './looks/lookout.ts';
import { TargetBook, type TargetOf } from './looks/targets.ts';
import { LossBook } from './losses/book.ts';
import { rerunAgainAndAgain } from './losses/rerunning.ts';
import { JobEnds, type JobEndsOptions } from './notify/job-ends.ts';
import { groupKeyOfRunner, type LiveGroup } from './planning/live.ts';
import { type Survey, survey } from './planning/survey.ts';
import { WaitingTimes } from './planning/waiting-times.ts';
import { groupsWithToken } from './registration/choose.ts';
import { type FillingOptions, fillAgainAndAgain } from './registration/filling.ts';
import { type AppVerdict, originsOf, round, type Scene, type SceneClocks, skewsOf, TICK_MS } from './round.ts';
import { groupsToSweep, SweptGroups, sweepAgainAndAgain } from './sweeping.ts';
import { ManagedApps } from './waking/managed-apps.ts';
import { concerns, type WebhookEvent } from './webhook/gate.ts';

export interface LeaderOptions
  extends Omit<TokenSources, 'clusterSecrets'>,
    Pick<JobEndsOptions, 'notifyDefaults'>,
    Pick<FillingOptions, 'registration'> {
  /** With `--secrets api`: opens the Secrets of the cluster for one reading of all tokens. Absent: tokens are files. */
  readonly openSecrets?: () => SecretReader;
  readonly cluster: LiveCluster;
  readonly client: KubeClient;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly instance: string;
  /** At the same time. */
  readonly wakes: number;
  readonly sweep: boolean;
  /** Absent: no policy is named. */
  readonly policyFile?: string;
  readonly lookout: Pick<LookoutOptions, 'budget' | 'ca' | 'clocks' | 'pollMs' | 'random' | 'timeoutMs'>;
  readonly now: () => number;
  readonly tell: Tell;
}

/** Rounds are at least this far apart: watches tell of bursts. */
const ROUND_GAP_MS = 20;

export class Leader {
  /** True once everything that exists was looked at. It stays so: a group that comes later waits alone. */
  ready = false;
  readonly #options: LeaderOptions;
  readonly #lookout: Lookout;
  readonly #book: TargetBook;
  readonly #statuses: StatusWriter;
  readonly #lossBook: LossBook;
  readonly #waits = new WaitingTimes();
  readonly #ends: JobEnds;
  readonly #apps: ManagedApps;
  #survey: Survey | undefined;
  /** Of the last round, by Application. */
  #verdicts: ReadonlyMap<string, AppVerdict> = new Map();
  #targetOf: TargetOf = new Map();
  readonly #sweptGroups = new SweptGroups();
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
    const { client, cluster, env, lookout, now, tell } = options;
    const statusOf = (key: string) => cluster.statusOf(key);
    this.#apps = new ManagedApps({ ...options, onNews: () => this.changed() });
    this.#book = new TargetBook(() => {
      const { openSecrets } = options;
      return { ...options, ...(openSecrets && { clusterSecrets: openSecrets() }) };
    });
    const onFailure = (failure: Failure) => tell({ is: 'cluster-failed', failure });
    this.#statuses = new StatusWriter({ client, statusOf, now, onFailure });
    this.#lossBook = new LossBook(statusOf, tell);
    this.#lookout = new Lookout({
      ...lookout,
      env,
      now,
      onRequest: (line) => tell({ is: 'gitea-request', line }),
      needsRows: async () => cluster.runners().some(({ job }) => isPinnedAlive(job)),
      onLook: (target, { beganMs, endedMs, failure, look }) => {
        const { key, url } = target;
        this.#book.looked(target, failure !== undefined && isRefusal(failure));
        const found = failure ? { failure } : look && { look };
        tell({ is: 'looked', origin: new URL(url).origin, target: key, url, beganMs, endedMs, ...found });
        this.#news += 1;
        this.changed();
      },
      onWaited: (origin, ms) => tell({ is: 'visit-waited', origin, ms }),
      onLate: (origin, scopes) => tell({ is: 'looks-late', origin, scopes }),
    });
    this.#ends = new JobEnds({ ...options, guest: this.#lookout.guest });
  }

  /** True while everything that exists was looked at once. */
  get settled(): boolean {
    return this.#rounds > 0 && this.#book.targets.every(({ key }) => this.#lookout.sights.has(key));
  }

  /** True once everything was looked at, and each Application shows its plan or its last wake failed. */
  get done(): boolean {
    const planned = this.#planned === this.#news && !this.#running;
    return this.settled && planned && this.#apps.done;
  }

  /** What stands against "all is well", one line each. */
  get troubles(): readonly string[] {
    const { sights } = this.#lookout;
    const looks = this.#book.targets.flatMap(({ key }) => sights.get(key)?.failure ?? []);
    const tokens = [...this.#targetOf.values()].filter((target) => target instanceof Failure);
    return [...[...looks, ...tokens].map(({ code, message }) => `${code} ${message}`), ...this.#apps.troubles];
  }

  /** Leads until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const tick = setInterval(() => this.changed(), TICK_MS);
    this.changed();
    const sweeping = this.#sweep(signal);
    const { guest } = this.#lookout;
    const losses = { ...this.#options, guest, book: this.#lossBook, onChange: () => this.changed() };
    const rerunning = rerunAgainAndAgain(losses, signal);
    const groups = () => groupsWithToken(this.#options.cluster.groups(), this.#targetOf);
    const filling = fillAgainAndAgain({ ...this.#options, guest, groups }, signal);
    try {
      await untilAborted(signal, new Promise(() => undefined));
    } finally {
      clearInterval(tick);
      clearTimeout(this.#timer);
      this.#closed = true;
      this.#apps.close();
      this.#statuses.close();
      this.#ends.close();
      await Promise.all([this.#lookout.close(), sweeping, rerunning, filling]);
    }
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
      void this.#playRound();
    }, ROUND_GAP_MS);
  }

  /** A webhook told of a job. */
  announced(event: WebhookEvent): void {
    this.#lookout.nudge((target) => concerns(event, target), event);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { cluster, instance, lookout, now, sweep: deletes, tell } = this.#options;
    const groups = this.#sweptGroups;
    const liveJobs = () => (cluster.fresh ? cluster.runners().map(({ job }) => job) : undefined);
    const mayRead = (namespace: string) => cluster.mayRead(namespace);
    const { timeoutMs } = lookout;
    const evidence = { deletes, groups, liveJobs, mayRead };
    await sweepAgainAndAgain({ instance, timeoutMs, lookout: this.#lookout, ...evidence, tell, now }, signal);
  }

  async #playRound(): Promise<void> {
    if (this.#closed) return;
    this.#running = true;
    this.#again = false;
    try {
      await this.#judgeAll();
    } catch (error) {
      // Requests are broken off at the end.
      if (!this.#closed) throw error;
    } finally {
      this.#running = false;
    }
    if (this.#again) this.changed();
  }

  async #judgeAll(): Promise<void> {
    const { cluster, tell } = this.#options;
    // What is not seen proves something only while the copies are complete.
    if (!cluster.fresh) return;
    const news = this.#news;
    await this.#resolveTargets(cluster.groups());
    if (this.#closed) return;
    const scene = this.#scene();
    const verdicts = new Map<string, AppVerdict>();
    let beganMs = performance.now();
    for (const verdict of round(scene, this.#verdicts)) {
      const { application } = verdict;
      if (verdict !== this.#verdicts.get(application)) {
        tell({ is: 'planned', application, ms: performance.now() - beganMs });
        this.#actOn(verdict);
        await breath();
      }
      if (this.#closed) return;
      verdicts.set(application, verdict);
      beganMs = performance.now();
    }
    this.#verdicts = verdicts;
    this.#statuses.keepOnly(new Set(scene.survey.groups.map(({ object }) => object.metadata.uid)));
    this.#tellWaits();
    this.#ends.take([...verdicts.values()], this.#targetOf);
    tell({ is: 'round-done', verdicts: [...verdicts.values()], skews: skewsOf(scene) });
    this.#rounds += 1;
    this.ready ||= this.settled;
    this.#planned = news;
  }

  /** Everything as it is now. Makes wakers for new Applications. */
  #scene(): Scene {
    const { cluster, controlPlaneNamespace, instance, now } = this.#options;
    const nowMs = now();
    const groups = cluster.groups();
    const seen = survey({ groups, runners: cluster.runners(), controlPlaneNamespace, nowMs }, this.#survey);
    this.#noteEnds(seen);
    this.#survey = seen;
    this.#apps.keep(seen.byApp);
    const around = { nowMs, survey: seen, targetOf: this.#targetOf, sights: this.#lookout.sights };
    const doubtful = this.#lossBook.follow({ ...around, hasPod: (key) => cluster.hasPod(key) });
    this.#lookout.nudge((target) => doubtful.has(target));
    return {
      ...around,
      instance,
      lostJobs: (key) => this.#lossBook.of(key),
      clocks: this.#clocksOf(seen),
      wakes: this.#apps.wakes,
    };
  }

  #clocksOf({ groups }: Survey): SceneClocks {
    const { client, lookout } = this.#options;
    const origins = [client.origin, ...originsOf(groups)];
    const bounds = origins.flatMap((origin) => {
      const found = lookout.clocks.of(origin);
      return found ? [[origin, found] as const] : [];
    });
    return { kubernetes: client.origin, bounds: new Map(bounds) };
  }

  #actOn({ application, clockWarnings, groups, ...verdict }: AppVerdict): void {
    const { tell } = this.#options;
    const origins = originsOf(groups.map(({ live }) => live));
    for (const { code, message } of clockWarnings) tell({ is: 'clocks-differ', code, message, origins });
    this.#apps.follow(application, verdict);
    for (const { live, facts } of groups) this.#statuses.put(live.object, facts);
  }

  #tellWaits(): void {
    const { now, tell } = this.#options;
    const decisions = [...this.#verdicts.values()].flatMap(({ planning }) =>
      planning.is === 'planned' ? planning.plan.jobs : [],
    );
    for (const wait of this.#waits.take(decisions, now())) tell({ is: 'job-started', wait });
  }

  async #resolveTargets(live: readonly LiveGroup[]): Promise<void> {
    const nowMs = this.#options.now();
    const found = await this.#book.resolve(live, nowMs);
    if (found === this.#targetOf) return;
    this.#targetOf = found;
    this.#sweptGroups.exist(groupsToSweep(found), nowMs);
    this.#lookout.watch(this.#book.namespacesOf);
  }

  /** Looks again where runners have ended: only a new look tells what that means. */
  #noteEnds({ ended, groups }: Survey): void {
    if (ended.length === 0) return;
    const concerned = new Set(ended.map(groupKeyOfRunner));
    const targets = groups.flatMap(
      ({ key, group }) => (concerned.has(key) && group && this.#targetOf.get(group)) || [],
    );
    this.#lookout.nudge((target) => targets.includes(target));
    // The first survey finds what ended before this process led.
    if (this.#survey) for (const runner of ended) this.#options.tell({ is: 'runner-ended', runner });
  }
}
