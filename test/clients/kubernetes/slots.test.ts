/** Law L18 (docs/spec.md): what the annotations of a Job say about its slots. */
import { expect, test } from 'vitest';
import { judgeJob } from '../../../src/clients/kubernetes/judge-job.ts';
import { KubeJob } from '../../../src/clients/kubernetes/resources.ts';
import { jobAnnotations } from '../../../src/plan/output-of-plan.ts';

function read(annotations: Readonly<Record<string, string>>) {
  const metadata = {
    namespace: 'runners',
    name: 'x',
    uid: 'u',
    creationTimestamp: '2026-11-21T03:38:00Z',
    annotations,
  };
  const { size, weight, limits, scope, registeredAt, boundTo } = judgeJob(KubeJob.parse({ metadata }), []);
  return { size, weight, limits, scope, registeredAt, boundTo };
}

test('what is printed is read', () => {
  const slots = { size: 'large', weight: 4, limits: ['gpus', 'team-web'], scope: 'acme/web' };

  expect(read(jobAnnotations({ pinned: false, ...slots }))).toEqual(slots);
});

test.each([
  ['org:acme', undefined],
  ['repo:acme/Web.App', 'acme/Web.App'],
])('a runner that serve registers at %s is bound to %s', (registeredAt, boundTo) => {
  expect(read(jobAnnotations({ pinned: false, registeredAt }))).toEqual({ registeredAt, boundTo });
});

test('a runner without a size and without limits says nothing', () => {
  expect(Object.values(read(jobAnnotations({ pinned: false }))).filter((value) => value !== undefined)).toEqual([]);
});

test.each(['four', '0', '-1', '4.5', '100000', ' 4'])('a weight of %j counts as the largest', (weight) => {
  expect(read({ 'gitea.bpg.pw/weight': weight }).weight).toBe(10_000);
});
