/** The built `serve` as a real process, between a small cluster and a small Argo CD. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFailed, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { SECRET } from '../serve/deliveries.ts';
import { type FakeCluster, type FakeClusterOptions, startFakeCluster } from '../serve/fake-cluster.ts';
import { makeCertificates } from './certificate.ts';
import { application, type FakeArgoCd, fakeArgoCd, json, status, TOKEN } from './fake-argocd.ts';
import { folderWith } from './run-cli.ts';
import { serveTls } from './server.ts';

interface World {
  /** Puts what is there from the begin on. */
  readonly fill: (cluster: FakeCluster) => void;
  /** How the peers behave. */
  readonly kubernetes?: FakeClusterOptions['bend'];
  /** Argo CD; true: it gives no answer to this request. */
  readonly argocd?: (line: string) => boolean;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The beginning of its command line. */
  readonly below?: readonly string[];
}

export interface ServeProcess {
  readonly child: ChildProcess;
  readonly cluster: FakeCluster;
  readonly argocd: FakeArgoCd;
  readonly log: () => string;
}

/** It is killed when the test ends. */
export async function startServeProcess(world: World): Promise<ServeProcess> {
  const { args = [], below = [], env = {}, fill, kubernetes = () => false } = world;
  const certificates = makeCertificates();
  const cluster = await startFakeCluster({ bend: kubernetes, listen: (handler) => serveTls(certificates, handler) });
  fill(cluster);
  const argocd = await fakeArgoCd(({ line }, response) =>
    world.argocd?.(line) ? true : json(response, application(status('Synced'))),
  );
  const kubeconfig = kubeconfigOf(cluster.config.url, certificates.ca);
  const folder = folderWith({ token: TOKEN, secret: SECRET, kubeconfig });
  const any = '127.0.0.1:0';
  const [command = '', ...all] = [
    ...[...below, process.execPath, join(process.cwd(), 'lib/gitea-runners.cjs'), 'serve', '--lease', 'argocd/serve'],
    ...['--kubeconfig', join(folder, 'kubeconfig'), '--webhook-secret-file', join(folder, 'secret')],
    ...['--argocd-url', argocd.origin, '--argocd-token-file', join(folder, 'token')],
    ...['--listen', any, '--metrics-listen', any, '--probe-listen', any, ...args],
  ];
  const child = spawn(command, all, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  let log = '';
  child.stderr.on('data', (text: Buffer) => {
    log += text.toString();
  });
  onTestFailed(() => void process.stderr.write(log.slice(-4_000)));
  return { child, cluster, argocd, log: () => log };
}

/** @param ca PEM */
export function kubeconfigOf(server: string, ca: string): string {
  return stringify({
    'current-context': 'it',
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    clusters: [{ name: 'it', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'it', user: { token: 'cluster-token' } }],
  });
}
