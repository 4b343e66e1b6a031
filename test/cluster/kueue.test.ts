/** Quota by real Kueue (docs/recipes/kueue.md): none is lost, none runs twice, and the order is kept. Not in the short set: it is built first. */
import { beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { sleep } from '../servers/process.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { giveQuota, KUEUE_MANAGER, KUEUE_NAMESPACE, startKueue } from './kueue.ts';
import { conclusions, expectAllDone } from './scenarios-load.ts';
import { groupSpec, groupYaml, Rig, say } from './scenarios-rig.ts';

const QUEUE = 'team-a';
const QUOTA = 2;

let rig: Rig;

/** A cohort lends what a team does not use, and takes it back as `preemption` says. */
async function shareQuota(teams: readonly string[], lending: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await giveQuota(
    rig.stack,
    teams.map((team) => ({ team, pods: QUOTA, more: lending })),
  );
}

/** Replicas of Kueue's manager. */
async function scale(replicas: number): Promise<void> {
  await rig.kubectl('scale', '-n', KUEUE_NAMESPACE, KUEUE_MANAGER, `--replicas=${replicas}`);
  if (replicas > 0) return await rig.stack.kubernetes.rolledOut(KUEUE_NAMESPACE, KUEUE_MANAGER);
  await rig.until(
    'Kueue is gone',
    async () => (await rig.kubectl('get', 'pods', '-n', KUEUE_NAMESPACE, '-o', 'name')) === '',
  );
}

async function dispatchInOrder(times: number): Promise<void> {
  for (let run = 0; run < times; run += 1) await rig.dispatch('busy.yml');
}

function expectNoneMadeTwice(count: number): void {
  const made = rig.world.made();
  expect([...new Set(made)]).toEqual(made);
  expect(made).toHaveLength(count);
}

beforeAll(async () => {
  rig = await Rig.open(inject('clusterBuilds'), say, {});
  await startKueue(rig.stack);
  await shareQuota([QUEUE]);
  await rig.commitGroup({ queue: QUEUE });
}, 1_800_000);

closeAfterTests(() => rig);

beforeEach(({ task }) => {
  say(task.name);
  rig.begin();
});

describe('with quota for two runners', () => {
  it('five CI jobs run two at a time, each once, the oldest first', async () => {
    await dispatchInOrder(5);
    await rig.until('three runners wait in Kueue', async () => {
      const suspended = await rig.field('{.items[*].spec.suspend}', 'jobs', '-n', 'runners');
      return suspended.split(' ').filter((word) => word === 'true').length === 3;
    });

    const jobs = await expectAllDone(rig, 5);

    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(QUOTA);
    expectNoneMadeTwice(5);
    const starts = jobs.map(({ id }) => rig.world.ciJobs.get(id)?.startedAtMs ?? 0);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  it('a CI job that works ends while Kueue is away, others wait, and run when it is back', async () => {
    await rig.dispatch('busy.yml');
    await rig.busyRunner();
    await scale(0);
    await dispatchInOrder(2);
    await rig.until('the first one ends', async () => (await rig.ended()).length === 1);
    // Long enough for a runner to start.
    await sleep(15_000);
    expect(rig.world.inState('in_progress')).toEqual([]);
    expect(rig.world.inState('queued')).toHaveLength(2);

    await scale(1);

    await expectAllDone(rig, 3);
    expectNoneMadeTwice(3);
  });
});

describe('with a second team that lends its quota for two runners', () => {
  const LENDER = 'team-b';

  it('four CI jobs run at a time', async () => {
    await shareQuota([QUEUE, LENDER], { cohortName: 'ci' });
    await dispatchInOrder(6);
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);

    await expectAllDone(rig, 6);

    expect(rig.world.mostAtWork, rig.world.whenMost).toBe(2 * QUOTA);
    expectNoneMadeTwice(6);
  });

  it('a runner that Kueue stops for the lender loses its CI job, and all others go on', async () => {
    await shareQuota([QUEUE, LENDER], { cohortName: 'ci', preemption: { reclaimWithinCohort: 'Any' } });
    const spec = { ...groupSpec(rig.stack.gitea.url), labels: ['second:host'], queue: LENDER };
    await rig.commitFile('second.yaml', groupYaml('second', spec));
    await rig.isReady('second');
    await rig.dispatch('long.yml', 2 * QUOTA);
    await rig.until('four are at work', () => rig.world.inState('in_progress').length === 2 * QUOTA);

    await rig.dispatch('second.yml');
    await rig.until('the others end', async () => (await rig.ended()).length === 2 * QUOTA, 300_000);

    // Gitea gives up the lost job after ten minutes. The test does not wait for that.
    expect(conclusions(await rig.ended())).toEqual(['long success', 'long success', 'long success', 'second success']);
    // The witness may be a moment late.
    await rig.until('one is left', () => rig.world.inState('in_progress').length === 1);
    expect(rig.world.inState('in_progress')).toMatchObject([{ name: 'long' }]);
    expectNoneMadeTwice(2 * QUOTA + 1);
  });
});
