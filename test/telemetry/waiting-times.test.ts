import { expect, it } from 'vitest';
import { waitingTimes } from '../../src/telemetry/metrics.ts';
import { job, ORIGIN, running } from '../support/scenario.ts';

const key = { namespace: 'runners', name: 'ci' };
const queued = { job: job(1), origin: ORIGIN, verdict: 'served', by: 'new-runner', group: key, runner: 'r' } as const;
const runs = { job: running(1, 'r'), origin: ORIGIN, verdict: 'running', group: key } as const;

it('waiting times go from the first observation in the queue to the first on a runner', () => {
  const take = waitingTimes();

  expect(take([queued], 1_000)).toEqual([]);
  expect(take([queued], 2_000)).toEqual([]);
  expect(take([runs], 4_500)).toEqual([{ namespace: 'runners', group: 'ci', seconds: 3.5 }]);
  expect(take([runs], 9_000)).toEqual([]);
});

it('waiting times are not known of jobs that were never seen queued, nor of other runners', () => {
  const take = waitingTimes();

  expect(take([runs], 1_000)).toEqual([]);
  take([queued], 2_000);
  expect(take([{ job: runs.job, origin: ORIGIN, verdict: 'running' }], 3_000)).toEqual([]);
});

it('waiting times begin anew with each stay in the queue', () => {
  const take = waitingTimes();
  take([queued], 1_000);
  take([runs], 2_000);
  take([{ ...queued, job: job(1, { attempt: 2 }) }], 10_000);

  expect(take([{ ...runs, job: running(1, 'r', { attempt: 2 }) }], 11_000)).toEqual([
    { namespace: 'runners', group: 'ci', seconds: 1 },
  ]);
});
