/**
 * `doctor --pre` on a cluster with Argo CD and without any object of ours. Real program, real HTTPS server, simulated
 * Gitea.
 */
import { expect, it } from 'vitest';
import { TOKEN } from '../../support/start-acme.ts';
import {
  CM,
  CRD,
  examine,
  GROUPS,
  type Json,
  NODES,
  node,
  OWN_REVIEW,
  REPO_SERVER,
  SERVE,
  type World,
} from './world.ts';

const IMAGE = 'quay.io/argoproj/argocd:v3.5.3';

/** Argo CD alone. */
function bare(world: World, image = IMAGE): World {
  const containers = [{ name: 'argocd-repo-server', image }];
  const { [CRD]: _, [SERVE]: __, [GROUPS]: ___, ...rest } = world;
  const argocd: Json = { metadata: { name: 'argocd-repo-server' }, spec: { template: { spec: { containers } } } };
  return {
    ...rest,
    [REPO_SERVER]: argocd,
    [CM]: { data: {} },
    [GROUPS]: 404,
    [OWN_REVIEW]: { status: { allowed: true } },
  };
}

const withToken = (token: string) => (url: string) => ({ GITEA_URL: url, GITEA_TOKEN: token });

it('doctor --pre finds nothing bad where all is ready for an installation, and says nothing of missing parts of ours', async () => {
  const { run } = await examine((world) => bare(world), '', withToken(TOKEN));

  const { code, stdout, stderr } = await run('--pre');

  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n').filter((line) => /^[✓✗?]/.test(line))).toEqual([
    '✓ Kubernetes: 1.34',
    '✓ tracking in Argo CD: by annotation',
    '✓ what Argo CD watches: Jobs and RunnerGroups',
    `✓ Argo CD: ${IMAGE}`,
    '✓ nodes: 1 of 1 take pods without tolerations',
    '✓ you: an administrator of the cluster, who may install',
    expect.stringMatching(/^✓ Gitea: 1\.\d+\.\d+ answers this machine, and does not refuse the token$/),
  ]);
  expect(stdout).toContain('token-scopes');
  expect(stdout).not.toContain(TOKEN);
});

it.each<[string, (world: World) => World, string, string]>([
  [
    'an old Argo CD',
    (world) => bare(world, 'argocd:v2.9.1'),
    '? Argo CD: argocd:v2.9.1: 3.x was tried',
    'compatibility',
  ],
  ['no Argo CD', ({ [REPO_SERVER]: _, ...world }) => world, '✗ Argo CD: it does not exist (404)', 'Install Argo CD'],
  [
    'taints everywhere',
    (world) => ({ ...bare(world), [NODES]: { items: [node({}, [{ key: 'gpu', effect: 'NoSchedule' }])] } }),
    '? nodes: 0 of 1 take pods without tolerations',
    'tolerations',
  ],
  [
    'somebody who may little',
    (world) => ({ ...bare(world), [OWN_REVIEW]: { status: { allowed: false } } }),
    '? you: no administrator: who installs must make a CustomResourceDefinition',
    'the person who installs',
  ],
  [
    'Jobs that Argo CD does not watch',
    (world) => ({ ...bare(world), [CM]: { data: { 'resource.exclusions': '[{apiGroups: [batch], kinds: [Job]}]' } } }),
    '✗ what Argo CD watches: ',
    'edit configmap argocd-cm',
  ],
])('doctor --pre reports %s, with what to do', async (_, change, line, advice) => {
  const { run } = await examine(change, '', withToken(TOKEN));

  const { code, stdout } = await run('--pre');

  const lines = stdout.split('\n');
  const at = lines.findIndex((each) => each.startsWith(line));
  expect(at, stdout).toBeGreaterThanOrEqual(0);
  expect(lines[at + 1]).toContain(advice);
  expect(code).toBe(line.startsWith('✗') ? 1 : 0);
});

it.each<[string, (url: string) => Readonly<Record<string, string>>, string]>([
  ['no token', () => ({}), '? Gitea: not asked'],
  ['a token that Gitea does not know', withToken('nobody-knows-this-one'), '✗ Gitea: '],
  ['a Gitea that does not answer', () => ({ GITEA_URL: 'http://127.0.0.1:1', GITEA_TOKEN: TOKEN }), '✗ Gitea: '],
])('doctor --pre advises against %s', async (_, envOf, line) => {
  const { run } = await examine((world) => bare(world), '', envOf);

  const { stdout } = await run('--pre');

  const lines = stdout.split('\n');
  const at = lines.findIndex((each) => each.startsWith(line));
  expect(at, stdout).toBeGreaterThanOrEqual(0);
  expect(lines[at + 1]).toMatch(/^ {4}\S/);
  expect(stdout).not.toContain('nobody-knows-this-one');
});
