/**
 * A history: everything that people, Gitea, Kubernetes and Argo CD do by themselves, written down before the run. Plain data, so
 * that it can be made from a seed, written by hand, and shrunk. Times are seconds since the start.
 */

import type { RunnerScope } from '../../simulator/gitea/model.ts';
import type { JobSpec, RunSpec } from '../../simulator/gitea/queue.ts';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { GRACEFUL_STOP_SECONDS } from '../../src/config/runnergroup/group-schema.ts';
import type { Fairness, Limit, PriorityTier } from '../../src/planner/evidence.ts';

/** Seconds after the last arrival until a run is cut off: four hours, in which the queue empties. */
export const DRAIN_S = 14_400;

export interface History {
  /** Seed of the small chances of a run: lags of lists, signals and polls. */
  readonly seed: number;
  readonly gitea: GiteaVersion;
  /** `MAX_RESPONSE_ITEMS`: rows per page of Gitea's lists. */
  readonly pageSize: number;
  /** Order in which a Gitea up to 1.26 lists completed jobs. */
  readonly database: 'by-id' | 'shuffled';
  /** Number of Applications that print the groups from a time on, each its own shard. Absent: one Application. */
  readonly shards?: readonly { readonly atS: number; readonly of: number }[];
  readonly groups: readonly GroupSpec[];
  readonly statics: readonly StaticRunner[];
  readonly pushes: readonly Push[];
  readonly acts: readonly Act[];
  /** Fates of the pods, in the order of their creation. Pods beyond the list start in 8 s. */
  readonly pods: readonly PodFate[];
  readonly troubles: readonly Trouble[];
  /** The times at which Argo CD is woken; afterwards it is every `wakeEveryS`. */
  readonly wakes: readonly Wake[];
  readonly wakeEveryS: number;
  /** Two syncs at the same time are possible (two Argo CD controllers during a roll-out); else the later one is refused. */
  readonly syncsOverlap: boolean;
  /** Share of looks at which a busy runner has not reported for 10 s, so that its row does not say `busy`. */
  readonly silence: number;
  /** Share of claims whose answer is lost (1.27 puts the job back). */
  readonly claimLoss: number;
  /** Share of polls of an idle runner at the same moment as another one: up to 1.26 the loser sleeps (#38200). */
  readonly pollTogether: number;
  /** Kubernetes' clock minus Gitea's, seconds. */
  readonly clockSkewS: number;
  /** End of a run, seconds. Jobs that are not served by then count as never served. */
  readonly patienceS: number;
}

/**
 * Settings of a group that a commit may change. A cap and a limit have slots for the heaviest size, as the schema
 * demands.
 */
export interface Settings {
  readonly cap?: number;
  /** Value of all limits: groups that share one have the same number. */
  readonly most?: number;
  readonly suspend?: boolean;
  readonly fairness?: Fairness;
  /** A further label of the group. */
  readonly label?: string;
}

export interface GroupSpec {
  readonly name: string;
  readonly scope: RunnerScope;
  readonly labels: readonly string[];
  readonly cap: number;
  /** Name of a size of the group: the label that chooses it. */
  readonly size?: string;
  readonly weight?: number;
  readonly limits?: readonly Limit[];
  readonly suspend?: boolean;
  readonly fairness?: Fairness;
  /** True if each runner is registered ahead, at the repository of its job. */
  readonly isBound?: true;
  /** Names of the repositories that it is for. Absent: all of its scope. */
  readonly repositories?: readonly string[];
  readonly order?: readonly string[];
  /** Idle runners in its warm pool; absent: none. */
  readonly minIdle?: number;
  readonly spawnTimeoutS: number;
  readonly pendingDeadlineS: number;
  readonly priorityTiers: readonly PriorityTier[];
  readonly gracefulStopS: number;
  readonly ttlS: number;
  readonly activeDeadlineS: number;
  /** How long runners stay after a failed CI job, seconds. Absent: they end with it. */
  readonly keepFailedS?: number;
  /** Application of the group: each has its own Argo CD and generator, which know nothing of the others. */
  readonly application: string;
}

/** Somebody pushes: a run starts. */
export interface Push {
  readonly atS: number;
  readonly repo: string;
  readonly run: RunSpec;
  /** Durations of its CI jobs, by position in the run, in turn. */
  readonly ciS: readonly number[];
  /** Which of its CI jobs fail, by position in the run, in turn. Absent: none. */
  readonly fails?: readonly boolean[];
}

/** Actions of people and of Gitea's cron. `push` is the index of the push. An impossible action has no effect. */
export type Act =
  | { readonly atS: number; readonly kind: 'cancel-run'; readonly push: number }
  | { readonly atS: number; readonly kind: 'cancel-job'; readonly push: number; readonly position: number }
  | { readonly atS: number; readonly kind: 'rerun'; readonly push: number }
  | { readonly atS: number; readonly kind: 'approve'; readonly push: number }
  /** Cron `cleanup_actions`: completed jobs lose the names of their runners. */
  | { readonly atS: number; readonly kind: 'clean-up' }
  /** A repository goes to an organization that no group covers, with its jobs at work. */
  | { readonly atS: number; readonly kind: 'transfer'; readonly repo: string }
  /** A repository is renamed. It may be the scope of a group. */
  | { readonly atS: number; readonly kind: 'rename-repo'; readonly repo: string }
  /** An organization or a user is renamed. The spec of its groups keeps the old name. */
  | { readonly atS: number; readonly kind: 'rename-org' | 'rename-user'; readonly name: string }
  /** A repository is deleted, with its CI jobs at work. */
  | { readonly atS: number; readonly kind: 'delete-repo'; readonly repo: string }
  /** Gitea is restored from a backup of that time: later data is gone, and ids come again. */
  | { readonly atS: number; readonly kind: 'restore'; readonly backupS: number }
  /** A commit changes the pod template: runners that are not registered get other names. */
  | { readonly atS: number; readonly kind: 'new-template' }
  /** A commit renames a group. */
  | { readonly atS: number; readonly kind: 'rename'; readonly group: string }
  /** A commit moves a group to the other organization. Its registration Secret keeps its name. */
  | { readonly atS: number; readonly kind: 'move'; readonly group: string }
  /** A commit changes the size of a pool. */
  | { readonly atS: number; readonly kind: 'pool'; readonly group: string; readonly minIdle: number }
  /** A commit changes settings of a group, of all its sizes. */
  | { readonly atS: number; readonly kind: 'settings'; readonly group: string; readonly settings: Settings }
  /**
   * A person deletes the Job of a pod, by order of creation. It stays until the pod has ended, with a deletionTimestamp
   * (foreground).
   */
  | { readonly atS: number; readonly kind: 'delete-job'; readonly pod: number }
  /** The last commit is taken back. */
  | { readonly atS: number; readonly kind: 'rollback' };

/** A foreign runner that is always there. */
export interface StaticRunner {
  readonly scope: RunnerScope;
  readonly labels: readonly string[];
  /** Seconds between its requests for work while it has none. The real one asks after 2 s, 4 s and then every 5 s. */
  readonly pollEveryS: number;
}

export interface PodFate {
  /** Seconds from its creation to its registration. */
  readonly startS: number;
  /** `crash`: fails instead of registering. `image`: its node cannot pull it, so the pod never starts and never fails. `hang`: the same, without a word. */
  readonly start?: 'crash' | 'image' | 'hang';
  /** Somebody suspends its Job for so long. */
  readonly suspendedS?: number;
  /** Gitea is killed after it has ended the task of its runner, and leaves the CI job in progress for ever (docs/adr/0078). */
  readonly leavesJob?: true;
  /** Evicted so long after creation, without grace. */
  readonly evictedAfterS?: number;
}

export type Trouble =
  /** Pods are refused; Jobs wait without one. */
  | { readonly kind: 'quota'; readonly atS: number; readonly untilS: number }
  /** No node has room; pods wait. */
  | { readonly kind: 'full'; readonly atS: number; readonly untilS: number }
  /** The registration token is wrong: Gitea registers nobody. */
  | { readonly kind: 'bad-token'; readonly atS: number; readonly untilS: number }
  /** One of the servers that a look needs does not answer: all looks fail, and everything else goes on. */
  | { readonly kind: 'outage'; readonly atS: number; readonly untilS: number }
  /** Argo CD is away: it refreshes and syncs nothing. A sync under way goes on. */
  | { readonly kind: 'argo-away'; readonly atS: number; readonly untilS: number }
  /** The Application of one shard fails. */
  | { readonly kind: 'shard-broken'; readonly shard: number; readonly atS: number; readonly untilS: number }
  /** The look of one group fails: its Gitea, or its token. */
  | { readonly kind: 'group-outage'; readonly group: string; readonly atS: number; readonly untilS: number }
  /** Every third pod, by order of creation, is lost without a word. */
  | { readonly kind: 'node-loss'; readonly atS: number; readonly node: 0 | 1 | 2 };

/** Argo CD is woken: hard refresh (the generator looks and plans), then a sync of what it printed. */
export interface Wake {
  readonly atS: number;
  /** Seconds from the first list to the last. */
  readonly lookS: number;
  /** Seconds from the end of the refresh to the sync. */
  readonly syncAfterS: number;
  /** Seconds from the begin of the sync (which compares live objects) to the prunes, and again until the creates. */
  readonly stepS: number;
  readonly fault?: WakeFault;
  /** Least age of the manifests, seconds. Only for `stale-sync`. */
  readonly staleS?: number;
}

/**
 * - `lost`: nothing happens at all. `refresh-fails`: the generator ends with an error. `no-sync`: refreshed only.
 * - `stale-sync`: somebody syncs without a refresh: cached manifests are applied.
 * - `sync-fails`: nothing is applied. `prunes-only`: the creates fail. `partial`: some creates fail.
 */
export type WakeFault = 'lost' | 'refresh-fails' | 'no-sync' | 'stale-sync' | 'sync-fails' | 'prunes-only' | 'partial';

/** True when a group cannot be looked at, at some time between two. */
export function isInTrouble({ troubles }: History, group: string, fromS: number, toS = fromS): boolean {
  return troubles.some(
    (trouble) =>
      trouble.kind === 'group-outage' && trouble.group === group && trouble.atS <= toS && trouble.untilS >= fromS,
  );
}

export const ORDINARY_POD: PodFate = { startS: 8 };

/** True for a pod on a node that neither starts nor fails. */
export function neverStarts({ start }: PodFate): boolean {
  return start === 'image' || start === 'hang';
}

/** A wake without trouble. */
export function ordinaryWake(atS: number): Wake {
  return { atS, lookS: 0.4, syncAfterS: 0.3, stepS: 0.2 };
}

/** A group with the product's defaults, of which a history says only what matters to it. */
export function groupSpec(over: Partial<GroupSpec> = {}): GroupSpec {
  return {
    name: 'ci',
    scope: { kind: 'owner', owner: 'acme' },
    labels: ['linux'],
    cap: 4,
    spawnTimeoutS: 300,
    pendingDeadlineS: 900,
    priorityTiers: [],
    gracefulStopS: GRACEFUL_STOP_SECONDS,
    ttlS: 600,
    activeDeadlineS: 21_600,
    application: 'runners',
    ...over,
  };
}

/** A quiet history, of which a scripted one says only what matters to it. */
export function quietHistory(over: Partial<History> = {}): History {
  return {
    seed: 1,
    gitea: '1.27.3',
    pageSize: 50,
    database: 'by-id',
    groups: [groupSpec()],
    statics: [],
    pushes: [],
    acts: [],
    pods: [],
    troubles: [],
    wakes: [],
    wakeEveryS: 5,
    syncsOverlap: false,
    silence: 0,
    claimLoss: 0,
    pollTogether: 0,
    clockSkewS: 0,
    patienceS: 7200,
    ...over,
  };
}

export function job(key: string, ...needs: string[]): JobSpec {
  return { key, runsOn: ['linux'], needs };
}

/** A push to acme/web. @param ciS how long its CI jobs take. Default jobs: one. */
export function push(atS: number, ciS: readonly number[], ...jobs: readonly JobSpec[]): Push {
  return { atS, repo: 'acme/web', run: { jobs: jobs.length > 0 ? jobs : [job('build')] }, ciS };
}
