/** Law P34 (docs/spec.md): each state of the planner names what ends it, in docs/planner.md. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The words of a union of strings, as the source has them. */
function wordsOf(file: string, union: string): readonly string[] {
  const text = new RegExp(`export type ${union} =\\n([^;]*);`).exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  return [...text.replaceAll(/\/\*\*[\s\S]*?\*\//g, '').matchAll(/'([^']+)'/g)].map(([, word = '']) => word);
}

/** The first column of a table, and whether the second one says something. */
function endedIn(title: string): readonly string[] {
  const [, table = ''] = readFileSync('docs/planner.md', 'utf8').split(`| ${title} | what ends it |\n|---|---|\n`);
  const rows = table.split('\n\n')[0]?.split('\n') ?? [];
  return rows.flatMap((row) => /^\| `([^`]+)` \| \S.* \|$/.exec(row)?.[1] ?? []);
}

it.each([
  ['state of a runner', 'src/planner/runners.ts', 'RunnerState'],
  ['why a job has no runner', 'src/planner/decisions.ts', 'HeldBecause'],
])('the table of each %s is complete', (title, file, union) => {
  const words = wordsOf(file, union);

  expect(words.length).toBeGreaterThan(7);
  expect([...endedIn(title)].sort()).toEqual([...words].sort());
});
