/** Both containers as they are set up: variables of the sidecar and of `serve`, user and volumes of the sidecar. */
import { expect, it } from 'vitest';
import { at, CONTAINER, examine, type Json, put, REPO_SERVER, SERVE, SETTINGS, type World } from './world.ts';

const ARGOCD_URL = { GITEA_RUNNERS_ARGOCD_URL: 'https://argocd-server' };
const settings = (data: Json) => put([SETTINGS], { data: { ...ARGOCD_URL, ...data } });
const SERVE_CONTAINER = [SERVE, 'spec', 'template', 'spec', 'containers', 0];
const variable = (container: readonly (string | number)[], name: string, value: string) =>
  put([...container, 'env'], [{ name: `GITEA_RUNNERS_${name}`, value }]);
const IN_PLUGINS = { name: 'plugins', mountPath: '/home/argocd/cmp-server/plugins' };

/** With the container of stock Argo CD. */
const beside =
  (other: Json) =>
  (world: World): World => {
    const [sidecar] = at(world[REPO_SERVER], 'spec', 'template', 'spec')['containers'] as readonly Json[];
    const stock = { name: 'argocd-repo-server', image: 'argocd:v3.5.3', volumeMounts: [IN_PLUGINS], ...other };
    return put([REPO_SERVER, 'spec', 'template', 'spec', 'containers'], [stock, sidecar])(world);
  };

it.each<readonly [string, (world: World) => World, string]>([
  [
    'a misspelt variable',
    settings({ GITEA_RUNNERS_INSTANCES: 'north' }),
    'environment of both: nothing reads GITEA_RUNNERS_INSTANCES: GITEA_RUNNERS_INSTANCE may be meant',
  ],
  [
    'another instance in the sidecar',
    variable(CONTAINER, 'INSTANCE', 'north'),
    'environment of both: GITEA_RUNNERS_INSTANCE is "north" for the sidecar and "" for serve: they plan differently',
  ],
  [
    'another image of runners in serve',
    variable(SERVE_CONTAINER, 'RUNNER_IMAGE', 'runner:2'),
    'environment of both: GITEA_RUNNERS_RUNNER_IMAGE is "" for the sidecar and "runner:2" for serve',
  ],
  [
    'a value that serve refuses',
    settings({ GITEA_RUNNERS_POLL: 'often' }),
    'environment of both: serve does not start: read GITEA_RUNNERS_POLL: it must be a number of seconds from 0.001 to 600, not "often"',
  ],
  [
    'a switch of the sidecar that is neither on nor off',
    variable(CONTAINER, 'VERBOSE', 'yes'),
    'environment of both: generate does not start: read GITEA_RUNNERS_VERBOSE: it must be true or false, not "yes"',
  ],
  [
    'a serve without the address of Argo CD',
    settings({ GITEA_RUNNERS_ARGOCD_URL: '' }),
    'environment of both: serve does not start: GITEA_RUNNERS_ARGOCD_URL is missing',
  ],
  [
    'a page without its Gitea',
    settings({
      ...{ GITEA_RUNNERS_PAGE_LISTEN: ':8082', GITEA_RUNNERS_PAGE_CLIENT_ID: 'x' },
      GITEA_RUNNERS_PAGE_URL: 'https://runners.acme.org',
    }),
    'environment of both: serve does not start: GITEA_RUNNERS_PAGE_GITEA is missing',
  ],
  [
    'a sidecar of another user',
    beside({ securityContext: { runAsUser: 1000 } }),
    'sidecar in argocd-repo-server: Argo CD cannot know the plugin: it runs as user 999, and argocd-repo-server as 1000',
  ],
  [
    'a sidecar with /tmp of the repo-server',
    beside({ volumeMounts: [IN_PLUGINS, { name: 'gitea-runners-tmp', mountPath: '/tmp/' }] }),
    'sidecar in argocd-repo-server: Argo CD cannot know the plugin: its /tmp is the volume of argocd-repo-server',
  ],
  [
    'a sidecar without /tmp',
    (world) => {
      const mounts = at(world[REPO_SERVER], 'spec', 'template', 'spec', 'containers', 0)[
        'volumeMounts'
      ] as readonly Json[];
      return put(
        [...CONTAINER, 'volumeMounts'],
        mounts.filter(({ mountPath }) => mountPath !== '/tmp'),
      )(world);
    },
    'sidecar in argocd-repo-server: Argo CD cannot know the plugin: no /tmp',
  ],
])('doctor reports one fault of a container: %s', async (_, change, cross) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  const crosses = stdout.split('\n').filter((line) => line.startsWith('✗'));
  expect(crosses).toHaveLength(1);
  expect(crosses[0]).toContain(`✗ ${cross}`);
});

it.each<readonly [string, (world: World) => World]>([
  ['stock Argo CD beside the sidecar', beside({})],
  ['settings that both read', settings({ GITEA_RUNNERS_INSTANCE: 'north', GITEA_RUNNERS_RUNNER_IMAGE: 'runner:2' })],
  [
    'a value from a Secret',
    put(
      [...CONTAINER, 'env'],
      [{ name: 'GITEA_RUNNERS_INSTANCE', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
    ),
  ],
])('doctor draws no cross for %s', async (_, change) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
});

it('doctor does not compare variables of a ConfigMap that it may not read', async () => {
  const { run } = await examine(put([SETTINGS], 403));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).toContain('? environment of both: ConfigMap gitea-runners-settings: you may not read it (403)\n');
});
