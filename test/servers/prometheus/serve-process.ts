/** A real `serve` process between a simulated Gitea, a small cluster and a small Argo CD. */
import { join } from 'node:path';
import { type FakeCluster, startFakeCluster } from '../../serve/fake-cluster.ts';
import { managedGroup } from '../../serve/managed-group.ts';
import { makeCertificates } from '../../support/certificate.ts';
import { application, fakeArgoCd, json, status, TOKEN } from '../../support/fake-argocd.ts';
import { folderWith } from '../../support/run-cli.ts';
import { kubeconfigOf } from '../../support/serve-process.ts';
import { serveTls } from '../../support/server.ts';
import { startAcme } from '../../support/start-acme.ts';
import { freePort, type Playground, type Running, waitUntil } from '../process.ts';

export interface ServeProcess {
  readonly running: Running;
  readonly cluster: FakeCluster;
  /** `127.0.0.1:port` of the metrics. */
  readonly metrics: string;
}

/** Starts it with one RunnerGroup and one queued CI job that no group covers. It ends with the playground. */
export async function startServe(playground: Playground): Promise<ServeProcess> {
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['typo'] }] });
  const certificates = makeCertificates();
  const cluster = await startFakeCluster({ listen: (handler) => serveTls(certificates, handler) });
  cluster.put('runnergroups', managedGroup(simulator.url));
  const argocd = await fakeArgoCd((_, response) => json(response, application(status('Synced'))));
  const kubeconfig = kubeconfigOf(cluster.config.url, certificates.ca);
  const folder = folderWith({ token: TOKEN, kubeconfig });
  const metrics = `127.0.0.1:${await freePort()}`;
  const running = playground.start({
    command: process.execPath,
    args: [
      join(process.cwd(), 'lib/gitea-runners.cjs'),
      'serve',
      ...['--kubeconfig', join(folder, 'kubeconfig'), '--lease', 'argocd/serve'],
      ...['--argocd-url', argocd.origin, '--argocd-token-file', join(folder, 'token')],
      ...['--listen', '127.0.0.1:0', '--metrics-listen', metrics, '--probe-listen', '127.0.0.1:0'],
    ],
    cwd: playground.folder,
    env,
    logFile: join(playground.folder, 'serve.log'),
    asMyself: true,
  });
  const isReady = () =>
    fetch(`http://${metrics}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntil('serve is ready', isReady, { timeoutMs: 60_000, running });
  return { running, cluster, metrics };
}
