/** `gitea-runners policy`: cases of a policy, what it says of a group, and policies to begin with (laws F132, F133). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPolicy } from '../../src/config/policy/policy-schema.ts';
import { HOSTILE } from '../config/pods/hostile.ts';
import { denialsOf, policyOf } from '../config/policy/support.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { runnerGroup } from '../support/runner-group.ts';

const HEAD = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\n';
const SPEC =
  'spec: {scope: org, org: acme, gitea: {url: "https://gitea.example.com"}, maxActiveRunners: 1, containerMode: host, ' +
  'labels: ["a:host"], image: IMAGE, authToken: {secretRef: {name: a, key: b}}, registrationToken: {secretRef: {name: a, key: c}}}';

function policyFile(spec: string): string {
  return join(folderWith({ 'policy.yaml': `${HEAD}spec: ${spec}\n` }), 'policy.yaml');
}

/** A case about a group with this image. */
function caseOf(name: string, image: string, more = ''): string {
  const group = `group: {metadata: {name: ci, namespace: team-a}, ${SPEC.replace('IMAGE', image)}}`;
  return `name: ${name}\n${more}${group}\n`;
}

async function run(cases: Readonly<Record<string, string>>, spec: string, ...flags: readonly string[]) {
  return await runHere(['policy', 'test', folderWith(cases), '--policy', policyFile(spec), ...flags]);
}

const DENY = '{registries: [docker.io]}';

it('policy test is good when each case ends as it says', async () => {
  const good = caseOf('allowed', '"gitea/runner:1"');
  const bad = caseOf('foreign', '"x.example.com/y:1"', 'denied: [registries]\n');

  const outcome = await run({ 'a.yaml': `${good}---\n${bad}` }, DENY);

  expect(outcome).toMatchObject({ code: 0, stderr: '' });
  expect(outcome.stdout).toMatch(
    /^ok {4}\S*a\.yaml:1: allowed\nok {4}\S*a\.yaml:\d+: foreign\n2 cases of .*, 0 failed\n$/,
  );
});

it.each<[string, string, string, RegExp]>([
  ['what is denied and was not expected', '', DENY, /FAIL .*: x: denied is registries, expected nothing/],
  ['what is expected and not denied', 'denied: [images]\n', '{}', /denied is nothing, expected images/],
  ['a warning', '', '{registries: [], enforcement: warn}', /warned is registries, expected nothing/],
  [
    'a denial that was not expected, and a warning that did not come',
    'warned: [images]\n',
    DENY,
    /denied is registries, expected nothing; warned is nothing, expected images/,
  ],
])('policy test fails by %s', async (_, more, spec, text) => {
  const outcome = await run({ 'a.yaml': caseOf('x', '"x.example.com/y:1"', more) }, spec);

  expect(outcome).toMatchObject({ code: 1, stdout: expect.stringMatching(text) });
  expect(outcome.stdout).toContain('1 case of ');
});

it('policy test fails for a RunnerGroup that is not valid', async () => {
  const text = caseOf('x', '"a b"');
  expect((await run({ 'a.yaml': text }, '{}')).stdout).toMatch(/FAIL .*the RunnerGroup is not valid: spec\.image/);
});

it('policy test knows the day and the Application of a case', async () => {
  const spec =
    '{registries: [], projects: [ci], exceptions: [{groups: [team-a/ci], rules: [registries], until: 2027-03-31, reason: x}]}';
  const at = (day: string, more: string) => caseOf('x', 'a:1', `now: ${day}\napplication: {project: ci}\n${more}`);

  expect(await run({ 'a.yaml': at('2027-03-01', '') }, spec)).toMatchObject({ code: 0 });
  expect(await run({ 'a.yaml': at('2027-03-31', 'warned: [registries]\n') }, spec)).toMatchObject({ code: 0 });
  expect(await run({ 'a.yaml': at('2027-04-01', 'denied: [registries]\n') }, spec)).toMatchObject({ code: 0 });
  const other = at('2027-03-01', 'denied: [projects]\n').replace('project: ci', 'project: other');
  expect(await run({ 'a.yaml': other }, spec)).toMatchObject({ code: 0 });
});

it('policy test writes JUnit, with what a case says made harmless', async () => {
  const { code, stdout } = await run(
    { 'a.yaml': caseOf('"<a & \\"b\\">"', '"x.example.com/y:1"') },
    DENY,
    '-o',
    'junit',
  );

  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuite name="policy" tests="1" failures="1">\n/,
  );
  expect(stdout).toContain(
    'name="&#60;a &#38; &#34;b&#34;&#62;"><failure message="denied is registries, expected nothing"/>',
  );
  expect((await run({ 'a.yaml': caseOf('x', 'a:1') }, '{}', '-o', 'junit')).stdout).toContain('name="x"></testcase>');
});

it.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['no case', {}, /GR-POLICY-07 read cases: there is none/],
  [
    'a field that no case has',
    { 'a.yaml': caseOf('x', 'a:1', 'deny: []\n') },
    /GR-POLICY-07 read cases: .*a\.yaml:1: /,
  ],
  [
    'a rule that is none',
    { 'a.yaml': caseOf('x', 'a:1', 'denied: [image]\n') },
    /a\.yaml:1: denied\[0\] must be one of /,
  ],
  ['no YAML', { 'a.yaml': 'name: [\n' }, /GR-POLICY-07 read cases: .*a\.yaml:\d/],
  [
    'a RunnerGroup',
    { 'a.yaml': groupYaml('https://gitea.example.com') },
    /a\.yaml:1: is a RunnerGroup\. A case has a name, and the group below group\. Name a file or a folder/,
  ],
])('policy test refuses %s', async (_, cases, text) => {
  expect(await run(cases, '{}')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(text) });
});

it('policy test names the path that is not there', async () => {
  const words = ['policy', 'test', 'nowhere', '--policy', policyFile('{}')];

  expect(await runHere(words)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/read cases: nowhere: .*no such/),
  });
});

it('policy test needs a policy', async () => {
  expect(await runHere(['policy', 'test', '.'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('GR-POLICY-07 policy test: no policy is named'),
  });
});

const explain = async (spec: string, ...flags: readonly string[]) => {
  const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') });
  const env = { GITEA_RUNNERS_COLUMNS: '400', COLUMNS: '400' };
  return await runHere(['policy', 'explain', folder, '--policy', policyFile(spec), ...flags], env);
};

it('policy explain names each rule, where it stands, what it says, and its result', async () => {
  const { code, stdout } = await explain(
    '{images: [], enforcementOf: {registries: warn}, namespaces: [{name: x}, {name: "*", registries: []}], groups: [{match: {}, priorityClasses: [a]}]}',
  );

  expect(code).toBe(0);
  expect(stdout).toMatch(/^images +policy +denied +\[\]: spec\.image is /m);
  expect(stdout).toMatch(/^registries +namespaces\[1\] +warned +\[\]: spec\.image comes from docker\.io/m);
  expect(stdout).toMatch(/^priorityClasses +groups\[0\] +allowed +\[ "a" \]/m);
  expect(stdout).toMatch(/^not restricted: .*maxResources/m);
  expect(stdout).not.toMatch(/^not restricted: .*images/m);
});

it('policy explain reads no policy file, and cuts no name of a rule in 80 columns', async () => {
  const spec = '{images: [], namespaces: [{name: "*", destinations: []}], defaults: {securityProfile: baseline}}';
  const policy = `${HEAD}spec: ${spec}\n`;
  const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com'), 'policy.yaml': policy });
  const words = ['policy', 'explain', '--policy', join(folder, 'policy.yaml')];
  const { code, stdout } = await runHere(words, { GITEA_RUNNERS_COLUMNS: '80', COLUMNS: '80' }, folder);

  expect(code).toBe(0);
  expect(stdout).toMatch(/^namespaces\.destinations +namespaces\[0\] +allowed/m);
  expect(stdout).not.toContain('…');
});

it('policy explain takes one group by its name', async () => {
  expect((await explain('{}', '--group', 'ci')).stdout.split('\n')[0]).toMatch(/\/ci \(.*ci\.yaml:1\): allowed$/);
  expect(await explain('{}', '--group', 'cd')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/policy explain: no RunnerGroup is named cd\. There are \S+\/ci\./),
  });
});

it('validate --show adds the table of policy explain, also for a denied group', async () => {
  const folder = folderWith({ 'ci.yaml': groupYaml('https://gitea.example.com') });
  const show = (...more: string[]) => runHere(['validate', folder, '--show', ...more]);
  const allowed = await show('--policy', policyFile('{priorityClasses: [a]}'));
  const denied = await show('--policy', policyFile('{images: []}'));

  expect(allowed).toMatchObject({ code: 0, stdout: expect.stringMatching(/ valid.*\n\n.*\/ci \(.*\nRULE /) });
  expect(denied).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/: denied by images\nRULE [\s\S]*^images +policy +denied +\[\]/m),
  });
  expect(await show()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('needs --policy FILE') });
});

describe('policy init', () => {
  it.each(['open', 'shared', 'hostile'])('%s prints a policy that can be used', async (level) => {
    const { code, stdout } = await runHere(['policy', 'init', level]);

    expect(code).toBe(0);
    expect(stdout).toBe(readFileSync(`examples/policies/${level}.yaml`, 'utf8'));
    expect(readPolicy('p', stdout)).toHaveProperty('policy');
  });

  it('policy init is for a shared cluster by default, and knows no other levels', async () => {
    expect((await runHere(['policy', 'init'])).stdout).toBe((await runHere(['policy', 'init', 'shared'])).stdout);
    expect(await runHere(['policy', 'init', 'closed'])).toMatchObject({ code: 2, stdout: '' });
  });

  const specOf = (level: string): unknown => {
    const read = readPolicy('p', readFileSync(`examples/policies/${level}.yaml`, 'utf8'));
    return 'policy' in read ? read.policy : undefined;
  };

  it('hostile denies every hostile podTemplate, but for what is refused as reserved', () => {
    const group = { ...runnerGroup(), namespace: 'team-a', scope: { kind: 'org', org: 'team-a' } as const };
    const passing = HOSTILE.filter(
      ({ template }) => denialsOf(specOf('hostile'), { ...group, podTemplate: template }).length === 0,
    );

    expect(HOSTILE.length - passing.length).toBeGreaterThan(50);
    expect(passing.filter(({ by }) => by !== 'faults')).toEqual([]);
    expect(passing.filter(({ template }) => !/"(?:env|resources)"/.test(JSON.stringify(template)))).toEqual([]);
  });

  it('hostile allows a plain group of its tenant, and shared one with docker', () => {
    const group = { namespace: 'team-a', scope: { kind: 'org', org: 'team-a' } as const };
    expect(denialsOf(specOf('hostile'), group)).toEqual([]);
    expect(denialsOf(specOf('shared'), { containerMode: 'dind-rootless' })).toEqual([]);
    expect(denialsOf(specOf('open'), { containerMode: 'dind' })).toEqual([]);
    expect(denialsOf(specOf('hostile'), { ...group, containerMode: 'dind' })).toEqual([
      'securityProfile spec.securityProfile',
    ]);
  });

  it.each(['open', 'shared', 'hostile'])('%s opens no service account and no privileged podTemplate', (level) => {
    const namespace = level === 'hostile' ? 'team-a' : 'runners';
    const account = { namespace, podTemplate: { spec: { serviceAccountName: 'admin' } } };
    const privileged = { namespace, securityProfile: 'privileged' as const, podTemplate: {} };

    expect(policyOf(specOf(level))).toBeDefined();
    expect(denialsOf(specOf(level), account).join()).toContain('serviceAccounts');
    expect(denialsOf(specOf(level), privileged).join()).toContain('securityProfile');
  });
});
