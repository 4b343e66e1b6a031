/** Law V92 (docs/spec.md): a size is no way around a policy, nor around what holds without one. */
import { expect, test } from 'vitest';
import { check } from '../../../src/config/policy/check.ts';
import { refuseByDefault } from '../../../src/config/policy/without-policy.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { failureOf } from '../../support/failure-of.ts';
import { runnerGroup } from '../../support/runner-group.ts';
import { BY_HAND } from './support.ts';

const withTemplate = (spec: object, over: Partial<RunnerGroup> = {}): RunnerGroup =>
  runnerGroup({
    sizes: [
      { name: 'a', weight: 1 },
      { name: 'large', weight: 4, podTemplate: { spec } },
    ],
    ...over,
  });

test('the policy holds for the podTemplate of a size, and says where it stands', () => {
  const group = withTemplate({
    priorityClassName: 'high',
    serviceAccountName: 'admin',
    containers: [{ name: 'runner', image: 'evil.example.com/x' }],
  });

  const denials = check({ images: ['docker.io/gitea/runner'], priorityClasses: ['low'] }, [group], BY_HAND);

  expect(denials.map(({ rule, path }) => `${rule} ${path}`)).toEqual([
    'images spec.image',
    'images spec.sizes[1].podTemplate.spec.containers[0].image',
    'priorityClasses spec.sizes[1].podTemplate.spec.priorityClassName',
    'serviceAccounts spec.sizes[1].podTemplate.spec.serviceAccountName',
  ]);
});

test('what is wrong with the group is told once, however many sizes it has', () => {
  const group = withTemplate({}, { podTemplate: { spec: { priorityClassName: 'high' } } });

  const denials = check({ priorityClasses: [] }, [group], BY_HAND);

  expect(denials.map(({ path }) => path)).toEqual(['spec.podTemplate.spec.priorityClassName']);
});

test('without a policy a size has no service account either', async () => {
  const failure = await failureOf(refuseByDefault([withTemplate({ serviceAccountName: 'admin' })]));

  expect(failure.code).toBe('GR-POLICY-03');
  expect(failure.message).toContain('spec.sizes.1.podTemplate.spec.serviceAccountName');
});
