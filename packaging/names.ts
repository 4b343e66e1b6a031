/** Names that only the manifests in `install/`, the image and docs/install.md share. What the program knows, too, is in src/shared/installed. */

/** Where the runners' Jobs run. */
export const RUNNERS_NAMESPACE = 'runners';

/** The service account of Argo CD's repo-server in stock manifests; the token in the sidecar is its token. */
export const REPO_SERVER_ACCOUNT = 'argocd-repo-server';
export const SIDECAR_ROLE = 'gitea-runners-sidecar';
export const SERVE_ROLE = 'gitea-runners-serve';
/** Of each namespace whose Secrets are read through the API. */
export const SECRETS_ROLE = 'gitea-runners-secrets';
/** Of each namespace whose runners are kept longer by a button in Slack. */
export const EXTEND_ROLE = 'gitea-runners-extend';
/** Of each namespace whose registration Secrets serve keeps filled. */
export const REGISTRATION_ROLE = 'gitea-runners-registration';

/** Of each namespace whose runners serve registers, and the name of the policy that holds serve to Secrets of these. */
export const CREDENTIALS_ROLE = 'gitea-runners-credentials';

/** A Secret that a person creates: environment with passwords. Optional. */
export const PROXY_SECRET = 'gitea-runners-proxy';
/** ConfigMaps, both optional: defaults of the environment; PEM of a private CA as `ca.crt`. */
export const DEFAULTS = 'gitea-runners-defaults';
export const CA_BUNDLE = 'gitea-runners-ca';

/** Folders in our containers. */
export const SERVE_SECRET_DIR = '/var/run/secrets/gitea-runners-serve';
export const POLICY_DIR = '/etc/gitea-runners/policy';
export const ARGOCD_TLS_DIR = '/etc/gitea-runners/argocd';

/** Places in the image: Dockerfile, scripts/image.mjs. */
export const TINI = '/usr/bin/tini';
export const NODE = '/usr/local/bin/node';
export const BUNDLE = '/opt/gitea-runners/gitea-runners.cjs';
/** Little room for young objects, in MiB. What `generate` reads lives on, so more room costs memory and time (docs/performance.md). */
export const GENERATE_FLAGS = ['--max-semi-space-size=2', '--no-concurrent-recompilation'] as const;

/** User `argocd` of Argo CD's own image. Plugin sidecars must be that user: they share a socket's folder. */
export const USER_ID = 999;

export const WEBHOOK_PORT = 8080;
/** Of the page for developers, where it is switched on. */
export const PAGE_PORT = 8082;
/** For the repo-server, where looks are given. */
export const LOOKS_PORT = 8083;
/** For the kubelet alone: no Service, no NetworkPolicy names it. */
export const PROBE_PORT = 8081;
