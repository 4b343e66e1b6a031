/** The laws as properties: any groups, any evidence, also evidence that contradicts itself. */
import { describe, expect } from 'vitest';
import { type HeldBecause, type JobDecision, type Plan, takesSlot } from '../../src/planner/decisions.ts';
import { type Group, type Job, type Limit, type LiveJob, liveJobsOf } from '../../src/planner/evidence.ts';
import { parseRunnerName, poolIndexOf } from '../../src/planner/names.ts';
import { plan } from '../support/plan.ts';
import { fc, test as property } from '../support/property.ts';
import { emitted } from '../support/scenario.ts';
import { anyScene, changeLooks, looksOf, planOf, type Scene, withLiveJobs } from './any-scene.ts';

/** A law that the plan of any scene keeps. */
function test(name: string, law: (planned: Plan, scene: Scene) => void): void {
  property(name, [anyScene], (scene) => law(planOf(scene), scene));
}

const ofGroup = (planned: Plan, group: Group) =>
  emitted(planned).filter((decision) => decision.group.name === group.name);

const IS_AT_WORK: ReadonlySet<string> = new Set(['busy', 'finishing', 'moved']);

const sparesOf = (planned: Plan) => planned.runners.filter(({ because }) => because === 'spare');

/** Runners of a group in the output, spare ones, too. */
const outOf = (planned: Plan, group: Group) => [
  ...ofGroup(planned, group),
  ...sparesOf(planned).filter((decision) => decision.group.name === group.name),
];

const liveIn = ({ evidence }: Scene): ReadonlyMap<string, LiveJob> =>
  new Map(liveJobsOf(evidence).map((live) => [live.name, live]));

/** Names of the Jobs that are seen finished. */
const endedIn = ({ evidence }: Scene): ReadonlySet<string> =>
  new Set(liveJobsOf(evidence).flatMap(({ name, state }) => (state === 'complete' || state === 'failed' ? name : [])));

/**
 * Places under the cap: one for each runner; more for a busy one under whose name several jobs run, or whose Job was re-created while the
 * first runner works (ADR 3).
 */
function slotsTaken(scene: Scene, planned: Plan, group: Group): number {
  const { nowMs } = scene.evidence;
  const live = liveIn(scene);
  const slots = ofGroup(planned, group).map(({ runner, because, job }) => {
    // A pool gives way to jobs.
    if (because === 'warm') return 0;
    if (because !== 'busy' || !job) return 1;
    const runs = planned.jobs.filter((each) => each.verdict === 'running' && each.job.runner === runner).length;
    const began = (job.startedAtMs ?? nowMs) < nowMs - 22_000;
    return runs + (began && live.get(runner)?.state === 'starting' ? 1 : 0);
  });
  return slots.reduce((sum, each) => sum + each, 0);
}

/**
 * True if the group may have been full in the replayed past, because nobody sees its Jobs: a slot was taken until a CI
 * job began or ended, or by a job that is now left to a runner elsewhere. The replay's own rules: replay.test.ts.
 */
function mayHaveBeenFull({ evidence }: Scene, planned: Plan, { name }: Group): boolean {
  if (liveJobsOf(evidence).some((live) => live.name.startsWith(`${name}-`))) return false;
  return planned.jobs.some(
    (decision) =>
      decision.job.startedAtMs !== undefined ||
      (decision.verdict === 'held' && decision.because === 'served-elsewhere'),
  );
}

/** A job stays in the group that has a runner for it, also when that one registered with labels that do not cover it. */
function hasRunnerInItsGroup(planned: Plan, decision: JobDecision & { readonly verdict: 'served' }): boolean {
  const { job, group, runner, by } = decision;
  if (by === 'own-runner' || by === 'chain') return true;
  const others = planned.runners.filter((of) => of.group.name === group.name && of.runner !== runner);
  return others.some((of) => isMadeFor(of.runner, job.id));
}

function isMadeFor(runner: string, jobId: number): boolean {
  const madeFor = parseRunnerName(runner)?.madeFor;
  return madeFor !== undefined && 'id' in madeFor && madeFor.id === jobId;
}

/** A plan of the first group alone, by turns. */
function planByTurns({ groups, evidence }: Scene): Plan {
  const fair = groups.slice(0, 1).map((group): Group => ({ ...group, fairness: 'per-repository', suspend: false }));
  return plan(fair, evidence);
}

/** Runners of a group that have failed before they started. */
function failures({ evidence }: Scene, { name }: Group): number {
  return liveJobsOf(evidence).filter(
    (live) => live.name.startsWith(`${name}-`) && live.state === 'failed' && live.trouble,
  ).length;
}

/** True if the reason of a held job is true, judged without the planner's own functions. */
function isTrue(because: HeldBecause, job: Job, scene: Scene, planned: Plan): boolean {
  const { groups, evidence } = scene;
  const seeing = groups.filter(({ look }) => evidence.looks.get(look)?.jobs.some(({ id }) => id === job.id));
  const willing = job.labels.length > 0 ? seeing : seeing.filter(({ acceptUnlabelledJobs }) => acceptUnlabelledJobs);
  const covering = willing.filter(({ labels }) => job.labels.every((label) => labels.includes(label)));
  const working = covering.filter(({ suspend }) => !suspend);
  const reasons: Readonly<Partial<Record<HeldBecause, boolean>>> = {
    'no-labels': willing.length === 0,
    'labels-not-covered': willing.length > 0 && covering.length === 0,
    suspended: covering.length > 0 && working.length === 0,
    cap: working.length > 0 && working.every((group) => slotsTaken(scene, planned, group) >= group.maxActiveRunners),
    // The records of the job's failures are kept while it waits.
    'backing-off':
      planned.runners.some(({ because, runner }) => because === 'back-off-record' && isMadeFor(runner, job.id)) ||
      covering.some((group) => failures(scene, group) >= 3),
    // Judged by the properties of P11.
    'served-elsewhere': true,
  };
  return reasons[because] ?? false;
}

describe('for any groups and any evidence', () => {
  test('P1 every runner of ours with a job in progress is emitted, pinned, unless its Job is seen finished', (planned, scene) => {
    // Lost ones, too: they need no slot, but nothing prunes them.
    const out = new Map(planned.runners.flatMap((of) => (of.emit ? [[of.runner, of] as const] : [])));
    const ended = endedIn(scene);

    for (const { job, verdict } of planned.jobs) {
      if (verdict !== 'running' || !job.runner?.startsWith('g') || ended.has(job.runner)) continue;
      if (out.has(job.runner) || scene.groups.some(({ name }) => job.runner?.startsWith(`${name}-`))) {
        expect(out.get(job.runner)).toMatchObject({ pinned: true });
      }
    }
  });

  test('P2 one ready job has at most one runner, and no runner is wanted for anything but a ready job', (planned) => {
    const wanted = emitted(planned).filter(
      ({ because }) => !IS_AT_WORK.has(because) && because !== 'unpinning' && because !== 'warm',
    );
    const served = planned.jobs.filter(({ verdict }) => verdict === 'served');

    expect(wanted.map(({ job }) => job?.status)).toEqual(wanted.map(() => 'queued'));
    expect(new Set(wanted.map(({ job }) => job?.id)).size).toBe(wanted.length);
    expect(served).toHaveLength(wanted.length);
  });

  test('P2 a runner that no job needs is kept only when it is seen, free, unpinned and young', (planned, scene) => {
    const seen = liveIn(scene);
    const timeoutMs = new Map(scene.groups.map(({ name, spawnTimeoutMs }) => [name, spawnTimeoutMs]));
    for (const decision of sparesOf(planned)) {
      const live = seen.get(decision.runner);
      expect(decision).toMatchObject({ emit: true, pinned: false });
      expect(['starting', 'running', 'unknown']).toContain(live?.state);
      const ageMs = scene.evidence.nowMs - (live?.createdAtMs ?? 0);
      expect(ageMs).toBeLessThan(timeoutMs.get(decision.group.name) ?? 0);
    }
  });

  test('P3 no group emits more than its cap, unless that many are busy', (planned, scene) => {
    for (const group of scene.groups) {
      const out = outOf(planned, group);
      const busy = out.filter(({ because }) => IS_AT_WORK.has(because)).length;
      expect(out.length).toBeLessThanOrEqual(Math.max(busy, group.suspend ? 0 : group.maxActiveRunners));
    }
  });

  property(
    'P22 no limit and no cap has more slots taken than there are, unless so many runners are at work',
    [anyScene, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 5 }), fc.boolean(), fc.boolean()],
    ({ groups, evidence }, weight, most, isPer, isOfBranches) => {
      const limits: readonly Limit[] = [
        { key: 'limit team', name: 'team', most },
        ...(isPer ? [{ key: 'per', most, per: 'repository' as const }] : []),
        ...(isOfBranches ? [{ key: 'of main', most: 1, branches: ['main'] }] : []),
      ];
      // Jobs ask for the label of the size.
      const large = groups
        .slice(0, 1)
        .map((group) => ({ ...group, size: 'gpu', weight, labels: [...group.labels, 'gpu'] }));
      const limited: readonly Group[] = [...groups, ...large].map((group) => ({ ...group, limits, priorityTiers: [] }));

      const out = plan(limited, evidence).runners.flatMap((each) => (each.emit && takesSlot(each) ? each : []));

      const placesOf = (own: typeof out): number => own.reduce((sum, { weight: of = 1 }) => sum + of, 0);
      const isFree = ({ because }: (typeof out)[number]): boolean =>
        !IS_AT_WORK.has(because) && because !== 'debugging';
      for (const { name, maxActiveRunners } of groups) {
        const own = out.filter((each) => each.group.name === name);
        if (own.some(isFree)) expect(placesOf(own)).toBeLessThanOrEqual(maxActiveRunners);
      }
      if (out.some(isFree)) expect(placesOf(out)).toBeLessThanOrEqual(most);
      const ofMain = out.filter(({ job }) => job?.branch === 'main');
      if (isOfBranches && ofMain.some(isFree)) expect(placesOf(ofMain)).toBeLessThanOrEqual(Math.max(1, weight));
    },
  );

  test('P4 no name is wanted whose Job is finished or that has finished a job, has no online row, and whose pod has started', (planned, scene) => {
    const rows = looksOf(scene).flatMap(({ runners }) => runners);
    const online = new Set(rows.filter((row) => row.online).map(({ name }) => name));
    const ended = new Set(endedIn(scene));
    const live = liveIn(scene);
    for (const { verdict, job } of planned.jobs) {
      if (verdict !== 'done' || !job.runner || online.has(job.runner)) continue;
      if (live.get(job.runner)?.state !== 'starting') ended.add(job.runner);
    }
    for (const { runner, because } of emitted(planned)) {
      if (because !== 'busy') expect(ended).not.toContain(runner);
    }
  });

  test('P6 every wanted runner covers its job', (planned, scene) => {
    for (const { job, group, because } of emitted(planned)) {
      if (IS_AT_WORK.has(because) || because === 'warm') continue;
      const owner = scene.groups.find(({ name }) => name === group.name);
      expect(owner?.labels).toEqual(expect.arrayContaining([...(job?.labels ?? [])]));
      if (job?.labels.length === 0) expect(owner?.acceptUnlabelledJobs).toBe(true);
    }
  });

  test('P7 a job without a runner of its own goes past a group that covers it only when that group is full, suspended, backs off or, unseen, had room later', (planned, scene) => {
    const width = { repo: 0, owner: 1, global: 2 };

    for (const decision of planned.jobs) {
      if (decision.verdict !== 'served' || hasRunnerInItsGroup(planned, decision)) continue;
      const owner = scene.groups.find(({ name }) => name === decision.group.name);
      if (!owner) throw new Error('served by nobody');
      for (const group of scene.groups) {
        const sees = scene.evidence.looks.get(group.look)?.jobs.some(({ id }) => id === decision.job.id);
        const covers = decision.job.labels.every((label) => group.labels.includes(label));
        const willing = decision.job.labels.length > 0 || group.acceptUnlabelledJobs;
        if (!sees || !covers || !willing || width[group.scope] >= width[owner.scope]) continue;
        const backsOff = planned.runners.some(
          ({ group: of, because }) => of.name === group.name && (because === 'failed' || because === 'back-off-record'),
        );
        const full = slotsTaken(scene, planned, group) >= group.maxActiveRunners;
        expect(group.suspend || full || backsOff || mayHaveBeenFull(scene, planned, group)).toBe(true);
      }
    }
  });

  property('P8 the order of groups, jobs, rows and Jobs does not matter', [anyScene, fc.nat()], (scene, seed) => {
    const shuffled = <T>(list: readonly T[]): T[] => {
      const sorted = list.map((item, i) => ({ item, key: (i * 7919 + seed * 104_729) % 1_009 }));
      return sorted.sort((a, b) => a.key - b.key).map(({ item }) => item);
    };
    const { looks } = changeLooks(scene.evidence, ({ jobs, runners }) => ({
      jobs: shuffled(jobs),
      runners: shuffled(runners),
    }));
    const evidence = { ...scene.evidence, looks: new Map(shuffled([...looks])) };

    const liveJobs = shuffled(liveJobsOf(evidence));
    expect(plan(shuffled(scene.groups), withLiveJobs(evidence, liveJobs))).toEqual(planOf(scene));
  });

  test('P9 every ready job is served, or is held for a reason that is true', (planned, scene) => {
    for (const decision of planned.jobs) {
      if (decision.job.status !== 'queued') continue;
      if (decision.verdict === 'served') {
        expect(emitted(planned).filter(({ runner }) => runner === decision.runner)).toHaveLength(1);
        continue;
      }
      expect(decision.verdict).toBe('held');
      if (decision.verdict !== 'held') continue;
      expect([decision.because, isTrue(decision.because, decision.job, scene, planned)]).toEqual([
        decision.because,
        true,
      ]);
    }
  });

  test('P10 a runner of ours whose row is online and busy is never dropped, unless its Job is seen finished', (planned, scene) => {
    // Any reason of printing counts: an unwanted one (P19) is not pruned either.
    const out = planned.runners.flatMap(({ emit, runner }) => (emit ? runner : []));
    const ended = endedIn(scene);

    for (const { name, online, busy } of looksOf(scene).flatMap(({ runners }) => runners)) {
      if (!online || !busy || !parseRunnerName(name) || ended.has(name)) continue;
      expect(out).toContain(name);
    }
  });

  test('P11 what other Applications have drops no runner of ours', (planned, scene) => {
    const seen = new Set([
      ...liveJobsOf(scene.evidence).map(({ name }) => name),
      ...looksOf(scene).flatMap(({ runners }) => runners.map(({ name }) => name)),
    ]);
    const served: readonly string[] = ['own-runner', 'free-runner'];
    const living = (planned: Plan) =>
      planned.runners.filter(({ because, runner }) => served.includes(because) && seen.has(runner));
    const left = new Set(
      planned.jobs.flatMap((decision) =>
        decision.verdict === 'held' && decision.because === 'served-elsewhere' ? [decision.job.id] : [],
      ),
    );
    // Returns the scene as if nobody else had a runner and those jobs could not run: a runner that is dropped then has
    // another reason.
    const liveJobs = liveJobsOf(scene.evidence).map((live) => ({ ...live, jobUrl: '' }));
    const blocked = changeLooks(scene.evidence, (look) => ({
      ...look,
      jobs: look.jobs.map((job) => (left.has(job.id) ? { ...job, status: 'blocked' } : job)),
    }));
    const unseen = plan(scene.groups, withLiveJobs(blocked, liveJobs));

    expect(living(planned).length).toBeGreaterThanOrEqual(living(unseen).length);
  });

  test('P11 a job is left to a runner of somebody else only when its Job is seen and may be free', (planned, scene) => {
    const claimed = new Set(planned.jobs.map(({ job }) => job.runner));
    const names = new Set(planned.runners.map(({ runner }) => runner));

    for (const decision of planned.jobs) {
      if (decision.verdict !== 'held' || decision.because !== 'served-elsewhere') continue;
      const printed = liveJobsOf(scene.evidence).find(({ name }) => name === decision.runner);
      expect(names).not.toContain(decision.runner);
      expect(claimed).not.toContain(decision.runner);
      expect(printed?.jobUrl).toBe(decision.job.url);
      expect(['starting', 'running', 'unknown']).toContain(printed?.state);
    }
  });

  test('P12 by turns, no repository gets a second slot before another one gets its first', (_, scene) => {
    const planned = planByTurns(scene);
    // The place of a pod that cannot start goes to any job (P14).
    if (planned.runners.some(({ because }) => because === 'stuck')) return;
    const worked = new Map<string, number>();
    for (const { because, job } of emitted(planned)) {
      if (because !== 'busy' || !job) continue;
      worked.set(job.repository, (worked.get(job.repository) ?? 0) + 1);
    }
    const slots = new Map<string, number>();
    for (const decision of planned.jobs) {
      const elsewhere = decision.verdict === 'held' && decision.because === 'served-elsewhere';
      if (decision.verdict !== 'served' && !elsewhere) continue;
      const { repository } = decision.job;
      slots.set(repository, (slots.get(repository) ?? worked.get(repository) ?? 0) + 1);
    }
    const heldBack = planned.jobs.flatMap((decision) =>
      decision.verdict === 'held' && decision.because === 'cap' ? decision : [],
    );

    for (const { job, next } of heldBack) {
      const had = slots.get(job.repository) ?? worked.get(job.repository) ?? 0;
      const most = Math.max(0, ...[...slots].filter(([other]) => other !== job.repository).map(([, count]) => count));
      expect(most).toBeLessThanOrEqual(had + 1);
      expect(heldBack.map((each) => each.job.repository)).toContain(next);
    }
  });

  test('P13 a runner that exists keeps its class, and no tier gets more new runners than it has slots', (planned, scene) => {
    const liveOf = liveIn(scene);

    for (const group of scene.groups) {
      const out = outOf(planned, group);
      const classes = out.map((decision) => (decision.emit ? decision.priorityClass : undefined));
      const slots = new Map<string, number>();
      group.priorityTiers.forEach(({ priorityClassName, threshold }, nth) => {
        slots.set(priorityClassName, threshold - (group.priorityTiers[nth - 1]?.threshold ?? 0));
      });
      for (const [nth, { runner, because }] of out.entries()) {
        const live = liveOf.get(runner);
        const own = classes[nth];
        if (live) expect(own).toBe(live.priorityClass);
        else if (because === 'new-runner' && group.priorityTiers.length > 0) {
          const taken = classes.filter((other) => other === own).length;
          expect(taken).toBeLessThanOrEqual(slots.get(own ?? '') ?? 0);
        }
      }
    }
  });

  test('P13 once new runners have their Jobs, they keep names and classes', (planned, scene) => {
    const made = emitted(planned).filter(({ because }) => because === 'new-runner');
    const liveJobs = made.map(
      ({ runner, group, priorityClass }): LiveJob => ({
        namespace: group.namespace,
        name: runner,
        state: 'starting',
        createdAtMs: scene.evidence.nowMs,
        ...(priorityClass !== undefined && { priorityClass }),
      }),
    );
    const known = new Set(made.map(({ runner }) => runner));
    const before = liveJobsOf(scene.evidence).filter(({ name }) => !known.has(name));
    const second = plan(scene.groups, withLiveJobs(scene.evidence, [...before, ...liveJobs]));

    for (const decision of second.runners) {
      const asked = made.find(({ runner }) => runner === decision.runner);
      if (asked && decision.emit) expect(decision.priorityClass).toBe(asked.priorityClass);
    }
  });

  test('P14 a pod that cannot start is dropped for a fresh one only after its deadline, and for a reason', (planned, scene) => {
    const liveOf = liveIn(scene);

    for (const { runner, because, group: of } of planned.runners) {
      if (because !== 'stuck') continue;
      const live = liveOf.get(runner);
      const group = scene.groups.find(({ name }) => name === of.name);
      if (!group || !live) throw new Error('of nobody');
      expect(live).toMatchObject({ state: 'starting', trouble: expect.anything() });
      expect(scene.evidence.nowMs - live.createdAtMs).toBeGreaterThanOrEqual(group.pendingDeadlineMs);
      const isFull = slotsTaken(scene, planned, group) >= group.maxActiveRunners;
      expect(isFull || live.trouble?.ofNode).toBe(true);
    }
  });

  test('P48 a living Job keeps its queue, and is applied for its pin only', (planned, scene) => {
    const live = liveIn(scene);
    for (const decision of planned.runners.filter(({ runner }) => live.has(runner))) {
      if (!decision.emit) continue;
      const queue = live.get(decision.runner)?.queue;
      expect(decision.queue).toBe(queue);
      if (queue !== undefined && !decision.skip) expect(decision.pinned || decision.because === 'unpinning').toBe(true);
    }
  });

  test('P51 a runner that Kueue has stopped and that has ended goes, its pin first', (planned, scene) => {
    const ended = [...liveIn(scene).values()].filter(({ isStopped }) => isStopped);
    const names = new Set(ended.flatMap(({ name, state }) => (state === 'failed' || state === 'complete' ? name : [])));
    for (const decision of planned.runners.filter(({ runner }) => names.has(runner)))
      expect(decision.because).toBe(decision.emit ? 'unpinning' : 'failed');
  });

  test('P15 a pool has no more idle runners than asked for, and none that is used up or of a suspended group', (planned, scene) => {
    const seen = new Set([
      ...liveJobsOf(scene.evidence)
        .filter(({ state }) => state !== 'starting')
        .map(({ name }) => name),
      ...planned.jobs.map(({ job }) => job.runner),
    ]);
    const living = new Set([
      ...liveJobsOf(scene.evidence)
        // A starting one may be re-created: the completed CI job was another runner's.
        .filter(({ state }) => state === 'starting' || state === 'running' || state === 'unknown')
        .map(({ name }) => name),
      ...looksOf(scene).flatMap(({ runners }) => runners.filter(({ online }) => online).map(({ name }) => name)),
    ]);

    for (const group of scene.groups) {
      const warm = ofGroup(planned, group).filter(({ because }) => because === 'warm');
      expect(warm.length).toBeLessThanOrEqual(group.suspend ? 0 : group.minIdleRunners);
      for (const { runner, pinned, job } of warm) {
        expect({ pinned, job }).toEqual({ pinned: false, job: undefined });
        expect(seen.has(runner) && !living.has(runner) ? runner : 'good').toBe('good');
      }
    }
  });

  test('P15 a pool lacks a runner only when the cap is reached, its slot backs off, or a job was given its runner', (planned, scene) => {
    for (const group of scene.groups) {
      if (group.suspend || failures(scene, group) >= 3) continue;
      const out = outOf(planned, group);
      const warm = out.filter(({ because }) => because === 'warm').length;
      const ofPool = planned.runners.filter(
        ({ runner, group: of, because }) =>
          of.name === group.name &&
          poolIndexOf(parseRunnerName(runner)?.madeFor) !== undefined &&
          ['back-off-record', 'failed', 'free-runner'].includes(because),
      );
      const taken = slotsTaken(scene, planned, group) + warm;
      if (taken >= group.maxActiveRunners) continue;
      expect(warm + ofPool.length).toBeGreaterThanOrEqual(group.minIdleRunners);
    }
  });

  test('every job and every runner of ours gets exactly one decision', (planned, scene) => {
    const ids = new Set(looksOf(scene).flatMap(({ jobs }) => jobs.map(({ id }) => id)));
    const names = planned.runners.map(({ runner }) => runner);

    expect(planned.jobs.map(({ job }) => job.id).sort()).toEqual([...ids].sort());
    expect(new Set(names).size).toBe(names.length);
    for (const { name } of liveJobsOf(scene.evidence)) if (parseRunnerName(name)) expect(names).toContain(name);
  });
});
