import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { demo, type Generate } from '../../demo/demo.ts';
import type { Io } from '../../src/shared/io.ts';
import { type Printed, printingIo } from '../support/printing-io.ts';
import { standIn } from './generate-stand-in.ts';

const SPEED = 1_000_000;

function recorder(wanted: Parameters<typeof printingIo>[0] = {}): Printed & { readonly io: Io } {
  const { io, printed } = printingIo({ now: () => Date.UTC(2026, 8, 1), ...wanted });
  return Object.assign(printed, { io });
}

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

describe('the story', () => {
  it('ends by itself with every CI job done and nothing left', async () => {
    const seen = recorder();

    const exit = await demo(seen.io, { speed: SPEED, generate: standIn() });

    expect([exit, seen.err]).toEqual([0, '']);
    expect(seen.out).toContain('CI jobs     11 of 11 succeeded, 0 killed');
    expect(seen.out).toContain('cap         never exceeded; most at once: ci 4 of 4, gpu 1 of 1');
    expect(seen.out).toContain('runners     11 Jobs created, 0 left over');
    expect(seen.out).toMatch(/ [1-9]\d* CI jobs ran on a runner that was made for another one/);
    expect(seen.out).toContain('(not counted: #11, which no group covered at first)');
  });

  it('tells its chapters in order, as plain lines without escapes, when stdout is no terminal', async () => {
    const seen = recorder();

    await demo(seen.io, { speed: SPEED, generate: standIn() });

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
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes are what must not be there
    expect(seen.out).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
  });

  it('shows who runs what, what is held back, blocked and not covered', async () => {
    const seen = recorder({ terminal: true, env: { NO_COLOR: '1' } });

    await demo(seen.io, { speed: SPEED, generate: standIn() });

    expect(seen.out).toContain('no runner: labels not covered: gpu');
    expect(seen.out).toContain('queued: held back by the cap of 4');
    expect(seen.out).toContain('blocked: needs build');
    expect(seen.out).toMatch(/ci-\d+-1-\d{8} +made for #\d+ +runs another: #\d+/);
  });
});

describe('the terminal', () => {
  it.each([72, 80, 120])('gets at most 23 lines, none wider than %i columns', async (columns) => {
    const seen = recorder({ terminal: true, columns, env: { NO_COLOR: '1' } });

    await demo(seen.io, { speed: SPEED, generate: standIn() });

    const shown = pictures(seen.out);
    expect(shown.length).toBeGreaterThan(50);
    expect(new Set(shown.map((lines) => lines.length))).toEqual(new Set([23]));
    expect(Math.max(...shown.flat().map((line) => line.length))).toBeLessThan(columns);
  });

  it('gets plain lines when it is too narrow for the picture', async () => {
    const seen = recorder({ terminal: true, columns: 71 });

    await demo(seen.io, { speed: SPEED, generate: standIn() });

    expect(seen.out).not.toContain('\x1b');
  });

  it('that can only print (TERM=dumb) gets plain lines', async () => {
    const seen = recorder({ terminal: true, env: { TERM: 'dumb' } });

    await demo(seen.io, { speed: SPEED, generate: standIn() });

    expect(seen.out).not.toContain('\x1b');
    expect(seen.out).toContain('CI jobs     11 of 11 succeeded');
  });

  it('is coloured unless NO_COLOR says otherwise, and gets its cursor back', async () => {
    const colour = recorder({ terminal: true });
    const plain = recorder({ terminal: true, env: { NO_COLOR: '1' } });

    await demo(colour.io, { speed: SPEED, generate: standIn() });
    await demo(plain.io, { speed: SPEED, generate: standIn() });

    expect([colour.out.includes('\x1b[32m'), plain.out.includes('\x1b[32m')]).toEqual([true, false]);
    expect(colour.out).toContain('\x1b[?25h');
  });
});

describe('when something is wrong', () => {
  it('exits 1 and says so when runners at work are pruned', async () => {
    const seen = recorder();

    const exit = await demo(seen.io, { speed: SPEED, generate: standIn({ forget: true }) });

    expect(exit).toBe(1);
    expect(seen.out).toMatch(/Something went wrong:\n {2}CI jobs .* [1-9]\d* killed/);
  });

  it('exits 1 and says so when a cap was exceeded, although all jobs are done', async () => {
    const seen = recorder();

    const exit = await demo(seen.io, { speed: SPEED, generate: standIn({ greedy: true }) });

    expect(exit).toBe(1);
    expect(seen.out).toContain('CI jobs     11 of 11 succeeded, 0 killed');
    expect(seen.out).toMatch(/cap {9}EXCEEDED; most at once: ci [5-9] of 4/);
  });

  it('exits 1 with the text of generate when it fails again and again', async () => {
    const seen = recorder();
    const generate: Generate = async () => ({ exitCode: 1, stdout: '', stderr: 'error: GR-GITEA-01 list jobs' });

    const failure = demo(seen.io, { speed: SPEED, generate });

    await expect(failure).rejects.toMatchObject({ code: 'GR-DEMO-01', exit: 1 });
    await expect(failure).rejects.toThrow('error: GR-GITEA-01 list jobs');
  });

  it('goes on when generate fails once, with what was there before', async () => {
    const seen = recorder();
    const right = standIn();
    let runs = 0;
    const generate: Generate = async (env, cwd) => {
      runs += 1;
      return runs === 8
        ? { exitCode: 1, stdout: '', stderr: 'error: GR-GITEA-01 list jobs: HTTP 500' }
        : right(env, cwd);
    };

    const exit = await demo(seen.io, { speed: SPEED, generate });

    expect(exit).toBe(0);
    expect(seen.out).toContain('fails: error: GR-GITEA-01 list jobs: HTTP 500; Argo CD touches nothing');
  });

  it('leaves no files behind, whatever happens', async () => {
    const folders: string[] = [];
    const spy =
      (generate: Generate): Generate =>
      (env, cwd) => {
        folders.push(dirname(cwd));
        return generate(env, cwd);
      };
    const broken: Generate = () => Promise.reject(new Error('broken'));

    await demo(recorder().io, { speed: SPEED, generate: spy(standIn()) });
    await expect(demo(recorder().io, { speed: SPEED, generate: spy(broken) })).rejects.toThrow('broken');

    expect(folders.length).toBeGreaterThan(1);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('stops on %s, cleans up and exits %d', async (signal, code) => {
    const seen = recorder({ terminal: true });
    const right = standIn();
    let folder = '';
    const generate: Generate = (env, cwd) => {
      folder = dirname(cwd);
      process.emit(signal, signal);
      return right(env, cwd);
    };

    const exit = await demo(seen.io, { generate });

    expect([exit, existsSync(folder)]).toEqual([code, false]);
    expect(seen.out.endsWith('\x1b[?25h')).toBe(true);
  });
});
