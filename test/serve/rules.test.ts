/** Rules for the structure of `src/serve`: a pure reconcile, one union of events, static imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';

const files = readdirSync('src/serve', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join('src/serve', file));

/** Files with such a text, but for those that may have it. */
function filesWith(pattern: RegExp, isAllowed: (file: string) => boolean): readonly string[] {
  return files.filter((file) => !isAllowed(file) && pattern.test(readFileSync(file, 'utf8')));
}

const isPure = (file: string) => /^src\/serve\/(?:planning\/|seen\/(?:live|difference))/.test(file);

it('the reconcile and its steps read no clock, chance or environment, and wait for nothing', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\.|\bperformance\b|\bset(?:Timeout|Interval|Immediate)\b|\basync\b|\bawait\b|from 'node:/;

  expect(files.filter(isPure).length).toBeGreaterThanOrEqual(5);
  expect(filesWith(impure, (file) => !isPure(file))).toEqual([]);
});

it('no subscriber, receiver or task is left out where `serve` is put together', () => {
  const texts = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join('src', file), 'utf8'));
  const imported = new Set(texts.flatMap((text) => [...text.matchAll(/\/([\w-]+\.ts)'/g)].map(([, file]) => file)));

  expect(files.filter((file) => !imported.has(basename(file)))).toEqual([]);
});

it('each kind of event is heard by somebody', () => {
  const told =
    /interface Told \{\n([\s\S]*?)\n\}/.exec(readFileSync('src/serve/planning/events.ts', 'utf8'))?.[1] ?? '';
  const kinds = [...told.matchAll(/^ {2}readonly '?([\w-]+)'?:/gm)].flatMap(([, kind]) => kind ?? []);
  const hearers = ['src/telemetry', 'src/tasks'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(folder, file), 'utf8')),
  );
  const isHeard = (kind: string): boolean =>
    hearers.some((text) => new RegExp(`^ +'?${kind}'?: \\(|case '${kind}'|\\.is [!=]== '${kind}'`, 'm').test(text));

  expect(kinds.length).toBeGreaterThan(20);
  expect(kinds.filter((kind) => !isHeard(kind))).toEqual([]);
});

it('the log and the metrics are known to subscribers only', () => {
  expect(filesWith(/from '(?:pino|prom-client)'/, (file) => file.startsWith('src/telemetry/'))).toEqual([]);
});

it('a daemon loads everything at its start, but the packages of tracing, which few need (docs/adr/0049)', () => {
  expect(filesWith(/\bimport\(/, () => false)).toEqual([]);
  expect(readFileSync('src/cli/commands/serve.ts', 'utf8').match(/\bimport\([^)]*\)/g)).toEqual([
    "import('../../telemetry/tracing/otlp.ts')",
  ]);
});
