/**
 * Tests `proxy` and `caBundle` in the pod, and the lines of `register` in a real shell, with paths moved into a folder
 * of the test.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { proxyFor } from '../../src/clients/http/proxy.ts';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { podTemplate } from '../../src/manifests/app.ts';
import { withoutExpansion } from '../../src/manifests/job-manifest.ts';
import { podParts, preparation } from '../../src/manifests/proxy-and-ca.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { Container } from './container.ts';

const URL_OF_PROXY = 'http://proxy.example.com:3128';
const LOGIN = {
  proxy: { http: URL_OF_PROXY, https: URL_OF_PROXY, direct: ['.example.internal'], secret: 'proxy-login' },
};
const CA = { caBundle: { configMapRef: { name: 'private-ca', key: 'root.pem' } } };
const CA_FILE = '/usr/local/share/ca-certificates/gitea-runner/ca.crt';
const BUNDLE = '/usr/local/share/gitea-runner/ca-bundle.pem';

/** Returns the environment as the kubelet makes it: variables in their order, `$(NAME)` expanded. */
function environmentOf(group: RunnerGroup, secrets: Readonly<Record<string, string>> = {}): Record<string, string> {
  const known: Record<string, string> = {};
  for (const { name, value, valueFrom } of podParts(group).env) {
    const from = JSON.stringify(valueFrom ?? {});
    const [, key = ''] = /"key":"(\w+)"/.exec(from) ?? [];
    const given = from.includes('status.podIP') ? '10.1.2.3' : (secrets[key] ?? '');
    known[name] = value === undefined ? given : value.replaceAll(/\$\((\w+)\)/g, (text, of) => known[of] ?? text);
  }
  return known;
}

describe('the variables of a proxy', () => {
  const env = environmentOf(runnerGroup(LOGIN), { username: 'me', password: 'p%40ss' });

  test('the variables of a proxy are there in both cases, with the login of the Secret', () => {
    const withLogin = 'http://me:p%40ss@proxy.example.com:3128';

    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY']) expect(env[name]).toBe(withLogin);
    expect(env['NO_PROXY']).toBe(env['no_proxy']);
  });

  test.each([
    ['https://localhost/', true],
    ['http://127.0.0.1:8088/cache', true],
    ['http://[::1]/', true],
    ['http://10.1.2.3:34567/', true],
    ['https://kubernetes.default.svc/', true],
    ['http://gitea.gitea.svc:3000/', true],
    ['http://gitea.gitea.svc.cluster.local/', true],
    ['https://git.example.internal/', true],
    ['https://gitea.example.com/', false],
    ['https://10.1.2.4/', false],
  ])('let %s go without it: %s', (url, direct) => {
    expect(proxyFor(new URL(url), env) === undefined).toBe(direct);
  });

  test('name the one proxy that the group names', () => {
    const names = Object.keys(environmentOf(runnerGroup({ proxy: { https: URL_OF_PROXY, direct: [] } })));

    expect(names).toEqual(['GITEA_RUNNER_POD_IP', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY']);
  });
});

test('the pod is the same for a group without these fields', () => {
  const group = runnerGroup();

  expect(preparation(group)).toBe('');
  expect(JSON.stringify(podTemplate(group))).not.toMatch(/proxy|ca-bundle|runner\.env|SSL_CERT/i);
});

test.each(['dind-rootless', 'dind', 'buildkit', 'host'] as const)(
  'the pod gives setup the proxy and the CA, but no bundle (%s)',
  (mode) => {
    const group = runnerGroup({ ...LOGIN, ...CA, containerMode: mode, setupCommand: ['true'] });
    const { initContainers } = podTemplate(group).spec.template.spec;
    const [setup, register] = ['setup', 'register'].map((name) => initContainers?.find((each) => each.name === name));
    const names = (container = setup) => container?.env?.map(({ name }) => name);

    expect(names()).toEqual(expect.arrayContaining(['https_proxy', 'NO_PROXY', 'SSL_CERT_DIR']));
    expect(names()).not.toContain('SSL_CERT_FILE');
    expect(names(register)).toContain('SSL_CERT_FILE');
    expect(JSON.stringify(setup)).toContain(`"mountPath":"${dirname(CA_FILE)}","name":"ca","readOnly":true`);
  },
);

describe('what register prepares', () => {
  let container: Container;
  let folder = '';

  beforeEach(() => {
    container = new Container();
    folder = container.folder;
    for (const path of [CA_FILE, BUNDLE]) mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, CA_FILE), '-----BEGIN CERTIFICATE-----\nours\n');
  });
  afterEach(() => container.close());

  function prepare(group: RunnerGroup, env: Readonly<Record<string, string>>, shell = 'sh') {
    const script = preparation(group).replaceAll('/usr/local/share', (path) => folder + path);
    return container.start([shell, '-c', withoutExpansion(script)], { env });
  }

  test('register prepares all variables for CI jobs, in a form that the runner reads', async () => {
    const env = environmentOf(runnerGroup({ ...LOGIN, ...CA }), { username: 'me', password: 'p%40!*' });

    expect(await prepare(runnerGroup({ ...LOGIN, ...CA }), env)).toEqual({ code: 0, said: '' });

    const lines = readFileSync(join(folder, 'data/runner.env'), 'utf8').trim().split('\n');
    const wanted = Object.entries(env).filter(([name]) => !name.startsWith('GITEA_RUNNER_'));
    expect(lines).toEqual(wanted.map(([name, value]) => `${name}='${value}'`));
    expect(wanted.length).toBe(12);
  });

  test('register prepares a bundle of the public CAs of the image and those of the group', async () => {
    expect((await prepare(runnerGroup(CA), environmentOf(runnerGroup(CA)))).code).toBe(0);

    const bundle = readFileSync(join(folder, BUNDLE), 'utf8');
    expect(bundle).toMatch(/\n-----BEGIN CERTIFICATE-----\nours\n$/);
    expect(bundle.startsWith(readFileSync('/etc/ssl/certs/ca-certificates.crt', 'utf8'))).toBe(true);
  });

  test('register prepares nothing when the ConfigMap holds no certificate', async () => {
    writeFileSync(join(folder, CA_FILE), 'something else');

    expect(await prepare(runnerGroup(CA), environmentOf(runnerGroup(CA)))).toEqual({
      code: 1,
      said: 'Not registered: the key of spec.caBundle.configMapRef holds no PEM certificate.\n',
    });
  });

  /** Passwords with one character that a URL may not have there, or with a wrong escape. */
  const BAD = [...'\n\r@:/\'"$\\#` (ä'].map((odd) => `s3${odd}cret`);
  const BAD_ESCAPES = ['', 's3cret\n', 's3cret%', 's3cret%4', 's3%zzcret', 's3%4zcret'];
  test.each([...BAD, ...BAD_ESCAPES].flatMap((bad) => ['sh', 'bash'].map((shell) => [bad, shell] as const)))(
    'register prepares nothing with the login %j, and no message repeats it (%s)',
    async (bad, shell) => {
      for (const [username, password] of [
        [bad, 'good'],
        ['good', bad],
      ]) {
        const env = environmentOf(runnerGroup(LOGIN), { username: username ?? '', password: password ?? '' });

        const { code, said } = await prepare(runnerGroup(LOGIN), env, shell);

        expect(code).toBe(1);
        expect(said).toMatch(/^Not registered: in the Secret of spec\.proxy\.secretRef, username and password must/);
        expect(said).not.toMatch(/s3|cret%|good/);
        expect(() => readFileSync(join(folder, 'data/runner.env'))).toThrow('ENOENT');
      }
    },
  );
});
