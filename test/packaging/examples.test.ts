import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { problemsIn } from '../support/group-files.ts';
import { documents, installText, objects } from './manifests.ts';

it.each(['runnergroup.yaml', 'runnergroup-behind-a-proxy.yaml', 'runnergroup-with-a-cache.yaml'])(
  'the example of a RunnerGroup is one that the reader takes: %s',
  async (file) => {
    expect(await problemsIn({ 'ci.yaml': installText(`examples/${file}`) })).toEqual([]);
  },
);

it('the example of a RunnerGroup names the Secrets and the namespace of the installation', () => {
  const [group] = objects('examples/runnergroup.yaml');

  expect(group?.metadata.namespace).toBe('runners');
  expect(group?.['spec']).toMatchObject({
    authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
  });
});

describe('Application and ApplicationSet', () => {
  const [application] = objects('examples/application.yaml');
  const [set] = objects('examples/applicationset.yaml');
  const { source, ...spec } = Object(application?.['spec']);
  const { source: templateSource, ...templateSpec } = Object(Object(set?.['spec']).template.spec);

  it('say the same but for the folder', () => {
    expect(templateSpec).toEqual(spec);
    expect({ ...templateSource, path: source.path }).toEqual(source);
  });

  it('keep Argo CD 3.6 from asking Kubernetes about each Job', () => {
    const annotations = { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=false' };

    expect(application?.metadata).toMatchObject({ annotations });
    expect(Object(set?.['spec']).template.metadata).toMatchObject({ annotations });
  });

  it('name the plugin of plugin.yaml and the project of the example', () => {
    const [plugin] = objects('plugin.yaml');
    const [project] = objects('examples/project.yaml');

    expect(source.plugin).toEqual({ name: plugin?.metadata.name });
    expect(spec.project).toBe(project?.metadata.name);
    expect(Object(project?.['spec']).sourceRepos).toEqual([source.repoURL]);
  });

  it('prune without healing by themselves, and may be empty', () => {
    expect(spec.syncPolicy.automated).toEqual({ prune: true, allowEmpty: true });
    expect(spec.syncPolicy.syncOptions).toContain('PrunePropagationPolicy=background');
  });

  it('leave CI jobs alone when a folder goes', () => {
    expect(Object(set?.['spec']).syncPolicy).toEqual({ preserveResourcesOnDeletion: true });
    expect(Object(set?.['spec']).goTemplateOptions).toEqual(['missingkey=error']);
  });
});

it('plugin.yaml starts the program itself: no shell, no discovery, no version, nothing before it', () => {
  expect(documents('plugin.yaml')).toEqual([
    {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'ConfigManagementPlugin',
      metadata: { name: 'gitea-runners' },
      spec: {
        generate: {
          command: [
            ...['/usr/local/bin/node', '--max-semi-space-size=2', '--no-concurrent-recompilation'],
            ...['/opt/gitea-runners/gitea-runners.cjs', 'generate'],
          ],
        },
        preserveFileMode: false,
        provideGitCreds: false,
      },
    },
  ]);
});

it.each(['Dockerfile', 'scripts/image.mjs'])('plugin.yaml names files that %s puts into the image', (file) => {
  const text = readFileSync(file, 'utf8');

  for (const path of ['/usr/local/bin/node', '/opt/gitea-runners', '/home/argocd/cmp-server/config', '/usr/bin/tini'])
    expect(text).toContain(path);
  expect(text).toContain('999');
});

it('plugin.yaml stands on the same Node in both ways to make the image', () => {
  const [, docker] = /node:([0-9.]+)-/.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  const [, script] = /NODE_VERSION = '([0-9.]+)'/.exec(readFileSync('scripts/fetch-node.mjs', 'utf8')) ?? [];

  expect(docker).toMatch(/^\d+\.\d+\.\d+$/);
  expect(script).toBe(docker);
});
