/** Laws V94 and V122 (docs/spec.md): memory of the ends of runners, and owners of names. */
import { expect, it } from 'vitest';
import { KubePod } from '../../../src/clients/kubernetes/resources.ts';
import { isNameTaken, MOST_ENDS, RunnerEnds } from '../../../src/serve/cluster/live-cluster.ts';

const STATES = {
  running: { phase: 'Running', containerStatuses: [{ name: 'runner', state: { running: {} } }] },
  ended: { phase: 'Failed', containerStatuses: [{ name: 'runner', state: { terminated: { exitCode: 137 } } }] },
  closed: { phase: 'Failed', containerStatuses: [{ name: 'runner', state: { running: {} } }] },
};

function pod(name: string, state: keyof typeof STATES): KubePod {
  const metadata = { name: `${name}-x`, namespace: 'runners', uid: name, creationTimestamp: '2026-11-20T10:00:00Z' };
  const ownerReferences = [{ kind: 'Job', name, uid: name }];
  return KubePod.parse({ metadata: { ...metadata, ownerReferences }, status: STATES[state] });
}

function noted(...pods: readonly KubePod[]): RunnerEnds {
  const ends = new RunnerEnds();
  for (const each of pods) ends.note(each);
  return ends;
}

it('the end of a pod is known after it has gone', () => {
  expect(noted(pod('a', 'running'), pod('a', 'ended')).toldBy('runners/a', undefined)).toBe('kubelet');
  expect(noted(pod('a', 'closed')).toldBy('runners/a', undefined)).toBe('others');
  expect(noted(pod('a', 'running')).toldBy('runners/a', undefined)).toBeUndefined();
  expect(noted(pod('a', 'ended')).toldBy('runners/b', undefined)).toBeUndefined();
});

it('a pod of the same name that works takes it back', () => {
  expect(noted(pod('a', 'ended'), pod('a', 'running')).toldBy('runners/a', undefined)).toBeUndefined();
});

it('all pods that are there must have ended', () => {
  const ends = noted(pod('a', 'ended'));

  expect(ends.toldBy('runners/a', [pod('a', 'ended')])).toBe('kubelet');
  expect(ends.toldBy('runners/a', [pod('a', 'ended'), pod('a', 'running')])).toBeUndefined();
  expect(ends.toldBy('runners/a', [pod('a', 'ended'), pod('a', 'closed')])).toBe('others');
});

it(`${MOST_ENDS} ends are remembered, the newest`, () => {
  const ends = noted(...Array.from({ length: MOST_ENDS + 1 }, (_, nth) => pod(`job${nth}`, 'ended')));

  expect(ends.toldBy('runners/job0', undefined)).toBeUndefined();
  expect(ends.toldBy('runners/job1', undefined)).toBe('kubelet');
  expect(ends.toldBy(`runners/job${MOST_ENDS}`, undefined)).toBe('kubelet');
});

it.each([
  ['no pod', [], false],
  ['its own pod', [pod('new', 'running')], false],
  ['the pod of another Job that runs', [pod('new', 'running'), pod('old', 'running')], true],
  ['the pod of another Job that has ended', [pod('old', 'ended'), pod('new', 'running')], false],
  ['the pod of another Job on a node that is gone', [pod('old', 'closed')], true],
])('the name of a Job with %s', (_, pods, isTaken) => {
  expect(isNameTaken(pods, 'new')).toBe(isTaken);
});

it('the name of a Job that is not there is taken while its pod runs', () => {
  expect([isNameTaken([pod('old', 'running')], ''), isNameTaken(undefined, '')]).toEqual([true, false]);
});
