/** `serve`, as a real process, behind a proxy that wants a login, with a Gitea whose certificate is of a private CA. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { makeCertificates } from '../support/certificate.ts';
import { application, fakeArgoCd, json, status, TOKEN } from '../support/fake-argocd.ts';
import { proxyServer } from '../support/proxy-server.ts';
import { folderWith } from '../support/run-cli.ts';
import { serveTls } from '../support/server.ts';
import { startAcme } from '../support/start-acme.ts';
import { TlsFront } from '../support/tls-front.ts';
import { startFakeCluster } from './fake-cluster.ts';
import { managedGroup } from './managed-group.ts';
import { until } from './rig.ts';

it('asks Gitea through the proxy of its environment, and Kubernetes and hosts of NO_PROXY without it', async () => {
  const certificates = makeCertificates();
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const front = await TlsFront.start(simulator.url, certificates);
  onTestFinished(() => front.close());
  const url = `https://localhost:${front.port}`;
  const [proxy, ofGroup] = [await proxyServer(), await proxyServer()];
  const cluster = await startFakeCluster({ listen: (handler) => serveTls(certificates, handler) });
  cluster.put(
    'runnergroups',
    managedGroup(url, {
      proxy: { http: ofGroup.origin, https: ofGroup.origin },
      caBundle: { configMapRef: { name: 'private-ca', key: 'ca.crt' } },
    }),
  );
  const argocd = await fakeArgoCd((_, response) => json(response, application(status('Synced'))));
  const data = Buffer.from(certificates.ca).toString('base64');
  const kubeconfig = stringify({
    'current-context': 'it',
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    clusters: [{ name: 'it', cluster: { server: cluster.config.url, 'certificate-authority-data': data } }],
    users: [{ name: 'it', user: { token: 'cluster-token' } }],
  });
  const folder = folderWith({ token: TOKEN, kubeconfig, 'ca.crt': certificates.ca });
  const any = '127.0.0.1:0';
  const login = `http://me:p%40ss@127.0.0.1:${proxy.port}`;

  const child = spawn(
    process.execPath,
    [
      join(process.cwd(), 'lib/gitea-runners.cjs'),
      ...['serve', '--kubeconfig', join(folder, 'kubeconfig'), '--ca-file', join(folder, 'ca.crt')],
      ...['--listen', any, '--metrics-listen', any, '--probe-listen', any],
      ...['--argocd-url', argocd.origin, '--argocd-token-file', join(folder, 'token'), '--lease', 'argocd/serve'],
    ],
    {
      env: {
        PATH: process.env['PATH'],
        ...env,
        GITEA_URL: url,
        HTTPS_PROXY: login,
        HTTP_PROXY: login,
        NO_PROXY: new URL(argocd.origin).hostname,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let log = '';
  child.stderr.on('data', (text: Buffer) => {
    log += text.toString();
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until('serve asks Gitea', () => proxy.lines.length > 0);
  await until('serve asks Argo CD', () => argocd.lines().length > 0);

  expect(new Set(proxy.lines)).toEqual(new Set([`CONNECT localhost:${front.port}`]));
  expect(new Set(proxy.logins)).toEqual(new Set([`Basic ${Buffer.from('me:p@ss').toString('base64')}`]));
  expect(ofGroup.lines).toEqual([]);
  expect(log).not.toMatch(/p%40ss|p@ss/);
});
