/** Law V41 (docs/spec.md): each Gitea has its own pace. Real requests. */

import { expect, it } from 'vitest';
import { Token } from '../../../src/clients/tokens/token.ts';
import type { Giteas } from '../../../src/serve/looks/giteas.ts';
import { LossBook } from '../../../src/serve/losses/follow.ts';
import { type LiveGroup, snapshot } from '../../../src/serve/planning/live.ts';
import { rerunLostJobs } from '../../../src/tasks/losses/rerunning.ts';
import { until } from '../../serve/rig.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { serve } from '../../support/server.ts';
import { startAcme, TOKEN } from '../../support/start-acme.ts';
import { taskContext } from '../../support/task-context.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

it('a Gitea that never answers does not hold up the lost jobs of another one', async () => {
  const { simulator } = await startAcme();
  simulator.gitea.addToken('anna', ['read:organization', 'write:repository'], TOKEN);
  for (let run = 0; run < 3; run += 1) {
    simulator.gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] });
  }
  const { origin: deaf } = await serve(() => undefined);
  const losses = lossesAt({ deaf, good: simulator.url }, [1, 2, 3], 0, Date.now());
  const { context, told } = taskContext({ losses });
  rerunLostJobs(20_000)(context)(RECONCILE_DONE);

  const done = () => told.filter((event) => event.is === 'rerun' && event.outcome === 'superseded');
  await until('all three of the good one', () => done().length === 3);
  // The other one has not been given up yet.
  expect(told.filter((event) => event.is === 'rerun' && event.outcome === 'failed')).toEqual([]);
});

it.each([
  ['later', [7_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000]],
  // Gitea says that it has ended the run, and shows it at work.
  ['ended', [7_000, 7_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000]],
])(
  'asks after the delay of the group, then later and later, and at last every 5 minutes (%s)',
  async (done, expected) => {
    const clock = new VirtualClock();
    const losses = lossesAt({ good: 'https://gitea.example.com' }, [1], 7, clock.now());
    const asked: number[] = [];
    // Asked, and nothing has changed.
    const ask = async () => {
      asked.push(clock.steadyMs());
      return done;
    };
    const giteas = { pauseMs: () => 0, ask, close: async () => undefined } as unknown as Giteas;
    const { context } = taskContext({ clock, losses, giteas });
    const hear = rerunLostJobs(20_000)(context);
    for (let second = 0; second < 1_500; second += 1) {
      hear(RECONCILE_DONE);
      await clock.pass(1_000);
    }

    const waits = asked.map((at, nth) => at - (asked[nth - 1] ?? 0));
    expect(waits).toEqual(expected);
  },
);

const RECONCILE_DONE = { is: 'reconciled', verdicts: [], skews: new Map() } as const;

/** A group at each Gitea that has lost these jobs. A look has shown their ends. */
function lossesAt(
  urls: Readonly<Record<string, string>>,
  jobIds: readonly number[],
  evictionRetryDelaySeconds: number,
  nowMs: number,
): LossBook {
  const scope = { kind: 'org', org: 'acme' } as const;
  const groups = Object.entries(urls).map(([name, giteaUrl]): LiveGroup => {
    return {
      key: `runners/${name}`,
      object: { metadata: { namespace: 'runners', name, uid: name } },
      group: runnerGroup({ name, giteaUrl, scope, maxEvictionRetries: 1, evictionRetryDelaySeconds }),
    };
  });
  const lostJobs = jobIds.map((id) => ({
    runner: `gone-${id}`,
    repository: 'acme/web',
    runId: id,
    jobId: id,
    attempt: 1,
    reason: 'Evicted',
    lostAt: new Date(nowMs - 60_000).toISOString(),
  }));
  const cluster = { statusOf: () => ({ lostJobs }), hasPod: () => false, endToldBy: () => undefined };
  const book = new LossBook(cluster, () => undefined);
  const targets = groups.map(({ key, group }) => {
    const url = group?.giteaUrl ?? '';
    return { key, url, scope, token: new Token(TOKEN, url) };
  });
  const targetOf = new Map(
    groups.flatMap(({ group }, nth) => {
      const target = targets[nth];
      return group && target ? [[group, target] as const] : [];
    }),
  );
  const observation = { beganMs: nowMs, endedMs: nowMs, look: { jobs: [], runners: [] } };
  const observations = new Map(targets.map(({ key }) => [key, observation]));
  book.follow({
    snapshot: snapshot({ groups, runners: [], controlPlaneNamespace: 'argocd', nowMs }),
    targetOf,
    observations,
    nowMs,
  });
  return book;
}
