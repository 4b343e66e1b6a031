/**
 * A history of `serve` as data: objects, actions of people and CI, and faults with their times. It is made from a seed,
 * and shrunk.
 */

/** A RunnerGroup in git. It serves an organization. */
export interface GroupInGit {
  readonly name: string;
  readonly org: string;
  readonly maxActiveRunners: number;
  readonly minIdleRunners: number;
  readonly maxEvictionRetries: number;
  /** `serve` registers its runners. */
  readonly byServe?: true;
}

/** An Application of Argo CD with the groups of its repository. */
export interface AppInGit {
  readonly name: string;
  readonly groups: readonly GroupInGit[];
}

/** Actions of people and of CI. */
export type Act = { readonly atS: number } & (
  | { readonly is: 'push'; readonly org: string; readonly takesS: number; readonly fails: boolean }
  /** A commit: this group is as given from now on. */
  | { readonly is: 'commit'; readonly app: number; readonly group: GroupInGit }
  | { readonly is: 'user-refresh'; readonly app: number }
  | { readonly is: 'user-sync'; readonly app: number }
  /** Somebody deletes the Secrets of all runners. */
  | { readonly is: 'delete-secrets' }
  /** Somebody sets the clocks of the machines of `serve`: by hours. */
  | { readonly is: 'set-clocks'; readonly byS: number }
);

export type WatchedKind = 'runnergroups' | 'jobs' | 'pods';

/** Details of a fault besides its time. `forS`: its duration. */
interface Details {
  readonly nothing: object;
  readonly watch: { readonly kind: WatchedKind };
  readonly cut: { readonly kind: WatchedKind; readonly how: 'ended' | 'broken' | 'expired' };
  readonly time: { readonly forS: number };
  readonly app: { readonly app: number };
  readonly 'app and time': { readonly app: number; readonly forS: number };
  readonly back: { readonly backAfterS: number };
  readonly clock: { readonly byS: number };
}

/** Kinds of faults, with their details. Seeds draw from these in this order: a new kind goes to the end. */
export const FAULTS = {
  'watch-cut': 'cut',
  /** The watches of this kind deliver nothing any more, and do not end. */
  'watch-silent': 'watch',
  'events-late': 'time',
  'events-repeated': 'time',
  'kubernetes-away': 'time',
  /** Lists come from a copy that is some seconds old. */
  'old-lists': 'time',
  'status-conflicts': 'time',
  /** A namespace that is listed, but in which nothing lives, refuses. */
  'namespace-refused': 'time',
  /** The pod of a busy runner is evicted. */
  eviction: 'nothing',
  'refresh-lost': 'app and time',
  'refresh-hangs': 'app and time',
  'read-lost': 'app',
  'sync-lost': 'app',
  'answers-late': 'time',
  'comparison-slow': 'app and time',
  'kept-error': 'app',
  operation: 'app and time',
  'old-sync': 'app',
  'argocd-away': 'time',
  'apply-fails': 'app and time',
  'others-out-of-sync': 'app and time',
  'gitea-away': 'time',
  'looks-fail': 'time',
  'webhooks-lost': 'time',
  'webhooks-late': 'time',
  'webhooks-twice': 'time',
  killed: 'back',
  stopped: 'back',
  /** The leader cannot renew its Lease for so long. */
  'lease-away': 'time',
  /** The clocks of the machines of `serve` are set. */
  'clock-set': 'clock',
  'refresh-overlooked': 'app',
  /** The node of a busy runner does not answer Kubernetes for so long. The runner goes on, and Gitea hears it. */
  'node-silent': 'time',
  /** Gitea registers no runner for so long, or its answers to that are lost. */
  'registrations-refused': 'time',
  'registrations-lost': 'time',
  /** Kubernetes creates Secrets, and its answers are lost. */
  'secrets-lost': 'time',
} as const satisfies Readonly<Record<string, keyof Details>>;

export type FaultKind = keyof typeof FAULTS;

export type Fault = {
  [Kind in FaultKind]: { readonly atS: number; readonly is: Kind } & Details[(typeof FAULTS)[Kind]];
}[FaultKind];

export interface History {
  readonly seed: number;
  readonly lengthS: number;
  /** 28.0.0 can end runs. */
  readonly gitea: '1.27.3' | '28.0.0';
  readonly apps: readonly AppInGit[];
  readonly replicas: number;
  /** Wakes at the same time. */
  readonly wakes: number;
  /** True if namespaces are named, one of which is empty. Otherwise all are watched. */
  readonly namesNamespaces: boolean;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}
