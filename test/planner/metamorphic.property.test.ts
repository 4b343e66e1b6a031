/** Laws that compare two plans: what may change the answer, and what may not. Order of inputs: P8 in laws.property.test.ts. */
import { describe, expect } from 'vitest';
import type { Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import {
  type Evidence,
  type Group,
  type Job,
  type LiveJob,
  type Look,
  liveJobsOf,
} from '../../src/planner/evidence.ts';
import { plan } from '../support/plan.ts';
import { fc, test } from '../support/property.ts';
import { done, emitted, group, job, live, NOW, named, row, running } from '../support/scenario.ts';
import { anyScene, changeLooks, planOf, type Scene, withLiveJobs } from './any-scene.ts';

function addLook({ groups, evidence }: Scene, of: Group, look: Look, liveJobs: readonly LiveJob[] = []): Scene {
  const looks = new Map([...evidence.looks, [of.look, look]]);
  return {
    groups: [...groups, of],
    evidence: withLiveJobs({ ...evidence, looks }, [...liveJobsOf(evidence), ...liveJobs]),
  };
}

/** The plan without one group and without the jobs with ids from 1000 on, which the scenes do not use. */
function planWithout(name: string, scene: Scene): Plan {
  const { groups, jobs, runners } = planOf(scene);
  return {
    groups: groups.filter(({ group: of }) => of.name !== name),
    jobs: jobs.filter(({ job: { id } }) => id < 1_000),
    runners: runners.filter(({ group: of }) => of.name !== name),
  };
}

const namesOf = (planned: Plan, kept: (decision: RunnerDecision) => boolean): readonly string[] =>
  planned.runners.filter(kept).map(({ runner }) => runner);
/** A runner, also a lost one, may look like a stranger's after the labels of its group were changed. It stays, too. */
const BUSY = new Set(['busy', 'lost', 'foreign']);
const busyIn = (planned: Plan) => namesOf(planned, ({ because }) => BUSY.has(because));
const outputOf = (planned: Plan) => namesOf(planned, ({ emit }) => emit);

/**
 * The job, with current times: it does not prove that Gitea was up in the last minute, and so tells nothing about
 * silent runners.
 */
const now = ({ startedAtMs, completedAtMs, ...of }: Job): Job => ({
  ...of,
  createdAtMs: NOW,
  ...(startedAtMs !== undefined && { startedAtMs: NOW }),
  ...(completedAtMs !== undefined && { completedAtMs: NOW }),
});

describe('for any groups and any evidence, nothing changes for the others', () => {
  const other = group({ name: 'other', look: 'other', scope: 'repo', maxActiveRunners: 2 });
  const theirJobs = [job(1_001), job(1_002), job(1_003), running(1_004, named(other, 1_001)), done(1_005, 'x')];
  const theirs: Look = { jobs: theirJobs.map(now), runners: [row(named(other, 1_001), { busy: true })] };
  const theirJob = live(named(other, 1_002), 'starting');

  test('a group with jobs of its own changes nothing for others', [anyScene], (scene) => {
    expect(planWithout(other.name, addLook(scene, other, theirs, [theirJob]))).toEqual(planOf(scene));
  });

  test('a group of another Gitea with the same job ids changes nothing for others', [anyScene], (scene) => {
    const elsewhere = { ...other, origin: 'https://two.example.com' };
    const sameIds = { jobs: [job(1), job(2), running(3, named(elsewhere, 1)), done(4, 'x')], runners: [] };
    const { jobs, ...rest } = planWithout(other.name, addLook(scene, elsewhere, sameIds));

    expect({ ...rest, jobs: jobs.filter(({ origin }) => origin !== elsewhere.origin) }).toEqual(planOf(scene));
  });

  const unrelated = fc.constantFrom<Job>(
    job(1_001, { labels: ['mainframe'] }),
    job(1_002, { labels: ['linux'], status: 'blocked' }),
    running(1_003, 'build-host-1', { labels: ['mainframe'] }),
    done(1_004, 'build-host-2', { labels: ['mainframe'] }),
    job(1_005, { labels: ['mainframe'], status: 'completed' }),
  );
  test('a job that is not for our runners changes nothing', [anyScene, unrelated], (scene, added) => {
    const evidence = changeLooks(scene.evidence, (look) => ({ ...look, jobs: [...look.jobs, now(added)] }));

    expect(planWithout('', { ...scene, evidence })).toEqual(planOf(scene));
  });

  test('runners of somebody else change nothing', [anyScene, fc.boolean(), fc.boolean()], (scene, online, busy) => {
    const strangers = ['build-host-1', 'g0-1-1-cafe', 'g0-1-1-0000cafe', '', 'ci-1-1-49db25cc\n'];
    const rows = strangers.map((name, i) => row(name, { id: 90 + i, online, busy }));
    const evidence = changeLooks(scene.evidence, (look) => ({ ...look, runners: [...look.runners, ...rows] }));

    expect(plan(scene.groups, evidence)).toEqual(planOf(scene));
  });
});

describe('for any groups and any evidence, the plan is the same', () => {
  test(
    'the plan is the same when groups that shared a look get one each with the same content',
    [anyScene, fc.array(fc.boolean(), { minLength: 3, maxLength: 3 })],
    ({ groups, evidence }, apart) => {
      const looks = new Map([...evidence.looks].flatMap(([key, look]) => [[key, look] as const, [`${key} b`, look]]));
      const split = groups.map((of, i) => (apart[i] ? { ...of, look: `${of.look} b` } : of));

      expect(plan(split, { ...evidence, looks })).toEqual(plan(groups, evidence));
    },
  );

  test(
    'the plan is the same at another time, when everything happened by so much later',
    [anyScene, fc.nat(10_000_000_000)],
    (scene, byMs) => {
      const shift = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(shift);
        if (typeof value !== 'object' || value === null || value instanceof Map) return value;
        return Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [
            key,
            key.endsWith('AtMs') || key === 'untilMs' ? Number(inner) + byMs : shift(inner),
          ]),
        );
      };
      const evidence = changeLooks(scene.evidence, (look) => shift(look) as Look);
      const cluster = shift(evidence.cluster) as Evidence['cluster'];

      expect(plan(scene.groups, { ...evidence, cluster, nowMs: NOW + byMs })).toEqual(shift(planOf(scene)));
    },
  );
});

describe('for any groups and any evidence, busy runners stay', () => {
  test('busy runners stay when the rows of all others go offline', [anyScene], (scene) => {
    const planned = planOf(scene);
    const busy = new Set(busyIn(planned));
    const quiet = changeLooks(scene.evidence, (look) => ({
      ...look,
      runners: look.runners.map((of) => (busy.has(of.name) ? of : { ...of, online: false })),
    }));

    expect(busyIn(plan(scene.groups, quiet))).toEqual([...busy]);
  });

  test('busy runners stay when a cap, a suspension or labels change', [anyScene, fc.nat(9)], (scene, cap) => {
    const changed = scene.groups.map((of, i) => ({
      ...of,
      maxActiveRunners: cap,
      suspend: i === cap % 3,
      labels: cap % 2 === 0 ? of.labels : ['other'],
      templateHash: `t${cap}`,
    }));

    expect(busyIn(plan(changed, scene.evidence))).toEqual(busyIn(planOf(scene)));
  });
});

test(
  'a higher cap serves every job that a lower one served, unless it backs off or has a runner elsewhere',
  [anyScene, fc.nat(3)],
  (scene, by) => {
    // If repositories have taken turns in a replayed past, another cap gives another past.
    const groups = scene.groups
      .slice(0, 1)
      .map((of): Group => (scene.evidence.cluster.is === 'seen' ? of : { ...of, fairness: 'oldest' }));
    const served = (more: number): readonly number[] =>
      plan(
        groups.map((of) => ({ ...of, maxActiveRunners: of.maxActiveRunners + more })),
        scene.evidence,
      ).jobs.flatMap((decision) => {
        const excused = ['backing-off', 'served-elsewhere'];
        const kept = decision.verdict === 'held' ? excused.includes(decision.because) : decision.verdict === 'served';
        return kept ? [decision.job.id] : [];
      });

    expect(served(by)).toEqual(expect.arrayContaining([...served(0)]));
  },
);

/**
 * Returns the state of Kubernetes and Gitea after a plan: new Jobs start, dropped ones are gone and their rows offline.
 */
function applied(planned: Plan, { groups, evidence }: Scene): Scene {
  const known = new Map(liveJobsOf(evidence).map((of) => [of.name, of]));
  const decisions = new Map(planned.runners.map((decision) => [decision.runner, decision]));
  const kept = liveJobsOf(evidence).flatMap((live) => {
    const decision = decisions.get(live.name);
    if (decision?.emit) return [{ ...live, pinned: decision.pinned, jobUrl: decision.job?.url ?? '' }];
    // Used-up runners were busy, so their Jobs are pinned: Kubernetes' TTL removes them, not the plan.
    return !decision || decision.because === 'used-up' ? [live] : [];
  });
  const started = emitted(planned)
    // A skipped one is gone.
    .filter(({ runner, skip }) => !known.has(runner) && !skip)
    .map(({ runner, because, pinned, job }): LiveJob => {
      const state = because === 'busy' || because === 'finishing' ? 'running' : 'starting';
      return { namespace: 'runners', name: runner, state, createdAtMs: evidence.nowMs, pinned, jobUrl: job?.url ?? '' };
    });
  const after = withLiveJobs(evidence, [...kept, ...started]);
  const seen = changeLooks(after, (look) => ({
    ...look,
    runners: look.runners.map((of) => (decisions.get(of.name)?.emit === false ? { ...of, online: false } : of)),
  }));
  return { groups, evidence: seen };
}

/** Runners of other Applications are judged again after one of ours has come that can also serve the job. */
function withoutStrangers({ groups, evidence }: Scene): Scene {
  const isOurs = ({ name }: LiveJob): boolean => groups.some((of) => name.startsWith(`${of.name}-`));
  return { groups, evidence: withLiveJobs(evidence, liveJobsOf(evidence).filter(isOurs)) };
}

/**
 * A job in another one's place gets its own place with its runner: with several groups, that may move the turns of
 * others.
 */
function withoutTurns({ groups, evidence }: Scene): Scene {
  if (groups.length === 1) return { groups, evidence };
  return { groups: groups.map((of) => ({ ...of, fairness: 'oldest' })), evidence };
}

test(
  'an applied plan is a fixed point: nothing new starts, and only what was unpinned is dropped',
  [anyScene],
  (all) => {
    if (all.evidence.cluster.is === 'unseen') return;
    const scene = withoutTurns(withoutStrangers(all));
    const planned = planOf(scene);
    // The record of a failure goes with its Job, and with it a part of the back-off of others.
    if (planned.runners.some(({ emit, because }) => !emit && because === 'failed')) return;
    const unpinned = namesOf(planned, ({ because }) => because === 'unpinning');

    const next = planOf(applied(planned, scene));

    expect(outputOf(next)).toEqual(outputOf(planned).filter((name) => !unpinned.includes(name)));
    expect(next.runners.map(({ because }) => because)).not.toContain('unpinning');
  },
);
