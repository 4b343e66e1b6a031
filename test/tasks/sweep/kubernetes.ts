/** A Kubernetes API with TLS that lists Jobs and no pods, and a kubeconfig for it: what `sweep` is given from outside the cluster. */

import { CERTIFICATES, kubeconfigFor, liveJob } from '../../clients/kubernetes/through-cli.ts';
import { startApiServer } from '../../support/api-server.ts';

const AT = '2026-09-01T00:00:00Z';

export type Kubernetes = Awaited<ReturnType<typeof startKubernetes>>;

/** @param folder where the kubeconfig is put. */
export async function startKubernetes(folder: string) {
  /** Names and states of the Jobs in namespace `runners`. */
  const jobs = new Map<string, 'active' | 'Complete'>();
  const jobOf = ([name, state]: readonly [string, string]): object => {
    const conditions = state === 'active' ? [] : [{ type: state, status: 'True', lastTransitionTime: AT }];
    return liveJob(name, Date.parse(AT), { conditions });
  };
  const listed = {
    get runners() {
      return [...jobs].map(jobOf);
    },
  };
  const server = await startApiServer({ tls: CERTIFICATES, jobs: listed, atEnd: () => undefined });
  return { kubeconfig: kubeconfigFor(server, undefined, folder), jobs, close: server.close };
}
