/** The CRD on a test's API server. */
import { resolve } from 'node:path';
import { waitUntil } from '../../servers/process.ts';
import type { Kubernetes } from './kubernetes.ts';

/** Applies it, and waits until the API server takes RunnerGroups. `kubectl wait` fails while the CRD has no conditions at all. */
export async function installCrd({ kubectl, field }: Kubernetes): Promise<void> {
  await kubectl(['apply', '--server-side', '-f', resolve('install/crd.yaml')]);
  const conditions = () => field('{.status.conditions[*].type}', 'crd/runnergroups.gitea.bpg.pw');
  const isEstablished = async (): Promise<boolean> => (await conditions()).includes('Established');
  await waitUntil('the CRD is established', isEstablished, { timeoutMs: 60_000 });
}
