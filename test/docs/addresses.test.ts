/** Tests the addresses of the manual in messages: the image and the npm package have no folder `docs`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { manual } from '../../src/shared/installed/installed-names.ts';
import { anchorsOf } from './anchors.ts';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));

/** A file without its comments, which may name pages by their paths. */
function codeOf(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?:^|\s)\/\/ .*$/gm, '');
}

const code = files.map((file) => codeOf(readFileSync(join('src', file), 'utf8')));
const PATH = /docs\/[\w-]+\.md/g;

it('no message points to a page by a path that is not there', () => {
  expect(code.flatMap((text) => text.match(PATH) ?? [])).toEqual([]);
  expect(codeOf('/** docs/w.md */ const a = "see docs/x.md"; // docs/y.md').match(PATH)).toEqual(['docs/x.md']);
});

it('each address of a page leads to a page, and to a heading of it', () => {
  const asked = code.flatMap((text) => [...text.matchAll(/\bmanual\('([^']+)'\)/g)].map(([, page = '']) => page));
  const dead = asked.filter((each) => {
    const [page = '', anchor] = each.split('#');
    if (!existsSync(join('docs', page))) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(join('docs', page), 'utf8')).has(anchor);
  });

  expect(asked.length).toBeGreaterThan(15);
  expect(dead).toEqual([]);
  expect(manual('errors.md')).toBe(`${packageJson.homepage}/src/branch/main/docs/errors.md`);
});
