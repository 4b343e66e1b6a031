import { expect, it, vi } from 'vitest';
import { mainIo } from '../../src/cli/process.ts';

it('the width is that of the terminal now, not that at the start', () => {
  vi.stubEnv('COLUMNS', '');
  const io = mainIo();
  const { columns } = process.stdout;

  process.stdout.columns = 100;
  const before = io.columns;
  process.stdout.columns = 60;
  const after = io.columns;
  process.stdout.columns = columns;
  vi.unstubAllEnvs();

  expect([before, after]).toEqual([100, 60]);
});
