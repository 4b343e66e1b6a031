/** `--secrets api`: the real program between a simulated Gitea and an API server that holds Secrets. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type ApiServer, send, status } from '../../support/api-server.ts';
import { secretObject } from '../../support/kube-objects.ts';
import { folderWith, groupYaml, type Outcome, runHere } from '../../support/run-cli.ts';
import { startAcme, TOKEN } from '../../support/start-acme.ts';
import { kubeconfigFor, startCluster } from './through-cli.ts';

const ACCOUNT = 'system:serviceaccount:argocd:argocd-repo-server';
const AUTH = '/api/v1/namespaces/runners/secrets/gitea-api';
const REGISTRATION = '/api/v1/namespaces/runners/secrets/gitea-runner';

type Keys = Readonly<Record<string, string>>;
type Answer = (response: ServerResponse) => void;

interface Scene {
  readonly gitea: string;
  readonly api: ApiServer;
  /** Paths of Secrets that were asked for, in order. */
  readonly asked: () => readonly string[];
  readonly run: (flags?: readonly string[], env?: Keys) => Promise<Outcome>;
}

const secret =
  (keys: Keys): Answer =>
  (response) =>
    send(response, 200, secretObject(keys));

const refusing =
  (code: number): Answer =>
  (response) =>
    status(response, code, 'Refused');

const forbidden: Answer = (response) =>
  send(response, 403, {
    kind: 'Status',
    message: `secrets "x" is forbidden: User "${ACCOUNT}" cannot get resource "secrets" in API group "" secret words`,
    code: 403,
  });

/** @param secrets by path; others are forbidden, as a Role with `resourceNames` has it. */
async function sceneWith(
  secrets: (gitea: string) => Readonly<Record<string, Answer>>,
  groups: (gitea: string) => Keys = (gitea) => ({ 'ci.yaml': groupYaml(gitea) }),
): Promise<Scene> {
  const { simulator } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const answers = secrets(simulator.url);
  const api = await startCluster({
    override: ({ pathname }, response) => {
      if (!pathname.includes('/secrets')) return false;
      (answers[pathname] ?? forbidden)(response);
      return true;
    },
  });
  const kubeconfig = kubeconfigFor(api);
  const folder = folderWith(groups(simulator.url));
  return {
    gitea: simulator.url,
    api,
    asked: () => api.seen.map(({ pathname }) => pathname).filter((path) => path.includes('/secrets')),
    run: async (flags = [], env = {}) =>
      await runHere(['generate', folder, '--secrets', 'api', '--kubeconfig', kubeconfig, ...flags], env),
  };
}

/** Expects empty stdout, and a message without any value of Secrets and any text of servers. */
function expectRefused({ code, stdout, stderr }: Outcome, exit: number, text: string): void {
  expect({ code, stdout }, stderr).toEqual({ code: exit, stdout: '' });
  expect(stderr).toContain(text);
  for (const hidden of [TOKEN, 'secret words', 'registration-secret']) expect(stderr).not.toContain(hidden);
}

it('--secrets api reads the token of a group in its namespace, and mounts are not looked at', async () => {
  const scene = await sceneWith((url) => ({ [AUTH]: secret({ token: `${TOKEN}\n`, url }) }));

  const { code, stdout, stderr } = await scene.run(['--secrets-dir', '/nowhere']);

  expect(code, stderr).toBe(0);
  expect(stdout).toContain('kind: "Job"');
  expect(stdout).not.toContain(TOKEN);
  expect([...scene.asked()].sort()).toEqual([AUTH, REGISTRATION]);
});

it('--secrets api asks for each Secret once, however many groups name it, and never lists', async () => {
  const scene = await sceneWith(
    (url) => ({ [AUTH]: secret({ token: TOKEN, url }), [REGISTRATION]: secret({ url }) }),
    (url) => ({ 'a.yaml': groupYaml(url, '', 'a'), 'b.yaml': groupYaml(url, '', 'b') }),
  );

  const { code, stderr } = await scene.run();

  expect(code, stderr).toBe(0);
  expect([...scene.asked()].sort()).toEqual([AUTH, REGISTRATION]);
});

it('--secrets api reads Secrets with --cluster off, which is about live Jobs', async () => {
  const scene = await sceneWith((url) => ({ [AUTH]: secret({ token: TOKEN, url }) }));

  const { code, stderr } = await scene.run(['--cluster', 'off']);

  expect(code, stderr).toBe(0);
  expect(scene.api.seen.map(({ pathname }) => pathname).filter((path) => !path.includes('/secrets'))).toEqual([]);
});

it.each([
  ['its key url names another Gitea', { token: TOKEN, url: 'https://gitea.example.org' }, 3, 'GR-TOKEN-05'],
  ['it has no key with the token', { other: TOKEN, url: 'x' }, 1, 'GR-TOKEN-08'],
  ['the token is empty', { token: '' }, 3, 'GR-TOKEN-03'],
] as const)('--secrets api refuses a Secret when %s', async (_, keys, exit, error) => {
  const scene = await sceneWith(() => ({ [AUTH]: secret(keys) }));

  expectRefused(await scene.run(), exit, error);
});

it('--secrets api refuses a group whose registration Secret is of another Gitea, when it may read that', async () => {
  const foreign = { token: 'registration-secret', url: 'https://gitea.example.org' };
  const scene = await sceneWith((url) => ({
    [AUTH]: secret({ token: TOKEN, url }),
    [REGISTRATION]: secret(foreign),
  }));

  expectRefused(await scene.run(), 3, 'GR-TOKEN-07');
});

it('--secrets api goes on without a registration Secret: its pod checks that', async () => {
  const scene = await sceneWith((url) => ({ [AUTH]: secret({ token: TOKEN, url }), [REGISTRATION]: refusing(404) }));

  const { code, stderr } = await scene.run();

  expect(code, stderr).toBe(0);
});

it.each([
  [
    403,
    forbidden,
    'kubectl create role gitea-runners-gitea-api --namespace runners --verb=get --resource=secrets --resource-name=gitea-api && ' +
      'kubectl create rolebinding gitea-runners-gitea-api --namespace runners --role=gitea-runners-gitea-api --serviceaccount=argocd:argocd-repo-server',
  ],
  [404, refusing(404), 'kubectl create secret generic gitea-api --namespace runners'],
  [401, refusing(401), 'GR-CLUSTER-05'],
  [418, refusing(418), 'GR-CLUSTER-07'],
] as const)('--secrets api says for %i which Secret and what to do', async (_, answer, remedy) => {
  const scene = await sceneWith(() => ({ [AUTH]: answer }));

  const outcome = await scene.run();

  expectRefused(outcome, 1, remedy);
  expect(outcome.stderr).toContain('read Secret gitea-api of namespace runners');
});

it.each([
  ['a name with more in it', 'argocd:x; rm -rf /', 'NAMESPACE:SERVICEACCOUNT'],
  ['no name', '', 'NAMESPACE:SERVICEACCOUNT'],
])('--secrets api does not put %s of the server into the command', async (_, who, expected) => {
  const message = `User "system:serviceaccount:${who}" cannot`;
  const scene = await sceneWith(() => ({ [AUTH]: (response) => send(response, 403, { message }) }));

  const outcome = await scene.run();

  expectRefused(outcome, 1, `--serviceaccount=${expected}`);
  expect(outcome.stderr).not.toContain('rm -rf');
});

it.each<[string, Answer, string]>([
  ['is no Secret', (response) => send(response, 200, { data: { [TOKEN]: 1 } }), 'GR-CLUSTER-08'],
  ['is not Base64', (response) => send(response, 200, { data: { token: `*${TOKEN}` } }), 'GR-CLUSTER-08'],
  ['is longer than 2 MiB', (response) => send(response, 200, { data: { token: 'A'.repeat(2 << 20) } }), 'GR-HTTP-12'],
])('--secrets api fails when the answer %s', async (_, answer, code) => {
  const scene = await sceneWith(() => ({ [AUTH]: answer }));

  expectRefused(await scene.run(), 1, code);
});

it('--secrets api waits for Secrets no longer than --timeout', async () => {
  const silent: Answer = () => undefined;
  const scene = await sceneWith(() => ({ [AUTH]: silent }));
  const running = scene.run(['--timeout', '1']);

  const first = await Promise.race([running, sleep(30_000)]);

  if (first === undefined) throw new Error('it still waits');
  expectRefused(first, 1, 'GR-HTTP-09');
});

it('--secrets api is refused where there is no cluster to ask', async () => {
  const folder = folderWith({ 'ci.yaml': groupYaml('http://127.0.0.1:1') });
  const env = { GITEA_RUNNERS_KUBERNETES_DIR: folder };

  expectRefused(await runHere(['generate', folder, '--secrets', 'api'], env), 2, 'GR-FLAG-11');
});

it('--secrets api is files or api', async () => {
  expectRefused(await runHere(['generate', folderWith({}), '--secrets', 'vault']), 2, 'GR-FLAG-12');
});
