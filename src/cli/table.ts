import { styleText } from 'node:util';
import { printable } from '../printable.ts';

/** Longest cell, in characters; a longer one ends in `…`. The last column is never cut. */
const WIDEST = 60;

/** Aligned columns with two spaces between, as kubectl prints them. Cells are made printable; a terminal gets a bold header. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { terminal }: { readonly terminal: boolean },
): string {
  const cut = (text: string, column: number): string =>
    column < header.length - 1 && text.length > WIDEST ? `${text.slice(0, WIDEST - 1)}…` : text;
  const cells = [header, ...rows].map((row) => row.map((cell, column) => cut(printable(cell), column)));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    row.map((cell, column) => (column === header.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '),
  );
  const [first = '', ...others] = lines;
  return [terminal ? styleText('bold', first) : first, ...others].map((line) => `${line.trimEnd()}\n`).join('');
}
