/** Templates of the right shape whose pod Kubernetes refuses, each with one mistake. */
import type { Mapping } from '../../../src/config/pods/pod-schema.ts';

export interface Mistake {
  readonly at: string;
  readonly template: Mapping;
}

const spec = (at: string, fields: Mapping): Mistake => ({ at: `spec.${at}`, template: { spec: fields } });
const runner = (at: string, fields: Mapping): Mistake =>
  spec(`containers.0.${at}`, { containers: [{ name: 'runner', ...fields }] });
const init = (at: string, fields: Mapping): Mistake =>
  spec(`initContainers.0.${at}`, { initContainers: [{ name: 'a', image: 'a', ...fields }] });
const mount = (at: string, fields: Mapping): Mistake =>
  spec(`containers.0.volumeMounts.0${at}`, {
    containers: [{ name: 'runner', volumeMounts: [{ mountPath: '/x', name: 'x', ...fields }] }],
    volumes: [{ name: 'x', emptyDir: {} }],
  });

export const MISTAKES: readonly Mistake[] = [
  spec('containers.0.name', { containers: [{ name: 'Side_Car', image: 'a' }] }),
  spec('containers.0.image', { containers: [{ name: 'side' }] }),
  spec('initContainers.0.name', { initContainers: [{ name: 'runner', image: 'a' }] }),
  spec('volumes.0.name', { volumes: [{ name: 'A', emptyDir: {} }] }),
  spec('volumes.0', { volumes: [{ name: 'a', emptyDir: {}, secret: { secretName: 'a' } }] }),
  spec('volumes.0.secret.defaultMode', { volumes: [{ name: 'a', secret: { secretName: 'a', defaultMode: 644 } }] }),
  spec('dnsPolicy', { dnsPolicy: 'clusterfirst' }),
  spec('runtimeClassName', { runtimeClassName: 'gVisor_' }),
  spec('priorityClassName', { priorityClassName: 'CI' }),
  spec('nodeSelector.a b', { nodeSelector: { 'a b': 'c' } }),
  spec('nodeSelector.a', { nodeSelector: { a: 'b c' } }),
  spec('tolerations.0.effect', { tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoScheduling' }] }),
  spec('tolerations.0.value', { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] }),
  spec('tolerations.0.operator', { tolerations: [{ effect: 'NoSchedule' }] }),
  spec('tolerations.0.effect', { tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 1 }] }),
  spec('topologySpreadConstraints.0.whenUnsatisfiable', {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'Never' }],
  }),
  runner('imagePullPolicy', { imagePullPolicy: 'always' }),
  runner('env.0', { env: [{ name: 'A', value: 'a', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
  runner('env.0.valueFrom.secretKeyRef.name', { env: [{ name: 'A', valueFrom: { secretKeyRef: { key: 'a' } } }] }),
  runner('volumeMounts.0.name', { volumeMounts: [{ mountPath: '/a', name: 'not-there' }] }),
  mount('.mountPropagation', { mountPropagation: 'Both' }),
  runner('securityContext.seccompProfile.localhostProfile', {
    securityContext: { seccompProfile: { type: 'Localhost' } },
  }),
  runner('securityContext.appArmorProfile.localhostProfile', {
    securityContext: { appArmorProfile: { type: 'RuntimeDefault', localhostProfile: 'ci' } },
  }),
  mount('', { subPath: 'a', subPathExpr: '$(B)' }),
  spec('dnsConfig', { dnsPolicy: 'None' }),
  spec('topologySpreadConstraints.0.minDomains', {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2, labelSelector: {} },
    ],
  }),
  ...[
    { operator: 'In' },
    { operator: 'Exists', values: ['a'] },
    { operator: 'Gt' },
    { operator: 'Lt', values: ['1', '2'] },
  ].map((requirement) =>
    spec(
      'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchExpressions.0.values',
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', ...requirement }] }],
            },
          },
        },
      },
    ),
  ),
  spec('hostAliases.0.ip', { hostAliases: [{ ip: 'gitea-lb.corp.example', hostnames: ['git'] }] }),
  spec('hostAliases.0.hostnames.1', { hostAliases: [{ ip: '10.0.0.7', hostnames: ['git', 'Git_1'] }] }),
  spec('dnsConfig.nameservers.0', { dnsConfig: { nameservers: ['dns.example.com'] } }),
  spec('volumes.0.ephemeral.volumeClaimTemplate.spec.accessModes.0', {
    volumes: [
      {
        name: 'a',
        ephemeral: {
          volumeClaimTemplate: { spec: { accessModes: ['RWO'], resources: { requests: { storage: '1Gi' } } } },
        },
      },
    ],
  }),
  spec('topologySpreadConstraints.0.maxSkew', {
    topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  }),
  spec('topologySpreadConstraints.0.nodeTaintsPolicy', {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', nodeTaintsPolicy: 'Honour' },
    ],
  }),
  spec('affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.weight', {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 0, preference: { matchExpressions: [{ key: 'a', operator: 'Exists' }] } },
        ],
      },
    },
  }),
  spec('hostname', { hostname: 'ci_runner' }),
  spec('securityContext.fsGroup', { securityContext: { fsGroup: -1 } }),
  spec('securityContext.fsGroupChangePolicy', { securityContext: { fsGroupChangePolicy: 'Never' } }),
  spec('volumes.0.configMap.items.0.path', {
    volumes: [{ name: 'a', configMap: { name: 'a', items: [{ key: 'a', path: '/etc/a' }] } }],
  }),
  spec('volumes.0.nfs.path', { volumes: [{ name: 'a', nfs: { server: 'nas', path: 'exports/ci' } }] }),
  spec('volumes.0.hostPath.type', { volumes: [{ name: 'a', hostPath: { path: '/a', type: 'Dir' } }] }),
  mount('.subPath', { subPath: '../x' }),
  runner('ports.0.name', { ports: [{ containerPort: 80, name: 'the-port-of-metrics' }] }),
  runner('ports.0.protocol', { ports: [{ containerPort: 80, protocol: 'tcp' }] }),
  runner('terminationMessagePolicy', { terminationMessagePolicy: 'Fallback' }),
  runner('readinessProbe.periodSeconds', { readinessProbe: { periodSeconds: -1, exec: { command: ['a'] } } }),
  runner('env.0.valueFrom.secretKeyRef.key', {
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'a/b' } } }],
  }),
  { at: 'metadata.labels.team', template: { metadata: { labels: { team: 'Platform team' } } } },
  { at: 'metadata.labels.a/b/c', template: { metadata: { labels: { 'a/b/c': 'd' } } } },
  {
    at: 'metadata.annotations.container.apparmor.security.beta.kubernetes.io/a',
    template: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/a': 'runtime/default' } } },
  },
  { at: 'metadata.annotations.a b', template: { metadata: { annotations: { 'a b': 'd' } } } },
];

/**
 * Values that the validation of Kubernetes 1.34 lets pass. It drops `restartPolicy` of these containers without a
 * message, unless its feature gate ContainerRestartRules is on. `overhead` is refused later, by the admission of runtime
 * classes. Here all are reported.
 */
export const DROPPED: readonly Mistake[] = [
  runner('restartPolicy', { restartPolicy: 'Always' }),
  init('restartPolicy', { restartPolicy: 'OnFailure' }),
  spec('overhead', { overhead: { cpu: '100m' } }),
];
