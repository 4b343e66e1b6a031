/** Which next step comes first, how often it is told, and whom a person asks who may not do it. */
import { expect, it } from 'vitest';
import { askText, stuckAdvice } from '../../src/answers/answer.ts';
import { advicesFor, oncePerCause } from '../../src/answers/causes.ts';
import type { ExplainedGroup, ExplainedJob, Explanation } from '../../src/answers/model.ts';
import { HELD } from '../../src/answers/reasons.ts';
import { jobTable } from '../../src/cli/explain/explain-text.ts';
import type { EmittedRunner } from '../../src/planner/decisions.ts';
import { job, ORIGIN } from '../support/scenario.ts';

const GROUP = { namespace: 'runners', name: 'ci' };
const held = (id: number, more: object = {}) =>
  ({
    job: job(id),
    origin: ORIGIN,
    verdict: 'held',
    because: 'cap',
    group: GROUP,
    cap: 1,
    state: 'held',
    ...more,
  }) as ExplainedJob;
const stuck = (runner: string): EmittedRunner => ({
  ...{ emit: true, runner, group: GROUP, because: 'own-runner', pinned: false },
  trouble: { reason: 'ImagePullBackOff', message: 'x: not found', isLate: true },
});
const group = (file: string) => ({ ...GROUP, file }) as ExplainedGroup;
const explanation = (more: object): Explanation =>
  ({ checkedAt: '2026-12-01T00:00:00Z', groups: [], jobs: [], runners: [], ...more }) as unknown as Explanation;

it('the step that helps most jobs comes first, and steps that help as many keep their order', () => {
  expect(oncePerCause(['a', 'b', 'c', 'b', 'd'])).toEqual(['b', 'a', 'c', 'd']);
});

it('a runner that cannot start helps the jobs that wait for its slot, too', () => {
  const stepsFor = stuckAdvice({ runners: [stuck('ci-1-1-00000000')] });

  expect(stepsFor(held(2))).toEqual([expect.stringMatching(/^ImagePullBackOff: correct the image/)]);
  expect(stepsFor(held(2, { group: { ...GROUP, name: 'other' } }))).toEqual([]);
  expect(stepsFor(held(2, { because: 'suspended' }))).toEqual([]);
});

it('a job that waits for what git has is told one step: to bring it to the cluster', () => {
  const behindGit = { why: 'x', next: 'argocd app sync runners', isUnserved: true };
  const uncovered = held(1, { because: 'labels-not-covered', missing: ['gpu'], behindGit });

  expect(HELD['labels-not-covered'].advice?.(uncovered as never, undefined)).toEqual([behindGit.next]);
  expect(advicesFor([uncovered], () => [])).toEqual([behindGit.next]);
});

it('a cause is told once for a run, and again for another run', () => {
  const cannot = { because: 'labels-not-covered', missing: ['gpu'], group: undefined, nearest: GROUP };
  const of = (id: number, name: string, runId: number) => held(id, { ...cannot, job: job(id, { name, runId }) });
  const jobs = [of(1, 'build', 7), of(2, 'test', 7), of(3, 'build', 8)];

  const rows = jobTable(explanation({ jobs }), { colour: false }).trim().split('\n').slice(1);

  expect(rows).toHaveLength(3);
  expect(rows[0]).toContain('labels not covered: gpu');
  expect(rows[1]).toMatch(/ as job 1$/);
  expect(rows[2]).toContain('labels not covered: gpu');
  expect(jobTable(explanation({ jobs }), { colour: false, wide: true })).not.toContain('as job 1');
});

it('a person who may start no pod reads whom to ask', () => {
  const groups = [group('folder groups of https://git.acme/ci.git')];

  expect(askText(explanation({ groups, where: { readOnly: ['runners'] } }))).toBe(
    'you may not create pods in namespace runners, so others do this: whoever merges into folder groups of https://git.acme/ci.git, and who runs the cluster',
  );
  expect(askText(explanation({ groups, where: { readOnly: ['other'] } }))).toBeUndefined();
  expect(askText(explanation({ groups, where: {} }))).toBeUndefined();
  expect(askText(explanation({ groups: [group('runners/ci')], where: { readOnly: ['runners'] } }))).toContain(
    'whoever merges into RunnerGroup runners/ci,',
  );
});
