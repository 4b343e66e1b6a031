/** Makes one look and checks all laws; also the end of every history. */

import type { Plan } from '../../src/planner/decisions.ts';
import { Failure } from '../../src/shared/failure.ts';
import { finish } from './acts.ts';
import type { Fault } from './faults.ts';
import { busyNow, checkBusy, checkCancelling, checkCounts, checkReady, checkUsedUp } from './laws.ts';
import type { World } from './world.ts';

/** Looks, plans and checks all laws. @returns the plan, undefined when the look failed as it should. */
export async function lookAndCheck(world: World, fault?: Fault): Promise<Plan | undefined> {
  const before = busyNow(world);
  const jobsBefore = stateOfJobs(world);
  const found = await world.look(fault);
  if (found instanceof Failure) {
    world.tell(`   the look fails: ${found.code}`);
    if (!fault) throw found;
    return undefined;
  }
  if (fault?.mustFail) throw new Error('a look that had to fail gave a plan');
  const after = new Set(busyNow(world));
  checkBusy(
    world,
    found,
    before.filter((name) => after.has(name)),
  );
  checkCounts(world, found);
  checkUsedUp(world, found);
  if (stateOfJobs(world) === jobsBefore) checkReady(world, found);
  if (!fault) checkCancelling(world, found);
  world.lastPlan = found;
  return found;
}

function stateOfJobs(world: World): string {
  return world.gitea
    .jobs()
    .map(({ id, status }) => `${id} ${status}`)
    .join();
}

/** An error of `work` together with the story that led there. */
export async function inStory<T>(world: World, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const story = world.story.map((line) => `  ${line}`).join('\n');
    const { version, seesCluster, twoGroups, pageSize, explains } = world.setting;
    const where = `Gitea ${version}, pages of ${pageSize}, ${twoGroups ? 'two groups' : 'one group'}, ${seesCluster ? 'with' : 'without'} Kubernetes${explains ? ', blocked jobs listed' : ''}`;
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${where}\n${story}`, { cause: error });
  }
}

export async function lookTwice(world: World): Promise<void> {
  const first = await lookAndCheck(world);
  const second = await lookAndCheck(world);
  if (JSON.stringify(first) !== JSON.stringify(second)) throw new Error('P8: the same look twice gave two plans');
}

const ALL_LABELS = ['linux', 'gpu', 'windows'];
const ROUNDS = 40;

/** P9 to the end: once nothing goes wrong any more, every job that a group covers is done within some rounds. */
export async function endInPeace(world: World): Promise<void> {
  world.tell('now all is well');
  world.groups = world.groups.map((group) => {
    return { ...group, suspend: false, maxActiveRunners: 3, labels: ALL_LABELS, templateHash: 'all' };
  });
  for (let round = 1; round <= ROUNDS; round += 1) {
    await inStory(world, () => lookAndCheck(world));
    world.sync();
    for (const job of world.starting()) world.register(job);
    world.pass(301_000);
    for (const job of world.living('busy')) finish(world, job, true);
    if (world.gitea.jobs().every(isOver)) return;
  }
  await inStory(world, async () => {
    const left = world.gitea.jobs().filter((job) => !isOver(job));
    throw new Error(`P9: jobs ${left.map(({ id, status }) => `${id} (${status})`).join(', ')} wait for ever`);
  });
}

const isOver = ({ stopped }: { readonly stopped: number }): boolean => stopped > 0;
