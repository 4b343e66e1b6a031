/** Each Gitea counts its jobs from 1, and one Application may have groups of two (law V208). */
import { expect, it } from 'vitest';
import { explanationOf } from '../../src/answers/explanation.ts';
import { jobTable } from '../../src/cli/explain/explain-text.ts';
import { runnerGroup } from '../support/runner-group.ts';
import { evidenceOfScene, group, job, live, NOW, named, planScene } from '../support/scenario.ts';

const OTHER = 'https://other.example.com';
const groups = [group(), group({ name: 'other', origin: OTHER, look: 'other' })];
const [ci = group(), other = ci] = groups;
const written = groups.map(({ name, namespace, origin }) => runnerGroup({ name, namespace, giteaUrl: origin }));
const failed = { finishedAtMs: NOW - 1_000, trouble: { reason: 'RegistrationFailed' } };

/** Explains job 7 of each Gitea. @param of the group whose runner for job 7 has failed */
function explain(of: typeof ci) {
  const scene = {
    groups,
    looks: { acme: { jobs: [job(7)], runners: [] }, other: { jobs: [job(7)], runners: [] } },
    liveJobs: [live(named(of, 7), 'failed', { ...failed, createdAtMs: NOW - 900_000 })],
  };
  const seen = { groups, evidence: evidenceOfScene(scene), suspended: new Map() };
  const explanation = explanationOf(written, planScene(scene), NOW, seen);
  return { explanation, jobs: new Map(explanation.jobs.map((each) => [each.origin, each])) };
}

it('a job is not told how the runner of another Gitea ended, whose job has the same id', () => {
  const { jobs } = explain(ci);

  expect(jobs.get(ci.origin)).toMatchObject({ ended: { reason: 'RegistrationFailed' } });
  expect(jobs.get(OTHER)).not.toHaveProperty('ended');
});

it('a job waits no longer for its runner because the runner of another Gitea ended, whose job has the same id', () => {
  const [jobs, without] = [ci, other].map((of) => explain(of).jobs.get(OTHER));

  expect(jobs?.verdict).toBe('served');
  expect(jobs?.waitUntilMs).toBe((jobs?.job.createdAtMs ?? 0) + (written[1]?.spawnTimeoutSeconds ?? 0) * 1000);
  expect(without).toMatchObject({ ended: { reason: 'RegistrationFailed' } });
});

it('`-o wide` has a row for each of two jobs with the same id', () => {
  const rows = jobTable(explain(ci).explanation, { colour: false, wide: true }).split('\n');

  expect(rows.filter((line) => line.startsWith('7 '))).toHaveLength(2);
});
