/** `serve`, as a real process, behind a proxy that wants a login, with a Gitea whose certificate is of a private CA. */

import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeCertificates } from '../support/certificate.ts';
import { proxyServer } from '../support/proxy-server.ts';
import { folderWith } from '../support/run-cli.ts';
import { startServeProcess } from '../support/serve-process.ts';
import { startAcme } from '../support/start-acme.ts';
import { TlsFront } from '../support/tls-front.ts';
import { managedGroup } from './managed-group.ts';
import { until } from './rig.ts';

it('serve asks Gitea through the proxy of its environment, and Kubernetes and hosts of NO_PROXY without it', async () => {
  const certificates = makeCertificates();
  const { simulator, env } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const front = await TlsFront.start(simulator.url, certificates);
  onTestFinished(() => front.close());
  const url = `https://localhost:${front.port}`;
  const [proxy, ofGroup] = [await proxyServer(), await proxyServer()];
  const login = `http://me:p%40ss@127.0.0.1:${proxy.port}`;

  const { argocd, log } = await startServeProcess({
    args: ['--ca-file', join(folderWith({ 'ca.crt': certificates.ca }), 'ca.crt')],
    // Argo CD is at 127.0.0.1.
    env: { ...env, GITEA_URL: url, HTTPS_PROXY: login, HTTP_PROXY: login, NO_PROXY: '127.0.0.1' },
    fill: (cluster) => {
      const proxied = { http: ofGroup.origin, https: ofGroup.origin };
      const caBundle = { configMapRef: { name: 'private-ca', key: 'ca.crt' } };
      cluster.put('runnergroups', managedGroup(url, { proxy: proxied, caBundle }));
    },
  });
  await until('serve asks Gitea', () => proxy.lines.length > 0);
  await until('serve asks Argo CD', () => argocd.lines().length > 0);

  expect(new Set(proxy.lines)).toEqual(new Set([`CONNECT localhost:${front.port}`]));
  expect(new Set(proxy.logins)).toEqual(new Set([`Basic ${Buffer.from('me:p@ss').toString('base64')}`]));
  expect(ofGroup.lines).toEqual([]);
  expect(log()).not.toMatch(/p%40ss|p@ss/);
});
