/** Draws one history: a row per runner pod, with its phases from left to right. */
import { escapeXml } from '../../scripts/terminal-svg.ts';
import type { Pod } from './cluster.ts';
import { AFTERNOON } from './histories/named.ts';
import { POLICIES } from './policies/index.ts';
import { runHistory } from './run.ts';
import { START_MS } from './stage.ts';

const LEFT = 190;
const WIDTH = 760;
const ROW = 24;
const TOP = 74;
const BOTTOM = 46;
const MINUTE_MS = 60_000;
const COLOURS = {
  starting: '#c9ced6',
  idle: '#f4d35e',
  busy: '#6aa84f',
  killed: '#cc0000',
  failed: '#e69138',
} as const;

const WORDS = 'Seven minutes of CI with at most 3 runners at a time';

/** docs/img/history.svg. */
export function drawAfternoon(): string {
  const { pods } = runHistory(AFTERNOON, POLICIES['ours, live Jobs']);
  const lastMs = Math.max(...pods.map(({ endedMs, createdMs }) => endedMs ?? createdMs)) - START_MS;
  const minutes = Math.ceil(lastMs / MINUTE_MS);
  const x = (ms: number): number => LEFT + ((ms - START_MS) / (minutes * MINUTE_MS)) * WIDTH;
  const height = TOP + pods.length * ROW + BOTTOM;
  const rows = pods.map((pod, index) => drawRow(pod, TOP + index * ROW, x));
  const step = [1, 2, 5, 10, 30].find((each) => minutes / each <= 14) ?? 60;
  const ticks = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, i) => drawTick(i * step, x, height));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + 30} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${WORDS}</title>`,
    `<rect width="${LEFT + WIDTH + 30}" height="${height}" fill="#fafafa"/>`,
    `<text x="10" y="20" font-size="13" font-weight="600">${WORDS}</text>`,
    drawLegend(),
    `<text x="${LEFT - 8}" y="${TOP - 4}" text-anchor="end" fill="#555">runner, named after a CI job</text>`,
    ...ticks,
    `<text x="${LEFT + WIDTH / 2}" y="${height - 8}" text-anchor="middle" fill="#555">minutes since the begin</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

function drawTick(minute: number, x: (ms: number) => number, height: number): string {
  const at = x(START_MS + minute * MINUTE_MS).toFixed(1);
  return `<path d="M${at} ${TOP - 6}V${height - BOTTOM + 6}" stroke="#ddd"/><text x="${at}" y="${height - 24}" text-anchor="middle" fill="#555">${minute}</text>`;
}

function drawLegend(): string {
  const entries: readonly [string, string][] = [
    [COLOURS.starting, 'starting'],
    [COLOURS.idle, 'idle'],
    [COLOURS.busy, 'busy, with its CI job'],
    [COLOURS.failed, 'lost or failed'],
    [COLOURS.killed, 'killed at work'],
  ];
  const parts = entries.map(([colour, words], i) => {
    const at = 10 + i * 140;
    return `<rect x="${at}" y="32" width="14" height="12" fill="${colour}" stroke="#555"/><text x="${at + 20}" y="42">${words}</text>`;
  });
  return `${parts.join('')}<path d="M720 44h24" stroke="#111" stroke-width="3"/><text x="750" y="42">pinned</text><text x="810" y="42">× dropped</text>`;
}

function drawRow(pod: Pod, y: number, x: (ms: number) => number): string {
  const endMs = pod.endedMs ?? pod.createdMs;
  const registeredMs = pod.registeredMs ?? endMs;
  const claimedMs = pod.claimedMs ?? endMs;
  const parts = [`<text x="${LEFT - 8}" y="${y + 14}" text-anchor="end" fill="#222">${escapeXml(pod.name)}</text>`];
  const bar = (fromMs: number, toMs: number, colour: string): void => {
    const width = Math.max(0.5, x(toMs) - x(fromMs)).toFixed(1);
    if (toMs > fromMs)
      parts.push(`<rect x="${x(fromMs).toFixed(1)}" y="${y + 3}" width="${width}" height="16" fill="${colour}"/>`);
  };
  bar(pod.createdMs, registeredMs, COLOURS.starting);
  bar(registeredMs, claimedMs, COLOURS.idle);
  bar(claimedMs, endMs, COLOURS.busy);
  const at = x(endMs).toFixed(1);
  if (pod.pinnedMs !== undefined)
    parts.push(`<path d="M${x(pod.pinnedMs).toFixed(1)} ${y + 19}H${at}" stroke="#111" stroke-width="2.5"/>`);
  if (pod.job) {
    parts.push(
      `<text x="${(x(claimedMs) + 4).toFixed(1)}" y="${y + 15}" fill="#fff">${pod.job.id} ${escapeXml(pod.job.name)}</text>`,
    );
  }
  if (pod.end === 'dropped') parts.push(`<text x="${at}" y="${y + 16}" font-size="14">×</text>`);
  if (pod.end === 'killed') parts.push(`<rect x="${at}" y="${y + 1}" width="5" height="20" fill="${COLOURS.killed}"/>`);
  if (pod.end === 'lost' || pod.end === 'crashed' || pod.end === 'deadline') {
    parts.push(`<rect x="${at}" y="${y + 1}" width="5" height="20" fill="${COLOURS.failed}"/>`);
  }
  return parts.join('');
}
