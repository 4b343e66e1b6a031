/** `import`: what it makes of other tools' manifests is valid, and it says what it left out. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { folderWith, runCli } from '../support/run-cli.ts';

/** As in the documentation of the runner, with what people add. */
const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: act-runner, namespace: ci}
spec:
  replicas: 3
  selector: {matchLabels: {app: act-runner}}
  template:
    metadata: {labels: {app: act-runner}}
    spec:
      nodeSelector: {pool: ci}
      tolerations: [{key: ci, operator: Exists}]
      imagePullSecrets: [{name: pull}]
      serviceAccountName: ci
      securityContext: {fsGroup: 1000}
      volumes:
        - {name: runner-data, persistentVolumeClaim: {claimName: act-runner-vol}}
        - {name: docker-certs, emptyDir: {}}
      containers:
        - name: runner
          image: gitea/act_runner:nightly
          env:
            - {name: DOCKER_HOST, value: tcp://localhost:2376}
            - {name: GITEA_INSTANCE_URL, value: http://gitea-http.gitea.svc.cluster.local:3000}
            - {name: GITEA_RUNNER_LABELS, value: 'ubuntu-latest:docker://node:20, gpu'}
            - {name: GITEA_RUNNER_REGISTRATION_TOKEN, valueFrom: {secretKeyRef: {name: runner-secret, key: token}}}
            - {name: TZ, value: Europe/Berlin}
          resources: {requests: {cpu: 500m}}
        - name: daemon
          image: docker:23.0.6-dind
          securityContext: {privileged: true}
`;

const SCALED_JOB = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: forgejo-job, namespace: ci}
spec:
  maxReplicaCount: 7
  jobTargetRef:
    template:
      spec:
        containers:
          - name: runner
            image: gitea/act_runner:0.2.11-dind-rootless
            env:
              - {name: GITEA_INSTANCE_URL, value: https://gitea.example.com}
              - {name: GITEA_RUNNER_REGISTRATION_TOKEN, value: plain-token}
  triggers:
    - type: forgejo-runner
      metadata: {name: x, address: https://gitea.example.com, owner: acme, repo: web, labels: ubuntu-latest}
`;

const OPERATOR = `
apiVersion: v1
kind: List
items:
  - apiVersion: gitea.bpg.pw/v1alpha1
    kind: RunnerGroup
    metadata: {name: ci, namespace: runners, uid: 1-2, managedFields: []}
    spec:
      scope: org
      org: acme
      giteaURL: https://gitea.example.com
      maxActiveRunners: 5
      registrationToken: {name: reg, key: token}
      authToken: {name: api, key: token}
    status: {activeRunners: 2}
`;

function run(text: string, ...flags: readonly string[]) {
  return runCli(['import', 'x.yaml', ...flags], {}, folderWith({ 'x.yaml': text }));
}

async function imported(text: string, ...flags: readonly string[]) {
  const { code, stdout, stderr } = await run(text, ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d RunnerGroups?\./) });
  const folder = folderWith({ 'groups.yaml': stdout });
  expect(await runCli(['validate', '.'], {}, folder)).toMatchObject({ code: 0 });
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
    const folder = folderWith({});
    mkdirSync(join(folder, 'groups'));

    expect(await runCli(['import', name], {}, folder)).toEqual({ code: 2, stdout: '', stderr });
  });

  it.each([
    ['what has no runner', 'kind: Service\nmetadata: {name: s}\n', [], 'GR-IMPORT-02'],
    ['broken YAML', 'kind: [', [], 'GR-IMPORT-01'],
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

  it('a file that is not there', async () => {
    expect(await runCli(['import', '/no/such/file.yaml'])).toMatchObject({ code: 2, stdout: '' });
  });
});
