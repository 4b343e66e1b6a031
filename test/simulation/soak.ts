/**
 * `npm run soak`: many histories under all policies, on all processors. It prints the table and, for each law that the planner breaks,
 * the first history that shows it. It fails when a law is broken, or a bar of `bars.ts` is missed by more than chance.
 *
 * `-- --ordinary`, `-- --calm`: another kind of histories. `-- --ours`: our planner only, and the measure. `HISTORIES=500` chooses how many,
 * `FIRST=5001` from which seed on. `npm run planner-table` writes table and picture into docs/, too.
 */
import { writeFileSync } from 'node:fs';
import { judgedIn, missedBars } from './bars.ts';
import { type Block, FIRST, runBlocks, startProgram } from './blocks.ts';
import { leastByChance } from './interval.ts';
import { KIND_NAMES, KINDS } from './kinds.ts';
import { drawAfternoon } from './picture.ts';
import { POLICIES, POLICY_NAMES } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { runHistory } from './run.ts';
import { addOutcome, addTallies, emptyTallies, figuresOf, formatTable, type Tallies } from './tally.ts';
import { writeTable } from './write-table.ts';

const PICTURE = 'docs/img/history.svg';

const KIND = KIND_NAMES.find((kind) => process.argv.includes(`--${kind}`)) ?? 'wide';
const make = KINDS[KIND];
const JUDGED = judgedIn(KIND);
/** `--ours`: only our planner, and the measure. */
const NAMES =
  judgedIn(KIND).length === 1 || process.argv.includes('--ours') ? ['exact' as const, ...JUDGED] : POLICY_NAMES;

/** The histories are judged in so many parts, which tell how much is chance. */
const PARTS = 20;

/** Tallies by part. */
type Result = ReadonlyMap<number, Tallies>;

function runBlock({ first, last }: Block): Result {
  const parts = new Map<number, Tallies>();
  for (let seed = first; seed <= last; seed += 1) {
    const tallies = emptyTallies();
    const history = make(seed);
    const exact = runHistory(history, POLICIES.exact);
    for (const name of NAMES) {
      const outcome = name === 'exact' ? exact : runHistory(history, POLICIES[name]);
      addOutcome(tallies[name], outcome, seed, exact);
    }
    addPart(parts, seed % PARTS, tallies);
  }
  return parts;
}

function addPart(parts: Map<number, Tallies>, part: number, more: Tallies): void {
  const tallies = parts.get(part) ?? emptyTallies();
  addTallies(tallies, more);
  parts.set(part, tallies);
}

/** The first history of each law that our planner breaks. */
function describeBreaches(tallies: Tallies): readonly string[] {
  return JUDGED.flatMap((policy) =>
    Object.entries(tallies[policy].examples).map(([law, seed]) => {
      const history = make(seed);
      const breach = runHistory(history, POLICIES[policy]).breaches.find((each) => each.law === law);
      return breach ? describeBreach(history, policy, breach, { kind: KIND, seed }) : '';
    }),
  );
}

function writeDocs(table: string): void {
  writeTable(KIND, table);
  if (KIND !== 'wide') return;
  writeFileSync(PICTURE, drawAfternoon());
}

async function main(): Promise<void> {
  const histories = Number(process.env['HISTORIES'] ?? 10_000);
  const tallies = emptyTallies();
  const parts = new Map<number, Tallies>();
  await runBlocks<Result>(histories, (result) => {
    for (const [part, more] of result) addPart(parts, part, more);
  });
  for (const part of parts.values()) addTallies(tallies, part);
  const table = formatTable(tallies, histories, NAMES, FIRST);
  process.stdout.write(`${table}\n`);
  if (KIND.includes('per-'))
    for (const name of NAMES)
      process.stdout.write(
        `${name}: ${tallies[name].overRepository} claims beyond a limit ${KIND.replace('-', ' ')}\n`,
      );
  if (process.argv.includes('--docs')) writeDocs(table);
  const missed = JUDGED.flatMap((policy) => {
    const judged = [...parts.values()].map((part) => ({ ours: part[policy], exact: part.exact }));
    const figures = figuresOf(tallies[policy], tallies.exact);
    return missedBars(KIND, policy, figures, judged.length > 1 ? leastByChance(judged) : figures);
  });
  for (const words of [...describeBreaches(tallies), ...missed]) process.stdout.write(`\n${words}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

await startProgram(main, runBlock);
