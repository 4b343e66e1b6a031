/** Tests the parts of a warm runner's Job besides its group's template (law F42). */
import { expect, test } from 'vitest';
import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { RUNNER_CONFIG } from '../../src/shared/marks.ts';
import { generated, group, runner } from './fixtures.ts';

const WARM = 'ci-0-2-9c31e0aa';
const DAY = 86_400;

/** The Jobs of a warm runner and of another one, as text. */
function jobs(of: RunnerGroup): readonly string[] {
  const { job: _, ...idle } = runner({ runner: WARM, because: 'warm' });
  const text = generated([{ group: of, runners: [idle, runner()] }], { emitGroups: false });
  return text.split('---\n').filter(Boolean);
}

const configIn = (text = ''): string => new RegExp(`${RUNNER_CONFIG}: (".*")`).exec(text)?.[1] ?? '';
const deadlineIn = (text = ''): number => Number(/\n {2}activeDeadlineSeconds: (\d+)/.exec(text)?.[1]);

test('a warm runner asks Gitea every second, and no other one does', () => {
  const [warm, other] = jobs(group());

  expect(configIn(warm)).toContain('capacity: 1\\n  fetch_interval: 1s\\n  fetch_interval_max: 1s\\n');
  expect(configIn(other)).not.toContain('fetch_interval');
});

test('what the group says about asking counts for all', () => {
  const [warm, other] = jobs(group({ runnerConfig: { runner: { fetch_interval_max: '30s' } } }));

  expect(configIn(warm)).toBe(configIn(other));
  expect(configIn(warm)).toContain('fetch_interval_max: \\"30s\\"');
});

test('the Job of a warm runner may live seven days longer, so its CI job has all its time', () => {
  const [warm, other] = jobs(group());

  expect(deadlineIn(warm) - deadlineIn(other)).toBe(7 * DAY);
});
