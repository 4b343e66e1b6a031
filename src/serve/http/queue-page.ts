/** The queue as text: what runs since when, what is due when, what failed last. It answers "why is nothing done?". Pure. */
import { count } from '../../shared/printable.ts';
import type { QueueRow } from '../queue.ts';

/** Rows that are shown; the ones that run longest and those due first. */
const MOST_ROWS = 1_000;

export function queuePage(rows: readonly QueueRow[], leads: boolean): string {
  const title = leads ? 'This process leads.' : 'This process does not lead: ask the other replicas.';
  if (rows.length === 0) return title;
  const shown = rows.slice(0, MOST_ROWS).map((row) => [row.of, whenText(row), row.key, failureText(row)] as const);
  const widthOf = (column: 0 | 1): number => Math.max(...shown.map((row) => row[column].length));
  const [ofWidth, whenWidth] = [widthOf(0), widthOf(1)];
  const lines = shown.map(([of, when, key, failed]) =>
    `${of.padEnd(ofWidth)}  ${when.padEnd(whenWidth)}  ${key}${failed}`.trimEnd(),
  );
  const more = rows.length - shown.length;
  return [title, '', ...lines, ...(more > 0 ? [`… and ${count(more, 'more row')}`] : [])].join('\n');
}

function whenText({ is, ms }: QueueRow): string {
  const seconds = (Math.abs(ms) / 1000).toFixed(1);
  if (is === 'running') return `running for ${seconds} s`;
  return ms > 0 ? `due in ${seconds} s` : `waits for its turn for ${seconds} s`;
}

function failureText({ failed, failures }: QueueRow): string {
  if (!failed) return '';
  const times = failures > 0 ? `, ${count(failures, 'time')} in a row` : '';
  return `  (failed with ${failed.code} ${Math.round(failed.agoMs / 1000)} s ago${times})`;
}
