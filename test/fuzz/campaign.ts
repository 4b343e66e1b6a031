/**
 * Runs a property for minutes (`npm run fuzz`) or for a few seconds with a fixed seed (`npm test`), with time and memory as oracles.
 *
 * `FUZZ_SECONDS`: for each target. `SEED`: of the first round. A round is 100 inputs with a seed of its own; a failure prints the
 * seed of its round and the shrunk input, and `SEED=… npm run fuzz -- -t TARGET` begins with that round. A round that hangs is told
 * by a watchdog, which ends the process: a program that loops cannot be asked.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { expect } from 'vitest';

// The function `gc` exists in contexts that are made after this flag was set.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const INPUTS = 100;
/** Seed of the short form. */
const FIXED_SEED = 20_261_122;
/** Time after which a round counts as hanging, ms. No input takes so long that a good round reaches it. */
const HANGS_AFTER_MS = 120_000;
/** Most memory that a target may add to the peak of the process, MB. */
const MOST_PEAK_MB = 250;
/** Most memory that may stay after garbage collection, over all rounds together, MB. More is a leak. */
const MOST_LEFT_MB = 60;

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 0);
/** Time limit for the test of a target, ms. */
export const TIMEOUT_MS = seconds * 1000 + 2 * HANGS_AFTER_MS;

export interface Campaign<T> {
  readonly name: string;
  readonly input: fc.Arbitrary<T>;
  /** Throws when the input shows a fault. */
  readonly check: (input: T) => Promise<void>;
  /** CPU of this process for one input, ms. */
  readonly mostCpuMs: number;
  /** Rounds of the short form. */
  readonly rounds: number;
}

/** Runs rounds until the time is over. Throws at the first fault. */
export async function runCampaign<T>({ name, input, check, mostCpuMs, rounds }: Campaign<T>): Promise<void> {
  const isLong = seconds > 0;
  const first = Number(process.env['SEED'] ?? (isLong ? Date.now() % 2 ** 31 : FIXED_SEED));
  if (isLong) process.stdout.write(`fuzz ${name}: SEED=${first}\n`);
  const end = performance.now() + seconds * 1000;
  collectGarbage();
  const before = { peak: peakMb(), live: liveMb() };
  let worstMs = 0;
  const property = fc.asyncProperty(input, async (value) => {
    const start = process.cpuUsage();
    await check(value);
    const { user, system } = process.cpuUsage(start);
    worstMs = Math.max(worstMs, (user + system) / 1000);
    expect((user + system) / 1000, 'CPU for one input, ms').toBeLessThan(mostCpuMs);
  });
  let round = 0;
  for (; isLong ? performance.now() < end : round < rounds; round += 1) {
    const seed = (first + round) % 2 ** 31;
    const watchdog = watch(`fuzz ${name}: SEED=${seed} hangs: SEED=${seed} npm run fuzz -- -t ${name}`);
    try {
      await fc.assert(property, { seed, numRuns: INPUTS, endOnFailure: !isLong });
    } finally {
      await watchdog.terminate();
    }
    collectGarbage();
    expect(peakMb() - before.peak, `growth of the peak of memory in MB, SEED=${seed}`).toBeLessThan(MOST_PEAK_MB);
    expect(liveMb() - before.live, `memory that is left in MB, SEED=${seed}`).toBeLessThan(MOST_LEFT_MB);
  }
  if (isLong) {
    process.stdout.write(
      `fuzz ${name}: ${round * INPUTS} inputs from SEED=${first}, at most ${worstMs.toFixed(0)} ms of CPU and ${(peakMb() - before.peak).toFixed(0)} MB more, ${(liveMb() - before.live).toFixed(0)} MB left\n`,
    );
  }
}

function peakMb(): number {
  return (process.resourceUsage().maxRSS * 1024) / 1e6;
}

function liveMb(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** A thread that ends the process when it is not ended itself in time. */
function watch(message: string): Worker {
  const source = `
    const { workerData } = require('node:worker_threads');
    setTimeout(() => {
      require('node:fs').writeSync(2, workerData.message + '\\n');
      process.kill(process.pid, 'SIGKILL');
    }, workerData.ms);`;
  const worker = new Worker(source, { eval: true, workerData: { message, ms: HANGS_AFTER_MS } });
  worker.unref();
  return worker;
}

/** A text that may be shown: short, of one line each, without characters that steer a terminal, without these secrets. */
export function expectShowable(text: string, secrets: readonly string[] = []): void {
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  for (const secret of secrets) expect(text).not.toContain(secret);
}
