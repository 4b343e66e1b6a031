import { describe, expect, it } from 'vitest';
import type { ClockCorrection } from '../../../src/observe/clock-correction.ts';
import type { HeldBecause, Plan } from '../../../src/planner/decisions.ts';
import { runnerName } from '../../../src/planner/names.ts';
import type { LiveRunner } from '../../../src/serve/planning/live.ts';
import { countsOf, type ObservedGroup, planApplication } from '../../../src/serve/planning/plan-application.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { job, live, NOW, ORIGIN } from '../../support/scenario.ts';

const group = runnerGroup({ maxActiveRunners: 1 });
const sighted = (change: Partial<ObservedGroup> = {}): ObservedGroup => ({
  group,
  templateHash: 't',
  lookKey: 'acme',
  look: { jobs: [job(1), job(2), job(3, { labels: ['other'] })], runners: [] },
  ...change,
});
const input = (...groups: readonly ObservedGroup[]) => ({ groups, runners: [], instance: '', nowMs: NOW });

function planOf(given: Parameters<typeof planApplication>[0]) {
  const planning = planApplication(given);
  if (planning.is !== 'planned') throw new Error('no plan');
  return planning.plan;
}

describe('the plan of an Application', () => {
  it('counts what waits for a group and what holds it back', () => {
    const plan = planOf(input(sighted()));

    expect(countsOf(plan, group)).toMatchObject({ queued: 2, held: { cap: 1, suspended: 0 } });
    expect(countsOf(plan, runnerGroup({ name: 'other' }))).toMatchObject({ queued: 0 });
  });

  it('keeps idle runners by the calendar: from one minute to the next, and no longer', () => {
    const hours = { runners: 2, from: '07:00', to: '19:00', days: ['Sat' as const], timeZone: 'Asia/Kolkata' };
    const timed = runnerGroup({ idleSchedule: [hours] });
    const idleAt = (time: string): number => {
      const around = input(sighted({ group: timed, look: { jobs: [], runners: [] } }));
      return planOf({ ...around, nowMs: Date.parse(time) }).runners.length;
    };

    const times = ['06:59:59', '07:00:00', '18:59:59', '19:00:00'].map((time) => `2026-11-21T${time}+05:30`);
    expect(times.map(idleAt)).toEqual([0, 2, 2, 0]);
  });

  it('waits until every scope was looked at', () => {
    const { look: _, ...unseen } = sighted({ group: runnerGroup({ name: 'two' }), lookKey: 'other' });

    expect(planApplication(input(sighted(), unseen))).toEqual({ is: 'waiting' });
  });

  it('is for Gitea’s time, and for a cluster that was seen a moment before', () => {
    const clocks: ClockCorrection = { nowShiftMs: 60_000, jobShiftMs: 0, warnings: [] };
    const planning = planApplication({ ...input(sighted()), clocks, application: 'ci' });
    if (planning.is !== 'planned' || planning.seen?.evidence.cluster.is !== 'seen') throw new Error('no plan');

    expect([planning.atMs, planning.seen.evidence.nowMs]).toEqual([NOW + 60_000, NOW + 60_000]);
    expect(planning.seen.evidence.cluster.listedAtMs).toBeLessThan(NOW + 60_000);
    expect(planning.seen.evidence.application).toBe('ci');
  });

  it('is none when its groups cannot be planned together', () => {
    const warm = runnerGroup({ minIdleRunners: 10_001 });

    expect(planApplication(input(sighted({ group: warm })))).toMatchObject({
      is: 'failed',
      failure: { code: 'GR-INPUT-93' },
    });
  });

  describe('one of whose groups is in trouble, as in generate', () => {
    const failure = new Failure('GR-HTTP-01', 1, 'refused.', 'unreachable');
    const two = runnerGroup({ name: 'two' });
    const dead = sighted({ group: two, lookKey: 'other', look: failure });
    const name = runnerName('', { namespace: 'runners', name: 'two', origin: ORIGIN, templateHash: 't' }, job(9), 0);
    const runners: readonly LiveRunner[] = [{ job: live(name, 'running'), annotations: {} }];
    const kept = expect.objectContaining({ runner: name, because: 'group-in-trouble', skip: true });
    const refusal = new Failure('GR-TOKEN-04', 3, 'bound to another Gitea.', 'token-unusable');
    const denied = new Failure('GR-POLICY-04', 3, 'denied.', 'policy');
    const broken = { namespace: 'runners', name: 'two', failure: new Failure('GR-INPUT-91', 2, 'wrong.') };

    it.each([
      ['Gitea is down', { ...input(sighted(), dead), runners }],
      ['spec is not valid', { ...input(sighted()), broken: [broken], runners }],
      ['token is bound to another Gitea', { ...input(sighted(), { ...dead, look: refusal }), runners }],
      ['image is not allowed by the policy', { ...input(sighted(), { ...dead, look: denied }), runners }],
    ])('whose %s plans the others and keeps its Jobs', (_, given) => {
      const alone = planOf(input(sighted()));
      const plan = planOf(given);

      expect(plan.runners).toHaveLength(alone.runners.length + 1);
      expect(plan.runners).toEqual(expect.arrayContaining([kept, ...alone.runners]));
      expect(plan.jobs).toEqual(alone.jobs);
    });

    it('fails as a whole when no group is left', () => {
      expect(planApplication(input(dead))).toEqual({ is: 'failed', failure });
      expect(planApplication({ ...input(), broken: [broken] })).toEqual({ is: 'failed', failure: broken.failure });
    });

    const unread = new Failure('GR-POLICY-05', 2, 'the policy cannot be read.', 'policy');

    it('fails as a whole when the trouble is not its own', () => {
      expect(planApplication(input(sighted(), { ...dead, look: unread }))).toEqual({ is: 'failed', failure: unread });
    });

    it('plans its groups although groups of another namespace, which name it, may not be served', () => {
      const runner = { job: live('evil-9-1-0000cafe', 'running', { namespace: 'evil' }), annotations: {} };
      const runners = [{ ...runner, groupName: 'evil' }];
      const alone = planOf(input(sighted()));
      const evil = { ...dead.group, namespace: 'evil', name: 'evil' };
      const beside = sighted();

      for (const over of [
        input(sighted(), { ...dead, group: evil, look: unread }),
        input(sighted(), { ...dead, group: evil, look: unread }, { ...beside, group: { ...evil, name: 'beside' } }),
        { ...input(sighted()), broken: [{ ...broken, namespace: 'evil', name: 'evil' }] },
      ])
        expect(planOf({ ...over, runners }).jobs).toEqual(alone.jobs);
    });
  });

  it('takes no notice of Jobs in namespaces that are not its own', () => {
    const name = planOf(input(sighted())).runners[0]?.runner ?? '';
    const starting = { job: live(name, 'starting'), annotations: {} };
    const elsewhere = { job: live(name, 'starting', { namespace: 'other' }), annotations: {} };
    const by = (runner: typeof starting) =>
      planOf({ ...input(sighted()), runners: [runner] }).runners.map(({ because }) => because);

    expect(by(starting)).toEqual(['own-runner']);
    expect(by(elsewhere)).toEqual(['new-runner']);
  });
});

describe('clocks that differ', () => {
  /** Until when the first job is held, after the runners with these times of their end have failed, by the clock of Kubernetes. */
  const untilMs = (clocks: ClockCorrection | undefined, ...finishedMs: readonly number[]): number | undefined => {
    const runners: LiveRunner[] = [];
    const first = () => planOf({ ...input(sighted()), runners, ...(clocks && { clocks }) }).jobs[0];
    for (const finishedAtMs of finishedMs) {
      const { runner = '' } = first() as { readonly runner?: string };
      runners.push({
        job: live(runner, 'failed', { createdAtMs: finishedAtMs - 5_000, finishedAtMs }),
        annotations: {},
      });
    }
    const held = first();
    return held?.verdict === 'held' ? held.untilMs : undefined;
  };

  it('are one: a back-off begins when the Job failed by Gitea’s clock', () => {
    const behind: ClockCorrection = { nowShiftMs: 0, jobShiftMs: 60_000, warnings: [] };
    const early: ClockCorrection = { nowShiftMs: 60_000, jobShiftMs: 60_000, warnings: [] };
    const equal = untilMs(undefined, NOW - 600_000, NOW);

    expect(equal).toBeGreaterThan(NOW);
    expect(untilMs(behind, NOW - 660_000, NOW - 60_000)).toBe(equal);
    expect(untilMs(early, NOW - 600_000, NOW)).toBe((equal ?? 0) + 60_000);
    expect(untilMs(undefined, NOW - 660_000, NOW - 60_000)).toBeUndefined();
  });
});

describe('a job for which another Application has a runner', () => {
  it('waits for no group', () => {
    const theirs = live('team-b-1-1-0000cafe', 'starting', { jobUrl: job(1).url, giteaUrl: ORIGIN });
    const plan = planOf({ ...input(sighted()), runners: [{ job: theirs, annotations: {} }] });

    expect(plan.jobs).toMatchObject([
      { because: 'served-elsewhere', runner: theirs.name },
      { verdict: 'served' },
      { because: 'labels-not-covered' },
    ]);
    expect(countsOf(plan, group)).toMatchObject({ queued: 1, held: { cap: 0 } });
  });

  it('is served by ours when that runner is in a namespace that generate does not read', () => {
    const theirs = live('team-b-1-1-0000cafe', 'starting', { namespace: 'b', jobUrl: job(1).url, giteaUrl: ORIGIN });
    const plan = planOf({ ...input(sighted()), runners: [{ job: theirs, annotations: {} }] });

    expect(plan.jobs).toMatchObject([{ verdict: 'served' }, {}, {}]);
  });
});

describe('the counts of a group', () => {
  const [own, other] = [
    { namespace: 'runners', name: 'ci' },
    { namespace: 'runners', name: 'other' },
  ];
  const jobs = (...of: readonly object[]) => of.map((each, nth) => ({ job: job(nth + 1), origin: ORIGIN, ...each }));
  const counts = (plan: { readonly jobs?: readonly object[]; readonly runners?: readonly object[] }) =>
    countsOf({ groups: [], jobs: [], runners: [], ...plan } as unknown as Plan, group);
  const held = (because: HeldBecause, more: object = {}) => ({ verdict: 'held', because, group: own, ...more });

  it('are its jobs that are ready, by what holds them back', () => {
    const all = [
      held('cap'),
      held('limit', { limit: { name: 'gpus', most: 2 } }),
      held('limit', { limit: { most: 3 } }),
      held('suspended'),
      held('backing-off'),
      held('blocked'),
      held('cap', { group: other }),
      { verdict: 'served', by: 'own-runner', group: own, runner: 'ci-1' },
      { verdict: 'running', group: own },
      { verdict: 'done' },
    ];

    expect(counts({ jobs: jobs(...all) })).toStrictEqual({
      queued: 6,
      held: { cap: 1, limit: 2, suspended: 1, 'backing-off': 1 },
      limit: { name: 'gpus', most: 2 },
      summary: undefined,
      stuck: [],
      suspended: [],
      debugging: [],
    });
    expect(counts({ jobs: jobs(held('cap')) })).not.toHaveProperty('limit');
  });

  it('name its pods that cannot start for long, and its runners that stay for a look', () => {
    const late = { reason: 'Unschedulable', isLate: true };
    const keep = { endedAtMs: NOW, untilMs: NOW + 1_000 };
    const emitted = (runner: string, more: object) => ({
      emit: true,
      runner,
      group: own,
      because: 'new-runner',
      ...more,
    });
    const runners = [
      emitted('late', { trouble: late }),
      emitted('new', { trouble: { ...late, isLate: false } }),
      emitted('failed', { because: 'back-off-record', trouble: late }),
      emitted('fine', {}),
      emitted('theirs', { group: other, trouble: late }),
      { emit: false, runner: 'dropped', group: own, because: 'stuck', trouble: late },
      emitted('kept', { because: 'debugging', keep }),
      emitted('at-once', { because: 'debugging' }),
      emitted('unpinned', { because: 'unpinning', keep }),
    ];

    expect(counts({ runners })).toMatchObject({
      stuck: [
        { runner: 'late', trouble: late, failed: false },
        { runner: 'failed', trouble: late, failed: true },
      ],
      debugging: [{ runner: 'kept', untilMs: NOW + 1_000 }],
    });
  });
});
