import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readKubeconfig } from '../../../src/clients/kubernetes/kubeconfig.ts';
import { readOneDocument } from '../../../src/config/runnergroup/documents.ts';
import { failureOf } from '../../support/failure-of.ts';
import { folderWith } from '../../support/run-cli.ts';

let folder = '';
beforeEach(() => {
  const pems = Object.fromEntries(['ca.pem', 'cert.pem', 'key.pem'].map((file) => [file, `the ${file}`]));
  folder = folderWith({ ...pems, token: 'from-a-file\n' });
});

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function write(parts: { readonly cluster?: object; readonly user?: object; readonly over?: object }): string {
  const file = join(folder, 'config');
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'other', user: 'other' } },
      { name: 'here', context: { cluster: 'c', user: 'u', namespace: 'ci' } },
    ],
    clusters: [{ name: 'c', cluster: { server: 'https://api.example.com:6443/', ...parts.cluster } }],
    users: [{ name: 'u', user: parts.user ?? { token: 'secret' } }],
    ...parts.over,
  });
  writeFileSync(file, text);
  return file;
}

const read = (file: string) => readKubeconfig(file, readOneDocument);
const failure = (file: string) => failureOf(read(file));

it('a kubeconfig gives server, CA and token of its current context', async () => {
  const config = await read(write({ cluster: { 'certificate-authority-data': base64('the CA') } }));

  expect({ ...config, token: await config.token?.() }).toEqual({
    url: 'https://api.example.com:6443',
    context: { name: 'here', namespace: 'ci' },
    ca: 'the CA',
    token: 'secret',
  });
});

it('a kubeconfig may name files, seen from its own folder', async () => {
  const user = { 'client-certificate': 'cert.pem', 'client-key': 'key.pem', tokenFile: 'token' };
  const config = await read(write({ cluster: { 'certificate-authority': 'ca.pem' }, user }));

  expect(config).toMatchObject({ ca: 'the ca.pem', clientCertificate: { cert: 'the cert.pem', key: 'the key.pem' } });
  expect(await config.token?.()).toBe('from-a-file');
});

it('a kubeconfig may hold a client certificate instead of a token', async () => {
  const user = { 'client-certificate-data': base64('c'), 'client-key-data': base64('k') };

  expect(await read(write({ user }))).toEqual({
    url: 'https://api.example.com:6443',
    context: { name: 'here', namespace: 'ci' },
    clientCertificate: { cert: 'c', key: 'k' },
  });
});

it.each([
  [
    'that starts a program',
    { user: { exec: { command: 'aws' } } },
    'with exec, which is not supported; use a token or a client certificate: only commands that people type start a program.',
  ],
  ['with an auth provider', { user: { 'auth-provider': { name: 'gcp' } } }, 'auth-provider'],
  [
    'that checks no certificate',
    { cluster: { 'insecure-skip-tls-verify': true } },
    'with insecure-skip-tls-verify, which is not supported; put the CA into certificate-authority-data.',
  ],
  ['that acts as somebody else', { user: { token: 't', as: 'root' } }, 'as, which'],
  ['without credentials', { user: {} }, 'without a token'],
  ['with half a certificate', { user: { 'client-certificate': 'cert.pem' } }, 'but not both'],
  ['without encryption', { cluster: { server: 'http://api.example.com' } }, 'whose cluster "c" has no https server'],
  [
    'whose context is not there',
    { over: { 'current-context': 'nowhere' } },
    'current context "nowhere" is not in it, but there, here; if kubectl finds it, this writes a whole one: kubectl config view',
  ],
  ['without a context', { over: { 'current-context': '' } }, 'choose one with: kubectl config use-context NAME.'],
  ['whose user is not there', { over: { users: [] } }, 'user "u"'],
  ['whose user is not there, as kubectl writes it', { over: { users: null } }, 'user "u"'],
  ['whose context names no user', { over: { contexts: [{ name: 'here', context: { cluster: 'c' } }] } }, 'user'],
  ['of another shape', { over: { clusters: 'none' } }, 'clusters'],
])('a kubeconfig %s is refused', async (_, parts, says) => {
  const { code, exit, message } = await failure(write(parts));

  expect([code, exit]).toEqual(['GR-CLUSTER-12', 2]);
  expect(message).toContain(says);
});

it('a kubeconfig may hold other contexts that could not be used', async () => {
  const over = {
    contexts: [
      { name: 'old', context: { cluster: 'old' } },
      { name: 'here', context: { cluster: 'c', user: 'u' } },
      { name: 'empty', context: null },
    ],
    clusters: [
      { name: 'old', cluster: { server: 'http://localhost:8080' } },
      { name: 'c', cluster: { server: 'https://api.example.com' } },
    ],
    users: [
      { name: 'old', user: { token: '' } },
      { name: 'none' },
      { name: 1 },
      { name: 'u', user: { token: 'secret' } },
    ],
  };

  expect(await read(write({ over }))).toMatchObject({ url: 'https://api.example.com' });
});

it('a kubeconfig never shows its token in an error', async () => {
  const config = await read(write({ user: { token: 'very secret\u0000' } }));

  expect((await failureOf(config.token?.() ?? Promise.resolve())).message).not.toContain('very secret');
});

it('a kubeconfig that is not there is the world’s fault', async () => {
  expect((await failure(join(folder, 'none'))).code).toBe('GR-CLUSTER-11');
});

it('a kubeconfig may be any garbage', async () => {
  const file = join(folder, 'garbage');
  for (const text of ['', '[', '&a [*a, *a]', '\u0000', '{"__proto__": 1}']) {
    writeFileSync(file, text);
    expect((await failure(file)).code).toBe('GR-CLUSTER-12');
  }
  writeFileSync(file, '');
  expect((await failure(file)).message).toMatch(
    /garbage is a kubeconfig that cannot be read: it is empty or no YAML; give another one\.$/,
  );
});
