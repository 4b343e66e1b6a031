/**
 * Tests that `import` carries over each field, names it by its path, or has it in the short list here of fields without
 * a meaning.
 */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { fieldsOf, requiredFields, type ValueType } from '../../src/config/pods/pod-schema.ts';
import { fc, RUNS } from '../support/property.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

const FLAGS = ['--owner', 'acme', '--gitea', 'https://gitea.example.com'];

function run(files: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  return runHere(['import', ...Object.keys(files), ...flags], {}, folderWith(files));
}

interface Group {
  readonly spec: Readonly<Record<string, unknown>>;
}

async function imported(files: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  const { code, stdout, stderr } = await run(files, ...flags);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d RunnerGroups?\./) });
  expect(await runHere(['validate', 'g.yaml'], {}, folderWith({ 'g.yaml': stdout }))).toMatchObject({ code: 0 });
  const groups = parseAllDocuments(stdout).map((document) => document.toJS() as Group);
  return {
    spec: groups[0]?.spec ?? {},
    groups,
    stderr,
    comments: stdout.split('\n').filter((line) => /^# /.test(line)),
  };
}

const RUNNER = 'gitea/act_runner:0.2.11';
const deployment = (pod: object, spec: object = {}) =>
  JSON.stringify({
    kind: 'Deployment',
    metadata: { name: 'r', namespace: 'ci' },
    spec: { ...spec, template: { spec: pod } },
  });

/** A value of every field below, so deep that each struct is there once. Texts differ, so that each can be found. */
function sampleOf(type: ValueType, depth: number, next: () => number): fc.JsonValue {
  if (type.kind === 'list') return [sampleOf(type.element, depth, next)];
  if (type.kind === 'mapping') return { k: sampleOf(type.element, depth, next) };
  if (type.kind === 'struct') {
    const names = [...fieldsOf(type.name).keys()];
    const chosen =
      depth > 2
        ? requiredFields(type.name)
        : [...new Set([...requiredFields(type.name), names[next() % names.length] ?? ''])];
    return Object.fromEntries(
      chosen.map((name) => [name, sampleOf(fieldsOf(type.name).get(name)?.type ?? type, depth + 1, next)]),
    );
  }
  const scalars: Readonly<Record<string, fc.JsonValue>> = {
    boolean: true,
    int32: 7,
    int64: 7,
    'any object': {},
    quantity: '7',
  };
  return scalars[type.scalar] ?? `text${next()}`;
}

/** Fields that our own pod sets, or that only the old pod needs. */
const WITHOUT_MEANING = /^(?:restartPolicy|serviceAccount)$/;

type Leaf = readonly [path: string, value: unknown];
function leavesOf(value: unknown, path = ''): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, `${path}[]`));
  return Object.entries(value).flatMap(([key, of]) => leavesOf(of, path === '' ? key : `${path}.${key}`));
}

/** A pod with these fields at one of its structs. Of the runner's labels follows its containerMode, so what `validate` allows. */
function podWith(where: string, set: object, labels: string) {
  const at = (struct: string, more: object) => (where === struct ? { ...more, ...set } : more);
  const mount = { name: 'v', mountPath: '/m' };
  const container = at('Container', {
    env: [{ name: 'GITEA_RUNNER_LABELS', value: labels }, ...(where === 'EnvVar' ? [at('EnvVar', { name: 'E' })] : [])],
    ...(where === 'VolumeMount' && { volumeMounts: [at('VolumeMount', mount)] }),
  });
  const volume = where === 'Volume' ? at('Volume', { name: 'v' }) : { name: 'v', emptyDir: {} };
  const initContainers = where === 'initContainers' ? [{ ...set, name: 'i', image: 'alpine' }] : [];
  return at('PodSpec', { volumes: [volume], initContainers, containers: [{ ...container, name: 'r', image: RUNNER }] });
}

/** The sentence that tells of a field names it, or the element that it is lost with. */
function isTold(path: string, comments: string): boolean {
  const [first = ''] = path.split(/[.[]/);
  // A claim goes with all that its volume has, and a mount with its volume.
  const wholes = ['[E]', '[v]', 'spec.initContainers[i]:', 'Persistent volumes are not carried over (v)'];
  const ways = [first, ...wholes, ...(first === 'volumeMounts' || first === 'name' ? ['Mounts are not'] : [])];
  return ways.some((way) => comments.includes(way));
}

const OF_THE_NAME = ['containers', 'initContainers', 'volumes', 'name', 'image'];
const Case = fc.record({
  where: fc.constantFrom('PodSpec', 'Container', 'initContainers', 'Volume', 'EnvVar', 'VolumeMount'),
  labels: fc.constantFrom('a:host', 'a:docker://node:22'),
  fields: fc.array(fc.nat(200), { minLength: 1, maxLength: 4 }),
  seed: fc.nat(100_000),
});

/** A generator whose numbers follow from `seed`. */
function numbersFrom(seed: number): () => number {
  let last = seed;
  return () => {
    last = (last * 1103 + 12345) % 1_000_003;
    return last;
  };
}

it('every field of a pod and of its runner is carried over or told by its path, and what is printed is valid', async () => {
  let groups = 0;
  const law = fc.asyncProperty(Case, async ({ where, labels, fields, seed }) => {
    const next = numbersFrom(seed);
    const types = [...fieldsOf(where === 'initContainers' ? 'Container' : where)].filter(
      ([name]) => !OF_THE_NAME.includes(name),
    );
    const chosen = fields.flatMap((field) => types.slice(field % types.length).slice(0, 1));
    const set = Object.fromEntries(chosen.map(([name, { type }]) => [name, sampleOf(type, 1, next)]));

    const { code, stdout, stderr } = await run({ 'x.yaml': deployment(podWith(where, set, labels)) }, ...FLAGS);

    // A useless object is refused, and the message names its field.
    if (code !== 0) {
      expect(chosen.some(([name]) => stderr.includes(name))).toBe(true);
      return;
    }
    groups += 1;
    const read = await runHere(['validate', 'g.yaml'], {}, folderWith({ 'g.yaml': stdout }));
    expect({ ...read, stdout }).toMatchObject({ code: 0 });
    const [group] = parseAllDocuments(stdout).map((each) => each.toJS() as Group);
    const carried = JSON.stringify(group);
    const comments = stdout.replace(/^(?!# ).*$/gm, '');
    const lost = leavesOf(set).filter(
      ([path, value]) =>
        !WITHOUT_MEANING.test(path) && !isTold(path, comments) && !carried.includes(JSON.stringify(value)),
    );
    expect({ lost, stdout }).toMatchObject({ lost: [] });
  });
  await fc.assert(law, { numRuns: RUNS });
  expect(groups).toBeGreaterThan(RUNS / 2);
}, 300_000);

it('every field that no table knows is told by its path, and what is known to mean nothing is not', async () => {
  const { comments } = await imported(
    {
      'x.yaml': deployment(
        { containers: [{ name: 'r', image: RUNNER }] },
        { replicas: 2, strategy: { type: 'Recreate' }, revisionHistoryLimit: 1, newField: { a: 1 } },
      ),
    },
    ...FLAGS,
  );

  expect(comments).toContain(
    '# Not carried over: Deployment r spec.newField: {"a":1} (import does not know what it means)',
  );
  expect(comments.join('')).toMatch(/Of Deployment r these mean nothing here: .*spec\.strategy/);
});

const job = (target: object, triggers: readonly object[], more: object = {}) =>
  JSON.stringify({
    kind: 'ScaledJob',
    metadata: { name: 'j', namespace: 'ci' },
    spec: {
      maxReplicaCount: 5,
      ...more,
      jobTargetRef: {
        ...target,
        template: { spec: { containers: [{ name: 'r', image: RUNNER, env: [{ name: 'WHO', value: 'acme' }] }] } },
      },
      triggers,
    },
  });

it('a ScaledJob tells of each of its fields; a trigger may take its owner from a variable', async () => {
  const gitea = {
    type: 'github-runner',
    metadata: {
      ownerFromEnv: 'WHO',
      runnerScope: 'org',
      githubApiURL: 'https://g.example.com/api/v1',
      noDefaultLabels: 'true',
    },
  };
  const cron = { type: 'cron', metadata: { start: '0 6 * * *', end: '0 20 * * *', desiredReplicas: '3' } };
  const target = { parallelism: 2, completions: 3, backoffLimit: 4, activeDeadlineSeconds: 7200 };

  const { spec, comments } = await imported({
    'x.yaml': job(target, [gitea, cron], { pollingInterval: 10, scalingStrategy: { strategy: 'default' } }),
  });

  expect(spec).toMatchObject({
    org: 'acme',
    gitea: { url: 'https://g.example.com' },
    maxActiveRunners: 10,
    activeDeadlineSeconds: 7200,
  });
  const text = comments.join('\n');
  for (const told of [
    'ScaledJob j spec.jobTargetRef.completions: 3 (a Job is one runner here)',
    'ScaledJob j spec.jobTargetRef.backoffLimit: 4 (',
    'ScaledJob j spec.triggers.metadata.noDefaultLabels: "true" (',
    'trigger cron: {"start":"0 6 * * *","end":"0 20 * * *","desiredReplicas":"3"} (use spec.idleSchedule)',
    'maxActiveRunners is maxReplicaCount, 5, times parallelism, 2.',
    'Of ScaledJob j these mean nothing here: spec.pollingInterval, spec.scalingStrategy.',
  ])
    expect(text).toContain(told);
});

it('what else scales or sizes the pods is told, and objects that are not read are named', async () => {
  const target = { kind: 'Deployment', name: 'r' };
  const others = [
    {
      kind: 'VerticalPodAutoscaler',
      metadata: { name: 'v' },
      spec: { targetRef: target, updatePolicy: { updateMode: 'Auto' } },
    },
    {
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h' },
      spec: { scaleTargetRef: target, maxReplicas: 4, behavior: { scaleDown: {} } },
    },
    { kind: 'PersistentVolumeClaim', metadata: { name: 'p' } },
  ].map((each) => JSON.stringify(each));
  const text = [deployment({ containers: [{ name: 'r', image: RUNNER }] }), ...others].join('\n---\n');

  const { spec, comments, stderr } = await imported({ 'x.yaml': text }, ...FLAGS);

  expect(spec).toMatchObject({ maxActiveRunners: 4 });
  expect(comments.join('\n')).toContain(
    'VerticalPodAutoscaler v spec.updatePolicy: {"updateMode":"Auto"} (write the requests',
  );
  expect(comments.join('\n')).toContain('HorizontalPodAutoscaler h spec.behavior');
  expect(stderr).toContain('Not read: PersistentVolumeClaim p.');
});

describe('the registration token', () => {
  const env = (more: object) => deployment({ containers: [{ name: 'r', image: RUNNER, ...more }] });
  const file = [{ name: 'GITEA_RUNNER_REGISTRATION_TOKEN_FILE', value: '/t/token' }];

  it.each([
    [
      'a variable',
      env({ env: [{ name: 'GITEA_RUNNER_REGISTRATION_TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }),
      'k',
    ],
    [
      'all keys of a Secret',
      env({ envFrom: [{ secretRef: { name: 'runner-env' } }] }),
      'GITEA_RUNNER_REGISTRATION_TOKEN',
    ],
    [
      'a file of a projected volume',
      deployment({
        volumes: [
          { name: 't', projected: { sources: [{ secret: { name: 's', items: [{ key: 'k', path: 'token' }] } }] } },
        ],
        containers: [{ name: 'r', image: RUNNER, env: file, volumeMounts: [{ name: 't', mountPath: '/t' }] }],
      }),
      'k',
    ],
    [
      'a file that is mounted alone',
      deployment({
        volumes: [{ name: 't', secret: { secretName: 's' } }],
        containers: [
          { name: 'r', image: RUNNER, env: file, volumeMounts: [{ name: 't', mountPath: '/t/token', subPath: 'k' }] },
        ],
      }),
      'k',
    ],
    [
      'an init container that registers',
      deployment({
        initContainers: [
          {
            name: 'i',
            image: RUNNER,
            env: [{ name: 'GITEA_RUNNER_REGISTRATION_TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          },
        ],
        containers: [{ name: 'r', image: RUNNER }],
      }),
      'k',
    ],
  ])('the registration token is found in %s', async (_, text, key) => {
    const { spec } = await imported({ 'x.yaml': text }, ...FLAGS);

    expect(spec['registrationToken']).toEqual({ secretRef: { name: expect.stringMatching(/^s$|runner-env/), key } });
  });

  it('a token in a variable of another name, or with all keys of its Secret, goes to no CI job, which is told', async () => {
    const secretKeyRef = { name: 's', key: 'k' };
    const variables = ['RUNNER_TOKEN', 'GITEA_RUNNER_TOKEN', 'REGISTRATION_TOKEN'];
    const npm = { name: 'NPM_TOKEN', valueFrom: { secretKeyRef: { name: 'npm', key: 'k' } } };
    const text = env({
      env: [...variables.map((name) => ({ name, valueFrom: { secretKeyRef } })), npm],
      envFrom: [{ secretRef: { name: 'gitea-runner-env' } }, { secretRef: { name: 'of-ci' } }],
    });
    const { spec, comments } = await imported({ 'x.yaml': text }, ...FLAGS);

    expect(spec['podTemplate']).toEqual({
      spec: {
        containers: [
          {
            name: 'runner',
            env: [npm],
            envFrom: [{ secretRef: { name: 'of-ci' } }],
          },
        ],
      },
    });
    expect(spec['registrationToken']).toEqual({ secretRef: secretKeyRef });
    expect(comments.join('\n')).toContain(
      "Variables with the old runner's token are not carried over (RUNNER_TOKEN, GITEA_RUNNER_TOKEN, REGISTRATION_TOKEN)",
    );
    expect(comments.join('\n')).toMatch(/containers\[runner\]\.envFrom.*gitea-runner-env.*a token of the old runner/);
  });

  it('a registration token that is in none of the files is told', async () => {
    const { comments } = await imported({ 'x.yaml': env({}) }, ...FLAGS);

    expect(comments.join('\n')).toContain('no file says where the token is');
  });
});

describe('files beside', () => {
  const CONFIG = 'runner: {capacity: 2, labels: ["linux:docker://node:22"], timeout: 30m}\ncache: {enabled: false}\n';
  const pod = (env: readonly object[], volumes: readonly object[] = []) =>
    deployment({ volumes, containers: [{ name: 'r', image: RUNNER, env }] });

  it("a config.yaml of its own, and one in a Secret, are the runner's", async () => {
    const secret = JSON.stringify({
      kind: 'Secret',
      metadata: { name: 'c' },
      data: { 'config.yaml': Buffer.from(CONFIG).toString('base64') },
    });
    const mounted = pod([], [{ name: 'c', secret: { secretName: 'c' } }]);
    const all = [
      { 'x.yaml': pod([{ name: 'CONFIG_FILE', value: '/c/config.yaml' }]), 'config.yaml': CONFIG },
      { 'x.yaml': `${mounted}\n---\n${secret}` },
    ];
    for (const files of all) {
      const { spec, comments } = await imported(files, ...FLAGS);

      expect(spec).toMatchObject({
        maxActiveRunners: 2,
        labels: ['linux:docker://node:22'],
        activeDeadlineSeconds: 1800,
      });
      expect(comments.join('\n')).toContain(
        'activeDeadlineSeconds is runner.timeout: here the wait for a CI job counts, too.',
      );
    }
  });

  it('the config.yaml of a runner without a pod is enough', async () => {
    const { spec } = await imported({ 'runner.yaml': CONFIG }, ...FLAGS);

    expect(spec).toMatchObject({ org: 'acme', maxActiveRunners: 2, labels: ['linux:docker://node:22'] });
  });

  it.each(['image: {tag: 1.0.8}', 'replicaCount: 2', 'persistence: {enabled: true}', 'fullnameOverride: x'])(
    'values of a chart are no config.yaml, though they have a runner: %s',
    async (line) => {
      const files = {
        'values.yaml': `runner: {config: {labels: [a]}, instanceURL: "https://g.example.com"}\n${line}\n`,
      };
      const { code, stdout, stderr } = await runHere(
        ['import', 'values.yaml', '--scope', 'global'],
        {},
        folderWith(files),
      );

      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(
        'as values of a chart have none. Only its objects can be read. If they run: kubectl get',
      );
    },
  );

  it('a value of a config.yaml that cannot be read is told', async () => {
    const { comments } = await imported(
      { 'c.yaml': 'runner: {capacity: many, labels: a}\nodd: 3\ncontainer: {workdir_parent: /w}\n' },
      ...FLAGS,
    );

    expect(comments.join('\n')).toContain(
      'are not carried over: runner.capacity (a runner runs one CI job: use spec.maxActiveRunners), runner.labels (use spec.labels), odd (spec.runnerConfig does not take it).',
    );
    expect(comments.join('\n')).toContain('container.workdir_parent: "/w" (it names places');
  });

  it('merge keys of YAML, ConfigMaps of variables and a second config.yaml key are read', async () => {
    const text = `x: &p {containers: [{name: r, image: "${RUNNER}", envFrom: [{configMapRef: {name: m}}]}]}\nkind: StatefulSet\nmetadata: {name: r, namespace: ci}\nspec: {template: {spec: {<<: *p, nodeSelector: {a: b}}}}\n---\nkind: ConfigMap\nmetadata: {name: m}\ndata: {GITEA_INSTANCE_URL: "https://g.example.com", GITEA_RUNNER_LABELS: "a:host"}\n`;
    const { spec } = await imported({ 'x.yaml': text }, '--owner', 'acme');

    expect(spec).toMatchObject({
      gitea: { url: 'https://g.example.com' },
      labels: ['a:host'],
      podTemplate: { spec: { nodeSelector: { a: 'b' } } },
    });
  });
});

describe('pods of other forms', () => {
  const container = { name: 'r', image: RUNNER };

  it.each([
    [
      'a native sidecar',
      {
        kind: 'Deployment',
        spec: {
          template: {
            spec: {
              containers: [{ name: 'a', image: 'nginx' }],
              initContainers: [{ ...container, restartPolicy: 'Always' }],
            },
          },
        },
      },
    ],
    ['a ReplicaSet', { kind: 'ReplicaSet', spec: { replicas: 1, template: { spec: { containers: [container] } } } }],
    [
      'a CronJob',
      {
        kind: 'CronJob',
        spec: { schedule: '* * * * *', jobTemplate: { spec: { template: { spec: { containers: [container] } } } } },
      },
    ],
    ['a pod', { kind: 'Pod', spec: { containers: [container] } }],
    [
      'a renamed image',
      {
        kind: 'Deployment',
        spec: {
          template: { spec: { containers: [{ name: 'r', image: 'mirror/x', command: ['act_runner', 'daemon'] }] } },
        },
      },
    ],
  ])('%s is a runner', async (_, object) => {
    const { spec } = await imported(
      { 'x.yaml': JSON.stringify({ ...object, metadata: { name: 'r', namespace: 'ci' } }) },
      ...FLAGS,
    );

    expect(spec).toMatchObject({ maxActiveRunners: 1 });
  });

  it('what a Deployment has made is not read twice', async () => {
    const made = {
      kind: 'ReplicaSet',
      metadata: { name: 'r-1', ownerReferences: [{ kind: 'Deployment', name: 'r' }] },
      spec: { template: { spec: { containers: [container] } } },
    };
    const { groups } = await imported(
      { 'x.yaml': `${deployment({ containers: [container] })}\n---\n${JSON.stringify(made)}` },
      ...FLAGS,
    );

    expect(groups).toHaveLength(1);
  });

  it('a variable that names a place which is not mounted is told', async () => {
    const text = deployment({
      volumes: [{ name: 'ca', persistentVolumeClaim: { claimName: 'ca' } }],
      containers: [
        {
          ...container,
          env: [{ name: 'SSL_CERT_FILE', value: '/ca/ca.crt' }],
          volumeMounts: [{ name: 'ca', mountPath: '/ca' }],
        },
      ],
    });
    const { comments } = await imported({ 'x.yaml': text }, ...FLAGS);

    expect(comments).toContain(
      '# These variables name places that are not mounted: SSL_CERT_FILE. Remove or correct them.',
    );
  });
});

describe('what a runner of ours has in another way', () => {
  const gitea = { name: 'GITEA_INSTANCE_URL', value: 'https://g.example.com' };

  it('the way out is that of the RunnerGroup: what registers needs it, too', async () => {
    const env = [
      gitea,
      { name: 'HTTPS_PROXY', value: 'http://proxy:3128' },
      { name: 'no_proxy', value: '.svc,10.0.0.0/8' },
    ];
    const { spec } = await imported(
      { 'x.yaml': deployment({ containers: [{ name: 'r', image: RUNNER, env }] }) },
      ...FLAGS,
    );

    expect(spec).toMatchObject({ proxy: { https: 'http://proxy:3128', noProxy: ['.svc', '10.0.0.0/8'] } });
    expect(spec).not.toHaveProperty('podTemplate');
  });

  it('a proxy that the RunnerGroup could not have stays a variable, or is told', async () => {
    const env = [gitea, { name: 'HTTP_PROXY', value: 'socks5://proxy:1080' }];
    const { spec, comments } = await imported(
      { 'x.yaml': deployment({ containers: [{ name: 'r', image: RUNNER, env }] }) },
      ...FLAGS,
    );

    expect(spec).not.toHaveProperty('proxy');
    expect(JSON.stringify(spec) + comments.join('\n')).toContain('socks5://proxy:1080');
  });

  it('a file is read as kubectl reads it', async () => {
    const text = `kind: Deployment\nmetadata: {name: r, namespace: ci}\nspec: {template: {spec: {hostUsers: no, containers: [{name: r, image: "${RUNNER}"}]}}}\n`;
    const { spec } = await imported({ 'x.yaml': text }, ...FLAGS);

    expect(spec).toMatchObject({ podTemplate: { spec: { hostUsers: false } } });
  });

  it('a probe of the old program is told: one that fails would end the runner with its CI job', async () => {
    const livenessProbe = { exec: { command: ['pgrep', 'act_runner'] } };
    const { spec, comments } = await imported(
      { 'x.yaml': deployment({ containers: [{ name: 'r', image: RUNNER, livenessProbe }] }) },
      ...FLAGS,
    );

    expect(JSON.stringify(spec)).not.toContain('pgrep');
    expect(comments.join('\n')).toContain('# Not carried over: spec.containers[r].livenessProbe: {"exec"');
  });

  it('a refused mount is told whole, and a volume that nothing mounts then', async () => {
    const volumeMounts = [{ name: 'run', mountPath: '/var/run' }];
    const { spec, comments } = await imported(
      {
        'x.yaml': deployment({
          containers: [
            { name: 'r', image: RUNNER, volumeMounts },
            { name: 'd', image: 'docker:28-dind', volumeMounts },
          ],
          volumes: [{ name: 'run', emptyDir: { sizeLimit: '1Gi' } }],
        }),
      },
      ...FLAGS,
    );

    expect(spec).not.toHaveProperty('podTemplate');
    const places = comments.flatMap(
      (line) => /^# Not carried over: (spec\S*): .*\((\w+ \w+)/.exec(line)?.slice(1) ?? [],
    );
    expect(places).toEqual([
      ...['spec.initContainers[docker].volumeMounts[run]', 'is reserved'],
      ...['spec.containers[runner].volumeMounts[run]', 'is reserved'],
      ...['spec.volumes[run]', 'nothing mounts'],
    ]);
  });

  it('a trigger that asks no Gitea is told once, and a ConfigMap of variables is read', async () => {
    const scaled = {
      kind: 'ScaledObject',
      metadata: { name: 's' },
      spec: {
        scaleTargetRef: { name: 'r' },
        triggers: [{ type: 'prometheus', metadata: { query: 'waiting', threshold: '1' } }],
      },
    };
    const map = { kind: 'ConfigMap', metadata: { name: 'env' }, data: { GITEA_RUNNER_LABELS: 'big:host' } };
    const pod = { containers: [{ name: 'r', image: RUNNER, envFrom: [{ configMapRef: { name: 'env' } }] }] };
    const text = [deployment(pod), JSON.stringify(scaled), JSON.stringify(map)].join('\n---\n');

    const { spec, comments, stderr } = await imported({ 'x.yaml': text }, ...FLAGS);

    expect(spec).toMatchObject({ labels: ['big:host'] });
    expect(comments.filter((line) => line.includes('waiting'))).toEqual([
      '# Not carried over: trigger prometheus: {"query":"waiting","threshold":"1"} (queued CI jobs start runners)',
    ]);
    expect(stderr).not.toContain('Not read');
  });
});

it('an object of another operator with a pod gives its cap, its pool and its labels', async () => {
  const text = JSON.stringify({
    apiVersion: 'giteaactions.example.com/v1alpha1',
    kind: 'GiteaRunnerSet',
    metadata: { name: 'set', namespace: 'ci' },
    spec: {
      ...{ giteaConfigUrl: 'http://gitea', minRunners: 1, maxRunners: 7, labels: ['ubuntu-latest', 'gpu:host', 'x:y'] },
      template: { spec: { containers: [{ name: 'act-runner', image: RUNNER }] } },
    },
  });
  const { spec, comments } = await imported({ 'x.yaml': text }, ...FLAGS);

  expect(spec).toMatchObject({ maxActiveRunners: 7, minIdleRunners: 1, labels: ['ubuntu-latest', 'gpu:host'] });
  expect(comments.join('\n')).toContain('neither name:host nor name:docker://image: x:y');
  expect(comments.join('\n')).not.toMatch(/spec\.(?:maxRunners|minRunners|labels)/);
});

it("flags win over what the operator's object says, and that is told", async () => {
  const text =
    'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci, namespace: ci, annotations: {a: b}}\nspec: {scope: org, org: old, giteaURL: "https://old.example.com", maxActiveRunners: 5, registrationToken: {name: r, key: t}, authToken: {name: a, key: t}}\n';
  const { spec, comments } = await imported({ 'x.yaml': text }, ...FLAGS);

  expect(spec).toMatchObject({ org: 'acme', gitea: { url: 'https://gitea.example.com' } });
  expect(comments).toContain(
    '# Not carried over: spec: {"scope":"org","org":"old"} (--scope and --owner say otherwise)',
  );
  expect(comments.join('\n')).toContain('RunnerGroup ci metadata.annotations.a: "b"');
});

it.each([
  [
    'services: {runner: {image: "gitea/act_runner:latest"}}',
    'This is a docker compose file (runners: runner), and no pod: start with',
  ],
  [
    'kind: HelmRelease\nmetadata: {name: gitea-runner}\n',
    /HelmRelease gitea-runner says where objects come from\. .* If not: helm template NAME CHART -f VALUES/,
  ],
  ['kind: Kustomization\nmetadata: {name: runner}\n', /If not: kustomize build FOLDER \| gitea-runners import -/],
  ['[Unit]\n[Container]\nImage=gitea/act_runner\n', 'x.yaml: it is a Quadlet of podman, and no pod: start with'],
  ['kind: Service\nmetadata: {name: x}\n', 'What import reads: RunnerGroups of the operator,'],
  [
    'kind: RunnerDeployment\nmetadata: {name: x}\n',
    "Objects of another tool (RunnerDeployment x): start with 'gitea-runners init'.",
  ],
  [
    'apiVersion: garm-operator.example.com/v1\nkind: Pool\nmetadata: {name: p}\nspec: {imageName: runner}\n',
    "Objects of another tool (Pool p): start with 'gitea-runners init'.",
  ],
  // Each of them says some of it, and the sentence stands once.
  [
    'kind: RunnerDeployment\nmetadata: {name: x}\nspec: {replicas: 2, template: {spec: {organization: acme, labels: [a, gpu]}}}\n---\nkind: HorizontalRunnerAutoscaler\nmetadata: {name: z}\nspec: {minReplicas: 1, maxReplicas: 12}\n',
    "import: Objects of another tool (RunnerDeployment x, HorizontalRunnerAutoscaler z): start with 'gitea-runners init'. What they say is here: maxActiveRunners: 12, org: acme, labels: [a, gpu], minIdleRunners: 1.\n",
  ],
  [
    'apiVersion: garm-operator.example.com/v1\nkind: Pool\nmetadata: {name: p}\nspec: {imageName: runner, maxRunners: 4, tags: [linux], githubScopeRef: {kind: Organization, name: acme}}\n',
    'What they say is here: maxActiveRunners: 4, labels: [linux], org: acme.',
  ],
  [
    '- {hosts: runners, roles: [gitea-runner]}\n',
    "This is a list, as tasks of Ansible are, and no object of Kubernetes: start with 'gitea-runners init'.",
  ],
  ['[Service]\nExecStart=/usr/bin/act_runner daemon --config /c.yaml\n', 'x.yaml: it is a unit of systemd: name the'],
  [
    'services:\n  r:\n    image: gitea/act_runner\n    environment: ["GITEA_RUNNER_NAME={{.Node.Hostname}}"]\n',
    'This is a docker compose file (runners: r), and no pod',
  ],
  [
    'kind: Application\nmetadata: {name: a}\nspec: {source: {chart: actions, helm: {values: runner}}}\n',
    /Application a says where objects come from\. Only its objects can be read\. If they run: kubectl get .* \(with KEDA also scaledjob,scaledobject\)\. If not: argocd app manifests NAME \| gitea-runners import -/,
  ],
  ['[[provider]]\nname = "k8s"\n', "x.yaml: it is TOML, of another tool: start with 'gitea-runners init'."],
  ['# of act\nGITEA_INSTANCE_URL=https://g\nGITEA_RUNNER_NAME=a\n', 'x.yaml: it holds variables: start with'],
  ['runner:\n{% for l in labels %}\n  - "{{ l }}"\n{% endfor %}\n', 'x.yaml: it is a template of Jinja: name the file'],
  [
    'gitlabUrl: https://gitlab.acme.io/\nrunnerToken: glrt-x\n',
    "Values of GitLab's chart say nothing of Gitea: start with",
  ],
  [
    'kind: AutoscalingRunnerSet\nmetadata: {name: a}\nspec: {githubConfigUrl: https://github.com/acme/web, maxRunners: 20, minRunners: 2, template: {spec: {containers: [{name: runner, image: ghcr.io/actions/actions-runner}]}}}\n',
    "For Gitea, start with 'gitea-runners init'. What they say is here: repo: acme/web, maxActiveRunners: 20, minIdleRunners: 2.",
  ],
  [
    'kind: Deployment\nmetadata: {name: r}\nspec: {replicas: "2", template: {spec: {containers: [{name: r, image: gitea/runner}]}}}\n',
    'Deployment r: spec.replicas cannot be read: write "replicas: 2", without quotes.',
  ],
  [
    'kind: Deployment\nmetadata: {name: r}\nspec: {template: {spec: {containers: [{name: r, image: gitea/runner, env: [{name: GITEA_INSTANCE_URL, value: "https://git.$HOST"}]}]}}}\n',
    /--gitea \(Not carried over: GITEA_INSTANCE_URL: "https:\/\/git\.\$HOST" \(it is no URL, .* must be given/,
  ],
  ['kind: Deployment\nspec: {{ toYaml .Values.spec }}\n', 'it is a template. Render it first: helm template NAME'],
  [
    'image: {repository: gitea/act_runner}\nreplicas: 2\n',
    /If they run: kubectl get statefulset,deployment,configmap -n NAMESPACE -o yaml \| gitea-runners import - .* If not: helm template/,
  ],
])('%s is named for what it is', async (text, told) => {
  expect(await run({ 'x.yaml': text })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: typeof told === 'string' ? expect.stringContaining(told) : expect.stringMatching(told),
  });
});
