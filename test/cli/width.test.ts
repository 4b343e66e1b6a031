import { expect, it, vi } from 'vitest';
import { mainIo, reportFailure } from '../../src/cli/process.ts';
import { Failure } from '../../src/shared/failure.ts';
import { splitIntoLines, table } from '../../src/shared/table.ts';

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

it.each<[string, string | undefined, number]>([
  ['is wrapped', '40', 4],
  ['stays one line on a pipe', undefined, 1],
])('an error %s', (_, columns, lines) => {
  const written: string[] = [];
  const io = { ...mainIo(), env: { COLUMNS: columns }, columns: 40, terminal: false, err: written.push.bind(written) };

  reportFailure(new Failure('GR-X-01', 1, 'a word and another word '.repeat(5)), io as never, false);

  expect(written.join('').trim().split('\n')).toHaveLength(lines);
});

it('a table keeps its width, and breaks a long address behind a part of its path', () => {
  const cause =
    'not pulled: https://registry.example.com/v2/acme/runner/manifests/sha256-of-something-long: 412 refused';
  const lines = table(['JOB', 'CAUSE'], [['lint', cause]], { columns: 40, colour: false })
    .trimEnd()
    .split('\n');

  expect(lines.filter((line) => line.length > 40)).toEqual([]);
  expect(lines[2]?.trim()).toBe('https://registry.example.com/v2/');
});

it('a sentence keeps an address whole, because people copy it', () => {
  const address = 'https://registry.example.com/v2/acme/runner';

  expect(splitIntoLines(`see ${address} there`, 20)).toEqual(['see', address, 'there']);
});
