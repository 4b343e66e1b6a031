/**
 * One Application of Argo CD. Refresh and sync are two steps at two times, and between them the manifests are cached. A
 * sync compares with the live objects once, at its begin; then it prunes, then it creates and sets annotations. It
 * prunes no object that was pinned when it compared.
 */
import { type Cluster, isAstray, isFree, type KubeJob, type Pod } from './cluster.ts';
import { type GroupSpec, ordinaryWake, type Wake } from './history.ts';
import { lookout } from './look.ts';
import type { Generator, Wanted } from './policies/policy.ts';
import type { Shard } from './shards.ts';
import type { Stage } from './stage.ts';

/** However still the world is, time alone may end a back-off or a spawn timeout: look again after this long. */
const LONGEST_REST_MS = 20_000;

/** Output of a refresh. */
interface Manifests {
  readonly wanted: readonly Wanted[];
  readonly askedAtMs: number;
}

/** Most age of manifests that a sync applies, ms. */
const OLDEST_MANIFESTS_MS = 600_000;

/** Told of a sync that has brought about all that a look asked for. */
interface Applied {
  /** When the look behind the manifests began. */
  readonly lookedAtMs: number;
  /** When the look that asked for the manifests began: it may be an earlier one that took longer. */
  readonly askedAtMs: number;
}

interface ApplicationParts {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly generator: Generator;
  /** Groups of the Application. */
  readonly groups: readonly GroupSpec[];
  /** The Application's part of the groups. Absent: it prints all. */
  readonly shard?: Shard | undefined;
  /** How much later than the others it is woken, ms. */
  readonly delayMs: number;
  readonly onSynced: (applied: Applied) => void;
}

/** Begins the wakes of one Application. */
export function startArgoCd({ stage, cluster, generator, groups, shard, delayMs, onSynced }: ApplicationParts): void {
  const { history, timeline } = stage;
  const look = (generator.lookout ?? lookout)(stage, cluster, groups, generator.seesPods);
  /** Output of successful refreshes, and when their looks began; newest last, as long as a stale sync may want it. */
  const cache: Manifests[] = [];
  /** Syncs under way. */
  let syncing = 0;
  /** The world in which a sync had nothing to do. */
  let still = { version: -1, atMs: 0 };

  const remember = (manifests: Manifests): void => {
    cache.push(manifests);
    const oldestMs = stage.nowMs - OLDEST_MANIFESTS_MS;
    while ((cache[1]?.askedAtMs ?? Number.POSITIVE_INFINITY) < oldestMs) cache.shift();
  };

  /** Returns the newest manifests of at least that age, or the oldest ones if all are younger. */
  const recall = (leastAgeS: number): Manifests | undefined => {
    const untilMs = stage.nowMs - leastAgeS * 1000;
    return cache.findLast(({ askedAtMs }) => askedAtMs <= untilMs) ?? cache[0];
  };

  /** True when a server did not answer at some moment since then. */
  const isDown = (sinceMs: number): boolean => {
    const sinceS = stage.nowS - (stage.nowMs - sinceMs) / 1000;
    return history.troubles.some(({ kind, ...trouble }) => {
      // If nobody sees live Jobs, one group's trouble affects all groups (docs/adr/0036).
      const isOfAll = kind === 'outage' || (kind === 'group-outage' && !generator.seesPods);
      return isOfAll && 'untilS' in trouble && trouble.atS <= stage.nowS && trouble.untilS >= sinceS;
    });
  };

  const create = (wake: Wake, wanted: readonly Wanted[], applied: Applied): void => {
    syncing -= 1;
    if (wake.fault === 'prunes-only') return;
    // Resources of one kind are applied in the order of their names.
    const byName = [...wanted].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name, group, skip, madeFor, priorityClass, boundTo, shard: index, ...annotations } of byName) {
      if (skip) continue;
      if (wake.fault === 'partial' && stage.luck('partial') < 0.5) continue;
      cluster.create(name, group, madeFor, applied.askedAtMs, { priorityClass, boundTo });
      const job = cluster.jobs.get(name);
      if (job) cluster.annotate(job, annotations);
      if (job && shard && index !== undefined) job.tracked = { application: shard.application, shard: index };
    }
    if (wake.fault !== 'partial') onSynced(applied);
  };

  const sync = (wake: Wake, version: number, lookedAtMs: number): void => {
    const cached = recall(wake.staleS ?? 0);
    if (!cached || wake.fault === 'sync-fails' || (syncing > 0 && !history.syncsOverlap)) return;
    const { wanted, askedAtMs } = cached;
    const names = new Set(wanted.map(({ name }) => name));
    const live = [...cluster.jobs.values()].filter(
      ({ group, tracked }) => groups.includes(group) && tracked?.application === shard?.application,
    );
    const prunes = live.filter(({ name, pinned }) => !names.has(name) && !pinned);
    const isTracked = (job: KubeJob | undefined): boolean => job?.tracked?.application === shard?.application;
    const news = wanted.filter(({ skip, ...each }) => {
      const job = cluster.jobs.get(each.name);
      return !skip && !(isTracked(job) && isAsWanted(job, each));
    });
    if (prunes.length === 0 && news.length === 0) {
      still = { version, atMs: stage.nowMs };
      onSynced({ lookedAtMs, askedAtMs });
      return;
    }
    syncing += 1;
    const stepMs = wake.stepS * 1000;
    timeline.after(stepMs, () => {
      const dropped = prunes.flatMap(({ pod }) => (mayTakeJob(pod, stage) ? pod : []));
      // By name, like Argo CD: a Job that was re-created under the name meanwhile is pruned as well.
      for (const { name } of prunes) cluster.delete(name);
      timeline.after(stepMs, () => {
        const before = cluster.pods.length;
        create(wake, wanted, { lookedAtMs, askedAtMs });
        cluster.exchanged += countExchanged(dropped, cluster.pods.slice(before));
      });
    });
  };

  const begin = (wake: Wake): void => {
    const { nowMs, nowS, version } = stage;
    if (history.troubles.some((each) => each.kind === 'argo-away' && each.atS <= nowS && nowS < each.untilS)) return;
    if (shard && shard.index >= shard.of()) cache.length = 0;
    if (shard && !shard.works()) return;
    if (wake.fault === 'stale-sync') {
      sync(wake, version, 0);
      return;
    }
    const resting = version === still.version && nowMs - still.atMs < LONGEST_REST_MS;
    if (wake.fault === 'lost' || resting) return;
    look(wake.lookS * 1000, (sight) => {
      if (wake.fault === 'refresh-fails' || isDown(nowMs)) return;
      // With a kept look, the answer is as late as that look is old.
      const askedAtMs = sight.kept?.beganMs ?? nowMs;
      remember({ wanted: generator.decide(stage, cluster, sight, shard), askedAtMs });
      if (wake.fault === 'no-sync') return;
      timeline.after(wake.syncAfterS * 1000, () => sync(wake, sight.version, nowMs));
    });
  };

  const beginForEver = (): void =>
    timeline.after(history.wakeEveryS * 1000, () => {
      begin(ordinaryWake(stage.nowS));
      beginForEver();
    });

  for (const wake of history.wakes) timeline.after(wake.atS * 1000 + delayMs, () => begin(wake));
  timeline.after((history.wakes.at(-1)?.atS ?? 0) * 1000 + delayMs, beginForEver);
}

/** Free, not over its spawn timeout, and made from the pod template of now. */
function mayTakeJob(pod: Pod, stage: Stage): boolean {
  const { createdMs, group, template } = pod;
  const isYoung = stage.nowMs - createdMs < group.spawnTimeoutS * 1000;
  return isFree(pod) && isYoung && template === stage.templateOf(group) && !isAstray(pod, stage);
}

/** Counts how many were dropped for others that can do no more. */
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
