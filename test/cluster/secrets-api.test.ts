/** `--secrets api` on a real API server, with the Role of install/secrets-api.yaml and the account of Argo CD's repo-server. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { installText } from '../packaging/manifests.ts';
import { folderWith, groupYaml, type Outcome, runCli } from '../support/run-cli.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { type Cluster, startCluster } from './stack/cluster.ts';
import type { Kubernetes } from './stack/kubernetes.ts';

let cluster: Cluster;
let kubectl: Kubernetes['kubectl'];
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  cluster = await startCluster('secrets-api', inject('clusterBuilds'));
  const { kubernetes, playground } = cluster;
  kubectl = kubernetes.kubectl;
  await kubectl(['create', 'namespace', 'argocd']);
  await kubectl(['create', 'serviceaccount', 'argocd-repo-server', '-n', 'argocd']);
  await kubernetes.apply(...['gitea-runners.yaml', 'runners.yaml', 'secrets-api.yaml'].map(installText));
  const account = join(playground.folder, 'account');
  mkdirSync(account);
  writeFileSync(join(account, 'token'), await kubectl(['create', 'token', 'argocd-repo-server', '-n', 'argocd']));
  copyFileSync(kubernetes.caFile, join(account, 'ca.crt'));
  const { hostname, port } = new URL(kubernetes.url);
  env = {
    GITEA_RUNNERS_KUBERNETES_DIR: account,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    GITEA_RUNNERS_SECRETS: 'api',
  };
});

closeAfterTests(() => cluster);

async function putSecret(name: string, keys: Readonly<Record<string, string>>): Promise<void> {
  const metadata = { name, namespace: 'runners' };
  await cluster.kubernetes.apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: keys });
}

/** `generate` for a group that names this Secret. */
async function generateWith(secret: string, gitea: string): Promise<Outcome> {
  const group = groupYaml(gitea).replace('name: gitea-api', `name: ${secret}`);
  return await runCli(['generate', folderWith({ 'ci.yaml': group })], env);
}

it.each([
  ['get', 'gitea-api', 'runners', true],
  ['get', 'gitea-runner', 'runners', false],
  ['get', 'gitea-api', 'argocd', false],
  ['list', '', 'runners', false],
  ['watch', 'gitea-api', 'runners', false],
  ['update', 'gitea-api', 'runners', false],
] as const)(
  'the Role for --secrets api lets the sidecar %s Secret "%s" of %s: %s',
  async (verb, name, namespace, allowed) => {
    const attributes = { namespace, verb, resource: 'secrets', name };

    expect(await cluster.kubernetes.may('argocd-repo-server', attributes)).toBe(allowed);
  },
);

it('the Role for --secrets api is enough: a new group needs no more than its Secret, and a rotated token is used at the next run', async () => {
  const { simulator } = await startAcme();
  const next = 'next-token-of-this-test-0123456789';
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  await putSecret('gitea-api', { token: TOKEN, url: simulator.url });

  const before = await generateWith('gitea-api', simulator.url);
  simulator.gitea.removeToken(TOKEN);
  const refused = await generateWith('gitea-api', simulator.url);
  simulator.gitea.addToken('anna', ['read:organization'], next);
  await putSecret('gitea-api', { token: next });
  const after = await generateWith('gitea-api', simulator.url);

  expect([before.code, refused.code, after.code], before.stderr + after.stderr).toEqual([0, 1, 0]);
  expect(before.stdout).toContain('kind: "Job"');
  expect(refused.stderr).toContain('put a valid one into key token of Secret gitea-api of namespace runners');
  expect(after.stdout).toBe(before.stdout);
  for (const { stdout, stderr } of [before, refused, after]) {
    for (const token of [TOKEN, next]) expect(stdout + stderr).not.toContain(token);
  }
});

it('the Role does not allow another Secret, and the commands of the message add it', async () => {
  const { simulator } = await startAcme();
  await putSecret('team-api', { token: TOKEN, url: simulator.url });

  const refused = await generateWith('team-api', simulator.url);
  const commands = /Grant it: (kubectl .*)\.\n/.exec(refused.stderr)?.[1]?.split(' && ') ?? [];
  for (const command of commands) await kubectl(command.split(' ').slice(1));
  const after = await generateWith('team-api', simulator.url);

  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('GR-TOKEN-09') });
  expect(commands).toHaveLength(2);
  expect(after.code, after.stderr).toBe(0);
});

it('the Role for --secrets api says that a Secret does not exist once it may be read', async () => {
  await kubectl(['delete', 'secret', 'gitea-api', '-n', 'runners', '--ignore-not-found']);

  const { code, stdout, stderr } = await generateWith('gitea-api', 'http://127.0.0.1:1');

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('GR-TOKEN-10');
});
