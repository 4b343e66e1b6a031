/** Laws F117 and F118 (docs/spec.md): the pod of a runner that `serve` registers, and claims that belong to one repository. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import type { ContainerMode } from '../../src/config/runnergroup/runner-group.ts';
import { podTemplate, templateHash } from '../../src/manifests/app.ts';
import { repositoryLabel } from '../../src/manifests/stamp.ts';
import { group } from './fixtures.ts';

const MODES: readonly ContainerMode[] = ['dind-rootless', 'dind', 'buildkit', 'host'];
const BY_SERVE = { registration: { by: 'serve', for: 'scope' }, registrationToken: undefined } as const;

describe.each(MODES)('the pod of mode %s that serve registers', (containerMode) => {
  const ofServe = group({ containerMode, ...BY_SERVE });
  const { initContainers = [], containers, volumes } = podTemplate(ofServe).spec.template.spec;

  it('the pod of a runner that serve registers has no container that registers, and one that prepares only where something is to be prepared', () => {
    expect(initContainers.map(({ name }) => name)).toEqual(
      { 'dind-rootless': [], dind: ['docker'], buildkit: ['buildkit', 'prepare'], host: [] }[containerMode],
    );
  });

  it('the pod of a runner that serve registers names no registration token', () => {
    expect(JSON.stringify(podTemplate(ofServe))).not.toMatch(/REGISTRATION_|registration-token|--token/);
  });

  it('mounts the Secret of its Job where the runner looks, and nowhere else', () => {
    expect(volumes.filter(({ secret }) => secret)).toEqual([
      {
        name: 'credentials',
        secret: { defaultMode: 0o440, items: [{ key: '.runner', path: '.runner' }], secretName: '' },
      },
    ]);
    const mount = { mountPath: '/data/.runner', name: 'credentials', readOnly: true, subPath: '.runner' };
    const all = [...containers, ...initContainers].map(
      (each) => JSON.stringify(each).split('"credentials"').length - 1,
    );
    expect(containers[0]).toMatchObject({ volumeMounts: expect.arrayContaining([mount]) });
    expect(all.reduce((sum, many) => sum + many, 0)).toBe(1);
  });

  it('the pod of a runner that serve registers has another hash than the one that registers itself', () => {
    expect(templateHash(ofServe)).not.toBe(templateHash(group({ containerMode })));
  });
});

test.each([
  ['acme/web', /^acme-web-[0-9a-f]{10}$/],
  ['_/_', /^[0-9a-f]{10}$/],
  [`acme/${'x'.repeat(100)}`, /^acme-x{35}-[0-9a-f]{10}$/],
  ['a.b_c/-d-', /^a-b-c-d-[0-9a-f]{10}$/],
])('%s is a DNS label', (repository, label) => {
  expect(repositoryLabel(repository)).toMatch(label);
  expect(repositoryLabel(repository)).toMatch(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
});

test('repositories that look alike have claims of their own, and capitals are none', () => {
  const alike = ['a-b/c', 'a/b-c', 'a.b/c', 'a/b.c', 'a_b/c'].map(repositoryLabel);

  expect(new Set(alike).size).toBe(alike.length);
  expect(repositoryLabel('Acme/Web')).toBe(repositoryLabel('acme/web'));
});

test('the command of the recipe prints the same name', () => {
  const [, command = ''] =
    /<!-- run: claim-name -->\n```sh\n([\s\S]*?)```/.exec(readFileSync('docs/recipes/repository-cache.md', 'utf8')) ??
    [];

  for (const repository of ['acme/web', 'Acme/Web.App', 'a-b/c', `acme/${'long-'.repeat(20)}`])
    expect(execFileSync('sh', ['-c', command.replace('acme/web', repository)], { encoding: 'utf8' })).toBe(
      `docker-${repositoryLabel(repository)}\n`,
    );
});
