/** Since when a job has been ready, as far as its run and others of its repository tell (src/planner/ready-since.ts, unseen/needs.ts): scenes of P7. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../src/planner/evidence.ts';
import { done, group, job, NOW, named, row, running, servedIn } from '../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
/** So many seconds ago. */
const ago = (seconds: number): number => NOW - seconds * 1000;
/** Job 4 has been ready for 20 s. Who is before it has been ready for longer. */
const isReadyBefore = (id: number, ...jobs: Job[]): boolean => {
  const [served] = servedIn({ groups: [one], jobs: [...jobs, job(4, { createdAtMs: ago(20) })] });
  return served === id;
};

/** Jobs of one run that was pushed a minute ago: `lint` has ended, `unit` is ready. */
const run = (over: Partial<Job> = {}): Job[] => [
  done(1, 'elsewhere', { runId: 7, name: 'lint', createdAtMs: ago(60), startedAtMs: ago(50), completedAtMs: ago(5) }),
  job(2, { runId: 7, name: 'unit', createdAtMs: ago(60), ...over }),
];
/** An older run of the same workflow: `unit` began so many seconds ago, and `lint` ended 3000 s ago. */
const olderRun = (unitBegan: number, over: Partial<Job> = {}): Job[] => [
  done(-2, 'elsewhere', { runId: 6, name: 'lint', startedAtMs: ago(3_060), completedAtMs: ago(3_000) }),
  done(-1, 'elsewhere', { runId: 6, name: 'unit', startedAtMs: ago(unitBegan), completedAtMs: ago(2_000), ...over }),
];

describe('a job is ready since the end of the other one', () => {
  it('when no run says otherwise', () => {
    expect(isReadyBefore(2, ...run())).toBe(false);
    expect(isReadyBefore(2, ...run(), ...olderRun(2_990))).toBe(false);
  });

  it('when only the first words of the names are the same: a matrix stands in the last brackets', () => {
    const [lint, unit] = run();
    if (!lint || !unit) throw new Error('no run');

    expect(isReadyBefore(2, { ...lint, name: 'build (fast)' }, { ...unit, name: 'build (slow) (a)' })).toBe(false);
    expect(isReadyBefore(2, { ...lint, name: 'build (fast)' }, { ...unit, name: 'build (slow)' })).toBe(true);
  });

  it('that ended last of all that it may have needed', () => {
    const format = done(0, 'elsewhere', { runId: 7, name: 'format', createdAtMs: ago(60), completedAtMs: ago(30) });

    expect(isReadyBefore(2, format, ...run())).toBe(false);
  });

  it('also when a runner that was made for it is there, and has begun nothing', () => {
    const jobs = [...run(), job(4, { createdAtMs: ago(20) })];

    expect(servedIn({ groups: [one], jobs, runners: [row(named(one, 2))] })).toEqual([4]);
  });

  it('when the brackets at the end of its name are not those of a matrix', () => {
    const [lint, unit] = run();
    if (!lint || !unit) throw new Error('no run');
    const isLeg = (first: string, second: string) =>
      isReadyBefore(2, { ...lint, name: first }, { ...unit, name: second });

    expect(isLeg('unit)', 'unit')).toBe(false);
    expect(isLeg(' (a)', ' (b)')).toBe(false);
    expect(isLeg('ab (1)', 'cb (2)')).toBe(false);
    expect(isLeg('ab (1) x', 'ab (2) y')).toBe(false);
    expect(isLeg('a (1)', 'a (2)')).toBe(true);
  });

  it('but not when it once began before all legs of the other one had ended', () => {
    const [first, unit] = olderRun(3_020);
    if (!first || !unit) throw new Error('no run');
    const legs = [
      { ...first, name: 'lint (1)' },
      { ...first, id: -3, name: 'lint (2)', createdAtMs: first.createdAtMs + 1, completedAtMs: ago(3_050) },
    ];
    const { completedAtMs: _, ...timeless } = { ...first, id: -4, name: 'lint (3)' };

    expect(isReadyBefore(2, ...run(), ...legs, unit)).toBe(true);
    expect(isReadyBefore(2, ...run(), ...legs, timeless, unit)).toBe(true);
  });

  it('also when it once began in the very second in which the other one ended', () => {
    expect(isReadyBefore(2, ...run(), ...olderRun(3_000))).toBe(false);
    expect(isReadyBefore(2, ...run(), ...olderRun(3_001))).toBe(true);
  });

  it('although another repository has jobs of these names that do not need each other', () => {
    expect(isReadyBefore(2, ...run({ repository: 'acme/api' }), ...olderRun(3_050))).toBe(false);
  });

  it('although the first attempt began before the second one of the other job ended', () => {
    const [lint, unit] = olderRun(3_050);
    if (!lint || !unit) throw new Error('no older run');
    const again = { ...lint, id: -3, attempt: 2, startedAtMs: ago(2_990), completedAtMs: ago(2_980) };
    const first = { ...unit, startedAtMs: ago(2_995) };

    expect(isReadyBefore(2, ...run(), lint, first, again)).toBe(false);
  });
});

describe('a job is ready since its run was pushed', () => {
  it('when it once began before the other one had ended', () => {
    expect(isReadyBefore(2, ...run(), ...olderRun(3_050))).toBe(true);
  });

  it('when it once began and the other one is still at work', () => {
    const still = { status: 'in_progress', runId: 6, name: 'lint' } as const;
    const [, unit] = olderRun(2_990);
    if (!unit) throw new Error('no older run');

    expect(isReadyBefore(2, ...run(), unit, job(-2, { ...still, startedAtMs: ago(3_060) }))).toBe(true);
  });

  it('when a leg of its own matrix began before the other one had ended', () => {
    const [lint, unit] = run();
    if (!lint || !unit) throw new Error('no run');
    const leg = running(3, 'elsewhere', {
      ...unit,
      id: 3,
      status: 'in_progress',
      name: 'unit (1)',
      startedAtMs: ago(9),
    });

    expect(isReadyBefore(2, lint, { ...unit, name: 'unit (2)' }, leg)).toBe(true);
  });

  it('when the first of its legs once began before the other one had ended', () => {
    const [lint, first] = olderRun(3_050, { name: 'unit (1)' });
    const [, second] = olderRun(2_990, { id: 0, name: 'unit (2)' });
    if (!lint || !first || !second) throw new Error('no older run');

    expect(isReadyBefore(2, ...run(), lint, first, second)).toBe(true);
  });

  it('when the other one stands behind it in the workflow file', () => {
    const [lint, unit] = run();
    if (!lint || !unit) throw new Error('no run');

    expect(isReadyBefore(2, unit, { ...lint, id: 3 })).toBe(true);
  });
});
