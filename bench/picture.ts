/** Cost over the number of jobs as a picture: one line per program, both axes logarithmic. */

/** A program with its points, by number of jobs. */
export interface Line {
  readonly name: string;
  readonly colour: string;
  readonly points: readonly { readonly jobs: number; readonly ratio: number }[];
}

const LEFT = 60;
const TOP = 50;
const WIDTH = 640;
const HEIGHT = 320;
const MOST_JOBS = 10_000;

/** @param words one line of explanation above the picture. */
export function drawCost(lines: readonly Line[], words: string): string {
  const highest = Math.max(10, ...lines.flatMap(({ points }) => points.map(({ ratio }) => ratio)));
  const decades = Math.log10(highest);
  const x = (jobs: number) => LEFT + (Math.log10(jobs) / Math.log10(MOST_JOBS)) * WIDTH;
  const y = (ratio: number) => TOP + HEIGHT - (Math.log10(Math.max(1, ratio)) / decades) * HEIGHT;
  const across = [1, 10, 100, 1000, 10_000].map(
    (jobs) =>
      `<path d="M${x(jobs)} ${TOP}V${TOP + HEIGHT}" stroke="#ddd"/><text x="${x(jobs)}" y="${TOP + HEIGHT + 18}" text-anchor="middle">${jobs}</text>`,
  );
  const up = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    .filter((ratio) => ratio <= highest)
    .map(
      (ratio) =>
        `<path d="M${LEFT} ${y(ratio).toFixed(1)}H${LEFT + WIDTH}" stroke="#eee"/><text x="${LEFT - 8}" y="${(y(ratio) + 4).toFixed(1)}" text-anchor="end">${ratio} ×</text>`,
    );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 220} ${TOP + HEIGHT + 50}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${words}</title>`,
    `<rect width="${LEFT + WIDTH + 220}" height="${TOP + HEIGHT + 50}" fill="#fafafa"/>`,
    `<text x="10" y="24" font-size="14" font-weight="600">${words}</text>`,
    ...across,
    ...up,
    `<text x="${LEFT + WIDTH / 2}" y="${TOP + HEIGHT + 38}" text-anchor="middle">Kubernetes Jobs that are printed</text>`,
    ...lines.flatMap((line) => drawLine(line, x, y)),
    '</svg>',
    '',
  ].join('\n');
}

function drawLine({ name, colour, points }: Line, x: (jobs: number) => number, y: (ratio: number) => number): string[] {
  const last = points.at(-1);
  if (!last) return [];
  const path = points.map(({ jobs, ratio }) => `${x(jobs).toFixed(1)} ${y(ratio).toFixed(1)}`).join('L');
  return [
    `<path d="M${path}" fill="none" stroke="${colour}" stroke-width="2.5"/>`,
    ...points.map(
      ({ jobs, ratio }) => `<circle cx="${x(jobs).toFixed(1)}" cy="${y(ratio).toFixed(1)}" r="3.5" fill="${colour}"/>`,
    ),
    `<text x="${(x(last.jobs) + 10).toFixed(1)}" y="${(y(last.ratio) + 4).toFixed(1)}" fill="${colour}">${name}</text>`,
  ];
}
