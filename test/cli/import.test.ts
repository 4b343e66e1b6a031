/** `import`: what it makes of other tools' manifests is valid, and it says what it left out. */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DEPLOYMENT, OPERATOR, SCALED_JOB } from '../support/other-tools.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

function run(text: string, ...flags: readonly string[]) {
  return runHere(['import', 'x.yaml', ...flags], {}, folderWith({ 'x.yaml': text }));
}

async function imported(text: string, ...flags: readonly string[]) {
  const { code, stdout, stderr } = await run(text, ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d RunnerGroups?\./) });
  const folder = folderWith({ 'groups.yaml': stdout });
  expect(await runHere(['validate', '.'], {}, folder)).toMatchObject({ code: 0 });
  const groups = parseAllDocuments(stdout).map((document) => document.toJS() as { readonly spec: object });
  return { groups, comments: stdout.split('\n').filter((line) => line.startsWith('# ')) };
}

it('a Deployment with a runner and docker beside it', async () => {
  const { groups, comments } = await imported(DEPLOYMENT, '--owner', 'acme');

  expect(groups).toEqual([
    {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name: 'act-runner', namespace: 'ci' },
      spec: {
        scope: 'org',
        org: 'acme',
        gitea: { url: 'http://gitea-http.gitea.svc.cluster.local:3000' },
        maxActiveRunners: 3,
        labels: ['ubuntu-latest:docker://node:20', 'gpu'],
        defaultLabels: false,
        containerMode: 'dind',
        registrationToken: { secretRef: { name: 'runner-secret', key: 'token' } },
        resources: { requests: { cpu: '500m' } },
        podTemplate: {
          spec: {
            nodeSelector: { pool: 'ci' },
            tolerations: [{ key: 'ci', operator: 'Exists' }],
            imagePullSecrets: [{ name: 'pull' }],
            containers: [{ name: 'runner', env: [{ name: 'TZ', value: 'Europe/Berlin' }] }],
          },
        },
        authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
      },
    },
  ]);
  for (const word of [
    'gitea/act_runner:nightly',
    'runner-data',
    'serviceAccountName ci',
    'securityContext',
    'authToken',
  ])
    expect(comments.join('\n')).toContain(word);
});

it('a ScaledJob: scope and cap come from KEDA; a token in the manifest is told, and not printed', async () => {
  const { groups, comments } = await imported(SCALED_JOB);

  expect(groups[0]?.spec).toMatchObject({
    scope: 'repo',
    repo: 'acme/web',
    maxActiveRunners: 7,
    labels: ['ubuntu-latest'],
    containerMode: 'dind-rootless',
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
  });
  expect(comments.join('\n')).toContain('revoke it');
  expect(JSON.stringify(groups) + comments.join()).not.toContain('plain-token');
});

it("the operator's RunnerGroup, from `kubectl get -o yaml`", async () => {
  const { groups } = await imported(OPERATOR);

  expect(groups).toEqual([
    {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name: 'ci', namespace: 'runners' },
      spec: {
        scope: 'org',
        org: 'acme',
        gitea: { url: 'https://gitea.example.com' },
        maxActiveRunners: 5,
        registrationToken: { secretRef: { name: 'reg', key: 'token' } },
        authToken: { secretRef: { name: 'api', key: 'token' } },
      },
    },
  ]);
});

it('a group that moves to another namespace names the Secrets of the installation: its own stay where they were', async () => {
  const moved = OPERATOR.replace(', namespace: runners', '');

  const { groups, comments } = await imported(moved, '--group-namespace', 'runners');

  expect(groups[0]?.spec).toMatchObject({
    registrationToken: { secretRef: { name: 'gitea-runner', key: 'registration-token' } },
    authToken: { secretRef: { name: 'gitea-api', key: 'token' } },
  });
  expect(comments).toContain(
    '# Secrets of another namespace are not carried over: reg, api. docs/install.md makes gitea-runner and gitea-api.',
  );
});

it('several files and kinds in one run; other objects are left out', async () => {
  const others =
    'kind: Service\nmetadata: {name: s}\n---\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: w, image: nginx}]}}}\n';

  const { groups } = await imported([DEPLOYMENT, others, SCALED_JOB].join('---\n'), '--scope', 'global');

  expect(groups.map(({ spec }) => spec)).toMatchObject([{ scope: 'global' }, { scope: 'global' }]);
});

describe('refuses', () => {
  it.each([
    ['groups', 'error: GR-IMPORT-01 import groups: it is a folder. Name the files in it.\n'],
    ['none.yaml', 'error: GR-IMPORT-01 import none.yaml: there is no such file.\n'],
  ])('%s', async (name, stderr) => {
    expect(await runHere(['import', name], {}, folderWith({ 'groups/x': '' }))).toEqual({
      code: 2,
      stdout: '',
      stderr,
    });
  });

  it.each([
    ['what has no runner', 'kind: Service\nmetadata: {name: s}\n', [], 'GR-IMPORT-02'],
    ['broken YAML', 'kind: [', [], 'GR-IMPORT-01'],
    [
      'values of ARC, with what to do',
      'githubConfigUrl: https://github.com/acme\n',
      [],
      "GR-IMPORT-02 import: x.yaml has values of ARC, which say nothing of Gitea. Start with 'gitea-runners init'",
    ],
    [
      'a YAML bomb',
      `a: &a [${'x,'.repeat(9)}x]\nb: &b [${'*a,'.repeat(20)}*a]\nc: &c [${'*b,'.repeat(20)}*b]\nd: [${'*c,'.repeat(20)}*c]\n`,
      [],
      'GR-IMPORT-01',
    ],
    ['a Deployment that does not say whose jobs', DEPLOYMENT, [], 'GR-IMPORT-03'],
    ['what would not be valid', OPERATOR.replace('org: acme', 'org: "a b"'), [], 'GR-IMPORT-04'],
    ['an unknown scope', DEPLOYMENT, ['--scope', 'team', '--owner', 'a'], 'GR-INIT-02 import: --scope must be'],
    [
      'a repository without its owner',
      DEPLOYMENT,
      ['--scope', 'repo', '--owner', 'a'],
      'GR-INIT-02 import: for scope repo --owner must be OWNER/NAME, not "a".\n',
    ],
  ] as const)('%s', async (_, text, flags, code) => {
    const outcome = await run(text, ...flags);

    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toContain(`error: ${code}`);
    expect(outcome.stderr.split('\n').length).toBeLessThan(20);
  });
});

const OF_OPERATOR = (labels: string, spec = 'scope: org, org: acme') =>
  `apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci, namespace: ci}\nspec: {${spec}, giteaURL: 'https://gitea.example.com', labels: ${labels}, maxActiveRunners: 5, registrationToken: {name: reg, key: token}, authToken: {name: api, key: token}}\n`;

const CONFIG =
  'runner: {file: .runner, capacity: 3, timeout: 1h30m, insecure: false, envs: {NPM_TOKEN: abc}, fetch_interval: 2s, labels: ["ubuntu-latest:docker://node:20"]}\ncache: {enabled: true, dir: /old}\ncontainer: {privileged: true, docker_host: "tcp://docker:2375"}\n';

describe('carries over', () => {
  it("the org of KEDA's trigger, and the Secret of its TriggerAuthentication", async () => {
    const auth =
      'apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: auth}\nspec: {secretTargetRef: [{parameter: token, name: keda-token, key: pat}]}\n';
    const job = SCALED_JOB.replace('owner: acme, repo: web', 'org: acme').replace(
      /(metadata: \{name: x.*\n)/,
      '$1      authenticationRef: {name: auth}\n',
    );

    const { groups, comments } = await imported(`${auth}---${job}`);

    expect(groups[0]?.spec).toMatchObject({
      scope: 'org',
      org: 'acme',
      authToken: { secretRef: { name: 'keda-token', key: 'pat' } },
    });
    expect(comments.join('\n')).toContain("authToken names KEDA's Secret keda-token. ");
  });

  it('labels, capacity, timeout and keys of a config.yaml in a ConfigMap of the same file', async () => {
    const map = `kind: ConfigMap\nmetadata: {name: config}\ndata:\n  config.yaml: |\n${CONFIG.replace(/^(?=.)/gm, '    ')}`;
    const withFile = DEPLOYMENT.replace(
      'volumes:\n',
      'volumes:\n        - {name: config, configMap: {name: config}}\n',
    );

    const { groups, comments } = await imported(`${withFile}---\n${map}`, '--owner', 'acme');

    expect(groups[0]?.spec).toMatchObject({
      maxActiveRunners: 9,
      activeDeadlineSeconds: 5400,
      labels: ['ubuntu-latest:docker://node:20'],
      runnerConfig: { runner: { fetch_interval: '2s' }, cache: { enabled: true }, container: { privileged: true } },
    });
    expect(comments).toContain(
      "# Of the runner's config.yaml these are not carried over: runner.envs, cache.dir, container.docker_host.",
    );
  });

  it("an operator's group that lacks the name of its scope", async () => {
    const { groups } = await imported(OF_OPERATOR('[linux]', 'scope: org'), '--owner', 'acme');

    expect(groups).toMatchObject([{ spec: { org: 'acme' } }]);
  });
});

it('a label that no runner takes is told in a comment, and one bad group loses no other', async () => {
  const bad = OF_OPERATOR('[a]', 'scope: repo, repo: web').replace('name: ci,', 'name: bad,');

  const { groups, comments } = await imported(`${OF_OPERATOR('["app:infra", linux]')}---\n${bad}`);

  expect(groups.flatMap((group) => group ?? [])).toMatchObject([{ spec: { labels: ['linux'] } }]);
  expect(comments.join('\n')).toContain('name:docker://image: app:infra. Add them');
  expect(comments.join('\n')).toContain(
    '# import ci/bad: the RunnerGroup would not be valid: spec.repo needs its owner',
  );
});

it('a plain value that may be a secret is named, and not copied', async () => {
  const { groups, comments } = await imported(
    DEPLOYMENT.replace('env:\n', 'env:\n            - {name: NPM_TOKEN, value: hunter2}\n'),
    '--owner',
    'acme',
  );

  expect(JSON.stringify([groups, comments])).not.toContain('hunter2');
  expect(comments.join('\n')).toContain('may be secrets are not carried over: NPM_TOKEN.');
});
