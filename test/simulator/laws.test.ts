/** Laws of the simulated Gitea's queue, over random histories. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Gitea } from '../../simulator/gitea/gitea.ts';
import type { GiteaVersion } from '../../simulator/gitea/versions.ts';
import { VERSIONS } from './acme.ts';

const NAMES = ['push', 'poll', 'together', 'register', 'finish', 'cancel', 'rerun', 'clean', 'delete'] as const;
const LABELS = [['ubuntu-latest'], ['gpu'], ['ubuntu-latest', 'gpu']];

interface Step {
  readonly what: (typeof NAMES)[number];
  /** Picks the runner, job or labels. */
  readonly n: number;
}

interface Claim {
  readonly job: number;
  readonly attempt: number;
  readonly runner: number;
  /** The job's status before the claim. */
  readonly before: string | undefined;
}

/** Lets these runners ask for work together. */
type PollAll = (ids: readonly number[]) => void;

/** Effects of the steps. A step that is impossible at the moment has none. */
const ACTS: Record<Step['what'], (gitea: Gitea, n: number, pollAll: PollAll) => unknown> = {
  push: (gitea, n) => {
    const runsOn = LABELS[n % 2] ?? [];
    gitea.push('tom/toys', { jobs: [{ key: 'a', runsOn }, { key: 'b', runsOn, needs: ['a'] }, { key: 'c' }] });
  },
  register: (gitea, n) => gitea.register({ name: `r${n}`, scope: { kind: 'global' }, labels: LABELS[n % 3] ?? [] }),
  poll: (gitea, n, pollAll) => forOne(gitea.runners(), n, (id) => pollAll([id])),
  together: (gitea, _, pollAll) => pollAll(gitea.runners().map(({ id }) => id)),
  finish: (gitea, n) =>
    forOne(gitea.runners(), n, (id) => gitea.jobOfRunner(id) && gitea.finish(id, n ? 'success' : 'failure')),
  cancel: (gitea, n) => forOne(gitea.jobs(), n, (id) => gitea.cancelJob(id)),
  rerun: (gitea, n) =>
    forOne(gitea.jobs(), n, (id) => {
      const { runId } = gitea.job(id);
      if (gitea.jobsOfRun(runId).every(({ stopped }) => stopped > 0)) gitea.rerun(runId);
    }),
  delete: (gitea, n) => forOne(gitea.runners(), n, (id) => gitea.deleteRunner(id)),
  clean: (gitea) => gitea.cleanUp(),
};

function forOne(rows: readonly { readonly id: number }[], n: number, act: (id: number) => unknown): void {
  const row = rows[n % Math.max(rows.length, 1)];
  if (row) act(row.id);
}

/** Plays a history and tells which claims there were. */
function play(
  version: GiteaVersion,
  steps: readonly Step[],
): { readonly gitea: Gitea; readonly claims: readonly Claim[] } {
  let now = 1_000_000_000_000;
  const gitea = new Gitea(version, () => now);
  gitea.addUser('tom');
  gitea.addRepo('tom/toys');
  const claims: Claim[] = [];
  const pollAll: PollAll = (ids) => {
    const before = new Map(gitea.jobs().map((job) => [job.id, job.status]));
    gitea.pollTogether(ids).forEach((job, index) => {
      if (job) claims.push({ job: job.id, attempt: job.attempt, runner: ids[index] ?? 0, before: before.get(job.id) });
    });
  };
  for (const { what, n } of steps) {
    now += 700;
    ACTS[what](gitea, n, pollAll);
  }
  return { gitea, claims };
}

const version = fc.constantFrom(...VERSIONS);
const steps = fc.array(fc.record({ what: fc.constantFrom(...NAMES), n: fc.nat(5) }), { minLength: 20, maxLength: 60 });

function expectUnique(values: readonly unknown[]): void {
  expect(new Set(values).size).toBe(values.length);
}

it('hands out only ready jobs, each once per attempt, and each runner gets one', () => {
  fc.assert(
    fc.property(version, steps, (of, history) => {
      const { claims } = play(of, history);

      expect(claims.map(({ before }) => before).filter((status) => status !== 'waiting')).toEqual([]);
      expectUnique(claims.map(({ job, attempt }) => `${job}/${attempt}`));
      expectUnique(claims.map(({ runner }) => runner));
    }),
  );
});

it('a running job is on exactly one runner, and a queued or blocked one on none', () => {
  fc.assert(
    fc.property(version, steps, (of, history) => {
      const { gitea } = play(of, history);

      for (const job of gitea.jobs()) {
        const claimed = job.status === 'running' || job.status === 'cancelling';
        if (claimed) expect(job.taskId).toBeGreaterThan(0);
        if (job.status === 'waiting' || job.status === 'blocked') expect(job.taskId).toBe(0);
      }
      expectUnique(gitea.jobs().flatMap(({ taskId }) => (taskId > 0 ? taskId : [])));
    }),
  );
});

it('jobs are claimed in these histories', () => {
  const sample = fc.sample(fc.tuple(version, steps), { numRuns: 100, seed: 1 });

  expect(Math.max(...sample.map(([of, history]) => play(of, history).claims.length))).toBeGreaterThan(3);
});
