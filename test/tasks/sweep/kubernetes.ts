/** A Kubernetes API with TLS that lists Jobs and no pods, and a kubeconfig for it: what `sweep` is given from outside the cluster. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { makeCertificates } from '../../support/certificate.ts';

export interface Kubernetes {
  readonly kubeconfig: string;
  /** Names and states of the Jobs in namespace `runners`. */
  readonly jobs: Map<string, 'active' | 'Complete'>;
  readonly close: () => Promise<void>;
}

const TOKEN = 'service-account-token-of-this-test';

/** @param folder where the kubeconfig is put. */
export async function startKubernetes(folder: string): Promise<Kubernetes> {
  const { ca, cert, key } = makeCertificates();
  const jobs: Kubernetes['jobs'] = new Map();
  const server = createServer({ cert, key, keepAliveTimeout: 5 }, (request, response) => {
    const kind = /\/namespaces\/runners\/(jobs|pods)\?/.exec(request.url ?? '')?.[1];
    const known = request.headers.authorization === `Bearer ${TOKEN}`;
    const items = kind === 'jobs' ? [...jobs].map(([name, state]) => toJob(name, state)) : [];
    response.writeHead(known && kind ? 200 : 403, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ kind: kind === 'jobs' ? 'JobList' : 'PodList', metadata: { resourceVersion: '1' }, items }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const kubeconfig = join(folder, 'kubeconfig');
  const cluster = {
    server: `https://localhost:${address.port}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  writeFileSync(
    kubeconfig,
    stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [{ name: 'test', cluster }],
      users: [{ name: 'test', user: { token: TOKEN } }],
    }),
  );
  return {
    kubeconfig,
    jobs,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function toJob(name: string, state: 'active' | 'Complete'): object {
  const at = '2026-09-01T00:00:00Z';
  return {
    metadata: { name, namespace: 'runners', uid: `uid of ${name}`, creationTimestamp: at },
    status: state === 'active' ? {} : { conditions: [{ type: state, status: 'True', lastTransitionTime: at }] },
  };
}
