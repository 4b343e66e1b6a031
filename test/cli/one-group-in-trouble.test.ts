/** Tests that the trouble of one group does not affect others (docs/adr/0036). */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answering } from '../support/kube-objects.ts';
import { folderWith, runHere, runNode } from '../support/run-cli.ts';
import { listen } from '../support/server.ts';
import { startAcme, TOKEN } from '../support/start-acme.ts';
import { DEAD, expectKept, KNOWS_GROUPS, MISSPELT, objects, secretsDir, stage, yaml } from './trouble-rig.ts';

describe('where live Jobs are seen, generate plans the others and keeps the Jobs of a group', () => {
  it.each<[string, RegExp, (good: string) => string, (files: Record<'folder' | 'secrets', string>) => void]>([
    ['whose Gitea is down', /GR-HTTP-01/, () => DEAD, () => undefined],
    [
      'whose token Gitea refuses, also on the same Gitea',
      /GR-GITEA-01/,
      (good) => good,
      ({ secrets }) => writeFileSync(join(secrets, 'runners/bad-api/token'), 'an-old-token'),
    ],
    [
      'whose token is bound to another Gitea',
      /GR-TOKEN-05/,
      () => DEAD,
      ({ secrets }) => writeFileSync(join(secrets, 'runners/bad-api/url'), 'https://gitea.example.com'),
    ],
    [
      'whose Secret is not mounted',
      /GR-TOKEN-01/,
      (good) => good,
      ({ folder }) => writeFileSync(join(folder, 'bad.yaml'), yaml('bad', DEAD).replace('bad-api', 'nowhere')),
    ],
  ])('a group %s keeps its Jobs, and generate plans the others', async (_, why, url, spoil) => {
    const { env, folder, secrets } = await stage({ badUrl: url });
    spoil({ folder, secrets });

    expectKept(await runHere(['generate', folder], env), why);
  });

  it('a group that has its runner names in common with one of another namespace keeps its Jobs, and generate plans the others', async () => {
    const { env, folder, simulator } = await stage();
    // A namespace whose group `bad` has the hash of that of `runners`.
    const twin = 'team-157870';
    writeFileSync(
      join(folder, 'twin.yaml'),
      yaml('bad', simulator.url).replace('namespace: runners', `namespace: ${twin}`),
    );
    const names = ['runners/good-api', 'runners/bad-api', `${twin}/bad-api`];
    const files = names.flatMap((name) => [
      [`${name}/token`, TOKEN],
      [`${name}/url`, simulator.url],
    ]);
    const secrets = folderWith(Object.fromEntries(files));

    const outcome = await runHere(['generate', folder], { ...env, GITEA_RUNNERS_SECRETS_DIR: secrets });

    expectKept(outcome, /GR-INPUT-90 RunnerGroup team-157870\/bad is left as it is: .*rename one of them/);
  });

  it('a group whose Gitea takes the connection and never answers keeps its Jobs, within the time limit', async () => {
    const { origin } = await listen(createServer());
    const { env, folder } = await stage({ badUrl: () => origin });

    expectKept(await runHere(['generate', '--timeout', '8', folder], env), /GR-HTTP-09/);
  });

  it.each([
    [
      'a field that is wrong',
      '  spawnTimeoutSeconds: never\n',
      /bad\.yaml:15:3: spec\.spawnTimeoutSeconds: .*GR-INPUT-05/,
    ],
    ['an unknown field', '  sucpend: true\n', /spec\.sucpend: unknown field.*GR-INPUT-04/],
    [
      'a podTemplate that breaks its profile',
      '  podTemplate: {spec: {hostNetwork: true}}\n',
      /bad\.yaml:15:24: spec\.podTemplate\.spec\.hostNetwork: /,
    ],
    [
      'a request above the limit of its podTemplate',
      '  resources: {requests: {cpu: 2}}\n  podTemplate: {spec: {containers: [{name: runner, resources: {limits: {cpu: 1}}}]}}\n',
      /bad\.yaml:14:26: spec\.resources\.requests\.cpu: is 2, more than its limit 1: .*GR-INPUT-06/,
    ],
    [
      'the API token of another group as the secret of its cache',
      '  cache: {url: "http://c:1", secretRef: {name: good-api, key: token}}\n',
      /bad\.yaml:15:30: spec\.cache\.secretRef: is a token of Gitea of RunnerGroup good; .*GR-INPUT-06/,
    ],
  ])('a group whose spec has %s keeps its Jobs, and generate plans the others', async (_, spec, why) => {
    const { env, folder } = await stage({ badSpec: spec });

    const outcome = await runHere(['generate', folder], { ...env, ...KNOWS_GROUPS });

    expectKept(outcome, why);
    const groups = objects(outcome.stdout).filter(({ kind }) => kind === 'RunnerGroup');
    const told = new Map(
      groups.map(({ metadata: { name, annotations } }) => [name, annotations?.['gitea.bpg.pw/problem']]),
    );
    expect(told).toEqual(
      new Map([
        ['good', undefined],
        ['bad', expect.stringMatching(why)],
      ]),
    );
  });

  it.each([
    ['finalizers', 'finalizers: [x.example.com/never]', /bad\.yaml:3:\d+: metadata\.finalizers: .*GR-INPUT-05/],
    [
      'an owner',
      'ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: x, uid: x}]',
      /metadata\.ownerReferences: /,
    ],
    [
      'a hook',
      'annotations: {argocd.argoproj.io/hook: PreSync}',
      /metadata\.annotations\["argocd\.argoproj\.io\/hook"\]: /,
    ],
    [
      'an annotation of ours',
      'annotations: {gitea.bpg.pw/shards: "100"}',
      /metadata\.annotations\["gitea\.bpg\.pw\/shards"\]: /,
    ],
  ])('a group whose object has %s keeps its Jobs, and its object is printed without that', async (_, metadata, why) => {
    const { env, folder } = await stage();
    const file = join(folder, 'bad.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('runners}', `runners, ${metadata}}`));

    const outcome = await runHere(['generate', folder], { ...env, ...KNOWS_GROUPS });

    expectKept(outcome, why);
    const bad = objects(outcome.stdout).find(
      ({ kind, metadata: { name } }) => kind === 'RunnerGroup' && name === 'bad',
    );
    expect(Object.keys(bad?.metadata ?? {}).sort()).toEqual(['annotations', 'name', 'namespace']);
    expect(Object.keys(bad?.metadata.annotations ?? {})).toEqual(['gitea.bpg.pw/problem']);
    expect(await runHere(['validate', folder], env)).toMatchObject({ code: 2, stderr: expect.stringMatching(why) });
  });

  it('cdk8s synth writes the other groups and keeps the Jobs of the group in trouble, too', async () => {
    const { env, folder } = await stage({ badSpec: MISSPELT });
    const dist = folderWith({});
    const all = { ...env, ...KNOWS_GROUPS };

    const generated = await runHere(['generate', folder], all);
    const command = ['node_modules/cdk8s-cli/bin/cdk8s', 'synth', '--output', dist, '--check-upgrade', 'false'];
    const synthesized = await runNode(command, { ...all, GITEA_RUNNERS_PATH: folder });

    expect(synthesized).toMatchObject({ code: 0 });
    const written = readdirSync(dist)
      .sort()
      .flatMap((file) => objects(readFileSync(join(dist, file), 'utf8')));
    const printed = objects(generated.stdout);
    expect(written).toEqual(expect.arrayContaining([...printed]));
    expect(written).toHaveLength(printed.length);
  });
});

const nothing = (code: number) => expect.objectContaining({ code, stdout: '' });

it('nothing is printed where no live Jobs are in sight', async () => {
  const { env, folder } = await stage({ badUrl: () => DEAD });
  expect(await runHere(['generate', '--cluster', 'off', folder], env)).toEqual(nothing(1));

  const wrong = await stage({ badSpec: MISSPELT });
  expect(await runHere(['generate', '--cluster', 'off', wrong.folder], wrong.env)).toEqual(nothing(2));
});

it('nothing is printed when the live Jobs cannot be listed either', async () => {
  const { env, folder } = await stage({ badUrl: () => DEAD, cluster: { override: answering({ '/jobs': 403 }) } });

  expect(await runHere(['generate', folder], env)).toEqual(nothing(1));
});

it('nothing is printed when no group is left to plan', async () => {
  const { env, folder } = await stage({ badUrl: () => DEAD });
  writeFileSync(join(folder, 'good.yaml'), yaml('good', DEAD).replace('good-api', 'bad-api'));
  const dead = await runHere(['generate', folder], env);
  expect(dead).toEqual(nothing(1));
  expect(dead.stderr).toContain('GR-HTTP-01');

  writeFileSync(join(folder, 'good.yaml'), '');
  writeFileSync(join(folder, 'bad.yaml'), yaml('bad', DEAD, '  sucpend: true\n'));
  expect(await runHere(['generate', folder], env)).toEqual(nothing(2));
});

it('nothing is printed when a wrong group lives where no good one does, and nobody says which Application asks', async () => {
  const { env, folder } = await stage({ badSpec: MISSPELT });
  const text = readFileSync(join(folder, 'bad.yaml'), 'utf8');
  writeFileSync(join(folder, 'bad.yaml'), text.replace('namespace: runners', 'namespace: others'));

  expect(await runHere(['generate', folder], env)).toEqual(nothing(2));
});

it.each([
  ['the YAML cannot be read and no kind is named', 'kind: {', /GR-INPUT-02/],
  [
    'the YAML cannot be read and another kind is named',
    `${yaml('bad', DEAD)}\n---\nkind: ConfigMap\na: [`,
    /GR-INPUT-02/,
  ],
  ['the name is wrong, and nobody says which Application asks', yaml('Bad', DEAD), /GR-INPUT-05/],
  ['there is another one of its name, and no good one', yaml('good', DEAD, '  sucpend: true\n'), /GR-INPUT-07/],
])('nothing is printed when of a group %s', async (_, text, why) => {
  const { env, folder } = await stage();
  writeFileSync(join(folder, 'bad.yaml'), text);

  const outcome = await runHere(['generate', folder], env);

  expect(outcome).toEqual(nothing(2));
  expect(outcome.stderr).toMatch(why);
});

it('validate and explain tell of every trouble as an error, and print nothing', async () => {
  const { env, folder } = await stage({ badSpec: MISSPELT });

  expect(await runHere(['validate', folder], env)).toEqual(nothing(2));
  expect(await runHere(['explain', folder], env)).toEqual(nothing(2));
});

it('explains the other groups when Gitea refuses the token of one, also without a cluster', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.push('acme/web', { jobs: [{ key: 'one', runsOn: ['linux'] }] });
  simulator.gitea.push('acme/web', { jobs: [{ key: 'two', runsOn: ['big'] }] });
  const bad = yaml('bad', simulator.url).replaceAll('linux', 'big');
  const folder = folderWith({ 'good.yaml': yaml('good', simulator.url), 'bad.yaml': bad });
  const secrets = secretsDir({ 'good-api': { url: simulator.url }, 'bad-api': { url: simulator.url, token: 'old' } });

  const { code, stdout, stderr } = await runHere(['explain', folder], { GITEA_RUNNERS_SECRETS_DIR: secrets });

  expect(stdout).toContain('of group runners/good');
  expect(stdout).toContain('RunnerGroup runners/bad has its labels, and cannot be planned now');
  expect(stdout).toContain('Next: mend RunnerGroup runners/bad: ');
  expect(stderr).toMatch(/^warning: GR-GITEA-01 RunnerGroup runners\/bad /m);
  expect(code).toBe(0);
});
