/** A history of `serve`, as data: who is there, what people and CI do, and what goes wrong when. It is made from a seed, and shrunk. */

/** A RunnerGroup as it stands in git. It serves an organization. */
export interface GroupInGit {
  readonly name: string;
  readonly org: string;
  readonly maxActiveRunners: number;
  readonly minIdleRunners: number;
  readonly maxEvictionRetries: number;
}

/** An Application of Argo CD with the groups of its repository. */
export interface AppInGit {
  readonly name: string;
  readonly groups: readonly GroupInGit[];
}

/** What people and CI do. */
export type Act = { readonly atS: number } & (
  | { readonly is: 'push'; readonly org: string; readonly takesS: number; readonly fails: boolean }
  /** A commit: this group is as given from now on. */
  | { readonly is: 'commit'; readonly app: number; readonly group: GroupInGit }
  | { readonly is: 'user-refresh'; readonly app: number }
  | { readonly is: 'user-sync'; readonly app: number }
);

type WatchedKind = 'runnergroups' | 'jobs' | 'pods';

/** What goes wrong. `forS`: how long it goes on. */
export type Fault = { readonly atS: number } & ( // Kubernetes
  | { readonly is: 'watch-cut'; readonly kind: WatchedKind; readonly how: 'ended' | 'broken' | 'expired' }
  /** Nothing comes from the watches of this kind any more, and they do not end. */
  | { readonly is: 'watch-silent'; readonly kind: WatchedKind }
  | { readonly is: 'events-late'; readonly forS: number }
  | { readonly is: 'events-repeated'; readonly forS: number }
  | { readonly is: 'kubernetes-away'; readonly forS: number }
  /** Lists come from a copy that is some seconds old. */
  | { readonly is: 'old-lists'; readonly forS: number }
  | { readonly is: 'status-conflicts'; readonly forS: number }
  /** A namespace that is listed, but in which nothing lives, refuses. */
  | { readonly is: 'namespace-refused'; readonly forS: number }
  /** The pod of a busy runner is evicted. */
  | { readonly is: 'eviction' }
  /** The node of a busy runner does not answer Kubernetes for so long. The runner goes on, and Gitea hears it. */
  | { readonly is: 'node-silent'; readonly forS: number }
  // Argo CD
  | { readonly is: 'refresh-lost'; readonly app: number; readonly forS: number }
  | { readonly is: 'refresh-overlooked'; readonly app: number }
  | { readonly is: 'refresh-hangs'; readonly app: number; readonly forS: number }
  | { readonly is: 'read-lost' | 'sync-lost'; readonly app: number }
  | { readonly is: 'answers-late'; readonly forS: number }
  | { readonly is: 'comparison-slow'; readonly app: number; readonly forS: number }
  | { readonly is: 'kept-error'; readonly app: number }
  | { readonly is: 'operation'; readonly app: number; readonly forS: number }
  | { readonly is: 'old-sync'; readonly app: number }
  | { readonly is: 'argocd-away'; readonly forS: number }
  | { readonly is: 'apply-fails'; readonly app: number; readonly forS: number }
  | { readonly is: 'others-out-of-sync'; readonly app: number; readonly forS: number }
  // Gitea
  | { readonly is: 'gitea-away'; readonly forS: number }
  | { readonly is: 'looks-fail'; readonly forS: number }
  | { readonly is: 'webhooks-lost'; readonly forS: number }
  | { readonly is: 'webhooks-late'; readonly forS: number }
  | { readonly is: 'webhooks-twice'; readonly forS: number }
  // serve itself
  | { readonly is: 'killed' | 'stopped'; readonly backAfterS: number }
  /** The leader cannot renew its Lease for so long. */
  | { readonly is: 'lease-away'; readonly forS: number }
  /** The clocks of the machines of `serve` are set. */
  | { readonly is: 'clock-set'; readonly byS: number }
);

export type FaultKind = Fault['is'];

export interface History {
  readonly seed: number;
  readonly lengthS: number;
  /** 28.0.0 can end runs. */
  readonly gitea: '1.27.3' | '28.0.0';
  readonly apps: readonly AppInGit[];
  readonly replicas: number;
  /** Wakes at the same time. */
  readonly wakes: number;
  /** Namespaces are named, one of which is empty. Else all are watched. */
  readonly namesNamespaces: boolean;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}
