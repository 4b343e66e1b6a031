/** Runs the planners that `build.mjs` has made, each without one rule, over the same histories, and prints what that costs. */
import { readFileSync } from 'node:fs';
import { type Block, FIRST, runBlocks, startProgram } from '../blocks.ts';
import { KIND_NAMES, KINDS } from '../kinds.ts';
import { EXACT } from '../policies/exact.ts';
import type { Generator } from '../policies/policy.ts';
import { runHistory } from '../run.ts';
import { addOutcome, addTally, emptyTally, figuresOf, type Tally } from '../tally.ts';
import { writeTable } from '../write-table.ts';

const KIND = KIND_NAMES.find((kind) => process.argv.includes(`--${kind}`)) ?? 'wide';
const VIEWS = ['live Jobs', 'Gitea alone'] as const;

interface Variant {
  readonly rule: string;
  readonly file: string;
}

/** The tallies of one variant. */
type ByView = Readonly<Record<(typeof VIEWS)[number], Tally>>;

interface Sums {
  readonly exact: Tally;
  /** Results in the order of the variants. */
  readonly variants: readonly ByView[];
}

const variants = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as readonly Variant[];

function emptySums(): Sums {
  const views = (): ByView => ({ 'live Jobs': emptyTally(), 'Gitea alone': emptyTally() });
  return { exact: emptyTally(), variants: variants.map(views) };
}

async function runBlock({ first, last }: Block): Promise<Sums> {
  const planners = await Promise.all(
    variants.map(async ({ file }): Promise<Record<keyof ByView, Generator>> => {
      const { OURS_LIVE, OURS_ALONE } = await import(file);
      return { 'live Jobs': OURS_LIVE, 'Gitea alone': OURS_ALONE };
    }),
  );
  const sums = emptySums();
  for (let seed = first; seed <= last; seed += 1) {
    const history = KINDS[KIND](seed);
    const exact = runHistory(history, EXACT);
    addOutcome(sums.exact, exact, seed, exact);
    planners.forEach((planner, i) => {
      const of = sums.variants[i];
      for (const view of VIEWS) if (of) addOutcome(of[view], runHistory(history, planner[view]), seed, exact);
    });
  }
  return sums;
}

const HEAD = [
  'needless runners per 100 CI jobs',
  "wait p99 ÷ exact's",
  '> 60 s later than exact',
  'pruned while busy, per 1000 CI jobs',
  'cap exceeded, double spawns, never served, gaps in pools',
];

/** A table for each view: one with all of them is too wide to read. */
function formatTable({ exact, variants: sums }: Sums, histories: number): string {
  const about = `${histories} ${KIND} histories, seeds ${FIRST} to ${FIRST + histories - 1}.`;
  const tables = VIEWS.map((view) => {
    const rows = variants.map(({ rule }, i) => {
      const cells = cellsOf(sums[i]?.[view] ?? emptyTally(), exact);
      return `| ${[rule, ...cells].join(' | ')} |`;
    });
    const head = `| off, ${view} | ${HEAD.join(' | ')} |`;
    return ['', head, `|---|${'---:|'.repeat(HEAD.length)}`, ...rows].join('\n');
  });
  return [about, ...tables].join('\n');
}

function cellsOf(tally: Tally, exact: Tally): readonly string[] {
  const figures = figuresOf(tally, exact);
  return [
    `${figures.needless.toFixed(2)} %`,
    figures.p99.toFixed(3),
    `${figures.later.toFixed(1)} %`,
    figures.prunedAtWork.toFixed(2),
    `${figures.overCap}, ${figures.doubleSpawns}, ${figures.neverServed}, ${figures.gaps}`,
  ];
}

async function main(): Promise<void> {
  const histories = Number(process.env['HISTORIES'] ?? 120);
  const sums = emptySums();
  await runBlocks<Sums>(histories, (more) => {
    addTally(sums.exact, more.exact);
    sums.variants.forEach((to, i) => {
      for (const view of VIEWS) addTally(to[view], more.variants[i]?.[view] ?? emptyTally());
    });
  });
  const table = formatTable(sums, histories);
  process.stdout.write(`${table}\n`);
  if (process.argv.includes('--docs')) writeTable(`${KIND} ablation`, table);
}

await startProgram(main, runBlock);
