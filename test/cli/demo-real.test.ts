import { expect, it } from 'vitest';
import { demo, type Generate } from '../../src/cli/demo.ts';
import { explain } from '../../src/cli/explain.ts';
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
  let asked = 0;
  const runs =
    (command: (own: Io) => Promise<number>): Generate =>
    async (env, cwd) => {
      let stdout = '';
      let stderr = '';
      const out = (text: string) => {
        stdout += text;
      };
      const err = (text: string) => {
        stderr += text;
      };
      const exitCode = await command({ ...io, env, cwd, out, err });
      return { exitCode, stdout, stderr };
    };
  const real = runs((own) => generate([], {}, own));
  const asks = runs((own) => {
    asked += 1;
    return explain([], { state: 'stuck' }, own);
  });

  const exit = await demo(io, { speed: 1_000_000, generate: real, explain: asks });

  expect(shown).toContain('CI jobs     11 of 11 succeeded, 0 killed');
  expect(exit).toBe(0);
  expect(asked).toBe(1);
  expect(shown).toMatch(
    /\$ gitea-runners explain --state stuck .*\n\n(?:.*\n)+.* train +gpu .* labels not covered: gpu/,
  );
});
