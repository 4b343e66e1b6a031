/**
 * `npm run soak:serve`: many histories of `serve`, on all processors. It prints a table by kind of fault, and each history that breaks a law.
 *
 * `HISTORIES=500` chooses how many, `FIRST=5001` from which seed on, `KINDS=killed,gitea-away` which faults.
 */
import { type Block, runBlocks, startProgram } from '../blocks.ts';
import type { FaultKind } from './history.ts';
import { chosenKinds, FAULT_KINDS, makeHistory } from './make-history.ts';
import { type Outcome, runHistory } from './run.ts';

interface Result extends Omit<Outcome, 'story'> {
  readonly seed: number;
  readonly kinds: readonly string[];
  readonly ms: number;
}

const drawn = chosenKinds();
/** `EACH=true`: one kind after the other. */
const EACH = process.env['EACH'] === 'true';

function kindsOf(seed: number): readonly FaultKind[] | undefined {
  const one = FAULT_KINDS[seed % FAULT_KINDS.length];
  return EACH && one ? [one] : drawn;
}

async function runBlock({ first, last }: Block): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let seed = first; seed <= last; seed += 1) {
    const beganMs = performance.now();
    const history = makeHistory(seed, kindsOf(seed));
    const { story: _, ...outcome } = await runHistory(history);
    const kinds = [...new Set(history.faults.map(({ is }) => is))];
    results.push({ ...outcome, seed, kinds, ms: performance.now() - beganMs });
  }
  return results;
}

function row(name: string, results: readonly Result[]): string {
  const broken = results.filter(({ breaches }) => breaches.length > 0);
  const wakes = results.reduce((sum, each) => sum + each.wakes, 0);
  const changes = results.reduce((sum, each) => sum + each.changes, 0);
  const longest = results.reduce((most, each) => Math.max(most, each.longestSilenceS), 0);
  const figures = [results.length, broken.length, (wakes / changes).toFixed(2), `${longest.toFixed(1)} s`];
  return `| ${[name, ...figures].join(' | ')} |`;
}

function table(results: readonly Result[]): string {
  const kinds = ['none', ...FAULT_KINDS].flatMap((kind) => {
    const of = results.filter((each) => (kind === 'none' ? each.kinds.length === 0 : each.kinds.includes(kind)));
    return of.length > 0 ? [row(kind, of)] : [];
  });
  const head = [
    '| fault | histories | with broken laws | wakes per change | longest silence |',
    '|---|--:|--:|--:|--:|',
  ];
  return [...head, ...kinds, row('all', results)].join('\n');
}

async function main(): Promise<void> {
  const all: Result[] = [];
  await runBlocks<readonly Result[]>(Number(process.env['HISTORIES'] ?? 10_000), (results) => all.push(...results));
  for (const { breaches, kinds, seed } of [...all].sort((a, b) => a.seed - b.seed)) {
    for (const { atS, law, words } of breaches)
      process.stdout.write(`SEED=${seed} (${kinds.join()}): ${law} at ${atS} s: ${words}\n`);
  }
  const ms = all.reduce((sum, each) => sum + each.ms, 0) / all.length;
  const [jobs, done] = [all.reduce((sum, each) => sum + each.jobs, 0), all.reduce((sum, each) => sum + each.done, 0)];
  process.stdout.write(`${table(all)}\n${Math.round(ms)} ms for each history; ${jobs} CI jobs, ${done} done\n`);
  if (all.some(({ breaches }) => breaches.length > 0)) process.exitCode = 1;
}

await startProgram(main, runBlock);
