/** Tests that a denied group and a broken file do not affect other groups (docs/adr/0081, laws P18, V109, V110). */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TRACKING_ID } from '../../src/shared/marks.ts';
import type { Cluster } from '../support/api-server.ts';
import { answering } from '../support/kube-objects.ts';
import { folderWith, runHere } from '../support/run-cli.ts';
import { expectKept, KNOWS_GROUPS, objects, RUNNING, stage, WAITING, yaml } from './trouble-rig.ts';

const ARGOCD = { ARGOCD_APP_NAME: 'runners', ARGOCD_APP_NAMESPACE: 'runners', ...KNOWS_GROUPS };
const BAD_IMAGE = '  image: evil.example.com/runner:1\n';
const ACCOUNT = '  podTemplate: {spec: {serviceAccountName: admin}}\n';

type Env = Readonly<Record<string, string>>;

/** `RULES` becomes a policy in a file. */
function withPolicy({ RULES, ...env }: Env): Env {
  return RULES === undefined ? env : { ...env, ...policy(RULES) };
}

function policy(spec: string): Env {
  const text = `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: ${spec}\n`;
  return { GITEA_RUNNERS_POLICY: join(folderWith({ 'policy.yaml': text }), 'policy.yaml') };
}

/** A RunnerGroup as the API server shows it. @param application that made it; undefined: nothing says it */
function liveGroup(name: string, application: string | undefined, namespace = 'runners'): object {
  const id = `${application}:gitea.bpg.pw/RunnerGroup:${namespace}/${name}`;
  const metadata = { name, namespace, uid: name, ...(application && { annotations: { [TRACKING_ID]: id } }) };
  return { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup', metadata, spec: {} };
}

/** The documents of everything that is not of group `bad`, as they are written. */
function ofOthers(stdout: string): readonly string[] {
  return stdout.split(/^---\n/m).filter((text) => text !== '' && !/name"?: (?:"?bad|"?x\b)/.test(text));
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** Runs `generate` with the broken file and without it: the output of the other groups is the same to the byte. */
async function expectApart({ env, folder }: Stage, more: Env, why: RegExp) {
  const outcome = await runHere(['generate', folder], { ...env, ...more });
  expectKept(outcome, why);
  rmSync(join(folder, 'bad.yaml'));
  const without = await runHere(['generate', folder], { ...env, ...more });
  expect(ofOthers(outcome.stdout)).toEqual(ofOthers(without.stdout));
  expect(ofOthers(outcome.stdout)).toHaveLength(2);
  return outcome;
}

describe('a group that is denied leaves the others as they are', () => {
  it.each<[string, string, string | undefined, RegExp]>([
    ['its image', BAD_IMAGE, '{registries: [docker.io]}', /GR-POLICY-04 .*spec\.image: comes from evil\.example\.com/],
    ['its cap', '  ', '{maxActiveRunners: 5}', /GR-POLICY-04 .*spec\.maxActiveRunners: is 9; the policy allows 5/],
    ['its service account, without a policy', ACCOUNT, undefined, /GR-POLICY-03 .*serviceAccountName/],
  ])('%s', async (_, spec, rules, why) => {
    const staged = await stage({ badSpec: spec });
    const text = yaml('bad', staged.simulator.url, spec.trim() === '' ? '' : spec);
    if (spec.trim() === '')
      writeFileSync(join(staged.folder, 'bad.yaml'), text.replace('maxActiveRunners: 5', 'maxActiveRunners: 9'));

    const outcome = await expectApart(staged, { ...ARGOCD, ...(rules && policy(rules)) }, why);

    // serve reads the object and judges it by the same policy, so it stands there as it is written.
    const bad = objects(outcome.stdout).find(({ kind, metadata }) => kind === 'RunnerGroup' && metadata.name === 'bad');
    expect(bad?.metadata.annotations).toBeUndefined();
    expect(bad?.spec).toMatchObject({ scope: 'org', maxActiveRunners: rules?.includes('max') ? 9 : 5 });
    // The denied pod is in no Job.
    for (const job of objects(outcome.stdout).filter(({ metadata }) => [WAITING, RUNNING].includes(metadata.name)))
      expect(JSON.stringify(job)).not.toMatch(/evil|admin/);
  });

  it('explain says that one group is denied, and shows the jobs of the others', async () => {
    const { env, folder } = await stage({ badSpec: BAD_IMAGE });

    const { code, stdout, stderr } = await runHere(['explain', folder], {
      ...env,
      ...policy('{registries: [docker.io]}'),
    });

    expect(stdout).toContain('of group runners/good');
    expect(stderr).toMatch(/^warning: GR-POLICY-04 RunnerGroup runners\/bad is left as it is: .*spec\.image/m);
    expect(code).toBe(0);
  });

  it.each([
    ['validate', 3],
    ['sweep', 3],
  ])('%s refuses all groups: it does nothing by halves', async (command, code) => {
    const { env, folder } = await stage({ badSpec: BAD_IMAGE });

    const outcome = await runHere([command, folder], { ...env, ...policy('{registries: [docker.io]}') });

    expect(outcome).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(/spec\.image/) });
  });

  it.each<[string, Env]>([
    ['no live Jobs are in sight', { GITEA_RUNNERS_CLUSTER: 'off', RULES: '{registries: [docker.io]}' }],
    ['all groups are denied', { RULES: '{registries: []}' }],
    ['the sum of all caps is too high', { RULES: '{maxActiveRunners: 9}' }],
    [
      'the project of the Application is not allowed',
      { ...ARGOCD, RULES: '{projects: [other]}', ARGOCD_APP_PROJECT_NAME: 'ci' },
    ],
  ])('generate prints nothing when %s', async (_, env) => {
    const staged = await stage({ badSpec: env['GITEA_RUNNERS_CLUSTER'] ? BAD_IMAGE : '' });

    const outcome = await runHere(['generate', staged.folder], { ...staged.env, ...withPolicy(env) });

    expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('error: GR-POLICY-04') });
  });
});

const elsewhere = async (cluster: Cluster) => {
  const staged = await stage({ cluster: { groups: {}, ...cluster } });
  const text = yaml('bad', staged.simulator.url).replace('namespace: runners', 'namespace: team-b');
  writeFileSync(join(staged.folder, 'bad.yaml'), text);
  return await runHere(['generate', staged.folder], { ...staged.env, ...ARGOCD });
};
const TOLD = /^warning: GR-POLICY-01 RunnerGroup team-b\/bad is left as it is: /m;
const inTeamB = (stdout: string) =>
  objects(stdout).filter(({ metadata }) => (metadata as { namespace?: string }).namespace === 'team-b');

it.each<[string, Cluster]>([
  ['there is none of that name', {}],
  ['it is another Application’s', { groups: { 'team-b': [liveGroup('bad', 'theirs', 'team-b')] } }],
  ['we may not look there', { override: answering({ '/team-b/runnergroups': 403 }) }],
])('a group in a namespace that is not allowed is told, and nothing of it is printed, when %s', async (_, cluster) => {
  const { code, stdout, stderr } = await elsewhere(cluster);

  expect(stderr).toMatch(TOLD);
  expect(code).toBe(0);
  expect(inTeamB(stdout)).toEqual([]);
  expect(stdout).toMatch(/name: "?good-\d+/);
});

it('a group in a namespace that is not allowed keeps what lives of it, when it is our own from before', async () => {
  const { code, stdout, stderr } = await elsewhere({ groups: { 'team-b': [liveGroup('bad', 'runners', 'team-b')] } });

  expect(stderr).toMatch(TOLD);
  expect(code).toBe(0);
  const [object] = inTeamB(stdout);
  expect(object?.metadata.annotations?.['gitea.bpg.pw/problem']).toMatch(/^GR-POLICY-01 serve RunnerGroup team-b\/bad/);
  expect(object?.metadata.annotations?.['gitea.bpg.pw/problem-reason']).toBe('PolicyDenied');
  expect(object?.spec).toMatchObject({ suspend: true, maxActiveRunners: 0 });
});

it.each<[string, Cluster]>([
  ['nobody says whose it is', { groups: { 'team-b': [liveGroup('bad', undefined, 'team-b')] } }],
  ['the API server does not answer', { override: answering({ '/team-b/runnergroups': 500 }) }],
])('a group in a namespace that is not allowed stops all when %s', async (_, cluster) => {
  const outcome = await elsewhere(cluster);

  expect(outcome.stdout).toBe('');
  expect(outcome.code).not.toBe(0);
});

it('two groups of one name are in trouble both, and the others are not', async () => {
  const staged = await stage();
  const twice = yaml('bad', staged.simulator.url);
  writeFileSync(join(staged.folder, 'bad.yaml'), `${twice}---\n${twice}`);

  const { stdout } = await expectApart(staged, ARGOCD, /GR-INPUT-07 .*is already in .*bad\.yaml:1/);

  const told = objects(stdout).filter(({ kind, metadata }) => kind === 'RunnerGroup' && metadata.name === 'bad');
  expect(told).toHaveLength(1);
  expect(told[0]?.spec['maxActiveRunners']).toBe(0);
});

const broken = (url: string, name = 'bad') =>
  `${yaml(name, url)}---\n${yaml('other', url).replace('scope: org', 'scope: [')}`;
/** Group `bad` stands in a file that cannot be read; the cluster shows these RunnerGroups. */
const hiding = async (groups: readonly object[], text = broken, more: Cluster = {}) => {
  const staged = await stage({ cluster: { groups: { runners: groups }, ...more } });
  writeFileSync(join(staged.folder, 'bad.yaml'), text(staged.simulator.url));
  return staged;
};

it('a file that cannot be read holds up nobody else. What the cluster has of groups that no file names is kept', async () => {
  const live = [
    liveGroup('bad', 'runners'),
    liveGroup('other', 'runners'),
    liveGroup('good', 'runners'),
    liveGroup('x', 'theirs'),
  ];
  const { env, folder } = await hiding(live);

  const outcome = await runHere(['generate', folder], { ...env, ...ARGOCD });

  expectKept(outcome, /^warning: left out, and what may be theirs is kept: .*bad\.yaml:\d+:\d+: .*GR-INPUT-02/m);
  const told = objects(outcome.stdout).filter(({ metadata }) => metadata.annotations?.['gitea.bpg.pw/problem']);
  expect(told.map(({ metadata }) => metadata.name)).toEqual(['bad', 'other']);
  expect(told.map(({ spec }) => spec['suspend'])).toEqual([true, true]);
});

it('a file that cannot be read keeps the Jobs of a group whose name it hides', async () => {
  const { env, folder } = await hiding([liveGroup('bad', 'runners')], (url) => yaml('Bad', url));

  expectKept(
    await runHere(['generate', folder], { ...env, ...ARGOCD }),
    /bad\.yaml:3:\d+: metadata\.name: .*GR-INPUT-05/,
  );
});

it.each<[string, () => Promise<Stage>, Env]>([
  ['nobody says which Application asks', () => hiding([]), { ARGOCD_APP_NAME: '' }],
  ['groups may live in any namespace', () => hiding([]), { ARGOCD_APP_NAMESPACE: '' }],
  [
    'the policy opens other namespaces',
    () => hiding([]),
    { RULES: '{namespaces: [{name: "**", destinations: [runners]}]}' },
  ],
  ['nobody says whose an object is', () => hiding([liveGroup('else', undefined)]), {}],
  ['it may hold another object', () => hiding([], (url) => `kind: ConfigMap\n---\n${broken(url)}`), {}],
  ['it may hold an object of another version', () => hiding([], (url) => `apiVersion: v1\n---\n${broken(url)}`), {}],
  [
    'it may hold a group of another namespace',
    () => hiding([], (url) => broken(url).replace('namespace: runners', 'namespace: x')),
    {},
  ],
  ['it says nothing of what it holds', () => hiding([], () => 'a: [\n'), {}],
  ['no Jobs are in sight', () => hiding([]), { GITEA_RUNNERS_CLUSTER: 'off' }],
  ['RunnerGroups may not be listed', () => hiding([], broken, { override: answering({ '/runnergroups': 403 }) }), {}],
])('a file that cannot be read stops all when %s', async (_, staging, more) => {
  const { env, folder } = await staging();

  const outcome = await runHere(['generate', folder], { ...env, ...ARGOCD, ...withPolicy(more) });

  expect(outcome.stdout).toBe('');
  expect(outcome.code).not.toBe(0);
});

it('a symbolic link that leads out stops all: nobody has read what it says', async () => {
  const { env, folder } = await stage({ cluster: { groups: {} } });
  const { symlinkSync } = await import('node:fs');
  symlinkSync('/etc/hostname', join(folder, 'link.yaml'));

  expect(await runHere(['generate', folder], { ...env, ...ARGOCD })).toMatchObject({ code: 2, stdout: '' });
});

const LIVE = { groups: { runners: [liveGroup('bad', 'runners'), liveGroup('good', 'runners')] } };
const alone = async (text: (url: string) => string) => {
  const staged = await stage({ cluster: LIVE });
  writeFileSync(join(staged.folder, 'bad.yaml'), text(staged.simulator.url));
  return staged;
};

it.each<[string, (url: string) => string, RegExp]>([
  [
    'a misspelt kind',
    (url) => yaml('bad', url).replace('RunnerGroup', 'Runnergroup'),
    /bad\.yaml:2:1: kind: must be RunnerGroup, not "Runnergroup"/,
  ],
  ['a kind that there is not', (url) => yaml('bad', url).replace('RunnerGroup', 'RunnerSet'), /bad\.yaml:2:1: kind: /],
  ['another version', (url) => yaml('bad', url).replace('v1alpha1', 'v2'), /bad\.yaml:1:1: apiVersion: must be /],
  ['no apiVersion', (url) => yaml('bad', url).replace(/^.*\n/, ''), /bad\.yaml:1:1: .*add "apiVersion: /],
  ['no kind', (url) => yaml('bad', url).replace('kind: RunnerGroup\n', ''), /bad\.yaml:1:1: .*add "kind: /],
  ['a name that is hidden by it', () => '- bad\n', /bad\.yaml:1:1: is not a Kubernetes object, but a list/],
])('a document that is no manifest of ours is the trouble of its own group: %s', async (_, text, why) => {
  const staged = await alone(text);

  const { stdout } = await expectApart(staged, ARGOCD, why);

  const bad = objects(stdout).find(({ kind, metadata }) => kind === 'RunnerGroup' && metadata.name === 'bad');
  expect(bad?.metadata.annotations?.['gitea.bpg.pw/problem']).toMatch(why);
});

it('the other objects of a List with a denied group stay as they are in the cluster', async () => {
  const bad = (url: string) => objects(yaml('bad', url))[0];
  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { a: 'b' } };
  const staged = await alone(
    (url) => `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [bad(url), config] })}\n`,
  );

  const { stdout } = await expectApart(staged, ARGOCD, /bad\.yaml:1:\d+: items: holds RunnerGroups beside/);

  expect(objects(stdout).filter(({ metadata }) => metadata.name === 'x')).toEqual([
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', annotations: { 'argocd.argoproj.io/hook': 'Skip' } },
    },
  ]);
});

it('a document that is no manifest of ours changes nothing for groups of the same file, and a RunnerPolicy hides none', async () => {
  const { env, folder, simulator } = await stage();
  const without = await runHere(['generate', folder], { ...env, ...ARGOCD });
  writeFileSync(
    join(folder, 'bad.yaml'),
    `${yaml('bad', simulator.url)}---\napiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {}\n`,
  );

  const { code, stdout, stderr } = await runHere(['generate', folder], { ...env, ...ARGOCD });

  expect(stderr).toMatch(/^skipped, because not a Kubernetes manifest: .*bad\.yaml:\d+ \(a RunnerPolicy\)$/m);
  expect(stdout).toBe(without.stdout);
  expect(code).toBe(0);
});

it.each<[string, (url: string) => string]>([
  ['another object has lost its kind', (url) => `${yaml('good', url)}---\napiVersion: v1\nmetadata: {name: x}\n`],
  [
    'an object of a List cannot be named',
    (url) =>
      `${yaml('good', url)}---\napiVersion: v1\nkind: List\nitems: [{kind: ConfigMap, metadata: {name: x}}, {apiVersion: gitea.bpg.pw/v1alpha1, kind: RunnerGroup, metadata: {name: bad}}]\n`,
  ],
])('a document that is no manifest of ours stops all when %s', async (_, text) => {
  const { env, folder } = await alone(text);
  rmSync(join(folder, 'good.yaml'));

  expect(await runHere(['generate', folder], { ...env, ...ARGOCD })).toMatchObject({ code: 2, stdout: '' });
});

it('a Deployment beside the groups is left as it is, and they go on', async () => {
  const { env, folder } = await stage();
  const deployment = 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {}}}\n';
  writeFileSync(join(folder, 'x.yaml'), deployment);
  writeFileSync(join(folder, 'kustomization.yaml'), 'resources: [good.yaml]\n');

  const { code, stdout, stderr } = await runHere(['generate', folder], { ...env, ...ARGOCD });

  expect(stderr).toMatch(/^warning: GR-POLICY-02 not deployed: the documents at .*x\.yaml:1 \(Deployment\)/m);
  expect(code).toBe(0);
  const [found] = objects(stdout).filter(({ kind }) => kind === 'Deployment');
  expect(found).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { annotations: { 'argocd.argoproj.io/hook': 'Skip' }, name: 'x' },
  });
  expect(stdout).toMatch(/name: "bad-1-1-[0-9a-f]{8}"/);
});
