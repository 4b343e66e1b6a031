import { expect, it } from 'vitest';
import { demo, type Generate } from '../../demo/demo.ts';
import { explain } from '../../src/cli/explain.ts';
import { generate } from '../../src/cli/generate.ts';
import type { Io } from '../../src/shared/io.ts';
import { printingIo } from '../support/printing-io.ts';

it('gets every CI job done with the real generate: none killed, no cap exceeded, nothing left', async () => {
  const { io, printed } = printingIo();
  let asked = 0;
  const runs =
    (command: (own: Io) => Promise<number>): Generate =>
    async (env, cwd) => {
      const own = printingIo({ env, cwd });
      const exitCode = await command(own.io);
      return { exitCode, stdout: own.printed.out, stderr: own.printed.err };
    };
  const real = runs((own) => generate([], {}, own));
  const asks = runs((own) => {
    asked += 1;
    return explain([], { state: 'unserved' }, own);
  });

  const exit = await demo(io, { speed: 1_000_000, generate: real, explain: asks });

  expect(printed.out).toContain('CI jobs     11 of 11 succeeded, 0 killed');
  expect(exit).toBe(0);
  expect(asked).toBe(1);
  expect(printed.out).toMatch(
    /\$ gitea-runners explain --state unserved .*\n\n(?:.*\n)+.* train +gpu .* labels not covered: gpu/,
  );
});
