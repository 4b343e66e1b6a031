/** The CRD on a test's API server. */
import { resolve } from 'node:path';
import { waitUntil } from '../../servers/process.ts';

/** Applies it, and waits until the API server takes RunnerGroups. `kubectl wait` fails while the CRD has no conditions at all. */
export async function installCrd(kubectl: (args: readonly string[]) => Promise<string>): Promise<void> {
  await kubectl(['apply', '--server-side', '-f', resolve('install/crd.yaml')]);
  const conditions = ['get', 'crd/runnergroups.gitea.bpg.pw', '-o', 'jsonpath={.status.conditions[*].type}'];
  const isEstablished = async (): Promise<boolean> => (await kubectl(conditions)).includes('Established');
  await waitUntil('the CRD is established', isEstablished, { timeoutMs: 60_000 });
}
