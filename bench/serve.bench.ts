/**
 * Measures idle `serve`: 100 groups of five organisations, 1000 live Jobs, on a real API server. `npm run bench:serve`;
 * `SCOPES=100` for an organisation per group. Peak of `VmHWM` and CPU time from /proc, so Linux only. Prints; asserts
 * nothing.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, it } from 'vitest';
import { startSimulator } from '../simulator/gitea/simulator.ts';
import { startKubernetes } from '../test/cluster/stack/kubernetes.ts';
import { Machine } from '../test/cluster/stack/machine.ts';
import { freePort, Playground, waitUntil } from '../test/servers/process.ts';
import { SERVE_FLAGS } from './measure.ts';

const GROUPS = Number(process.env['GROUPS'] ?? 100);
const SCOPES = Number(process.env['SCOPES'] ?? 5);
const JOBS = Number(process.env['JOBS'] ?? 1000);
const QUIET_SECONDS = Number(process.env['SECONDS'] ?? 60);

it('serve while nothing happens', async () => {
  const playground = new Playground('bench-serve');
  const simulator = await startSimulator();
  const argocd = await startArgoCd();
  try {
    const machine = await Machine.start(playground);
    const kubernetes = await startKubernetes(machine, inject('clusterBuilds'));
    await kubernetes.kubectl(['apply', '-f', resolve('install/crd.yaml')]);
    await kubernetes.kubectl(['wait', '--for=condition=Established', 'crd/runnergroups.gitea.bpg.pw']);
    simulator.gitea.addUser('anna', { admin: true });
    simulator.gitea.addToken('anna', ['all'], 'secret');
    const groups = Array.from({ length: GROUPS }, (_, at) => `group-${at}`);
    for (let at = 0; at < SCOPES; at += 1) simulator.gitea.addOrg(`org-${at}`, { owners: ['anna'] });
    await create(
      kubernetes.kubectl,
      groups.map((name, at) => group(name, `org-${at % SCOPES}`, simulator.url)),
    );
    for (let first = 0; first < JOBS; first += 250) {
      const some = Array.from({ length: Math.min(250, JOBS - first) }, (_, at) => job(first + at));
      await create(kubernetes.kubectl, some);
    }
    // The Job controller writes into each of them, some 20 a second: only then it is quiet.
    await kubernetes.kubectl(['wait', '--for=condition=Suspended', 'jobs', '--all', '--timeout=600s']);
    const secrets = join(playground.folder, 'secrets', 'api');
    mkdirSync(secrets, { recursive: true });
    writeFileSync(join(secrets, 'token'), 'secret');
    writeFileSync(join(secrets, 'url'), simulator.url);
    const metrics = await freePort();
    const flags = ['--argocd-url', argocd.url, '--argocd-token-file', join(secrets, 'token'), '--lease', 'off'];
    const where = ['--kubeconfig', kubernetes.kubeconfig, '--secrets-dir', join(playground.folder, 'secrets')];
    const any = '127.0.0.1:0';
    const listen = ['--listen', any, '--probe-listen', any, '--metrics-listen', `127.0.0.1:${metrics}`];
    const serve = playground.start({
      command: process.execPath,
      args: [
        ...(process.env['NODE_FLAGS']?.split(' ').filter(Boolean) ?? SERVE_FLAGS),
        resolve('lib/gitea-runners.cjs'),
        'serve',
        ...flags,
        ...where,
        ...listen,
      ],
      cwd: playground.folder,
      env: {},
      logFile: join(playground.folder, 'serve.log'),
      asMyself: true,
    });
    const ready = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${metrics}/readyz`).catch(() => undefined))?.ok ?? false;
    await waitUntil('be ready', ready, { timeoutMs: 60_000, running: serve });
    await sleep(5_000);
    const before = usage(serve.pid);
    const requests = simulator.requests.length;
    await sleep(QUIET_SECONDS * 1000);
    const after = usage(serve.pid);
    const looks = (simulator.requests.length - requests) / SCOPES / QUIET_SECONDS;
    const line = `serve, ${GROUPS} groups of ${SCOPES} scopes, ${JOBS} Jobs: peak ${after.peakMb} MB, now ${after.nowMb} MB, CPU ${(((after.cpuMs - before.cpuMs) / QUIET_SECONDS / 1000) * 100).toFixed(2)} % of a core, ${looks.toFixed(2)} looks per scope and second`;
    process.stdout.write(`${line}\n`);
    serve.signal('SIGTERM');
    await serve.exited;
  } finally {
    await simulator.close();
    argocd.close();
    await playground.close();
  }
});

/** An Argo CD to which every Application is Synced. */
async function startArgoCd(): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    const name = (request.url ?? '').split('?')[0]?.split('/').at(-1) ?? '';
    const resources = [{ group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'default', name }];
    const body = {
      metadata: { name, namespace: 'argocd' },
      spec: { project: 'default' },
      status: { sync: { status: 'Synced' }, resources },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.closeAllConnections() };
}

type Kubectl = (args: readonly string[], stdin?: string) => Promise<string>;

async function create(kubectl: Kubectl, items: readonly object[]): Promise<void> {
  await kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
}

function group(name: string, org: string, url: string): object {
  const tracking = `${name}:gitea.bpg.pw/RunnerGroup:default/${name}`;
  return {
    apiVersion: 'gitea.bpg.pw/v1alpha1',
    kind: 'RunnerGroup',
    metadata: { name, namespace: 'default', annotations: { 'argocd.argoproj.io/tracking-id': tracking } },
    spec: {
      scope: 'org',
      org,
      gitea: { url },
      maxActiveRunners: 20,
      registrationToken: { secretRef: { name: 'r', key: 'k' } },
      authToken: { secretRef: { name: 'api', key: 'token' } },
    },
  };
}

/** Suspended: its pods would need a node. Of no group, so that nothing differs from the plan. */
function job(at: number): object {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `other-${at}-1-00000000`,
      namespace: 'default',
      labels: { 'gitea.bpg.pw/managed-by': 'argocd-gitea-runners', 'gitea.bpg.pw/runnergroup-name': 'other' },
    },
    spec: {
      suspend: true,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'runner', image: 'none', env: [{ name: 'A', value: 'b' }] }],
        },
      },
    },
  };
}

function usage(pid: number): { readonly peakMb: number; readonly nowMb: number; readonly cpuMs: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (field: string): number =>
    Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return { peakMb: mb('VmHWM'), nowMb: mb('VmRSS'), cpuMs: (user + system) * 10 };
}
