/**
 * Tests the command of a container with `keepFailedSeconds` in a real shell, with programs of the test in place of the
 * image's.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ContainerMode } from '../../src/config/runnergroup/runner-group.ts';
import { jobDeadlineSeconds, LONGEST_KEEP_SECONDS, runnerCommand } from '../../src/manifests/keep.ts';
import { LONGEST_KEEP_MS } from '../../src/planner/debugging.ts';
import { Container } from './container.ts';
import { group } from './fixtures.ts';

const WAITS = 'This pod waits for people';

const keepCommand = (containerMode: ContainerMode) =>
  runnerCommand(group({ containerMode, keepFailedSeconds: 1 })) ?? [];

let container: Container;

beforeEach(() => {
  container = new Container();
  container.program('entry', 'exec run.sh');
});
afterEach(() => container.close());

/** Starts the container; `entry` is the image's entry point. The pod is stopped as soon as these words are said. */
function start(stopWhenItSays?: string) {
  let stopped = false;
  return container.start([...keepCommand('host').slice(0, 4), 'entry'], {
    hear: (said, stop) => {
      if (stopWhenItSays === undefined || !said.includes(stopWhenItSays) || stopped) return;
      stopped = true;
      stop();
    },
  });
}

it.each([['[build] Job succeeded'], ['[build / test (1, 2)] Job succeeded'], ['[build/test] 🏁  Job succeeded']])(
  'a runner whose CI job has ended ends at once when it says %s',
  async (line) => {
    container.program('run.sh', `echo '[build]   | it works'\necho '${line}'\necho 'time="1" level=info msg=over' >&2`);

    const { code, said } = await start();

    expect([code, said]).toEqual([0, 'time="1" level=info msg=over\n']);
  },
);

it.each([
  ['it failed', "echo '[build] Job failed'"],
  ['it never began', "echo '[build] cannot pull image'"],
  ['it says nothing', ':'],
  [
    'the CI job itself says that it has succeeded',
    "echo '[build]   | [build] Job succeeded'\necho '[build] Job failed'",
  ],
])('a runner whose CI job has ended waits when %s, and ends at once when the pod is stopped', async (_, text) => {
  container.program('run.sh', text);

  const { code, said } = await start(WAITS);

  expect(code).toBe(0);
  expect(said).toContain(WAITS);
});

it('a runner whose CI job has ended does not wait when it has failed itself: its exit code is that of the container', async () => {
  container.program('run.sh', 'exit 3');

  expect(await start()).toEqual({ code: 3, said: '' });
});

it('a runner whose CI job has ended waits as long as the longest stay', async () => {
  container.program('run.sh', "echo '[build] Job failed'");
  container.program('sleep', `echo "sleep $1" >> '${container.folder}/slept'`);

  expect((await start()).code).toBe(0);

  expect(readFileSync(join(container.folder, 'slept'), 'utf8')).toBe(`sleep ${LONGEST_KEEP_SECONDS}\n`);
  expect(LONGEST_KEEP_SECONDS * 1000).toBe(LONGEST_KEEP_MS);
});

it('a runner that is stopped at work finishes its CI job, and the pod does not wait, however that job ended', async () => {
  container.program(
    'run.sh',
    `trap 'echo finishing >&2; echo "[build] Job failed"; touch "${container.folder}/finished"; exit 0' TERM\necho ready >&2\nwhile :; do /bin/sleep 0.05; done`,
  );

  const { code, said } = await start('ready');

  expect([code, said]).toEqual([0, 'ready\nfinishing\n']);
  expect(existsSync(join(container.folder, 'finished'))).toBe(true);
});

it('the container runs the image’s own entry point, which finds our run.sh first; CI jobs do not', async () => {
  container.program('run.sh', `echo "$PATH" > '${container.folder}/path'\necho '[build] Job succeeded'`);

  await start();

  expect(readFileSync(join(container.folder, 'path'), 'utf8')).toMatch(new RegExp(`^${container.folder}/bin:`));
  expect(keepCommand('dind-rootless').slice(4)).toEqual(runnerCommand(group({ containerMode: 'dind-rootless' })));
  expect(keepCommand('buildkit').slice(4)).toEqual(runnerCommand(group({ containerMode: 'buildkit' })));
  expect(keepCommand('dind').slice(4)).toEqual(['/sbin/tini', '--', 'run.sh']);
});

it('the container runs the runner as ever when nothing can be written', async () => {
  rmSync(join(container.folder, 'data'), { recursive: true });
  writeFileSync(join(container.folder, 'data'), 'no folder');
  container.program('run.sh', "echo '[build] Job failed'");

  const { code, said } = await start();

  expect(code).toBe(0);
  expect(said).toContain('[build] Job failed\n');
  expect(said).not.toContain(WAITS);
});

it('the container belongs to groups that ask for it; their Jobs may live a longest stay longer', () => {
  const deadlines = [0, 1].map((keepFailedSeconds) =>
    jobDeadlineSeconds(group({ keepFailedSeconds, activeDeadlineSeconds: 100 })),
  );

  expect(deadlines).toEqual([100, 100 + LONGEST_KEEP_SECONDS]);
});

describe.each([0, 60])('a container of mode dind-rootless (keepFailedSeconds: %d)', (keepFailedSeconds) => {
  /** Starts the container with one service, whose `run` is `script`, as in the image of runner 1.0.8. Answers what it says. */
  async function runService(service: string, script: string): Promise<string> {
    const file = join(container.folder, 'etc', 's6', service, 'run');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/usr/bin/env bash\n\n${script}`, { mode: 0o755 });
    container.program('s6-svscan', `exec "$1/${service}/run"`);
    const { said } = await container.start(
      runnerCommand(group({ containerMode: 'dind-rootless', keepFailedSeconds })) ?? [],
    );
    return said;
  }

  it('lets s6 ask dockerd for as long as it takes', async () => {
    container.program('s6-notifyoncheck', 'printf "%s\\n" "$*"');

    const said = await runService('docker', 'exec s6-notifyoncheck dockerd-entrypoint.sh\n');

    expect(said).toBe('-n 0 dockerd-entrypoint.sh\n');
  });

  it.each(['gitea-runner', 'act_runner'])(
    'starts %s only after dockerd, whichever service s6 starts first',
    async (service) => {
      const tries = join(container.folder, 'tries');
      // State of s6 before it has written that of the other service.
      container.program('s6-svwait', `echo "$*" >> '${tries}'; test "$(wc -l < '${tries}')" = 3`);
      container.program('sleep', ':');
      container.program('run.sh', `echo runs >> '${tries}'`);

      await runService(service, 's6-svwait -U /etc/s6/docker\n\nexec run.sh\n');

      expect(readFileSync(tries, 'utf8')).toBe(`${'-U /etc/s6/docker\n'.repeat(3)}runs\n`);
    },
  );
});
