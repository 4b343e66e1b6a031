/** The Helm chart with real helm: lint, what it renders, which values it refuses. In a cluster: test/cluster/chart.test.ts. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { expectedObjects, OPTIONS, sorted } from '../packaging/chart.ts';
import { type KubeObject, objects } from '../packaging/manifests.ts';

const CHART = join('install', 'chart');
const VALUES = join('test', 'servers', 'chart-values');
const helm = join(inject('builds').helm, 'helm');
const folder = mkdtempSync(join(tmpdir(), 'chart-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Renders the chart with these values. @throws with helm's stderr */
function render(values: unknown, namespace = 'argocd'): readonly KubeObject[] {
  const file = join(folder, 'values.yaml');
  writeFileSync(file, stringify(values));
  const text = execFileSync(helm, ['template', 'x', CHART, '--namespace', namespace, '--values', file], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
  // A template whose values switch it off leaves an empty document.
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as KubeObject | null) ?? []);
}

function find(found: readonly KubeObject[], kind: string, name: string, namespace?: string): unknown {
  return found.find(
    ({ kind: its, metadata }) =>
      its === kind && metadata.name === name && (namespace === undefined || metadata.namespace === namespace),
  );
}

/** Returns the settings that `serve` reads. Undefined: there are none. */
function settingsOf(values: unknown): unknown {
  return (find(render(values), 'ConfigMap', 'gitea-runners-settings') as { readonly data: unknown } | undefined)?.data;
}

/** The Deployment of `serve` as JSON. */
const serveOf = (values: unknown) => JSON.stringify(find(render(values), 'Deployment', 'gitea-runners'));

const PAGE = { enabled: true, url: 'https://runners.example.com', gitea: 'http://gitea:3000', clientId: 'id' };

it('the chart passes helm lint --strict, with its defaults and with each file of values', () => {
  const files = readdirSync(VALUES).map((file) => ['--values', join(VALUES, file)]);

  for (const values of [[], ...files]) {
    const { status, stdout } = spawnSync(helm, ['lint', '--strict', CHART, ...values], { encoding: 'utf8' });
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
    expect(status).toBe(0);
  }
  expect(files.length).toBeGreaterThan(2);
});

it('the chart renders with its defaults the objects of install.yaml', () => {
  expect(sorted(render({}))).toEqual(expectedObjects());
});

it('the chart renders the objects of the optional files when they are asked for', () => {
  const asked = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, { enabled: true }]));
  const found = render({ ...asked, page: PAGE });

  for (const object of Object.values(OPTIONS).flatMap(objects)) expect(found).toContainEqual(object);
  expect(find(found, 'ConfigMap', 'gitea-runners-settings')).toMatchObject({
    data: { GITEA_RUNNERS_SECRETS: 'api', GITEA_RUNNERS_REGISTRATION_SECRETS: 'gitea-runner' },
  });
});

it('the chart writes the values of tracing into the settings, and none without an endpoint', () => {
  const sampled = {
    sampler: 'parentbased_traceidratio',
    samplerArg: '0.1',
    resourceAttributes: { 'deployment.environment': 'prod', team: 'a, b' },
  };

  expect(settingsOf({ tracing: sampled })).toBeUndefined();
  expect(settingsOf({ tracing: { ...sampled, endpoint: 'http://collector:4318', insecure: true } })).toMatchObject({
    GITEA_RUNNERS_TRACING_ENDPOINT: 'http://collector:4318',
    GITEA_RUNNERS_TRACING_INSECURE: 'true',
    GITEA_RUNNERS_TRACING_SAMPLER: 'parentbased_traceidratio',
    GITEA_RUNNERS_TRACING_SAMPLER_ARG: '0.1',
    GITEA_RUNNERS_TRACING_RESOURCE_ATTRIBUTES: 'deployment.environment=prod,team=a%2C%20b',
  });
});

it('the chart writes the values of the page into the settings, and refuses to go without one that it needs', () => {
  expect(settingsOf({ page: { ...PAGE, logUrl: 'https://logs/{pod}' } })).toMatchObject({
    GITEA_RUNNERS_PAGE_LISTEN: ':8082',
    GITEA_RUNNERS_PAGE_URL: 'https://runners.example.com',
    GITEA_RUNNERS_PAGE_GITEA: 'http://gitea:3000',
    GITEA_RUNNERS_PAGE_CLIENT_ID: 'id',
    GITEA_RUNNERS_PAGE_LOG_URL: 'https://logs/{pod}',
  });
  expect(settingsOf({ page: { ...PAGE, enabled: false } })).toBeUndefined();
  for (const name of ['url', 'gitea', 'clientId'])
    expect(() => render({ page: { ...PAGE, [name]: '' } })).toThrow(`page.${name}`);
});

it('the chart writes what follows from several values into the settings at once, and a setting of a person wins', () => {
  const values = {
    tracing: { endpoint: 'http://collector:4318', samplerArg: '0.1' },
    registrationSecrets: { enabled: true, secretNames: ['one', 'two'] },
    secretsApi: { enabled: true },
    settings: { GITEA_RUNNERS_TRACING_SAMPLER_ARG: '0.5', GITEA_RUNNERS_SWEEP: 'true' },
  };

  expect(settingsOf(values)).toMatchObject({
    GITEA_RUNNERS_REGISTRATION_SECRETS: 'one,two',
    GITEA_RUNNERS_SECRETS: 'api',
    GITEA_RUNNERS_SWEEP: 'true',
    GITEA_RUNNERS_TRACING_ENDPOINT: 'http://collector:4318',
    GITEA_RUNNERS_TRACING_SAMPLER_ARG: '0.5',
  });
});

it('the chart is of the version of the product, and so is its image', () => {
  const shown = execFileSync(helm, ['show', 'chart', CHART], { encoding: 'utf8' });
  const digest = `sha256:${'0'.repeat(64)}`;
  const image = (values: unknown) => /"image":"([^"]*)"/.exec(serveOf(values))?.[1];

  expect(shown).toContain(`version: ${packageJson.version}\n`);
  expect(image({})).toBe(`argocd-gitea-runners:${packageJson.version}`);
  expect(image({ image: { repository: 'r.example.com/x', tag: '1' } })).toBe('r.example.com/x:1');
  expect(image({ image: { tag: '1', digest } })).toBe(`argocd-gitea-runners:1@${digest}`);
});

it('the chart gives the rights in each namespace of runners, and keeps each away from the metrics', () => {
  const found = render({ runners: { namespaces: ['runners', 'team-b'], podSecurity: 'restricted' } }, 'cd');

  for (const namespace of ['runners', 'team-b']) {
    expect(find(found, 'Namespace', namespace)).toMatchObject({
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
    expect(find(found, 'RoleBinding', 'gitea-runners-serve', namespace)).toMatchObject({
      subjects: [{ name: 'gitea-runners', namespace: 'cd' }],
    });
    expect(find(found, 'NetworkPolicy', 'gitea-runner', namespace)).toBeDefined();
  }
  expect(find(found, 'ConfigMap', 'gitea-runners-defaults')).toMatchObject({
    metadata: { namespace: 'cd' },
    data: { GITEA_RUNNERS_ARGOCD_NAMESPACE: 'cd', GITEA_RUNNERS_NAMESPACES: 'runners,team-b' },
  });
  expect(JSON.stringify(find(found, 'NetworkPolicy', 'gitea-runners'))).toContain('"values":["runners","team-b"]');
});

it('the chart replaces the pods of serve when the settings change, and has no such mark without settings', () => {
  const mark = (settings: Readonly<Record<string, string>>) =>
    /gitea.bpg.pw\/settings":"(\w+)/.exec(serveOf({ settings }))?.[1];

  expect(mark({})).toBeUndefined();
  expect(mark({ GITEA_RUNNERS_INSTANCE: 'a' })).toMatch(/^[0-9a-f]{16}$/);
  expect(mark({ GITEA_RUNNERS_INSTANCE: 'a' })).not.toBe(mark({ GITEA_RUNNERS_INSTANCE: 'b' }));
});

it('the chart puts every value of serve into its pod', () => {
  const serve = {
    replicas: 3,
    extraArgs: ['--verbose'],
    resources: { limits: { memory: '1Gi' } },
    nodeSelector: { pool: 'infra' },
    tolerations: [{ key: 'infra', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'high',
    podAnnotations: { a: 'b' },
    extraVolumes: [{ name: 'second', secret: { secretName: 'gitea-second' } }],
    extraVolumeMounts: [{ name: 'second', mountPath: '/x', readOnly: true }],
  };

  const found = find(render({ serve, imagePullSecrets: [{ name: 'registry' }] }), 'Deployment', 'gitea-runners');

  expect(found).toMatchObject({
    spec: {
      replicas: 3,
      template: {
        metadata: { annotations: { a: 'b' } },
        spec: {
          imagePullSecrets: [{ name: 'registry' }],
          nodeSelector: { pool: 'infra' },
          tolerations: serve.tolerations,
          affinity: serve.affinity,
          priorityClassName: 'high',
          containers: [
            {
              command: expect.arrayContaining(['serve', '--verbose']),
              resources: { limits: { memory: '1Gi' } },
              volumeMounts: expect.arrayContaining(serve.extraVolumeMounts),
            },
          ],
          volumes: expect.arrayContaining(serve.extraVolumes),
        },
      },
    },
  });
});

it('the chart leaves out what is switched off', () => {
  const kinds = render({
    crds: { enabled: false },
    networkPolicy: { enabled: false },
    runners: { createNamespaces: false },
  }).map(({ kind }) => kind);

  expect(kinds).toContain('Deployment');
  expect(kinds.filter((kind) => /^(?:CustomResource|Network|Namespace)/.test(kind))).toEqual([]);
});

it('prePull is one DaemonSet without rights that has each image once, on the nodes of the runners', () => {
  const tolerations = [{ key: 'ci', operator: 'Exists' }];
  const values = { prePull: { images: ['a.example.com/one:1', 'two:2'], tolerations, nodeSelector: { pool: 'ci' } } };

  const [found, ...more] = render(values).filter(({ kind }) => kind === 'DaemonSet');

  expect(more).toEqual([]);
  expect(found).toMatchObject({
    metadata: { name: 'gitea-runners-pre-pull', namespace: 'argocd' },
    spec: {
      template: {
        spec: {
          automountServiceAccountToken: false,
          initContainers: [{ image: 'a.example.com/one:1' }, { image: 'two:2' }],
          containers: [{ image: 'a.example.com/one:1' }],
          nodeSelector: { pool: 'ci' },
          tolerations,
        },
      },
    },
  });
  expect(render({}).some(({ kind }) => kind === 'DaemonSet')).toBe(false);
});

it.each([
  ['a misspelt section', { serv: { replicas: 1 } }, "'serv' not allowed"],
  ['a misspelt key', { serve: { replica: 1 } }, "'replica' not allowed"],
  ['a number as a string', { serve: { replicas: '2' } }, 'want integer'],
  ['a setting that YAML reads as a boolean', { settings: { GITEA_RUNNERS_SWEEP: true } }, 'want string'],
  ['no namespace', { runners: { namespaces: [] } }, 'minItems'],
  ['a namespace with capitals', { runners: { namespaces: ['Runners'] } }, 'does not match pattern'],
  ['a Pod Security level that does not exist', { runners: { podSecurity: 'strict' } }, 'must be one of'],
  ['half a digest', { image: { digest: 'sha256:abc' } }, 'does not match pattern'],
  ['a port that is none', { networkPolicy: { egressPorts: [70_000] } }, 'maximum'],
  ['an argument that is no flag', { serve: { extraArgs: ['debug'] } }, 'does not match pattern'],
  [
    'a cache outside of the namespaces of runners',
    { runners: { namespaces: ['ci', 'team-b'] }, cache: { enabled: true } },
    'cache.namespace is runners, but must be one of runners.namespaces: ci, team-b',
  ],
  ['headers of traces, which hold tokens', { tracing: { headers: 'x' } }, "'headers' not allowed"],
  ['a URL without a scheme', { argocd: { url: 'argocd-server' } }, 'does not match pattern'],
])('values that the chart refuses: %s', (_, values, words) => {
  expect(() => render(values)).toThrow(words);
});
