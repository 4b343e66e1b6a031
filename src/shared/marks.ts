/** Labels, annotations and names that several rooms share, or Argo CD and we. No other file spells these keys. */

export type Texts = Readonly<Record<string, string>>;

/** API group and version of RunnerGroups, and their kind. */
export const API_GROUP = 'gitea.bpg.pw';
export const API_VERSION = `${API_GROUP}/v1alpha1`;
export const KIND = 'RunnerGroup';

const MANAGED_BY = 'gitea.bpg.pw/managed-by';
/** Value of `managed-by` labels. */
const MANAGER = 'argocd-gitea-runners';
/** Selects our Jobs and their pods, and nothing else. */
export const OUR_SELECTOR = `${MANAGED_BY}=${MANAGER}`;

/** Label: name of the RunnerGroup, which is in the Job's namespace. */
export const GROUP_NAME = 'gitea.bpg.pw/runnergroup-name';
/** Label: id of the CI job that the runner was made for. Absent on a runner of a warm pool. */
export const JOB_ID = 'gitea.bpg.pw/job-id';
/** Label: attempt of the CI job. */
export const RUN_ATTEMPT = 'gitea.bpg.pw/run-attempt';

/** Annotation: page of the CI job that the runner runs or waits for. */
export const JOB_URL = 'gitea.bpg.pw/job-url';
/** Annotation: repository of the CI job. */
export const REPOSITORY = 'gitea.bpg.pw/repository';
/** Annotation: the size of its group that the runner is of. Absent: it is of none. */
export const SIZE = 'gitea.bpg.pw/size';
/** Annotation: slots that the runner takes under each limit. Absent: 1. */
export const WEIGHT = 'gitea.bpg.pw/weight';
/** Annotation: names of limits that it counts under besides its cap, with commas. Other Applications read it, too. */
export const LIMITS = 'gitea.bpg.pw/limits';
/** Annotation: scope of the group. By it, others count the runner under limits, and a renamed group keeps it. */
export const SCOPE = 'gitea.bpg.pw/scope';
/** Annotation: level at which `serve` registers the runner (`scopeWord`). Absent: its pod registers. It never changes. */
export const REGISTERED_AT = 'gitea.bpg.pw/registered-at';
/** Label: the queue of Kueue in which the Job waits (docs/adr/0100). A living Job keeps it. */
export const QUEUE = 'kueue.x-k8s.io/queue-name';
/** Label: the shard that prints the Job (docs/adr/0109). Absent: it was made where there were none. */
export const SHARD = 'gitea.bpg.pw/shard';
/** Annotation of a RunnerGroup, printed by shard 0: how many shards there are. */
export const SHARDS = 'gitea.bpg.pw/shards';
/** Type of the Secret with the credentials of one runner. The Secret has the name of the Job that owns it. */
export const CREDENTIALS_TYPE = 'gitea.bpg.pw/runner';
/** The only key of that Secret: the file that the runner reads. */
export const CREDENTIALS_KEY = '.runner';
/** Annotation: number of runners before it that the plan gave up in a row. Absent: none. */
export const TRIED_BEFORE = 'gitea.bpg.pw/tried-before';
/** Annotation: end of the CI job of a runner whose pod waits, RFC 3339. The plan prints it and reads it. */
export const ENDED_AT = 'gitea.bpg.pw/ended-at';
/** Annotation: until when such a runner stays, RFC 3339. The plan prints it for people. */
export const KEEP_UNTIL = 'gitea.bpg.pw/keep-until';
/** Annotation: until when somebody wants it to stay, RFC 3339. Written by people and `extend`, never printed. */
export const EXTEND_UNTIL = 'gitea.bpg.pw/extend-until';
/** Annotation of a RunnerGroup: any value suspends it in the cluster. The text is for people: since when, by whom. */
export const SUSPENDED = 'gitea.bpg.pw/suspended';
/** Annotation of a RunnerGroup: a new value has `serve` look at Gitea at once. Written as `SUSPENDED` is. */
export const LOOK_NOW = 'gitea.bpg.pw/look-now';
/** Annotation of the pod template: the runner's configuration file. It saves an object. */
export const RUNNER_CONFIG = 'gitea.bpg.pw/runner-config';

/** Annotation of the pod template: which ids of the pod's user namespace BuildKit may use, as /etc/subuid has them. */
export const SUBORDINATE_IDS = 'gitea.bpg.pw/subordinate-ids';

/** Annotation that Argo CD writes on what it manages, unless it tracks by label only. */
export const TRACKING_ID = 'argocd.argoproj.io/tracking-id';
/** Label that it writes when it tracks by label. argocd-cm can name another one (`application.instanceLabelKey`). */
export const TRACKING_LABEL = 'app.kubernetes.io/instance';
/** Annotation: which of several Argo CDs has written the tracking id. */
export const INSTALLATION_ID = 'argocd.argoproj.io/installation-id';
/** Annotation of an Application: a refresh is asked for. */
export const REFRESH = 'argocd.argoproj.io/refresh';
/** Annotation of an Application: with `true` Argo CD's controller leaves it alone, also when a refresh is asked for. */
export const SKIP_RECONCILE = 'argocd.argoproj.io/skip-reconcile';
/** Annotation: a list of Argo CD's options, separated by commas. */
export const SYNC_OPTIONS = 'argocd.argoproj.io/sync-options';
/** The option that makes a Job pinned. */
export const NO_PRUNE = 'Prune=false';
export const COMPARE_OPTIONS = 'argocd.argoproj.io/compare-options';
/** The option that keeps a pinned Job, which the output may lack, from making the Application OutOfSync. */
export const IGNORE_EXTRANEOUS = 'IgnoreExtraneous';
export const HOOK = 'argocd.argoproj.io/hook';
/** Value of `HOOK`, but no hook: Argo CD leaves an existing object as it is, and does not create a missing one. */
export const SKIP = 'Skip';
/** Argo CD shows its value as a link. */
export const EXTERNAL_LINK = 'link.argocd.argoproj.io/external-link';
export const IGNORE_HEALTH = 'argocd.argoproj.io/ignore-healthcheck';

/** The init container that registers the runner. */
export const REGISTER = 'register';

/** Labels that all Jobs and pods of a group have. */
export function groupLabels(groupName: string): Texts {
  return { 'app.kubernetes.io/managed-by': MANAGER, ...RUNNER_APP, [MANAGED_BY]: MANAGER, [GROUP_NAME]: groupName };
}

/** Label by which network policies tell runners from the rest. */
export const RUNNER_APP = { 'app.kubernetes.io/name': 'gitea-runner' } as const;

/** RFC 3339 in UTC with whole seconds, as Kubernetes writes times. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** True for what we print, by its labels. */
export function isOurs(labels: Texts): boolean {
  return labels[MANAGED_BY] === MANAGER;
}

/** True for a Job that no sync prunes. */
export function isPinned(annotations: Texts): boolean {
  return annotations[SYNC_OPTIONS]?.split(',').some((option) => option.trim() === NO_PRUNE) ?? false;
}

/** The repository that a runner is bound to, by the level that it is registered at. Undefined: it serves its scope. */
export function boundTo(registeredAt: string | undefined): string | undefined {
  return registeredAt?.startsWith('repo:') ? registeredAt.slice('repo:'.length) : undefined;
}

type Metadata = Readonly<
  Partial<Record<'annotations' | 'labels', Texts | null> & Record<'namespace' | 'name', string>>
>;

/** Adds a tracking id where Argo CD tracks by label. An id that is there counts alone: many tools write this label. */
export function withTrackingId(object: unknown, kind: string, label: string): unknown {
  const metadata = (object as { readonly metadata?: Metadata } | null)?.metadata;
  const { annotations, labels, namespace, name } = metadata ?? {};
  const application = labels?.[label];
  if (!application || annotations?.[TRACKING_ID] !== undefined) return object;
  const tracked = { ...annotations, [TRACKING_ID]: `${application}:${kind}:${namespace}/${name}` };
  return { ...(object as object), metadata: { ...metadata, annotations: tracked } };
}

/** The entries with a value. */
export function present(part: Texts): Texts {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== ''));
}
