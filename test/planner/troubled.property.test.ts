/** P18 as properties: any groups, any evidence, and one of the groups cannot be planned. */
import { expect } from 'vitest';
import type { Plan } from '../../src/planner/decisions.ts';
import { type Evidence, type Group, liveJobsOf } from '../../src/planner/evidence.ts';
import { plan } from '../support/plan.ts';
import { test } from '../support/property.ts';
import { anyScene, changeLooks, type Scene, withLiveJobs } from './any-scene.ts';

/** Makes a scene whose groups read one look, with the first group in trouble. */
function inTrouble({ groups, evidence: seen }: Scene) {
  const [first, ...others] = groups.map((group): Group => ({ ...group, look: 'one' }));
  if (!first) throw new Error('no group');
  const isOwn = ({ name }: { readonly name: string }): boolean => name.startsWith(`${first.name}-`);
  return { first, others, seen, isOwn, planned: plan(others, { ...seen, troubled: [first] }) };
}

function runnersOf({ runners }: Plan, isMeant: (name: string) => boolean) {
  return runners.filter(({ group }) => isMeant(group.name));
}

function withoutRunnersOf({ name }: Group, evidence: Evidence): Evidence {
  const isOwn = (runner: string): boolean => runner.startsWith(`${name}-`);
  const others = changeLooks(evidence, ({ jobs, runners }) => ({
    jobs: jobs.map((job) => (job.runner !== undefined && isOwn(job.runner) ? { ...job, runner: 'stranger' } : job)),
    runners: runners.filter((row) => !isOwn(row.name)),
  }));
  return withLiveJobs(
    others,
    liveJobsOf(evidence).filter((live) => !isOwn(live.name)),
  );
}

test('P18 each live Job of a troubled group is kept, once, and nothing else of it is printed', [anyScene], (scene) => {
  const { first, seen, isOwn, planned } = inTrouble(scene);
  const kept = runnersOf(planned, (name) => name === first.name);

  expect(kept.map(({ runner }) => runner)).toEqual(
    liveJobsOf(seen)
      .filter(isOwn)
      .map(({ name }) => name)
      .sort(),
  );
  for (const decision of kept) expect(decision).toMatchObject({ emit: true, skip: true, because: 'group-in-trouble' });
});

test('P18 a troubled group without runners is a full group to all others', [anyScene], (scene) => {
  const { first, others, seen } = inTrouble(scene);
  // Its runners would tell when jobs became ready.
  const evidence = withoutRunnersOf(first, seen);
  // The first owner of a job counts the turns of repositories, and may be full. A group in trouble owns none.
  const byAge = others.map((group): Group => ({ ...group, fairness: 'oldest' }));
  const full = plan([{ ...first, fairness: 'oldest', maxActiveRunners: 0, priorityTiers: [] }, ...byAge], evidence);
  const planned = plan(byAge, { ...evidence, troubled: [first] });

  expect(planned.runners).toEqual(full.runners);
});

test('P18 a troubled group of another Gitea changes nothing for all others', [anyScene], (scene) => {
  const { first, others, seen, planned } = inTrouble(scene);
  const elsewhere = { ...first, origin: 'https://other.example.com', look: 'other' };
  const looks = new Map([...seen.looks, ['other', { jobs: [], runners: [] }] as const]);
  const seenThere = plan([elsewhere, ...others], { ...seen, looks });
  const isOther = (name: string): boolean => name !== first.name;
  // Its Jobs were not printed for jobs of this Gitea.
  if (liveJobsOf(seen).some(({ name, jobUrl }) => jobUrl && name.startsWith(`${first.name}-`))) return;

  expect(runnersOf(planned, isOther)).toEqual(runnersOf(seenThere, isOther));
});
