/** The manual as a site: its list of pages is whole, and links and braces are on the site what they are in the repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { siteLink } from '../../docs/.vitepress/markdown.ts';
import { SIDEBAR } from '../../docs/.vitepress/pages.ts';

/** Pages that other work writes: the sidebar has their places. */
const COMING = ['faq.md', 'security.md', 'symptoms.md'];

const files = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .sort();
const listed = SIDEBAR.flatMap(({ items }) => items.map(({ link }) => `${link.slice(1)}.md`));

describe('the sidebar', () => {
  it('has each page of docs/ once, and no other', () => {
    expect(listed.filter((file) => files.includes(file) || !COMING.includes(file)).sort()).toEqual(files);
  });

  it('has a part for each kind of page, and one for contributors', () => {
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

it('the built site is neither committed nor packed', () => {
  const { files: packed } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] };

  expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('site/');
  expect(packed).toContain('!docs/.vitepress');
});
