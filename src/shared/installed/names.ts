/** Names that several manifests, the image and docs/install.md share. */
import packageJson from '../../../package.json' with { type: 'json' };

/** The name in all manifests; whoever installs puts the name of their own copy in its place. */
export const IMAGE = `argocd-gitea-runners:${packageJson.version}`;

/** Argo CD's namespace in its stock manifests. */
export const ARGOCD_NAMESPACE = 'argocd';
/** Where the runners' Jobs run. */
export const RUNNERS_NAMESPACE = 'runners';

/** Also the field manager of the server-side apply in docs/install.md. */
export const NAME = 'gitea-runners';
/** Name of Argo CD's plugin, its account and the Argo CD project. */
export const PLUGIN = NAME;
export const ACCOUNT = NAME;
export const PROJECT = 'runners';

/** The service account of Argo CD's repo-server in stock manifests; the token in the sidecar is its token. */
export const REPO_SERVER_ACCOUNT = 'argocd-repo-server';
export const SIDECAR_ROLE = 'gitea-runners-sidecar';
export const SERVE_ROLE = 'gitea-runners-serve';
/** The Lease by which one replica of `serve` leads, in the namespace of its pods. */
export const SERVE_LEASE = 'gitea-runners-serve';
/** Of each namespace whose Secrets are read through the API. */
export const SECRETS_ROLE = 'gitea-runners-secrets';
/** Of each namespace whose runners are kept longer by a button in Slack. */
export const EXTEND_ROLE = 'gitea-runners-extend';
/** Of each namespace whose registration Secrets serve keeps filled. */
export const REGISTRATION_ROLE = 'gitea-runners-registration';

/** In the runners' namespace. */
export const REGISTRATION_SECRET = 'gitea-runner';
/** Secrets that a person creates. Their values stand in no file here. The last one is optional: environment with passwords. */
export const API_SECRET = 'gitea-api';
export const SERVE_SECRET = 'gitea-runners-serve';
export const PROXY_SECRET = 'gitea-runners-proxy';
/** ConfigMaps: environment for sidecar and serve; PEM of a private CA as `ca.crt`; a RunnerPolicy as `policy.yaml`. All optional. */
export const SETTINGS = 'gitea-runners-settings';
export const DEFAULTS = 'gitea-runners-defaults';
export const CA_BUNDLE = 'gitea-runners-ca';
export const POLICY = 'gitea-runners-policy';

/** In the sidecar: Argo CD's plugin server, and the folder in which it puts the socket of a plugin for the repo-server. */
export const PLUGIN_SERVER = '/var/run/argocd/argocd-cmp-server';
export const PLUGIN_SERVER_DIR = '/var/run/argocd';
export const PLUGIN_SOCKETS_DIR = '/home/argocd/cmp-server/plugins';

/** Folders in our containers. */
export const API_SECRETS_DIR = '/var/run/secrets/gitea-runners';
export const SERVE_SECRET_DIR = '/var/run/secrets/gitea-runners-serve';
export const CA_DIR = '/etc/gitea-runners/ca';
export const POLICY_DIR = '/etc/gitea-runners/policy';
export const ARGOCD_TLS_DIR = '/etc/gitea-runners/argocd';

/** Places in the image: Dockerfile, scripts/image.mjs. */
export const TINI = '/usr/bin/tini';
export const NODE = '/usr/local/bin/node';
export const BUNDLE = '/opt/gitea-runners/gitea-runners.cjs';

/** User `argocd` of Argo CD's own image. Plugin sidecars must be that user: they share a socket's folder. */
export const USER_ID = 999;

export const WEBHOOK_PORT = 8080;
export const METRICS_PORT = 9090;
/** For the kubelet alone: no Service, no NetworkPolicy names it. */
export const PROBE_PORT = 8081;

/** Labels of what belongs to `serve`. */
export const SERVE_LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/component': 'serve' } as const;
/** `SERVE_LABELS`, as Kubernetes' API and kubectl's `-l` take them. */
export const SERVE_SELECTOR = Object.entries(SERVE_LABELS)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');
/** Of all replicas: with the name of the Deployment kubectl takes one pod, and it may not be the leader. */
export const serveLogs = (argocdNamespace: string): string =>
  `kubectl -n ${argocdNamespace} logs -l ${SERVE_SELECTOR} --prefix --tail=50`;
/** Labels of every object of ours. */
export const LABELS = { 'app.kubernetes.io/name': NAME, 'app.kubernetes.io/part-of': 'argocd-gitea-runners' } as const;
