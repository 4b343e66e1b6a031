import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Gitea } from '../../model/gitea/gitea.ts';
import type { GiteaVersion } from '../../model/gitea/versions.ts';

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

function pollAll(gitea: Gitea, ids: readonly number[]): Claim[] {
  const before = new Map(gitea.jobs().map((job) => [job.id, job.status]));
  return gitea.pollTogether(ids).flatMap((job, index) => {
    return job ? [{ job: job.id, attempt: job.attempt, runner: ids[index] ?? 0, before: before.get(job.id) }] : [];
  });
}

/** What each step does; a step that makes no sense at the moment does nothing. */
const ACTS: Record<Step['what'], (gitea: Gitea, n: number) => Claim[] | undefined> = {
  push: (gitea, n) => {
    const runsOn = LABELS[n % 2] ?? [];
    gitea.push('tom/toys', { jobs: [{ key: 'a', runsOn }, { key: 'b', runsOn, needs: ['a'] }, { key: 'c' }] });
    return undefined;
  },
  register: (gitea, n) => {
    gitea.register({ name: `r${n}`, scope: { kind: 'global' }, labels: LABELS[n % 3] ?? [] });
    return undefined;
  },
  poll: (gitea, n) => pollAll(gitea, pick(gitea.runners(), n)),
  together: (gitea) =>
    pollAll(
      gitea,
      gitea.runners().map(({ id }) => id),
    ),
  finish: (gitea, n) => {
    for (const id of pick(gitea.runners(), n)) if (gitea.jobOfRunner(id)) gitea.finish(id, n ? 'success' : 'failure');
    return undefined;
  },
  cancel: (gitea, n) => {
    for (const id of pick(gitea.jobs(), n)) gitea.cancelJob(id);
    return undefined;
  },
  rerun: (gitea, n) => {
    for (const id of pick(gitea.jobs(), n)) {
      const { runId } = gitea.job(id);
      if (gitea.jobsOfRun(runId).every(({ stopped }) => stopped > 0)) gitea.rerun(runId);
    }
    return undefined;
  },
  delete: (gitea, n) => {
    for (const id of pick(gitea.runners(), n)) gitea.deleteRunner(id);
    return undefined;
  },
  clean: (gitea) => {
    gitea.cleanUp();
    return undefined;
  },
};

function pick(rows: readonly { readonly id: number }[], n: number): number[] {
  const row = rows[n % Math.max(rows.length, 1)];
  return row ? [row.id] : [];
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
  const claims = steps.flatMap(({ what, n }) => {
    now += 700;
    return ACTS[what](gitea, n) ?? [];
  });
  return { gitea, claims };
}

const version: fc.Arbitrary<GiteaVersion> = fc.constantFrom('1.25.4', '1.26.0', '1.27.3');
const step: fc.Arbitrary<Step> = fc.record({ what: fc.constantFrom(...NAMES), n: fc.nat(5) });
const histories = [version, fc.array(step, { minLength: 20, maxLength: 60 })] as const;

it('never hands a job out twice in one attempt', () => {
  fc.assert(
    fc.property(...histories, (version, steps) => {
      const { claims } = play(version, steps);

      const stays = claims.map(({ job, attempt }) => `${job}/${attempt}`);
      expect(new Set(stays).size).toBe(stays.length);
    }),
  );
});

it('never gives an ephemeral runner a second job', () => {
  fc.assert(
    fc.property(...histories, (version, steps) => {
      const { claims } = play(version, steps);

      const runners = claims.map(({ runner }) => runner);
      expect(new Set(runners).size).toBe(runners.length);
    }),
  );
});

it('never hands out a job that was not ready', () => {
  fc.assert(
    fc.property(...histories, (version, steps) => {
      const { claims } = play(version, steps);

      expect(claims.map(({ before }) => before).filter((status) => status !== 'waiting')).toEqual([]);
    }),
  );
});

it('keeps a running job on exactly one runner, and a queued or blocked one on none', () => {
  fc.assert(
    fc.property(...histories, (version, steps) => {
      const { gitea } = play(version, steps);

      for (const job of gitea.jobs()) {
        const claimed = job.status === 'running' || job.status === 'cancelling';
        if (claimed) expect(job.taskId).toBeGreaterThan(0);
        if (job.status === 'waiting' || job.status === 'blocked') expect(job.taskId).toBe(0);
      }
      const tasks = gitea
        .jobs()
        .map((job) => job.taskId)
        .filter((id) => id > 0);
      expect(new Set(tasks).size).toBe(tasks.length);
    }),
  );
});

it('does claim jobs in these histories', () => {
  const claims = fc
    .sample(fc.tuple(...histories), { numRuns: 100, seed: 1 })
    .map(([v, steps]) => play(v, steps).claims.length);

  expect(Math.max(...claims)).toBeGreaterThan(3);
});
