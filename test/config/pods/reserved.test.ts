/** Law T4. Scenes with hostile templates: apply-template.test.ts. */
import { describe, expect, it } from 'vitest';
import type { Mapping } from '../../../src/config/pods/pod-schema.ts';
import { RESERVED_FIELDS, reservedFields } from '../../../src/config/pods/reserved.ts';
import { podTemplate } from '../../../src/manifests/app.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { ourTemplate } from './full-template.ts';

const told = (template: Mapping, mode: 'host' | 'dind' = 'host'): readonly string[] =>
  reservedFields(ourTemplate(mode), template, ['gitea-runner']).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );

it('RESERVED_FIELDS gives every field a reason and a way out', () => {
  for (const { path, reason, instead } of RESERVED_FIELDS) {
    expect(path.length).toBeGreaterThan(1);
    expect(reason).toMatch(/^\w.*[^.]$/);
    expect(instead).toMatch(/^\w.*[^.]$/);
  }
});

it('reservedFields tells each place once, with the reason and what to do instead', () => {
  const env = [{ name: 'GITEA_RUNNER_NAME', value: 'x' }];

  expect(told({ spec: { containers: [{ name: 'runner', env }], terminationGracePeriodSeconds: 1 } })).toEqual([
    'spec.terminationGracePeriodSeconds: is reserved: a stopped runner finishes its CI job in it; use spec.gracefulStopSeconds',
    'spec.containers.0.env.0: GITEA_RUNNER_NAME is reserved: the runner is registered and configured with it; use the fields of the RunnerGroup',
  ]);
});

it('reservedFields takes the names of our variables, volumes and mounts from our pod, so that a new one is reserved, too', () => {
  const pod = (value: string, mountPath: string, source: Mapping): Mapping => ({
    spec: {
      containers: [{ name: 'runner', env: [{ name: 'NEW', value }], volumeMounts: [{ mountPath, name: 'new' }] }],
      volumes: [{ name: 'new', ...source }],
    },
  });
  const ours = pod('a', '/new', { configMap: { name: 'a' } });
  const hits = reservedFields(ours, pod('b', '/new/', { emptyDir: {} }), []).map(({ path }) => path.join('.'));

  expect(hits.toSorted()).toEqual([
    'spec.containers.0.env.0',
    'spec.containers.0.volumeMounts.0.mountPath',
    'spec.volumes.0',
  ]);
});

describe('credentials and prepare, in a template that has both', () => {
  const template: Mapping = {
    spec: {
      initContainers: [{ name: 'prepare', image: 'x', env: [{ name: 'A', value: 'b' }] }],
      containers: [{ name: 'runner', volumeMounts: [{ mountPath: '/data/.runner', name: 'credentials' }] }],
      volumes: [{ name: 'credentials', emptyDir: {} }],
    },
  };

  it('are reserved where serve registers', () => {
    const group = runnerGroup({ containerMode: 'buildkit', registrationToken: undefined });
    const ours = JSON.parse(JSON.stringify(podTemplate(group).spec.template)) as Mapping;

    expect(reservedFields(ours, template, []).map(({ path }) => path.join('.'))).toEqual([
      'spec.initContainers.0',
      'spec.volumes.0',
      'spec.containers.0.volumeMounts.0.mountPath',
    ]);
  });

  it('are free where the pod registers: only the folder of the runner is reserved', () => {
    expect(told(template)).toEqual([
      'spec.containers.0.volumeMounts.0.mountPath: is reserved: the runner has /data for itself; mount it elsewhere',
    ]);
  });
});

it('reservedFields leaves other containers their variables and mounts', () => {
  const side = {
    name: 'side',
    image: 'x',
    env: [{ name: 'CONFIG_FILE', value: 'x' }],
    volumeMounts: [{ mountPath: '/data', name: 'x' }],
  };

  expect(told({ spec: { containers: [side], volumes: [{ name: 'x', emptyDir: {} }] } })).toEqual([]);
});

it("reservedFields reserves the docker sidecar's fields only in a group that has one", () => {
  const template: Mapping = { spec: { initContainers: [{ name: 'docker', image: 'x', args: ['a'] }] } };

  expect(told(template, 'host')).toEqual([]);
  expect(told(template, 'dind')).toEqual([
    'spec.initContainers.0.args: is reserved: it starts the daemon of docker or BuildKit; mount a file of its configuration',
  ]);
});
