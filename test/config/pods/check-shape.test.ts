/** Law T2. The comparison with the API server's decoding: test/servers/pods.test.ts. */
import { describe, expect, it } from 'vitest';
import { checkShape } from '../../../src/config/pods/check-shape.ts';
import type { Value } from '../../../src/config/pods/schema.ts';
import { nearestName } from '../../../src/config/runnergroup/words.ts';
import { FULL_TEMPLATE, ourTemplate } from './full-template.ts';

const told = (template: Value): readonly string[] =>
  checkShape(template, nearestName).map(({ path, message }) => `${path.join('.')}: ${message}`);

const container = (fields: Value): Value => ({ spec: { containers: [fields] } });

describe('checkShape', () => {
  it('has nothing to say of good templates, and of an empty one', () => {
    expect(told(FULL_TEMPLATE)).toEqual([]);
    expect(told(ourTemplate('dind'))).toEqual([]);
    expect(told({})).toEqual([]);
    expect(told({ metadata: null, spec: { containers: null } })).toEqual([]);
  });

  it.each<readonly [string, Value, readonly string[]]>([
    [
      'an unknown field, and what was meant',
      { spec: { nodeSelecter: {} } },
      ['spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'],
    ],
    [
      'another case',
      container({ name: 'a', imagepullpolicy: 'Always' }),
      ['spec.containers.0.imagepullpolicy: unknown field; did you mean "imagePullPolicy"?'],
    ],
    [
      'a number for a string',
      container({ name: 'a', env: [{ name: 'A', value: 1 }] }),
      ['spec.containers.0.env.0.value: must be a string, not a number; write it in quotes'],
    ],
    [
      'a string for a number',
      { spec: { terminationGracePeriodSeconds: '30' } },
      ['spec.terminationGracePeriodSeconds: must be a whole number, not a string'],
    ],
    ['a fraction', { spec: { priority: 1.5 } }, ['spec.priority: must be a whole number of 32 bits, not a fraction']],
    ['a string for true', { spec: { hostNetwork: 'true' } }, ['spec.hostNetwork: must be true or false, not a string']],
    [
      'a mapping for a list',
      { spec: { tolerations: { key: 'a' } } },
      ['spec.tolerations: must be a list, not a mapping'],
    ],
    ['a list for a mapping', { spec: { nodeSelector: ['a'] } }, ['spec.nodeSelector: must be a mapping, not a list']],
    [
      'a quantity',
      container({ name: 'a', resources: { limits: { cpu: '2 cores' } } }),
      ['spec.containers.0.resources.limits.cpu: must be a quantity, e.g. 500m or 2Gi'],
    ],
    [
      'a port',
      container({ name: 'a', livenessProbe: { tcpSocket: { port: true } } }),
      ['spec.containers.0.livenessProbe.tcpSocket.port: must be a whole number or a string, not true or false'],
    ],
    ['what is missing', { spec: { volumes: [{ emptyDir: {} }] } }, ['spec.volumes.0.name: is missing']],
    [
      'a merge key that the schema does not require',
      { spec: { imagePullSecrets: [{}] } },
      ['spec.imagePullSecrets.0.name: is missing: elements are told apart by it'],
    ],
    [
      'an element twice',
      container({ name: 'a', env: [{ name: 'A' }, { name: 'A' }] }),
      ['spec.containers.0.env.1: repeats an earlier element: name must differ'],
    ],
    [
      'a port twice, once without its protocol',
      container({ name: 'a', ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'TCP' }] }),
      ['spec.containers.0.ports.1: repeats an earlier element: containerPort and protocol must differ'],
    ],
    [
      'a directive',
      { spec: { $patch: 'delete' } },
      ['spec.$patch: patch directives are not allowed: podTemplate is a template, not a patch'],
    ],
    [
      'all at once',
      { spec: { a: 1, hostPID: 1, containers: [{}] } },
      [
        'spec.a: unknown field',
        'spec.hostPID: must be true or false, not a number',
        'spec.containers.0.name: is missing',
      ],
    ],
  ])('tells %s', (_name, template, wanted) => {
    expect(told(template)).toEqual(wanted);
  });

  it('takes the same port with two protocols for two', () => {
    const ports = [{ containerPort: 53, protocol: 'UDP' }, { containerPort: 53 }];

    expect(told(container({ name: 'a', ports }))).toEqual([]);
  });

  it('guesses what was meant for the first 20 unknown fields of a mapping only', () => {
    const asked: string[] = [];
    const spec = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]));
    const faults = checkShape({ spec }, (written) => {
      asked.push(written);
      return undefined;
    });

    expect(faults).toHaveLength(1000);
    expect(asked).toHaveLength(20);
  });

  it('repeats no value: a secret may stand in the wrong place', () => {
    const secret = 'hunter2';
    const template = {
      spec: {
        hostPID: secret,
        tolerations: secret,
        containers: [{ name: 'a', resources: { limits: { cpu: secret } } }],
      },
    };

    expect(told(template)).toHaveLength(3);
    expect(told(template).join('\n')).not.toContain(secret);
  });
});
