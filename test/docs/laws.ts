/** The laws of docs/spec.md. */
import { readFileSync } from 'node:fs';

export interface Law {
  /** One, or several that were put together: `F3, F7`. */
  readonly names: readonly string[];
  readonly text: string;
}

/** All of them in the order of the page. */
export function lawsOf(): readonly Law[] {
  const rows = readFileSync('docs/spec.md', 'utf8').match(/^\| [A-Z]\d+[a-z]?\b.*$/gm) ?? [];
  return rows.map((text) => ({ names: text.split('|')[1]?.match(/[A-Z]\d+[a-z]?/g) ?? [], text }));
}
