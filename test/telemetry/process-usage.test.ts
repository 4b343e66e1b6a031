import { expect, it } from 'vitest';
import type { JobDecision, Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { MOST_REPOSITORY_SETS, openMetrics } from '../../src/telemetry/metrics.ts';
import { NOW as AT_MS, done as doneJob, ORIGIN } from '../support/scenario.ts';
import { verdictOf } from '../support/verdict.ts';

const GROUP = { namespace: 'runners', name: 'ci' };
const done = (id: number, more: Partial<Job> = {}): JobDecision => {
  return { verdict: 'done', job: doneJob(id, `ci-${id}`, more), origin: ORIGIN };
};
const busy = (id: number): RunnerDecision => ({
  emit: true,
  runner: `ci-${id}`,
  group: GROUP,
  because: 'busy',
  pinned: true,
});
const surplus = (id: number): RunnerDecision => ({ emit: false, runner: `ci-${id}`, group: GROUP, because: 'surplus' });

function counting() {
  const { render, subscriber } = openMetrics();
  return {
    subscriber,
    plan: (jobs: readonly JobDecision[], runners: readonly RunnerDecision[]): void => {
      const plan: Plan = { groups: [], jobs, runners };
      const verdict = verdictOf({
        application: 'argocd/runners',
        planning: { is: 'planned', plan, atMs: AT_MS } as never,
      });
      subscriber({ is: 'reconciled', verdicts: [verdict], skews: new Map() });
    },
    shown: async (): Promise<readonly string[]> =>
      (await render()).body
        .split('\n')
        .filter((line) => /^gitea_runners_(?:ended_job|runner_seconds|needless)/.test(line))
        .map((line) => line.replace('gitea_runners_', '')),
  };
}

const OF_GROUP = 'namespace="runners",group="ci"';

it('a job that ended on a runner of ours counts once, also when the runner is in the plan no more', async () => {
  const { plan, shown } = counting();
  plan([], [busy(1), busy(2)]);
  plan([done(1)], [busy(2)]);
  plan([done(1), done(2, { conclusion: 'failure' })], []);
  plan([done(1), done(2, { conclusion: 'failure' }), done(3)], []);

  expect(await shown()).toEqual([
    `ended_jobs_total{${OF_GROUP},repository="acme/web",result="success"} 1`,
    `ended_jobs_total{${OF_GROUP},repository="acme/web",result="failure"} 1`,
    `ended_job_seconds_total{${OF_GROUP},repository="acme/web",result="success"} 8`,
    `ended_job_seconds_total{${OF_GROUP},repository="acme/web",result="failure"} 8`,
  ]);
});

it('what the first plan shows had ended before, and so had what a leader sees that leads again', async () => {
  const { plan, shown, subscriber } = counting();
  plan([done(1)], [busy(1), surplus(2)]);
  plan([done(1)], [surplus(2)]);
  subscriber({ is: 'not-leading' });
  plan([done(1), done(3)], [busy(3), surplus(4)]);

  expect(await shown()).toEqual([]);
});

it('a runner without a CI job counts once, with the reason of the plan', async () => {
  const { plan, shown } = counting();
  plan([], []);
  plan([], [surplus(5), busy(6)]);
  plan([], [surplus(5), { ...surplus(6), because: 'used-up' } as RunnerDecision]);

  expect(await shown()).toEqual([`needless_starts_total{${OF_GROUP},reason="surplus"} 1`]);
});

it('the time of a Job counts from its creation to its end; of one that is deleted it is not known', async () => {
  const { shown, subscriber } = counting();
  const job = { namespace: 'runners', name: 'ci-1', createdAtMs: AT_MS };
  const annotations = {};
  const ended = { ...job, state: 'complete', finishedAtMs: AT_MS + 90_000 } as const;
  subscriber({ is: 'runner-ended', runner: { job: ended, annotations, groupName: 'ci' } });
  subscriber({ is: 'runner-ended', runner: { job: { ...job, state: 'deleting' }, annotations, groupName: 'ci' } });

  expect(await shown()).toEqual([`runner_seconds_total{${OF_GROUP}} 90`]);
});

it('repositories have a bound, however many names are made up', async () => {
  const { plan, shown } = counting();
  plan([], []);
  const ids = Array.from({ length: MOST_REPOSITORY_SETS + 50 }, (_, id) => id + 1);
  plan([], ids.map(busy));
  plan(
    ids.map((id) => done(id, { repository: `acme/made-up-${id}` })),
    [],
  );

  const lines = await shown();
  expect(lines.filter((line) => line.startsWith('ended_jobs_total'))).toHaveLength(MOST_REPOSITORY_SETS);
  expect(lines.filter((line) => line.startsWith('ended_job_seconds_total'))).toHaveLength(MOST_REPOSITORY_SETS);
});
