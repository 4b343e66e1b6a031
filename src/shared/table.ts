/** Tables and wrapped text for a terminal. */
import { type Paper, painted, type Style } from './io.ts';
import { printable } from './printable.ts';

/** Longest cell, in characters; a longer one ends in `…`. The last column is never cut. */
const WIDEST = 60;
/** Narrowest width of a cut column. The last column has at least twice as much. */
const NARROWEST = 10;

export interface TableOptions extends Paper {
  /** Colour of a row's last cell. */
  readonly styleOf?: (row: number) => Style | undefined;
  /** True to cut nothing, whatever the width of the table. */
  readonly whole?: boolean;
}

/** Prints a table as kubectl does. In a narrow terminal its widest columns are cut, and the last one is wrapped. */
export function table(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string {
  const last = header.length - 1;
  const cells = [header, ...rows].map((row) => row.map(printable));
  const wantedWidths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const widths = options.whole === true ? wantedWidths : fittingWidths(wantedWidths, options.columns);
  const widthBefore = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0);
  const widthLeft =
    options.columns === undefined || options.whole ? Number.POSITIVE_INFINITY : options.columns - widthBefore;
  return cells
    .map((row, index) => {
      const padded = row
        .slice(0, last)
        .map((cell, column) => fitted(cell, widths[column] ?? 0).padEnd((widths[column] ?? 0) + 2));
      const [first = '', ...more] = splitIntoLines(row[last] ?? '', Math.max(2 * NARROWEST, widthLeft), 'fit');
      const style = index === 0 ? undefined : options.styleOf?.(index - 1);
      const paint = (text: string): string => (style === undefined ? text : painted(style, text, options));
      const line = `${padded.join('')}${paint(first)}`.trimEnd();
      return [
        index === 0 ? painted('bold', line, options) : line,
        ...more.map((text) => `${' '.repeat(widthBefore)}${paint(text)}`),
      ]
        .map((text) => `${text}\n`)
        .join('');
    })
    .join('');
}

/** Cuts a string to so many characters, including the `…`. Names differ at their ends: a third of it stays. */
export function fitted(text: string, width: number): string {
  const tail = Math.floor(width / 3);
  return text.length > width ? `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}` : text;
}

/** Takes from the widest column, one character at a time, until the last one has room. */
function fittingWidths(wantedWidths: readonly number[], columns: number | undefined): readonly number[] {
  const last = wantedWidths.length - 1;
  const widths = wantedWidths.map((width, column) => (column === last ? width : Math.min(width, WIDEST)));
  if (columns === undefined) return widths;
  const least = Math.min(wantedWidths[last] ?? 0, Math.max(2 * NARROWEST, Math.floor(columns / 3)));
  const earlier = widths.slice(0, last);
  while (earlier.reduce((sum, width) => sum + width + 2, least) > columns) {
    const widest = earlier.indexOf(Math.max(...earlier));
    if ((earlier[widest] ?? 0) <= NARROWEST) break;
    earlier[widest] = (earlier[widest] ?? 0) - 1;
  }
  return [...earlier, wantedWidths[last] ?? 0];
}

/** Wraps a text to the terminal's width. Further lines are indented by two columns. */
export function wrapped(text: string, columns = Number.POSITIVE_INFINITY): string {
  const lines = text.split('\n').map((line) => splitIntoLines(line, Math.max(2 * NARROWEST, columns - 2)).join('\n  '));
  return lines.join('\n');
}

/**
 * Returns lines of at most `width` characters, broken between words. Addresses and arguments stay whole, because people copy them.
 * With `fit` they are broken, too, behind a part of their path: a table keeps its width.
 */
export function splitIntoLines(text: string, width: number, addresses: 'whole' | 'fit' = 'whole'): readonly string[] {
  const lines: string[] = [];
  let remainder = text;
  while (remainder.length > width) {
    const space = remainder.lastIndexOf(' ', width);
    const address = /^\S*(?:https?:\/\/|=)\S+/.exec(remainder)?.[0].length ?? 0;
    const inAddress = remainder.lastIndexOf('/', width - 1) + 1;
    const ofLongWord = addresses === 'whole' ? Math.max(width, address) : inAddress || width;
    const end = space > 0 ? space : ofLongWord;
    lines.push(remainder.slice(0, end));
    remainder = remainder.slice(end).trimStart();
  }
  return remainder === '' && lines.length > 0 ? lines : [...lines, remainder];
}
