/** What keeps one Markdown readable in a repository and on the site. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
/** HTML that pages use. Anything else in angle brackets is text that somebody forgot to put into backticks: Vue would swallow it. */
const HTML = /^\s*(?:[^<\s]|<!--|<\/?(?:br|p|picture|source|img|details|summary|kbd|sub|sup|span)\b)/;

/** The part of markdown-it's interface that is used here. */
interface Token {
  readonly type: string;
  content: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}
interface MarkdownIt {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { readonly tokens: readonly Token[]; readonly env: Env }) => void): void;
    };
  };
  readonly renderer: { readonly rules: Record<string, unknown> };
  readonly utils: { escapeHtml(text: string): string };
}
interface Env {
  /** Below docs/. */
  readonly relativePath: string;
}

/** The name by which Gitea and GitHub link to a heading. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Where a link of a page leads on the site. Files that are no page of the manual are shown by the repository. @throws on a file that is not there. */
export function siteLink(href: string, page: string, repository: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  const [path = '', anchor] = href.split('#', 2);
  const target = normalize(join('docs', dirname(page), path));
  if (target.startsWith('docs/') && target.endsWith('.md')) return href;
  if (target.startsWith('..') || !existsSync(join(ROOT, target))) throw new Error(`${page}: dead link ${href}`);
  return `${repository}/src/branch/main/${target}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** What a link says on the site: the title of a page where the text is the name of its file. */
export function linkText(text: string, href: string, page: string): string {
  if (!/^[\w-]+\.md$/.test(text)) return text;
  const file = join(ROOT, 'docs', dirname(page), href.replace(/#.*/, ''));
  return /^# (.*)$/m.exec(existsSync(file) ? readFileSync(file, 'utf8') : '')?.[1]?.replaceAll('`', '') ?? text;
}

/** A plugin for markdown-it: links as `siteLink` has them, `{{ }}` is text, and unknown HTML fails. */
export function asInTheRepository(repository: string): (md: MarkdownIt) => void {
  return (md) => {
    const { text } = md.renderer.rules;
    md.renderer.rules['text'] = (tokens: readonly Token[], index: number, ...rest: readonly unknown[]): string => {
      const content = tokens[index]?.content ?? '';
      const shown =
        typeof text === 'function' ? (text(tokens, index, ...rest) as string) : md.utils.escapeHtml(content);
      return content.includes('{{') ? `<span v-pre>${shown}</span>` : shown;
    };
    md.core.ruler.push('as-in-the-repository', ({ tokens, env }) => {
      for (const token of tokens.flatMap((each) => [each, ...(each.children ?? [])])) {
        if (/^html_(?:inline|block)$/.test(token.type) && !HTML.test(token.content)) {
          throw new Error(`${env.relativePath}: put ${token.content.trim()} into backticks`);
        }
        // Vue would run what stands between braces. Blocks of code have this already.
        if (token.type === 'code_inline') token.attrSet('v-pre', '');
        for (const [index, link] of (token.children ?? []).entries()) {
          const text = token.children?.[index + 1];
          const to = link.type === 'link_open' ? link.attrGet('href') : null;
          if (to !== null && text?.type === 'text') text.content = linkText(text.content, to, env.relativePath);
        }
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href !== null) token.attrSet('href', siteLink(href, env.relativePath, repository));
      }
    });
  };
}
