/** The script of the init container `register`, in a real shell, with programs of the test's own in place of the runner and of `sleep`. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { modeParts } from '../../src/manifests/container-mode.ts';
import { registerCommand } from '../../src/manifests/init-containers.ts';
import { Container } from './container.ts';
import { group } from './fixtures.ts';

const TOKEN = 'the-registration-token';

let container: Container;
let folder = '';
let data = '';

beforeEach(() => {
  container = new Container();
  folder = container.folder;
  data = join(folder, 'data');
  container.program('sleep', 'exit 0');
});
afterEach(() => container.close());

/** A `gitea-runner` that notes its arguments, one per line and an empty line at the end of a call. */
function runner(text: string): void {
  container.program('gitea-runner', `printf '%s\\n' "$@" '' >> '${folder}/calls'\n${text}`);
}

function calls(): readonly (readonly string[])[] {
  if (!existsSync(join(folder, 'calls'))) return [];
  const text = readFileSync(join(folder, 'calls'), 'utf8');
  return text
    .split('\n\n')
    .filter((call) => call !== '')
    .map((call) => call.split('\n'));
}

function register(
  hear?: (said: string, stop: () => void) => void,
  { shell, program = 'gitea-runner', before = '', ...env }: Readonly<Record<string, string>> = {},
) {
  return container.start(registerCommand(program, before), {
    shell,
    hear,
    env: {
      CONFIG_FILE: '/etc/gitea-runner/config.yaml',
      GITEA_INSTANCE_URL: 'https://gitea.example.com',
      GITEA_RUNNER_REGISTRATION_TOKEN: TOKEN,
      GITEA_RUNNER_NAME: 'ci-1-1-9c31e0aa',
      GITEA_RUNNER_LABELS: 'a b:host,gpu',
      ...env,
    },
  });
}

describe('the script that registers, in containerMode buildkit', () => {
  const before = modeParts(group({ containerMode: 'buildkit' })).prepare ?? '';

  test('the script that registers, in containerMode buildkit writes down the builder, and registers when BuildKit listens', async () => {
    mkdirSync(join(folder, 'run', 'buildkit'), { recursive: true });
    const buildkit = createServer();
    buildkit.listen(join(folder, 'run', 'buildkit', 'buildkitd.sock'));
    await once(buildkit, 'listening');
    runner('echo "{}" > .runner');
    try {
      const { code, said } = await register(undefined, { before });

      expect([code, said]).toEqual([0, '']);
      expect(calls()).toHaveLength(1);
      const builder = readFileSync(join(data, '.buildx', 'instances', 'buildkit'), 'utf8');
      expect(JSON.parse(builder)).toMatchObject({ Name: 'buildkit', Driver: 'remote' });
    } finally {
      buildkit.close();
    }
  });

  test('the script that registers, in containerMode buildkit gives up after a minute without it, and registers nobody', async () => {
    container.program('sleep', `echo "$1" >> '${folder}/pauses'`);
    runner('exit 0');

    const { code, said } = await register(undefined, { before });

    expect([code, calls()]).toEqual([1, []]);
    expect(said).toContain('Not registered: BuildKit did not start within 60 seconds. The log of container buildkit');
    const pauses = readFileSync(join(folder, 'pauses'), 'utf8').trim().split('\n').map(Number);
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeCloseTo(60);
  });
});

test('the script that registers registers once, with the words that the runner knows, and ends well', async () => {
  runner('echo "{}" > .runner');

  const { code } = await register();

  expect(code).toBe(0);
  expect(calls()).toEqual([
    [
      ...['register', '--no-interactive', '--ephemeral', '--config', '/etc/gitea-runner/config.yaml'],
      ...['--instance', 'https://gitea.example.com', '--token', TOKEN],
      ...['--name', 'ci-1-1-9c31e0aa', '--labels', 'a b:host,gpu'],
    ],
  ]);
  expect(readFileSync(join(data, '.runner'), 'utf8')).toBe('{}\n');
});

test('the script that registers calls the runner of older images by its name', async () => {
  container.program('act_runner', `echo "$1" > '${folder}/called'; echo "{}" > .runner`);

  expect((await register(undefined, { program: 'act_runner' })).code).toBe(0);
  expect(readFileSync(join(folder, 'called'), 'utf8')).toBe('register\n');
});

test('the script that registers registers nothing when a container before it has registered', async () => {
  writeFileSync(join(data, '.runner'), '{}');
  runner('exit 0');

  const { code } = await register();

  expect(code).toBe(0);
  expect(calls()).toEqual([]);
});

test('the script that registers tries again when a try fails, and does not take what that one has left for a registration', async () => {
  runner(`if [ -e '${folder}/second' ]; then [ ! -e .runner ] && echo "{}" > .runner; exit; fi
touch '${folder}/second'
echo "{" > .runner
exit 1`);

  const { code } = await register();

  expect(code).toBe(0);
  expect(calls()).toHaveLength(2);
  expect(readFileSync(join(data, '.runner'), 'utf8')).toBe('{}\n');
});

test('the script that registers gives up after 10 tries, says what to check, and leaves no registration', async () => {
  runner('exit 1');

  const { code, said } = await register();

  expect(code).toBe(1);
  expect(calls()).toHaveLength(10);
  expect(said).toContain('Try 10 of 10 to register failed.\nNot registered: the lines above say why.');
  expect(said).not.toContain(TOKEN);
  expect(existsSync(join(data, '.runner'))).toBe(false);
});

test('the script that registers gives a try one minute: a Gitea that does not answer cannot hold it for ever', async () => {
  container.program('timeout', `echo "$1 $2" >> '${folder}/timeouts'; exit 124`);

  const { code } = await register();

  expect(code).toBe(1);
  expect(readFileSync(join(folder, 'timeouts'), 'utf8')).toBe('60 gitea-runner\n'.repeat(10));
});

test.each([
  ['while the runner registers', 'echo waiting; exec tail -f /dev/null', 'exit 0'],
  ['between two tries', 'exit 1', 'echo waiting; exec tail -f /dev/null'],
])('the script that registers ends when its pod is deleted %s', async (_when, ofRunner, ofSleep) => {
  container.program('sleep', ofSleep);
  runner(ofRunner);

  const { code } = await register((said, stop) => said.includes('waiting') && stop());

  expect(code).toBe(143);
  expect(calls()).toHaveLength(1);
});

test('the script that registers fails when there is no volume to register into', async () => {
  rmSync(data, { recursive: true });
  runner('exit 0');

  expect((await register()).code).not.toBe(0);
  expect(calls()).toEqual([]);
});

/** A variable of the pod: key `url` of the registration Secret. */
const boundTo = (url: string, gitea = 'https://gitea.example.com', shell = 'sh') => ({
  GITEA_RUNNER_REGISTRATION_URL: url,
  GITEA_INSTANCE_URL: gitea,
  shell,
});

describe.each(['sh', 'bash'])('a registration token, in %s,', (shell) => {
  test.each([
    ['https://gitea.example.com', 'https://gitea.example.com'],
    ['https://gitea.example.com/', 'https://gitea.example.com'],
    ['https://gitea.example.com///', 'https://gitea.example.com'],
    ['https://gitea.example.com\n', 'https://gitea.example.com'],
    ['HTTPS://Gitea.Example.COM:443/', 'https://gitea.example.com'],
    ['http://gitea.example.com:80', 'http://gitea.example.com'],
    ['http://gitea.example.com:3000/Git/', 'http://gitea.example.com:3000/Git'],
    ['http://[::1]:80/git', 'http://[::1]/git'],
  ])('bound to %j registers at %s', async (bound, gitea) => {
    runner('echo "{}" > .runner');

    const { code } = await register(undefined, boundTo(bound, gitea, shell));

    expect(code).toBe(0);
    expect(calls()).toHaveLength(1);
  });

  test.each([
    ['https://other.example.com', 'https://gitea.example.com'],
    ['http://gitea.example.com', 'https://gitea.example.com'],
    ['https://gitea.example.com:80', 'https://gitea.example.com'],
    ['https://gitea.example.com:8443', 'https://gitea.example.com'],
    ['https://gitea.example.com/gitea', 'https://gitea.example.com'],
    ['https://gitea.example.com', 'https://gitea.example.com/other-app'],
    ['https://gitea.example.com/gitea', 'https://gitea.example.com/Gitea'],
    ['https://gitea.example.com.', 'https://gitea.example.com'],
    ['https://gitea.example.com@evil.example', 'https://evil.example'],
    ['https://evil.example#gitea.example.com', 'https://gitea.example.com'],
    ['*', 'https://gitea.example.com'],
    ['gitea.example.com', 'https://gitea.example.com'],
    ['', 'https://gitea.example.com'],
    ['https://user:password@gitea.example.com', 'https://gitea.example.com'],
  ])('bound to %j does not go to %s, and no second try is made', async (bound, gitea) => {
    runner('echo "{}" > .runner');

    const { code, said } = await register(undefined, boundTo(bound, gitea, shell));

    expect(code).toBe(1);
    expect(calls()).toEqual([]);
    expect(said).toBe(
      `Not registered: the registration Secret is for another Gitea. Its key url must be ${gitea}, or correct gitea.url.\n`,
    );
  });
});
