/** A part of a page of the manual that is made from code. It stands between two comments, which the page must have. */
export interface GeneratedPart {
  /** e.g. `fields`. */
  readonly name: string;
  /** The file that it is made from. */
  readonly source: string;
  /** Ends in a newline. */
  readonly text: string;
}

/** The page with a new text in this part. @throws Error when the page has lost the comments. */
export function withPart(page: string, { name, source, text }: GeneratedPart): string {
  const first = `<!-- ${name}: made from ${source} by "npm run generated" -->`;
  const start = page.indexOf(first);
  const end = page.indexOf(`<!-- end of ${name} -->`);
  if (start < 0 || end < start) throw new Error(`the manual has no markers for its part "${name}"`);
  return `${page.slice(0, start + first.length)}\n${text}${page.slice(end)}`;
}

/** A Markdown table. Cells may hold any text of one line. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |\n`;
  return [line(head), `|${'---|'.repeat(head.length)}\n`, ...rows.map(line)].join('');
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
