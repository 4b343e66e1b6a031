/** Argo CD from its stock manifests (`manifests/install.yaml`), in pods of the machine's cluster. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { argoCdImage, imagesIn, redisImage } from './images.ts';
import { type Kubernetes, succeeds } from './kubernetes.ts';
import type { Machine } from './machine.ts';

export interface ArgoCd {
  /** Runs Argo CD's own command line as the administrator. */
  readonly cli: (...args: readonly string[]) => Promise<string>;
}

/** Programs that the tests do not need: logins by other providers, and notifications. */
const LEFT_OUT = /^argocd-(?:dex-server|notifications-controller)$/;

/** Installs it and waits until it is there. */
export async function startArgoCd(machine: Machine, kubernetes: Kubernetes, build: string): Promise<ArgoCd> {
  const { kubectl, importImage } = kubernetes;
  const stock = join(build, 'manifests', 'install.yaml');
  for (const name of imagesIn(stock)) {
    const tar = join(machine.folder, 'images', `${name.replaceAll(/[/:]/g, '-')}.tar`);
    if (/\/argocd:/.test(name)) await argoCdImage(tar, build, name);
    else if (/\/redis:/.test(name)) await redisImage(tar, name);
    else continue;
    await importImage(tar);
  }
  await kubectl(['create', 'namespace', 'argocd']);
  // Server-side, as Argo CD's manual says: the CRDs are too long for the annotation of the other way.
  const file = machine.write('argocd-install.yaml', install(readFileSync(stock, 'utf8')));
  await kubectl(['apply', '--namespace', 'argocd', '--server-side', '--filename', file]);
  await kubernetes.refreshDns();
  for (const name of ['redis', 'repo-server', 'server'])
    await kubernetes.rolledOut('argocd', `deployment/argocd-${name}`);
  await kubernetes.rolledOut('argocd', 'statefulset/argocd-application-controller');
  return { cli: await login(machine, kubernetes, build) };
}

/** Stock, but for what this machine lacks: a registry. */
function install(stock: string): string {
  return parseAllDocuments(stock)
    .filter((document) => {
      const { kind, metadata } = document.toJS() as { kind: string; metadata: { name: string } };
      return kind !== 'Deployment' || !LEFT_OUT.test(metadata.name);
    })
    .map(String)
    .join('---\n')
    .replaceAll('imagePullPolicy: Always', 'imagePullPolicy: IfNotPresent');
}

async function login(machine: Machine, { kubectl, field }: Kubernetes, build: string): Promise<ArgoCd['cli']> {
  const secret = ['secret', '-n', 'argocd', 'argocd-initial-admin-secret'];
  await machine.until('argocd-server', () => succeeds(kubectl(['get', ...secret])));
  const password = await field('{.data.password}', ...secret);
  const ip = await field('{.spec.clusterIP}', 'service', '-n', 'argocd', 'argocd-server');
  const program = join(build, 'argocd');
  const settings = ['--config', join(machine.folder, 'argocd-cli')];
  const plain = Buffer.from(password, 'base64').toString();
  const logIn = ['login', ip, '--username', 'admin', '--password', plain, '--insecure', '--grpc-web'];
  let refusal = '';
  const isLoggedIn = (): Promise<boolean> =>
    machine.run('timeout', ['10', program, ...settings, ...logIn]).then(
      () => true,
      (error: unknown) => {
        refusal = String(error);
        return false;
      },
    );
  // The pod is ready a moment before kube-proxy leads its Service there. A connection of that moment is lost for two
  // minutes; the next try makes a new one.
  await machine.until('argocd-server', isLoggedIn, 120_000).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${refusal}`, { cause: error });
  });
  return (...args) => machine.run(program, [...settings, ...args]);
}
