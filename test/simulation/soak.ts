/**
 * `npm run soak`: many histories under all policies, on all processors; prints the table and, for each law that the planner breaks,
 * the first history that shows it. `HISTORIES=500` chooses how many, `-- --calm` those in which nothing goes wrong. `npm run planner-table`
 * writes table and picture into docs/ too.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { AFTERNOON } from './histories/afternoon.ts';
import { makeCalmHistory, makeHistory } from './make-history.ts';
import { drawPicture } from './picture.ts';
import { OURS, POLICIES, POLICY_NAMES } from './policies/index.ts';
import { describeBreach } from './report.ts';
import { runHistory } from './run.ts';
import { addOutcome, addTallies, emptyTallies, formatTable, type Tallies } from './tally.ts';

const DOC = 'docs/planner.md';
const PICTURE = 'docs/img/history.svg';
const BLOCK = 20;

const CALM = process.argv.includes('--calm');
const make = CALM ? makeCalmHistory : makeHistory;

interface Block {
  readonly first: number;
  readonly last: number;
}

function runBlock({ first, last }: Block): Tallies {
  const tallies = emptyTallies();
  for (let seed = first; seed <= last; seed += 1) {
    const history = make(seed);
    for (const name of POLICY_NAMES) addOutcome(tallies[name], runHistory(history, POLICIES[name]), seed);
  }
  return tallies;
}

async function soak(histories: number): Promise<Tallies> {
  const sum = emptyTallies();
  const blocks: Block[] = [];
  for (let first = 1; first <= histories; first += BLOCK) {
    blocks.push({ first, last: Math.min(first + BLOCK - 1, histories) });
  }
  const work = async (): Promise<void> => {
    // One worker for all its blocks: a new one is slow until its code is compiled, and that takes as long as a dozen histories.
    const worker = new Worker(process.argv[1] ?? '', { argv: CALM ? ['--calm'] : [] });
    for (let block = blocks.shift(); block; block = blocks.shift()) {
      addTallies(sum, await runIn(worker, block));
      tell(`${block.last} of ${histories} histories`);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  tell('');
  return sum;
}

/** Progress, in one line of a terminal. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${words.padEnd(40)}\r`);
}

async function runIn(worker: Worker, block: Block): Promise<Tallies> {
  worker.postMessage(block);
  const [tallies] = (await once(worker, 'message')) as [Tallies];
  return tallies;
}

/** The first history of each law that our planner breaks. */
function describeBreaches(tallies: Tallies): readonly string[] {
  return OURS.flatMap((policy) =>
    Object.values(tallies[policy].examples).map((seed) => {
      const history = make(seed);
      const laws = Object.entries(tallies[policy].examples).filter(([, example]) => example === seed);
      const breach = runHistory(history, POLICIES[policy]).breaches.find(({ law }) =>
        laws.some(([name]) => name === law),
      );
      return breach ? describeBreach(history, policy, breach, CALM ? undefined : seed) : '';
    }),
  );
}

function writeDocs(table: string): void {
  const text = readFileSync(DOC, 'utf8');
  const mark = CALM ? 'calm table' : 'table';
  const block = new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*?(<!-- end of ${mark} -->)`);
  if (!block.test(text)) throw new Error(`no place for the ${mark} in ${DOC}`);
  writeFileSync(
    DOC,
    text.replace(block, (_, begin, end) => `${begin}${table}\n${end}`),
  );
  if (CALM) return;
  writeFileSync(
    PICTURE,
    drawPicture(runHistory(AFTERNOON, POLICIES['ours, live Jobs']), 'A quarter of an hour, at most 3 runners'),
  );
}

async function main(): Promise<void> {
  const histories = Number(process.env['HISTORIES'] ?? 10_000);
  const tallies = await soak(histories);
  const table = formatTable(tallies, histories);
  process.stdout.write(`${table}\n`);
  if (process.argv.includes('--docs')) writeDocs(table);
  const broken = describeBreaches(tallies);
  for (const words of broken) process.stdout.write(`\n${words}\n`);
  if (broken.length > 0 && !process.argv.includes('--docs')) process.exitCode = 1;
}

if (isMainThread) await main();
else parentPort?.on('message', (block: Block) => parentPort?.postMessage(runBlock(block)));
