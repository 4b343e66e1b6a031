/** The pictures of terminals show what the commands print today. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pictures } from '../../scripts/pictures.ts';
import { terminalSvg } from '../../scripts/terminal-svg.ts';
import { drawAfternoon } from '../simulation/picture.ts';

it('docs/img has what "node scripts/run-ts.mjs scripts/pictures.ts" writes', async () => {
  for (const [file, svg] of await pictures()) {
    expect(readFileSync(`docs/img/${file}`, 'utf8'), file).toBe(svg);
  }
});

it('docs/img/history.svg is the history that "npm run planner-table" draws', () => {
  expect(readFileSync('docs/img/history.svg', 'utf8')).toBe(drawAfternoon());
});

const svgOf = (text: string): string => terminalSvg({ theme: 'light', command: 'x', text, columns: 20 });

it('keeps columns, colours and characters that mean something in SVG', () => {
  const svg = svgOf('\x1b[1mA\x1b[22m   <b>\n\x1b[31mred &\x1b[39m');

  expect(svg).toContain('<text x="16.0" y="56" textLength="8.4" class="bold">A</text>');
  expect(svg).toContain('<text x="49.6" y="56" textLength="25.2">&lt;b&gt;</text>');
  expect(svg).toContain('<text x="16.0" y="75" textLength="42.0" class="red">red &amp;</text>');
});

it('refuses an escape that is not about style: the picture would be wrong', () => {
  expect(() => svgOf('\x1b[2K')).toThrow('unknown escape');
});
