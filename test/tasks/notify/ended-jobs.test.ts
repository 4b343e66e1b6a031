import { expect, it } from 'vitest';
import type { JobDecision, Plan, RunnerDecision } from '../../../src/planner/decisions.ts';
import type { Job, JobStatus } from '../../../src/planner/evidence.ts';
import { EndedJobs } from '../../../src/tasks/notify/job-ends.ts';

const group = { namespace: 'runners', name: 'ci' };
const origin = 'https://gitea.example.com';

function job(id: number, status: JobStatus, attempt = 1): Job {
  const more = { runId: 1, repository: 'acme/web', name: 'build', url: '', labels: ['linux'], createdAtMs: 0 };
  return { id, attempt, status, runner: `ci-${id}`, ...more };
}

function running(id: number, attempt = 1): JobDecision {
  return { job: job(id, 'in_progress', attempt), origin, verdict: 'running', group };
}

function served(id: number): JobDecision {
  const { runner: _, ...waiting } = job(id, 'queued');
  return { job: waiting, origin, verdict: 'served', by: 'own-runner', group, runner: `ci-${id}` };
}

/** @param atMs when it completed; the first plan of `reconciles` is of 100 s, and each further one is a second later. */
function done(id: number, atMs = 100_500): JobDecision {
  return { job: { ...job(id, 'completed'), completedAtMs: atMs }, origin, verdict: 'done' };
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

it('tells of a job that was running and is no longer, once', () => {
  expect(reconciles(plan([running(1)]), plan([]), plan([done(1)], ['ci-1']), plan([]))).toEqual([[], [1], [], []]);
});

it('tells of a job that came and went between two looks', () => {
  expect(reconciles(plan([]), plan([done(1)], ['ci-1']), plan([done(1)], ['ci-1']))).toEqual([[], [1], []]);
});

it('tells of a job that waited for a runner and is gone', () => {
  expect(reconciles(plan([served(1)], ['ci-1']), plan([served(1)], ['ci-1']), plan([]), plan([]))).toEqual([
    [],
    [],
    [1],
    [],
  ]);
});

it('does not tell of a job that is still listed, whoever runs it', () => {
  const foreign: JobDecision = { job: job(1, 'in_progress'), origin, verdict: 'running' };

  expect(reconciles(plan([served(1)], ['ci-1']), plan([foreign]), plan([]))).toEqual([[], [], []]);
});

it('does not tell of jobs that had ended before the first plan', () => {
  const shown = plan([done(1, 101_000), done(2, 103_000)], ['ci-1', 'ci-2']);

  expect(reconciles(undefined, shown, shown)).toEqual([[], [], []]);
});

it('does not tell of jobs that had ended before the first plan and are listed only later', () => {
  // A look lists no completed jobs while nothing is queued or runs.
  const later = plan([done(1, 99_000), done(2, 100_000), done(3, 101_000)], ['ci-1', 'ci-2', 'ci-3']);

  expect(reconciles(plan([]), later, later)).toEqual([[], [3], []]);
});

it('tells of a job that was running at the first plan, whatever time Gitea gives', () => {
  expect(reconciles(plan([running(1)]), plan([done(1, 99_000)], ['ci-1']))).toEqual([[], [1]]);
});

it('does not tell of jobs on runners of others', () => {
  expect(reconciles(plan([]), plan([done(1)], ['ci-2']))).toEqual([[], []]);
});

it('waits for the next plan when there is none', () => {
  expect(reconciles(plan([running(1)]), undefined, plan([running(1)]), undefined, plan([]))).toEqual([
    [],
    [],
    [],
    [],
    [1],
  ]);
});

it('tells of each attempt', () => {
  expect(reconciles(plan([running(1, 1)]), plan([running(1, 2)]), plan([]))).toEqual([[], [1], [1]]);
});
