/**
 * Tests the cost of a Job in `generate`, in figures that a busy machine does not change: bytes, not seconds. `npm run
 * bench` has the times, and `npm run bench:against` compares them with an earlier version by night.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allocatedBytes, type Case, peaksMiB } from '../../bench/measure.ts';
import { Scene } from '../../bench/scene.ts';

/**
 * Factor above the measured values: Node 20.20 allocates 20.7 KB for each Job and 24.21 allocates 22.8; they keep 4.3
 * and 4.9 KB of it.
 */
const ROOM = 1.15;
const ALLOCATED_PER_JOB = 22_800 * ROOM;
const PEAK_PER_JOB = 4900 * ROOM;
/** MiB; the bar of docs/performance.md. */
const PEAK_OF_1000 = 75;

const FEW = 1000;
const MANY = 10_000;
const scene = new Scene();
const cases = new Map<number, Case>();

function generate(jobs: number): Case {
  const found = cases.get(jobs);
  if (!found) throw new Error(`no Gitea with ${jobs} jobs`);
  return found;
}

const perFurtherJob = (few: number, many: number) => (many - few) / (MANY - FEW);

beforeAll(async () => {
  for (const jobs of [FEW, MANY]) cases.set(jobs, scene.generate(`${jobs} jobs`, await scene.gitea(jobs)));
});

afterAll(() => scene.close());

test('one more queued job asks V8 for no more memory than it did', async () => {
  const few = await allocatedBytes(generate(FEW));
  const many = await allocatedBytes(generate(MANY));

  const perJob = perFurtherJob(few, many);

  expect(perJob).toBeLessThan(ALLOCATED_PER_JOB);
  // If nothing was counted, the bound above says nothing: each Job is printed as 6 KB.
  expect(perJob).toBeGreaterThan(6000);
});

test('one more queued job adds no more to the peak than it did', async () => {
  const few = Math.min(...(await peaksMiB(generate(FEW), 3)));
  const many = Math.min(...(await peaksMiB(generate(MANY), 3)));

  const perJob = perFurtherJob(few, many) * 1024 * 1024;

  expect(few).toBeLessThan(PEAK_OF_1000);
  expect(perJob).toBeLessThan(PEAK_PER_JOB);
  expect(perJob).toBeGreaterThan(1000);
});
