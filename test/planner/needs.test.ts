/**
 * Since when a job has been ready, by its run and others of its repository (src/planner/ready-since.ts,
 * unseen/needs.ts): scenes of P7.
 */
import { expect, it } from 'vitest';
import type { Job } from '../../src/planner/evidence.ts';
import { done, group, job, NOW, named, planScene, row, running, type Scene } from '../support/scenario.ts';

const one = group({ maxActiveRunners: 1 });
/** Returns the time so many seconds ago. */
const ago = (seconds: number): number => NOW - seconds * 1000;

/** Jobs of one run that was pushed a minute ago: `lint` has ended, `unit` is ready. */
const lint = done(1, 'elsewhere', {
  runId: 7,
  name: 'lint',
  createdAtMs: ago(60),
  startedAtMs: ago(50),
  completedAtMs: ago(5),
});
const unit = job(2, { runId: 7, name: 'unit', createdAtMs: ago(60) });
/** True if `unit` comes before job 4, which has been ready for 20 s: `lint` ended after that. */
const isReadyBefore = (jobs: readonly Job[], seen: Scene = {}): boolean => {
  const [served] = planScene({ groups: [one], jobs: [...jobs, job(4, { createdAtMs: ago(20) })], ...seen }).served;
  return served === unit.id;
};
/** An older run of the same workflow: `unit` began so many seconds ago, and `lint` ended 3000 s ago. */
const olderLint = done(-2, 'elsewhere', { runId: 6, name: 'lint', startedAtMs: ago(3_060), completedAtMs: ago(3_000) });
const olderUnit = (begun: number, over: Partial<Job> = {}): Job =>
  done(-1, 'elsewhere', { runId: 6, name: 'unit', startedAtMs: ago(begun), completedAtMs: ago(2_000), ...over });

it.each<[string, readonly Job[]]>([
  ['when no run says otherwise', [lint, unit]],
  ['when it began after that end before', [lint, unit, olderLint, olderUnit(2_990)]],
  ['when it once began in the very second in which the other one ended', [lint, unit, olderLint, olderUnit(3_000)]],
  [
    'that ended last of all that it may have needed',
    [done(0, 'elsewhere', { runId: 7, name: 'format', createdAtMs: ago(60), completedAtMs: ago(30) }), ...[lint, unit]],
  ],
  [
    'although another repository has jobs of these names that do not need each other',
    [lint, { ...unit, repository: 'acme/api' }, olderLint, olderUnit(3_050)],
  ],
  [
    'although the first attempt began before the second one of the other job ended',
    [
      ...[lint, unit, olderLint, olderUnit(2_995)],
      { ...olderLint, id: -3, attempt: 2, startedAtMs: ago(2_990), completedAtMs: ago(2_980) },
    ],
  ],
])('a job is ready since the end of the other one %s', (_, jobs) => {
  expect(isReadyBefore(jobs)).toBe(false);
});

it('a job is ready since then also when a runner that was made for it is there and has begun nothing', () => {
  expect(isReadyBefore([lint, unit], { runners: [row(named(one, 2))] })).toBe(false);
});

it.each<[string, string, boolean]>([
  ['build (fast)', 'build (slow) (a)', false],
  ['build (fast)', 'build (slow)', true],
  ['unit)', 'unit', false],
  [' (a)', ' (b)', false],
  ['ab (1)', 'cb (2)', false],
  ['ab (1) x', 'ab (2) y', false],
  ['a (1)', 'a (2)', true],
])(
  'a job does not wait for a leg of its own matrix, which stands in the last brackets: %s, %s',
  (first, second, isLeg) => {
    expect(
      isReadyBefore([
        { ...lint, name: first },
        { ...unit, name: second },
      ]),
    ).toBe(isLeg);
  },
);

const leg = (id: number, endedAgo: number) => ({
  ...olderLint,
  id,
  name: `lint (${-id})`,
  completedAtMs: ago(endedAgo),
});
const { completedAtMs: _, ...timeless } = leg(-4, 0);
// The first one ended last.
const legs = [leg(-3, 3_000), leg(-2, 3_050), olderUnit(3_020)];

it.each<[string, readonly Job[]]>([
  ['when it once began before the other one had ended', [lint, unit, olderLint, olderUnit(3_001)]],
  ['when it once began before all legs of the other one had ended', [lint, unit, ...legs]],
  ['also when Gitea does not say when a leg of the other one ended', [lint, unit, ...legs, timeless]],
  [
    'when it once began and the other one is still at work',
    [
      ...[lint, unit, olderUnit(2_990)],
      job(-2, { status: 'in_progress', runId: 6, name: 'lint', startedAtMs: ago(3_060) }),
    ],
  ],
  [
    'when a leg of its own matrix began before the other one had ended',
    [
      ...[lint, { ...unit, name: 'unit (2)' }],
      running(3, 'elsewhere', { runId: 7, name: 'unit (1)', createdAtMs: ago(60), startedAtMs: ago(9) }),
    ],
  ],
  [
    'when the first of its legs once began before the other one had ended',
    [...[lint, unit, olderLint, olderUnit(3_050, { name: 'unit (1)' })], olderUnit(2_990, { id: 0, name: 'unit (2)' })],
  ],
  ['when the other one stands behind it in the workflow file', [unit, { ...lint, id: 3 }]],
])('a job is ready since its run was pushed %s', (_name, jobs) => {
  expect(isReadyBefore(jobs)).toBe(true);
});
