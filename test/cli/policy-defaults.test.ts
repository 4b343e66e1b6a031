/** Defaults of a policy in every command: the same answer everywhere (laws F145 to F147). */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, runHere } from '../support/run-cli.ts';
import { KNOWS_GROUPS, objects, stage, yaml } from './trouble-rig.ts';

const TEMPLATE = '  podTemplate: {spec: {nodeSelector: {pool: ci}}}\n  resources: {limits: {cpu: 1}}\n';
const DEFAULTS = 'defaults: {podTemplate: {spec: {nodeSelector: {pool: ci}}}, resources: {limits: {cpu: 1}}}';

function policy(spec: string): string {
  const text = `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: {${spec}}\n`;
  return join(folderWith({ 'policy.yaml': text }), 'policy.yaml');
}

/** A copy in which every group says this, too. */
function edited(folder: string, spec: string): string {
  const copy = folderWith({});
  cpSync(folder, copy, { recursive: true });
  for (const name of ['good.yaml', 'bad.yaml'])
    writeFileSync(join(copy, name), readFileSync(join(folder, name), 'utf8') + spec);
  return copy;
}

const RESOURCES = '  resources: {requests: {cpu: 1}}\n';

/** Two groups that say nothing of their resources. */
async function bare() {
  const staged = await stage();
  for (const name of ['good.yaml', 'bad.yaml']) {
    const file = join(staged.folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(RESOURCES, ''));
  }
  return staged;
}

const one = (more = ''): string => yaml('one', 'https://gitea.example.com', more).replace(RESOURCES, '');

const ofKind = (text: string, wanted: string) => objects(text).filter(({ kind }) => kind === wanted);

it('generate makes the same of groups and of Jobs that live as after an edit, and prints each group as it is written', async () => {
  const { env, folder } = await bare();
  const knowing = { ...env, ...KNOWS_GROUPS };
  const plain = await runHere(['generate', folder], knowing);
  const byHand = await runHere(['generate', edited(folder, TEMPLATE)], knowing);

  const outcome = await runHere(['generate', folder, '--policy', policy(DEFAULTS)], knowing);

  expect(outcome).toMatchObject({ code: 0 });
  expect(ofKind(outcome.stdout, 'Job')).toEqual(ofKind(byHand.stdout, 'Job'));
  expect(ofKind(outcome.stdout, 'Job')).not.toEqual(ofKind(plain.stdout, 'Job'));
  expect(JSON.stringify(ofKind(outcome.stdout, 'Job'))).toContain('"pool":"ci"');
  expect(ofKind(outcome.stdout, 'RunnerGroup')).toEqual(ofKind(plain.stdout, 'RunnerGroup'));
});

it('a group that says everything has the same bytes, also where another one is denied for a default (F146, F148)', async () => {
  const { env, folder } = await bare();
  const whole = `${TEMPLATE}  image: gitea/runner:1.0.8\n`;
  writeFileSync(join(folder, 'good.yaml'), readFileSync(join(folder, 'good.yaml'), 'utf8') + whole);
  const rules = 'images: [docker.io/gitea/*]';
  const defaults =
    'defaults: {images: {runner: x.example.com/r:1, rootless: x.example.com/l:1}, resources: {limits: {cpu: 2}}}';
  const denies = policy(`${rules}, groups: [{match: {name: bad}, images: []}]`);
  const plain = await runHere(['generate', folder, '--policy', denies], env);

  const outcome = await runHere(['generate', folder, '--policy', policy(`${rules}, ${defaults}`)], env);

  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('spec.image: is "x.example.com/r:1"') });
  const ofGood = (text: string) => text.split('\n---\n').filter((each) => /name: "?good-/.test(each));
  expect(ofGood(outcome.stdout)).toEqual(ofGood(plain.stdout));
  expect(ofGood(plain.stdout).length).toBeGreaterThan(0);
});

it.each(['validate', 'sweep', 'explain'])('%s judges what the defaults make of a group', async (command) => {
  const { env, folder } = await bare();
  const rules = policy('maxResources: {cpu: 1}, defaults: {resources: {limits: {cpu: 2}}}');

  const outcome = await runHere([command, folder, '--policy', rules], env);

  expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('[maxResources]') });
});

it('validate places what a default makes wrong at the default', async () => {
  const folder = folderWith({ 'all.yaml': one('  podTemplate: {spec: {}}\n') });
  const wrong = '{spec: {volumes: [{name: a, hostPath: {path: /}}]}}';

  const outcome = await runHere(['validate', folder, '--policy', policy(`defaults: {podTemplate: ${wrong}}`)]);

  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toMatch(
    /policy\.yaml:3:\d+: spec\.defaults\.podTemplate\.spec\.volumes\[0\]\.hostPath: .* for runners\/one\) \[GR-INPUT-10\]/,
  );
});

it('validate --against takes the defaults on both sides', async () => {
  const base = folderWith({ 'all.yaml': one() });
  const head = folderWith({ 'all.yaml': one(TEMPLATE) });
  const against = async (...flags: readonly string[]) =>
    (await runHere(['validate', head, '--against', base, ...flags])).stdout;

  expect(await against()).toContain('new pod template');
  expect(await against('--policy', policy(DEFAULTS))).not.toContain('new pod template');
});

it('policy explain says of each default where it stands and what becomes of it', async () => {
  const folder = folderWith({ 'ci.yaml': one('  podTemplate: {spec: {}}\n') });
  const spec = `namespaces: [{name: "*", defaults: {labels: ["a:host"], podTemplate: {}}}], ${DEFAULTS}, groups: [{match: {name: x}, defaults: {images: {}}}]`;

  const { code, stdout } = await runHere(['policy', 'explain', folder, '--policy', policy(spec)], {
    GITEA_RUNNERS_COLUMNS: '400',
    COLUMNS: '400',
  });

  expect(code).toBe(0);
  expect(stdout).toMatch(/^defaults\.labels +namespaces\[0\] +the group says its own +\[ "a:host" \]$/m);
  expect(stdout).toMatch(/^defaults\.podTemplate +namespaces\[0\] +the group counts over it +\{\}$/m);
  expect(stdout).toMatch(/^defaults\.resources +policy +taken +\{.*"cpu": "?1"? \} \}$/m);
  expect(stdout).not.toContain('defaults.images');
});

it('policy test asks about the group with its defaults', async () => {
  const group = one()
    .replace(/^apiVersion.*\nkind.*\n/, '')
    .replace(/^/gm, '  ');
  const cases = folderWith({ 'a.yaml': `name: x\ndenied: [maxResources]\ngroup:\n${group}` });
  const rules = policy('maxResources: {cpu: 1}, defaults: {resources: {limits: {cpu: 2}}}');

  expect((await runHere(['policy', 'test', cases, '--policy', rules])).stdout).toContain('0 failed');
});

it('a fault of a default profile is told as one, and nothing is to be removed that no file has', async () => {
  const folder = folderWith({
    'ci.yaml': one('  containerMode: dind-rootless\n').replace('  containerMode: host\n', ''),
  });
  const defaults = policy('defaults: {securityProfile: baseline}');
  const { code, stderr } = await runHere(['validate', 'ci.yaml', '--policy', defaults], {}, folder);

  expect(code).toBe(2);
  expect(stderr).toContain('or write a securityProfile of its own (with the defaults of the policy)');
  expect(stderr).not.toContain('remove securityProfile');
});

const SAFE =
  '{allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}';

it('a denial of a value of a default names the policy file, its field and the group (F288)', async () => {
  const own = '  podTemplate: {spec: {containers: [{name: runner, env: []}, {name: side, tty: false}]}}\n';
  const rootless = one(own).replace('name: one', 'name: two').replace('Mode: host', 'Mode: dind-rootless');
  const folder = folderWith({ 'ci.yaml': one(own), 'two.yaml': rootless });
  const template = `{spec: {containers: [{name: side, image: x.example.com/side:1, securityContext: ${SAFE}}]}}`;
  const file = policy(
    `images: [docker.io/**], maxResources: {cpu: 1}, namespaces: [{name: "*", defaults: {images: {runner: x.example.com/r:1, rootless: x.example.com/l:1}, resources: {limits: {cpu: 2}}, podTemplate: ${template}}}]`,
  );

  const validate = await runHere(['validate', folder, '--policy', file]);
  const generate = await runHere(['generate', folder, '--policy', file]);

  const lines = validate.stderr.split('\n').filter((line) => line.includes('policy.yaml'));
  const place = 'policy.yaml:3:N: spec.namespaces[0].defaults';
  const ends = (names: string) => `(a default of the policy, for ${names}) [GR-POLICY-04]`;
  const both = ends('runners/one, runners/two');
  expect(lines.map((line) => line.replace(/^.*(policy\.yaml:3:)\d+/, '$1N'))).toEqual([
    `${place}.images.runner: is "x.example.com/r:1"; the policy allows docker.io/**. Use one of them [images] ${ends('runners/one')}`,
    `${place}.podTemplate.spec.containers[0].image: is "x.example.com/side:1"; the policy allows docker.io/**. Use one of them [images] ${both}`,
    expect.stringMatching(/^policy\.yaml:3:N: spec\.namespaces\[0\]\.defaults\.resources: asks for more cpu/),
    `${place}.images.rootless: is "x.example.com/l:1"; the policy allows docker.io/**. Use one of them [images] ${ends('runners/two')}`,
  ]);
  expect(generate.stderr).toContain('(the policy gives it this value in spec.namespaces[0].defaults.images.runner)');
});

it("an image that no default names is the group's own, and a star ends at a slash", async () => {
  const rules = 'images: [docker.io/*], defaults: {images: {runner: "docker.io/ci:1"}}';
  const folder = folderWith({
    'ci.yaml': one('  containerMode: dind-rootless\n').replace('  containerMode: host\n', ''),
  });

  const { stderr } = await runHere(['validate', folder, '--policy', policy(rules)]);

  expect(stderr).toMatch(
    /ci\.yaml:\d+:\d+: spec\.image: is .*\("\*" ends at a slash: the policy needs docker\.io\/gitea\/runner\)/,
  );
});

it('a denial of what a group has itself names its line and column, and many groups of one default are one line', async () => {
  const own = `  podTemplate: {spec: {containers: [{name: side, image: x.example.com/own:1}]}}\n`;
  const files = {
    'ci.yaml': one(own),
    'two.yaml': one().replace('name: one', 'name: two'),
    'three.yaml': one().replace('name: one', 'name: three'),
  };
  const rules = `images: [docker.io/**], defaults: {podTemplate: {spec: {containers: [{name: side, image: x.example.com/side:1, securityContext: ${SAFE}}]}}}`;

  const { stderr } = await runHere(['validate', folderWith(files), '--policy', policy(rules)]);

  expect(stderr.match(/x\.example\.com\/side:1/g)).toHaveLength(1);
  expect(stderr).toContain('(a default of the policy, for runners/three, runners/two)');
  expect(stderr).toMatch(
    /ci\.yaml:\d+:\d+: spec\.podTemplate\.spec\.containers\[0\]\.image: is "x\.example\.com\/own:1"/,
  );
});
