/**
 * Whole processes, timed from outside. Machines are noisy, so cases are run in turn and each run is compared with the `node -e 0` of
 * the same round: what slows the machine down slows both.
 */
import { spawn } from 'node:child_process';

/**
 * Flags of Node for `serve` in the shipped container (packaging/serve.ts): 70 % of 512 MiB, and small spaces for young
 * objects.
 */
export const SERVE_FLAGS = ['--max-old-space-size=358', '--max-semi-space-size=4'];

/** A program as it is started. */
export interface Case {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Number of rounds: slow programs need fewer to be distinguished. Default: every round. */
  readonly rounds?: number;
}

/** Runs a program once and says what it cost. */
export type Clock = (each: Case) => Promise<{ readonly ms: number; readonly bytes: number }>;

/** Medians over the rounds. */
export interface Measured {
  readonly ms: number;
  /** Median of the quotients of pairs. */
  readonly ratio: number;
  /** Times by round, ms. */
  readonly times: readonly number[];
  readonly ratios: readonly number[];
  /** Bytes on stdout. */
  readonly bytes: number;
}

export const BASE: Case = { name: 'node -e 0', program: process.execPath, args: ['-e', '0'], env: {} };

/** Runs all cases in turn, one round to warm up and then `rounds`. */
export async function measure(
  cases: readonly Case[],
  rounds: number,
  clock: Clock = once,
): Promise<ReadonlyMap<string, Measured>> {
  const times = new Map<string, { ms: number[]; ratios: number[]; bytes: number }>();
  for (const { name } of [BASE, ...cases]) times.set(name, { ms: [], ratios: [], bytes: 0 });
  for (let round = 0; round <= rounds; round += 1) {
    const base = await clock(BASE);
    note(times.get(BASE.name), base, base.ms, round);
    for (const each of cases) {
      if (round <= (each.rounds ?? rounds)) note(times.get(each.name), await clock(each), base.ms, round);
    }
  }
  return new Map(
    [...times].map(([name, { ms, ratios, bytes }]) => [
      name,
      { ms: median(ms), ratio: median(ratios), times: ms, ratios, bytes },
    ]),
  );
}

type Notes = { ms: number[]; ratios: number[]; bytes: number } | undefined;

function note(notes: Notes, { ms, bytes }: Awaited<ReturnType<Clock>>, baseMs: number, round: number): void {
  if (!notes) return;
  notes.bytes = bytes;
  if (round === 0) return;
  notes.ms.push(ms);
  notes.ratios.push(ms / baseMs);
}

interface Run {
  readonly ms: number;
  readonly bytes: number;
  readonly stdout: string;
}

/** Runs a program once. Rejects when it fails: then there is nothing to be timed. */
export function once({ name, program, args, env }: Case, keep = false): Promise<Run> {
  return new Promise((resolve, reject) => {
    const start = process.hrtime.bigint();
    const child = spawn(program, args, {
      // Node 20 reads NODE_EXTRA_CA_CERTS at every start, which would be timed too; it is not handed on.
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let bytes = 0;
    let stdout = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (keep) stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      if (code === 0) resolve({ ms, bytes, stdout });
      else reject(new Error(`${name} ended with ${code}: ${errors.slice(0, 2000)}`));
    });
  });
}

/** Peaks of memory, MiB, of some runs of a Node.js program. A busy machine delays the garbage collector, and adds to them. */
export async function peaksMiB(each: Case, runs: number): Promise<readonly number[]> {
  const peaks: number[] = [];
  for (let run = 0; run < runs; run += 1) peaks.push((await usageOf(each)).peakMiB);
  return peaks;
}

/** CPU time of a Node.js program, of all its threads: unlike its wall time nearly the same while others use the machine. */
export const cpuTime: Clock = async (each) => ({ ms: (await usageOf(each)).cpuMs, bytes: 0 });

/** Resources that a run of a program has used. */
interface Usage {
  readonly peakMiB: number;
  readonly cpuMs: number;
  /** Bytes of V8's heap that it has asked for. 0 when they were not counted. */
  readonly allocated: number;
}

/** Bytes of V8's heap that a Node.js program asks for: the same on a busy machine. */
export async function allocatedBytes(each: Case): Promise<number> {
  const args = ['--sampling-heap-profiler-suppress-randomness', ...each.args];
  return (await usageOf({ ...each, args, env: { ...each.env, USAGE_ALLOCATED: '1' } })).allocated;
}

function usageOf({ args, env, name }: Case): Promise<Usage> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--require', './bench/usage.cjs', ...args], {
      env: { PATH: process.env['PATH'], ...env, USAGE_FD: '3' },
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    let said = '';
    child.stdout?.resume();
    child.stdio[3]?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', (code) => {
      const [, kib, us, allocated] = /^(\d+) (\d+) (\d+)$/.exec(said) ?? [];
      if (code === 0 && us !== undefined)
        resolve({ peakMiB: Number(kib) / 1024, cpuMs: Number(us) / 1000, allocated: Number(allocated) });
      else reject(new Error(`${name} ended with ${code}`));
    });
  });
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that this share of all is not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
