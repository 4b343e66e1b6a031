/** Law T2. test/servers/pods.test.ts shows that Kubernetes refuses these, too. */
import { expect, it } from 'vitest';
import { checkPod } from '../../../src/config/pods/check-pod.ts';
import type { Mapping } from '../../../src/config/pods/pod-schema.ts';
import { FULL_TEMPLATE, ourTemplate } from './full-template.ts';
import { DROPPED, MISTAKES } from './mistakes.ts';

const told = (template: Mapping): readonly string[] =>
  checkPod(ourTemplate(), template).map(({ path }) => path.join('.'));

it('checkPod has nothing to say of good templates', () => {
  expect(told(FULL_TEMPLATE)).toEqual([]);
  expect(told({})).toEqual([]);
});

it.each([...MISTAKES, ...DROPPED])('checkPod finds $at', ({ template, at }) => {
  expect(told(template)).toEqual([at]);
});

it('checkPod lets a template mount our volumes, and a container of ours have no image', () => {
  const containers = [{ name: 'runner', volumeMounts: [{ mountPath: '/scratch', name: 'data', subPath: 'scratch' }] }];

  expect(told({ spec: { containers } })).toEqual([]);
});
