/** Tests the warm pool: with it, a CI job starts on an existing runner. */
import { expect } from 'vitest';
import type { Rig, Scenario } from './scenarios-rig.ts';
import type { CiJob } from './world.ts';

const POOL = 2;
/** CI jobs, one after the other. */
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

export function poolScenarios(scenario: Scenario): void {
  scenario('starts CI jobs on runners that wait for them, refills the pool, and drains it', async (rig, world) => {
    // The scenario before may have had a pool.
    await rig.until('no idle runner is left', async () => (await idleRunners(rig)).length === 0);
    await rig.commitGroup({ minIdleRunners: POOL });
    const warm: { readonly job: CiJob; readonly idle: readonly string[] }[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      let idle: readonly string[] = [];
      await rig.until('the pool is full', async () => {
        idle = await idleRunners(rig);
        return idle.length === POOL;
      });
      warm.push({ job: await runOne(rig), idle });
    }

    // The runner of each was registered and idle before the CI job was asked for, so no pod was started for it.
    expect(warm.filter(({ job, idle }) => !idle.includes(job.runner ?? ''))).toEqual([]);
    expect(new Set(warm.map(({ job }) => job.runner)).size).toBe(RUNS);

    await rig.commitGroup({ minIdleRunners: 0 });
    const jobs = await rig.calm(RUNS);
    expect(jobs.filter(({ conclusion }) => conclusion !== 'success')).toEqual([]);
    // No two CI jobs had runners of one name. A Job that goes before its runner registers leaves its name to a later
    // one.
    const names = [...world.ciJobs.values()].map(({ runner = '' }) => runner).filter((name) => WARM.test(name));
    expect(new Set(names).size).toBe(names.length);
  });
}
