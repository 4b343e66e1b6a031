/**
 * The group's `proxy` and `caBundle` in a runner's pod (docs/adr/0032).
 *
 *   register  ─ writes the bundle (public CAs of the image + the group's) and runner.env ─►  gitea-runner register
 *   runner    ─ environment ─► gitea-runner, steps of host jobs
 *             ─ runner.env  ─► job containers, which also see both folders with certificates
 *   dockerd   ─ environment ─► image pulls
 *
 * Nothing of it is in the pod of a group without these fields.
 */
import type { k8s } from 'cdk8s-plus-28';
import type { JobGroup, PodProxy } from '../config/runnergroup/runner-group.ts';
import { withoutExpansion } from './job-manifest.ts';

const USERNAME = 'GITEA_RUNNER_PROXY_USERNAME';
const PASSWORD = 'GITEA_RUNNER_PROXY_PASSWORD';
const POD_IP = 'GITEA_RUNNER_POD_IP';
/** Hosts that need no proxy: the pod, at whose address the runner's cache listens, and Services of its cluster. */
const ALWAYS_DIRECT = ['localhost', '127.0.0.1', '::1', '.svc', '.cluster.local'];

/** Folder of `update-ca-certificates`, which a job may run. Not below /etc or /run: rootless dockerd copies these. */
const CA_DIR = '/usr/local/share/ca-certificates/gitea-runner';
const CA_FILE = `${CA_DIR}/ca.crt`;
const BUNDLE_DIR = '/usr/local/share/gitea-runner';
const BUNDLE_FILE = `${BUNDLE_DIR}/ca-bundle.pem`;
/** Variables that make programs trust a file. Most replace the public CAs: hence the bundle. */
const CA_VARIABLES = {
  SSL_CERT_FILE: BUNDLE_FILE,
  SSL_CERT_DIR: `/etc/ssl/certs:${CA_DIR}`,
  NODE_EXTRA_CA_CERTS: CA_FILE,
  GIT_SSL_CAINFO: BUNDLE_FILE,
  CURL_CA_BUNDLE: BUNDLE_FILE,
  REQUESTS_CA_BUNDLE: BUNDLE_FILE,
} as const;

/** The runner reads this file at its start (`runner.env_file`), for the environment of CI jobs. */
const ENV_FILE = '/data/runner.env';

/** Returns the parts that the group's fields add to its pods. Empty if it has none of these fields. */
export function podParts({ proxy, caBundle }: JobGroup) {
  const proxyEnv = proxyVariables(proxy);
  if (caBundle === undefined)
    return { env: proxyEnv, dockerEnv: proxyEnv, volumes: [], registerMounts: [], mounts: [] };
  const { name, key } = caBundle.configMapRef;
  const ca = { mountPath: CA_DIR, name: 'ca', readOnly: true };
  const bundle = { mountPath: BUNDLE_DIR, name: 'ca-bundle' };
  return {
    /** Variables of the containers `register` and `runner`. Kubernetes expands the `$(NAME)` in them. */
    env: [
      ...proxyEnv,
      ...Object.entries(CA_VARIABLES).map(([variable, value]): k8s.EnvVar => ({ name: variable, value })),
    ],
    /** Variables of the docker sidecar. Go programs look into `SSL_CERT_DIR` besides the image's own bundle. */
    dockerEnv: [...proxyEnv, { name: 'SSL_CERT_DIR', value: CA_VARIABLES.SSL_CERT_DIR }],
    volumes: [
      { configMap: { items: [{ key, path: 'ca.crt' }], name }, name: 'ca' },
      { emptyDir: {}, name: 'ca-bundle' },
    ],
    /** Mounts of the container that writes the bundle, and of the others. */
    registerMounts: [ca, bundle],
    mounts: [ca, { ...bundle, readOnly: true }],
  };
}

/** Returns the variables in both cases: curl reads lower-case `http_proxy` only, and some programs only capitals. */
function proxyVariables(proxy: PodProxy | undefined): readonly k8s.EnvVar[] {
  if (proxy === undefined) return [];
  const { http, https, direct, secret } = proxy;
  const inBothCases = (name: string, value: string): readonly k8s.EnvVar[] => [
    { name, value },
    { name: name.toUpperCase(), value: `$(${name})` },
  ];
  const login = secret === undefined ? '' : `$(${USERNAME}):$(${PASSWORD})@`;
  const ofUrl = (name: string, url: string | undefined): readonly k8s.EnvVar[] => {
    const withLogin = url && withoutExpansion(url).replace('://', () => `://${login}`);
    return withLogin === undefined ? [] : inBothCases(name, withLogin);
  };
  const fromSecret = (variable: string, key: string): readonly k8s.EnvVar[] =>
    secret === undefined ? [] : [{ name: variable, valueFrom: { secretKeyRef: { key, name: secret } } }];
  return [
    ...fromSecret(USERNAME, 'username'),
    ...fromSecret(PASSWORD, 'password'),
    { name: POD_IP, valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ...ofUrl('http_proxy', http),
    ...ofUrl('https_proxy', https),
    ...inBothCases('no_proxy', [...ALWAYS_DIRECT, `$(${POD_IP})`, ...direct.map(withoutExpansion)].join(',')),
  ];
}

/** Go repeats a proxy's URL that it cannot read in its error message: the password would be in the log of the pod. */
const CHECK_LOGIN = `for part in "$${USERNAME}" "$${PASSWORD}"; do
  case $part in
    '' | *[!A-Za-z0-9._~%!*+,=-]* | *% | *%? | *%[!0-9A-Fa-f]* | *%?[!0-9A-Fa-f]*)
      echo "Not registered: in the Secret of spec.proxy.secretRef, username and password must not be empty, and characters" \\
        "other than letters, digits and ._~!*+,=- must be percent-encoded (@ is %40). Is there a line break at the end?" >&2
      exit 1 ;;
  esac
done
`;

const WRITE_BUNDLE = `if ! grep -q 'BEGIN CERTIFICATE' ${CA_FILE}; then
  echo "Not registered: the key of spec.caBundle.configMapRef holds no PEM certificate." >&2
  exit 1
fi
for public in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem /etc/ssl/cert.pem /dev/null; do
  [ -r $public ] && break
done
{ cat $public; echo; cat ${CA_FILE}; } > ${BUNDLE_FILE} || exit 1
`;

/** Returns the shell lines that run before the registration. Empty for a group without these fields. */
export function preparation(group: JobGroup): string {
  const names = podParts(group)
    .env.map(({ name }) => name)
    .filter((name) => !name.startsWith('GITEA_RUNNER_'));
  if (names.length === 0) return '';
  const checkLogin = group.proxy?.secret === undefined ? '' : CHECK_LOGIN;
  const writeBundle = group.caBundle === undefined ? '' : WRITE_BUNDLE;
  return `${checkLogin}${writeBundle}for name in ${names.join(' ')}; do
  eval "value=\\$$name"
  printf "%s='%s'\\n" "$name" "$value"
done > ${ENV_FILE} || exit 1
`;
}

/** Returns what the runner's configuration gets: its `env_file`, and folders to mount into job containers. */
export function configParts({ proxy, caBundle }: JobGroup) {
  return {
    envFile: proxy === undefined && caBundle === undefined ? undefined : ENV_FILE,
    folders: caBundle === undefined ? [] : [CA_DIR, BUNDLE_DIR],
  };
}
