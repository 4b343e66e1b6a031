/** Runs one history under one policy. Same history, same policy, same outcome. */
import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import { repoOf } from '../../simulator/gitea/model.ts';
import { GRACEFUL_STOP_SECONDS } from '../../src/config/runnergroup/group-schema.ts';
import { PENDING_TIMEOUTS } from '../../src/planner/judge.ts';
import { startArgoCd } from './argo.ts';
import { type Ceiling, ceilingsOf, countsJobs, isOverBranch, partOf, weightOf } from './ceilings.ts';
import { Cluster, isAstray, isElsewhere, isFree, isRenamed, isWarm, type KubeJob, type Pod } from './cluster.ts';
import { gapsInPools } from './floor.ts';
import { type GroupSpec, type History, isInTrouble, neverStarts } from './history.ts';
import { staying } from './keeping.ts';
import { People } from './people.ts';
import type { Policy } from './policies/policy.ts';
import { comesBack, hasOpenJob, isRecreated } from './recreated.ts';
import { shardName, shardsAt, shardsOf } from './shards.ts';
import { type Claim, START_MS, Stage } from './stage.ts';
import { startStatics } from './statics.ts';

/** Something that must not happen, and when. */
export interface Breach {
  readonly law: 'cap' | 'double-spawn' | 'unserved' | 'floor';
  readonly atS: number;
  readonly words: string;
}

type OfCluster = Pick<Cluster, 'pods' | 'exchanged' | 'reclassed' | 'stays'>;
type OfWatcher = Pick<Watcher, 'breaches' | 'capRaces' | 'overRepository'>;

export interface Outcome extends Readonly<OfCluster>, Readonly<OfWatcher> {
  /** Waits of all jobs that were claimed, ms. */
  readonly waitsMs: readonly number[];
  /** Waits by job, ms. The waits of all its attempts are added up. */
  readonly waitMsOf: ReadonlyMap<number, number>;
  /** Number of jobs that static runners took. */
  readonly takenByStatics: number;
  /** Pods that ended without a CI job, and not by bad luck from outside. */
  readonly needless: number;
  /** Number of needless runners that were started for a warm pool. */
  readonly needlessWarm: number;
  /** Pods whose Job was deleted while they worked. */
  readonly prunedAtWork: number;
  /** Number of runners that were pruned at work with a grace period that was too short. */
  readonly killed: number;
  /** Number of those runners whose group has the default grace period. */
  readonly killedAtDefault: number;
  readonly story: readonly string[];
}

/** How long the run goes on after the end of the last job, ms: Jobs that must go have this time. */
const AFTERMATH_MS = 30_000;

export function runHistory(history: History, policy: Policy, withStory = false): Outcome {
  const stage = new Stage(history, withStory);
  // Cancels reach the cluster, and CI times come from the people: each needs the other.
  const cluster: Cluster = new Cluster(stage, {
    timeMs: (job) => people.ciTimeMs(job),
    fails: (job) => people.fails(job),
  });
  const people: People = new People(stage, cluster);
  const statics = startStatics(stage, (job) => people.ciTimeMs(job));
  const watcher = new Watcher(stage, cluster, policy);
  const { breaches } = watcher;
  startPolicy(stage, cluster, policy, watcher);

  const endMs = START_MS + history.patienceS * 1000;
  while ((!people.finished || stage.hasOpenJobs()) && stage.timeline.step(endMs));
  // Runners that stay for a look, and those at work of which Gitea knows nothing any more.
  const goesOn = ({ phase, job }: Pod): boolean =>
    phase === 'kept' || (phase === 'busy' && job !== undefined && stage.gitea.state.jobs.get(job.id) !== job);
  while (cluster.pods.some(goesOn) && stage.timeline.step(endMs));
  const restMs = stage.nowMs + AFTERMATH_MS;
  while (stage.timeline.step(Math.min(restMs, endMs)));

  for (const group of history.groups) breaches.push(...findUnserved(stage, group));
  // If Gitea has lost the CI job, nobody takes its result.
  const known = cluster.pods.filter(({ forgotten }) => !forgotten);
  const killed = known.filter(({ end }) => end === 'killed');
  return {
    breaches,
    waitsMs: stage.claims.map(({ waitMs }) => waitMs),
    waitMsOf: sumByJob(stage.claims),
    takenByStatics: statics.taken,
    pods: cluster.pods,
    capRaces: watcher.capRaces,
    overRepository: watcher.overRepository,
    exchanged: cluster.exchanged,
    reclassed: cluster.reclassed,
    needless: cluster.pods.filter((pod) => isNeedless(pod) && !isWarm(pod) && !isPooled(pod)).length,
    needlessWarm: cluster.pods.filter((pod) => isNeedless(pod) && isWarm(pod) && !isPooled(pod)).length,
    prunedAtWork: known.filter(({ closeCall }) => closeCall).length,
    killed: killed.length,
    killedAtDefault: killed.filter(({ group }) => group.gracefulStopS === GRACEFUL_STOP_SECONDS).length,
    stays: cluster.stays,
    story: stage.story ?? [],
  };
}

function sumByJob(claims: readonly Claim[]): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const { jobId, waitMs } of claims) sums.set(jobId, (sums.get(jobId) ?? 0) + waitMs);
  return sums;
}

/** Delay of the second Application's wake, ms: about when the Jobs of the first one are made. */
const APPLICATIONS_APART_MS = 500;
/** Some of many shards are woken at the same moment. */
const MOST_APART = 9;

function applicationsOf({ groups }: History): readonly (readonly GroupSpec[])[] {
  const names = new Set(groups.map(({ application }) => application));
  return [...names].map((name) => groups.filter(({ application }) => application === name));
}

function startPolicy(stage: Stage, cluster: Cluster, policy: Policy, watcher: Watcher): void {
  if (policy.kind === 'generator') {
    for (const [nth, groups] of applicationsOf(stage.history).entries()) {
      const application = groups[0]?.application ?? '';
      const shards = policy.knowsShards ? shardsOf(stage.history, application, () => stage.nowS) : [];
      for (const [index, shard] of [shards.length > 0 ? shards : undefined].flat().entries()) {
        const delayMs = (nth + (index % MOST_APART)) * APPLICATIONS_APART_MS;
        startArgoCd({
          ...{ stage, cluster, generator: policy, groups, delayMs, shard },
          onSynced: ({ lookedAtMs, askedAtMs }) => {
            watcher.checkCaps(lookedAtMs, groups, shard?.application);
            if (policy.keepsPools && !shard) watcher.checkFloors(Math.min(lookedAtMs, askedAtMs), groups);
          },
        });
      }
    }
    return;
  }
  const pass = policy.start(stage, cluster);
  const again = (): void => {
    pass();
    watcher.checkCaps(stage.nowMs, stage.history.groups);
    stage.timeline.after(policy.everyMs, again);
  };
  stage.timeline.after(0, again);
}

/**
 * Watches the laws that can be broken in a moment. A look is not an instant, and a sync works with older data, so for a
 * moment there can be a runner too many (under the exact policy, too). It breaks the law if a sync that saw it leaves
 * it.
 */
class Watcher {
  readonly breaches: Breach[] = [];
  /** Times at which there were more runners than the cap allows, until the next sync. */
  capRaces = 0;
  readonly #stage: Stage;
  readonly #cluster: Cluster;
  readonly #ceilings: readonly Ceiling[];
  /** Caps and limits get lower, which makes too many of runners that are there. */
  readonly #mayShrink: boolean;
  readonly #overSince = new Map<Ceiling, Excess>();
  /** Claims by which more jobs of a repository run than its limit allows. */
  overRepository = 0;
  /** The policy sees which pods are on their way. */
  readonly #seesPods: boolean;
  readonly #knowsShards: boolean;

  constructor(stage: Stage, cluster: Cluster, policy: Policy) {
    this.#seesPods = policy.kind === 'generator' && policy.seesPods;
    this.#knowsShards =
      policy.kind === 'generator' && policy.knowsShards === true && stage.history.shards !== undefined;
    this.#stage = stage;
    this.#cluster = cluster;
    this.#ceilings = ceilingsOf(stage.history, (group) => stage.specOf(group));
    this.#mayShrink = stage.history.acts.some(({ kind }) => kind === 'settings');
    cluster.onGrowth = (made, pod) => {
      for (const each of this.#ceilings)
        if (!countsJobs(each) && each.groups.includes(pod.group)) this.#noteExcess(each);
      if (!made) this.#noteRepository(pod);
      if (!made || isRecreated(cluster, pod) || comesBack(cluster, pod)) return;
      this.#noteExtra(made);
      stage.timeline.after(0, () => this.#noteRival(made));
    };
  }

  /**
   * Checks the caps after a sync of manifests from a look begun at `lookedAtMs`. If several Applications share a limit,
   * each has its turn.
   */
  checkCaps(lookedAtMs: number, groups: readonly GroupSpec[], shard?: string): void {
    for (const [ceiling, { atMs: sinceMs, unsynced, again }] of this.#overSince) {
      const own = ceiling.groups.filter((group) => groups.includes(group));
      if (own.length === 0) continue;
      const excess = overCap(this.#stage, this.#cluster, ceiling);
      if (excess && sinceMs >= lookedAtMs) continue;
      this.#noteSynced(unsynced, own, shard);
      if (excess && unsynced.size > 0) continue;
      if (excess && again > 0) {
        this.#noteSince(ceiling, again - 1);
        continue;
      }
      if (excess && !this.#couldHelp(ceiling, lookedAtMs)) {
        this.#noteSince(ceiling);
        continue;
      }
      if (excess) this.#note('cap', `${ceiling.name}: ${excess}, since ${((sinceMs - START_MS) / 1000).toFixed(1)} s`);
      this.#overSince.delete(ceiling);
    }
    if (this.#mayShrink) this.#noteShrunk();
  }

  #noteShrunk(): void {
    for (const ceiling of this.#ceilings) if (!countsJobs(ceiling)) this.#noteExcess(ceiling);
  }

  /** Checks the floors after such a sync: it has filled the gaps that the look saw. */
  checkFloors(lookedAtMs: number, groups: readonly GroupSpec[]): void {
    const synced = { lookedAtMs, seesPods: this.#seesPods };
    for (const gap of gapsInPools(this.#stage, this.#cluster, groups, synced)) this.#note('floor', gap);
  }

  /** A group in trouble keeps what Kubernetes shows: nobody knows which of its runners works (law P18). */
  #couldHelp(ceiling: Ceiling, lookedAtMs: number): boolean {
    const { history, nowS } = this.#stage;
    const fromS = (lookedAtMs - START_MS) / 1000;
    if (ceiling.groups.some(({ name }) => isInTrouble(history, name, fromS, nowS))) return false;
    if (ceiling.groups.some((group) => hasLostPins(this.#cluster, group, lookedAtMs))) return false;
    // Other Applications see Jobs only. They rank without such a runner, and its own Application ranks with it.
    if (
      isShared(ceiling) &&
      this.#cluster.pods.some((pod) => ceiling.groups.includes(pod.group) && worksWithoutJob(pod))
    )
      return false;
    return this.#mayBeSeen(ceiling, lookedAtMs);
  }

  /**
   * True for an excess that a plan can help. Not for runners pruned at the moment of a claim, and Jobs re-created under
   * the name of a runner at work.
   */
  #mayBeSeen(ceiling: Ceiling, lookedAtMs: number): boolean {
    // Plans speak of names: the second pod of a name cannot go while the first one works. Its own job is seen once a look finds it.
    const isHidden = (pod: Pod): boolean =>
      (pod.deletedMs ?? 0) >= lookedAtMs ||
      // It was pruned before the look, which saw it idle, and has taken a job since.
      (pod.deletedMs !== undefined && (pod.claimedMs ?? 0) >= lookedAtMs) ||
      this.#isNobodys(pod) ||
      ((pod.claimedMs ?? lookedAtMs) >= lookedAtMs && isRecreated(this.#cluster, pod));
    return overCap(this.#stage, this.#cluster, ceiling, isHidden) !== undefined;
  }

  /**
   * True for a runner that no look can assign to its group. Its name is that of the group before a commit renamed it,
   * and without its Job nothing says whose it is. After its CI job its row is gone, so it may count for another group.
   * Or it is registered at the group's former scope, which nobody reads: without its Job, or under its former name,
   * nothing says whose it is. The same holds for a runner whose CI job has gone elsewhere, with its repository.
   */
  #isNobodys(pod: Pod): boolean {
    const isGone = !this.#seesPods || pod.deletedMs !== undefined;
    const { scope } = this.#stage.specOf(pod.group);
    const isAway = pod.job !== undefined && !this.#stage.isSeenBy(scope, pod.job);
    const isMoved = isAway || isElsewhere(pod, this.#stage);
    if (isRenamed(pod, this.#stage)) return isGone || isMoved || pod.phase === 'kept';
    return isGone && isMoved;
  }

  #note(law: Breach['law'], words: string): void {
    this.breaches.push({ law, atS: this.#stage.nowS, words });
  }

  #noteExcess(ceiling: Ceiling): void {
    if (!overCap(this.#stage, this.#cluster, ceiling)) {
      this.#overSince.delete(ceiling);
    } else if (!this.#overSince.has(ceiling)) {
      this.capRaces += 1;
      this.#noteSince(ceiling);
    }
  }

  /**
   * Notes since when a ceiling is exceeded. Two Applications may each start a runner for the last slot. Seeing the
   * other one, and starting the next, takes a sync of each.
   */
  #noteSince(ceiling: Ceiling, again?: number): void {
    const { history, nowS } = this.#stage;
    const shards = this.#knowsShards ? shardsAt(history, nowS) : undefined;
    const unsynced = new Set(
      ceiling.groups.flatMap(({ application }) =>
        shards === undefined
          ? application
          : Array.from({ length: shards }, (_, index) => shardName(application, index)),
      ),
    );
    this.#overSince.set(ceiling, { atMs: this.#stage.nowMs, unsynced, again: again ?? Math.min(1, unsynced.size - 1) });
  }

  /** Notes a sync. Removed shards will not sync. */
  #noteSynced(unsynced: Set<string>, own: readonly GroupSpec[], shard: string | undefined): void {
    for (const { application } of own) unsynced.delete(shard ?? application);
    const { history, nowS } = this.#stage;
    const shards = shardsAt(history, nowS) ?? 0;
    if (!this.#knowsShards || shards === 0) return;
    for (const name of unsynced) if (Number(name.split('-').at(-1)) >= shards) unsynced.delete(name);
  }

  #noteRepository(claimed: Pod): void {
    const { state } = this.#stage.gitea;
    const rowOf = ({ job }: Pod): GiteaJob | undefined => job && state.jobs.get(job.id);
    const repository = (pod: Pod): string | undefined => {
      const row = rowOf(pod);
      return row && repoOf(state, row).fullName;
    };
    const isUnder = (pod: Pod, ceiling: Ceiling): boolean =>
      isOverBranch(ceiling, state.runs.get(rowOf(pod)?.runId ?? 0)?.branch ?? 'main');
    for (const ceiling of this.#ceilings) {
      const own = repository(claimed);
      if (!countsJobs(ceiling) || own === undefined || !ceiling.groups.includes(claimed.group)) continue;
      if (!isUnder(claimed, ceiling)) continue;
      const busy = this.#cluster.pods.filter(
        (pod) =>
          pod.phase === 'busy' &&
          !pod.forgotten &&
          isUnder(pod, ceiling) &&
          ceiling.groups.includes(pod.group) &&
          partOf(ceiling, repository(pod) ?? '') === partOf(ceiling, own),
      );
      const places = busy.reduce((sum, pod) => sum + weightOf(pod.group), 0);
      if (places <= ceiling.most()) continue;
      this.overRepository += 1;
      this.#stage.tell(() => `${own} is over its limit: ${places} places of ${ceiling.most()}`);
    }
  }

  /**
   * Notes a runner for a job for which another Application has one (law P11). The annotation is set a moment after the
   * Job is made. A runner that existed at the look, was pruned meanwhile, and comes again is not a start.
   */
  #noteRival(made: KubeJob): void {
    if (this.#cluster.pods.some(({ name, createdMs }) => name === made.name && createdMs < made.askedAtMs)) return;
    const rival = [...this.#cluster.jobs.values()].find((other) => isRival(this.#stage, other, made));
    if (!rival || this.#hadJob(rival)) return;
    const { application } = rival.group;
    this.#note('double-spawn', `${made.name} is made while ${rival.name} of ${application} is ${rival.pod.phase}`);
  }

  /** True if a CI job names it: its Job was created again, and other Applications take it for one that has worked. */
  #hadJob({ name, pod }: KubeJob): boolean {
    return this.#cluster.pods.some(
      (other) => other.name === name && other.nth < pod.nth && other.claimedMs !== undefined,
    );
  }

  /**
   * Notes more runners on their way than jobs have needed since the look began that requested this one. Runners of
   * later syncs could not be seen. A registered runner takes a job within seconds, so it counts for that time only.
   */
  #noteExtra({ group, name, askedAtMs, pod: { repoId } }: KubeJob): void {
    const isOfSameLook = (pod: Pod): boolean =>
      this.#cluster.jobs.get(pod.name)?.askedAtMs === askedAtMs && !comesBack(this.#cluster, pod);
    const wasSeen = (pod: Pod): boolean => pod.createdMs < askedAtMs || isOfSameLook(pod);
    const coming = this.#cluster.pods.filter(
      (pod) =>
        pod.group === group &&
        pod.repoId === repoId &&
        this.#maySoonWork(pod) &&
        wasSeen(pod) &&
        !isRecreated(this.#cluster, pod),
    );
    const needs = this.#stage.mostReady(group, askedAtMs, repoId) + this.#stage.largestPool(group, askedAtMs);
    if (coming.length <= needs) return;
    this.#note(
      'double-spawn',
      `${name} is made: ${coming.length} runners of ${group.name} are coming for ${needs} jobs`,
    );
  }

  #maySoonWork(pod: Pod): boolean {
    if (!isFree(pod) || pod.deletedMs !== undefined) return false;
    if (pod.template !== this.#stage.templateOf(pod.group) || isAstray(pod, this.#stage)) return false;
    const sinceMs = this.#stage.nowMs - (pod.registeredMs ?? pod.createdMs);
    if (pod.phase === 'idle') return sinceMs < TAKES_WITHIN_MS;
    return sinceMs < pod.group.spawnTimeoutS * 1000 || (this.#seesPods && !neverStarts(pod.fate));
  }
}

/** A runner that is registered asks for work every two seconds. */
const TAKES_WITHIN_MS = 3000;

/**
 * True for a Job of another Application that was printed for the CI job of `made` before `made` was requested, and is
 * free, unpinned and young enough to come.
 */
function isRival(stage: Stage, other: KubeJob, made: KubeJob): boolean {
  if (other.group.application === made.group.application) return false;
  const { jobId, runId } = made.prints[0] ?? {};
  const then = other.prints.find(({ sinceMs }) => sinceMs < made.askedAtMs);
  // A runner that was printed for another job meanwhile may have been seen so. After a restore of Gitea, the same id
  // may belong to another job, which has another page.
  const isSameJob = jobId !== undefined && then?.jobId === jobId && then.runId === runId;
  if (!isSameJob || other.prints[0] !== then || other.pinned) return false;
  const job = stage.gitea.jobs().find(({ id }) => id === jobId);
  // A job waits for runners of others for twelve spawn timeouts in all. A plan may believe it ready since its creation:
  // it does not always see the end of the job that it needed.
  const waitedMs = job ? stage.nowMs - Math.min(job.created * 1000, stage.readySinceMs(job)) : 0;
  const spawnTimeoutMs = made.group.spawnTimeoutS * 1000;
  return (
    isFree(other.pod) && ageByKubernetes(other.createdMs, stage) < spawnTimeoutMs && waitedMs < 12 * spawnTimeoutMs
  );
}

/**
 * An excess over a ceiling, and its begin. It is a breach when all these Applications have synced, and `again` times
 * more.
 */
interface Excess {
  readonly atMs: number;
  readonly unsynced: Set<string>;
  readonly again: number;
}

/**
 * Describes an excess of living runners over the cap. More are allowed while more are busy. A runner whose CI job is
 * over does not count: it is about to end. A lost one whose CI job Gitea still shows in progress counts as busy
 * (docs/adr/0003), and so does one that stays for people. A runner that a restored Gitea does not know does not count:
 * nothing shows what it does.
 * @param isHidden runners that are left out
 */
function overCap(
  stage: Stage,
  cluster: Cluster,
  { groups, most }: Ceiling,
  isHidden: (pod: Pod) => boolean = () => false,
): string | undefined {
  const kept = groups.flatMap((group) => staying(cluster.pods, group, stage.nowMs)).filter((pod) => !isHidden(pod));
  let busy = kept.reduce((sum, { group }) => sum + weightOf(group), 0);
  let [lost, free] = [0, 0];
  for (const pod of cluster.pods) {
    if (!groups.includes(pod.group) || pod.forgotten || isHidden(pod)) continue;
    const weight = weightOf(pod.group);
    const works = hasOpenJob(pod);
    if (works && pod.phase === 'busy') busy += weight;
    else if (works && pod.phase === 'ended') lost += weight;
    else if (isShared({ groups }) && !mayStillCome(pod, stage)) continue;
    else if (!pod.job && pod.phase !== 'ended' && pod.deletedMs === undefined) free += weight;
  }
  if (free === 0 || busy + free <= Math.max(most(), busy + lost)) return undefined;
  return `${busy} busy and ${free} free places under a limit of ${most()}`;
}

function worksWithoutJob(pod: Pod): boolean {
  return pod.deletedMs !== undefined && pod.phase === 'busy' && hasOpenJob(pod);
}

function isShared({ groups }: Pick<Ceiling, 'groups'>): boolean {
  return new Set(groups.map(({ application }) => application)).size > 1;
}

/** Returns the age that a planner calculates: Jobs have the times of Kubernetes' clock, in whole seconds. */
function ageByKubernetes(ms: number, { nowMs, history }: Stage): number {
  return nowMs - Math.floor((ms + history.clockSkewS * 1000) / 1000) * 1000;
}

/** True while other Applications wait for the slot of a free runner (law P36). */
function mayStillCome({ createdMs, registeredMs, phase, fate, refused, group }: Pod, stage: Stage): boolean {
  const isInTrouble = phase === 'waiting' || fate.start === 'image' || refused === true;
  const timeouts = registeredMs === undefined && !isInTrouble ? PENDING_TIMEOUTS : 1;
  return ageByKubernetes(registeredMs ?? createdMs, stage) < timeouts * group.spawnTimeoutS * 1000;
}

/** True if this very sync has removed a pin: only the next one can prune (law P1: first the pin, then the Job). */
function hasLostPins(cluster: Cluster, group: GroupSpec, sinceMs: number): boolean {
  return cluster.pods.some(
    (pod) =>
      pod.group === group &&
      (!pod.job || pod.phase === 'kept') &&
      pod.phase !== 'ended' &&
      (pod.unpinnedMs ?? 0) >= sinceMs,
  );
}

function findUnserved(stage: Stage, group: GroupSpec): readonly Breach[] {
  // A commit that is rolled back may suspend it again, for ever.
  if (stage.specOf(group).suspend) return [];
  return stage.readyJobs(group).map((job) => ({
    law: 'unserved' as const,
    atS: stage.nowS,
    words: `job ${job.id} "${job.name}" has waited for ${group.name} since ${(stage.readySinceMs(job) - START_MS) / 1000} s`,
  }));
}

/** True if it waits in a pool at the end of the history. */
function isPooled({ group, end }: Pod): boolean {
  return end === undefined && (group.minIdle ?? 0) > 0;
}

/** True for a needless runner. A runner that a commit replaced, or that a restored Gitea has lost, was not needless. */
function isNeedless({ job, end, fate, isMade, outdated, forgotten }: Pod): boolean {
  if (outdated || forgotten) return false;
  return isMade && job === undefined && fate.start === undefined && end !== 'lost' && end !== 'crashed';
}
