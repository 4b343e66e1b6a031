/** Law V39 (docs/spec.md): what counts as the loss of a runner. */
import { expect, test } from 'vitest';
import { endToldBy, lossOf, podEndOf } from '../../../src/clients/kubernetes/kube-pods.ts';
import { KubeJob, KubePod } from '../../../src/clients/kubernetes/resources.ts';

const META = { name: 'ci-1', namespace: 'runners', uid: 'u', creationTimestamp: '2026-11-20T10:00:00Z' };
const DELETED = { ...META, deletionTimestamp: '2026-11-20T11:00:00Z' };

function jobWith(type?: string, reason?: string, metadata: object = META): KubeJob {
  return KubeJob.parse({ metadata, status: { conditions: type ? [{ type, status: 'True', reason }] : [] } });
}

function podWith(status: object, metadata: object = META): KubePod {
  return KubePod.parse({ metadata, status });
}

/** The runner container has ended like this. */
function ended(exitCode: number, reason: string, more: object = {}): KubePod {
  const containerStatuses = [{ name: 'runner', state: { terminated: { exitCode, reason } } }];
  return podWith({ phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses, ...more });
}

const disrupted = (reason: string) => ({ conditions: [{ type: 'DisruptionTarget', status: 'True', reason }] });
const failed = jobWith('Failed', 'BackoffLimitExceeded');

test.each([
  ['evicted through the Eviction API', ended(137, 'Error', disrupted('EvictionByEvictionAPI')), 'Evicted'],
  [
    'evicted by the kubelet, short of memory or disk',
    ended(137, 'Error', { reason: 'Evicted', ...disrupted('TerminationByKubelet') }),
    'Evicted',
  ],
  ['evicted by an older kubelet', ended(137, 'Error', { reason: 'Evicted' }), 'Evicted'],
  ['preempted by the scheduler', ended(137, 'Error', disrupted('PreemptionByScheduler')), 'Preempted'],
  [
    'preempted by the kubelet',
    ended(137, 'Error', { reason: 'Preempting', ...disrupted('TerminationByKubelet') }),
    'Preempted',
  ],
  ['on a node that shut down', ended(143, 'Error', { reason: 'Terminated' }), 'NodeLost'],
  ['on a node that was removed', podWith({ phase: 'Failed', ...disrupted('DeletionByPodGC') }), 'NodeLost'],
  ['OOM-killed', ended(137, 'OOMKilled'), 'OOMKilled'],
])('a failed Job whose pod was %s has lost its runner', (_, pod, reason) => {
  expect(lossOf(failed, [pod])).toBe(reason);
});

test('a failed Job without a pod has lost its runner: somebody deleted the pod', () => {
  expect(lossOf(failed, [])).toBe('PodDeleted');
});

test('a failed Job whose pods are in another cluster has lost no runner: its pod was never to be seen here', () => {
  expect(lossOf({ ...failed, spec: { managedBy: 'kueue.x-k8s.io/multikueue' } }, [])).toBeUndefined();
});

test('a runner that Kueue takes from another cluster is lost as one whose node does not answer: it may live there', () => {
  const metadata = { ...META, labels: { 'kueue.x-k8s.io/queue-name': 'team-a' }, generation: 3 };
  const stopped = (managedBy?: string) => KubeJob.parse({ metadata, spec: { suspend: true, managedBy } });

  expect(lossOf(stopped('kueue.x-k8s.io/multikueue'), [])).toBe('NodeLost');
  expect(podEndOf(stopped('kueue.x-k8s.io/multikueue'), [])?.message).toBe('Kueue has taken it from its cluster');
  expect(lossOf(stopped(), [])).toBe('Preempted');
});

test('a Job that is complete has lost its runner, too: the dind images end with exit code 0', () => {
  expect(lossOf(jobWith('Complete'), [ended(0, 'OOMKilled')])).toBe('OOMKilled');
});

test('a pod on a node that does not answer has lost its runner, although it never ends', () => {
  const containerStatuses = [{ name: 'runner', state: { running: {} } }];
  const conditions = [
    { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
    { type: 'Ready', status: 'False' },
  ];
  const pod = (status: string) =>
    podWith({ phase: 'Running', containerStatuses, conditions: [conditions[0], { type: 'Ready', status }] }, DELETED);

  expect(lossOf(jobWith(), [podWith({ phase: 'Running', containerStatuses, conditions }, DELETED)])).toBe('NodeLost');
  // Its kubelet answers: the runner has time to end its CI job.
  expect(lossOf(jobWith(), [pod('True')])).toBeUndefined();
});

test.each([
  ['works', jobWith(), [podWith({ phase: 'Running' })]],
  [
    'is drained and may end its CI job',
    jobWith(),
    [podWith({ phase: 'Running', ...disrupted('EvictionByEvictionAPI') }, DELETED)],
  ],
  ['has ended by itself', jobWith('Complete'), [ended(0, 'Completed')]],
  ['crashed', failed, [ended(1, 'Error')]],
  ['was killed by a process of its pod', failed, [ended(137, 'Error')]],
  ['lived longer than activeDeadlineSeconds', jobWith('Failed', 'DeadlineExceeded'), []],
  ['is removed by Argo CD', jobWith('Failed', 'BackoffLimitExceeded', DELETED), [ended(137, 'OOMKilled')]],
  ['is complete, its pod removed', jobWith('Complete'), []],
  [
    'was evicted from a Job that has not ended',
    jobWith('Suspended'),
    [ended(137, 'Error', disrupted('EvictionByEvictionAPI'))],
  ],
  [
    'is that of a Job which had failed once',
    KubeJob.parse({ metadata: META, status: { conditions: [{ type: 'Failed', status: 'False' }] } }),
    [],
  ],
])('a runner that %s is not lost', (_, job, pods) => {
  expect(lossOf(job, pods)).toBeUndefined();
});

const running = { containerStatuses: [{ name: 'runner', state: { running: {} } }] };
const byTaint = disrupted('DeletionByTaintManager');

/** Law V94 (docs/spec.md). */
test.each([
  ['its container has ended', ended(137, 'OOMKilled'), 'kubelet'],
  ['its container has ended, and another one of the pod runs', ended(0, 'Completed', { phase: 'Running' }), 'kubelet'],
  ['evicted by a kubelet that tells no containers', podWith({ phase: 'Failed', reason: 'Evicted' }), 'kubelet'],
  ['closed by a kubelet that tells no containers', podWith({ phase: 'Succeeded' }), 'kubelet'],
  [
    'closed because its node was removed',
    podWith({ phase: 'Failed', ...running, ...disrupted('DeletionByPodGC') }),
    'others',
  ],
  [
    'closed because its node was removed, and tells no containers',
    podWith({ phase: 'Failed', ...disrupted('DeletionByPodGC') }),
    'others',
  ],
  [
    'closed because its node is said to be out of service',
    podWith({ phase: 'Failed', ...running, ...byTaint }, DELETED),
    'others',
  ],
  ['on a node that does not answer', podWith({ phase: 'Running', ...running, ...byTaint }, DELETED), undefined],
  [
    'told to stop',
    podWith({ phase: 'Running', ...running, ...disrupted('EvictionByEvictionAPI') }, DELETED),
    undefined,
  ],
  ['at work', podWith({ phase: 'Running', ...running }), undefined],
  ['not started yet', podWith({ phase: 'Pending' }), undefined],
  ['not reported by the kubelet yet', podWith({}), undefined],
])('the end of a runner that is %s', (_, pod, by) => {
  expect(endToldBy(pod)).toBe(by);
});
