import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { clusterConfig } from '../../../src/clients/kubernetes/config.ts';
import { failureOf } from '../../support/failure-of.ts';
import { folderWith } from '../../support/run-cli.ts';

let dir = '';
beforeEach(() => {
  dir = folderWith({ token: 'sa-token\n' });
});

const env = (change: Record<string, string> = {}) => ({
  GITEA_RUNNERS_KUBERNETES_DIR: dir,
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '6443',
  ...change,
});

test('no token file means nothing to look at, and no word about it', async () => {
  rmSync(join(dir, 'token'));

  expect(await clusterConfig('auto', env())).toBeUndefined();
});

test('off never looks, although everything is there', async () => {
  expect(await clusterConfig('off', env())).toBeUndefined();
});

test('a service account gives address, CA and token', async () => {
  writeFileSync(join(dir, 'ca.crt'), 'PEM');

  const config = await clusterConfig('auto', env());

  expect(config?.url).toBe('https://10.96.0.1:6443');
  expect(config?.ca).toBe('PEM');
  expect(await config?.token?.()).toBe('sa-token');
});

test('an IPv6 address is put in brackets', async () => {
  expect((await clusterConfig('auto', env({ KUBERNETES_SERVICE_HOST: 'fd00::1' })))?.url).toBe(
    'https://[fd00::1]:6443',
  );
});

test('a token that Kubernetes has replaced is read anew', async () => {
  const config = await clusterConfig('auto', env());

  writeFileSync(join(dir, 'token'), 'second');

  expect(await config?.token?.()).toBe('second');
});

test('a token without an API server is an error: somebody wanted us to look', async () => {
  const failure = await failureOf(clusterConfig('auto', env({ KUBERNETES_SERVICE_HOST: '' })));

  expect(failure).toMatchObject({ exit: 1, code: 'GR-CLUSTER-01' });
  expect(failure.message).toContain('--cluster off');
});

test('a token file that cannot be read is an error', async () => {
  rmSync(join(dir, 'token'));
  mkdirSync(join(dir, 'token'));

  const failure = await failureOf(clusterConfig('auto', env()));

  expect(failure).toMatchObject({ exit: 1, code: 'GR-CLUSTER-03' });
});

test.each(['', '\n', 'two\nlines', 'caf\u00e9'])(
  'a token file that holds %j is an error that does not show it',
  async (text) => {
    writeFileSync(join(dir, 'token'), text);
    const config = await clusterConfig('auto', env());

    const failure = await failureOf(config?.token?.() ?? Promise.resolve());

    expect(failure).toMatchObject({ exit: 1, code: 'GR-CLUSTER-02' });
    expect(failure.message).not.toMatch(/lines|caf/);
  },
);
