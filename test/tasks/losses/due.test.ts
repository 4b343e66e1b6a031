/** Law V41 (docs/spec.md): how often Gitea is asked about lost jobs. */
import { expect, it } from 'vitest';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { LostJob } from '../../../src/config/runnergroup/status.ts';
import type { GroupAtLoss } from '../../../src/serve/losses/follow.ts';
import { isExpired, laterMs, lostRuns, showsEnd } from '../../../src/tasks/losses/rerunning.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { NOW, ORIGIN, running } from '../../support/scenario.ts';

const loss = (jobId: number, runId = 1): LostJob => {
  const lostAt = new Date(NOW).toISOString();
  return { runner: `ci-${jobId}`, repository: 'acme/web', runId, jobId, attempt: 1, reason: 'Evicted', lostAt };
};

function at(lost: readonly LostJob[], look?: GroupAtLoss['look']): GroupAtLoss {
  const metadata = { namespace: 'runners', name: 'ci', uid: 'u' };
  return {
    live: { key: 'runners/ci', object: { metadata } },
    group: runnerGroup({ evictionRetryDelaySeconds: 7 }),
    target: { key: 'look', url: ORIGIN, scope: { kind: 'org', org: 'acme' }, token: new Token('secret', ORIGIN) },
    lost,
    ...(look && { look }),
  };
}

it('takes the losses of a run together', () => {
  expect(lostRuns([at([loss(1), loss(2, 2), loss(3)])]).map(({ runId, losses }) => [runId, losses.length])).toEqual([
    [1, 2],
    [2, 1],
  ]);
});

it('asks only after a look has shown that Gitea has ended a lost job', () => {
  const ended = (look?: Parameters<typeof at>[1]) => lostRuns([at([loss(1)], look)]).map(showsEnd);

  expect(ended()).toEqual([false]);
  expect(ended({ jobs: [running(1, 'ci-1')], runners: [], beganMs: NOW + 5 })).toEqual([false]);
  expect(ended({ jobs: [], runners: [], beganMs: NOW - 5 })).toEqual([false]);
  expect(ended({ jobs: [running(2, 'ci-2')], runners: [], beganMs: NOW + 5 })).toEqual([true]);
});

it('asks again after 15 s, then later and later, and at last every 5 minutes', () => {
  const waits = [0, 1, 2, 3, 4, 5, 6, 1_000].map(laterMs);

  expect(waits).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000]);
});

it('gives a loss up after a day', () => {
  expect(isExpired(loss(1), NOW + 86_400_000)).toBe(false);
  expect(isExpired(loss(1), NOW + 86_400_001)).toBe(true);
});
