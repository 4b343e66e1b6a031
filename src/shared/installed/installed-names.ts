/** Names that several manifests, the image and docs/install.md share. */
import packageJson from '../../../package.json' with { type: 'json' };
import { API_GROUP } from '../marks.ts';

/** The name in all manifests; whoever installs puts the name of their own copy in its place. */
export const IMAGE = `argocd-gitea-runners:${packageJson.version}`;

/** Returns the address of a page of the manual, which no package contains. @param page `install.md#webhooks` */
export const manual = (page: string): string => `${packageJson.homepage}/src/branch/main/docs/${page}`;

/** Argo CD's namespace in its stock manifests. */
export const ARGOCD_NAMESPACE = 'argocd';

/** Name of the product's objects. Also the field manager of the server-side apply in docs/install.md. */
export const NAME = 'gitea-runners';
/** Name of Argo CD's plugin, its account and the Argo CD project. */
export const PLUGIN = NAME;
export const ACCOUNT = NAME;
export const PROJECT = 'runners';

/** The Lease by which one replica of `serve` leads, in the namespace of its pods. */
export const SERVE_LEASE = 'gitea-runners-serve';

/** Name of the Secret in the runners' namespace. */
export const REGISTRATION_SECRET = 'gitea-runner';
/** Secrets that a person creates. Their values stand in no file here. */
export const API_SECRET = 'gitea-api';
export const SERVE_SECRET = 'gitea-runners-serve';
/** ConfigMaps, both optional: environment for sidecar and serve; a RunnerPolicy as `policy.yaml`. */
export const SETTINGS = 'gitea-runners-settings';
export const POLICY = 'gitea-runners-policy';
/** Variable with Argo CD's `application.instanceLabelKey` if it is not the default. For sidecar and `serve`. */
export const TRACKING_SETTING = 'GITEA_RUNNERS_TRACKING_LABEL';
/** The one setting that an Application may have: which shard its plugin prints. Argo CD writes ARGOCD_ENV_ before it. */
export const SHARD_SETTING = 'GITEA_RUNNERS_SHARD';

/** Paths in the sidecar: Argo CD's plugin server, and the folder of the plugin's socket for the repo-server. */
export const PLUGIN_SERVER = '/var/run/argocd/argocd-cmp-server';
export const PLUGIN_SERVER_DIR = '/var/run/argocd';
export const PLUGIN_SOCKETS_DIR = '/home/argocd/cmp-server/plugins';

/** Folders in our containers. */
export const API_SECRETS_DIR = '/var/run/secrets/gitea-runners';
export const CA_DIR = '/etc/gitea-runners/ca';

export const METRICS_PORT = 9090;

/** Labels of what belongs to `serve`. */
export const SERVE_LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/component': 'serve' } as const;
/** `SERVE_LABELS`, as Kubernetes' API and kubectl's `-l` take them. */
export const SERVE_SELECTOR = Object.entries(SERVE_LABELS)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');
/** Logs of all replicas. With the name of the Deployment kubectl takes one pod, and it may not be the leader. */
export const serveLogs = (argocdNamespace: string): string =>
  `kubectl -n ${argocdNamespace} logs -l ${SERVE_SELECTOR} --prefix --tail=50`;
/** Labels of every object that the product installs. */
export const LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/part-of': 'argocd-gitea-runners' } as const;

/** A rule of a Role. */
export type Rule = Readonly<Record<'apiGroups' | 'resources' | 'verbs', readonly string[]>>;

/** Rules of the sidecar in each namespace with runners. */
export const SIDECAR_RULES: readonly Rule[] = [
  { apiGroups: [API_GROUP], resources: ['runnergroups'], verbs: ['list'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
];

/** Rules of `serve` in each namespace with runners. */
export const SERVE_RULES: readonly Rule[] = [
  { apiGroups: [API_GROUP], resources: ['runnergroups'], verbs: ['list', 'watch'] },
  { apiGroups: [API_GROUP], resources: ['runnergroups/status'], verbs: ['patch'] },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create'] },
];
