/** Law T2. The comparison with the API server's decoding: test/servers/pods.test.ts. */
import { expect, it } from 'vitest';
import { checkShape } from '../../../src/config/pods/check-shape.ts';
import type { Mapping, Value } from '../../../src/config/pods/pod-schema.ts';
import { FULL_TEMPLATE, ourTemplate } from './full-template.ts';

const told = (template: Value): readonly string[] =>
  checkShape(template).map(({ path, message }) => `${path.join('.')}: ${message}`);

const container = (fields: Mapping): Value => ({ spec: { containers: [{ name: 'a', ...fields }] } });

const F = 'spec.containers.0';

it('checkShape has nothing to say of good templates, and of an empty one', () => {
  expect(told(FULL_TEMPLATE)).toEqual([]);
  expect(told(ourTemplate('dind'))).toEqual([]);
  expect(told({})).toEqual([]);
  expect(told({ metadata: null, spec: { containers: null } })).toEqual([]);
});

it.each<[Value, ...string[]]>([
  [{ spec: { nodeSelecter: {} } }, 'spec.nodeSelecter: unknown field; did you mean "nodeSelector"?'],
  [container({ imagepullpolicy: 'x' }), `${F}.imagepullpolicy: unknown field; did you mean "imagePullPolicy"?`],
  [
    container({ env: [{ name: 'A', value: 1 }] }),
    `${F}.env.0.value: must be a string, not a number; write it in quotes`,
  ],
  [
    { spec: { terminationGracePeriodSeconds: '30' } },
    'spec.terminationGracePeriodSeconds: must be a whole number, not a string',
  ],
  [{ spec: { priority: 1.5 } }, 'spec.priority: must be a whole number of 32 bits, not a fraction'],
  [{ spec: { hostNetwork: 'true' } }, 'spec.hostNetwork: must be true or false, not a string'],
  [
    { spec: { tolerations: { key: 'a' } } },
    'spec.tolerations: must be a list, not a mapping; write a dash before its first field',
  ],
  [{ spec: { nodeSelector: ['a'] } }, 'spec.nodeSelector: must be a mapping, not a list'],
  [
    container({ resources: { limits: { cpu: '2 cores' } } }),
    `${F}.resources.limits.cpu: must be a quantity, e.g. 500m or 2Gi`,
  ],
  [
    container({ livenessProbe: { tcpSocket: { port: true } } }),
    `${F}.livenessProbe.tcpSocket.port: must be a whole number or a string, not true or false`,
  ],
  [{ spec: { volumes: [{ emptyDir: {} }] } }, 'spec.volumes.0.name: is missing'],
  // A merge key that the schema does not require.
  [{ spec: { imagePullSecrets: [{}] } }, 'spec.imagePullSecrets.0.name: is missing: elements are told apart by it'],
  [container({ env: [{ name: 'A' }, { name: 'A' }] }), `${F}.env.1: repeats an earlier element: name must differ`],
  // A port without a protocol is one of TCP.
  [
    container({ ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'TCP' }] }),
    `${F}.ports.1: repeats an earlier element: containerPort and protocol must differ`,
  ],
  [
    { spec: { $patch: 'delete' } },
    'spec.$patch: patch directives are not allowed: podTemplate is a template, not a patch',
  ],
  [
    { spec: { a: 1, hostPID: 1, containers: [{}] } },
    'spec.a: unknown field',
    'spec.hostPID: must be true or false, not a number',
    `${F}.name: is missing`,
  ],
])('checkShape of %j tells %s', (template, ...wanted) => {
  expect(told(template)).toEqual(wanted);
});

it('checkShape takes the same port with two protocols for two', () => {
  const ports = [{ containerPort: 53, protocol: 'UDP' }, { containerPort: 53 }];

  expect(told(container({ ports }))).toEqual([]);
});

it('checkShape guesses what was meant for the first 20 unknown fields of a mapping only', () => {
  const asked: string[] = [];
  const spec = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 1]));
  const faults = checkShape({ spec }, (written) => {
    asked.push(written);
    return undefined;
  });

  expect(faults).toHaveLength(1000);
  expect(asked).toHaveLength(20);
});

it('checkShape repeats no value: a secret may stand in the wrong place', () => {
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
