/** A RunnerGroup after reading: valid, defaults filled in, one spelling. Every other room works with this type only. */

/** Whose jobs a group serves, as Gitea divides runners. */
export type Scope =
  | { readonly kind: 'global' }
  | { readonly kind: 'org'; readonly org: string }
  | { readonly kind: 'user'; readonly user: string }
  | { readonly kind: 'repo'; readonly owner: string; readonly repo: string };

/** How the runner gets its docker daemon. */
export type ContainerMode = 'dind-rootless' | 'dind' | 'host';

/** A key of a Secret; the Secret itself is never read here. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** One label as written, e.g. `ubuntu-latest:docker://image`, and its name, e.g. `ubuntu-latest`, which is all that Gitea sees. */
export interface RunnerLabel {
  readonly name: string;
  readonly text: string;
}

/** Kubernetes quantities by resource name, e.g. `{cpu: '2'}`. */
export type Quantities = Readonly<Record<string, string>>;

/** Where something stands in a file, 1-based. */
export interface FilePlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface RunnerGroup {
  readonly place: FilePlace;
  readonly namespace: string;
  readonly name: string;
  readonly scope: Scope;
  /** Base URL of Gitea: http or https, no trailing slash, no credentials, query or fragment; a sub-path stays. */
  readonly giteaUrl: string;
  /** Own labels first, then the default ones that no own label replaces; unique by name. */
  readonly labels: readonly RunnerLabel[];
  readonly maxActiveRunners: number;
  readonly registrationToken: SecretKey;
  readonly authToken: SecretKey;
  readonly suspend: boolean;
  readonly acceptUnlabelledJobs: boolean;
  readonly fairness: 'oldest' | 'per-repository';
  readonly image: string;
  readonly containerMode: ContainerMode;
  readonly resources: { readonly requests: Quantities; readonly limits: Quantities };
  readonly spawnTimeoutSeconds: number;
  readonly activeDeadlineSeconds: number;
  readonly ttlSecondsAfterFinished: number;
  readonly gracefulStopSeconds: number;
  /** The object as it was written (without `status`), for the copy that is emitted when the cluster knows the CRD. */
  readonly manifest: Readonly<Record<string, unknown>>;
}
