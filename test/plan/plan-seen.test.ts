import { describe, expect, it } from 'vitest';
import { type PlanInput, planSeen, type SeenGroup } from '../../src/plan/plan-seen.ts';
import type { LiveJob } from '../../src/planner/evidence.ts';
import { runnerName } from '../../src/planner/names.ts';
import { countsOf } from '../../src/serve/planning/group-counts.ts';
import { Failure } from '../../src/shared/failure.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { job, live, NOW, ORIGIN } from '../support/scenario.ts';
import { clocksAhead, seenOf } from '../support/seen.ts';

const group = runnerGroup({ maxActiveRunners: 1 });
const sighted = (change: Partial<SeenGroup> = {}): SeenGroup => ({
  group,
  templateHash: 't',
  lookKey: 'acme',
  look: { jobs: [job(1), job(2), job(3, { labels: ['other'] })], runners: [] },
  ...change,
});
const input = (...groups: readonly SeenGroup[]) => seenOf(groups);
const beside = (given: PlanInput, ...jobs: readonly LiveJob[]): PlanInput =>
  seenOf(given.groups, { broken: given.broken, runners: jobs.map((each) => ({ job: each })) });

function planOf(given: PlanInput) {
  const planning = planSeen(given);
  if (planning.is !== 'planned') throw new Error('no plan');
  return planning.plan;
}

it('the plan of an Application counts what waits for a group and what holds it back', () => {
  const plan = planOf(input(sighted()));

  expect(countsOf(plan, group)).toMatchObject({ queued: 2, held: { cap: 1, suspended: 0 } });
  expect(countsOf(plan, runnerGroup({ name: 'other' }))).toMatchObject({ queued: 0 });
});

it('the plan of an Application keeps idle runners by the calendar: from one minute to the next, and no longer', () => {
  const hours = { runners: 2, from: '07:00', to: '19:00', days: ['Sat' as const], timeZone: 'Asia/Kolkata' };
  const timed = runnerGroup({ idleSchedule: [hours] });
  const idleAt = (time: string): number => {
    const around = input(sighted({ group: timed, look: { jobs: [], runners: [] } }));
    return planOf({ ...around, nowMs: Date.parse(time) }).runners.length;
  };

  const times = ['06:59:59', '07:00:00', '18:59:59', '19:00:00'].map((time) => `2026-11-21T${time}+05:30`);
  expect(times.map(idleAt)).toEqual([0, 2, 2, 0]);
});

it('the plan of an Application waits until every scope was looked at', () => {
  const { look: _, ...unseen } = sighted({ group: runnerGroup({ name: 'two' }), lookKey: 'other' });

  expect(planSeen(input(sighted(), unseen))).toEqual({ is: 'waiting' });
});

it('the plan of an Application is for Gitea’s time, and for a cluster that was seen a moment before', () => {
  const clockOf = clocksAhead(60_000, 60_000);
  const planning = planSeen({ ...input(sighted()), clockOf, application: 'ci' });
  if (planning.is !== 'planned' || planning.seen?.evidence.cluster.is !== 'seen') throw new Error('no plan');

  expect([planning.atMs, planning.seen.evidence.nowMs]).toEqual([NOW + 60_000, NOW + 60_000]);
  expect(planning.seen.evidence.cluster.listedAtMs).toBe(NOW + 55_000);
  expect(planning.seen.evidence.application).toBe('ci');
});

it('the plan of an Application has no runner for a group that is suspended in the cluster, and knows what is said there', () => {
  const suspended = new Map([['runners/ci', 'since noon']]);
  const planning = planSeen({ ...input(sighted()), suspended });

  expect(planning).toMatchObject({ is: 'planned', plan: { runners: [] }, seen: { suspended } });
});

it('the plan of an Application is made where no cluster was looked at, also of no group', () => {
  const seen = { ...input(), cluster: undefined };

  expect(planSeen(seen)).toMatchObject({ is: 'planned', seen: { evidence: { cluster: { is: 'unseen' } } } });
  expect(planSeen(seen)).not.toHaveProperty('seen.evidence.application');
});

it('the plan of an Application is none when its groups cannot be planned together', () => {
  const warm = runnerGroup({ minIdleRunners: 10_001 });

  expect(() => planSeen(input(sighted({ group: warm })))).toThrow(
    expect.objectContaining({ code: 'GR-INPUT-93', exit: 2 }),
  );
});

describe('one of whose groups is in trouble, as in generate', () => {
  const failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
  const two = runnerGroup({ name: 'two' });
  const dead = sighted({ group: two, lookKey: 'other', look: failure });
  const name = runnerName('', { namespace: 'runners', name: 'two', origin: ORIGIN, templateHash: 't' }, job(9), 0);
  const running = live(name, 'running');
  const kept = expect.objectContaining({ runner: name, because: 'group-in-trouble', skip: true });
  const refusal = new Failure('GR-TOKEN-04', 3, 'bound to another Gitea.', 'token-unusable');
  const denied = new Failure('GR-POLICY-04', 3, 'denied.', 'policy');
  const broken = { namespace: 'runners', name: 'two', failure: new Failure('GR-INPUT-91', 2, 'wrong.') };

  it.each([
    ['Gitea is down', input(sighted(), dead)],
    ['spec is not valid', { ...input(sighted()), broken: [broken] }],
    ['token is bound to another Gitea', input(sighted(), { ...dead, look: refusal })],
    ['image is not allowed by the policy', input(sighted(), { ...dead, look: denied })],
  ])('a group whose %s keeps its Jobs, and the others are planned', (_, given) => {
    const alone = planOf(input(sighted()));
    const plan = planOf(beside(given, running));

    expect(plan.runners).toHaveLength(alone.runners.length + 1);
    expect(plan.runners).toEqual(expect.arrayContaining([kept, ...alone.runners]));
    expect(plan.jobs).toEqual(alone.jobs);
  });

  it('groups that would have the same runner names are in trouble, and the others are planned', () => {
    // Their hashes are the same, with this instance.
    const colliding = ['team-221', 'team-366'].map((namespace) => runnerGroup({ namespace, name: 'ci' }));
    const named = colliding.map((of) => runnerName('', { ...of, origin: ORIGIN, templateHash: 't' }, job(9), 0));
    const lives = colliding.map(({ namespace }) => live(named[0] ?? '', 'running', { namespace, pinned: true }));
    const groups = [sighted(), ...colliding.map((of) => sighted({ group: of, lookKey: 'theirs' }))];
    const planning = planSeen(beside(input(...groups), ...lives));
    const plan = planOf(beside(input(...groups), ...lives));
    const alone = planOf(input(sighted()));
    const failure = new Failure(
      'GR-INPUT-90',
      2,
      'plan: RunnerGroups team-221/ci and team-366/ci would have the same runner names; rename one of them.',
    );

    expect(new Set(named).size).toBe(1);
    expect(planning).toMatchObject({
      troubles: colliding.map(({ namespace, name }) => ({ namespace, name, failure })),
    });
    expect(plan.jobs).toEqual(alone.jobs);
    expect(plan.runners).toEqual([
      ...alone.runners,
      ...colliding.map(({ namespace, name }) =>
        expect.objectContaining({ group: { namespace, name }, because: 'group-in-trouble', skip: true, pinned: true }),
      ),
    ]);
    expect(() => planSeen({ ...input(...groups), cluster: undefined })).toThrow(failure.message);
  });

  it('a group with the runner names of one that is not valid is in trouble, too', () => {
    const wrong = { namespace: 'team-221', name: 'ci', failure: broken.failure };
    const its = sighted({ group: runnerGroup({ namespace: 'team-366', name: 'ci' }) });
    const planning = planSeen({ ...input(sighted(), its), broken: [wrong] });

    expect(planning).toMatchObject({ troubles: [wrong, { namespace: 'team-366', failure: { code: 'GR-INPUT-90' } }] });
  });

  it('a group in trouble whose Gitea has another clock changes nothing for the others', () => {
    const far = sighted({ group: { ...two, giteaUrl: 'https://far.example.com' }, lookKey: 'far' });
    const ofGitea = clocksAhead(60_000, 60_000);
    const clockOf = (origin: string) => ofGitea(origin) ?? { leastMs: -5_000, mostMs: -5_000 };
    const atMs = (...groups: readonly SeenGroup[]) => {
      const planning = planSeen({ ...input(...groups), clockOf });
      return planning.is === 'planned' ? planning.atMs : undefined;
    };

    expect(atMs(sighted(), far)).toBe(NOW);
    expect(atMs(sighted(), { ...far, look: failure })).toBe(NOW + 60_000);
  });

  it('the plan of an Application fails as a whole when no group is left', () => {
    expect(planSeen(input(dead))).toEqual({ is: 'failed', failure });
    expect(planSeen({ ...input(), broken: [broken] })).toEqual({ is: 'failed', failure: broken.failure });
  });

  const unread = new Failure('GR-POLICY-05', 2, 'the policy cannot be read.', 'policy');

  it('the plan of an Application fails as a whole when the trouble is not its own', () => {
    expect(planSeen(input(sighted(), { ...dead, look: unread }))).toEqual({ is: 'failed', failure: unread });
  });

  it('plans its groups although groups of another namespace, which name it, may not be served', () => {
    const theirs = live('evil-9-1-0000cafe', 'running', { namespace: 'evil' });
    const alone = planOf(input(sighted()));
    const evil = { ...dead.group, namespace: 'evil', name: 'evil' };
    const other = sighted();

    for (const over of [
      input(sighted(), { ...dead, group: evil, look: unread }),
      input(sighted(), { ...dead, group: evil, look: unread }, { ...other, group: { ...evil, name: 'beside' } }),
      { ...input(sighted()), broken: [{ ...broken, namespace: 'evil', name: 'evil' }] },
    ])
      expect(planOf(beside(over, theirs)).jobs).toEqual(alone.jobs);
  });
});

it('the plan of an Application takes no notice of Jobs in namespaces that are not its own', () => {
  const name = planOf(input(sighted())).runners[0]?.runner ?? '';
  const starting = live(name, 'starting');
  const elsewhere = live(name, 'starting', { namespace: 'other' });
  const by = (runner: LiveJob) => planOf(beside(input(sighted()), runner)).runners.map(({ because }) => because);

  expect(by(starting)).toEqual(['own-runner']);
  expect(by(elsewhere)).toEqual(['new-runner']);
});

/**
 * Returns until when the first job is held, after runners that ended at these times of Kubernetes' clock have failed.
 */
const untilMs = (clockOf: PlanInput['clockOf'] | undefined, ...finishedMs: readonly number[]): number | undefined => {
  const jobs: LiveJob[] = [];
  const first = () => planOf({ ...beside(input(sighted()), ...jobs), ...(clockOf && { clockOf }) }).jobs[0];
  for (const finishedAtMs of finishedMs) {
    const { runner = '' } = first() as { readonly runner?: string };
    jobs.push(live(runner, 'failed', { createdAtMs: finishedAtMs - 5_000, finishedAtMs }));
  }
  const held = first();
  return held?.verdict === 'held' ? held.untilMs : undefined;
};

it('clocks that differ are one: a back-off begins when the Job failed by Gitea’s clock', () => {
  const behind = clocksAhead(0, -60_000);
  const early = clocksAhead(60_000, 0);
  const equal = untilMs(undefined, NOW - 600_000, NOW);

  expect(equal).toBeGreaterThan(NOW);
  expect(untilMs(behind, NOW - 660_000, NOW - 60_000)).toBe(equal);
  expect(untilMs(early, NOW - 600_000, NOW)).toBe((equal ?? 0) + 60_000);
  expect(untilMs(undefined, NOW - 660_000, NOW - 60_000)).toBeUndefined();
});

it('a job for which another Application has a runner waits for no group', () => {
  const theirs = live('team-b-1-1-0000cafe', 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN });
  const plan = planOf(beside(input(sighted()), theirs));

  expect(plan.jobs).toMatchObject([
    { because: 'served-elsewhere', runner: theirs.name },
    { verdict: 'served' },
    { because: 'labels-not-covered' },
  ]);
  expect(countsOf(plan, group)).toMatchObject({ queued: 1, held: { cap: 0 } });
});

it('a job for which another Application has a runner is served by ours when that runner is in a namespace that generate does not read', () => {
  const theirs = live('team-b-1-1-0000cafe', 'starting', { namespace: 'b', jobUrl: job(1).url, giteaUrl: ORIGIN });
  const plan = planOf(beside(input(sighted()), theirs));

  expect(plan.jobs).toMatchObject([{ verdict: 'served' }, {}, {}]);
});
