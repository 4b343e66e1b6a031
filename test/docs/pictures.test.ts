/** The pictures of terminals show what the commands print today. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { demoText, explainText, pictures } from '../../scripts/pictures.ts';
import { terminalSvg } from '../../scripts/terminal-svg.ts';
import { drawAfternoon } from '../simulation/picture.ts';

it('docs/img has what "node scripts/run-ts.mjs scripts/pictures.ts" writes, and README what the demo ends with', async () => {
  const played = await demoText();
  for (const [file, svg] of pictures(await explainText(), played)) {
    expect(readFileSync(`docs/img/${file}`, 'utf8'), file).toBe(svg);
  }

  const [, shown = ''] = /```text\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? [];
  expect(shown).not.toBe('');
  expect(withoutFigures(played)).toContain(withoutFigures(shown));
});

/** Removes the waiting times, which depend on the machine. */
function withoutFigures(text: string): string {
  return text.replaceAll(/\d+(?:\.\d+)?/g, 'N');
}

it('README fits one screen, with doors to the rest', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(121);
});

it('docs/img/history.svg is the history that "npm run planner-table" draws', () => {
  expect(readFileSync('docs/img/history.svg', 'utf8')).toBe(drawAfternoon());
});

const svgOf = (text: string): string => terminalSvg({ theme: 'light', command: 'x', text, columns: 20 });

it('SVG keeps columns, colours and special characters', () => {
  const svg = svgOf('\x1b[1mA\x1b[22m   <b>\n\x1b[31mred &\x1b[39m');

  expect(svg).toContain('<text x="16.0" y="56" textLength="8.4" class="bold">A</text>');
  expect(svg).toContain('<text x="49.6" y="56" textLength="25.2">&lt;b&gt;</text>');
  expect(svg).toContain('<text x="16.0" y="75" textLength="42.0" class="red">red &amp;</text>');
});

it('the picture of an escape that is not about style is refused: it would be wrong', () => {
  expect(() => svgOf('\x1b[2K')).toThrow('unknown escape');
});
