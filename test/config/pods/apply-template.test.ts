/** Laws T1 to T5 together: what applyTemplate makes of good and of hostile templates. */
import { describe, expect, it } from 'vitest';
import { applyTemplate } from '../../../src/config/pods/apply-template.ts';
import { checkShape } from '../../../src/config/pods/check-shape.ts';
import { fieldValue, type Mapping, type Value } from '../../../src/config/pods/pod-schema.ts';
import type { SecurityLevel } from '../../../src/config/pods/pod-security.ts';
import type { ContainerMode } from '../../../src/config/runnergroup/runner-group.ts';
import { FULL_TEMPLATE, ourTemplate } from './full-template.ts';
import { HOSTILE, SECRETS } from './hostile.ts';

function applied(template: Value, level: SecurityLevel, mode: ContainerMode = 'host') {
  return applyTemplate(ourTemplate(mode), template, SECRETS, level);
}

/** Places that are refused, faults first. */
function refused(template: Value, level: SecurityLevel, mode?: ContainerMode): readonly string[] {
  const answer = applied(template, level, mode);
  return ('faults' in answer ? answer.faults : answer.violations).map(({ path }) => path.join('.'));
}

describe('hostile templates', () => {
  it.each(HOSTILE.filter(({ by }) => by === 'faults'))('a fault: $name', ({ template, at, mode }) => {
    expect(applied(template, 'privileged', mode)).toHaveProperty('faults');
    expect(refused(template, 'privileged', mode)[0]).toBe(at);
  });

  it.each(HOSTILE.filter(({ by }) => by === 'baseline'))('a template is not baseline: $name', ({ template, at }) => {
    expect(refused(template, 'privileged')).toEqual([]);
    // The merged list has the container at another index when the runner comes first.
    expect(refused(template, 'baseline').map(withoutIndex)).toContain(withoutIndex(at));
  });

  it.each(HOSTILE.filter(({ by }) => by === 'restricted'))(
    'a template is not restricted: $name',
    ({ template, at }) => {
      expect(refused(template, 'baseline')).toEqual([]);
      expect(refused(template, 'restricted').map(withoutIndex)).toContain(withoutIndex(at));
    },
  );
});

function withoutIndex(place: string): string {
  return place.replace(/^(spec\.\w+)\.\d+/, '$1');
}

describe('good templates', () => {
  it.each(['host', 'dind', 'dind-rootless'] as const)('the full one goes into a pod of containerMode %s', (mode) => {
    const answer = applied(FULL_TEMPLATE, 'privileged', mode);

    expect(answer).toHaveProperty('pod');
    expect('pod' in answer ? checkShape(answer.pod) : []).toEqual([]);
  });

  it('keeps a host-mode group restricted', () => {
    expect(refused(FULL_TEMPLATE, 'restricted')).toEqual([]);
  });

  it('an empty template gives our pod', () => {
    for (const template of [{}, { metadata: { creationTimestamp: null }, spec: {} }, { spec: { containers: [] } }])
      expect(applied(template, 'restricted')).toEqual({ pod: ourTemplate(), violations: [] });
  });

  it('a good template may say what our pod says anyway', () => {
    const fields = ['restartPolicy', 'terminationGracePeriodSeconds', 'enableServiceLinks'];
    const ours = fields.map((field) => [field, fieldValue(ourTemplate()['spec'], field)] as const);

    expect(ours.filter(([, value]) => value === undefined)).toEqual([]);
    expect(refused({ spec: Object.fromEntries(ours) as Mapping }, 'restricted')).toEqual([]);
  });

  const runner = (fields: Mapping, more: Mapping = {}): Value => ({
    spec: { containers: [{ name: 'runner', ...fields }], ...more },
  });
  const docker = {
    name: 'docker',
    image: 'mirror.example.com/docker:29',
    resources: { limits: { memory: '4Gi' } },
    volumeMounts: [{ mountPath: '/etc/docker', name: 'docker-config' }],
  };
  const dockerConfig = { name: 'docker-config', configMap: { name: 'a' } };
  /** A template as in a values file of ARC. */
  const ofArc = {
    image: 'example.com/runner:1',
    command: ['/home/runner/run.sh'],
    env: [{ name: 'RUNNER_FEATURE', value: 'x' }],
    volumeMounts: [{ mountPath: '/home/runner/_work', name: 'work' }],
  };
  const GOOD: readonly (readonly [string, Value, ContainerMode?])[] = [
    [
      'a template of an ARC values file',
      runner(ofArc, { restartPolicy: 'Never', volumes: [{ name: 'work', emptyDir: {} }] }),
    ],
    ['more space for data', { spec: { volumes: [{ name: 'data', emptyDir: { sizeLimit: '20Gi' } }] } }],
    [
      'a cache below our folder',
      runner(
        { volumeMounts: [{ mountPath: '/data/cache', name: 'cache' }] },
        { volumes: [{ name: 'cache', persistentVolumeClaim: { claimName: 'a' } }] },
      ),
    ],
    [
      'no user of ours, for OpenShift',
      runner({ securityContext: { runAsUser: null, runAsGroup: null } }, { securityContext: { fsGroup: null } }),
    ],
    ['a node that may be emptied', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': null } } }],
    [
      'false where only true is reserved',
      { spec: { hostNetwork: false, hostPID: false, automountServiceAccountToken: false } },
    ],
    ['a home of its own', runner({ env: [{ name: 'HOME', value: '/home/ci' }] })],
    ['the docker daemon of a mirror', { spec: { initContainers: [docker], volumes: [dockerConfig] } }, 'dind'],
    ['a remote docker daemon in host mode', runner({ env: [{ name: 'DOCKER_HOST', value: 'tcp://a' }] })],
  ];

  it.each(GOOD.map(([name, template, mode]) => ({ name, template, mode })))('$name', ({ template, mode }) => {
    expect(refused(template, 'privileged', mode)).toEqual([]);
  });

  it('puts init containers before ours and the runner first', () => {
    const answer = applied(FULL_TEMPLATE, 'restricted', 'dind');
    const spec = ('pod' in answer ? answer.pod['spec'] : {}) as unknown as Record<string, readonly Mapping[]>;
    const names = (list: string) => spec[list]?.map(({ name }) => name);

    expect(names('initContainers')).toEqual(['warm-up', 'logs', 'docker', 'register']);
    expect(names('containers')).toEqual(['runner', 'proxy']);
  });
});
