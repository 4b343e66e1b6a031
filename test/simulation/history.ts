/**
 * A history: everything that people, Gitea, Kubernetes and Argo CD do by themselves, written down before the run. Plain data, so
 * that it can be made from a seed, written by hand, and shrunk. Times are seconds since the start.
 */

import type { RunnerScope } from '../../simulator/gitea/model.ts';
import type { JobSpec, RunSpec } from '../../simulator/gitea/queue.ts';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { GRACEFUL_STOP_SECONDS } from '../../src/config/runnergroup/group-schema.ts';
import type { Fairness, Limit, PriorityTier } from '../../src/planner/evidence.ts';

export interface History {
  /** Where the small chances of a run come from: lags of lists, signals and polls. */
  readonly seed: number;
  readonly gitea: GiteaVersion;
  /** `MAX_RESPONSE_ITEMS`: rows per page of Gitea's lists. */
  readonly pageSize: number;
  /** In which order a Gitea up to 1.26 lists completed jobs. */
  readonly database: 'by-id' | 'shuffled';
  /** So many Applications print the groups from then on, each its shard of them. Absent: one alone. */
  readonly shards?: readonly { readonly atS: number; readonly of: number }[];
  readonly groups: readonly GroupSpec[];
  readonly statics: readonly StaticRunner[];
  readonly pushes: readonly Push[];
  readonly acts: readonly Act[];
  /** What becomes of the pods, in the order of their creation; those behind the list start in 8 s. */
  readonly pods: readonly PodFate[];
  readonly troubles: readonly Trouble[];
  /** The times at which Argo CD is woken; afterwards it is every `wakeEveryS`. */
  readonly wakes: readonly Wake[];
  readonly wakeEveryS: number;
  /** Two syncs at the same time are possible (two Argo CD controllers during a roll-out); else the later one is refused. */
  readonly syncsOverlap: boolean;
  /** How often a busy runner has not reported for 10 s, so that its row does not say `busy`. */
  readonly silence: number;
  /** How often the answer to a claim is lost (1.27 puts the job back). */
  readonly claimLoss: number;
  /** How often an idle runner asks for work in the same moment as another one: up to 1.26 the loser sleeps (#38200). */
  readonly pollTogether: number;
  /** How far Kubernetes' clock is ahead of Gitea's. */
  readonly clockSkewS: number;
  /** Runs are cut off then; what is not served by then counts as never served. */
  readonly patienceS: number;
}

/** What a commit may change of a group. A cap and a limit have room for the heaviest size, as the schema demands. */
export interface Settings {
  readonly cap?: number;
  /** Of all limits: groups that share one say one number. */
  readonly most?: number;
  readonly suspend?: boolean;
  readonly fairness?: Fairness;
  /** It has this label, too. */
  readonly label?: string;
}

export interface GroupSpec {
  readonly name: string;
  readonly scope: RunnerScope;
  readonly labels: readonly string[];
  readonly cap: number;
  /** One of the sizes of the group of this name: the label that chooses it. */
  readonly size?: string;
  readonly weight?: number;
  readonly limits?: readonly Limit[];
  readonly suspend?: boolean;
  readonly fairness?: Fairness;
  /** Each of its runners is registered ahead, at the repository of its job. */
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
  /** Runners whose CI job failed stay so long. Absent: they end with it. */
  readonly keepFailedS?: number;
  /** The Application that it belongs to: each has an Argo CD and a generator of its own, which know nothing of the others. */
  readonly application: string;
}

/** Somebody pushes: a run starts. */
export interface Push {
  readonly atS: number;
  readonly repo: string;
  readonly run: RunSpec;
  /** How long its CI jobs take, by position in the run, used round and round. */
  readonly ciS: readonly number[];
  /** Which of its CI jobs fail, by position in the run, used round and round. Absent: none. */
  readonly fails?: readonly boolean[];
}

/** What people and Gitea's cron do. `push` is the index of the push; what is not possible at that moment does not happen. */
export type Act =
  | { readonly atS: number; readonly kind: 'cancel-run'; readonly push: number }
  | { readonly atS: number; readonly kind: 'cancel-job'; readonly push: number; readonly position: number }
  | { readonly atS: number; readonly kind: 'rerun'; readonly push: number }
  | { readonly atS: number; readonly kind: 'approve'; readonly push: number }
  /** Cron `cleanup_actions`: completed jobs lose the names of their runners. */
  | { readonly atS: number; readonly kind: 'clean-up' }
  /** A repository goes to an organization that no group covers, with its jobs at work. */
  | { readonly atS: number; readonly kind: 'transfer'; readonly repo: string }
  /** Somebody gives a repository another name, also one that is the scope of a group. */
  | { readonly atS: number; readonly kind: 'rename-repo'; readonly repo: string }
  /** The same for an organization or a user. The spec of its groups keeps the old name. */
  | { readonly atS: number; readonly kind: 'rename-org' | 'rename-user'; readonly name: string }
  /** A repository is deleted, with its CI jobs at work. */
  | { readonly atS: number; readonly kind: 'delete-repo'; readonly repo: string }
  /** Gitea is restored from a backup of that time: what came later is gone, and ids come again. */
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
  /** Somebody deletes the Job of a pod, by order of creation. It stays until the pod has ended, with a deletionTimestamp (foreground). */
  | { readonly atS: number; readonly kind: 'delete-job'; readonly pod: number }
  /** The last commit is taken back. */
  | { readonly atS: number; readonly kind: 'rollback' };

/** A runner of others that is always there. */
export interface StaticRunner {
  readonly scope: RunnerScope;
  readonly labels: readonly string[];
  /** How often it asks for work while it has none. The real one: after 2 s, 4 s and then every 5 s. */
  readonly pollEveryS: number;
}

export interface PodFate {
  /** From creation until the runner registers. */
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
  /** One of the servers that a look asks does not answer: all looks fail, and the rest of the world goes on. */
  | { readonly kind: 'outage'; readonly atS: number; readonly untilS: number }
  /** Argo CD is away: it refreshes and syncs nothing. A sync under way goes on. */
  | { readonly kind: 'argo-away'; readonly atS: number; readonly untilS: number }
  /** The same for the Application of one shard. */
  | { readonly kind: 'shard-broken'; readonly shard: number; readonly atS: number; readonly untilS: number }
  /** The same for the look of one group: its Gitea, or its token. */
  | { readonly kind: 'group-outage'; readonly group: string; readonly atS: number; readonly untilS: number }
  /** Every third pod, by order of creation, is lost without a word. */
  | { readonly kind: 'node-loss'; readonly atS: number; readonly node: 0 | 1 | 2 };

/** Argo CD is woken: hard refresh (the generator looks and plans), then a sync of what it printed. */
export interface Wake {
  readonly atS: number;
  /** From the first list to the last. */
  readonly lookS: number;
  /** From the end of the refresh to the sync. */
  readonly syncAfterS: number;
  /** From the begin of the sync (where live objects are compared) to the prunes, and again until the creates. */
  readonly stepS: number;
  readonly fault?: WakeFault;
  /** For `stale-sync`: the manifests are at least so old. */
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

/** It has a node, and neither starts nor fails. */
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
