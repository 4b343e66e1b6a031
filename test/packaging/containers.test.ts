import { describe, expect, it } from 'vitest';
import { documents, installed, type OwnContainer, podOf } from './manifests.ts';

const [sidecar] = podOf('argocd-repo-server').containers;
const [serve] = podOf('gitea-runners').containers;

function containers(): readonly (readonly [string, OwnContainer])[] {
  if (sidecar === undefined || serve === undefined) throw new Error('a Deployment without containers');
  return [
    ['the sidecar', sidecar],
    ['serve', serve],
  ];
}

describe.each(containers())('%s', (_, container) => {
  it('runs as user 999 with a read-only root and no rights', () => {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsGroup: 999,
      runAsNonRoot: true,
      runAsUser: 999,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('a container has a memory limit, but no CPU limit that would make CI jobs wait', () => {
    expect(Object.keys(container.resources.limits)).toEqual(['memory']);
    expect(Object.keys(container.resources.requests).sort()).toEqual(['cpu', 'memory']);
  });

  it('a container starts under an init, without a shell', () => {
    expect(container.command.slice(0, 2)).toEqual(['/usr/bin/tini', '--']);
    expect(container.command.join(' ')).not.toMatch(/\b(?:sh|bash|env)\b/);
  });

  it('takes passwords of a proxy, and last, so that they win, the settings that must be equal in both', () => {
    expect([container['envFrom']].flat().slice(-2)).toEqual([
      { secretRef: { name: 'gitea-runners-proxy', optional: true } },
      { configMapRef: { name: 'gitea-runners-settings', optional: true } },
    ]);
  });

  it.each([
    ['the policy, if there is one,', 'gitea-runners-policy', '/etc/gitea-runners/policy'],
    ['the API token', 'gitea-runners-api', '/var/run/secrets/gitea-runners/gitea-api'],
  ])('finds %s where the program looks for it', (_what, name, mountPath) => {
    expect(container.volumeMounts.filter((mount) => mount.name === name)).toEqual([
      { name, mountPath, readOnly: true },
    ]);
  });
});

it('the sidecar has a /tmp of its own, not the repo-server’s', () => {
  expect(sidecar?.volumeMounts.filter(({ mountPath }) => mountPath === '/tmp').map(({ name }) => name)).toEqual([
    'gitea-runners-tmp',
  ]);
});

it('the sidecar writes only to /tmp and the folder of the sockets', () => {
  const writable = sidecar?.volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath);

  expect(writable).toEqual(['/home/argocd/cmp-server/plugins', '/tmp']);
});

it('the sidecar waits for nothing that a person creates: Argo CD starts without it', () => {
  const volumes = podOf('argocd-repo-server').volumes;

  expect(volumes.filter((volume) => 'secret' in volume || 'configMap' in volume)).toEqual([
    { name: 'gitea-runners-api', secret: { defaultMode: 0o444, optional: true, secretName: 'gitea-api' } },
    { name: 'gitea-runners-ca', configMap: { defaultMode: 0o444, optional: true, name: 'gitea-runners-ca' } },
    { name: 'gitea-runners-policy', configMap: { defaultMode: 0o444, optional: true, name: 'gitea-runners-policy' } },
  ]);
});

it('the sidecar gets a short-lived token for Kubernetes that no other container of the pod mounts', () => {
  const pod = podOf('argocd-repo-server');
  const volume = pod.volumes.find(({ name }) => name === 'gitea-runners-kube');
  const mounting = pod.containers.filter(({ volumeMounts }) =>
    volumeMounts.some(({ name }) => name === 'gitea-runners-kube'),
  );

  expect(volume?.['projected']).toMatchObject({
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
      { configMap: { name: 'kube-root-ca.crt' } },
    ],
  });
  expect(mounting.map(({ name }) => name)).toEqual(['gitea-runners']);
  // Set for the pod, every container would get a token.
  expect(pod).not.toHaveProperty('automountServiceAccountToken');
});

it('the sidecar adds nothing to the pod but itself, its volumes and a hint for kubectl', () => {
  expect(installed('Deployment', 'argocd-repo-server')).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'argocd-repo-server', namespace: 'argocd' },
    spec: {
      template: {
        metadata: { annotations: { 'kubectl.kubernetes.io/default-container': 'argocd-repo-server' } },
        spec: { containers: [sidecar], volumes: podOf('argocd-repo-server').volumes },
      },
    },
  });
});

it('mounts of Argo CD’s own Secret the certificate alone, never its key', () => {
  const volume = podOf('gitea-runners').volumes.find(({ name }) => name === 'argocd-tls');

  expect(volume?.['secret']).toMatchObject({
    secretName: 'argocd-secret',
    items: [{ key: 'tls.crt', path: 'tls.crt' }],
  });
});

it('serve is probed on a port that no Service offers', () => {
  const probe = (path: string) => ({ httpGet: { path, port: 'probes' } });
  const services = [installed('Service', 'gitea-runners'), installed('Service', 'gitea-runners-metrics')];

  expect(serve).toMatchObject({
    livenessProbe: probe('/healthz'),
    readinessProbe: probe('/readyz'),
    ports: expect.arrayContaining([{ name: 'probes', containerPort: 8081 }]),
  });
  expect(JSON.stringify(services)).not.toMatch(/probes|8081/);
});

it('serve has no folder to write to', () => {
  expect(serve?.volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual([]);
});

const [values] = documents('helm-values.yaml');

it('the Helm values hold the same sidecar, the same volumes, the same keys of argocd-cm and argocd-rbac-cm', () => {
  expect(values).toEqual({
    configs: {
      cm: installed('ConfigMap', 'argocd-cm')['data'],
      rbac: installed('ConfigMap', 'argocd-rbac-cm')['data'],
    },
    repoServer: {
      serviceAccount: { name: 'argocd-repo-server' },
      extraContainers: [sidecar],
      volumes: podOf('argocd-repo-server').volumes,
    },
  });
});

it('the Helm values hold nothing that the chart’s template engine would take for a template', () => {
  expect(JSON.stringify(values)).not.toContain('{{');
});
