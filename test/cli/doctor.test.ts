/** `doctor` on installations: whole ones, and those that lack or break one thing. Real program, real HTTPS server, simulated Gitea. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
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
/** Path -> object; a text: as it is; a number: this status. */
type World = Record<string, Json | readonly Json[] | string | number>;

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
const API_TOKEN = `/api/v1${ARGO}/secrets/gitea-api`;
const SERVE_SECRET = `/api/v1${ARGO}/secrets/gitea-runners-serve`;
const SERVICE = `/api/v1${ARGO}/services/gitea-runners`;
const POLICY = `/apis/networking.k8s.io/v1${ARGO}/networkpolicies/gitea-runners`;
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
const NODES = '/api/v1/nodes';
const PODS = `/api/v1${ARGO}/pods`;
const METRICS = `${PODS}/gitea-runners-1:9090/proxy/metrics`;
const SETTINGS = `/api/v1${ARGO}/configmaps/gitea-runners-settings`;
const AUTOSCALER = '/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status';
/** Of Gitea's API, in the same world. */
const HOOKS = '/api/v1/orgs/acme/hooks';
const REPOSITORIES = '/api/v1/orgs/acme/repos';
const COMPARED = '/api/v1/orgs/acme/actions/runners/registration-token';

/** The object of a kind that a file of `install/` has first. */
function manifest(file: string, kind?: string): Json {
  const found = parseAllDocuments(readFileSync(`install/${file}`, 'utf8'))
    .map((document) => document.toJS() as Json | null)
    .find((each) => each !== null && (kind === undefined || each['kind'] === kind));
  return found ?? {};
}

const ready = (deployment: Json, readyReplicas = 1): Json => ({ ...deployment, status: { readyReplicas } });
const repoServer = (readyReplicas = 1): Json => ready(manifest('argocd-repo-server.yaml'), readyReplicas);
const serve = (readyReplicas = 1): Json => ready(manifest('gitea-runners.yaml', 'Deployment'), readyReplicas);
/** What `/metrics` says, as prom-client writes it. Seconds since 1970. */
const metrics = (started: number, last: Readonly<Record<string, number>>): string =>
  [
    `process_start_time_seconds ${started}`,
    ...Object.entries(last).map(
      ([result, at]) => `gitea_runners_webhook_last_delivery_timestamp_seconds{result="${result}"} ${at}`,
    ),
    '',
  ].join('\n');
const hook = (url = 'http://gitea-runners.argocd.svc/webhook', more: Json = {}): Json => ({
  active: true,
  events: ['workflow_job'],
  config: { url, content_type: 'json' },
  ...more,
});
const node = (labels: Json = {}, taints: readonly Json[] = []): Json => ({
  metadata: { name: 'one', labels },
  spec: { taints },
  status: { allocatable: { cpu: '4', memory: '8Gi' } },
});

function secret(data: Readonly<Record<string, string>>): Json {
  return {
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
}

function condition(isReady: string): Json {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return { type: 'Ready', status: isReady, reason: 'GiteaFailed', message: 'GR-HTTP-01 no answer', lastTransitionTime };
}

/** As docs/install.md makes it. */
function whole(url: string, spec = ''): World {
  const group = parse(groupYaml(url, spec)) as Json;
  return {
    '/version': { major: '1', minor: '34' },
    [CRD]: manifest('crd.yaml'),
    [REPO_SERVER]: repoServer(),
    [SERVE]: serve(),
    [SERVE_SECRET]: secret({ 'argocd-token': 'of Argo CD', 'webhook-secret': 'of webhooks' }),
    [SERVICE]: manifest('gitea-runners.yaml', 'Service'),
    [POLICY]: manifest('gitea-runners.yaml', 'NetworkPolicy'),
    [NODES]: { items: [node()] },
    [PODS]: { items: [{ metadata: { name: 'gitea-runners-1' }, status: { phase: 'Running' } }] },
    [METRICS]: metrics(1_700_000_000, { accepted: 1_700_000_100 }),
    [HOOKS]: [hook()],
    [REPOSITORIES]: [{ full_name: 'acme/web', has_actions: true }],
    [COMPARED]: { token: 'registration' },
    [CM]: manifest('argocd-cm.yaml'),
    [RBAC]: manifest('argocd-rbac-cm.yaml'),
    [APPLICATIONS]: { items: [manifest('examples/application.yaml')] },
    [LEASE]: { spec: { holderIdentity: 'gitea-runners-1', renewTime: new Date().toISOString() } },
    [GROUPS]: {
      kind: 'RunnerGroupList',
      metadata: {},
      items: [
        {
          ...group,
          metadata: { ...(group['metadata'] as Json), uid: 'uid-ci' },
          status: { lastCheckTime: new Date().toISOString(), conditions: [condition('True')] },
        },
      ],
    },
    [NAMESPACE]: manifest('runners.yaml'),
    [REGISTRATION]: secret({ token: 'registration', 'registration-token': 'registration', url }),
    [API_TOKEN]: secret({ token: GITEA_TOKEN, url }),
  };
}

/** Never allowed. */
const FORBIDDEN = ['create jobs', 'delete jobs', 'list secrets'];

/** @param turned deeds that are allowed and should not be, or the other way round, each in a line. */
async function reviewed(request: IncomingMessage, response: ServerResponse, turned: string): Promise<void> {
  const { spec } = (await json(request)) as { readonly spec: { readonly resourceAttributes: Record<string, string> } };
  const { verb, resource } = spec.resourceAttributes;
  const deed = `${verb} ${resource}`;
  send(response, 201, { status: { allowed: FORBIDDEN.includes(deed) === turned.split('\n').includes(deed) } });
}

function answerWith(response: ServerResponse, found: World[string]): void {
  if (typeof found === 'number') status(response, found, 'No');
  else if (typeof found === 'string') response.end(found);
  else send(response, 200, found);
}

async function examine(change: (world: World, url: string) => World | undefined = (world) => world, spec = '') {
  const acme = await startAcme();
  const { url } = acme.simulator;
  const base = whole(url, spec);
  const world = change(base, url) ?? base;
  const server = await startApiServer({
    tls: CERTIFICATES,
    override: ({ pathname }, response, request) => {
      if (pathname === REVIEWS && typeof world[REVIEWS] !== 'number') {
        void reviewed(request, response, String(world[REVIEWS] ?? ''));
        return true;
      }
      const found = world[pathname];
      if (found === undefined) {
        if (
          !/\/(?:secrets|services|deployments|configmaps|leases|applications|nodes|nodepools|networkpolicies|pods|namespaces\/[^/]+$|customresource)/.test(
            pathname,
          )
        )
          return false;
        status(response, 404, 'NotFound');
      } else answerWith(response, found);
      return true;
    },
  });
  servers.push(server);
  acme.simulator.intercept(({ url: target = '' }, response) => {
    const found = world[target.replace(/\?.*/, '')];
    if (found === undefined) return false;
    // Of a list, one page.
    answerWith(response, /[?&]page=[2-9]/.test(target) ? [] : found);
    return true;
  });
  const run = (...flags: readonly string[]) =>
    runCli(['doctor', '--kubeconfig', kubeconfigFor(server), '-A', ...flags], {}, folderWith({}));
  return { run, requests: acme.simulator.requests };
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
  ['no CRD', without(CRD), '✗ CustomResourceDefinition: it does not exist', 'install/crd.yaml'],
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
    edit(REPO_SERVER, (found) => {
      at(found, 'spec', 'template', 'spec')['containers'] = [];
    }),
    '✗ sidecar in argocd-repo-server: there is no container gitea-runners',
    'step 1',
  ],
  [
    'a sidecar that does not start',
    (world) => ({ ...world, [REPO_SERVER]: repoServer(0) }),
    '✗ sidecar in argocd-repo-server: 0 of 1 ready',
    'describe pods',
  ],
  ['no serve', without(SERVE), '✗ serve: it does not exist', 'step 1'],
  ['serve that does not start', (world) => ({ ...world, [SERVE]: serve(0) }), '✗ serve: 0 of 2 ready', 'describe pods'],
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
    'install/argocd-cm.yaml',
  ],
  [
    'an account that can have no token',
    edit(CM, (cm) => {
      at(cm, 'data')['accounts.gitea-runners'] = 'login';
    }),
    '✗ account in Argo CD: accounts.gitea-runners is login',
    'install/argocd-cm.yaml',
  ],
  [
    'an account without the right to sync',
    edit(RBAC, (cm) => {
      at(cm, 'data')['policy.gitea-runners.csv'] = 'p, gitea-runners, applications, get, runners/*, allow\n';
    }),
    '✗ rights in Argo CD: gitea-runners may not sync Applications',
    'install/argocd-rbac-cm.yaml',
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
    'kubectl -n argocd patch application runners --type=merge',
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
    '"selfHeal":null',
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
    'kubectl label --overwrite namespace runners pod-security.kubernetes.io/enforce=privileged',
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
    '✗ Gitea, org acme: GR-GITEA-01 ',
    'docs/errors.md',
  ],
  [
    'a sidecar whose plugin Argo CD cannot see',
    edit(REPO_SERVER, (found) => {
      const container = at(found, 'spec', 'template', 'spec', 'containers', 0);
      container['volumeMounts'] = [{ name: 'var-files', mountPath: '/var/run/argocd/' }];
      container['command'] = ['/usr/bin/tini', '--', 'sh'];
    }),
    '✗ sidecar in argocd-repo-server: Argo CD cannot know the plugin: no /home/argocd/cmp-server/plugins; its command is not ',
    'step 1',
  ],
  [
    'serve of another image than the sidecar',
    edit(SERVE, (found) => {
      at(found, 'spec', 'template', 'spec', 'containers', 0)['image'] = 'argocd-gitea-runners:0.0.9';
    }),
    '✗ serve: its image is argocd-gitea-runners:0.0.9, and that of the sidecar ',
    'step 1',
  ],
  [
    'serve with 0 replicas',
    edit(SERVE, (found) => {
      at(found, 'spec')['replicas'] = 0;
    }),
    '✗ serve: it has 0 replicas',
    'kubectl -n argocd scale deployment/gitea-runners --replicas=2',
  ],
  ['no Secret of serve', without(SERVE_SECRET), '✗ Secret of serve: it does not exist', 'step 2'],
  [
    "no value for Argo CD's token",
    (world) => ({ ...world, [SERVE_SECRET]: secret({ 'argocd-token': '\n', 'webhook-secret': 'x' }) }),
    '✗ Secret of serve: has no value at argocd-token',
    'step 2',
  ],
  ['no Service', without(SERVICE), '✗ Service for webhooks: it does not exist', 'install/gitea-runners.yaml'],
  [
    'a sidecar that may not list pods, and serve neither',
    (world) => ({ ...world, [REVIEWS]: 'list pods' }),
    '✗ rights in Kubernetes: sidecar in namespace runners may not list pods',
    'install/runners.yaml',
  ],
  [
    'accounts that may make Jobs',
    (world) => ({ ...world, [REVIEWS]: 'create jobs' }),
    '✗ rights in Kubernetes: sidecar in namespace runners may create jobs.batch, which it never needs',
    'Remove the binding',
  ],
  [
    'an Application of another project',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec')['project'] = 'default';
    }),
    '✗ rights in Argo CD: gitea-runners may not get and sync default/runners',
    'kubectl -n argocd edit configmap argocd-rbac-cm',
  ],
  [
    'no Secret with the API token',
    without(API_TOKEN),
    '✗ RunnerGroup runners/ci: API token: GR-TOKEN-10 ',
    'step 1 of docs/install.md',
  ],
  [
    'a Secret with the API token that is not mounted',
    edit(REPO_SERVER, (found) => {
      const container = at(found, 'spec', 'template', 'spec', 'containers', 0);
      const mounts = container['volumeMounts'] as readonly Json[];
      container['volumeMounts'] = mounts.filter(({ name }) => name !== 'gitea-runners-api');
    }),
    '✗ RunnerGroup runners/ci: API token: GR-DOCTOR-02 ',
    'step 1 of docs/install.md',
  ],
  [
    'a registration token of another scope',
    (world) => ({ ...world, [COMPARED]: { token: 'that of acme' } }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner has not the registration token of its scope',
    'step 2',
  ],
  [
    'Actions that are off everywhere',
    (world) => ({ ...world, [REPOSITORIES]: [{ full_name: 'acme/web', has_actions: false }] }),
    '✗ Actions of org acme: they are off in acme/web',
    'Units',
  ],
  [
    'a group that serve cannot serve',
    edit(GROUPS, (list) => {
      at(list, 'items', 0, 'status')['conditions'] = [condition('False')];
    }),
    '✗ RunnerGroup runners/ci, as serve sees it: GiteaFailed: GR-HTTP-01 no answer',
    'docs/serve.md',
  ],
  [
    'a group that serve never looked at',
    edit(GROUPS, (list) => delete at(list, 'items', 0)['status']),
    '✗ RunnerGroup runners/ci, as serve sees it: it was never looked at',
    'GITEA_RUNNERS_NAMESPACES must name runners',
  ],
  [
    'a group that serve has not looked at for long',
    edit(GROUPS, (list) => {
      at(list, 'items', 0, 'status')['lastCheckTime'] = '2026-01-01T00:00:00Z';
    }),
    '✗ RunnerGroup runners/ci, as serve sees it: Gitea was last looked at 2026-01-01T00:00:00Z',
    'docs/serve.md',
  ],
  [
    'a node that keeps its pods away',
    (world) => ({ ...world, [NODES]: { items: [node({}, [{ key: 'ci', effect: 'NoSchedule' }])] } }),
    '✗ RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with taint ci:NoSchedule',
    'untaint',
  ],
  [
    'no webhook',
    (world) => ({ ...world, [HOOKS]: [], [METRICS]: metrics(1_700_000_000, {}) }),
    '✗ webhook of org acme: there is none',
    'docs/install.md',
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

it.each<readonly [string, (world: World) => World, string]>([
  ['webhooks', (world) => ({ ...world, [HOOKS]: 403 }), '? webhook of org acme: could not look: GR-GITEA-02 '],
  [
    'deliveries',
    (world) => ({ ...world, [PODS]: 403 }),
    '? webhook of org acme: to http://gitea-runners.argocd.svc/webhook; whether it delivers is not known: its pods cannot be listed (403)',
  ],
  [
    'the registration token',
    (world) => ({ ...world, [COMPARED]: 403 }),
    '? RunnerGroup runners/ci: Secret gitea-runner has a registration token; whether it is that of its scope was not compared: GR-GITEA-02 ',
  ],
  [
    'nodes',
    (world) => ({ ...world, [NODES]: 403 }),
    '? RunnerGroup runners/ci, nodes: nodes cannot be read: you may not read it (403)',
  ],
  ['roles', (world) => ({ ...world, [REVIEWS]: 403 }), '? rights in Kubernetes: you may not ask that (403)'],
  ['the API token', (world) => ({ ...world, [API_TOKEN]: 403 }), '? RunnerGroup runners/ci: http'],
  ['the NetworkPolicy, which may be left out', without(POLICY), '? NetworkPolicy of serve: it does not exist'],
  [
    'nodes that an autoscaler adds',
    (world) => ({ ...world, [NODES]: { items: [] }, [AUTOSCALER]: {} }),
    '? RunnerGroup runners/ci, nodes: none of 0 can take its pod',
  ],
])('could not look at %s, and does not call that bad', async (_, change, line) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(
    stdout.split('\n').filter((each) => each.startsWith(line)),
    stdout,
  ).not.toEqual([]);
});

it('reads API tokens in the namespace of the group where sidecar and serve do', async () => {
  const { run } = await examine((world) => {
    const { [API_TOKEN]: token, ...rest } = world;
    return {
      ...rest,
      [`${NAMESPACE}/secrets/gitea-api`]: token ?? 404,
      [SETTINGS]: { data: { GITEA_RUNNERS_SECRETS: 'api' } },
    };
  });

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout).not.toMatch(/^[✗?]/m);
});

it('asks each scope of Gitea once, however many groups share it', async () => {
  const { run, requests } = await examine(
    edit(GROUPS, (list) => {
      const items = list['items'] as Json[];
      const [first = {}] = items;
      const metadata = first['metadata'] as Json;
      list['items'] = [...'abc'].map((name) => ({ ...first, metadata: { ...metadata, name, uid: name } }));
    }),
  );

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  expect(stdout.match(/^✓ Gitea, org acme/gm)).toHaveLength(1);
  expect(requests.filter(({ target }) => target.startsWith(HOOKS))).toHaveLength(2);
  expect(requests.filter(({ target }) => /actions\/runners\?/.test(target))).toHaveLength(1);
});

it('prints JSON, and no token', async () => {
  const { run } = await examine();

  const { code, stdout } = await run('--json');

  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    findings: expect.arrayContaining([{ check: 'Kubernetes', is: 'good', text: '1.34' }]),
  });
  expect(stdout).not.toContain(GITEA_TOKEN);
});

it('needs a cluster', async () => {
  const outcome = await runCli(['doctor'], { HOME: '/nonexistent' }, folderWith({}));

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('error: GR-DOCTOR-01 ');
});
