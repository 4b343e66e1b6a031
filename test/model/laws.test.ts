/** The oracles of the histories can fail: each law takes a good plan, and refuses it after one wrong change. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HeldBecause, JobDecision, Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import { cancel, finish, push, take } from './acts.ts';
import { lookAndCheck } from './checked.ts';
import { busyNow, checkBusy, checkCancelling, checkCounts, checkReady, checkUsedUp } from './laws.ts';
import { type KubeJob, type Setting, World } from './world.ts';

type Emitted = RunnerDecision & { readonly emit: true };

/** One runner at work and one that starts for the second job. The cap is 3. */
interface Scene {
  readonly world: World;
  readonly plan: Plan;
  readonly busy: KubeJob;
  readonly starting: KubeJob;
}

const worlds: World[] = [];
let given: Scene;

beforeAll(async () => {
  given = await scene();
});
afterAll(async () => {
  for (const world of worlds) await world.close();
});

async function scene(over: Partial<Setting> = {}): Promise<Scene> {
  const setting: Setting = { version: '1.27.3', pageSize: 50, twoGroups: false, seesCluster: true, explains: false };
  const world = await World.start({ ...setting, ...over });
  worlds.push(world);
  push(world, 0, 2, false);
  await lookAndCheck(world);
  world.sync();
  const [busy, starting] = world.starting();
  if (!busy || !starting) throw new Error('two runners are to start');
  world.register(busy);
  take(world, busy);
  return { world, plan: await goodPlan(world), busy, starting };
}

async function goodPlan(world: World): Promise<Plan> {
  const plan = await lookAndCheck(world);
  if (!plan) throw new Error('the look is to succeed');
  return plan;
}

/** Judges in a world whose groups are changed. */
function withGroups(world: World, change: object, judge: () => void): void {
  const before = world.groups;
  world.groups = before.map((group) => ({ ...group, ...change }));
  try {
    judge();
  } finally {
    world.groups = before;
  }
}

/** Somebody cancels the CI job that this runner works on. */
function cancelWorkOf({ world, busy }: Scene): void {
  const open = world.gitea.jobs().filter(({ stopped }) => stopped === 0);
  cancel(
    world,
    open.findIndex(({ id }) => id === world.jobRunBy(busy)?.id),
  );
}

/** The plan with the decision about one runner changed; undefined: without it. */
function withRunner(plan: Plan, name: string, change: object | undefined): Plan {
  const runners = plan.runners.flatMap((of) => {
    if (of.runner !== name) return of;
    return change ? ({ ...of, ...change } as RunnerDecision) : [];
  });
  return { ...plan, runners };
}

/** The plan with each decision about a queued job changed. */
function withJobs(plan: Plan, change: (decision: JobDecision) => JobDecision | undefined): Plan {
  const jobs = plan.jobs.flatMap((decision) =>
    decision.job.status === 'queued' ? (change(decision) ?? []) : decision,
  );
  return { ...plan, jobs };
}

const emittedOf = (plan: Plan, name: string): Emitted => {
  const found = plan.runners.find((of): of is Emitted => of.emit && of.runner === name);
  if (!found) throw new Error(`${name} is not emitted`);
  return found;
};

describe('P1, busy runners', () => {
  it('busy runners are those that run a job in Gitea and have a Job', () => {
    expect(busyNow(given.world)).toEqual([given.busy.name]);
  });

  it('busy runners are no longer so after the end of the job, nor without a Job', async () => {
    const { world, busy } = await scene();
    finish(world, busy, true);
    expect(busyNow(world)).toEqual([]);

    const other = await scene();
    other.world.kubeJobs.delete(other.busy.name);
    expect(busyNow(other.world)).toEqual([]);
  });

  it('busy runners are emitted and pinned in a good plan', () => {
    checkBusy(given.world, given.plan, [given.busy.name]);
  });

  it.each<[string, object | undefined, RegExp]>([
    ['missing', undefined, /^P1: .* is busy and dropped as unknown/],
    ['dropped', { emit: false, because: 'surplus' }, /^P1: .* is busy and dropped as surplus/],
    ['not pinned', { pinned: false }, /^P1: .* is busy and not pinned/],
  ])('must not be %s', (_, change, message) => {
    const { world, plan, busy } = given;

    expect(() => checkBusy(world, withRunner(plan, busy.name, change), [busy.name])).toThrow(message);
  });

  it.each(['complete', 'failed'] as const)(
    'busy runners may be missing when their Job is seen %s, and only then',
    async (state) => {
      for (const seesCluster of [true, false]) {
        const { world, plan, busy } = await scene({ seesCluster });
        const without = withRunner(plan, busy.name, undefined);
        expect(() => checkBusy(world, without, [busy.name])).toThrow('P1');
        busy.state = state;
        const judge = () => checkBusy(world, without, [busy.name]);
        if (seesCluster) expect(judge).not.toThrow();
        else expect(judge).toThrow('P1');
      }
    },
  );
});

describe('P2 and P3, how many runners', () => {
  it('P2: one runner more or one less than jobs that are served', async () => {
    const { world, plan, starting } = await scene();
    const extra = { ...emittedOf(plan, starting.name), runner: `${starting.name}-2` };

    expect(() => checkCounts(world, { ...plan, runners: [...plan.runners, extra] })).toThrow(
      'P2: 2 runners for 1 jobs',
    );
    expect(() => checkCounts(world, withRunner(plan, starting.name, undefined))).toThrow('P2: 0 runners for 1 jobs');
  });

  it('P3: more than the cap, or any that do not work in a suspended group; those at work may be more', async () => {
    const { world, plan, busy, starting } = await scene();
    const judge = (change: object, of = plan) => withGroups(world, change, () => checkCounts(world, of));

    judge({ maxActiveRunners: 2 });
    expect(() => judge({ maxActiveRunners: 1 })).toThrow('P3: group ci has 2 runners, at most 1 may be');
    expect(() => judge({ suspend: true })).toThrow('P3: group ci has 2 runners, at most 1 may be');
    expect(() => judge({ suspend: true }, withRunner(plan, busy.name, undefined))).toThrow(
      'P3: group ci has 1 runners, at most 0 may be',
    );
    for (const because of ['busy', 'finishing']) {
      const working = withJobs(withRunner(plan, starting.name, { because }), () => undefined);
      judge({ maxActiveRunners: 0 }, working);
      judge({ suspend: true }, working);
    }
    judge({ name: 'other', maxActiveRunners: 0 });
  });
});

describe('P4, used-up names', () => {
  it('used-up names are not wanted again: not after a job, and not after the end of their Job', async () => {
    const { world, plan, busy, starting } = await scene();
    const wanted = withRunner(plan, busy.name, { because: 'own-runner' });
    checkUsedUp(world, wanted);
    finish(world, busy, true);

    expect(() => checkUsedUp(world, wanted)).toThrow(/^P4: .* is wanted \(own-runner\) but it ran job|but its Job is/);
    checkUsedUp(world, plan);
    for (const state of ['complete', 'failed'] as const) {
      starting.state = state;
      expect(() => checkUsedUp(world, plan)).toThrow(`${starting.name} is wanted (own-runner) but its Job is ${state}`);
    }
    starting.state = 'starting';
    checkUsedUp(world, plan);
  });

  it('a name whose job has ended is not wanted again, also where nobody sees the Job', async () => {
    const { world, plan, busy, starting } = await scene({ seesCluster: false });
    const wanted = withRunner(plan, busy.name, { because: 'own-runner' });
    finish(world, busy, true);
    starting.state = 'failed';

    expect(() => checkUsedUp(world, wanted)).toThrow('but it ran job');
    checkUsedUp(world, plan);
  });

  it('live again with a row, unless their Job is seen ended', async () => {
    const { world, plan, busy } = await scene();
    const wanted = withRunner(plan, busy.name, { because: 'own-runner' });
    finish(world, busy, true);
    world.kubeJobs.delete(busy.name);
    world.gitea.register({ name: busy.name, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'] });

    checkUsedUp(world, wanted);
    world.kubeJobs.set(busy.name, { ...busy, state: 'complete' });
    expect(() => checkUsedUp(world, wanted)).toThrow('but its Job is complete');
  });
});

it('P4, runners of completed jobs are judged as far back as one page and one row', async () => {
  const { world, plan } = await scene({ pageSize: 1, seesCluster: false });
  push(world, 0, 2, false);
  world.lastPlan = await lookAndCheck(world);
  world.sync();
  for (const job of world.starting()) world.register(job);
  for (const job of world.living('idle')) take(world, job);
  const workers = world.living('busy').toSorted((a, b) => jobIdOf(world, a) - jobIdOf(world, b));
  for (const job of workers) finish(world, job, true);
  // Newer jobs that are not completed are on other pages.
  push(world, 0, 4, false);
  const judge = (name: string) => () => {
    const template = plan.runners.find((of): of is Emitted => of.emit);
    if (!template) throw new Error('a runner is to be emitted');
    checkUsedUp(world, { ...plan, runners: [{ ...template, runner: name, because: 'own-runner' }] });
  };

  const [oldest, middle, newest] = workers.map(({ name }) => name);
  expect(workers).toHaveLength(3);
  expect(judge(newest ?? '')).toThrow('but it ran job');
  expect(judge(middle ?? '')).toThrow('but it ran job');
  expect(judge(oldest ?? '')).not.toThrow();
});

function jobIdOf(world: World, job: KubeJob): number {
  return world.jobRunBy(job)?.id ?? 0;
}

describe('P5 and P9, ready jobs', () => {
  const held = (because: HeldBecause) => (of: JobDecision) =>
    ({ job: of.job, origin: of.origin, verdict: 'held', because }) as const;

  /** Judges the plan with its ready job changed, in a world whose groups are changed. */
  function judge(change: (decision: JobDecision) => JobDecision | undefined, groups: object = {}): void {
    const { world, plan } = given;
    withGroups(world, groups, () => checkReady(world, withJobs(plan, change)));
  }

  it('ready jobs are served in a good plan', () => {
    judge((of) => of);
  });

  it.each<[string, (decision: JobDecision) => JobDecision | undefined, RegExp]>([
    ['left out', () => undefined, /^P9: ready job \d+ is not in the plan/],
    ['done', ({ job, origin }) => ({ job, origin, verdict: 'done' }), /is done/],
    ['held by the cap although there is room', held('cap'), /is held: cap, which is not true/],
    ['held as suspended although nothing is', held('suspended'), /is held: suspended, which is not true/],
    ['held to back off without a failure', held('backing-off'), /is held: backing-off, which is not true/],
    ['held for its labels, which are covered', held('labels-not-covered'), /labels-not-covered, which is not true/],
    ['held for another reason', held('served-elsewhere'), /served-elsewhere, which is not true/],
    [
      'served by nobody',
      (of) => ({ ...of, runner: 'nobody' }) as JobDecision,
      /has runner nobody, which is not emitted/,
    ],
    [
      'served by a group that does not cover it',
      (of) => ({ ...of, group: { namespace: 'runners', name: 'other' } }) as JobDecision,
      /is served by other, which does not cover it/,
    ],
  ])('must not be %s', (_, change, message) => {
    expect(() => judge(change)).toThrow(message);
  });

  it('ready jobs may be held for a reason that is true', () => {
    judge(held('cap'), { maxActiveRunners: 2 });
    judge(held('cap'), { maxActiveRunners: 1 });
    judge(held('suspended'), { suspend: true });
    judge(held('labels-not-covered'), { labels: ['other'] });
    expect(() => judge(held('cap'), { suspend: true })).toThrow('cap, which is not true');
    expect(() => judge(held('cap'), { maxActiveRunners: 3 })).toThrow('cap, which is not true');
    expect(() => judge(held('suspended'), { labels: ['other'] })).toThrow('suspended, which is not true');
    expect(() => judge((of) => of, { labels: ['other'] })).toThrow('is served by ci, which does not cover it');
  });

  it.each(['failed', 'complete'] as const)('ready jobs may back off from a Job that is %s', (state) => {
    const { starting } = given;
    starting.state = state;
    judge(held('backing-off'));
    starting.state = 'starting';
    expect(() => judge(held('backing-off'))).toThrow('backing-off, which is not true');
  });

  it('back off from a Job of their own only', async () => {
    const { world, plan, busy } = await scene();
    busy.state = 'failed';

    expect(() => checkReady(world, withJobs(plan, held('backing-off')))).toThrow('backing-off, which is not true');
  });

  it('ready jobs are not those that are blocked, and not callers of a reusable workflow', async () => {
    const { world } = await scene();
    world.gitea.push('acme/web', {
      jobs: [
        { key: 'build', calls: [{ key: 'inner', runsOn: ['linux'] }] },
        { key: 'deploy', runsOn: ['linux'], needs: ['build'] },
      ],
    });
    const plan = await goodPlan(world);

    expect(world.gitea.jobs().filter(({ caller }) => caller)).toMatchObject([{ status: 'waiting' }]);
    expect(world.gitea.jobs().filter(({ status }) => status === 'blocked')).toHaveLength(1);
    checkReady(world, plan);
  });

  it('ready jobs are held by the cap only if no group that covers them has room', async () => {
    const { world } = await scene({ twoGroups: true });
    world.groups = world.groups.map((of) => ({ ...of, maxActiveRunners: 2 }));
    const plan = await goodPlan(world);
    const change = (of: JobDecision) => (of.job.status === 'queued' ? held('cap')(of) : of);

    expect(() => checkReady(world, { ...plan, jobs: plan.jobs.map(change) })).toThrow('cap, which is not true');
  });

  it('P5: jobs that are not ready are not served', () => {
    const { world, plan, busy } = given;
    const jobs = plan.jobs.map((of) => (of.verdict === 'running' ? ({ ...of, verdict: 'served' } as JobDecision) : of));

    expect(jobs.map(({ verdict }) => verdict)).toEqual(['served', 'served']);
    expect(() => checkReady(world, { ...plan, jobs })).toThrow(
      `P5: job ${world.jobRunBy(busy)?.id} is served and running`,
    );
  });

  it('ready jobs are covered by a group of their repository or of the whole org', async () => {
    const { world } = await scene({ twoGroups: true });
    push(world, 1, 1, false);
    const plan = await goodPlan(world);
    const wrong = plan.jobs.map((of) =>
      of.job.repository === 'acme/api' ? ({ ...of, group: { namespace: 'runners', name: 'web' } } as JobDecision) : of,
    );

    checkReady(world, plan);
    expect(() => checkReady(world, { ...plan, jobs: wrong })).toThrow('is served by web, which does not cover it');
  });
});

describe('P10, a runner that cleans up after a cancel', () => {
  it('a runner that cleans up after a cancel keeps its Job while anything else goes on, and its row is busy', async () => {
    const of = await scene();
    const { world, busy } = of;
    cancelWorkOf(of);
    const plan = await goodPlan(world);

    expect(world.jobRunBy(busy)?.status).toBe('cancelling');
    checkCancelling(world, plan);
    expect(() => checkCancelling(world, withRunner(plan, busy.name, undefined))).toThrow(
      `P10: ${busy.name} cleans up and is dropped`,
    );
  });

  it.each([
    ['a job waits', true, false],
    ['a job runs', false, true],
    ['both', true, true],
    ['nothing', false, false],
  ])('a runner that cleans up after a cancel is judged while anything else goes on: %s', async (_, waits, runs) => {
    const of = await scene();
    const { world, plan, busy, starting } = of;
    if (runs) {
      world.register(starting);
      take(world, starting);
      if (waits) push(world, 0, 1, false);
    } else if (!waits) {
      cancel(
        world,
        world.gitea.jobs().findIndex(({ status }) => status === 'waiting'),
      );
    }
    cancelWorkOf(of);

    expect(world.jobRunBy(busy)?.status).toBe('cancelling');
    const judge = () => checkCancelling(world, withRunner(plan, busy.name, undefined));
    if (waits || runs) expect(judge).toThrow('P10');
    else expect(judge).not.toThrow();
  });

  // A busy one is the matter of P1. Of two groups not all runners are asked for.
  it.each<[what: string, over: Partial<Setting>, isCancelled: boolean, afterMs: number]>([
    ['one whose job is not cancelled', {}, false, 0],
    ['one whose row is not busy any more', {}, true, 11_000],
    ['one of two groups', { twoGroups: true }, true, 0],
  ])('a runner that cleans up after a cancel may be dropped: %s', async (_, over, isCancelled, afterMs) => {
    const of = await scene(over);
    const { world, plan, busy } = of;
    if (isCancelled) cancelWorkOf(of);
    world.clock.now += afterMs;

    checkCancelling(world, withRunner(plan, busy.name, undefined));
  });
});
