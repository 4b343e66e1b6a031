/**
 * The leading process, while it leads. It connects the parts and acts; `reconcile.ts` decides:
 *
 *     cluster changes ──┐                       ┌─► waking/: Argo CD, one key of the queue per Application
 *     looks at Gitea ───┼─► input ─► reconcile ─┤
 *     every 5 s ────────┘                       └─► told (events.ts): status, notifications, re-runs and other tasks hear it
 *
 * All that is done again and again is a key of its queue. Only Argo CD makes and prunes Jobs.
 */

import { isRefusal } from '../clients/gitea/failures.ts';
import type { SecretReader, TokenSources } from '../clients/tokens/api-token.ts';
import type { TargetOf } from '../plan/find-targets.ts';
import { compareText } from '../planner/collections.ts';
import { isBoundAtWork, isPinnedAlive } from '../planner/evidence.ts';
import { untilAborted } from '../shared/clock.ts';
import { Failure } from '../shared/failure.ts';
import { LOOK_NOW } from '../shared/marks.ts';
import { Applications } from './applications.ts';
import { type GiteasOptions, originOf } from './looks/giteas.ts';
import { Poller, type PollerOptions } from './looks/poller.ts';
import { TargetBook } from './looks/targets.ts';
import { LossBook } from './losses/losses.ts';
import { type Tell, tellAll } from './planning/events.ts';
import {
  type AppVerdict,
  judgeApplication,
  noteStarts,
  type ReconcileInput,
  skewsOf,
  TICK_MS,
} from './planning/reconcile.ts';
import { type Again, type KeyQueue, type QueueRow, WorkQueue } from './queue/work-queue.ts';
import { type ClusterSnapshot, groupKeyOfRunner, type LiveGroup, type LiveRunner, snapshot } from './seen/live.ts';
import type { StartTask, TaskContext } from './task.ts';
import type { WakeTarget } from './waking/wake.ts';
import { concerns, type WebhookEvent } from './webhook/gate.ts';

export interface LeaderOptions
  extends Omit<GiteasOptions, 'queue'>,
    Pick<PollerOptions, 'looks'>,
    Pick<TokenSources, 'secretsDir'>,
    Pick<TaskContext, 'client' | 'cluster' | 'secretsClient'> {
  readonly instance: string;
  /** Wakes under way at the same time. */
  readonly wakes: number;
  readonly policyFile?: string;
  readonly random: () => number;
  /**
   * Opens the Secrets of the cluster for one reading of all tokens. Only with `--secrets api`; otherwise tokens are
   * files.
   */
  readonly openSecrets?: () => SecretReader;
  readonly argocd: WakeTarget;
  readonly controlPlaneNamespace: string;
  readonly tasks: readonly StartTask[];
}

/** The targets of all groups, with tokens as the flags say. */
export function targetBook({ openSecrets, ...options }: LeaderOptions): TargetBook {
  const sources = () => ({ ...options, ...(openSecrets && { clusterSecrets: openSecrets() }) });
  return new TargetBook(sources, options.controlPlaneNamespace, options.policyFile);
}

/** Events of watches come in bursts. A reconcile waits so long for further ones. */
const RECONCILE_GAP_MS = 20;
/** Time limit of one reconcile, ms. A longer one is a mistake in this program, or a file system that hangs. */
const LONGEST_RECONCILE_MS = 300_000;
/** The one key of its class: what one Application is to have may depend on the Jobs of another. */
const ALL = 'all Applications';

export class Leader {
  /** True once every existing scope was looked at. It stays true: a group that comes later waits alone. */
  ready = false;
  /** Events of the cluster's watches. The tasks of the leader receive them, too. */
  readonly heard: Tell;
  readonly #options: LeaderOptions;
  readonly #queue: WorkQueue;
  readonly #reconciles: KeyQueue;
  readonly #poller: Poller;
  readonly #book: TargetBook;
  readonly #losses: LossBook;
  readonly #unregistered: TaskContext['unregistered'] = new Map();
  readonly #apps: Applications;
  readonly #tell: Tell;
  #snapshot: ClusterSnapshot | undefined;
  /** Annotation of each group that requests a look (`LOOK_NOW`), by group. */
  #asked: ReadonlyMap<string, string | undefined> | undefined;
  #verdicts: ReadonlyMap<string, AppVerdict> | undefined;
  #targetOf: TargetOf = new Map();
  #closed = false;
  /** Number of finished looks, and how many of them the last reconcile has used. */
  #news = 0;
  #planned = 0;

  constructor(options: LeaderOptions) {
    this.#options = options;
    const { clock, cluster } = options;
    this.#queue = new WorkQueue(clock);
    let tellEach = options.tell;
    const tell: Tell = (event) => {
      if (!this.#closed) tellEach(event);
    };
    this.#tell = tell;
    const shared = { ...options, queue: this.#queue, tell };
    this.#reconciles = this.#queue.open('reconcile', {
      width: 1,
      deadlineMs: LONGEST_RECONCILE_MS,
      run: () => this.#reconcile(),
    });
    this.#apps = new Applications({
      ...shared,
      onNews: (application, outcome) => {
        // `generate` has looked since we did, and wants nothing of what the wake was for.
        if (outcome?.is === 'in-sync') this.#lookAgain(application);
        this.changed();
      },
    });
    this.#book = targetBook(options);
    this.#losses = new LossBook(cluster, tell);
    this.#poller = new Poller({
      ...shared,
      needsRows: async () => cluster.runners().some(({ job }) => isPinnedAlive(job)),
      boundRunners: async () => cluster.runners().flatMap(({ job }) => (isBoundAtWork(job) ? [job] : [])),
      onLook: (target, { beganMs, endedMs, failure, look }) => {
        const { key, url } = target;
        this.#book.looked(target, failure !== undefined && isRefusal(failure));
        const found = failure ? { failure } : look && { look };
        tell({ is: 'looked', origin: originOf(target), target: key, url, beganMs, endedMs, ...found });
        this.#news += 1;
        this.changed();
      },
    });
    const context = {
      ...shared,
      giteas: this.#poller.giteas,
      isWell: this.#poller.isWell,
      targetOf: () => this.#targetOf,
      losses: this.#losses,
      unregistered: this.#unregistered,
      changed: () => this.changed(),
    };
    const tellTasks = tellAll(options.tasks.map((start) => start(context)));
    tellEach = tellAll([options.tell, tellTasks]);
    this.heard = (event) => {
      if (!this.#closed) tellTasks(event);
    };
  }

  /** True once everything was looked at, and each Application shows its plan or its last wake failed. */
  get done(): boolean {
    return this.#settled && this.#planned === this.#news && !this.#reconciles.isRunning(ALL) && this.#apps.done;
  }

  get queue(): readonly QueueRow[] {
    return this.#queue.rows();
  }

  get troubles(): readonly string[] {
    const looks = this.#book.targets.flatMap(({ key }) => this.#poller.observations.get(key)?.failure ?? []);
    const tokens = [...this.#targetOf.values()].filter((target) => target instanceof Failure);
    return [...[...looks, ...tokens].map(({ code, message }) => `${code} ${message}`), ...this.#apps.troubles];
  }

  async run(signal: AbortSignal): Promise<void> {
    this.changed();
    await untilAborted(signal, new Promise(() => undefined));
    this.#closed = true;
    this.#queue.close();
    await this.#poller.giteas.close();
  }

  /** Something may have changed: a reconcile follows soon. */
  changed(): void {
    this.#reconciles.add(ALL, RECONCILE_GAP_MS);
  }

  announced(event: WebhookEvent): void {
    this.#poller.nudge(({ url, scope }, now) => concerns(event, { url, scope: { ...scope, now } }), event);
  }

  /** Requests new looks at the scopes of this Application's groups. */
  #lookAgain(application: string): void {
    const targets = this.#targetsOf(this.#snapshot?.byApp.get(application) ?? []);
    this.#poller.nudge((target) => targets.has(target));
  }

  #targetsOf(groups: readonly LiveGroup[]) {
    return new Set(groups.map(({ group }) => group && this.#targetOf.get(group)));
  }

  get #settled(): boolean {
    const { observations } = this.#poller;
    return this.#verdicts !== undefined && this.#book.targets.every(({ key }) => observations.has(key));
  }

  async #reconcile(): Promise<Again> {
    const { clock, cluster } = this.#options;
    // A missing object proves something only while the copies are complete.
    if (!cluster.fresh) return TICK;
    const news = this.#news;
    const groups = cluster.groups();
    const targetOf = await this.#book.resolve(groups, clock.now());
    if (targetOf !== this.#targetOf) this.#poller.watch(this.#book.namespacesOf);
    this.#targetOf = targetOf;
    if (this.#closed) return TICK;
    // Groups that have changed meanwhile have no look yet: another reconcile follows.
    const input = this.#input(groups);
    const verdicts = new Map<string, AppVerdict>();
    const startedBefore = new Map<string, readonly LiveRunner[]>();
    // Always the same one first: who was before the others has their CI jobs.
    const ordered = [...input.snapshot.byApp].toSorted(([a], [b]) => compareText(a, b));
    for (const [application, members] of ordered) {
      const beganMs = clock.steadyMs();
      const known = this.#verdicts?.get(application);
      const verdict = judgeApplication({ ...input, startedBefore }, application, members, known);
      verdicts.set(application, verdict);
      noteStarts(startedBefore, verdict);
      if (verdict === known) continue;
      this.#tell({ is: 'planned', verdict, ms: clock.steadyMs() - beganMs });
      this.#apps.follow(application, verdict);
      for (const [key, difference] of verdict.siblings) this.#apps.follow(key, { ...verdict, difference });
      // A plan blocks the process, and there may be many.
      await clock.nextTurn();
      if (this.#closed) return TICK;
    }
    this.#verdicts = verdicts;
    this.#tell({ is: 'reconciled', verdicts: [...verdicts.values()], skews: skewsOf(input) });
    this.ready ||= this.#settled;
    this.#planned = news;
    return TICK;
  }

  #input(groups: readonly LiveGroup[]): ReconcileInput {
    const { client, clock, clocks, cluster, controlPlaneNamespace, instance } = this.#options;
    const times = { nowMs: clock.now(), steadyMs: clock.steadyMs() };
    const seen = snapshot({ groups, runners: cluster.runners(), controlPlaneNamespace, ...times }, this.#snapshot);
    // The first snapshot finds what ended before this process led.
    if (this.#snapshot) for (const runner of seen.ended) this.#tell({ is: 'runner-ended', runner });
    this.#snapshot = seen;
    this.#apps.keep(seen.byApp);
    const input: ReconcileInput = {
      ...times,
      instance,
      snapshot: seen,
      targetOf: this.#targetOf,
      observations: this.#poller.observations,
      warningsOf: this.#book.warningsOf,
      lostJobs: (key) => this.#losses.of(key),
      unregistered: (key) => this.#unregistered.get(key),
      clocks: { kubernetes: client.origin, of: (origin) => clocks.of(origin) },
      wakes: this.#apps.wakes,
    };
    const doubtful = this.#losses.follow(input);
    // Only a new look shows what the end of a runner means.
    const ended = new Set(seen.ended.map(groupKeyOfRunner));
    const targets = this.#targetsOf(groups.filter(({ key }) => ended.has(key)));
    this.#poller.nudge((target) => targets.has(target) || doubtful.has(target));
    const asked = new Map(groups.map(({ key, object }) => [key, object.metadata.annotations?.[LOOK_NOW]]));
    const before = this.#asked ?? asked;
    const asking = groups.filter(({ key }) => asked.get(key) !== undefined && asked.get(key) !== before.get(key));
    this.#asked = asked;
    this.#poller.demand(this.#targetsOf(asking));
    return input;
  }
}

const TICK: Again = { inMs: TICK_MS };
