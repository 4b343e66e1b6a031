import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { CREDENTIALS_TYPE } from '../../src/shared/marks.ts';
import { installed, type KubeObject, objects } from './manifests.ts';

const Rules = z.object({
  rules: z.array(
    z.object({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  ),
});

/** `verb resource.group` of a role, with the names it is limited to. */
function rights(kind: string, name: string): readonly string[] {
  const { rules } = Rules.parse(installed(kind, name));
  return rules
    .flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
      verbs.map((verb) => `${verb} ${resources.join()}.${apiGroups.join()}${resourceNames ? ` ${resourceNames}` : ''}`),
    )
    .sort();
}

describe('rights in Kubernetes', () => {
  const LEASE = 'leases.coordination.k8s.io';
  it.each([
    [
      'let the sidecar list Jobs, pods and RunnerGroups',
      'ClusterRole',
      'gitea-runners-sidecar',
      ['list jobs.batch', 'list pods.', 'list runnergroups.gitea.bpg.pw'],
    ],
    [
      'let serve look, and write the status of RunnerGroups and Events',
      'ClusterRole',
      'gitea-runners-serve',
      [
        'create events.',
        'list jobs.batch',
        'list pods.',
        'list runnergroups.gitea.bpg.pw',
        'patch runnergroups/status.gitea.bpg.pw',
        'watch jobs.batch',
        'watch pods.',
        'watch runnergroups.gitea.bpg.pw',
      ],
    ],
    [
      'let serve hold its own Lease',
      'Role',
      'gitea-runners-serve',
      [`create ${LEASE}`, `get ${LEASE} gitea-runners-serve`, `update ${LEASE} gitea-runners-serve`],
    ],
  ])('%s', (_, kind, name, wanted) => {
    expect(rights(kind, name)).toEqual(wanted);
  });

  it('hold in the namespace of the runners only: no role is bound to the whole cluster', () => {
    const bindings = objects('install.yaml').filter(({ kind }) => kind.endsWith('Binding'));

    const bound = (namespace: string, kind: string, name: string, account: string) => ({
      kind: 'RoleBinding',
      metadata: { namespace },
      roleRef: { kind, name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: 'argocd' }],
    });
    expect(bindings).toMatchObject([
      bound('argocd', 'Role', 'gitea-runners-serve', 'gitea-runners'),
      bound('runners', 'ClusterRole', 'gitea-runners-sidecar', 'argocd-repo-server'),
      bound('runners', 'ClusterRole', 'gitea-runners-serve', 'gitea-runners'),
    ]);
  });
});

it('rights in Argo CD are get and sync of Applications in one project', () => {
  expect(installed('ConfigMap', 'argocd-rbac-cm')['data']).toEqual({
    'policy.gitea-runners.csv':
      'p, gitea-runners, applications, get, runners/*, allow\np, gitea-runners, applications, sync, runners/*, allow\n',
  });
});

it('belong to an account that can have tokens, but cannot log in', () => {
  expect(installed('ConfigMap', 'argocd-cm')['data']).toMatchObject({ 'accounts.gitea-runners': 'apiKey' });
});

it('rights in Argo CD let Applications make Jobs and RunnerGroups in one namespace, and nothing for the whole cluster', () => {
  const [project] = objects('examples/project.yaml');

  expect(project?.['spec']).toMatchObject({
    clusterResourceWhitelist: [],
    destinations: [{ namespace: 'runners', server: 'https://kubernetes.default.svc' }],
    namespaceResourceWhitelist: [
      { group: 'batch', kind: 'Job' },
      { group: 'gitea.bpg.pw', kind: 'RunnerGroup' },
    ],
  });
});

describe('the network policies', () => {
  it('let nobody call a runner, and let no runner call the cloud’s metadata service', () => {
    const policy = JSON.stringify(installed('NetworkPolicy', 'gitea-runner'));

    expect(policy).toContain('"ingress":[]');
    expect(policy).toContain('"except":["169.254.0.0/16","100.100.100.200/32","168.63.129.16/32"]');
    expect(policy).toContain('"policyTypes":["Ingress","Egress"]');
  });

  const noRunners = {
    namespaceSelector: notIn('kubernetes.io/metadata.name', 'runners'),
    podSelector: notIn('app.kubernetes.io/name', 'gitea-runner'),
  };

  it('open two ports of serve: the webhooks to everybody, the metrics to pods that run no CI job', () => {
    expect(installed('NetworkPolicy', 'gitea-runners')['spec']).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { ports: [{ port: 8080, protocol: 'TCP' }] },
        { from: [noRunners], ports: [{ port: 9090, protocol: 'TCP' }] },
      ],
    });
  });

  it('let serve, which asks at addresses that tenants write, call no metadata service', () => {
    const egressOf = (name: string) => {
      const { egress } = installed('NetworkPolicy', name)['spec'] as Record<string, readonly Record<string, unknown>[]>;
      return egress ?? [];
    };
    const anywhere = egressOf('gitea-runners').filter((rule) => !rule['to']);
    const outside = egressOf('gitea-runners').filter((rule) => JSON.stringify(rule['to'] ?? []).includes('ipBlock'));
    const ofRunners = egressOf('gitea-runner').map(({ to }) => to as readonly object[]);
    const pods = { namespaceSelector: {} };

    // Names, and the API server, which is a node in some networks. No metadata service has these ports.
    expect(anywhere.flatMap(({ ports }) => ports)).toEqual([
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
      { port: 6443, protocol: 'TCP' },
    ]);
    expect(outside.map(({ to }) => to)).toEqual(ofRunners.map((to) => [...to, pods]));
  });

  it('open the port of the page with its Service, to pods that run no CI job, and no other port', () => {
    const [service, policy] = objects('page.yaml').map(({ spec }) => spec) as Record<string, unknown>[];

    expect(service).toMatchObject({
      selector: { 'app.kubernetes.io/component': 'serve' },
      ports: [{ targetPort: 8082 }],
    });
    expect(policy).toEqual({
      podSelector: { matchLabels: service?.['selector'] },
      policyTypes: ['Ingress'],
      ingress: [{ from: [noRunners], ports: [{ port: 8082, protocol: 'TCP' }] }],
    });
  });
});

it('the port of looks is open to the repo-server alone, and its Service has the address of each replica', () => {
  const [service, policy] = objects('looks.yaml').map(({ spec }) => spec) as Record<string, unknown>[];

  expect(service).toMatchObject({ clusterIP: 'None', ports: [{ port: 8083, targetPort: 8083 }] });
  expect(policy).toEqual({
    podSelector: { matchLabels: service?.['selector'] },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'argocd-repo-server' } } }],
        ports: [{ port: 8083, protocol: 'TCP' }],
      },
    ],
  });
});

function notIn(key: string, value: string): object {
  return { matchExpressions: [{ key, operator: 'NotIn', values: [value] }] };
}

it('install.yaml holds no Secret: people create them', () => {
  expect(objects('install.yaml').filter(({ kind }) => kind === 'Secret')).toEqual([]);
});

it.each([
  'cache.yaml',
  'looks.yaml',
  'page.yaml',
  'registration-secrets.yaml',
  'runner-credentials.yaml',
  'secrets-api.yaml',
  'slack-extend.yaml',
  'monitoring/servicemonitor.yaml',
])('nobody gets %s without asking: install.yaml holds nothing of it', (file) => {
  const idOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
  const installedIds = objects('install.yaml').map(idOf);

  expect(objects(file).filter((object) => installedIds.includes(idOf(object)))).toEqual([]);
});

it.each([
  [
    'change Jobs',
    'slack-extend.yaml',
    [
      { resources: ['jobs'], verbs: ['get', 'patch'] },
      { resources: ['pods'], verbs: ['get'] },
    ],
  ],
  [
    'write one Secret, and make none,',
    'registration-secrets.yaml',
    [{ resources: ['secrets'], resourceNames: ['gitea-runner'], verbs: ['get', 'patch'] }],
  ],
  [
    'make Secrets, and nothing else with them,',
    'runner-credentials.yaml',
    [{ resources: ['secrets'], verbs: ['create'] }],
  ],
])('serve may %s only where %s is applied', (_, file, rules) => {
  const roles = objects(file).filter(({ kind }) => kind === 'Role');
  expect(roles[0]).toMatchObject({ metadata: { namespace: 'runners' }, rules });
});

it('a policy holds serve to Secrets of its own type that a Job of the same name owns', () => {
  const policy = JSON.stringify(objects('runner-credentials.yaml').filter(({ kind }) => kind.startsWith('Validating')));

  expect(policy).toContain("request.userInfo.username == 'system:serviceaccount:argocd:gitea-runners'");
  expect(policy).toContain(`object.type == '${CREDENTIALS_TYPE}'`);
  expect(policy).toContain("owner.kind == 'Job' && owner.name == object.metadata.name");
  expect(policy).toContain('"failurePolicy":"Fail"');
  expect(policy).toContain('"validationActions":["Deny"]');
});
