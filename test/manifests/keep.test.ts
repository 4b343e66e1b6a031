/** What a container of a group with `keepFailedSeconds` runs, in a real shell, with programs of the test's own in place of the image's. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jobDeadlineSeconds, keepCommand, LONGEST_KEEP_SECONDS, runnerCommand } from '../../src/manifests/keep.ts';
import { LONGEST_KEEP_MS } from '../../src/planner/debugging.ts';
import { group } from './fixtures.ts';

const WAITS = 'This pod waits for people';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keep-'));
  for (const made of ['data', 'bin']) mkdirSync(join(folder, made));
  program('entry', 'exec run.sh');
});

/** Those of this test. Each leads a process group. */
const containers = new Set<ChildProcess>();

afterEach(() => {
  for (const { pid } of containers) if (pid !== undefined) endGroup(pid);
  containers.clear();
  rmSync(folder, { recursive: true, force: true });
});

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** The words of a container's command. Kubernetes makes one dollar sign of two. Here `place` is a folder of the test's. */
function wordsOf(command: readonly string[], place: string): readonly string[] {
  return command.map((word) => word.replaceAll('$$', () => '$').replaceAll(place, () => join(folder, place)));
}

/** A shell script that the container finds under this name. */
function program(name: string, text: string): void {
  const file = join(folder, 'bin', name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Starts the container as the kubelet does; `entry` is the image's entry point. The pod is stopped as soon as these words are said. */
function start(stopWhenItSays?: string): Promise<Ended> {
  const command = keepCommand('host').slice(0, 4);
  const [shell = '', ...words] = wordsOf(command, '/data');
  const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
  const child = spawn(shell, [...words, 'entry'], { stdio: ['ignore', 'pipe', 'pipe'], env, detached: true });
  containers.add(child);
  let said = '';
  let stopped = false;
  const hear = (chunk: string): void => {
    said += chunk;
    if (stopWhenItSays === undefined || !said.includes(stopWhenItSays) || stopped) return;
    stopped = true;
    child.kill('SIGTERM');
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    // Long before the test's own limit: this one says what the container does.
    const tooLong = setTimeout(() => {
      const lives = execFileSync('ps', ['-eo', 'pid,ppid,pgid,stat,wchan:20,args'], { encoding: 'utf8' });
      const ours = lives.split('\n').filter((line) => line.trim().split(/\s+/)[2] === String(child.pid));
      reject(new Error(`the container lives after 60 s (stopped: ${stopped}). It said: ${said}\n${ours.join('\n')}`));
    }, 60_000);
    child.on('exit', () => clearTimeout(tooLong));
    // Not `close`: a `sleep` that nobody waits for holds the pipes. In a pod it ends with the container, here in `afterEach`.
    child.on('exit', (code) => resolve({ code, said }));
  });
}

describe('a runner whose CI job has ended', () => {
  it.each([['[build] Job succeeded'], ['[build / test (1, 2)] Job succeeded'], ['[build/test] 🏁  Job succeeded']])(
    'ends at once when it says %s',
    async (line) => {
      program('run.sh', `echo '[build]   | it works'\necho '${line}'\necho 'time="1" level=info msg=over' >&2`);

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
  ])('waits when %s, and ends at once when the pod is stopped', async (_, text) => {
    program('run.sh', text);

    const { code, said } = await start(WAITS);

    expect(code).toBe(0);
    expect(said).toContain(WAITS);
  });

  it('does not wait when it has failed itself: its exit code is that of the container', async () => {
    program('run.sh', 'exit 3');

    expect(await start()).toEqual({ code: 3, said: '' });
  });

  it('waits as long as the longest stay', async () => {
    program('run.sh', "echo '[build] Job failed'");
    program('sleep', `echo "sleep $1" >> '${folder}/slept'`);

    expect((await start()).code).toBe(0);

    expect(readFileSync(join(folder, 'slept'), 'utf8')).toBe(`sleep ${LONGEST_KEEP_SECONDS}\n`);
    expect(LONGEST_KEEP_SECONDS * 1000).toBe(LONGEST_KEEP_MS);
  });
});

describe('a runner that is stopped at work', () => {
  it('finishes its CI job, and the pod does not wait, however that job ended', async () => {
    program(
      'run.sh',
      `trap 'echo finishing >&2; echo "[build] Job failed"; touch "${folder}/finished"; exit 0' TERM\necho ready >&2\nwhile :; do /bin/sleep 0.05; done`,
    );

    const { code, said } = await start('ready');

    expect([code, said]).toEqual([0, 'ready\nfinishing\n']);
    expect(existsSync(join(folder, 'finished'))).toBe(true);
  });
});

describe('the container', () => {
  it('runs the image’s own entry point, which finds our run.sh first; CI jobs do not', async () => {
    program('run.sh', `echo "$PATH" > '${folder}/path'\necho '[build] Job succeeded'`);

    await start();

    expect(readFileSync(join(folder, 'path'), 'utf8')).toMatch(new RegExp(`^${folder}/bin:`));
    expect(keepCommand('dind-rootless').slice(4)).toEqual(runnerCommand(group({ containerMode: 'dind-rootless' })));
    expect(keepCommand('buildkit').slice(4)).toEqual(runnerCommand(group({ containerMode: 'buildkit' })));
    expect(keepCommand('dind').slice(4)).toEqual(['/sbin/tini', '--', 'run.sh']);
  });

  it('runs the runner as ever when nothing can be written', async () => {
    rmSync(join(folder, 'data'), { recursive: true });
    writeFileSync(join(folder, 'data'), 'no folder');
    program('run.sh', "echo '[build] Job failed'");

    const { code, said } = await start();

    expect(code).toBe(0);
    expect(said).toContain('[build] Job failed\n');
    expect(said).not.toContain(WAITS);
  });

  it('belongs to groups that ask for it; their Jobs may live a longest stay longer', () => {
    const deadlines = [0, 1].map((keepFailedSeconds) =>
      jobDeadlineSeconds(group({ keepFailedSeconds, activeDeadlineSeconds: 100 })),
    );

    expect(deadlines).toEqual([100, 100 + LONGEST_KEEP_SECONDS]);
  });
});

describe.each([0, 60])('a container of mode dind-rootless (keepFailedSeconds: %d)', (keepFailedSeconds) => {
  /** Starts the container with one service, whose `run` is `script`, as in the image of runner 1.0.8. Answers what it says. */
  function runService(service: string, script: string): string {
    const file = join(folder, 'etc', 's6', service, 'run');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/usr/bin/env bash\n\n${script}`, { mode: 0o755 });
    program('s6-svscan', `exec "$1/${service}/run"`);
    const command = runnerCommand(group({ containerMode: 'dind-rootless', keepFailedSeconds })) ?? [];
    const [shell = '', ...words] = wordsOf(wordsOf(command, '/data'), '/etc/s6');
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
    return execFileSync(shell, words, { env, encoding: 'utf8' });
  }

  it('lets s6 ask dockerd for as long as it takes', () => {
    program('s6-notifyoncheck', 'printf "%s\\n" "$*"');

    const said = runService('docker', 'exec s6-notifyoncheck dockerd-entrypoint.sh\n');

    expect(said).toBe('-n 0 dockerd-entrypoint.sh\n');
  });

  it.each(['gitea-runner', 'act_runner'])(
    'starts %s only after dockerd, whichever service s6 starts first',
    (service) => {
      const tries = join(folder, 'tries');
      // What it does while s6 has not yet written the state of the other service.
      program('s6-svwait', `echo "$*" >> '${tries}'; test "$(wc -l < '${tries}')" = 3`);
      program('sleep', ':');
      program('run.sh', `echo runs >> '${tries}'`);

      runService(service, 's6-svwait -U /etc/s6/docker\n\nexec run.sh\n');

      expect(readFileSync(tries, 'utf8')).toBe(`${'-U /etc/s6/docker\n'.repeat(3)}runs\n`);
    },
  );
});
