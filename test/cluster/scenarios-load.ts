/** Scenarios of ordinary days: load, and people who change their mind. */
import { expect } from 'vitest';
import type { ApiJob } from '../servers/account.ts';
import { sleep } from '../servers/process.ts';
import { CAP, type GroupChange, REPOSITORY, type Rig, type Scenario } from './scenarios-rig.ts';
import { RUNNER_IMAGE } from './stack/images.ts';
import type { Seen, World } from './world.ts';

/** `success` of each, so that a failure shows which job it was. */
export function conclusions(jobs: readonly ApiJob[]): readonly string[] {
  return jobs.map(({ name, conclusion }) => `${name} ${conclusion}`).sort();
}

/** Expects that all jobs of the scenario succeed. */
export async function expectAllDone(rig: Rig, count: number): Promise<readonly ApiJob[]> {
  const jobs = await rig.calm(count);
  expect(jobs.filter(({ conclusion }) => conclusion !== 'success')).toEqual([]);
  expect(jobs.length).toBe(count);
  return jobs;
}

/** Cancels the CI job that waits for a runner. */
async function cancelQueued(rig: Rig): Promise<void> {
  const [job] = rig.world.inState('queued');
  if (!job) throw new Error('the job is not queued');
  await rig.cancel(job);
}

export function loadScenarios(scenario: Scenario, short: boolean): void {
  scenario('serves single runs, one every 4 s', async (rig) => {
    for (let run = 0; run < 6; run += 1) {
      await rig.dispatch('single.yml');
      await sleep(4_000);
    }

    await expectAllDone(rig, 6);
  });

  scenario('serves a burst of 12 runs with two jobs each and keeps to the cap', async (rig) => {
    await rig.dispatch('pair.yml', 12);

    await expectAllDone(rig, 24);
    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(CAP);
    expect(rig.world.mostRunners).toBeLessThanOrEqual(CAP);
  });

  if (short) return;

  scenario('takes back the runner of a job that is cancelled before any runner registers', async (rig, world) => {
    await rig.whilePodsWait(async () => {
      await rig.dispatch('single.yml');
      await rig.until('the job has a Job', () => world.runners().length === 1);
      await cancelQueued(rig);
      await rig.until('its Job is gone', () => world.leftJobs().length === 0);
    });

    expect(conclusions(await rig.calm(1))).toEqual(['single cancelled']);
  });

  scenario('takes back the runner of a job that is cancelled while the runner registers', async (rig, world) => {
    await rig.whilePodsWait(async () => {
      await rig.dispatch('single.yml');
      await rig.until('the job has a Job', () => world.runners().length === 1);
    });

    await cancelQueued(rig);

    expect(conclusions(await rig.calm(1))).toEqual(['single cancelled']);
  });

  scenario('keeps the runner of a cancelled job for the next one while CI goes on', async (rig, world) => {
    await rig.dispatch('long.yml');
    await rig.until('it runs', () => world.inState('in_progress').length === 1);
    const before = world.jobs.size;
    await rig.whilePodsWait(async () => {
      await rig.dispatch('single.yml');
      await rig.until('the next job has a Job', () => world.runners().length === 2);
      await cancelQueued(rig);
      // Longer than serve waits before it prunes or tidies a Job.
      await sleep(12_000);
    });
    expect(world.runners().length).toBe(2);
    await rig.dispatch('single.yml');

    expect(conclusions(await rig.calm(3))).toEqual(['long success', 'single cancelled', 'single success']);
    expect(world.jobs.size).toBe(before + 1);
  });

  scenario('lets a newer run cancel one that runs, and serves the newer one', async (rig, world) => {
    await rig.dispatch('replace.yml');
    await rig.until('it runs', () => world.inState('in_progress').length === 1);

    await rig.dispatch('replace.yml');

    expect(conclusions(await rig.calm(2))).toEqual(['replace cancelled', 'replace success']);
  });

  scenario('serves a rerun', async (rig) => {
    await rig.dispatch('single.yml');
    const [first] = await expectAllDone(rig, 1);
    if (!first) throw new Error('no job ended');

    await rig.admin.rerun(REPOSITORY, first);

    await expectAllDone(rig, 2);
  });

  scenario('kills nothing when the cap is lowered, and starts no more than the new cap', async (rig, world) => {
    await rig.dispatch('busy.yml', 9);
    await rig.until('the cap is reached', () => world.inState('in_progress').length === CAP);

    await rig.commitGroup({ maxActiveRunners: 2 });
    const begun = new Set([...world.jobs.keys()]);
    await expectAllDone(rig, 9);

    expect(mostNewAtOnce(world, begun)).toBe(2);
  });

  const stops: readonly (readonly [how: string, stop: (rig: Rig) => Promise<void>, start: GroupChange])[] = [
    ['RunnerGroup is removed from git, and starts no others until it is back', (rig) => rig.removeGroup(), {}],
    [
      'group is suspended, and starts no others until it is resumed',
      (rig) => rig.commitGroup({ suspend: true }),
      { suspend: false },
    ],
  ];
  for (const [how, stop, start] of stops) {
    scenario(`lets busy runners finish when the ${how}`, async (rig, world) => {
      await rig.dispatch('busy.yml', CAP + 2);
      await rig.until('the cap is reached', () => world.inState('in_progress').length === CAP);

      await stop(rig);
      const begun = new Set([...world.jobs.keys()]);
      await rig.until('the busy ones end', async () => (await rig.ended()).length === CAP);
      const without = [...world.jobs.keys()].filter((uid) => !begun.has(uid));
      await rig.commitGroup(start);

      await expectAllDone(rig, CAP + 2);
      expect(without).toEqual([]);
    });
  }

  scenario('starts the runners anew when a wrong image is corrected', async (rig, world) => {
    await rig.commitGroup({ image: 'local/no-such-image:1' });
    await rig.dispatch('single.yml', 2);
    await rig.until('both have a Job', () => world.runners().length === 2);

    await rig.commitGroup({ image: RUNNER_IMAGE });

    await expectAllDone(rig, 2);
  });
}

/** The most runners at one time that wait or work, among the Jobs that were made later. */
function mostNewAtOnce({ ciJobs, jobs }: World, before: ReadonlySet<string>): number {
  const doneMs = new Map([...ciJobs.values()].map(({ runner = '', endedAtMs }) => [runner, endedAtMs]));
  const later = [...jobs].flatMap(([uid, job]) => (before.has(uid) ? [] : [job]));
  const endOf = ({ name, endedAtMs, deletedAtMs }: Seen): number =>
    Math.min(...[endedAtMs, deletedAtMs, doneMs.get(name)].map((ms) => ms ?? Infinity));
  const at = (ms: number): number => later.filter((job) => job.createdAtMs <= ms && ms < endOf(job)).length;
  return Math.max(0, ...later.map(({ createdAtMs }) => at(createdAtMs)));
}
