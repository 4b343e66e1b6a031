/** Tests `--policy` through the program: exit codes, output, and that nothing is served in doubt. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, groupYaml, runHere, runNode } from '../../support/run-cli.ts';
import { startAcme } from '../../support/start-acme.ts';

const policyYaml = (spec: string) => `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerPolicy\nspec: ${spec}\n`;
const ARGOCD = {
  ARGOCD_APP_NAME: 'runners',
  ARGOCD_APP_NAMESPACE: 'runners',
  ARGOCD_APP_PROJECT_NAME: 'ci',
  ARGOCD_APP_SOURCE_REPO_URL: 'https://gitea.example.com/ops/runners.git',
};

/** A command over one group of namespace `runners`, with a policy that stands in another folder. */
async function run(args: readonly string[], spec: string, env: Readonly<Record<string, string>> = {}) {
  const { simulator, env: gitea } = await startAcme();
  const policy = join(folderWith({ 'policy.yaml': policyYaml(spec) }), 'policy.yaml');
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url, '  resources: {requests: {cpu: 1}}\n') });
  const outcome = await runHere([...args, '--policy', policy], { ...gitea, ...env }, folder);
  return { ...outcome, policy };
}

const GENERATE = ['generate', '--cluster', 'off'];
const LOOKING = [GENERATE, ['explain', '--cluster', 'off'], ['sweep', '--cluster', 'off', '--dry-run']];

it.each([...LOOKING.map((args) => [args] as const)])(
  'a group that the policy denies is refused by %j before Gitea is asked',
  async (args) => {
    const outcome = await run([...args, '-v'], '{images: [docker.io/acme/*], maxActiveRunners: 4}');

    expect(outcome).toMatchObject({ code: 3, stdout: '' });
    expect(outcome.stderr).toBe(
      `error: GR-POLICY-04 serve RunnerGroups: 2 denials by the policy ${outcome.policy}.\n` +
        'ci.yaml:1: runners/ci: spec.image: is "gitea/runner:1.0.8"; the policy allows docker.io/acme/*. Use one of them [images]\n' +
        'ci.yaml:1: runners/ci: spec.maxActiveRunners: is 5; the policy allows 4 for all RunnerGroups together. Lower it, or ask for a higher maxActiveRunners in the policy [maxActiveRunners]\n',
    );
  },
);

it('a group that the policy denies is refused by validate, with every denial', async () => {
  const groups = Array.from({ length: 30 }, (_, index) => groupYaml('https://g.example.com', '', `ci-${index}`));
  const folder = folderWith({ 'ci.yaml': groups.join('---\n') });
  const policy = join(folderWith({ 'policy.yaml': policyYaml('{registries: []}') }), 'policy.yaml');
  const { code, stdout, stderr } = await runHere(['validate', '--policy', policy], {}, folder);

  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  const lines = stderr.trimEnd().split('\n');
  expect(lines.filter((line) => !line.includes(': warning: '))).toHaveLength(31);
  expect(lines.at(-1)).toBe('30 RunnerGroups in 1 file: 30 errors, 29 warnings');
  expect(stderr).toContain('ci.yaml:439:1: spec.image: comes from docker.io; the policy allows none.');
  const generated = await runHere(['generate', '--policy', policy], {}, folder);
  expect(generated.stderr.trimEnd().split('\n')).toHaveLength(17);
  expect(generated.stderr).toContain('… and 15 more: gitea-runners validate --policy ');
});

it('a group that the policy denies is refused with cdk8s synth, too', async () => {
  const { simulator, env } = await startAcme();
  const policy = join(folderWith({ 'policy.yaml': policyYaml('{images: []}') }), 'policy.yaml');
  const folder = folderWith({ 'ci.yaml': groupYaml(simulator.url) });
  const main = join(process.cwd(), 'lib/main.cjs');
  const outcome = await runNode([main], { ...env, GITEA_RUNNERS_POLICY: policy, GITEA_RUNNERS_CLUSTER: 'off' }, folder);

  expect(outcome).toMatchObject({ code: 3, stderr: expect.stringContaining('GR-POLICY-04') });
});

it('a group that the policy allows is served as without a policy', async () => {
  const allowed = await run(
    GENERATE,
    '{images: [docker.io/gitea/*], projects: [ci], repositories: ["https://gitea.example.com/ops/*"]}',
    ARGOCD,
  );
  const { code, stdout } = await run(GENERATE, '{}', ARGOCD);

  expect(allowed.code, allowed.stderr).toBe(0);
  expect(code).toBe(0);
  expect(allowed.stdout.replace(/127\.0\.0\.1:\d+/g, '')).toHaveLength(stdout.replace(/127\.0\.0\.1:\d+/g, '').length);
  expect(allowed.stderr).not.toContain('not checked');
});

it('a group that the policy allows may live in a namespace that the policy opens to the destination of the Application', async () => {
  const from = { ...ARGOCD, ARGOCD_APP_NAMESPACE: 'control' };

  expect(await run(GENERATE, '{namespaces: [{name: runners, destinations: [control]}]}', from)).toMatchObject({
    code: 0,
  });
  expect(await run(GENERATE, '{}', from)).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringContaining('[namespaces.destinations]'),
  });
});

describe('without Argo CD', () => {
  const SPEC = '{projects: [ci], repositories: ["https://gitea.example.com/ops/*"]}';

  it('validate says which rules were not checked', async () => {
    const { code, stdout, stderr, policy } = await run(['validate'], SPEC);
    const localhost = /^ci\.yaml:7:11: warning: .*GR-WARN-14\]\n/m;

    expect({ code, stdout, stderr: stderr.replace(localhost, '') }).toEqual({
      code: 0,
      stdout: `1 RunnerGroup in 1 file is valid, and allowed by ${policy}; 1 warning\n`,
      stderr: "not checked, because Argo CD does not ask: the policy's projects, repositories\n",
    });
  });

  it('validate checks what it is told', async () => {
    const outcome = await run(['validate'], SPEC, { ARGOCD_APP_NAMESPACE: 'runners', ARGOCD_APP_PROJECT_NAME: 'evil' });

    expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('[projects]') });
    expect(outcome.stderr).toContain("the policy's repositories\n");
  });

  it.each(['ARGOCD_APP_PROJECT_NAME', 'ARGOCD_APP_SOURCE_REPO_URL'])(
    'nothing is skipped when Argo CD asks and %s is missing',
    async (name) => {
      const outcome = await run(GENERATE, SPEC, { ...ARGOCD, [name]: '' });

      expect(outcome).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining(`${name} is not set`) });
    },
  );

  it('a variable of a repository’s author says nothing about the project', async () => {
    const env = {
      ...ARGOCD,
      ARGOCD_APP_PROJECT_NAME: 'evil',
      ARGOCD_ENV_ARGOCD_APP_PROJECT_NAME: 'ci',
      PARAM_PROJECT: 'ci',
    };

    expect((await run(GENERATE, SPEC, env)).code).toBe(3);
  });
});

it.each([...LOOKING, ['validate'], ['serve', '--argocd-url', 'https://a.example.com']].map((args) => [args] as const))(
  'a policy that cannot be used ends %j with exit 2 and an empty stdout',
  async (args) => {
    const outcome = await run(args, '{image: []}');

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toBe(
      `error: GR-POLICY-05 read the policy ${outcome.policy}: 1 problem. Nothing is served without it.\n` +
        `${outcome.policy}:3:8: spec.image: unknown field; did you mean "images"?\n`,
    );
  },
);

it('generate fails when the variable names a policy that is not there', async () => {
  const { env } = await startAcme();
  const outcome = await runHere(['generate'], { ...env, GITEA_RUNNERS_POLICY: '/nowhere/policy.yaml' }, folderWith({}));

  expect(outcome).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('/nowhere/policy.yaml: cannot be read: no such file (ENOENT)'),
  });
});

it.each([['generate'], ['validate']])(
  'two of them end %s with exit 2: the rules of one would vanish',
  async (command) => {
    const outcome = await runHere([command, '--policy', 'strict.yaml', '--policy', 'open.yaml']);

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toContain('It is given twice, and only one file counts: write all rules into one.');
  },
);

it('a relative path in the variable is refused: it would lie in the repository', async () => {
  const folder = folderWith({ 'policy.yaml': policyYaml('{}') });

  expect(await runHere(['generate'], { GITEA_RUNNERS_POLICY: 'policy.yaml' }, folder)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('GR-FLAG-09'),
  });
});

it('schema prints that of a policy; a policy has no CRD', async () => {
  const { stdout } = await runHere(['schema', '--kind', 'RunnerPolicy']);

  expect(JSON.parse(stdout)).toMatchObject({ title: 'RunnerPolicy', properties: { spec: { type: 'object' } } });
  expect(await runHere(['schema', '--kind', 'RunnerPolicy', '--crd'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('GR-FLAG-14'),
  });
  expect(await runHere(['schema', '--kind', 'Pod'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('GR-FLAG-13'),
  });
});
