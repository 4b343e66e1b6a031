/** CA certificates that the old runner trusts become `caBundle`, or are told: `register` needs them, too. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { folderWith, runHere } from '../support/run-cli.ts';

type Spec = Readonly<Record<string, unknown>>;

/** Imports a Deployment of one runner. What is printed is valid. */
async function imported(
  runner: object,
  volume: object,
  others: readonly object[] = [],
  metadata: object = { namespace: 'ci' },
) {
  const container = { name: 'runner', image: 'gitea/act_runner:0.2.13-dind-rootless', ...runner };
  const spec = { containers: [container], volumes: [{ name: 'v', ...volume }] };
  const deployment = { kind: 'Deployment', metadata: { name: 'r', ...metadata }, spec: { template: { spec } } };
  const text = [deployment, ...others].map((object) => JSON.stringify(object)).join('\n---\n');
  const flags = ['--owner', 'acme', '--gitea', 'https://gitea.example.com'];
  const { stdout } = await runHere(['import', 'x.yaml', ...flags], {}, folderWith({ 'x.yaml': text }));
  expect(await runHere(['validate', 'g.yaml'], {}, folderWith({ 'g.yaml': stdout }))).toMatchObject({ code: 0 });
  return { spec: (parse(stdout) as { spec: Spec }).spec, stdout };
}

const env = (name: string, value: string) => ({ env: [{ name, value }] });
const mounted = (mountPath: string, subPath?: string) => ({ volumeMounts: [{ name: 'v', mountPath, subPath }] });
const MAP = { configMap: { name: 'corp' } };
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const SYSTEM_FILE = '/etc/ssl/certs/corp.crt';

it.each([
  ['a file in the folder of the system', mounted(SYSTEM_FILE, 'ca.crt'), MAP, []],
  [
    'a key of few',
    mounted('/etc/pki/ca-trust/source/anchors'),
    { configMap: { name: 'corp', items: [{ key: 'ca.crt', path: 'x.pem' }] } },
    [],
  ],
  [
    'one source of a projected volume',
    mounted('/etc/ssl/certs'),
    { projected: { sources: [{ configMap: { name: 'corp', items: [{ key: 'ca.crt', path: 'x' }] } }] } },
    [],
  ],
  [
    'a ConfigMap of the files',
    mounted('/usr/local/share/ca-certificates/corp'),
    MAP,
    [{ kind: 'ConfigMap', metadata: { name: 'corp' }, data: { 'ca.crt': PEM, README: 'none' } }],
  ],
])('%s becomes caBundle, and its mount goes', async (_, runner, volume, others) => {
  const { spec, stdout } = await imported(runner, volume, others);

  expect(spec).toMatchObject({ caBundle: { configMapRef: { name: 'corp', key: 'ca.crt' } } });
  expect(JSON.stringify(spec['podTemplate'] ?? {})).not.toContain('mountPath');
  expect(stdout).not.toContain('The old runner trusted');
});

it.each(['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO'])('a file of %s becomes caBundle', async (name) => {
  const { spec } = await imported({ ...env(name, '/ca/ca.crt'), ...mounted('/ca') }, MAP);

  expect(spec).toMatchObject({
    caBundle: { configMapRef: { name: 'corp', key: 'ca.crt' } },
    podTemplate: { spec: { containers: [{ name: 'runner', volumeMounts: [{ name: 'v', mountPath: '/ca' }] }] } },
  });
  expect(JSON.stringify(spec)).not.toContain(name);
});

it.each([
  [
    'a ConfigMap without a key',
    { ...env('SSL_CERT_DIR', '/etc/ssl/certs:/ca'), ...mounted('/ca') },
    MAP,
    '/ca of ConfigMap corp',
    'corp',
  ],
  [
    'a Secret',
    mounted(SYSTEM_FILE, 'ca.crt'),
    { secret: { secretName: 'corp' } },
    `${SYSTEM_FILE} of Secret corp`,
    '…',
  ],
  [
    'a folder of the node',
    mounted('/etc/ssl/certs'),
    { hostPath: { path: '/etc/ssl/certs' } },
    '/etc/ssl/certs of volume v',
    '…',
  ],
  [
    'a ConfigMap that may be missing',
    mounted(SYSTEM_FILE, 'ca.crt'),
    { configMap: { name: 'corp', optional: true } },
    `${SYSTEM_FILE} of ConfigMap corp`,
    'corp',
  ],
])('%s is told by its path', async (_, runner, volume, place, name) => {
  const { spec, stdout } = await imported(runner, volume);

  expect(spec).not.toHaveProperty('caBundle');
  expect(stdout).toContain(
    `# The old runner trusted ${place}. The new one does not: write "caBundle: {configMapRef: {name: ${name}, key: …}}" below spec`,
  );
});

it('two certificates are told, each by its path', async () => {
  const volumeMounts = ['a', 'b'].map((key) => ({ name: 'v', mountPath: `/etc/ssl/certs/${key}.crt`, subPath: key }));
  const { spec, stdout } = await imported({ volumeMounts }, MAP);

  expect(spec).not.toHaveProperty('caBundle');
  expect(stdout.match(/The old runner trusted \S+/g)).toEqual(
    ['a', 'b'].map((key) => `The old runner trusted /etc/ssl/certs/${key}.crt`),
  );
});

it('a mount of something else, and a file of the image, are no certificates of the old runner', async () => {
  const runner = { ...env('NODE_EXTRA_CA_CERTS', '/etc/ssl/certs/ca-certificates.crt'), ...mounted('/etc/tool') };
  const { spec, stdout } = await imported(runner, MAP);

  expect(spec).not.toHaveProperty('caBundle');
  expect(stdout).not.toContain('The old runner trusted');
});

it('the ConfigMap is named where the group gets another namespace', async () => {
  const { stdout } = await imported(mounted(SYSTEM_FILE, 'ca.crt'), MAP, [], {});

  expect(stdout).toMatch(/# Namespace \S+ must have what the pods name: ConfigMap corp\./);
});
