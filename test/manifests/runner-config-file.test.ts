/** Tests the runner's configuration file, and the second one with the secret of the cache server. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { podTemplate } from '../../src/manifests/app.ts';
import { WRITE_SECRET_CONFIG } from '../../src/manifests/init-containers.ts';
import { withoutExpansion } from '../../src/manifests/job-manifest.ts';
import { CONFIG_FILE, runnerConfig } from '../../src/manifests/runner-config-file.ts';
import { Container } from './container.ts';
import { group } from './fixtures.ts';

const CACHE = { url: 'http://cache.ci.svc:8088', secretRef: { name: 'the-secret', key: 'the-key' } };

test('the configuration has the keys of spec.runnerConfig beside ours, as they were meant', () => {
  const text = runnerConfig(
    group({
      containerMode: 'dind',
      runnerConfig: {
        metrics: { enabled: true },
        container: { valid_volumes: ['data', '/src/*.json'], docker_host: '-' },
        runner: { envs: { on: 'yes', 'A: b': '035e2982\n"ü"' }, log_report_batch_size: 7, fetch_interval: '0' },
      },
    }),
  );

  expect(parse(text, { version: '1.1' })).toEqual({
    runner: {
      file: '.runner',
      capacity: 1,
      timeout: '10800s',
      shutdown_timeout: '210s',
      envs: { on: 'yes', 'A: b': '035e2982\n"ü"' },
      log_report_batch_size: 7,
      fetch_interval: '0',
    },
    container: {
      docker_timeout: '120s',
      require_docker: true,
      valid_volumes: ['data', '/src/*.json'],
      docker_host: '-',
    },
    metrics: { enabled: true },
  });
});

test('the configuration has what a private CA needs before what was asked for', () => {
  const asked = { container: { options: '--memory 1g', valid_volumes: ['data'] }, runner: { envs: { A: 'b' } } };
  const caBundle = { configMapRef: { name: 'ca', key: 'ca.crt' } };
  const folders = ['/usr/local/share/ca-certificates/gitea-runner', '/usr/local/share/gitea-runner'];

  expect(parse(runnerConfig(group({ containerMode: 'dind', caBundle, runnerConfig: asked })))).toMatchObject({
    runner: { envs: { A: 'b' }, env_file: '/data/runner.env' },
    container: {
      options: `${folders.map((folder) => `-v ${folder}:${folder}:ro`).join(' ')} --memory 1g`,
      valid_volumes: [...folders, 'data'],
    },
  });
  expect(parse(runnerConfig(group({ containerMode: 'host', caBundle })))).not.toHaveProperty('container');
});

test('the configuration does not depend on the order of the keys, and not on empty sections', () => {
  const one = group({
    runnerConfig: { log: { level: 'warn' }, runner: { github_mirror: 'a', env_file: 'b' }, host: {} },
  });
  const other = group({ runnerConfig: { runner: { env_file: 'b', github_mirror: 'a' }, log: { level: 'warn' } } });

  expect(runnerConfig(one)).toBe(runnerConfig(other));
});

test.each(['http://c:8088', 'http://c:8088/', 'http://c:8088//'])(
  'the configuration names the cache %s as the runner wants it',
  (url) => {
    const text = runnerConfig(group({ cache: { ...CACHE, url }, runnerConfig: { cache: { offline_mode: true } } }));

    expect(parse(text)).toMatchObject({ cache: { external_server: 'http://c:8088/', offline_mode: true } });
  },
);

describe('the secret of the cache', () => {
  test.each(['dind-rootless', 'dind', 'host'] as const)(
    'the secret of the cache is in the environment of the init container that registers, and nowhere else in the Job (%s)',
    (containerMode) => {
      const { spec } = podTemplate(group({ containerMode, cache: CACHE, setupCommand: ['true'] })).spec.template;
      const containers = [...(spec.initContainers ?? []), ...spec.containers];
      const register = containers.find(({ name }) => name === 'register');
      const others = containers.filter((each) => each !== register);

      expect(JSON.stringify(spec).match(/the-secret|the-key/g)).toEqual(['the-key', 'the-secret']);
      expect(JSON.stringify(register)).toContain(
        '{"name":"GITEA_RUNNER_CACHE_SECRET","valueFrom":{"secretKeyRef":{"key":"the-key","name":"the-secret"}}}',
      );
      // Besides, only the runner has the volume: neither setup nor dockerd.
      const seen = others.filter((container) => JSON.stringify(container).includes('secret-config'));
      expect(seen.map(({ name }) => name)).toEqual(['runner']);
      expect(JSON.stringify(spec)).toContain(
        '{"emptyDir":{"medium":"Memory","sizeLimit":"1Mi"},"name":"secret-config"}',
      );
    },
  );

  let container: Container;
  beforeEach(() => {
    container = new Container();
  });
  afterEach(() => container.close());

  /** Runs the lines of the script on a configuration of a group with a cache. */
  function write(secret: string | undefined, shell: string) {
    const base = join(container.folder, 'base.yaml');
    const file = join(container.folder, 'config.yaml');
    writeFileSync(base, runnerConfig(group({ cache: CACHE })));
    const script = `${WRITE_SECRET_CONFIG.replaceAll(CONFIG_FILE, base)}echo registers`;
    const env = { CONFIG_FILE: file, ...(secret !== undefined && { GITEA_RUNNER_CACHE_SECRET: secret }) };
    return { file, ended: container.start([shell, '-c', withoutExpansion(script)], { env }) };
  }

  describe.each(['sh', 'bash'])('in %s', (shell) => {
    test.each(['0f3a', "it's '", 'a\n', '"\\n: # $HOME $(date) `x` %s %%', '- {', '12345', ' a '])(
      'the secret of the cache is written as it is: %j',
      async (secret) => {
        const { file, ended } = write(secret, shell);

        expect(await ended).toEqual({ code: 0, said: 'registers\n' });
        expect(parse(readFileSync(file, 'utf8'))).toMatchObject({
          cache: { external_server: 'http://cache.ci.svc:8088/', external_secret: secret.replace(/\n$/, '') },
        });
        expect(statSync(file).mode & 0o777).toBe(0o600);
      },
    );

    test.each(['', '\n', undefined, 'two\nlines', 'tab\there', 'ü', 'esc\u001b[0m'])(
      'the secret of the cache is refused, and nothing is registered: %j',
      async (secret) => {
        expect(await write(secret, shell).ended).toEqual({
          code: 1,
          said: 'The secret of the cache server must be one line of printable ASCII, and not empty. Correct its Secret.\n',
        });
      },
    );
  });
});
