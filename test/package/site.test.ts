/** `npm run docs`: a dead link, or a page that Vue cannot read, fails the build. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Outcome, runNode } from '../support/run-cli.ts';

/** What a page may link to, beside the other pages. */
const LINKED = readdirSync('.').filter((name) => !['docs', 'site', '.git', 'lib', 'dist'].includes(name));

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'site-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the site in a folder of its own, with these pages besides. */
async function build(name: string, pages: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const project = join(folder, name);
  mkdirSync(project);
  for (const each of LINKED) symlinkSync(resolve(each), join(project, each));
  cpSync('docs', join(project, 'docs'), { recursive: true });
  if (Object.keys(pages).length > 0) {
    // One page is enough to see it fail.
    for (const file of readdirSync(join(project, 'docs'))) {
      if (file.endsWith('.md') || file === 'recipes') rmSync(join(project, 'docs', file), { recursive: true });
    }
  }
  for (const [file, text] of Object.entries(pages)) writeFileSync(join(project, 'docs', file), text);
  const vitepress = join(project, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  return await runNode([vitepress, 'build', 'docs'], {}, project);
}

describe('npm run docs', () => {
  it('makes a page of each page of the manual, and an index for the search', async () => {
    const { code, stdout, stderr } = await build('whole');

    expect({ code, stderr: stderr.replace(/^(?:.*(?:building|rendering|✓|build complete).*)?\n/gm, '') }).toEqual({
      code: 0,
      stderr: '',
    });
    expect(stdout).not.toMatch(/Error/);
    const made = join(folder, 'whole', 'site');
    const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
    expect(pages.filter((file) => !existsSync(join(made, file.replace(/\.md$/, '.html'))))).toEqual([]);
    const chunks = readdirSync(join(made, 'assets'), { recursive: true, encoding: 'utf8' });
    expect(chunks.some((file) => /localSearchIndex/.test(file))).toBe(true);
    expect(readFileSync(join(made, 'recipes', 'machines.html'), 'utf8')).toMatch(/runs-on: \$\{\{ matrix\.arch \}\}/);
  }, 600_000);

  it.each([
    ['a link to a page that is not there', '[x](no-such-page.md)\n', 'no-such-page'],
    ['a link to a file that is not there', '[x](../no-such-file.yaml)\n', 'index.md: dead link ../no-such-file.yaml'],
    ['angle brackets that Vue would swallow', 'Give it <name> here.\n', 'index.md: put <name> into backticks'],
  ])(
    'fails on %s',
    async (what, markdown, said) => {
      const { code, stdout, stderr } = await build(what.replaceAll(' ', '-'), { 'index.md': `# X\n\n${markdown}` });

      expect(code).not.toBe(0);
      expect(stdout + stderr).toContain(said);
    },
    600_000,
  );
});
