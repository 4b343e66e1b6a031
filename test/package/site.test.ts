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
import { afterAll, beforeAll, expect, it } from 'vitest';
import { manualPages } from '../docs/pages.ts';
import { type Outcome, runCommand, runNode } from '../support/run-cli.ts';

/** Files that a page may link to, beside the other pages. */
const LINKED = readdirSync('.').filter((name) => !['docs', 'site', '.git', 'lib', 'dist'].includes(name));

let folder = '';
let whole: Outcome = { code: null, stdout: '', stderr: '' };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'site-'));
  // With the packages of docs/package-lock.json, newly installed.
  whole = await runCommand('npm', ['run', 'docs'], process.env, project('whole'));
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the project with the pages that are committed, and no packages below docs/. */
function project(name: string): string {
  const made = join(folder, name);
  mkdirSync(made);
  for (const each of LINKED) symlinkSync(resolve(each), join(made, each));
  cpSync('docs', join(made, 'docs'), { recursive: true, filter: (path) => !path.endsWith('node_modules') });
  return made;
}

/** Builds a site of one page: enough to see it fail. */
async function buildPage(name: string, markdown: string): Promise<Outcome> {
  const docs = join(project(name), 'docs');
  for (const file of readdirSync(docs)) {
    if (file.endsWith('.md') || file === 'recipes') rmSync(join(docs, file), { recursive: true });
  }
  symlinkSync(join(folder, 'whole', 'docs', 'node_modules'), join(docs, 'node_modules'));
  writeFileSync(join(docs, 'index.md'), markdown);
  return await runNode([join(docs, 'node_modules', 'vitepress', 'bin', 'vitepress.js'), 'build'], {}, docs);
}

it('npm run docs makes a page of each page of the manual, and an index for the search', () => {
  const { code, stdout, stderr } = whole;

  expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
  expect(stdout + stderr).not.toMatch(/error|dead link/i);
  const made = join(folder, 'whole', 'site');
  expect(manualPages().filter((file) => !existsSync(join(made, file.replace(/\.md$/, '.html'))))).toEqual([]);
  const chunks = readdirSync(join(made, 'assets'), { recursive: true, encoding: 'utf8' });
  expect(chunks.some((file) => /localSearchIndex/.test(file))).toBe(true);
  expect(readFileSync(join(made, 'recipes', 'machines.html'), 'utf8')).toMatch(/runs-on: \$\{\{ matrix\.arch \}\}/);
});

it.each([
  ['a link to a page that is not there', '[x](no-such-page.md)\n', 'no-such-page'],
  ['a link to a file that is not there', '[x](../no-such-file.yaml)\n', 'index.md: dead link ../no-such-file.yaml'],
  ['angle brackets that Vue would swallow', 'Give it <name> here.\n', 'index.md: put <name> into backticks'],
])(
  'npm run docs fails on %s',
  async (what, markdown, said) => {
    const { code, stdout, stderr } = await buildPage(what.replaceAll(' ', '-'), `# X\n\n${markdown}`);

    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(said);
  },
  600_000,
);
