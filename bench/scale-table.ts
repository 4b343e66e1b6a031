/**
 * Keeps the results of `npm run bench:scale -- --write` (bench/scale-results.json), and writes the tables of
 * docs/scale.md from them.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const RESULTS = 'bench/scale-results.json';
const MANUAL = 'docs/scale.md';

export type Part = 'one' | 'apps' | 'shards' | 'ways';

/** Times in ms: medians of the timed CI jobs, but for the means `wakeMs` and `shownMs`. */
export interface Row {
  /** The change of Argo CD. Empty: nothing is compared. */
  readonly way: string;
  readonly applications: number;
  readonly jobs: number;
  /** Time for each of many Jobs that are wanted at once, from the dispatch of their workflows, ms. */
  readonly msPerJob: number;
  readonly queuedToJobMs: number;
  readonly slowestMs: number;
  readonly wakes: number;
  /** Requests to Gitea from the sidecars, for each timed CI job. Rows from before 2026-11-29 have none. */
  readonly generateRequests?: number;
  /** Time of one wake until Argo CD has answered, and until the cluster shows the plan, ms. */
  readonly wakeMs: number;
  readonly shownMs: number;
  /** The sidecar's part of a refresh, in which `generate` runs. */
  readonly pluginMs: number;
  /**
   * Time of Argo CD's hard refresh, and of its parts, ms: manifests (the sidecar's part in it), comparing, storing the
   * result.
   */
  readonly refreshMs: number;
  readonly manifestsMs: number;
  readonly diffMs: number;
  readonly storeMs: number;
  /** `generate` alone, started in the sidecar when nothing else goes on: by the clock, and on a processor. */
  readonly generateMs: number;
  readonly generateCpuMs: number;
  /** Time on a processor for each wake: the sidecar with `generate`; Argo CD's controller, repo-server and API server. */
  readonly sidecarCpuMs: number;
  readonly argocdCpuMs: number;
  readonly applicationKiB: number;
  readonly controllerMiB: number;
  /** `node -e 0` at that moment. */
  readonly nodeMs: number;
}

type Results = Readonly<Partial<Record<Part, readonly Row[]>>>;

let first = true;

/** Adds a row to a part. The first row of a process replaces the old ones. */
export function keep(part: Part, row: Row): void {
  const results = read();
  const rows = [...(first ? [] : (results[part] ?? [])), row];
  first = false;
  writeFileSync(RESULTS, `${JSON.stringify({ ...results, [part]: rows }, null, 2)}\n`);
  writeTables();
}

/** Writes the tables between the marks of each measured part. */
function writeTables(): void {
  if (!existsSync(MANUAL)) return;
  const results = read();
  let text = readFileSync(MANUAL, 'utf8');
  for (const [part, rows = []] of Object.entries(results) as [Part, readonly Row[]][]) {
    const marks = new RegExp(`(<!-- table: ${part} -->\n)[\\s\\S]*?(<!-- end -->)`);
    text = text.replace(marks, (_, begin: string, end: string) => `${begin}${tableOf(part, rows)}\n${end}`);
  }
  writeFileSync(MANUAL, text);
}

function tableOf(part: Part, rows: readonly Row[]): string {
  const columns =
    part === 'ways'
      ? [COMPARED, ...COLUMNS.slice(0, LAST_COMPARED)]
      : part === 'shards'
        ? [...COLUMNS, ASKED]
        : COLUMNS;
  const lines = [
    columns.map(([name]) => name),
    columns.map(() => '---'),
    ...rows.map((row) => columns.map(([, of]) => of(row))),
  ];
  const node = rows.map(({ nodeMs }) => Math.round(nodeMs));
  const [least, most] = [Math.min(...node), Math.max(...node)];
  const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return `${table}\n\n\`node -e 0\` took ${least === most ? least : `${least} to ${most}`} ms meanwhile.`;
}

type Column = readonly [name: string, of: (row: Row) => string];

const COMPARED: Column = ['setting', ({ way }) => way];
const COLUMNS: readonly Column[] = [
  ['living Jobs', ({ jobs }) => String(jobs)],
  ['queued to Job, one CI job', ({ queuedToJobMs }) => seconds(queuedToJobMs)],
  ['Argo CD refresh', ({ refreshMs }) => seconds(refreshMs)],
  ['of it: comparing', ({ diffMs }) => seconds(diffMs)],
  ['of it: sidecar', ({ pluginMs }) => seconds(pluginMs)],
  ['time per Job, many at once', ({ msPerJob }) => seconds(msPerJob)],
  ['CPU per wake: Argo CD', ({ argocdCpuMs }) => seconds(argocdCpuMs)],
  ['CPU per wake: sidecar', ({ sidecarCpuMs }) => seconds(sidecarCpuMs)],
  ['CPU of `generate` alone', ({ generateCpuMs }) => seconds(generateCpuMs)],
  ['size of the Application', ({ applicationKiB }) => `${applicationKiB.toFixed(0)} KiB`],
  ['memory of the controller', ({ controllerMiB }) => `${controllerMiB.toFixed(0)} MiB`],
];
const ASKED: Column = [
  'requests to Gitea per CI job',
  ({ generateRequests = Number.NaN }) => generateRequests.toFixed(1),
];
/** Columns that are worth comparing. */
const LAST_COMPARED = 8;

function seconds(ms: number | null): string {
  if (ms === null || Number.isNaN(ms)) return '–';
  return ms < 1000 ? `${(ms / 1000).toFixed(2)} s` : `${(ms / 1000).toFixed(1)} s`;
}

function read(): Results {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Results) : {};
}

if (process.argv.includes('--tables')) writeTables();
