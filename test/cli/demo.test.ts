import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demo, type Generate } from '../../demo/demo.ts';
import { explain } from '../../src/cli/commands/explain.ts';
import { generate } from '../../src/cli/commands/generate.ts';
import type { Io } from '../../src/shared/io.ts';
import { type Printed, printingIo } from '../support/printing-io.ts';
import { folderWith } from '../support/run-cli.ts';

const SPEED = 1_000_000;

function recorder(wanted: Parameters<typeof printingIo>[0] = {}): Printed & { readonly io: Io } {
  const { io, printed } = printingIo(wanted);
  return Object.assign(printed, { io });
}

/** Runs one of our commands in this process. */
const runs =
  (command: (own: Io) => Promise<number>): Generate =>
  async (env, cwd) => {
    const own = printingIo({ env, cwd });
    const exitCode = await command(own.io);
    return { exitCode, stdout: own.printed.out, stderr: own.printed.err };
  };
const real = runs((own) => generate([], {}, own));

/** The pictures that a terminal showed, one after the other. */
function pictures(out: string): string[][] {
  const clear = '\x1b[2K';
  return out
    .split('\x1b[J')
    .slice(0, -1)
    .map((picture) =>
      picture
        .slice(picture.indexOf(clear))
        .split('\n')
        .slice(0, -1)
        .map((line) => line.replace(clear, '')),
    );
}

it('the story ends by itself with every CI job done and nothing left', async () => {
  const seen = recorder();
  let asked = 0;
  const asks = runs((own) => {
    asked += 1;
    return explain([], { state: 'unserved' }, own);
  });

  const exit = await demo(seen.io, { speed: SPEED, generate: real, explain: asks });

  expect([exit, seen.err, asked]).toEqual([0, '', 1]);
  expect(seen.out).toContain('CI jobs     11 of 11 succeeded, 0 killed');
  expect(seen.out).toContain('cap         never exceeded; most at once: ci 4 of 4, gpu 1 of 1');
  expect(seen.out).toMatch(/runners {5}\d+ Jobs created, 0 left over/);
  expect(seen.out).toMatch(/ [1-9]\d* CI jobs ran on a runner that was made for another one/);
  expect(seen.out).toContain('(not counted: #11, which no group covered at first)');
  expect(seen.out).toMatch(
    /\$ gitea-runners explain --state unserved .*\n\n(?:.*\n)+.* train +gpu .* labels not covered: gpu/,
  );
  const chapters = seen.out.match(/^-- .*$/gm)?.map((line) => line.slice(3, 24));
  expect(chapters).toEqual([
    'Nothing is queued, so',
    'A push. "build" is re',
    'More pushes. The grou',
    'Gitea gives a runner ',
    '"train" asks for the ',
    'gpu.yaml was committe',
    'The queue runs empty.',
    'All jobs are done and',
  ]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no terminal, so escapes must not be there
  expect(seen.out).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
});

it.each([72, 120])('the terminal gets at most 23 lines, none wider than %i columns', async (columns) => {
  const seen = recorder({ terminal: true, columns, env: { NO_COLOR: '1' } });

  await demo(seen.io, { speed: SPEED, generate: real });

  const shown = pictures(seen.out);
  expect(shown.length).toBeGreaterThan(50);
  expect(new Set(shown.map((lines) => lines.length))).toEqual(new Set([23]));
  expect(Math.max(...shown.flat().map((line) => line.length))).toBeLessThan(columns);
  expect(seen.out).not.toContain('\x1b[32m');
  expect(seen.out).toContain('no runner: labels not covered: gpu');
  expect(seen.out).toContain('queued: held back by the cap of 4');
  expect(seen.out).toContain('blocked: needs build');
  expect(seen.out).toMatch(/ci-\d+-1-[0-9a-f]{8} +made for #\d+ +runs another: #\d+/);
});

it.each([
  ['is too narrow for the picture', { columns: 71 }],
  ['can only print', { env: { TERM: 'dumb' } }],
])('a terminal that %s gets plain lines', async (_, wanted) => {
  const seen = recorder({ terminal: true, ...wanted });

  await demo(seen.io, { speed: SPEED, generate: real });

  expect(seen.out).not.toContain('\x1b');
  expect(seen.out).toContain('CI jobs     11 of 11 succeeded');
});

it('the terminal is coloured, and gets its cursor back', async () => {
  const seen = recorder({ terminal: true });

  await demo(seen.io, { speed: SPEED, generate: real });

  expect(seen.out).toContain('\x1b[32m');
  expect(seen.out).toContain('\x1b[?25h');
});

describe('when something is wrong', () => {
  it('exits 1 and says so when runners at work are pruned', async () => {
    const seen = recorder();

    const forgetful: Generate = async (env, cwd) => {
      const { stdout, ...rest } = await real(env, cwd);
      const atRest = stdout.split(/^---$/m).filter((text) => !text.includes('Prune=false'));
      return { ...rest, stdout: atRest.join('---') };
    };

    const exit = await demo(seen.io, { speed: SPEED, generate: forgetful });

    expect(exit).toBe(1);
    expect(seen.out).toMatch(/Something went wrong:\n {2}CI jobs .* [1-9]\d* killed/);
  });

  it('exits 1 and says so when a cap was exceeded, although all jobs are done', async () => {
    const seen = recorder();

    const greedy: Generate = (env, cwd) => {
      const files = readdirSync(cwd).map((file) => {
        const text = readFileSync(join(cwd, file), 'utf8');
        return [file, text.replace(/maxActiveRunners: \d+/, 'maxActiveRunners: 9')] as const;
      });
      return real(env, folderWith(Object.fromEntries(files)));
    };

    const exit = await demo(seen.io, { speed: SPEED, generate: greedy });

    expect(exit).toBe(1);
    expect(seen.out).toContain('CI jobs     11 of 11 succeeded, 0 killed');
    expect(seen.out).toMatch(/cap {9}EXCEEDED; most at once: ci [5-9] of 4/);
  });

  it('exits 1 with the text of generate when it fails again and again', async () => {
    const seen = recorder();
    const failing: Generate = async () => ({ exitCode: 1, stdout: '', stderr: 'error: GR-GITEA-01 list jobs' });

    const failure = demo(seen.io, { speed: SPEED, generate: failing });

    await expect(failure).rejects.toMatchObject({ code: 'GR-DEMO-01', exit: 1 });
    await expect(failure).rejects.toThrow('error: GR-GITEA-01 list jobs');
  });

  it('the demo goes on when generate fails once, with what was there before', async () => {
    const seen = recorder();
    let looks = 0;
    const once: Generate = async (env, cwd) => {
      looks += 1;
      return looks === 8
        ? { exitCode: 1, stdout: '', stderr: 'error: GR-GITEA-01 list jobs: HTTP 500' }
        : real(env, cwd);
    };

    const exit = await demo(seen.io, { speed: SPEED, generate: once });

    expect(exit).toBe(0);
    expect(seen.out).toContain('fails: error: GR-GITEA-01 list jobs: HTTP 500; Argo CD touches nothing');
  });

  it('the demo leaves no files behind, although it fails', async () => {
    let folder = '';
    const broken: Generate = (_, cwd) => {
      folder = dirname(cwd);
      return Promise.reject(new Error('broken'));
    };

    await expect(demo(recorder().io, { speed: SPEED, generate: broken })).rejects.toThrow('broken');

    expect(folder).not.toBe('');
    expect(existsSync(folder)).toBe(false);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('the demo stops on %s, cleans up and exits %d', async (signal, code) => {
    const seen = recorder({ terminal: true });
    let folder = '';
    const stopped: Generate = (env, cwd) => {
      folder = dirname(cwd);
      process.emit(signal, signal);
      return real(env, cwd);
    };

    const exit = await demo(seen.io, { generate: stopped });

    expect([exit, existsSync(folder)]).toEqual([code, false]);
    expect(seen.out.endsWith('\x1b[?25h')).toBe(true);
  });
});
