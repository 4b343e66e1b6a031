/** Configuration of a Kubernetes API, and the one that a pod finds: its service account. */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { Failure, systemCode, systemReason } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/url.ts';
import { isHeaderText } from '../http/request.ts';
import type { ClientCertificate } from '../http/wire.ts';

/** `auto`: look at Kubernetes when this process has a service account; `off`: never. */
export type ClusterMode = 'auto' | 'off';

export interface ClusterConfig {
  /** `https://host:port` of the API server; the token goes nowhere else. */
  readonly url: string;
  /** PEM of the cluster's CA; absent: the CAs that Node knows. */
  readonly ca?: string | undefined;
  /** Reads the token file each time: Kubernetes replaces it each hour. Absent: there is a client certificate. */
  readonly token?: (() => Promise<string>) | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The current context of a kubeconfig; its namespace is `default` if it names none, as for kubectl. */
  readonly context?: { readonly name: string; readonly namespace: string };
  /** Label by which Argo CD may track objects. Default: `TRACKING_LABEL`. */
  readonly trackingLabel?: string | undefined;
}

/** Folder in which Kubernetes mounts the token of a pod's service account, and in which clients look for it. */
export const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Returns the configuration that a pod finds. Undefined: mode `off`, or no token file, as without a service account.
 * @param env KUBERNETES_SERVICE_HOST and _PORT; GITEA_RUNNERS_KUBERNETES_DIR: another folder of `token` and `ca.crt`
 * @throws Failure (exit 1): there is a token file, and something else is missing
 */
export async function clusterConfig(
  mode: ClusterMode,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ClusterConfig | undefined> {
  if (mode === 'off') return undefined;
  const dir = env['GITEA_RUNNERS_KUBERNETES_DIR'] || SERVICE_ACCOUNT_DIR;
  const tokenFile = join(dir, 'token');
  if (readIfThere(tokenFile) === undefined) return undefined;
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] || '443';
  const url = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  if (host === '' || !parseUrl(url)) {
    const message =
      `find the Kubernetes API: ${tokenFile} exists, but KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT ` +
      'name no server. Set them, or use --cluster off';
    throw new Failure('GR-CLUSTER-01', 1, message, 'cluster');
  }
  const ca = readIfThere(join(dir, 'ca.crt'));
  return { url, ca, token: async () => readToken(tokenFile) };
}

function readToken(file: string): string {
  const token = readIfThere(file)?.trim() ?? '';
  if (isHeaderText(token)) return token;
  const message = `read the service account's token: ${file} is missing, empty or no token. Check the projected volume, or use --cluster off`;
  throw new Failure('GR-CLUSTER-02', 1, message, 'cluster');
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    const message = `read the service account: ${file}: ${systemReason(error)}. Make the file readable for this user, or use --cluster off`;
    throw new Failure('GR-CLUSTER-03', 1, message, 'cluster');
  }
}
