/** Headings and links of a page of Markdown. */
import { slugOf } from '../../docs/.vitepress/markdown.ts';

const FENCE = /^```[\s\S]*?^```$/gm;
const LINK = /\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g;

/** A link to another page or heading. `path` is empty for one within the page. */
export interface Link {
  readonly text: string;
  readonly path: string;
  readonly anchor: string | undefined;
}

/** The page without its blocks of code. */
export function proseOf(markdown: string): string {
  return markdown.replaceAll(FENCE, '');
}

/** Links to pages and headings of this project. */
export function linksOf(markdown: string): readonly Link[] {
  return [...proseOf(markdown).matchAll(LINK)].map(([text, path = '', anchor]) => ({ text, path, anchor }));
}

/** The names by which Gitea and GitHub link to the headings of a page. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = proseOf(markdown).matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, heading = '']) => slugOf(heading)));
}
