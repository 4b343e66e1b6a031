/** Runs many histories in blocks, on all processors. Used by `soak.ts` and `ablation/`. */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

const BLOCK = 20;

/** Seeds from `first` to `last`. */
export interface Block {
  readonly first: number;
  readonly last: number;
}

/** The first seed: `FIRST=5001`. */
export const FIRST = Number(process.env['FIRST'] ?? 1);

/** Runs `main` in the main thread. In a worker it runs blocks and returns their results. */
export async function startProgram(main: () => Promise<void>, runBlock: (block: Block) => unknown): Promise<void> {
  if (isMainThread) await main();
  else parentPort?.on('message', async (block: Block) => parentPort?.postMessage(await runBlock(block)));
}

/** Hands the blocks to workers, which run this program again, and `add`s what they answer. */
export async function runBlocks<T>(histories: number, add: (result: T) => void): Promise<void> {
  const blocks: Block[] = [];
  const end = FIRST + histories - 1;
  for (let first = FIRST; first <= end; first += BLOCK) {
    blocks.push({ first, last: Math.min(first + BLOCK - 1, end) });
  }
  const work = async (): Promise<void> => {
    // One worker for all its blocks: a new one is slow until its code is compiled, which takes as long as a dozen
    // histories.
    const worker = new Worker(process.argv[1] ?? '', {
      argv: process.argv.slice(2),
      // Each plan is garbage as soon as it is synced.
      resourceLimits: { maxYoungGenerationSizeMb: 96 },
    });
    for (let block = blocks.shift(); block; block = blocks.shift()) {
      worker.postMessage(block);
      const [result] = (await once(worker, 'message')) as [T];
      add(result);
      tell(`${block.last - FIRST + 1} of ${histories} histories`);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  tell('');
}

/** Progress, in one line of a terminal. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${words.padEnd(40)}\r`);
}
