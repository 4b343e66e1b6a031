/** Text with the colours of a terminal as a picture. */

export const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

/** Words of a line in one style. `column` counts from 0. */
interface Run {
  readonly text: string;
  readonly column: number;
  readonly classes: readonly string[];
}

/** Words with one space between them. Not every viewer shows several spaces. */
const WORDS = /\S+(?: \S+)*/g;
const CELL = 8.4;
const LINE = 19;
const MARGIN = 16;
const TOP = 44;

/** Colours as on GitHub's and Gitea's own pages: each has a contrast of at least 4.5 with its background. */
const COLOURS: Readonly<Record<Theme, Readonly<Record<string, string>>>> = {
  light: {
    back: '#f6f8fa',
    edge: '#d0d7de',
    text: '#1f2328',
    dim: '#59636e',
    red: '#b3261e',
    green: '#116329',
    yellow: '#7d4e00',
    cyan: '#0a5f78',
  },
  dark: {
    back: '#0d1117',
    edge: '#30363d',
    text: '#e6edf3',
    dim: '#9198a1',
    red: '#ff7b72',
    green: '#56d364',
    yellow: '#e3b341',
    cyan: '#56d4dd',
  },
};

/** What SGR codes begin. */
const BEGINS: Readonly<Record<string, string>> = {
  '1': 'bold',
  '2': 'dim',
  '31': 'red',
  '32': 'green',
  '33': 'yellow',
  '36': 'cyan',
};
/** What they end. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  '0': ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'],
  '22': ['bold', 'dim'],
  '39': ['red', 'green', 'yellow', 'cyan'],
};

/** Cuts a line at its escapes. @throws on one that is not about style */
function runsOf(line: string): readonly Run[] {
  const runs: Run[] = [];
  let classes: readonly string[] = [];
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these escapes are what a terminal gets
  for (const [index, part] of line.split(/\x1b\[([\d;]*[A-Za-z])/).entries()) {
    if (index % 2 === 0) {
      for (const words of part.matchAll(WORDS)) runs.push({ text: words[0], column: column + words.index, classes });
      column += part.length;
      continue;
    }
    const code = part.slice(0, -1);
    const [begun, ended] = [BEGINS[code], ENDS[code]];
    if (!part.endsWith('m') || (begun === undefined && ended === undefined)) throw new Error(`unknown escape ${part}`);
    classes = begun === undefined ? classes.filter((each) => !ended?.includes(each)) : [...classes, begun];
  }
  return runs;
}

/** Each run says where it begins and how wide it is, so that columns stay where they are in every font. */
function drawRun({ text, column, classes }: Run, y: number): string {
  const style = classes.length === 0 ? '' : ` class="${classes.join(' ')}"`;
  const x = (MARGIN + column * CELL).toFixed(1);
  return `<text x="${x}" y="${y}" textLength="${(text.length * CELL).toFixed(1)}"${style}>${escapeXml(text)}</text>`;
}

/** A window with the command in its title bar. The text is there as text, too, for those who cannot see the picture. */
export function terminalSvg({
  theme,
  command,
  text,
  columns,
}: {
  readonly theme: Theme;
  readonly command: string;
  readonly text: string;
  readonly columns: number;
}): string {
  const lines = text.trimEnd().split('\n');
  const width = Math.ceil(2 * MARGIN + columns * CELL);
  const height = TOP + lines.length * LINE + MARGIN;
  const { back, edge, text: ink, ...others } = COLOURS[theme];
  const classes = Object.entries(others).map(([name, colour]) => `.${name}{fill:${colour}}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escapeXml(command)}</title>`,
    `<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${ink}}.bold{font-weight:700}${classes.join('')}</style>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${back}" stroke="${edge}"/>`,
    `<path d="M0 32H${width}" stroke="${edge}"/>`,
    drawRun({ text: `$ ${command}`, column: 0, classes: ['dim'] }, 21),
    ...lines.flatMap((line, index) => runsOf(line).map((run) => drawRun(run, TOP + 12 + index * LINE))),
    '</svg>',
    '',
  ].join('\n');
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
