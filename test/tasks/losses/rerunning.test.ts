/** Law V41 (docs/spec.md): each Gitea has its own pace. Real requests. */
import { expect, it } from 'vitest';
import type { LossBook } from '../../../src/serve/losses/losses.ts';
import { rerunLostJobs } from '../../../src/tasks/losses/rerunning.ts';
import { until } from '../../serve/rig.ts';
import { SECRET, targetOf } from '../../support/looking.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { serve } from '../../support/server.ts';
import { startAcme } from '../../support/start-acme.ts';
import { taskContext } from '../../support/task-context.ts';

it('a Gitea that never answers does not hold up the lost jobs of another one', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.addToken('anna', ['read:organization', 'write:repository'], SECRET);
  const jobIds = [1, 2, 3];
  for (const _ of jobIds) simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  const { origin: deaf } = await serve(() => undefined);
  const lost = jobIds.map((id) => {
    const job = { runner: `gone-${id}`, repository: 'acme/web', runId: id, jobId: id, attempt: 1, reason: 'Evicted' };
    return { ...job, lostAt: new Date(Date.now() - 60_000).toISOString() };
  });
  // A look has shown their ends.
  const look = { jobs: [], runners: [], beganSteadyMs: 1 };
  const atLoss = [deaf, simulator.url].map((url) => {
    const live = { key: url, object: { metadata: { namespace: 'runners', name: 'ci', uid: url } } };
    return {
      live,
      group: runnerGroup({ evictionRetryDelaySeconds: 0 }),
      target: targetOf(url, undefined, url),
      lost,
      lostSince: new Map(),
      look,
    };
  });
  const losses = { atLoss: () => atLoss, settle: () => undefined } as unknown as LossBook;
  const { context, told } = taskContext({ losses });
  rerunLostJobs(20_000)(context)({ is: 'reconciled', verdicts: [], skews: new Map() });

  const done = () => told.filter((event) => event.is === 'rerun' && event.outcome === 'superseded');
  await until('all three of the good one', () => done().length === jobIds.length);
  // The other one has not been given up yet.
  expect(told.filter((event) => event.is === 'rerun' && event.outcome === 'failed')).toEqual([]);
});
