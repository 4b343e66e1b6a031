/** The manual as a site: its list of pages is whole, and links and braces are on the site what they are in the repository. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { linkText, siteLink } from '../../docs/.vitepress/markdown.ts';
import { SIDEBAR } from '../../docs/.vitepress/pages.ts';
import { manualPages } from './pages.ts';

const listed = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => `${link.slice(1)}.md`));

describe('the sidebar', () => {
  it('the sidebar has each page of docs/ once, and no other', () => {
    expect(listed.sort()).toEqual(manualPages());
  });

  it('the sidebar has a part for each kind of page, and one for contributors', () => {
    expect(SIDEBAR.map(({ text }) => text)).toEqual(
      expect.arrayContaining(['Start', 'How to', 'Recipes', 'Reference', 'Explanation', 'For contributors']),
    );
  });
});

describe('siteLink', () => {
  const REPOSITORY = 'https://gitea.example.com/a/b';

  it.each([
    ['install.md#webhooks', 'install.md#webhooks'],
    ['../install.md', '../install.md'],
    ['#here', '#here'],
    ['https://example.com/x', 'https://example.com/x'],
    ['../../CONTRIBUTING.md#test', `${REPOSITORY}/src/branch/main/CONTRIBUTING.md#test`],
    ['../../install/examples', `${REPOSITORY}/src/branch/main/install/examples`],
    ['../examples/check-runnergroups.yml', `${REPOSITORY}/src/branch/main/docs/examples/check-runnergroups.yml`],
  ])('%s', (href, expected) => {
    expect(siteLink(href, 'recipes/index.md', REPOSITORY)).toBe(expected);
  });

  it('throws on a file that is not there, so the build fails', () => {
    expect(() => siteLink('../no-such-file.yaml', 'install.md', REPOSITORY)).toThrow(
      'install.md: dead link ../no-such-file.yaml',
    );
  });
});

it.each([
  ['commands.md', '../commands.md#doctor', 'Commands'],
  ['daemon.md', 'daemon.md', 'daemon.json: MTU and mirror of docker in the pod'],
  ['the doctor', '../commands.md#doctor', 'the doctor'],
  ['none.md', 'none.md', 'none.md'],
])('%s is a link to a title', (text, href, expected) => {
  expect(linkText(text, href, 'recipes/index.md')).toBe(expected);
});

it('neither the built site nor what it is built with is committed or packed', () => {
  const { files: packed } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] };

  expect(readFileSync('.gitignore', 'utf8').split('\n')).toEqual(expect.arrayContaining(['node_modules', 'site/']));
  expect(packed).toEqual(expect.arrayContaining(['!docs/.vitepress', '!docs/node_modules', '!docs/package*.json']));
});

it('what it is built with is a package of its own, and its lockfile names no registry', () => {
  expect(readFileSync('package-lock.json', 'utf8')).not.toContain('node_modules/vitepress');
  expect(readFileSync('docs/package-lock.json', 'utf8')).toContain('"node_modules/vitepress"');
  expect(readFileSync('docs/package-lock.json', 'utf8')).not.toContain('"resolved"');
});
