/** A RunnerGroup after reading: valid, defaults filled in, one spelling. Every other room works with this type only. */
import type { Texts } from '../../shared/marks.ts';
import type { Scope } from '../../shared/scope.ts';
import type { WrittenSpec } from './group-schema.ts';
import type { RunnerConfig } from './runner-config.ts';
import type { RunnerLabel } from './words.ts';

export type ContainerMode = WrittenSpec['containerMode'];

/** A key of a Secret; the Secret itself is never read here. */
export type SecretKey = Readonly<Record<'name' | 'key', string>>;

/** The proxy of runner pods. At least one of `http` and `https` is there. */
export interface PodProxy {
  /** `scheme://host:port`, no login. */
  readonly http?: string;
  readonly https?: string;
  /** Hosts, addresses and CIDR blocks that need no proxy, as written. */
  readonly direct: readonly string[];
  /** Name of the Secret with the keys `username` and `password`. */
  readonly secret?: string;
}

/** Place in a file, 1-based. */
export type FilePlace = Readonly<{ file: string; line: number; column: number }>;

type Resources = { readonly requests: Texts; readonly limits: Texts };

/** A size as it is written. An absent field has the group's value. */
interface WrittenSize {
  readonly name: string;
  readonly weight: number;
  readonly resources?: Resources;
  readonly podTemplate?: Readonly<Record<string, unknown>>;
}

/** Fields of the spec whose normal form differs from what people write. Each has a rule in `group-rules.ts`. */
export interface NormalFields {
  readonly scope: Scope;
  /** Base URL of Gitea: http or https, no trailing slash, no credentials, query or fragment; a sub-path stays. */
  readonly giteaUrl: string;
  /** Own labels first, then the default labels that no own label replaces. Unique by name. */
  readonly labels: readonly RunnerLabel[];
  /** Undefined: `serve` registers the runners. */
  readonly registrationToken: SecretKey | undefined;
  readonly authToken: SecretKey;
  /** The cap, in whichever way it was written. */
  readonly maxActiveRunners: number;
  /** Value in seconds, at least `spawnTimeoutSeconds`. */
  readonly pendingDeadlineSeconds: number;
  readonly acceptUnlabelledJobs: boolean;
  readonly image: string;
  /** Kubernetes quantities by resource name, e.g. `{cpu: '2'}`. */
  readonly resources: Resources;
  readonly sizes: readonly WrittenSize[];
  /** Limits. Each has a name, or `per`, or both. */
  readonly limits: WrittenSpec['limits'];
  readonly proxy: PodProxy | undefined;
  /** Sections and keys of the runner's own configuration; none of those that are ours. */
  readonly runnerConfig: RunnerConfig;
  /** Less than `activeDeadlineSeconds`. */
  readonly gracefulStopSeconds: number;
}

/** Fields of the spec that a normal field replaces. */
export const SPELLINGS = ['org', 'user', 'repo', 'gitea', 'giteaURL', 'defaultLabels', 'maxWorkers'] as const;
export type SpellingField = (typeof SPELLINGS)[number];

/** All other fields of the spec keep the schema's form: a new field needs its entry in `group-schema.ts` and nothing here. */
type SameFields = Readonly<Omit<WrittenSpec, keyof NormalFields | SpellingField>>;

/** `runner`: in modes dind and host. `rootless`: in dind-rootless and buildkit. The others: of the sidecars. */
export type Images = Readonly<Partial<Record<'runner' | 'rootless' | 'docker' | 'buildkit', string | undefined>>>;

/** A platform's own cdk8s app around ours (docs/platform.md). Like an image, it says what pods look like. */
export interface Platform {
  /** Lets the platform change a `RunnersApp`. Returns forbidden changes: with any, the result must not be used. */
  readonly apply: (app: object) => readonly string[];
}

export interface RunnerGroup extends SameFields, NormalFields {
  readonly place: FilePlace;
  readonly namespace: string;
  readonly name: string;
  /** Image of dockerd in containerMode `dind`, if the installation names one. */
  readonly dockerImage?: string;
  /** Image of BuildKit in containerMode `buildkit`, if the installation names one. */
  readonly buildkitImage?: string;
  /** Platform of the installation, if it has one. */
  readonly platform?: Platform;
  /** Images that the policy names for the group. */
  readonly images?: Images;
  /** The object as it was written (without `status`), for the copy that is emitted when the cluster knows the CRD. */
  readonly manifest: Readonly<Record<string, unknown>>;
  /** Set if the group stands for one of its sizes (sizes.ts). */
  readonly size?: Readonly<{ name: string; weight: number; index: number; group: RunnerGroup }>;
}

/**
 * What judges each field of the spec: a rule of the policy, a field of the pod that `podTemplateFields` must list
 * (`spec.…`), or nobody (`free: why`). These change the pod; `podOnly` keeps them when others are wrong.
 */
const POD_JUDGES = {
  images: ['image'],
  maxResources: ['resources'],
  'namespaces.secrets': ['authToken', 'cache', 'proxy', 'registrationToken'],
  'free: it changes what the runner does inside of its pod': ['registration', 'runnerConfig', 'setupCommand'],
  'free: certificates are public': ['caBundle'],
  'free: how long a pod stays that the cap counts': ['gracefulStopSeconds', 'keepFailedSeconds'],
} as const satisfies Judges;
const OTHER_JUDGES = {
  'namespaces.scopes': ['scope', 'org', 'user', 'repo'],
  giteas: ['gitea', 'giteaURL'],
  maxActiveRunners: ['maxActiveRunners', 'maxWorkers'],
  maxResources: ['sizes'],
  podTemplateFields: ['podTemplate'],
  priorityClasses: ['priorityTiers'],
  queues: ['queue'],
  securityProfile: ['containerMode', 'securityProfile'],
  'free: docker inside of the pod pulls their images': ['labels', 'defaultLabels'],
  'free: more CI jobs of the same scope': ['acceptUnlabelledJobs', 'groupLabel'],
  'free: fewer CI jobs, or other ones first': ['fairness', 'limits', 'order', 'repositories', 'suspend'],
  'free: idle runners, which the cap counts': ['idleDemand', 'idleSchedule', 'minIdleRunners'],
  'free: how long the planner waits for a pod': ['pendingDeadlineSeconds', 'spawnTimeoutSeconds'],
  'free: how long a Job that the cap counts stays': ['activeDeadlineSeconds', 'ttlSecondsAfterFinished'],
  'free: what its own token may do': ['commitStatusAfterSeconds', 'evictionRetryDelaySeconds', 'maxEvictionRetries'],
  'free: --notify-urls bounds where it may tell': ['notify'],
  'free: it says less': ['tracing'],
} as const satisfies Judges;

export type Judges = Readonly<Record<string, readonly (keyof WrittenSpec)[]>>;
type In<J extends Judges> = J[keyof J][number];
type None<T extends never> = T;
/** A new field does not compile here until it has its judge above. */
export type Undecided = None<Exclude<keyof WrittenSpec, In<typeof POD_JUDGES> | In<typeof OTHER_JUDGES>>>;

export const POD_FIELDS = Object.values(POD_JUDGES).flat();

export const JUDGES = [...Object.entries<Judges[string]>(POD_JUDGES), ...Object.entries<Judges[string]>(OTHER_JUDGES)];

/** The fields that a Job is made of. A field of the pod that `POD_JUDGES` lacks does not compile in src/manifests. */
export type JobGroup = Pick<
  RunnerGroup,
  | In<typeof POD_JUDGES>
  | 'activeDeadlineSeconds'
  | 'buildkitImage'
  | 'containerMode'
  | 'dockerImage'
  | 'giteaUrl'
  | 'labels'
  | 'name'
  | 'namespace'
  | 'podTemplate'
  | 'securityProfile'
  | 'ttlSecondsAfterFinished'
>;

/** Placeholder in the name of a claim: the repository that the runner is bound to. */
export const OF_REPOSITORY = '$' + '{REPOSITORY}';

/** True for modes with a docker daemon. In the others labels with `docker://` cannot work. */
export function hasDocker(mode: string): boolean {
  return mode === 'dind-rootless' || mode === 'dind';
}

/** The level of Pod Security that a namespace must allow for the group's pods. */
export function neededLevel({
  containerMode,
  securityProfile,
}: RunnerGroup): NonNullable<RunnerGroup['securityProfile']> {
  return securityProfile ?? (containerMode === 'host' ? 'restricted' : 'privileged');
}

/** True for a group that keeps idle runners for jobs to come. */
export function keepsPool(group: Pick<RunnerGroup, 'minIdleRunners' | 'suspend' | TimedIdle>): boolean {
  return (group.minIdleRunners > 0 || hasTimedPool(group)) && !group.suspend;
}

type TimedIdle = 'idleSchedule' | 'idleDemand';

/** True for a group whose warm pool changes with the time. */
export function hasTimedPool({ idleSchedule, idleDemand }: Pick<RunnerGroup, TimedIdle>): boolean {
  return idleSchedule.length > 0 || idleDemand !== undefined;
}

/** True if the pod of the group or of one of its sizes has a template or must be checked. */
export function hasOwnPod(group: Pick<RunnerGroup, 'podTemplate' | 'securityProfile' | 'sizes'>): boolean {
  const templates = [group, ...group.sizes].map(({ podTemplate }) => podTemplate);
  return group.securityProfile !== undefined || templates.some((template) => template !== undefined);
}

/** A file that was read. `name`: relative to the current folder, for messages. */
export type SourceFile = Readonly<Record<'name' | 'text', string>>;
