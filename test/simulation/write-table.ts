/** Writes a table into the manual, between two marks. */
import { readFileSync, writeFileSync } from 'node:fs';

const DOC = 'docs/simulations.md';

/** @param name as in `<!-- wide table -->` … `<!-- end of wide table -->` */
export function writeTable(name: string, table: string): void {
  const text = readFileSync(DOC, 'utf8');
  const block = new RegExp(`(<!-- ${name} table -->\\n)[\\s\\S]*?(<!-- end of ${name} table -->)`);
  if (!block.test(text)) throw new Error(`no place for the ${name} table in ${DOC}`);
  writeFileSync(
    DOC,
    text.replace(block, (_, begin, end) => `${begin}${table}\n${end}`),
  );
}
