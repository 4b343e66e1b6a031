/**
 * The leading process, until it leads no more. It wires and acts; what follows from what is decided in `round.ts`:
 *
 *     cluster changes ──┐                      ┌─► waking/: Argo CD, one key of the queue per Application
 *     looks at Gitea ───┼─► scene ─► round ────┤
 *     every 5 s ────────┘                      └─► told (events.ts): status, notifications, re-runs and other tasks hear it
 *
 * All that is done again and again is a key of its queue. Only Argo CD makes and prunes Jobs.
 */
import type { WakeTarget } from '../clients/argocd/wake.ts';
import { isRefusal } from '../clients/gitea/failures.ts';
import { untilAborted } from '../clients/http/until-aborted.ts';
import type { KubeApi } from '../clients/kubernetes/client.ts';
import type { SecretReader, TokenSources } from '../clients/tokens/api-token.ts';
import { isPinnedAlive } from '../planner/evidence.ts';
import type { Clock } from '../shared/clock.ts';
import { Failure } from '../shared/failure.ts';
import { LossBook } from '../tasks/losses/book.ts';
import type { LiveCluster } from './cluster/live-cluster.ts';
import { type Tell, tellAll } from './events.ts';
import { Lookout, type LookoutOptions } from './looks/lookout.ts';
import { TargetBook, type TargetOf } from './looks/targets.ts';
import { groupKeyOfRunner, type LiveGroup } from './planning/live.ts';
import { type Survey, survey } from './planning/survey.ts';
import { type Again, type KeyQueue, type QueueRow, WorkQueue } from './queue.ts';
import { type AppVerdict, originsOf, round, type Scene, type SceneClocks, skewsOf, TICK_MS } from './round.ts';
import type { StartTask, TaskContext } from './task.ts';
import { Applications } from './waking/applications.ts';
import { concerns, type WebhookEvent } from './webhook/gate.ts';

export interface LeaderOptions extends Omit<TokenSources, 'clusterSecrets'> {
  /** With `--secrets api`: opens the Secrets of the cluster for one reading of all tokens. Absent: tokens are files. */
  readonly openSecrets?: () => SecretReader;
  readonly cluster: LiveCluster;
  readonly client: KubeApi;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly instance: string;
  /** At the same time. */
  readonly wakes: number;
  /** Absent: no policy is named. */
  readonly policyFile?: string;
  readonly lookout: Pick<LookoutOptions, 'budget' | 'ca' | 'clocks' | 'pollMs' | 'timeoutMs' | 'wireTo'>;
  /** What is done besides. */
  readonly tasks: readonly StartTask[];
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  readonly tell: Tell;
}

/** Watches tell of bursts: a round waits so long for more. */
const ROUND_GAP_MS = 20;
/** A round that takes longer is a mistake of ours, or a file system that hangs. */
const LONGEST_ROUND_MS = 300_000;
/** The one key of its class: what one Application is to have may depend on the Jobs of another. */
const ALL = 'all Applications';

export class Leader {
  /** True once everything that exists was looked at. It stays so: a group that comes later waits alone. */
  ready = false;
  readonly #options: LeaderOptions;
  readonly #queue: WorkQueue;
  readonly #rounds: KeyQueue;
  readonly #lookout: Lookout;
  readonly #book: TargetBook;
  readonly #losses: LossBook;
  readonly #apps: Applications;
  readonly #tell: Tell;
  #survey: Survey | undefined;
  /** Of the last round, by Application. */
  #verdicts: ReadonlyMap<string, AppVerdict> = new Map();
  #targetOf: TargetOf = new Map();
  #closed = false;
  #played = 0;
  /** Looks that were told, and how many of them the last round knew. */
  #news = 0;
  #planned = 0;

  constructor(options: LeaderOptions) {
    this.#options = options;
    const { clock, cluster, env, lookout, random } = options;
    this.#queue = new WorkQueue(clock);
    let tellEach = options.tell;
    this.#tell = (event) => {
      if (!this.#closed) tellEach(event);
    };
    const tell = this.#tell;
    this.#rounds = this.#queue.open('reconcile', {
      width: 1,
      deadlineMs: LONGEST_ROUND_MS,
      run: () => this.#reconcile(),
    });
    this.#apps = new Applications({ ...options, queue: this.#queue, tell, onNews: () => this.changed() });
    this.#book = new TargetBook(() => {
      const { openSecrets } = options;
      return { ...options, ...(openSecrets && { clusterSecrets: openSecrets() }) };
    });
    this.#losses = new LossBook((key) => cluster.statusOf(key), tell);
    this.#lookout = new Lookout({
      ...lookout,
      queue: this.#queue,
      env,
      clock,
      random,
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
    const context = this.#context();
    tellEach = tellAll([options.tell, ...options.tasks.map((start) => start(context))]);
  }

  /** True while everything that exists was looked at once. */
  get settled(): boolean {
    return this.#played > 0 && this.#book.targets.every(({ key }) => this.#lookout.sights.has(key));
  }

  /** True once everything was looked at, and each Application shows its plan or its last wake failed. */
  get done(): boolean {
    return this.settled && this.#planned === this.#news && !this.#rounds.isRunning(ALL) && this.#apps.done;
  }

  /** What is due when, what is under way, and what failed last. */
  get queue(): readonly QueueRow[] {
    return this.#queue.rows();
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
    this.changed();
    await untilAborted(signal, new Promise(() => undefined));
    this.#closed = true;
    this.#queue.close();
    await this.#lookout.guest.close();
  }

  /** Something may have changed: a round follows soon. */
  changed(): void {
    this.#rounds.add(ALL, ROUND_GAP_MS);
  }

  /** A webhook told of a job. */
  announced(event: WebhookEvent): void {
    this.#lookout.nudge((target) => concerns(event, target), event);
  }

  #context(): TaskContext {
    const { clock, cluster, client } = this.#options;
    const { guest } = this.#lookout;
    return {
      clock,
      cluster,
      client,
      guest,
      queue: this.#queue,
      isWell: (target) => this.#lookout.isWell(target),
      targetOf: () => this.#targetOf,
      losses: this.#losses,
      tell: this.#tell,
      changed: () => this.changed(),
    };
  }

  async #reconcile(): Promise<Again> {
    const { clock, cluster } = this.#options;
    // What is not seen proves something only while the copies are complete.
    if (!cluster.fresh) return TICK;
    const news = this.#news;
    await this.#resolveTargets(cluster.groups());
    if (this.#closed) return TICK;
    const scene = this.#scene();
    const verdicts = new Map<string, AppVerdict>();
    let beganMs = clock.steadyMs();
    for (const verdict of round(scene, this.#verdicts)) {
      const { application } = verdict;
      if (verdict !== this.#verdicts.get(application)) {
        this.#tell({ is: 'planned', verdict, ms: clock.steadyMs() - beganMs });
        this.#tellClocks(verdict);
        this.#apps.follow(application, verdict);
        // A plan blocks the process, and there may be many.
        await clock.nextTurn();
      }
      if (this.#closed) return TICK;
      verdicts.set(application, verdict);
      beganMs = clock.steadyMs();
    }
    this.#verdicts = verdicts;
    this.#tell({ is: 'round-done', verdicts: [...verdicts.values()], skews: skewsOf(scene) });
    this.#played += 1;
    this.ready ||= this.settled;
    this.#planned = news;
    return TICK;
  }

  /** Everything as it is now. */
  #scene(): Scene {
    const { clock, cluster, controlPlaneNamespace, instance } = this.#options;
    const nowMs = clock.now();
    const groups = cluster.groups();
    const seen = survey({ groups, runners: cluster.runners(), controlPlaneNamespace, nowMs }, this.#survey);
    this.#noteEnds(seen);
    this.#survey = seen;
    this.#apps.keep(seen.byApp);
    const around = { nowMs, survey: seen, targetOf: this.#targetOf, sights: this.#lookout.sights };
    const doubtful = this.#losses.follow({ ...around, hasPod: (key) => cluster.hasPod(key) });
    this.#lookout.nudge((target) => doubtful.has(target));
    return {
      ...around,
      steadyMs: clock.steadyMs(),
      instance,
      lostJobs: (key) => this.#losses.of(key),
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

  #tellClocks({ clockWarnings, groups }: AppVerdict): void {
    const origins = originsOf(groups.map(({ live }) => live));
    for (const { code, message } of clockWarnings) this.#tell({ is: 'clocks-differ', code, message, origins });
  }

  async #resolveTargets(live: readonly LiveGroup[]): Promise<void> {
    const found = await this.#book.resolve(live, this.#options.clock.now());
    if (found === this.#targetOf) return;
    this.#targetOf = found;
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
    if (this.#survey) for (const runner of ended) this.#tell({ is: 'runner-ended', runner });
  }
}

/** Times in the plan (spawn timeout, back-off) pass without an event. */
const TICK: Again = { inMs: TICK_MS };
