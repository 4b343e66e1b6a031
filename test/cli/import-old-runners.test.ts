/**
 * Tests `import` with pods as people have them: the program of each container, secrets, and values that only the old
 * pod could read.
 */
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { folderWith, runHere } from '../support/run-cli.ts';

const RUNNER = { name: 'runner', image: 'gitea/act_runner:0.2.11' };
const GITEA = ['--gitea', 'https://gitea.example.com'];

interface Group {
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Imports the objects. The printed groups are valid. */
async function imported(objects: readonly object[], flags: readonly string[] = GITEA) {
  const text = objects.map((object) => JSON.stringify(object)).join('\n---\n');
  const folder = folderWith({ 'x.yaml': text });
  const { code, stdout, stderr } = await runHere(['import', 'x.yaml', '--owner', 'acme', ...flags], {}, folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^\d RunnerGroups?\./) });
  expect(await runHere(['validate', 'g.yaml'], {}, folderWith({ 'g.yaml': stdout }))).toMatchObject({ code: 0 });
  const groups = parseAllDocuments(stdout).map((document) => document.toJS() as Group | null);
  const comments = stdout.split('\n').filter((line) => line.startsWith('# '));
  return { spec: groups[0]?.spec ?? {}, groups, comments: comments.join('\n'), stdout, stderr };
}

const deployment = (spec: object, more: object = {}, metadata: object = { name: 'r', namespace: 'ci' }) => ({
  kind: 'Deployment',
  metadata,
  spec: { template: { metadata: more, spec } },
});
const host = { ...RUNNER, env: [{ name: 'GITEA_RUNNER_LABELS', value: 'linux' }] };

describe('what is printed is valid', () => {
  it('an init container that mode host does not allow goes, with the reason and what to add', async () => {
    const wait = { name: 'wait', image: 'busybox', command: ['sleep', '1'] };
    const { spec, comments } = await imported([deployment({ initContainers: [wait], containers: [host] })]);

    expect(spec).toMatchObject({ containerMode: 'host' });
    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toMatch(
      /spec\.initContainers\[wait\]: \{.*\} \(securityContext\.\S+ must be .* of securityProfile restricted, the default of containerMode host\): add it, or set a lower securityProfile\)/,
    );
  });

  it('the second of two groups of one name is a comment', async () => {
    const { groups, stderr } = await imported([
      deployment({ containers: [RUNNER] }),
      { ...deployment({ containers: [RUNNER] }), kind: 'StatefulSet' },
    ]);

    expect(groups).toEqual([expect.objectContaining({ kind: 'RunnerGroup' }), null]);
    expect(stderr).toContain(
      'import ci/r: the RunnerGroup would not be valid: another one above has its name: change one.',
    );
  });
});

describe('a secret is known by where it stands', () => {
  const container = (command: string) => ({ name: 'i', image: 'alpine', command: ['sh', '-c', command] });

  it.each([
    'kubectl get secret gitea-runner-token -n gitea',
    'echo "Waiting for the secret ..."; kubectl create secret generic certs --from-file=ca.pem -n gitea',
    'x --token "$API_TOKEN" --password=$(cat /run/secrets/pass) --token-file /run/t',
    'TOKEN=$API_TOKEN; curl -H "Authorization: Bearer $TOKEN" "https://oauth2:$TOKEN@gitea.example.com"',
    'git config user.author bot; openssl req -config authority.cnf; sudo -u runner id; mkdir -p /a',
  ])('not by a word of a command: %s', async (command) => {
    const { spec } = await imported([deployment({ initContainers: [container(command)], containers: [RUNNER] })]);

    expect(spec['podTemplate']).toEqual({ spec: { initContainers: [container(command)] } });
  });

  it.each([
    'x --token=hunter2',
    'x --api-key hunter2',
    "x '--password' 'hunter2'",
    'API_TOKEN=hunter2 x',
    'export GITEA_SECRET="hunter2"',
    'echo "password: hunter2" > /etc/x',
    'curl -u me:hunter2 https://example.com',
    'docker login -u me -p hunter2 example.com',
    'git clone https://me:hunter2@example.com/x',
    'curl -H "Authorization: token hunter2" x',
    'echo hunter2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa > /data/x',
  ])('%s', async (command) => {
    const { stdout } = await imported([deployment({ initContainers: [container(command)], containers: [RUNNER] })]);

    expect(stdout).not.toContain('hunter2');
    expect(stdout).toContain('spec.initContainers[i]: (its command may hold a secret');
  });

  it('variables: by name and value; the name of a file, a switch and another variable are none', async () => {
    const env = Object.entries({
      ...{ SSL_TOKEN_FILE: '/t', GIT_AUTHOR_NAME: 'bot', AUTH_ENABLED: 'true', MY_TOKEN: '$(OTHER)' },
      ...{ MY_SECRET: 'hunter2', DATABASE: 'postgres://me:hunter2@db/x' },
    }).map(([name, value]) => ({ name, value }));
    const { spec, stdout } = await imported([deployment({ containers: [{ ...RUNNER, env }] })]);

    expect(spec['podTemplate']).toEqual({ spec: { containers: [{ name: 'runner', env: env.slice(0, 4) }] } });
    expect(stdout).not.toContain('hunter2');
    expect(stdout).toContain('may be secrets are not carried over (MY_SECRET, DATABASE)');
  });

  it('a command of the runner itself is refused with the reason that holds', async () => {
    const command = ['sh', '-c', 'act_runner register --token "$GITEA_RUNNER_REGISTRATION_TOKEN"; act_runner daemon'];
    const { comments } = await imported([deployment({ containers: [{ ...RUNNER, command }] })]);

    expect(comments).toMatch(
      /spec\.containers\[runner\]\.command: \["sh",.*\] \(is reserved: the runner's image starts/,
    );
  });
});

it('one that waits for a Secret with the name of a runner is no runner', async () => {
  const command = ['sh', '-c', 'until kubectl get secret gitea-runner-token; do sleep 1; done'];
  const wait = { name: 'wait', image: 'bitnami/kubectl', command };
  const { spec, comments } = await imported([deployment({ initContainers: [wait], containers: [RUNNER] })]);

  expect(spec['podTemplate']).toEqual({ spec: { initContainers: [wait] } });
  expect(comments).not.toContain('What registered the old runner');
});

it.each([
  ['sh -c', ['sh', '-c', 'sleep 3 && exec /usr/local/bin/act_runner daemon']],
  ['its own', ['/opt/gitea-runner', 'daemon']],
  ['an init', ['tini', '--', 'act_runner', 'daemon']],
])('one that starts a runner is one: %s', async (_, command) => {
  const { groups } = await imported([deployment({ containers: [{ name: 'x', image: 'mirror/x:1', command }] })]);

  expect(groups).toHaveLength(1);
});

it('a dockerd in the image of a runner is docker beside it', async () => {
  const command = ['sh', '-c', 'mkdir -p /etc/docker\ndockerd --host=tcp://127.0.0.1:2375 &\ntail -f /dev/null'];
  const docker = { ...RUNNER, name: 'docker', command };
  const { spec, comments } = await imported([deployment({ containers: [docker, RUNNER] })]);

  expect(spec).toMatchObject({ containerMode: 'dind' });
  expect(comments).not.toContain('Other runners');
});

describe("the old runner's own files", () => {
  const STATE = {
    ...{ id: 6, uuid: 'b66cdb63', name: 'r', token: 'hunter2', address: 'https://old.example.com' },
    labels: ['big:docker://node:22', 'small:host'],
  };
  const map = (key: string, text: string) => ({ kind: 'ConfigMap', metadata: { name: 'm' }, data: { [key]: text } });
  const volumes = [{ name: 'v', configMap: { name: 'm' } }];

  it('labels and address of .runner go over, and its token does not', async () => {
    const pod = {
      volumes,
      initContainers: [{ name: 'i', image: 'alpine', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      containers: [{ ...RUNNER, volumeMounts: [{ name: 'v', mountPath: '/etc/r/state.json', subPath: 'state' }] }],
    };
    const { spec, stdout, comments } = await imported([deployment(pod), map('state', JSON.stringify(STATE))], []);

    expect(spec).toMatchObject({ gitea: { url: 'https://old.example.com' }, labels: STATE.labels });
    expect(JSON.stringify(spec)).not.toContain('"v"');
    expect(stdout).not.toContain('hunter2');
    expect(comments).toContain('(volume v): CI jobs could read its token. Its labels and its address are.');
  });

  it.each([
    ['mounted alone', [{ name: 'v', mountPath: '/etc/r/.runner', subPath: 'x' }], { secret: { secretName: 's' } }],
    [
      'one of several sources',
      [{ name: 'v', mountPath: '/etc/r' }],
      { projected: { sources: [{ secret: { name: 's', items: [{ key: 'x', path: '.runner' }] } }] } },
    ],
    [
      'on a disk of the network',
      [{ name: 'v', mountPath: '/.runner', subPath: '.runner' }],
      { nfs: { server: 'n', path: '/n' } },
    ],
  ])('a .runner that no file has is not carried over: %s', async (_, volumeMounts, source) => {
    const pod = { volumes: [{ name: 'v', ...source }], containers: [{ ...RUNNER, volumeMounts }] };
    const { spec, comments } = await imported([deployment(pod)]);

    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toContain('CI jobs could read its token. Write the labels of its file .runner into labels.');
  });

  it('a place of its own, from runner.file of the config.yaml, counts', async () => {
    const volumeMounts = [{ name: 'v', mountPath: '/state' }];
    const pod = {
      volumes: [
        { name: 'v', secret: { secretName: 's' } },
        { name: 'c', configMap: { name: 'm' } },
      ],
      containers: [{ ...RUNNER, volumeMounts }],
    };
    const { spec } = await imported([deployment(pod), map('config.yaml', 'runner: {file: /state/me.json}')]);

    expect(spec).not.toHaveProperty('podTemplate');
  });

  it('a config.yaml that a shell line names and no file has is told, and its mount is not carried over', async () => {
    const runner = {
      ...RUNNER,
      command: ['sh', '-c', 'sleep 3; exec act_runner daemon --config /etc/r/config.yaml'],
      volumeMounts: [{ name: 'v', mountPath: '/etc/r' }],
    };
    const { spec, comments } = await imported([deployment({ volumes, containers: [runner] })]);

    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toContain('The config.yaml of the runner was in none of the files.');
    expect(comments).toContain('Mounts are not carried over (/etc/r of v)');
  });

  it('section container of a config.yaml is told in mode host', async () => {
    const text = 'container: {network: host, force_pull: true}\n';
    const { spec, comments } = await imported([deployment({ volumes, containers: [host] }), map('config.yaml', text)]);

    expect(spec).toMatchObject({ containerMode: 'host' });
    expect(comments).toContain(
      'Not carried over: container: {"network":"host","force_pull":true} (containerMode host starts no containers)',
    );
  });
});

it('a mount in the home of the old image is told, unless HOME names that', async () => {
  const pod = (env: readonly object[]) => ({
    volumes: [{ name: 'v', secret: { secretName: 's' } }],
    containers: [
      {
        ...RUNNER,
        env,
        volumeMounts: [{ name: 'v', mountPath: '/root/.docker/config.json', subPath: '.dockerconfigjson' }],
      },
    ],
  });
  const told = 'The home of a runner is /data, so nothing looks for /root/.docker/config.json. Mount it elsewhere';

  expect((await imported([deployment(pod([]))])).comments).toContain(told);
  expect((await imported([deployment(pod([{ name: 'HOME', value: '/root' }]))])).comments).not.toContain('The home of');
});

it('what the pods take from their namespace is told when no file names that', async () => {
  const pod = {
    imagePullSecrets: [{ name: 'pull' }],
    volumes: [{ name: 'v', configMap: { name: 'ca' } }],
    containers: [
      {
        ...RUNNER,
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }],
        volumeMounts: [{ name: 'v', mountPath: '/ca' }],
      },
    ],
  };

  expect((await imported([deployment(pod, {}, { name: 'r' })])).comments).toContain(
    'Namespace runners must have what the pods name: Secret keys, ConfigMap ca, Secret pull.',
  );
  expect((await imported([deployment(pod)])).comments).not.toContain('must have what the pods name');
});

describe('what the old command says when it registers', () => {
  const secretKeyRef = { name: 'rt', key: 't' };
  const of = (command: string, more: object = {}) => ({ ...RUNNER, command: ['sh', '-c', command], ...more });
  const token = { secretRef: { name: 'rt', key: 't' } };

  it.each<[string, object, object[]?]>([
    ['$TOKEN', { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] }],
    [`"\${CI_REG}"`, { env: [{ name: 'CI_REG', valueFrom: { secretKeyRef } }] }],
    ['$(XYZ)', { env: [{ name: 'XYZ', valueFrom: { secretKeyRef } }] }],
    ['$t', { envFrom: [{ secretRef: { name: 'rt' } }] }],
    [
      '$(cat /secrets/t)',
      { volumeMounts: [{ name: 's', mountPath: '/secrets' }] },
      [{ name: 's', secret: { secretName: 'rt' } }],
    ],
  ])('its token is the registration token, and no CI job gets it: --token %s', async (word, more, volumes = []) => {
    const command = `act_runner register --no-interactive \\\n --token ${word} --labels fast:host\nact_runner daemon`;
    const { spec, comments } = await imported([deployment({ volumes, containers: [of(command, more)] })]);

    expect(spec).toMatchObject({ registrationToken: token, labels: ['fast:host'], defaultLabels: false });
    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toMatch(/Variables with the old runner's token are not carried over|volumes\[s\]/);
    expect(comments).not.toContain('no file says where the token is');
  });

  const mounted = { volumeMounts: [{ name: 's', mountPath: '/run/secrets' }] };
  const ofSecret = (secretName: string) => [{ name: 's', secret: { secretName } }];
  const variable = (name: string, secret: string) => ({
    env: [{ name, valueFrom: { secretKeyRef: { name: secret, key: 't' } } }],
  });

  it.each<[string, object, object[], unknown]>([
    ['a variable of another name', { ...variable('GITEA_RUNNER_TOKEN', 'rt'), ...mounted }, ofSecret('rt'), token],
    [
      'a variable with the place of a file',
      { env: [{ name: 'RUNNER_TOKEN_FILE', value: '/run/secrets/t' }], ...mounted },
      ofSecret('rt'),
      token,
    ],
    [
      'a variable of a variable',
      { env: [...variable('X', 'rt').env, { name: 'RUNNER_TOKEN', value: '$(X)' }], ...mounted },
      ofSecret('rt'),
      token,
    ],
    [
      'a file that a command reads',
      { command: ['sh', '-c', 'x=$(cat /run/secrets/token); act_runner daemon'], ...mounted },
      ofSecret('rt'),
      { secretRef: { name: 'rt', key: 'token' } },
    ],
    ['the name of a Secret', mounted, ofSecret('gitea-runner-token'), undefined],
    [
      'a variable with a token for the API',
      { ...variable('GITEA_RUNNER_PAT', 'pat'), ...mounted },
      ofSecret('pat'),
      undefined,
    ],
  ])('no CI job can read the Secret with a token of the old runner: %s', async (_, more, volumes, found) => {
    const { spec, comments } = await imported([deployment({ volumes, containers: [{ ...RUNNER, ...more }] })]);

    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toMatch(/volumes\[s\].*(?:a token of the old runner|the token of Gitea)/);
    expect(comments.includes('no file says where the token is')).toBe(found === undefined);
    if (found !== undefined) expect(spec).toMatchObject({ registrationToken: found });
  });

  it('the same key of the same Secret goes by no other name, and other variables of a token neither', async () => {
    const env = ['A', 'GITEA_RUNNER_REGISTRATION_TOKEN'].map((name) => ({ name, valueFrom: { secretKeyRef } }));
    const others = ['REG_TOKEN', 'TOKEN'].map((name) => ({
      name,
      valueFrom: { secretKeyRef: { name: 'b', key: 'c' } },
    }));
    const { spec, comments } = await imported([deployment({ containers: [{ ...RUNNER, env: [...env, ...others] }] })]);

    expect(spec).not.toHaveProperty('podTemplate');
    expect(comments).toContain('are not carried over (A, REG_TOKEN, TOKEN): CI jobs could read it.');
  });

  it('its instance is Gitea, also by a variable', async () => {
    const env = [{ name: 'URL', value: 'https://g.example.com' }];
    const command = 'act_runner register --instance "$URL" --token x; act_runner daemon';
    const { spec, stdout } = await imported([deployment({ containers: [of(command, { env })] })], []);

    expect(spec).toMatchObject({ gitea: { url: 'https://g.example.com' } });
    expect(stdout).toContain('The registration token stood in the manifest: revoke it');
  });

  it('GITEA_URL is the address where nothing else says it', async () => {
    const env = [{ name: 'GITEA_URL', value: 'https://g.example.com' }];
    const { spec } = await imported([deployment({ containers: [{ ...RUNNER, env }] })], []);

    expect(spec).toMatchObject({ gitea: { url: 'https://g.example.com' } });
  });
});

it('a daemon elsewhere is told, and its certificates are not mounted; one of the pod is not told', async () => {
  const variables = (host: string) => [
    { name: 'DOCKER_HOST', value: host },
    { name: 'DOCKER_CERT_PATH', value: '/certs/client' },
    { name: 'GITEA_RUNNER_EPHEMERAL', value: 'false' },
  ];
  const pod = (host: string) =>
    deployment({
      volumes: [{ name: 'certs', secret: { secretName: 'c' } }],
      containers: [
        {
          ...RUNNER,
          env: variables(host),
          volumeMounts: ['/certs/client', '/certs'].map((mountPath) => ({ name: 'certs', mountPath })),
        },
      ],
    });
  const { spec, comments } = await imported([pod('tcp://docker.ci.svc:2376')]);

  expect(spec).not.toHaveProperty('podTemplate');
  expect(comments).toContain(
    'Not carried over: DOCKER_HOST: "tcp://docker.ci.svc:2376" (each runner has its own. For that one: containerMode host, ',
  );
  expect(comments).toContain('Not carried over: GITEA_RUNNER_EPHEMERAL: "false" (each runner takes one CI job)');
  expect((await imported([pod('tcp://localhost:2376')])).comments).not.toContain('DOCKER_HOST:');
});

it('an empty volume that two containers shared goes with both its mounts', async () => {
  const socket = { name: 'docker-socket', mountPath: '/var/run' };
  const { spec, comments } = await imported([
    deployment({
      volumes: [{ name: 'docker-socket', emptyDir: {} }],
      initContainers: [{ name: 'dind', image: 'docker:28-dind', restartPolicy: 'Always', volumeMounts: [socket] }],
      containers: [{ ...RUNNER, volumeMounts: [{ ...socket, mountPath: '/x' }] }],
    }),
  ]);

  expect(JSON.stringify(spec)).not.toContain('docker-socket');
  expect(comments).toContain('"mountPath":"/x"} (what shared its volume is not carried over)');
});

it('a second runner in the pod is told as one, also without its volumes', async () => {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'p' } }];
  const second = { ...RUNNER, name: 'second', volumeMounts: [{ name: 'v', mountPath: '/data' }] };
  const { comments } = await imported([deployment({ containers: [RUNNER, second], volumes })]);

  expect(comments).toContain('Other runners of the pod are not carried over (second): make a RunnerGroup for each.');
});

describe('a container goes with the last of what it mounts, which is told', () => {
  const setup = { name: 'setup', image: 'busybox', command: ['mkdir', '/m/x'] };
  const mount = { name: 'v', mountPath: '/m' };
  const other = { name: 'c', mountPath: '/c' };

  it.each([
    ['a claim', { persistentVolumeClaim: { claimName: 'p' } }, [mount], '(setup): none of what they mount is.'],
    ['a folder of the node', { hostPath: { path: '/x' } }, [mount], '(mounts only what is not carried over: '],
    ['all of two', { hostPath: { path: '/x' } }, [mount, { ...mount, mountPath: '/n' }], '(mounts only what is not'],
    ['one of two', { hostPath: { path: '/x' } }, [mount, other], undefined],
    ['none', { emptyDir: {} }, [mount], undefined],
  ])('%s', async (_, source, volumeMounts, told) => {
    const volumes = [
      { name: 'v', ...source },
      { name: 'c', configMap: { name: 'c' } },
    ];
    const container = { ...RUNNER, volumeMounts: [{ name: 'c', mountPath: '/d' }] };
    const { spec, comments } = await imported([
      deployment({ initContainers: [{ ...setup, volumeMounts }], containers: [container], volumes }),
    ]);

    expect(JSON.stringify(spec).includes('busybox')).toBe(told === undefined);
    if (told !== undefined) expect(comments).toContain(told);
  });
});

it.each([
  ['a daemon of its own', { containers: [RUNNER, { name: 'd', image: 'docker:24-dind-rootless' }] }, true],
  [
    'a pod of sysbox',
    { runtimeClassName: 'sysbox-runc', containers: [{ ...RUNNER, image: 'x/act-runner:dind' }] },
    true,
  ],
  ['privileged', { containers: [{ ...RUNNER, securityContext: { privileged: true } }] }, false],
  ['no daemon', { containers: [host] }, false],
])('%s: that the daemon was not privileged before is told: %s', async (_, pod, isTold) => {
  const { comments } = await imported([deployment(pod)]);

  expect(comments.includes('The daemon of this group is privileged, and no container of the old pod was.')).toBe(
    isTold,
  );
});

it('what has another way here is told: a certificate that is not checked, and secrets of Vault', async () => {
  const env = [{ name: 'GITEA_INSTANCE_INSECURE', value: 'true' }];
  const annotations = {
    'vault.hashicorp.com/agent-inject': 'true',
    'vault.hashicorp.com/agent-inject-secret-token': 'kv/ci',
  };
  const { spec, comments } = await imported([deployment({ containers: [{ ...RUNNER, env }] }, { annotations })]);

  expect(spec).not.toHaveProperty('podTemplate');
  expect(comments).toContain('for a CA of yours use spec.caBundle)');
  expect(comments.match(/\(Vault would mount its secrets where CI jobs read them/g)).toHaveLength(2);
});

it.each([
  ['a Deployment without replicas', { kind: 'Deployment', spec: { replicas: 0 } }, true],
  ['a Job that is suspended', { kind: 'Job', spec: { suspend: true } }, true],
  ['one that is not', { kind: 'Job', spec: { suspend: false } }, undefined],
])('what stands still is suspended: %s', async (_, { kind, spec: of }, suspend) => {
  const object = {
    kind,
    metadata: { name: 'r', namespace: 'ci' },
    spec: { ...of, template: { spec: { containers: [RUNNER] } } },
  };
  const { spec, comments } = await imported([object]);

  expect(spec['suspend']).toBe(suspend);
  expect(comments).not.toMatch(/does not know|replicas, 0/);
});

it('the sum of a file in an annotation is no secret', async () => {
  const sum = { annotations: { 'checksum/config': '9c1185a5c5e9fc54612808977ee8f548b2258d31' } };
  const { spec } = await imported([deployment({ containers: [RUNNER] }, sum)]);

  expect(spec['podTemplate']).toEqual({ metadata: sum });
});

it('a mount goes with its volume: a volume of ours has the same name', async () => {
  const pod = {
    containers: [{ ...RUNNER, volumeMounts: [{ name: 'config', mountPath: '/etc/tool' }] }],
    volumes: [{ name: 'config', configMap: { name: 'tool' } }],
  };
  const { spec, comments } = await imported([deployment(pod)]);

  expect(spec).not.toHaveProperty('podTemplate');
  expect(comments).toContain('spec.volumes[config]');
  expect(comments).toMatch(/spec\.containers\[runner\]\.volumeMounts\[config\]: .* \(its volume is not\)/);
});

it('the docker socket of the node is told once, with what is there in its place', async () => {
  const pod = {
    containers: [{ ...RUNNER, volumeMounts: [{ name: 'sock', mountPath: '/var/run/docker.sock' }] }],
    volumes: [{ name: 'sock', hostPath: { path: '/var/run/docker.sock' } }],
  };
  const { comments } = await imported([deployment(pod)]);

  expect(comments.split('\n').filter((line) => line.includes('sock'))).toEqual([
    '# The docker socket of the node is not carried over (sock): each runner has a dockerd of its own.',
  ]);
});

it('an init container that cleans up is not called what registers', async () => {
  const cleanup = { ...RUNNER, name: 'cleanup', command: ['sh', '-c', 'rm -rf /data/*'] };
  const { comments } = await imported([deployment({ initContainers: [cleanup], containers: [RUNNER] })]);

  expect(comments).toContain(
    '(cleanup): each runner registers by itself and starts empty. What does more belongs into podTemplate.',
  );
  expect(comments).not.toContain('What registered the old runner');
});

it.each([
  ['forgejo-runner', true],
  ['github-runner', false],
])('a trigger %s: Forgejo is said to be not supported: %s', async (type, isSaid) => {
  const spec = {
    jobTargetRef: { template: { spec: { containers: [RUNNER] } } },
    triggers: [{ type, metadata: { owner: 'acme', repo: 'web' } }],
  };
  const { comments } = await imported([{ kind: 'ScaledJob', metadata: { name: 'r', namespace: 'ci' }, spec }]);

  expect(comments.includes('Trigger forgejo-runner asks a Forgejo, which is not supported.')).toBe(isSaid);
});

describe('what objects around the pod say', () => {
  const pod = { containers: [{ ...RUNNER, env: [{ name: 'GITEA_RUNNER_LABELS', value: 'a:docker://x' }] }] };
  const waiting = (path: string) => ({
    kind: 'ScaledJob',
    metadata: { name: 'r', namespace: 'ci' },
    spec: {
      jobTargetRef: { template: { spec: pod } },
      triggers: [{ type: 'metrics-api', metadata: { url: `https://git.acme.io/api/v1/${path}?status=waiting` } }],
    },
  });
  const runnerSet = (spec: object) => ({
    ...{ apiVersion: 'giteaactions.example.com/v1', kind: 'GiteaRunnerSet', metadata: { name: 'r', namespace: 'ci' } },
    spec: { giteaConfigUrl: 'https://git.acme.io', ...spec, template: { spec: pod } },
  });

  const ofKeda = (metadata: object) => ({
    kind: 'ScaledJob',
    metadata: { name: 'r', namespace: 'ci' },
    spec: {
      jobTargetRef: { template: { spec: pod } },
      triggers: [{ type: 'gitea-runner', metadata: { address: 'https://git.acme.io', targetJobs: '2', ...metadata } }],
    },
  });

  it.each([
    [ofKeda({ global: 'true' }), { scope: 'global' }],
    [ofKeda({ global: 'true', org: 'acme' }), { scope: 'org', org: 'acme' }],
    [ofKeda({ global: 'true', owner: 'acme', repo: 'web' }), { scope: 'repo', repo: 'acme/web' }],
    [waiting('orgs/acme/actions/jobs'), { scope: 'org', org: 'acme' }],
    [waiting('repos/acme/web/actions/jobs'), { scope: 'repo', repo: 'acme/web' }],
    [waiting('admin/actions/jobs'), { scope: 'global' }],
    [runnerSet({ orgName: 'acme', runnerScope: 'org' }), { scope: 'org', org: 'acme' }],
    [runnerSet({ owner: 'acme', repository: 'web' }), { scope: 'repo', repo: 'acme/web' }],
  ])('needs no flag: %j', async (object, spec) => {
    const folder = folderWith({ 'x.yaml': JSON.stringify(object) });
    const { code, stdout } = await runHere(['import', 'x.yaml'], {}, folder);

    expect(code).toBe(0);
    expect(parseAllDocuments(stdout)[0]?.toJS()).toMatchObject({
      spec: { ...spec, gitea: { url: 'https://git.acme.io' } },
    });
  });

  it('a config.yaml that the variable names and no pod mounts is read, and that is told', async () => {
    const env = [{ name: 'CONFIG_FILE', value: '/config/config.yaml' }];
    const text =
      'runner: {capacity: 2, labels: ["a:docker://x"], envs: {HARBOR: x, HTTP_PROXY: "http://p.acme.io:3128"}}\ncache: {external_server: "http://c.acme.io"}';
    const map = { kind: 'ConfigMap', metadata: { name: 'rc' }, data: { 'config.yaml': text } };
    const { spec, comments } = await imported([deployment({ containers: [{ ...RUNNER, env }] }), map]);

    expect(spec).toMatchObject({
      maxActiveRunners: 2,
      labels: ['a:docker://x'],
      proxy: { http: 'http://p.acme.io:3128' },
    });
    expect(comments).toContain('The pod mounts no /config/config.yaml: ConfigMap rc is taken for it.');
    expect(comments).toContain(
      'runner.envs HARBOR, HTTP_PROXY (they may be secrets: write the others into spec.runnerConfig), cache.external_server (use spec.cache.url).',
    );
  });
});

describe('the image of the old runner', () => {
  const withLabels = (image: string, value: string) =>
    deployment({
      containers: [
        {
          name: 'r',
          image,
          env: [
            { name: 'GITEA_RUNNER_LABELS', value },
            { name: 'GITEA_INSTANCE_URL', value: 'https://g.io' },
          ],
        },
      ],
    });

  it.each(['tools:host', 'tools'])(
    'an image of its own is told, with the labels whose CI jobs ran in it: %s',
    async (label) => {
      const { comments } = await imported([withLabels('acme/custom-ci:1.0', `${label},web:docker://node:22`)]);

      expect(comments).toContain(
        'CI jobs of tools ran in the image acme/custom-ci:1.0, which is not carried over. If it has act_runner 0.2.12 or newer, write "image: acme/custom-ci:1.0" below spec.',
      );
      expect(comments).not.toContain('Images are');
    },
  );

  it.each([
    ['docker.gitea.com/act_runner:0.2.13', 'tools:host'],
    ['gitea/runner:1.0.8-dind', 'tools:host'],
    ['acme/custom-ci:1.0', 'web:docker://node:22'],
  ])('no programs are missed: %s with %s', async (image, label) => {
    expect((await imported([withLabels(image, label)])).comments).not.toContain('ran in the image');
  });
});

it('what the API server writes by itself is no part of the new pod', async () => {
  const ofServer = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };
  const { spec } = await imported([
    deployment({
      ...{ schedulerName: 'default-scheduler', dnsPolicy: 'ClusterFirst' },
      containers: [{ ...RUNNER, ...ofServer }],
    }),
  ]);

  expect(spec).not.toHaveProperty('podTemplate');
});
