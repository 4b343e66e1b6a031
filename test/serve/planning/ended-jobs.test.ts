import { expect, it } from 'vitest';
import type { JobDecision, Plan, RunnerDecision } from '../../../src/plan/decisions.ts';
import type { Job, JobStatus } from '../../../src/plan/evidence.ts';
import { EndedJobs } from '../../../src/serve/planning/ended-jobs.ts';

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

function done(id: number): JobDecision {
  return { job: job(id, 'completed'), origin, verdict: 'done' };
}

function plan(jobs: readonly JobDecision[], runners: readonly string[] = []): Plan {
  const drop = (runner: string): RunnerDecision => ({ emit: false, runner, group, because: 'used-up' });
  return { groups: [], jobs, runners: runners.map(drop) };
}

/** Ids of the jobs that each round tells of. */
function rounds(...plans: readonly (Plan | undefined)[]): readonly (readonly number[])[] {
  const ended = new EndedJobs();
  return plans.map((each) =>
    ended.take([{ application: 'a', ...(each && { plan: each }) }]).map(({ job: { id } }) => id),
  );
}

it('tells of a job that was running and is no longer, once', () => {
  expect(rounds(plan([running(1)]), plan([]), plan([done(1)], ['ci-1']), plan([]))).toEqual([[], [1], [], []]);
});

it('tells of a job that came and went between two looks', () => {
  expect(rounds(plan([]), plan([done(1)], ['ci-1']), plan([done(1)], ['ci-1']))).toEqual([[], [1], []]);
});

it('tells of a job that waited for a runner and is gone', () => {
  expect(rounds(plan([served(1)], ['ci-1']), plan([served(1)], ['ci-1']), plan([]), plan([]))).toEqual([
    [],
    [],
    [1],
    [],
  ]);
});

it('does not tell of a job that is still listed, whoever runs it', () => {
  const foreign: JobDecision = { job: job(1, 'in_progress'), origin, verdict: 'running' };

  expect(rounds(plan([served(1)], ['ci-1']), plan([foreign]), plan([]))).toEqual([[], [], []]);
});

it('does not tell of jobs that had ended before the first plan', () => {
  expect(rounds(undefined, plan([done(1)], ['ci-1']), plan([done(1)], ['ci-1']))).toEqual([[], [], []]);
});

it('does not tell of jobs on runners of others', () => {
  expect(rounds(plan([]), plan([done(1)], ['ci-2']))).toEqual([[], []]);
});

it('waits for the next plan when there is none', () => {
  expect(rounds(plan([running(1)]), undefined, plan([running(1)]), undefined, plan([]))).toEqual([[], [], [], [], [1]]);
});

it('tells of each attempt', () => {
  expect(rounds(plan([running(1, 1)]), plan([running(1, 2)]), plan([]))).toEqual([[], [1], [1]]);
});
