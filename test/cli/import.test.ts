/** `import`: what it makes of other tools' manifests is valid, and it says what it left out. */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fieldsOf, requiredFields, type ValueType } from '../../src/config/pods/pod-schema.ts';
import { manual } from '../../src/shared/installed/installed-names.ts';
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
          metadata: { labels: { app: 'act-runner' } },
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
    'serviceAccountName is not carried over (ci)',
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
    `# The file names no namespace, so the group is in runners, with the Secrets that ${manual('install.md')} makes there: gitea-runner and gitea-api. If runners has reg, api, too, write that name.`,
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
    [
      'groups',
      'error: GR-IMPORT-01 import groups: it is a folder. Name the files in it, or write: kustomize build FOLDER | gitea-runners import -.\n',
    ],
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
      'a key that stands twice, in the words of validate',
      'kind: A\nkind: B\n',
      [],
      'GR-IMPORT-01 import x.yaml: line 2 is no valid YAML: the key "kind" is already in its mapping.\n',
    ],
    [
      'values of ARC, with what to do',
      'githubConfigUrl: https://github.com/acme\n',
      [],
      "GR-IMPORT-02 import: Values of ARC say nothing of Gitea: start with 'gitea-runners init'",
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
      "# Of the runner's config.yaml these are not carried over: runner.envs NPM_TOKEN (they may be secrets: write the others into spec.runnerConfig), cache.dir (of the old machine), container.docker_host (spec.runnerConfig does not take it).",
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
  expect(comments.join('\n')).toContain('may be secrets are not carried over (NPM_TOKEN): ');
});

const OLD_POD = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: r, namespace: ci}
spec:
  template:
    metadata: {labels: {team: web}, annotations: {prometheus.io/scrape: "true"}}
    spec:
      volumes:
        - {name: mirror, configMap: {name: daemon}}
        - {name: token, secret: {secretName: old-token, items: [{key: value, path: t}]}}
        - {name: socket, hostPath: {path: /var/run/docker.sock}}
        - {name: cfg, configMap: {name: cfg}}
      initContainers: [{name: wait, image: "busybox:1.36"}]
      containers:
        - name: gitea-runner
          image: gitea/act_runner:0.2.11
          command: [sh, -c, prepare]
          envFrom: [{secretRef: {name: ci-env}}]
          env:
            - {name: GITEA_INSTANCE_URL, value: "https://gitea.example.com"}
            - {name: GITEA_RUNNER_REGISTRATION_TOKEN_FILE, value: /token/t}
          volumeMounts: [{name: token, mountPath: /token}, {name: socket, mountPath: /var/run/docker.sock}, {name: cfg, mountPath: /cfg}]
        - name: dockerd
          image: docker:27-dind
          args: [--mtu=1400]
          volumeMounts: [{name: mirror, mountPath: /etc/docker}]
---
kind: ConfigMap
metadata: {name: cfg}
data:
  config.yaml: |
    runner: {labels: ["linux:docker://node:22"]}
    container: {network: old, options: "-v /tls:/tls --cpus 2", valid_volumes: [/tls]}
`;

describe('of a pod', () => {
  it('what a runner may have goes over, and the rest is named with its reason', async () => {
    const { groups, comments } = await imported(OLD_POD, '--owner', 'acme');

    expect(groups[0]?.spec).toMatchObject({
      maxActiveRunners: 1,
      registrationToken: { secretRef: { name: 'old-token', key: 'value' } },
      podTemplate: {
        metadata: { labels: { team: 'web' }, annotations: { 'prometheus.io/scrape': 'true' } },
        spec: {
          volumes: [{ name: 'mirror', configMap: { name: 'daemon' } }],
          initContainers: [
            { name: 'docker', volumeMounts: [{ name: 'mirror', mountPath: '/etc/docker' }] },
            { name: 'wait', image: 'busybox:1.36' },
          ],
          containers: [{ name: 'runner', envFrom: [{ secretRef: { name: 'ci-env' } }] }],
        },
      },
    });
    for (const lost of [
      'spec.containers[runner].command: ["sh","-c","prepare"] (is reserved',
      'spec.initContainers[docker].args: ["--mtu=1400"] (is reserved',
      'spec.volumes[token]: {"name":"token","secret":{"secretName":"old-token","items":[{"key":"value","path":"t"}]}} (is reserved',
      'container.network: "old" (it names places',
      'container.options: "-v /tls:/tls --cpus 2" (it names places',
      'container.valid_volumes: ["/tls"] (it names places',
    ])
      expect(comments.join('\n')).toContain(`# Not carried over: ${lost}`);
  });

  it('what only a policy can allow is said', async () => {
    const text = OLD_POD.replace('      volumes:\n', '      priorityClassName: low\n      volumes:\n');
    const { stdout } = await run(text, '--owner', 'acme');

    expect(stdout).toContain(`# spec.priorityClassName: only a policy can allow it (${manual('policy.md')}).`);
  });

  const sample = (type: ValueType, depth = 0): unknown => {
    switch (type.kind) {
      case 'scalar':
        return (
          { string: 'x', boolean: false, int32: 1, int64: 1, 'any object': {}, quantity: '1' }[String(type.scalar)] ??
          'x'
        );
      case 'list':
        return [sample(type.element, depth + 1)];
      case 'mapping':
        return { k: sample(type.element, depth + 1) };
      case 'struct': {
        const [first = ''] = fieldsOf(type.name).keys();
        const names = [...new Set([...requiredFields(type.name), ...(depth < 4 ? [first] : [])])];
        return Object.fromEntries(
          names.map((name) => [name, sample(fieldsOf(type.name).get(name)?.type ?? type, depth + 1)]),
        );
      }
      default:
        return type satisfies never;
    }
  };
  /** Fields with a rule and a test of their own, above. */
  const SPECIAL = [
    'command',
    'envFrom',
    'containers',
    'initContainers',
    'volumes',
    'name',
    'image',
    'env',
    'volumeMounts',
    'restartPolicy',
  ];
  const fields = (struct: string) => [...fieldsOf(struct)].filter(([name]) => !SPECIAL.includes(name));

  it.each([
    ...fields('PodSpec').map(([name, { type }]) => ['spec', name, sample(type)] as const),
    ...fields('Container').map(([name, { type }]) => ['container', name, sample(type)] as const),
  ])('%s.%s is carried over or told', async (place, name, value) => {
    const set = `${name}: ${JSON.stringify(value)}\n`;
    const text =
      place === 'spec'
        ? OLD_POD.replace('      volumes:\n', `      ${set}      volumes:\n`)
        : OLD_POD.replace('          command: ', `          ${set}          command: `);
    const { code, stdout } = await run(text, '--owner', 'acme');

    expect(code).toBe(0);
    expect(stdout).toContain(name);
    expect(await runHere(['validate', 'g.yaml'], {}, folderWith({ 'g.yaml': stdout }))).toMatchObject({ code: 0 });
  });

  it.each([
    ['spec', 'replicas'],
    ['pod', 'volumes'],
    ['pod', 'initContainers'],
    ['pod', 'nodeSelector'],
    ['container', 'env'],
    ['container', 'resources'],
  ])('%s.%s with nothing behind it is absent, as Kubernetes reads it', async (place, field) => {
    const at = (where: string, line: string) => (where === place ? `${line}${field}:\n` : '');
    const text = `kind: Deployment\nmetadata: {name: r, namespace: ci}\nspec:\n${at('spec', '  ')}  template:\n    spec:\n${at('pod', '      ')}      containers:\n        - name: r\n          image: gitea/act_runner:0.2.11\n${at('container', '          ')}`;
    const { groups } = await imported(text, '--owner', 'acme', '--gitea', 'https://gitea.example.com');

    expect(groups).toMatchObject([{ spec: { maxActiveRunners: 1 } }]);
  });
});

describe('what scales a Deployment', () => {
  const SCALED =
    'apiVersion: v1\nkind: Deployment\nmetadata: {name: act-runner, namespace: ci}\nspec: {template: {spec: {containers: [{name: r, image: gitea/act_runner:0.2.11, env: [{name: GITEA_INSTANCE_URL, value: https://gitea.example.com}]}]}}}\n';

  it("a ScaledObject says whose jobs, how many, which labels and which token, as a ScaledJob's trigger does", async () => {
    const keda =
      'apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: so}\nspec:\n  scaleTargetRef: {name: act-runner}\n  minReplicaCount: 2\n  maxReplicaCount: 10\n  triggers:\n    - {type: github-runner, metadata: {githubApiURL: "https://gitea.example.com/api/v1", runnerScope: org, owner: acme, labels: "a,b"}, authenticationRef: {name: auth}}\n';
    const auth =
      'kind: TriggerAuthentication\nmetadata: {name: auth}\nspec: {secretTargetRef: [{parameter: personalAccessToken, name: keda-token, key: pat}]}\n';

    const { groups, comments } = await imported(`${SCALED}---\n${keda}---\n${auth}`);

    expect(groups[0]?.spec).toMatchObject({
      org: 'acme',
      maxActiveRunners: 10,
      minIdleRunners: 2,
      labels: ['a', 'b'],
      authToken: { secretRef: { name: 'keda-token', key: 'pat' } },
    });
    expect(comments.join('\n')).toContain('maxActiveRunners is that of ScaledObject so, 10.');
  });

  const hpa =
    'kind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {scaleTargetRef: {kind: Deployment, name: act-runner}, minReplicas: 1, maxReplicas: 8}\n';
  const none = SCALED.replace('spec: {', 'spec: {replicas: 0, ');

  it('replicas 0 is the rest between jobs where KEDA scales, with its autoscaler beside it', async () => {
    const keda =
      'kind: ScaledObject\nmetadata: {name: so}\nspec: {scaleTargetRef: {name: act-runner}, maxReplicaCount: 4, triggers: []}\n';
    const { groups, comments } = await imported(`${none}---\n${hpa}---\n${keda}`, '--owner', 'acme');

    expect(groups[0]?.spec).toMatchObject({ maxActiveRunners: 4 });
    expect(groups[0]?.spec).not.toHaveProperty('suspend');
    expect(groups[0]?.spec).not.toHaveProperty('minIdleRunners');
    expect(comments.join('\n')).not.toContain('suspend');
  });

  it('replicas 0 stops an autoscaler of Kubernetes, and so suspends the group, which is told', async () => {
    const { groups, comments } = await imported(`${none}---\n${hpa}`, '--owner', 'acme');

    expect(groups[0]?.spec).toMatchObject({ maxActiveRunners: 8, suspend: true });
    expect(comments.join('\n')).toContain('replicas is 0, which stops a HorizontalPodAutoscaler: so suspend is true.');
  });

  it('a HorizontalPodAutoscaler says how many', async () => {
    const { groups } = await imported(`${SCALED}---\n${hpa}`, '--owner', 'acme');

    expect(groups[0]?.spec).toMatchObject({ maxActiveRunners: 8 });
  });
});

describe('runners of other forges', () => {
  const job = (image: string) =>
    `apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\nmetadata: {name: gh, namespace: ci}\nspec: {jobTargetRef: {template: {spec: {containers: [{name: r, image: "${image}"}]}}}, triggers: [{type: github-runner, metadata: {githubApiURL: "https://api.github.com", owner: acme, runnerScope: org}}]}\n`;

  it.each([
    ['myoung34/github-runner:latest', "GitHub's"],
    ['ghcr.io/actions/actions-runner:2', "GitHub's"],
    ['code.forgejo.org/forgejo/runner:6.3.1', "Forgejo's"],
  ])('%s is no runner of Gitea', async (image, whose) => {
    expect(await run(job(image))).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: GR-IMPORT-02 import: ScaledJob gh starts ${whose} runner, which does not register at Gitea. For Gitea, start with 'gitea-runners init'. What they say is here: org: acme.\n`,
    });
  });

  it('runners of other forges beside one of Gitea are a warning', async () => {
    const { code, stderr } = await run(`${DEPLOYMENT}---\n${job('myoung34/github-runner')}`, '--owner', 'acme');

    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("warning: ScaledJob gh starts GitHub's"),
    });
  });
});

it('a field of another type is named, and not taken for an object without a runner', async () => {
  const { code, stderr } = await run(DEPLOYMENT.replace('replicas: 3', 'replicas: "$N"'), '--owner', 'acme');

  expect(code).toBe(2);
  expect(stderr).toContain('GR-IMPORT-02 import: Deployment act-runner: spec.replicas cannot be read');
});

describe('what must not go over', () => {
  const pod = (container: string, more = '') =>
    `kind: StatefulSet\nmetadata: {name: r, namespace: ci}\nspec:\n  volumeClaimTemplates: [{metadata: {name: data}}]\n  template:\n    metadata: {annotations: {vault/token: hunter2, a: b}}\n    spec:\n      containers:\n        - name: runner\n          image: gitea/act_runner:0.2.11\n          ${container}\n${more}`;
  const flags = ['--owner', 'acme', '--gitea', 'https://gitea.example.com'];

  it('import leaves out secrets in commands and annotations', async () => {
    const init =
      '      initContainers:\n        - {name: a, image: alpine, command: [sh, -c, "x --token=hunter2"]}\n        - {name: b, image: alpine, args: [curl, -u, "admin:hunter2"]}\n        - {name: c, image: alpine, command: [sleep, "1"]}\n';
    const { groups, comments } = await imported(
      pod('lifecycle: {postStart: {exec: {command: [echo, "password: hunter2"]}}}', init),
      ...flags,
    );

    expect(JSON.stringify([groups, comments])).not.toContain('hunter2');
    for (const told of [
      'metadata.annotations.vault/token: (it',
      // Without its command, a container would run the program of its image.
      'spec.initContainers[a]: (its command',
      'spec.initContainers[b]: (its args',
      'spec.containers[runner].lifecycle.postStart.exec.command: (it',
    ])
      expect(comments.join('\n')).toContain(`# Not carried over: ${told} may hold a secret: put that into a Secret)`);
    expect(groups[0]?.spec).toMatchObject({ podTemplate: { metadata: { annotations: { a: 'b' } } } });
    expect(JSON.stringify(groups)).toContain('"sleep"');
  });

  it("import leaves out the mount of a claim under the name of a runner's own volume", async () => {
    const { groups, comments } = await imported(pod('volumeMounts: [{name: data, mountPath: /cache}]'), ...flags);

    expect(JSON.stringify(groups)).not.toContain('/cache');
    expect(comments).toContain('# Mounts are not carried over (/cache of data): their volume is not.');
  });

  it('import leaves out a second runner of the pod', async () => {
    const { comments } = await imported(
      pod('env: []', '        - {name: other, image: "gitea/act_runner:0.2.11"}\n'),
      ...flags,
    );

    expect(comments).toContain('# Other runners of the pod are not carried over (other): make a RunnerGroup for each.');
  });

  it('import leaves out a runner of another forge that knows a Gitea', async () => {
    const text = pod('env: [{name: GITEA_INSTANCE_URL, value: "https://gitea.example.com"}]').replace(
      'gitea/act_runner:0.2.11',
      'gitlab/gitlab-runner:17',
    );

    expect(await run(text, ...flags)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining("GitLab's runner"),
    });
  });
});
