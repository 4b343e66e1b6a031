/**
 * Tests final pods of RunnerGroups: the result of src/plan, src/config/pods and the reader together. Refused ones:
 * test/cli/hostile-pods.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../src/config/runnergroup/problems.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { withImages } from '../../src/config/runnergroup/to-runner-group.ts';
import { podTemplate, templateHash } from '../../src/manifests/app.ts';
import { podsOf, problemsOfPods } from '../../src/plan/group-pods.ts';
import { finishOwn, podProblem } from '../../src/plan/own-pod.ts';
import { FULL_TEMPLATE } from '../config/pods/full-template.ts';
import { readFiles } from '../support/group-files.ts';
import { groupYaml, runHere } from '../support/run-cli.ts';

const GITEA = 'https://gitea.example.com';

/** A label of a group in mode `dind` has no `:host`. */
function yamlOf(spec: string): string {
  const text = groupYaml(GITEA, spec);
  return spec.includes('containerMode: dind\n') ? text.replace('linux:host', 'linux') : text;
}

async function read(spec: string): Promise<RunnerGroup> {
  const [group] = (await readFiles({ 'ci.yaml': yamlOf(spec) })).groups;
  if (!group) throw new Error('no group');
  return group;
}

async function hashOf(spec: string): Promise<string> {
  return templateHash(await read(spec), finishOwn);
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** The containers of a group's final pod, by name. */
async function containers(spec: string): Promise<Readonly<Record<string, Container>>> {
  const group = await read(spec);
  expect(podProblem(group)).toBeUndefined();
  const { initContainers, containers: all } = podTemplate(group, finishOwn).spec.template.spec;
  return Object.fromEntries(
    [...(initContainers ?? []), ...all].map((container) => [container.name, container as unknown as Container]),
  );
}

const TEMPLATE = `
  podTemplate:
    metadata: {labels: {team: web, a: b}}
    spec:
      nodeSelector: {disk: ssd, zone: a}
`;

it.each(['secretRef: {name: kept, key: k}', 'name: kept\n    key: k'])(
  'no template mounts the registration token that a group keeps while serve registers (%s)',
  async (token) => {
    const text = yamlOf('  registration: {by: serve}\n').replace(
      / {2}registrationToken:.*\n/,
      `  registrationToken:\n    ${token}\n`,
    );
    const volume = '  podTemplate: {spec: {volumes: [{name: v, secret: {secretName: kept}}]}}\n';
    const [group] = (await readFiles({ 'ci.yaml': `${text}${volume}` })).groups;

    expect(podProblem(group as RunnerGroup)).toMatch(/Secret/);
  },
);

const PROBLEM_OF_B = /^b\.yaml:\d+:\d+: (.*) \[GR-INPUT-06\]$/;
const OF_A = 'is a token of Gitea of RunnerGroup a; CI jobs could read it, so name another key';
const CACHE = '  cache: {url: "http://c:1", secretRef: {name: NAME, key: token}}\n';

/** Problems of group b beside group a of the same namespace, whose Secrets are a-runner and a-api. */
async function besideOther(spec: string, tokens: Readonly<Record<string, string>> = {}) {
  const textOf = (name: string, more = '') =>
    groupYaml(GITEA, more, name)
      .replace('{name: gitea-runner,', `{name: ${name}-runner,`)
      .replace('gitea-api', `${name}-api`);
  const b = Object.entries(tokens).reduce((text, [from, to]) => text.replace(from, to), textOf('b', spec));
  const { groups, sources } = await readFiles({ 'a.yaml': textOf('a'), 'b.yaml': b });
  const problems = await problemsOfPods(groups, sources);
  return problems.map((problem) => PROBLEM_OF_B.exec(formatProblem(problem))?.[1]);
}

describe('no Secret of a spec brings the token of another group into a pod', () => {
  it.each<[string, string, Readonly<Record<string, string>>, string]>([
    [
      'the registration token as secret of the cache',
      CACHE.replace('NAME', 'a-runner'),
      {},
      `spec.cache.secretRef: ${OF_A}`,
    ],
    ['the API token as secret of the cache', CACHE.replace('NAME', 'a-api'), {}, `spec.cache.secretRef: ${OF_A}`],
    [
      'its Secret as login of the proxy',
      '  proxy: {http: "http://p:1", secretRef: {name: a-runner}}\n',
      {},
      'spec.proxy.secretRef.name: is a Secret with a token of Gitea of RunnerGroup a; CI jobs could read it, so use another Secret',
    ],
    [
      'the API token as registration token',
      '',
      { 'b-runner': 'a-api' },
      'spec.registrationToken: is the API token of RunnerGroup a, which no pod may hold: name the key with the registration token',
    ],
    [
      'the API token as registration token, in the older spelling',
      '',
      { '{secretRef: {name: b-runner, key: token}}': '{name: a-api, key: token}' },
      'spec.registrationToken: is the API token of RunnerGroup a, which no pod may hold: name the key with the registration token',
    ],
  ])('a RunnerGroup may not name, of another one, %s', async (_, spec, tokens, problem) => {
    expect(await besideOther(spec, tokens)).toEqual([problem]);
  });

  it.each<[string, string, Readonly<Record<string, string>>]>([
    ['another key of the Secret', CACHE.replace('NAME, key: token', 'a-runner, key: cache'), {}],
    ['the same registration token', '', { 'b-runner': 'a-runner' }],
    ['the same API token', '', { 'b-api': 'a-api' }],
    ['a registration token that no pod gets', '  registration: {by: serve}\n', { 'b-runner': 'a-api' }],
  ])('a RunnerGroup may name %s', async (_, spec, tokens) => {
    expect(await besideOther(spec, tokens)).toEqual([]);
  });

  it('more than 1,000 groups that take the token of another one are all faulty', async () => {
    const one = await read(CACHE.replace('NAME', 'a-api'));
    const a = { ...(await read('')), name: 'a', manifest: { spec: { authToken: { name: 'a-api', key: 'token' } } } };
    const groups = [a, ...Array.from({ length: 1_100 }, (_, index) => ({ ...one, name: `g${index}` }))];

    const faulty = await (await podsOf({ groups, sources: new Map() }))?.faulty();

    expect(faulty?.size).toBe(1_100);
  });
});

it('the hash of the template changes with the podTemplate', async () => {
  const hashes = await Promise.all(['', TEMPLATE, TEMPLATE.replace('ssd', 'hdd')].map(hashOf));

  expect(new Set(hashes).size).toBe(3);
});

it('the hash of the template does not show how the podTemplate is written down', async () => {
  const other = `
  podTemplate:
    spec: {"nodeSelector": {zone: "a", disk: 'ssd'}}
    metadata:
      labels: {a: b, team: web}
`;

  expect(await hashOf(other)).toBe(await hashOf(TEMPLATE));
});

it('the hash of the template is the same with an empty podTemplate, and with any profile that the pod meets', async () => {
  const [plain, ...others] = await Promise.all(
    ['', '  podTemplate: {}\n', '  securityProfile: restricted\n', '  securityProfile: baseline\n'].map(hashOf),
  );

  expect(others).toEqual([plain, plain, plain]);
});

it('the hash of the template is the same in generate and in serve', async () => {
  const spec = `  podTemplate: ${JSON.stringify(FULL_TEMPLATE)}\n  containerMode: dind\n`;
  const files = await readFiles({ 'ci.yaml': yamlOf(spec) });
  const [group] = files.groups;
  const pods = await podsOf(files);
  if (!group || !pods) throw new Error('no group with a pod of its own');

  expect(templateHash(group, pods.finish)).toBe(templateHash(group, finishOwn));
  await pods.check();
});

/** A podTemplate whose pod has these fields. */
const template = (pod: object): string => `  podTemplate: ${JSON.stringify({ spec: pod })}\n`;
const ofRunner = (fields: object): string => template({ containers: [{ name: 'runner', ...fields }] });

const long = `  podTemplate: {metadata: {annotations: {example.com/a: ${'x'.repeat(131_000)}}}}\n`;
const many = async (count: number) => {
  const one = await read(long);
  const groups = Array.from({ length: count }, (_, index) => ({ ...one, name: `g${index}` }));
  const pods = await podsOf({ groups, sources: new Map() });
  for (const group of groups) templateHash(group, pods?.finish);
  await pods?.check();
};

it('all podTemplates together are refused beyond 16 MiB, with what to do', async () => {
  await expect(many(129)).rejects.toThrow(/^.*\n.*podTemplates together longer than 16777216 characters: shorten/);
});

it('all podTemplates together are fine below it', async () => {
  await expect(many(127)).resolves.toBeUndefined();
});

it('the init container that registers has the image, pull policy, resources and user of the runner', async () => {
  const fields = {
    image: 'registry.example.com/runner:1',
    imagePullPolicy: 'Always',
    resources: { limits: { memory: '1Gi' } },
    securityContext: { runAsUser: 2000, runAsGroup: 2000 },
  };
  const { register, runner } = await containers(ofRunner(fields));

  for (const container of [register, runner]) {
    expect(container).toMatchObject(fields);
    expect(container?.securityContext).toMatchObject({ allowPrivilegeEscalation: false });
  }
});

it('the init container that registers has no user either when the runner has none, as OpenShift wants it', async () => {
  const { register } = await containers(ofRunner({ securityContext: { runAsUser: null, runAsGroup: null } }));

  expect(register?.securityContext).not.toHaveProperty('runAsUser');
  expect(register?.securityContext).not.toHaveProperty('runAsGroup');
  expect(register?.securityContext).toMatchObject({ runAsNonRoot: true, capabilities: { drop: ['ALL'] } });
});

it('the init container that registers gets no privileges of a privileged runner', async () => {
  const privileged = ofRunner({ securityContext: { privileged: true, runAsUser: 1001 } });
  const { register, runner } = await containers(`${privileged}  containerMode: dind-rootless\n`);

  expect(runner?.securityContext).toMatchObject({ privileged: true, runAsUser: 1001 });
  expect(register?.securityContext).toMatchObject({ allowPrivilegeEscalation: false, runAsUser: 1001 });
  expect(register?.securityContext).not.toHaveProperty('privileged');
});

const DIND = '  containerMode: dind\n';
const BUILDKIT = '  containerMode: buildkit\n';
const profile = (name: string): string => `  securityProfile: ${name}\n`;
const sidecar = (securityContext = {}) => template({ containers: [{ name: 'side', image: 'x', securityContext }] });
const buildkit = (securityContext: object) =>
  template({ initContainers: [{ name: 'buildkit', securityContext }] }) + BUILDKIT;
const UNCONFINED = { seccompProfile: { type: 'Unconfined' } };
const OF_NODE = { seccompProfile: { type: 'Localhost', localhostProfile: 'buildkit.json' } };

it.each<[string, string, RegExp?]>([
  ['restricted, beside dockerd', profile('restricted') + DIND, /docker.*privileged.*restricted/],
  [
    'baseline, beside dockerd',
    profile('baseline') + DIND,
    /spec\.securityProfile .*\[docker\]\.securityContext\.privileged must not be true/,
  ],
  ['privileged, beside dockerd', profile('privileged') + DIND],
  ['restricted, in host mode', `${profile('restricted')}  containerMode: host\n`],
  [
    'restricted, beside BuildKit',
    profile('restricted') + BUILDKIT,
    /buildkit\].* containerMode buildkit meets baseline at most: set that, or containerMode: host$/,
  ],
  ['baseline, beside BuildKit', profile('baseline') + BUILDKIT],
  ['privileged, beside BuildKit', profile('privileged') + BUILDKIT],
  [
    'restricted by default in host mode, where a sidecar must be hardened',
    sidecar(),
    /the default of containerMode host/,
  ],
  ['baseline where the group asks for less in host mode', sidecar() + profile('baseline')],
  ['baseline by default beside dockerd, where a plain sidecar may come', sidecar() + DIND],
  [
    'baseline by default beside dockerd, where a privileged sidecar may not come',
    sidecar({ privileged: true }) + DIND,
    /^spec\.podTemplate\.spec\.containers\[0\]\.securityContext\.privileged must not be true \(rule privileged of securityProfile baseline, the default of containerMode dind\): remove it, or set securityProfile: privileged, which needs a policy$/,
  ],
  ['baseline by default beside BuildKit', sidecar() + BUILDKIT],
  [
    'baseline by default beside BuildKit, where no other container may be unconfined',
    sidecar(UNCONFINED) + BUILDKIT,
    /rule seccompProfile_baseline/,
  ],
  ['baseline with a profile of the node for BuildKit', buildkit(OF_NODE) + profile('baseline')],
  ['baseline with another profile for BuildKit', buildkit(UNCONFINED) + profile('baseline'), /must be Runt/],
  ['baseline with a BuildKit that has privileges', buildkit({ privileged: true }) + profile('baseline'), /is reserved/],
  ['baseline by default beside BuildKit, which is unconfined already', buildkit(OF_NODE), /is reserved/],
])('a profile: %s', async (_, spec, problem) => {
  const found = podProblem(await read(spec));

  if (problem) expect(found).toMatch(problem);
  else expect(found).toBeUndefined();
});

it('a fault has its place, also when the installation names the images', async () => {
  const found = await readFiles({ 'ci.yaml': groupYaml(GITEA, '  podTemplate: {spec: {hostNetwork: true}}\n') });
  const groups = found.groups.map((group) => withImages(group, { runner: 'reg/runner:1' }));
  const pods = await podsOf({ ...found, groups });
  for (const group of groups) templateHash(group, pods?.finish);

  expect(groups[0]).not.toBe(found.groups[0]);
  await expect(pods?.check()).rejects.toThrow(/^ci\.yaml:15:24: spec\.podTemplate\.spec\.hostNetwork: /m);
});

describe('examples/pods', () => {
  const folder = join('examples', 'pods');
  const files = readdirSync(folder);

  it.each(files)('%s is valid, and changes the pod', async (file) => {
    const { code, stderr } = await runHere(['validate', join(folder, file)]);
    const [group] = (await readFiles({ 'ci.yaml': readFileSync(join(folder, file), 'utf8') })).groups;
    if (!group) throw new Error('no group');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(templateHash(group, finishOwn)).not.toBe(templateHash(group));
  });

  it('examples/pods are at least three', () => {
    expect(files.length).toBeGreaterThanOrEqual(3);
  });
});
