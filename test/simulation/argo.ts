/**
 * One Application of Argo CD. Refresh and sync are two steps at two times, and between them the manifests are cached. A sync
 * compares with the live objects once, at its begin; then it prunes, then it creates and sets annotations. It prunes nothing that
 * was pinned when it compared.
 */
import { type Cluster, isAstray, isFree, type KubeJob, type Pod } from './cluster.ts';
import { type GroupSpec, ordinaryWake, type Wake } from './history.ts';
import { Lookout } from './look.ts';
import type { Generator, Wanted } from './policies/policy.ts';
import type { Stage } from './stage.ts';

/** However still the world is, time alone may end a back-off or a spawn timeout: look again after this long. */
const LONGEST_REST_MS = 20_000;

/** What a refresh printed. */
interface Manifests {
  readonly wanted: readonly Wanted[];
  readonly askedAtMs: number;
}

/** No sync applies older ones. */
const OLDEST_MANIFESTS_MS = 600_000;

export class ArgoCd {
  readonly #stage: Stage;
  readonly #cluster: Cluster;
  readonly #generator: Generator;
  readonly #groups: readonly GroupSpec[];
  readonly #lookout: Lookout;
  readonly #onSynced: (lookedAtMs: number, askedAtMs: number) => void;
  /** What successful refreshes printed, and when their looks began; newest last, for as long as a stale sync may want them. */
  readonly #cache: Manifests[] = [];
  /** Syncs under way. */
  #syncing = 0;
  /** The world in which a sync had nothing to do. */
  #still = { version: -1, atMs: 0 };

  /**
   * @param groups those of the Application
   * @param delayMs how much later than the others it is woken
   * @param onSynced told when a sync has brought about all that a look begun at that time asked for, and when the look of its manifests began:
   *   those may be of an earlier look that took longer
   */
  constructor(
    stage: Stage,
    cluster: Cluster,
    generator: Generator,
    groups: readonly GroupSpec[],
    delayMs: number,
    onSynced: (lookedAtMs: number, askedAtMs: number) => void,
  ) {
    this.#onSynced = onSynced;
    this.#groups = groups;
    this.#lookout = new Lookout(stage, cluster, groups, generator.seesPods);
    this.#stage = stage;
    this.#cluster = cluster;
    this.#generator = generator;
    for (const wake of stage.history.wakes) stage.timeline.after(wake.atS * 1000 + delayMs, () => this.#wake(wake));
    const lastS = stage.history.wakes.at(-1)?.atS ?? 0;
    stage.timeline.after(lastS * 1000 + delayMs, () => this.#wakeForEver());
  }

  #wakeForEver(): void {
    this.#stage.timeline.after(this.#stage.history.wakeEveryS * 1000, () => {
      this.#wake(ordinaryWake(this.#stage.nowS));
      this.#wakeForEver();
    });
  }

  #wake(wake: Wake): void {
    const { nowMs, version } = this.#stage;
    if (wake.fault === 'stale-sync') {
      this.#sync(wake, version, 0);
      return;
    }
    const resting = version === this.#still.version && nowMs - this.#still.atMs < LONGEST_REST_MS;
    if (wake.fault === 'lost' || resting) return;
    this.#lookout.look(wake.lookS * 1000, (sight) => {
      if (wake.fault === 'refresh-fails' || this.#isDown(nowMs)) return;
      this.#remember({ wanted: this.#generator.decide(this.#stage, this.#cluster, sight), askedAtMs: nowMs });
      if (wake.fault === 'no-sync') return;
      this.#stage.timeline.after(wake.syncAfterS * 1000, () => this.#sync(wake, sight.version, nowMs));
    });
  }

  #remember(manifests: Manifests): void {
    this.#cache.push(manifests);
    const oldestMs = this.#stage.nowMs - OLDEST_MANIFESTS_MS;
    while ((this.#cache[1]?.askedAtMs ?? Number.POSITIVE_INFINITY) < oldestMs) this.#cache.shift();
  }

  /** The newest manifests of that age; the oldest ones when all are younger. */
  #recall(leastAgeS: number): Manifests | undefined {
    const untilMs = this.#stage.nowMs - leastAgeS * 1000;
    return this.#cache.findLast(({ askedAtMs }) => askedAtMs <= untilMs) ?? this.#cache[0];
  }

  /** True when a server did not answer at some moment since then. */
  #isDown(sinceMs: number): boolean {
    const { nowS, nowMs, history } = this.#stage;
    const sinceS = nowS - (nowMs - sinceMs) / 1000;
    return history.troubles.some(({ kind, ...trouble }) => {
      // Where nobody sees live Jobs, one group's trouble is everybody's (docs/adr/0036).
      const isOfAll = kind === 'outage' || (kind === 'group-outage' && !this.#generator.seesPods);
      return isOfAll && 'untilS' in trouble && trouble.atS <= nowS && trouble.untilS >= sinceS;
    });
  }

  #sync(wake: Wake, version: number, lookedAtMs: number): void {
    const cached = this.#recall(wake.staleS ?? 0);
    if (!cached || wake.fault === 'sync-fails' || (this.#syncing > 0 && !this.#stage.history.syncsOverlap)) return;
    const { wanted, askedAtMs } = cached;
    const names = new Set(wanted.map(({ name }) => name));
    const live = [...this.#cluster.jobs.values()].filter(({ group }) => this.#groups.includes(group));
    const prunes = live.filter(({ name, pinned }) => !names.has(name) && !pinned);
    const news = wanted.filter((each) => !each.skip && !isAsWanted(this.#cluster.jobs.get(each.name), each));
    if (prunes.length === 0 && news.length === 0) {
      this.#still = { version, atMs: this.#stage.nowMs };
      this.#onSynced(lookedAtMs, askedAtMs);
      return;
    }
    this.#syncing += 1;
    const stepMs = wake.stepS * 1000;
    this.#stage.timeline.after(stepMs, () => {
      const dropped = prunes.flatMap(({ pod }) => (mayTakeJob(pod, this.#stage) ? pod : []));
      // By name, as Argo CD: a Job that was re-created under the name meanwhile is pruned as well.
      for (const { name } of prunes) this.#cluster.delete(name);
      this.#stage.timeline.after(stepMs, () => {
        const before = this.#cluster.pods.length;
        this.#create(wake, wanted, askedAtMs, lookedAtMs);
        this.#cluster.exchanged += countExchanged(dropped, this.#cluster.pods.slice(before));
      });
    });
  }

  #create(wake: Wake, wanted: readonly Wanted[], askedAtMs: number, lookedAtMs: number): void {
    this.#syncing -= 1;
    if (wake.fault === 'prunes-only') return;
    // Resources of one kind are applied in the order of their names.
    const byName = [...wanted].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name, group, skip, madeFor, priorityClass, ...annotations } of byName) {
      if (skip) continue;
      if (wake.fault === 'partial' && this.#stage.luck('partial') < 0.5) continue;
      this.#cluster.create(name, group, madeFor, askedAtMs, priorityClass);
      const job = this.#cluster.jobs.get(name);
      if (job) this.#cluster.annotate(job, annotations);
    }
    if (wake.fault !== 'partial') this.#onSynced(lookedAtMs, askedAtMs);
  }
}

/** Free, not over its spawn timeout, and made from the pod template of now. */
function mayTakeJob(pod: Pod, stage: Stage): boolean {
  const { createdMs, group, template } = pod;
  const isYoung = stage.nowMs - createdMs < group.spawnTimeoutS * 1000;
  return isFree(pod) && isYoung && template === stage.templateOf(group) && !isAstray(pod, stage);
}

/** How many were dropped for others that can do no more. */
function countExchanged(dropped: readonly Pod[], made: readonly Pod[]): number {
  const ofGroup = (pods: readonly Pod[], group: GroupSpec): number => pods.filter((pod) => pod.group === group).length;
  return [...new Set(dropped.map(({ group }) => group))].reduce(
    (sum, group) => sum + Math.min(ofGroup(dropped, group), ofGroup(made, group)),
    0,
  );
}

function isAsWanted(job: KubeJob | undefined, { pinned, printedFor, stay }: Wanted): boolean {
  if (job?.stay?.untilMs !== stay?.untilMs) return false;
  return job !== undefined && job.pinned === pinned && job.prints[0]?.jobId === printedFor;
}
