/** `doctor` on installations: whole ones, and those that lack or break one thing. Real program, real HTTPS server, simulated Gitea. */
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CERTIFICATES, kubeconfigFor } from '../kubernetes/through-cli.ts';
import { type ApiServer, send, startApiServer, status } from '../support/api-server.ts';
import { folderWith, groupYaml, runCli } from '../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme } from '../support/start-acme.ts';

const servers: ApiServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

type Json = Record<string, unknown>;
/** Path -> object; a number: this status. */
type World = Record<string, Json | number>;

const ARGO = '/namespaces/argocd';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/runnergroups.gitea.bpg.pw';
const REPO_SERVER = `/apis/apps/v1${ARGO}/deployments/argocd-repo-server`;
const SERVE = `/apis/apps/v1${ARGO}/deployments/gitea-runners`;
const CM = `/api/v1${ARGO}/configmaps/argocd-cm`;
const RBAC = `/api/v1${ARGO}/configmaps/argocd-rbac-cm`;
const APPLICATIONS = `/apis/argoproj.io/v1alpha1${ARGO}/applications`;
const LEASE = `/apis/coordination.k8s.io/v1${ARGO}/leases/gitea-runners-serve`;
const GROUPS = '/apis/gitea.bpg.pw/v1alpha1/runnergroups';
const NAMESPACE = '/api/v1/namespaces/runners';
const REGISTRATION = `${NAMESPACE}/secrets/gitea-runner`;
const API_TOKEN = `${NAMESPACE}/secrets/gitea-api`;

function manifest(file: string): Json {
  const [found] = parseAllDocuments(readFileSync(`install/${file}`, 'utf8'))
    .map((document) => document.toJS() as Json | null)
    .filter((each) => each !== null);
  return found ?? {};
}

function deployment(container: string, readyReplicas = 1): Json {
  const containers = [{ name: container, image: 'argocd-gitea-runners:0.1.0' }];
  return { spec: { replicas: 1, template: { spec: { containers } } }, status: { readyReplicas } };
}

function secret(data: Readonly<Record<string, string>>): Json {
  return {
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

/** As docs/install.md makes it. */
function whole(url: string, spec = ''): World {
  const group = parse(groupYaml(url, spec)) as Json;
  return {
    '/version': { major: '1', minor: '34' },
    [CRD]: manifest('crd.yaml'),
    [REPO_SERVER]: deployment('gitea-runners'),
    [SERVE]: deployment('serve'),
    [CM]: manifest('argocd-cm.yaml'),
    [RBAC]: manifest('argocd-rbac-cm.yaml'),
    [APPLICATIONS]: { items: [manifest('examples/application.yaml')] },
    [LEASE]: { spec: { holderIdentity: 'gitea-runners-1', renewTime: new Date().toISOString() } },
    [GROUPS]: {
      kind: 'RunnerGroupList',
      metadata: {},
      items: [{ ...group, metadata: { ...(group['metadata'] as Json), uid: 'uid-ci' } }],
    },
    [NAMESPACE]: manifest('runners.yaml'),
    [REGISTRATION]: secret({ token: 'registration', 'registration-token': 'registration', url }),
    [API_TOKEN]: secret({ token: GITEA_TOKEN, url }),
  };
}

async function examine(change: (world: World, url: string) => World | undefined = (world) => world, spec = '') {
  const acme = await startAcme();
  const { url } = acme.simulator;
  const base = whole(url, spec);
  const world = change(base, url) ?? base;
  const server = await startApiServer({
    tls: CERTIFICATES,
    override: ({ pathname }, response) => {
      const found = world[pathname];
      if (found === undefined) {
        if (
          !/\/(?:secrets|deployments|configmaps|leases|applications|namespaces\/[^/]+$|customresource)/.test(pathname)
        )
          return false;
        status(response, 404, 'NotFound');
      } else if (typeof found === 'number') status(response, found, 'No');
      else send(response, 200, found);
      return true;
    },
  });
  servers.push(server);
  const run = (...flags: readonly string[]) =>
    runCli(['doctor', '--kubeconfig', kubeconfigFor(server), '-A', ...flags], {}, folderWith({}));
  return { run };
}

it('finds nothing bad in an installation made by the manual', async () => {
  const { run } = await examine();

  const { code, stdout, stderr } = await run();

  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toMatch(/^[✗?]/m);
  expect(stdout).toMatch(/\n\d+ good, 0 bad, 0 not known\n$/);
  expect(stdout).toContain('✓ rights in Argo CD: get and sync of Applications, and nothing more\n');
  expect(stdout).not.toContain('registration"');
});

const edit =
  (path: string, change: (object: Json) => void) =>
  (world: World): World => {
    const object = structuredClone(world[path]) as Json;
    change(object);
    return { ...world, [path]: object };
  };
const without =
  (path: string) =>
  (world: World): World =>
    Object.fromEntries(Object.entries(world).filter(([key]) => key !== path));
const at = (object: unknown, ...keys: readonly (string | number)[]): Json =>
  keys.reduce((value, key) => (value as Record<string, unknown>)[key], object) as Json;

/** What is broken, what the cross says, and a word of the advice. */
const BROKEN: readonly (readonly [string, (world: World) => World, string, string])[] = [
  ['no CRD', without(CRD), '✗ CustomResourceDefinition: it does not exist', 'step 1'],
  [
    'an older CRD',
    edit(
      CRD,
      (crd) =>
        delete at(crd, 'spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties')[
          'podTemplate'
        ],
    ),
    '✗ CustomResourceDefinition: is older than this program: it lacks podTemplate',
    'install/crd.yaml',
  ],
  ['no Argo CD', without(REPO_SERVER), '✗ sidecar in argocd-repo-server: it does not exist', 'Argo CD'],
  [
    'no sidecar',
    (world) => ({ ...world, [REPO_SERVER]: deployment('argocd-repo-server') }),
    '✗ sidecar in argocd-repo-server: there is no container gitea-runners',
    'step 1',
  ],
  [
    'a sidecar that does not start',
    (world) => ({ ...world, [REPO_SERVER]: deployment('gitea-runners', 0) }),
    '✗ sidecar in argocd-repo-server: 0 of 1 ready',
    'describe pods',
  ],
  ['no serve', without(SERVE), '✗ serve: it does not exist', 'step 1'],
  [
    'serve that does not start',
    (world) => ({ ...world, [SERVE]: deployment('serve', 0) }),
    '✗ serve: 0 of 1 ready',
    'describe pods',
  ],
  [
    'a leader that is dead',
    (world) => ({
      ...world,
      [LEASE]: { spec: { holderIdentity: 'gitea-runners-1', renewTime: '2026-01-01T00:00:00Z' } },
    }),
    '✗ leader of serve: gitea-runners-1 does not renew its Lease',
    'logs',
  ],
  [
    'no account',
    edit(CM, (cm) => delete at(cm, 'data')['accounts.gitea-runners']),
    '✗ account in Argo CD: argocd-cm has no accounts.gitea-runners',
    'step 1',
  ],
  [
    'an account that can have no token',
    edit(CM, (cm) => {
      at(cm, 'data')['accounts.gitea-runners'] = 'login';
    }),
    '✗ account in Argo CD: accounts.gitea-runners is login',
    'apiKey',
  ],
  [
    'an account without the right to sync',
    edit(RBAC, (cm) => {
      at(cm, 'data')['policy.gitea-runners.csv'] = 'p, gitea-runners, applications, get, runners/*, allow\n';
    }),
    '✗ rights in Argo CD: gitea-runners may not sync Applications',
    'step 1',
  ],
  [
    'an account that may do more',
    edit(RBAC, (cm) => {
      at(cm, 'data')['policy.csv'] = 'g, gitea-runners, role:admin\n';
    }),
    '✗ rights in Argo CD: gitea-runners may do more than it needs: g, gitea-runners, role:admin',
    'argocd-rbac-cm',
  ],
  [
    'no Application',
    (world) => ({ ...world, [APPLICATIONS]: { items: [] } }),
    '✗ Application: no Application has the plugin',
    'step 3',
  ],
  [
    'an Application that does not prune',
    edit(APPLICATIONS, (list) => delete at(list, 'items', 0, 'spec', 'syncPolicy', 'automated')['prune']),
    '✗ Application runners: automated.prune must be true',
    'install/examples/application.yaml',
  ],
  [
    'an Application that heals itself, and prunes in the foreground',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec', 'syncPolicy', 'automated')['selfHeal'] = true;
      at(list, 'items', 0, 'spec', 'syncPolicy')['syncOptions'] = [
        'ServerSideApply=true',
        'ApplyOutOfSyncOnly=true',
        'RespectIgnoreDifferences=true',
      ];
    }),
    '✗ Application runners: automated.selfHeal must not be true; PrunePropagationPolicy=background is missing',
    'install/examples/application.yaml',
  ],
  [
    'an Application with an error',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0)['status'] = { conditions: [{ type: 'ComparisonError', message: 'GR-TOKEN-01' }] };
    }),
    '✗ Application runners: ComparisonError: GR-TOKEN-01',
    'docs/errors.md',
  ],
  [
    'an Application for another namespace',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec', 'destination')['namespace'] = 'other';
    }),
    '✗ Application: none has the destination namespace runners',
    'Make an Application',
  ],
  [
    'a RunnerGroup that is not valid',
    edit(GROUPS, (list) => delete at(list, 'items', 0, 'spec')['org']),
    '✗ RunnerGroup runners/ci: ',
    'gitea-runners validate',
  ],
  [
    'a namespace that admits no privileged pods',
    (world) =>
      edit(GROUPS, (list) => {
        const spec = at(list, 'items', 0, 'spec');
        spec['containerMode'] = 'dind';
        spec['labels'] = ['linux'];
      })(
        edit(NAMESPACE, (space) => {
          at(space, 'metadata', 'labels')['pod-security.kubernetes.io/enforce'] = 'restricted';
        })(world),
      ),
    '✗ RunnerGroup runners/ci: namespace runners enforces restricted, and its pods need privileged',
    'containerMode: host',
  ],
  [
    'no registration Secret',
    without(REGISTRATION),
    '✗ RunnerGroup runners/ci: Secret gitea-runner: it does not exist',
    'step 2',
  ],
  [
    'an empty registration Secret',
    (world) => ({ ...world, [REGISTRATION]: secret({ 'registration-token': ' ', token: '' }) }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner has no value at',
    'step 2',
  ],
  [
    'a registration Secret of another Gitea',
    (world) => ({
      ...world,
      [REGISTRATION]: secret({ token: 'x', 'registration-token': 'x', url: 'https://other.example.com' }),
    }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner is for another Gitea than',
    'gitea.url',
  ],
  [
    'a token that Gitea refuses',
    (world) => ({
      ...world,
      [API_TOKEN]: secret({ token: 'wrong', url: String(at(world[GROUPS], 'items', 0, 'spec', 'gitea')['url']) }),
    }),
    '✗ RunnerGroup runners/ci: GR-',
    'docs/errors.md',
  ],
];

describe('says with a cross what is broken, and how to mend it', () => {
  it.each(BROKEN)('%s', async (_, change, cross, advice) => {
    const { run } = await examine(change);

    const { code, stdout, stderr } = await run();

    expect({ code, stderr }, stdout).toEqual({ code: 1, stderr: '' });
    const lines = stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith(cross));
    expect(at, stdout).toBeGreaterThanOrEqual(0);
    expect(lines[at + 1]).toContain(advice);
  });
});

it('says what it may not read, and does not call that bad', async () => {
  const { run } = await examine((world) => ({ ...world, [CM]: 403, [REGISTRATION]: 403, [CRD]: 403 }));

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout.match(/^\? /gm)?.length).toBe(3);
});

it('prints JSON, and no token', async () => {
  const { run } = await examine();

  const { code, stdout } = await run('--json');

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    findings: [{ check: 'Kubernetes', is: 'good', text: '1.34' }, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}],
  });
  expect(stdout).not.toContain(GITEA_TOKEN);
});

it('needs a cluster', async () => {
  const outcome = await runCli(['doctor'], { HOME: '/nonexistent' }, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('error: GR-DOCTOR-01 ');
});
