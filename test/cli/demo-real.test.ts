import { expect, it } from 'vitest';
import { demo, type Generate } from '../../src/cli/demo.ts';
import { generate } from '../../src/cli/generate.ts';
import type { Io } from '../../src/cli/io.ts';

it('gets every CI job done with the real generate: none killed, no cap exceeded, nothing left', async () => {
  let shown = '';
  const io: Io = {
    env: {},
    cwd: '/',
    terminal: false,
    columns: 80,
    now: Date.now,
    out: (text) => {
      shown += text;
    },
    err: () => {},
  };
  const real: Generate = async (env, cwd) => {
    let stdout = '';
    let stderr = '';
    const out = (text: string) => {
      stdout += text;
    };
    const err = (text: string) => {
      stderr += text;
    };
    const exitCode = await generate([], {}, { ...io, env, cwd, out, err });
    return { exitCode, stdout, stderr };
  };

  const exit = await demo(io, { speed: 1_000_000, generate: real });

  expect(shown).toContain('CI jobs     11 of 11 succeeded, 0 killed');
  expect(exit).toBe(0);
});
