/** A sentence, and below it lines that begin with a word: the answer about one thing. All names from outside are made printable. */
import { printable } from '../../shared/printable.ts';
import { broken } from '../../shared/table.ts';
import { type Paper, painted } from '../../shared/terminal.ts';

/** One line of a paragraph: `Since`, `Next`. */
export type Line = readonly [name: string, text: string];

/** Without a terminal. */
const USUAL_COLUMNS = 100;

/** A bold sentence, and below it lines that begin with a word. */
export function paragraph(title: string, lines: readonly Line[], paper: Paper): string {
  return titleText(title, paper) + linesText(lines, paper);
}

export function titleText(title: string, paper: Paper): string {
  return broken(printable(title), paper.columns ?? USUAL_COLUMNS)
    .map((line) => `${painted('bold', line, paper)}\n`)
    .join('');
}

export function linesText(lines: readonly Line[], paper: Paper): string {
  const width = (paper.columns ?? USUAL_COLUMNS) - 12;
  return lines
    .flatMap(([name, text]) =>
      // An address is never broken: people click on it or copy it.
      (name === 'Link' ? [printable(text)] : broken(printable(text), Math.max(20, width))).map(
        (part, index) => `  ${(index === 0 ? `${name}:` : '').padEnd(10)}${part}\n`,
      ),
    )
    .join('');
}
