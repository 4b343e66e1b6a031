/** The pages of the manual, as the repository has them. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Page {
  /** Path from the project's folder. */
  readonly file: string;
  readonly markdown: string;
}

/** README and the other pages beside it, `docs/` with its ADRs, and what explains the tests. */
export function allPages(): readonly Page[] {
  const docs = manualPages();
  const files = [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'CODE_OF_CONDUCT.md',
    'SECURITY.md',
    'test/README.md',
    'test/golden/README.md',
  ];
  return [...files, ...docs.map((file) => `docs/${file}`)].map(pageOf);
}

/** Returns the pages below `docs/`, sorted. `npm run docs` installs packages there, which have pages of their own. */
export function manualPages(): readonly string[] {
  return readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('node_modules/'))
    .sort();
}

export function pageOf(file: string): Page {
  return { file, markdown: readFileSync(file, 'utf8') };
}

/** True for a decision on record: it describes its own time. */
export function isDecision({ file }: Page): boolean {
  return file.startsWith('docs/adr/');
}
