/** Law P17 as properties: any groups, any evidence, also evidence that contradicts itself. */
import { describe, expect } from 'vitest';
import { LONGEST_KEEP_MS } from '../../src/planner/debugging.ts';
import type { EmittedRunner, Plan } from '../../src/planner/decisions.ts';
import { type Job, type LiveJob, liveJobsOf } from '../../src/planner/evidence.ts';
import { fc, test } from '../support/property.ts';
import { NOW } from '../support/scenario.ts';
import { anyScene, changeLooks, looksOf, planOf, type Scene, withLiveJobs } from './any-scene.ts';

const anyTime = fc.oneof(fc.integer({ min: -90_000, max: 90_000 }), fc.integer({ min: -2_000, max: 2_000 }));
const anyStay = fc.record({
  keepSeconds: fc.constantFrom(undefined, 1, 600, 86_400),
  failed: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
  printed: fc.array(fc.option(anyTime, { nil: undefined }), { minLength: 8, maxLength: 8 }),
  extended: fc.array(fc.oneof(fc.constantFrom(undefined, 'unreadable' as const), anyTime), {
    minLength: 8,
    maxLength: 8,
  }),
});

/** Any scene whose groups keep failed runners, whose completed jobs may have failed, and whose Jobs may have a stay. */
const anyKeptScene = fc.record({ scene: anyScene, stay: anyStay }).map(({ scene, stay }): Scene => {
  const at = (seconds: number): number => NOW + seconds * 1000;
  const groups = scene.groups.map((group) => ({
    ...group,
    ...(stay.keepSeconds !== undefined && { keepFailedMs: stay.keepSeconds * 1000 }),
  }));
  const withEnd = (job: Job): Job =>
    job.status === 'completed' && stay.failed[job.id % 8] ? { ...job, conclusion: 'failure' } : job;
  const withStay = (live: LiveJob, nth: number): LiveJob => {
    const [printed, extended] = [stay.printed[nth % 8], stay.extended[nth % 8]];
    return {
      ...live,
      ...(printed !== undefined && { endedAtMs: at(printed), keepUntilMs: at(printed + 60) }),
      ...(extended !== undefined && { extendUntilMs: extended === 'unreadable' ? extended : at(extended) }),
    };
  };
  const evidence = changeLooks(scene.evidence, (look) => ({ ...look, jobs: look.jobs.map(withEnd) }));
  return { groups, evidence: withLiveJobs(evidence, liveJobsOf(evidence).map(withStay)) };
});

function debugging(planned: Plan): readonly EmittedRunner[] {
  return planned.runners.filter((each): each is EmittedRunner => each.emit && each.because === 'debugging');
}

describe('for any groups and any evidence', () => {
  test('P17 a runner stays within its time, at most 24 hours after the failure, pinned', [anyKeptScene], (scene) => {
    for (const { keep, pinned, runner } of debugging(planOf(scene))) {
      const { endedAtMs = 0, untilMs = 0 } = keep ?? {};
      const live = liveJobsOf(scene.evidence).find(({ name }) => name === runner);
      expect(pinned).toBe(true);
      expect(live?.state).toMatch(/^(?:running|unknown|starting)$/);
      expect(untilMs).toBeGreaterThan(NOW);
      expect(untilMs - endedAtMs).toBeLessThanOrEqual(LONGEST_KEEP_MS);
    }
  });

  test('P17 a runner whose failure is known stays until its time is over', [anyKeptScene], (scene) => {
    const planned = planOf(scene);
    const looks = looksOf(scene);
    const jobs = looks.flatMap((look) => look.jobs);
    const works = (name: string): boolean =>
      jobs.some(({ runner, status }) => runner === name && status !== 'completed');
    /** True if the CI job did not fail, as Gitea shows now. */
    const isOver = (name: string): boolean =>
      jobs.some(
        ({ runner, status, conclusion }) => runner === name && status === 'completed' && conclusion !== 'failure',
      );
    const registered = (name: string): boolean =>
      looks.some(({ runners }) => runners.some((row) => row.name === name && row.online));
    for (const { name, state, endedAtMs } of liveJobsOf(scene.evidence)) {
      const keepMs = scene.groups.find((group) => name.startsWith(`${group.name}-`))?.keepFailedMs;
      if (keepMs === undefined || endedAtMs === undefined || state !== 'running') continue;
      if (endedAtMs > NOW || endedAtMs + keepMs <= NOW || works(name) || isOver(name) || registered(name)) continue;
      expect(planned.runners).toContainEqual(
        expect.objectContaining({ runner: name, because: 'debugging', pinned: true }),
      );
    }
  });

  test(
    'P3 with runners that stay no group emits more than its cap, unless that many work or stay',
    [anyKeptScene],
    (scene) => {
      const planned = planOf(scene);
      for (const { name, suspend, maxActiveRunners } of scene.groups) {
        const out = planned.runners.flatMap((each) => (each.emit && each.group.name === name ? each.because : []));
        const records = ['lost', 'unpinning', 'back-off-record', 'foreign'];
        const slots = out.filter((because) => !records.includes(because)).length;
        const taken = out.filter((because) => ['busy', 'finishing', 'debugging'].includes(because)).length;
        expect(slots).toBeLessThanOrEqual(Math.max(taken, suspend ? 0 : maxActiveRunners));
      }
    },
  );

  test('P17 no job is served by a runner that stays', [anyKeptScene], (scene) => {
    const planned = planOf(scene);
    const names = new Set(debugging(planned).map(({ runner }) => runner));
    for (const decision of planned.jobs) {
      if (decision.verdict === 'served') expect(names.has(decision.runner)).toBe(false);
    }
  });
});
