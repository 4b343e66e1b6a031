import { expect, it } from 'vitest';
import type { JobDecision, Plan, RunnerDecision } from '../../../src/planner/decisions.ts';
import { EndedJobs } from '../../../src/tasks/notify/job-ends.ts';
import { done as doneJob, job, ORIGIN as origin, running as runningJob } from '../../support/scenario.ts';

const group = { namespace: 'runners', name: 'ci' };

function running(id: number, attempt = 1): JobDecision {
  return { job: runningJob(id, `ci-${id}`, { attempt }), origin, verdict: 'running', group };
}

function served(id: number): JobDecision {
  return { job: job(id), origin, verdict: 'served', by: 'own-runner', group, runner: `ci-${id}` };
}

/** @param completedAtMs the first plan of `reconciles` is of 100 s, and each further one is a second later. */
function done(id: number, completedAtMs = 100_500): JobDecision {
  return { job: doneJob(id, `ci-${id}`, { completedAtMs }), origin, verdict: 'done' };
}

function plan(jobs: readonly JobDecision[], runners: readonly string[] = []): Plan {
  const drop = (runner: string): RunnerDecision => ({ emit: false, runner, group, because: 'used-up' });
  return { groups: [], jobs, runners: runners.map(drop) };
}

/** Ids of the jobs that each reconcile tells of. */
function reconciles(...plans: readonly (Plan | undefined)[]): readonly (readonly number[])[] {
  const ended = new EndedJobs();
  return plans.map((each, index) => {
    const atMs = 100_000 + index * 1000;
    const planning = each ? ({ is: 'planned', plan: each, atMs } as const) : ({ is: 'waiting' } as const);
    return ended.take([{ application: 'a', planning }]).map(({ job: { id } }) => id);
  });
}

const foreign: JobDecision = { job: runningJob(1, 'ci-1'), origin, verdict: 'running' };
const waiting = plan([served(1)], ['ci-1']);
const ended = plan([done(1)], ['ci-1']);
const before = plan([done(1, 101_000), done(2, 103_000)], ['ci-1', 'ci-2']);
const later = plan([done(1, 99_000), done(2, 100_000), done(3, 101_000)], ['ci-1', 'ci-2', 'ci-3']);

it.each<[string, readonly (Plan | undefined)[], readonly (readonly number[])[]]>([
  [
    'tells once of one that was running and is no longer',
    [plan([running(1)]), plan([]), ended, plan([])],
    [[], [1], [], []],
  ],
  ['tells of one that came and went between two looks', [plan([]), ended, ended], [[], [1], []]],
  ['tells of one that waited for a runner and is gone', [waiting, waiting, plan([]), plan([])], [[], [], [1], []]],
  [
    'tells of one that ran at the first plan, whatever time Gitea gives',
    [plan([running(1)]), plan([done(1, 99_000)], ['ci-1'])],
    [[], [1]],
  ],
  ['tells of each attempt', [plan([running(1, 1)]), plan([running(1, 2)]), plan([])], [[], [1], [1]]],
  [
    'waits for the next plan when there is none',
    [plan([running(1)]), undefined, plan([running(1)]), undefined, plan([])],
    [[], [], [], [], [1]],
  ],
  ['is silent of one that is still listed, whoever runs it', [waiting, plan([foreign]), plan([])], [[], [], []]],
  ['is silent of those on runners of others', [plan([]), plan([done(1)], ['ci-2'])], [[], []]],
  ['is silent of those that had ended before the first plan', [undefined, before, before], [[], [], []]],
  // A look lists no completed jobs while nothing is queued or runs.
  [
    'is silent of those that had ended before the first plan and are listed only later',
    [plan([]), later, later],
    [[], [3], []],
  ],
])('the list of ended CI jobs %s', (_, plans, expected) => {
  expect(reconciles(...plans)).toEqual(expected);
});

it('a job that two Applications have served has ended for both: a runner of either may have run it', () => {
  const collector = new EndedJobs();
  const take = (each: Plan) => {
    const planning = { is: 'planned', plan: each, atMs: 100_000 } as const;
    return collector.take(['a', 'b'].map((application) => ({ application, planning }))).map(({ job: { id } }) => id);
  };

  expect([waiting, plan([]), plan([])].map(take)).toEqual([[], [1, 1], []]);
});
