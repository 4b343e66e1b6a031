import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { toJsonSchema } from '../../../src/config/runnergroup/json-schema.ts';
import {
  NEWER_KEYS,
  OWNED_KEYS,
  RUNNER_CONFIG_LIMIT,
  RunnerConfigKeys,
} from '../../../src/config/runnergroup/runner-config.ts';
import { complaintsOf, groupOf } from '../../support/group-files.ts';

/** `internal/pkg/config/config.example.yaml` of the runner's module; `gitea-runner generate-config` prints it (test/servers). */
const EXAMPLE = new URL('runner-1.0.8-config.yaml', import.meta.url);

const Sections = z.record(z.string(), z.record(z.string(), z.unknown()));
const Schema = z.looseObject({
  properties: z.record(
    z.string(),
    z.looseObject({ properties: z.record(z.string(), z.looseObject({ type: z.string() })) }),
  ),
});

/** `section.key` with the JSON type of its value, for all keys of the example. */
function keysOfRunner(): ReadonlyMap<string, string> {
  const sections = Sections.parse(parse(readFileSync(EXAMPLE, 'utf8')));
  return new Map(
    Object.entries(sections).flatMap(([section, keys]) =>
      Object.entries(keys).map(([key, value]) => [`${section}.${key}`, typeOf(value)] as const),
    ),
  );
}

/** An empty place in the example stands for an empty string. */
function typeOf(value: unknown): string {
  if (value === null) return 'string';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}

function knownKeys(): ReadonlyMap<string, string> {
  const { properties } = Schema.parse(toJsonSchema(RunnerConfigKeys));
  return new Map(
    Object.entries(properties).flatMap(([section, { properties: keys }]) =>
      Object.entries(keys).map(([key, { type }]) => [`${section}.${key}`, type] as const),
    ),
  );
}

/** Came after runner 1.0.8: its own section, or a key of an older one. */
const isNewer = (key: string): boolean => key in NEWER_KEYS || (key.split('.')[0] ?? '') in NEWER_KEYS;

test('the schema knows every key of runner 1.0.8, as its own or as one that another field sets, and no other', () => {
  const ours = [...knownKeys().keys(), ...Object.keys(OWNED_KEYS)].filter((key) => !isNewer(key));

  // The first is not in the example, because it is the older name of `network`. The second came with runner 2.3.
  const others = ['container.network_mode', 'cache.external_secret_file'];
  expect(ours.sort()).toEqual([...keysOfRunner().keys(), ...others].sort());
});

/** `internal/pkg/config/config.go` of runner 3.3.0, without what 1.0.8 has. A value of each, as its example shows it. */
const NEWER = {
  log: { job: { dir: '/logs', retention: '168h', max_size: '1GB' } },
  runner: {
    action_shallow_clone: true,
    set_act_env: false,
    patch_actions: true,
    default_image: 'docker.gitea.com/runner-images:ubuntu-latest',
    tool_cache_mode: 'shared',
    post_task_script: '/opt/clean.sh',
    post_task_script_timeout: '5m',
    hooks: { job_started: '/opt/begin.sh', job_completed: '/opt/end.sh' },
  },
  cache: { v2: false, retention: '168h', repo_size_limit: '10GB', size_limit: '0', sweep_interval: '1h' },
  container: { network_create_options: { enable_ipv4: true, enable_ipv6: false }, service_ready_timeout: '5m' },
  metrics: { readiness_grace: '30s' },
  health_check: {
    enabled: true,
    min_free_disk_space_mb: 1024,
    script: '/opt/well.sh',
    interval: '30s',
    timeout: '10s',
  },
};

test('an image of its own may be a newer runner, so its keys are taken', async () => {
  const { runnerConfig } = await groupOf({ image: 'gitea/runner:3.3.0', runnerConfig: NEWER });

  expect(runnerConfig).toEqual(NEWER);
});

const written = Object.entries(NEWER).flatMap(([section, keys]) =>
  section in NEWER_KEYS ? [section] : Object.keys(keys).map((key) => `${section}.${key}`),
);

test('each newer key has its release', () => {
  expect(written.sort()).toEqual(Object.keys(NEWER_KEYS).sort());
});

test.each(Object.entries(NEWER_KEYS))('the default runner would ignore %s, which came with %s', async (name, since) => {
  const [section = '', key = ''] = name.split('.');
  const keys = NEWER[section as keyof typeof NEWER] as Readonly<Record<string, unknown>>;
  const asked = key === '' ? keys : { [key]: keys[key] };

  expect(await complaintsOf({ runnerConfig: { [section]: asked } })).toEqual([
    `spec.runnerConfig.${name}: came with runner ${since}, and the default runner 1.0.8 ignores it: set image to a runner of ${since} or newer [GR-INPUT-06]`,
  ]);
});

test.each([...knownKeys()].filter(([key]) => !isNewer(key)))(
  '%s has the type that it has in the runner: %s',
  (key, type) => {
    expect(keysOfRunner().get(key)).toBe(type);
  },
);

test.each(Object.entries(OWNED_KEYS))(
  'a runnerConfig is refused and the message says what to do: %s',
  async (name, instead) => {
    const [section = '', key = ''] = name.split('.');

    expect(await complaintsOf({ runnerConfig: { [section]: { [key]: 'a-secret-value' } } })).toEqual([
      `spec.runnerConfig.${name}: is not yours to set: ${instead} [GR-INPUT-04]`,
    ]);
  },
);

test.each([
  [{ runer: {} }, 'spec.runnerConfig.runer: unknown field; did you mean "runner"? [GR-INPUT-04]'],
  [
    { container: { docker_host: 'tcp://10.0.0.1:2375' } },
    'spec.runnerConfig.container.docker_host: is up to containerMode: remove the line. The only choice, "-", keeps docker from CI jobs [GR-INPUT-05]',
  ],
  [
    { runner: { fetch_interval: '2' } },
    'spec.runnerConfig.runner.fetch_interval: must be a duration with its unit, e.g. 30s, 5m or 1h30m; got the string "2"; write "2s" [GR-INPUT-05]',
  ],
  [
    { runner: { envs: { TOKEN: 1 } } },
    'spec.runnerConfig.runner.envs.TOKEN: must be a string, not a number [GR-INPUT-05]',
  ],
  [
    { cache: { size_limit: 'big' } },
    'spec.runnerConfig.cache.size_limit: must be a size, e.g. 10GB, 512MB or 0; got the string "big" [GR-INPUT-05]',
  ],
  [
    { log: { level: 'warns' } },
    'spec.runnerConfig.log.level: must be one of trace, debug, info, warn, warning, error, fatal, panic, not the string "warns"; did you mean "warn"? [GR-INPUT-05]',
  ],
])('a runnerConfig is refused: %j', async (runnerConfig, complaint) => {
  expect(await complaintsOf({ runnerConfig })).toEqual([complaint]);
});

test('a configuration may be as long as the limit says, and not longer', async () => {
  const filled = (length: number) => ({ runner: { envs: { A: 'x'.repeat(8000), B: 'x'.repeat(length) } } });
  const rest = RUNNER_CONFIG_LIMIT - Buffer.byteLength(JSON.stringify(filled(0)));

  expect(await groupOf({ runnerConfig: filled(rest - 192) })).toMatchObject({ name: 'ci' });
  expect(
    await complaintsOf({
      runnerConfig: { ...filled(rest - 192), log: { level: 'info' }, host: { workdir_parent: 'x'.repeat(192) } },
    }),
  ).toEqual([expect.stringMatching(/^spec\.runnerConfig: has 164\d\d bytes, more than 16384: /)]);
});
