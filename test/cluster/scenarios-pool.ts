/** The warm pool: with it a CI job starts on a runner that is there already. The same jobs run with and without it, and both times are printed. */
import { expect, it } from 'vitest';
import type { Rig } from './scenarios-rig.ts';
import type { CiJob } from './world.ts';

const POOL = 2;
/** CI jobs each way, one after the other. */
const RUNS = 20;
/** `ci-0-<slot>-…` */
const WARM = /^ci-0-[1-9]/;

/** Runners of the pool that are registered and idle. */
export async function idleRunners({ admin }: Rig): Promise<readonly string[]> {
  const body = await admin.call('GET', '/orgs/acme/actions/runners?limit=50');
  const { runners } = body as {
    readonly runners: readonly { readonly name: string; readonly status: string; readonly busy: boolean }[];
  };
  return runners.flatMap(({ name, status, busy }) => (WARM.test(name) && status === 'online' && !busy ? [name] : []));
}

/** Runs one CI job to its end. */
async function runOne(rig: Rig): Promise<CiJob> {
  const before = new Set(rig.world.ciJobs.keys());
  const found = (): CiJob | undefined => [...rig.world.ciJobs.values()].find(({ id }) => !before.has(id));
  await rig.dispatch('single.yml');
  await rig.until('the CI job is over', () => found()?.endedAtMs !== undefined);
  const job = found();
  if (!job) throw new Error('no CI job was seen');
  return job;
}

/** From queued to running, in seconds: the middle one and the worst of twenty. */
function waitsText(jobs: readonly CiJob[]): string {
  const seconds = jobs
    .map(({ queuedAtMs = 0, startedAtMs = 0 }) => (startedAtMs - queuedAtMs) / 1000)
    .sort((a, b) => a - b);
  const at = (share: number): string =>
    (seconds[Math.min(seconds.length - 1, Math.floor(seconds.length * share))] ?? 0).toFixed(2);
  return `p50 ${at(0.5)} s, p95 ${at(0.95)} s`;
}

export function poolScenarios(theRig: () => Rig, say: (line: string) => void): void {
  it('starts CI jobs on runners that wait for them, refills the pool, and drains it', async () => {
    const rig = theRig();
    const { world } = rig;
    // The scenario before may have had a pool.
    await rig.until('no idle runner is left', async () => (await idleRunners(rig)).length === 0);
    const without: CiJob[] = [];
    for (let run = 0; run < RUNS; run += 1) without.push(await runOne(rig));

    await rig.commitGroup({ minIdle: POOL });
    const warm: { readonly job: CiJob; readonly idle: readonly string[] }[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      let idle: readonly string[] = [];
      await rig.until('the pool is full', async () => {
        idle = await idleRunners(rig);
        return idle.length === POOL;
      });
      warm.push({ job: await runOne(rig), idle });
    }
    say(
      `${RUNS} CI jobs, queued to running: without a pool ${waitsText(without)}; with ${POOL} idle runners ${waitsText(warm.map(({ job }) => job))}`,
    );

    // The runner of each was registered and idle before the CI job was asked for, so no pod was started for it.
    expect(warm.filter(({ job, idle }) => !idle.includes(job.runner ?? ''))).toEqual([]);
    expect(new Set(warm.map(({ job }) => job.runner)).size).toBe(RUNS);
    expect(without.filter(({ runner }) => WARM.test(runner ?? ''))).toEqual([]);

    await rig.commitGroup({ minIdle: 0 });
    const jobs = await rig.calm(2 * RUNS);
    expect(jobs.filter(({ conclusion }) => conclusion !== 'success')).toEqual([]);
    // No two CI jobs had runners of one name. A Job that goes before its runner registers leaves its name to a later one.
    const names = [...world.ciJobs.values()].map(({ runner = '' }) => runner).filter((name) => WARM.test(name));
    expect(new Set(names).size).toBe(names.length);
  });
}
