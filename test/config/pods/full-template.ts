/** A podTemplate with everything that platform teams write: valid, and allowed by every check of src/config/pods. */

import type { Mapping, Value } from '../../../src/config/pods/pod-schema.ts';
import type { ContainerMode } from '../../../src/config/runnergroup/runner-group.ts';
import { podTemplate } from '../../../src/manifests/app.ts';
import { runnerGroup } from '../../support/runner-group.ts';

/** Returns the pod template of a group without its own. */
export function ourTemplate(containerMode: ContainerMode = 'host'): Mapping {
  return JSON.parse(JSON.stringify(podTemplate(runnerGroup({ containerMode })).spec.template)) as Mapping;
}

const HARDENED: Mapping = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: 'RuntimeDefault' },
};

export const FULL_TEMPLATE: Mapping = {
  metadata: {
    annotations: { 'prometheus.io/scrape': 'true', 'example.com/owner': 'Platform team, floor 3' },
    labels: { team: 'platform', 'example.com/cost-centre': '4711' },
  },
  spec: {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }, weight: 10 },
        ],
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }],
        },
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            podAffinityTerm: {
              labelSelector: { matchLabels: { team: 'platform' } },
              topologyKey: 'kubernetes.io/hostname',
            },
            weight: 50,
          },
        ],
      },
    },
    containers: [
      {
        name: 'runner',
        env: [
          { name: 'PIP_INDEX_URL', value: 'https://pypi.example.com/simple' },
          { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'NPM_TOKEN', valueFrom: { secretKeyRef: { key: 'token', name: 'npm', optional: true } } },
        ],
        envFrom: [{ configMapRef: { name: 'ci-settings' } }],
        imagePullPolicy: 'IfNotPresent',
        resources: { limits: { memory: '8Gi', 'nvidia.com/gpu': 1 }, requests: { cpu: '500m', memory: '2Gi' } },
        volumeMounts: [
          { mountPath: '/cache', name: 'cache' },
          { mountPath: '/etc/ssl/ca', name: 'ca', readOnly: true, subPath: 'ca.crt' },
        ],
      },
      {
        name: 'proxy',
        image: 'registry.example.com/proxy:1',
        livenessProbe: { httpGet: { path: '/healthz', port: 8080, scheme: 'HTTP' }, periodSeconds: 10 },
        ports: [{ containerPort: 8080, name: 'http', protocol: 'TCP' }],
        securityContext: HARDENED,
      },
    ],
    dnsConfig: { options: [{ name: 'ndots', value: '2' }] },
    hostAliases: [{ hostnames: ['mirror.example.com'], ip: '192.0.2.7' }],
    imagePullSecrets: [{ name: 'registry' }],
    initContainers: [
      { name: 'warm-up', image: 'registry.example.com/warm-up:1', command: ['warm-up'], securityContext: HARDENED },
      {
        name: 'logs',
        image: 'registry.example.com/logs:1',
        readinessProbe: { tcpSocket: { port: 8080 } },
        restartPolicy: 'Always',
        securityContext: HARDENED,
      },
    ],
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    priorityClassName: 'ci-low',
    runtimeClassName: 'gvisor',
    securityContext: { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' },
    tolerations: [
      { effect: 'NoSchedule', key: 'nvidia.com/gpu', operator: 'Exists' },
      { effect: 'NoExecute', key: 'node.kubernetes.io/unreachable', operator: 'Exists', tolerationSeconds: 60 },
    ],
    topologySpreadConstraints: [
      {
        labelSelector: { matchLabels: { team: 'platform' } },
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'ScheduleAnyway',
      },
    ],
    volumes: [
      { name: 'cache', persistentVolumeClaim: { claimName: 'ci-cache' } },
      { name: 'ca', configMap: { defaultMode: 292, items: [{ key: 'ca.crt', path: 'ca.crt' }], name: 'ca' } },
      {
        name: 'data',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '20Gi' } } },
          },
        },
      },
    ],
  },
};

/** The template with a value in another place: `['spec', 'containers', 0, 'image']`. Undefined takes it away. */
export function withValue(value: Value, path: readonly (string | number)[], other: Value | undefined): Value {
  const [step, ...rest] = path;
  if (step === undefined) return other ?? null;
  if (Array.isArray(value)) {
    const list = value.map((element: Value, index) => (index === step ? withValue(element, rest, other) : element));
    return rest.length === 0 && other === undefined ? list.filter((_, index) => index !== step) : list;
  }
  const mapping = (typeof value === 'object' ? value : {}) as Mapping;
  if (rest.length > 0 || other !== undefined)
    return { ...mapping, [step]: withValue(mapping[step] ?? {}, rest, other) };
  return Object.fromEntries(Object.entries(mapping).filter(([key]) => key !== step));
}

/** Every place of a value, outer ones first. */
export function placesIn(
  value: Value,
  path: readonly (string | number)[] = [],
): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value)
    ? value.map((entry: Value, index) => [index, entry] as const)
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, entry]) => placesIn(entry, [...path, key]))];
}
