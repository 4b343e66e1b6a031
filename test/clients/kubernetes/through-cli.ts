/** Certificates, a kubeconfig and a Job, for tests of the real program with a Kubernetes API. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiServer, type Cluster, kubeconfigOf, startApiServer } from '../../support/api-server.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { folderWith } from '../../support/run-cli.ts';

/** Made once: openssl takes its time. */
export const CERTIFICATES = makeCertificates();

/** Starts an API server with TLS. It ends with the test. */
export async function startCluster(cluster: Cluster = {}): Promise<ApiServer> {
  return await startApiServer({ tls: CERTIFICATES, ...cluster });
}

/** Writes a kubeconfig for the server; answers its path. @param user default: the token that the server accepts. */
export function kubeconfigFor(
  { config: { url } }: Pick<ApiServer, 'config'>,
  user?: object,
  folder = folderWith({}),
): string {
  const file = join(folder, 'config');
  writeFileSync(file, kubeconfigOf(url, CERTIFICATES.ca, user));
  return file;
}

/** A Job of this program in namespace `runners`, as the API server lists it. */
export function liveJob(name: string, createdAtMs: number, status: object = {}): object {
  const creationTimestamp = new Date(createdAtMs).toISOString();
  return { metadata: { name, namespace: 'runners', uid: `uid-${name}`, creationTimestamp }, status };
}

/** Name of the first runner that is asked for, '' for none. Records of failures, which Argo CD skips, are passed over. */
export function newRunnerIn(manifests: string): string {
  const wanted = manifests
    .split(/^---$/m)
    .find((text) => text.includes('kind: "Job"') && !text.includes('hook: "Skip"'));
  return /^ {2}name: "(\S+)"$/m.exec(wanted ?? '')?.[1] ?? '';
}
