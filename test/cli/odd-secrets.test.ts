/** Laws F290 and F291 (docs/spec.md): secrets in any field, volumes, and labels without an image have a warning. */
import { describe, expect, it } from 'vitest';
import { quietDocument, type Spec } from '../support/group-files.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

async function told(spec: Spec, metadata: Spec = {}): Promise<readonly string[]> {
  const folder = folderWith({ 'ci.yaml': quietDocument(spec, metadata) });
  const { stderr } = await runHere(['validate', 'ci.yaml'], {}, folder);
  return stderr.split('\n').flatMap((line) => /^ci\.yaml:\d+:\d+: (.*)/.exec(line)?.[1] ?? []);
}

const pod = (spec: object): Spec => ({ podTemplate: { spec } });
const env = (...variables: readonly (readonly [string, string])[]): Spec =>
  pod({ containers: [{ name: 'runner', env: variables.map(([name, value]) => ({ name, value })) }] });
const note = (text: string): Spec => ({ podTemplate: { metadata: { annotations: { note: text } } } });
const DIND = { containerMode: 'dind-rootless' };

const HOLDS = 'holds a secret, which stands in git. If it is real, revoke it';
const FROM = '"valueFrom: {secretKeyRef: {name: NAME, key: KEY}}"';
const OF_ENV = `podTemplate.spec.containers[0].env[0].value: stands in git and in each Job. If it is real, revoke it, and name a Secret: write ${FROM}`;
const KEY = ['0123456789abcdef', '0123456789abcdef', '01234567'].join('');
const SLACK = `https://hooks.slack.com/services/T0000/B0000/${KEY}`;

describe('a secret in any field has a warning that does not repeat it', () => {
  it.each<[message: string, spec: Spec, metadata?: Spec]>([
    [OF_ENV, env(['TELL', SLACK])],
    [OF_ENV, env(['TELL', `https://discord.com/api/webhooks/12345/${KEY}`])],
    [OF_ENV, env(['TELL', `https://acme.webhook.office.com/webhookb2/a/IncomingWebhook/${KEY}/b`])],
    [OF_ENV, env(['TELL', `https://chat.example.com/send?room=1&token=${KEY}`])],
    [OF_ENV, env(['DATABASE_URL', `postgres://ci:${KEY}@db.example.com/ci`])],
    [OF_ENV, env(['KEY', '-----BEGIN OPENSSH PRIVATE KEY-----'])],
    [OF_ENV, env(['DOCKER_AUTH_CONFIG', '{"auths":{"r.example.com":{"auth":"YW5uOnMzY3IzdA=="}}}'])],
    [OF_ENV, env(['AWS_SECRET_ACCESS_KEY', `wJalr/${KEY}/X`])],
    [`metadata.annotations.note: ${HOLDS}, and remove it here`, {}, { annotations: { note: SLACK } }],
    [`metadata.labels.token: ${HOLDS}, and remove it here`, {}, { labels: { token: KEY } }],
    [
      `notify[0].webhook.url: ${HOLDS}. Write "slack: {channel: CHANNEL}": serve has the tokens`,
      { notify: [{ webhook: { url: SLACK } }] },
    ],
    [
      `setupCommand[2]: ${HOLDS}, and read it from a variable with ${FROM}`,
      { setupCommand: ['sh', '-c', `git clone https://ann:${KEY}@gitea.example.com/a/b /data/b`] },
    ],
    [
      `authToken.secretRef.name: ${HOLDS}, and write the name of a Secret`,
      { authToken: { secretRef: { name: KEY, key: 'token' } } },
    ],
    [
      `authToken.secretRef.key: ${HOLDS}, and write the key of a Secret`,
      { authToken: { secretRef: { name: 'gitea-api', key: KEY } } },
    ],
    [`podTemplate.metadata.annotations.note: ${HOLDS}, and remove it here`, note(`glrt-${KEY}`)],
  ])('%s', async (message, spec, metadata) => {
    const lines = await told(spec, metadata);

    expect(lines.filter((line) => line.includes('stands in git'))).toEqual([
      expect.stringContaining(message.replace(/^(?!metadata)/, 'spec.')),
    ]);
    expect(lines.join()).not.toContain(KEY);
  });

  it.each<[string, Spec, Spec?]>([
    [
      'a variable',
      env(['URL', 'https://ann:$(PASSWORD)@db.example.com'], ['X', 'https://ann:$PASSWORD@db.example.com']),
    ],
    ['a password of tests', env(['DATABASE_URL', 'postgres://postgres:postgres@localhost/test'])],
    ['a file with a token', env(['TOKEN', '/run/secrets/token'], ['API_TOKEN', 'file:///run/token'])],
    ['a commit', env(['REV', KEY], ['GET', `https://codeload.github.com/acme/web/zip/${KEY}`])],
    [
      'a webhook without a secret',
      { notify: [{ webhook: { url: 'https://hooks.example.com/hooks/gitea-runners-events' } }] },
    ],
    ['names of Secrets', { authToken: { secretRef: { name: 'gitea-runners-api-token', key: 'api-token' } } }],
    ['a path of Vault', {}, { annotations: { 'vault.example.com/inject-secret-token': 'kv/data/ci/token' } }],
  ])('is silent: %s', async (_, spec, metadata) => {
    expect(await told(spec, metadata)).toEqual([]);
  });
});

const disk = (emptyDir: object, limits: object): Spec => ({
  ...pod({
    containers: [{ name: 'runner', volumeMounts: [{ name: 'tmp', mountPath: '/mnt/tmp' }] }],
    volumes: [{ name: 'tmp', emptyDir }],
  }),
  resources: { requests: { cpu: '100m' }, limits },
});
const mounted = (...paths: readonly string[]): Spec =>
  pod({
    containers: [{ name: 'runner', volumeMounts: paths.map((mountPath, index) => ({ name: `v${index}`, mountPath })) }],
    volumes: paths.map((_, index) => ({ name: `v${index}`, emptyDir: {} })),
  });
const SIZE = 'podTemplate.spec.volumes[0].emptyDir';
const MOUNT = 'podTemplate.spec.containers[0].volumeMounts';

describe('a volume that cannot be meant has a warning', () => {
  it.each<[message: string, spec: Spec]>([
    [
      `${SIZE}.sizeLimit: is 2Gi, and counts against limits.memory, which is 1Gi: at that the container is killed. Write less, or raise limits.memory`,
      disk({ medium: 'Memory', sizeLimit: '2Gi' }, { memory: '1Gi' }),
    ],
    [
      `${SIZE}: has no size, and counts against limits.memory, which is 1Gi: at that the container is killed. Write a sizeLimit well below it`,
      disk({ medium: 'Memory' }, { memory: '1Gi' }),
    ],
    [
      `${SIZE}: has no size, and counts against limits.ephemeral-storage, which is 2Gi: at that the pod is evicted. Write a sizeLimit well below it`,
      disk({}, { 'ephemeral-storage': '2Gi' }),
    ],
    [
      'podTemplate.spec.volumes[0]: is mounted nowhere: add it to volumeMounts of container runner, or remove it',
      pod({ volumes: [{ name: 'cache', emptyDir: {} }] }),
    ],
    [
      'podTemplate.spec.volumes[0]: holds no certificates: the daemon of containerMode dind-rootless has a socket without TLS. Remove it, and its mounts',
      { ...DIND, ...pod({ volumes: [{ name: 'docker-certs', emptyDir: {} }] }) },
    ],
    [
      `${MOUNT}[1].mountPath: is the place of volumeMounts[0], too: mount one of them elsewhere`,
      mounted('/mnt/a', '/mnt/a/'),
    ],
    [
      `${MOUNT}[0].mountPath: hides what the image has in /usr/local/bin, so the runner does not start: mount a folder below /mnt, or one file with subPath`,
      mounted('/usr/local/bin/'),
    ],
  ])('%s', async (message, spec) => {
    expect(await told(spec)).toEqual([`warning: spec.${message} [GR-WARN-14]`]);
  });

  it.each<[string, Spec]>([
    ['another disk for a volume of ours', pod({ volumes: [{ name: 'data', emptyDir: { sizeLimit: '20Gi' } }] })],
    ['a small one in memory', disk({ medium: 'Memory', sizeLimit: '64Mi' }, { memory: '1Gi' })],
    ['a folder in a folder', mounted('/mnt/a', '/mnt/a/b', '/tmp', '/etc/ci')],
  ])('is silent: %s', async (_, spec) => {
    expect(await told(spec)).toEqual([]);
  });
});

const IMAGE = ':docker://docker.gitea.com/runner-images:ubuntu-latest';

it.each<[label: string, message: string]>([
  [
    'ubuntu-latest',
    `has no image, so its CI jobs run in the runner's own container, which lacks their tools: write "ubuntu-latest${IMAGE}", or "ubuntu-latest:host" if that is meant`,
  ],
  [
    'Ubuntu_Latest:docker://node:22',
    'is not ubuntu-latest, as workflows write it: write "ubuntu-latest:docker://node:22"',
  ],
])('label %s with docker', async (label, message) => {
  expect(await told({ ...DIND, defaultLabels: false, labels: [label] })).toEqual([
    `warning: spec.labels[0]: ${message} [GR-WARN-14]`,
  ]);
});

it.each<[string, Spec]>([
  ['a label of another name', { ...DIND, defaultLabels: false, labels: ['small', 'self-hosted'] }],
  ['a label that says host', { ...DIND, defaultLabels: false, labels: ['ubuntu-latest:host'] }],
  ['labels without docker', { containerMode: 'host', defaultLabels: false, labels: ['ubuntu-latest'] }],
])('is silent about %s', async (_, spec) => {
  expect(await told(spec)).toEqual([]);
});
