/** The built `serve` as a real process, between a small cluster and a small Argo CD. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFailed, onTestFinished } from 'vitest';
import { SECRET } from '../serve/deliveries.ts';
import { type ApiServer, kubeconfigOf, type Override, startApiServer } from './api-server.ts';
import { makeCertificates } from './certificate.ts';
import { application, type FakeArgoCd, fakeArgoCd, json, status, TOKEN } from './fake-argocd.ts';
import { folderWith } from './run-cli.ts';

interface World {
  /** Adds the objects that exist from the begin on. */
  readonly fill: (cluster: ApiServer) => void;
  /** Kubernetes; true: it has answered, or gives no answer to this request. */
  readonly kubernetes?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Argo CD, the same. */
  readonly argocd?: (line: string) => boolean;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The beginning of its command line. */
  readonly below?: readonly string[];
}

export interface ServeProcess {
  readonly child: ChildProcess;
  readonly cluster: ApiServer;
  readonly argocd: FakeArgoCd;
  readonly log: () => string;
}

/** Starts `serve` in a process. It is killed when the test ends. */
export async function startServeProcess(world: World): Promise<ServeProcess> {
  const { args = [], below = [], env = {}, fill, kubernetes } = world;
  const certificates = makeCertificates();
  const override: Override = (_, response, request) => kubernetes?.(request, response) ?? false;
  const cluster = await startApiServer({ groups: {}, override, tls: certificates });
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
