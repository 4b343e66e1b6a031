/**
 * Tests the judgement of pods of runners: their place, and how far they have come. Also the annotations of their Jobs.
 */
import { expect, it, test } from 'vitest';
import { judgeJob } from '../../../src/clients/kubernetes/judge-job.ts';
import {
  hasComeBack,
  podEndOf,
  podPlaces,
  podStep,
  troubleOfPending,
} from '../../../src/clients/kubernetes/kube-pods.ts';
import { KubeJob, KubePod } from '../../../src/clients/kubernetes/resources.ts';
import { JOB_URL, REPOSITORY, TRACKING_ID } from '../../../src/shared/marks.ts';

const META = { name: 'ci-1-x', namespace: 'runners', uid: 'u', creationTimestamp: '2026-11-20T10:00:00Z' };

function podWith(status: object, metadata: object = {}, spec: object = {}): KubePod {
  return KubePod.parse({ metadata: { ...META, ...metadata }, spec, status });
}

function ownedBy(kind: string): object {
  return { ownerReferences: [{ kind, name: 'ci-1', uid: 'j' }] };
}

const owned = ownedBy('Job');

it('the place of a runner is its newest pod, in whatever order they are listed', () => {
  const old = podWith({}, { ...owned, name: 'old' }, { nodeName: 'one' });
  const fresh = podWith({}, { ...owned, name: 'fresh', creationTimestamp: '2026-11-20T10:00:01Z' });

  for (const pods of [
    [old, fresh],
    [fresh, old],
  ])
    expect(podPlaces(pods)).toEqual(new Map([['runners/ci-1', { pod: 'fresh' }]]));
  expect(podPlaces([old])).toEqual(new Map([['runners/ci-1', { pod: 'old', node: 'one' }]]));
});

it('the place of a runner is not that of a pod which no Job has made', () => {
  expect(podPlaces([podWith({}), podWith({}, ownedBy('ReplicaSet'))])).toEqual(new Map());
});

it('the place of a runner without a node names none', () => {
  expect([...podPlaces([podWith({}, owned)]).values()]).toStrictEqual([{ pod: 'ci-1-x' }]);
});

const register = (state: object) => ({ initContainerStatuses: [{ name: 'setup' }, { name: 'register', state }] });
const runner = (state: object) => ({ containerStatuses: [{ name: 'runner', state }] });
const scheduled = { conditions: [{ type: 'PodScheduled', status: 'True' }] };

it.each([
  ['without a node is created', {}, 'created'],
  ['with a node is scheduled', scheduled, 'scheduled'],
  ['whose first init container runs is scheduled', { ...scheduled, ...register({ waiting: {} }) }, 'scheduled'],
  ['that registers its runner is registering', { ...scheduled, ...register({ running: {} }) }, 'registering'],
  ['that could not register its runner is registering', register({ terminated: { exitCode: 1 } }), 'registering'],
  ['that has registered its runner is registered', register({ terminated: { exitCode: 0 } }), 'registered'],
  [
    'whose runner runs has started',
    { ...register({ terminated: { exitCode: 0 } }), ...runner({ running: {} }) },
    'started',
  ],
  ['whose runner has run has started', runner({ terminated: { exitCode: 1 } }), 'started'],
  ['whose runner waits is scheduled', { ...scheduled, ...runner({ waiting: {} }) }, 'scheduled'],
])('a pod %s', (_, status, step) => {
  expect(podStep(podWith(status))).toBe(step);
});

it('a pod of a runner that was lost has come back once its node answers', () => {
  const deleted = { deletionTimestamp: '2026-11-20T11:00:00Z' };
  const taint = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' };
  const ready = { type: 'Ready', status: 'True' };
  const runs = runner({ running: {} });
  const back = podWith({ ...runs, conditions: [taint, ready] }, deleted);

  expect(hasComeBack([podWith({}), back])).toBe(true);
  for (const pod of [
    podWith({ ...runs, conditions: [taint] }, deleted),
    podWith({ ...runs, conditions: [ready] }, deleted),
    podWith({ ...runs, conditions: [taint, ready] }),
    podWith({ conditions: [taint, ready] }, deleted),
    podWith({ ...runs, conditions: [{ ...taint, reason: 'EvictionByEvictionAPI' }, ready] }, deleted),
  ])
    expect(hasComeBack([pod])).toBe(false);
});

const waits = (reason: string, message: string, more: object = {}) =>
  podWith({ initContainerStatuses: [{ name: 'docker', state: { waiting: { reason, message } }, ...more }] });
const messageOf = (pod: KubePod) => troubleOfPending(pod).trouble?.message;

it.each([
  [
    'Back-off pulling image "a/b:1": ErrImagePull: failed to pull and unpack image "a/b:1": failed to copy: httpReadSeeker: failed open: unexpected status code https://r/v2/a: 429 Too Many Requests',
    'a/b:1: unexpected status code https://r/v2/a: 429 Too Many Requests',
  ],
  [
    'Failed to pull image "r.io/b:2": rpc error: code = Unknown desc = failed to pull and unpack image "r.io/b:2": failed to resolve reference "r.io/b:2": pull access denied',
    'r.io/b:2: pull access denied',
  ],
  ['failed to pull and unpack image "r/c:3": failed to resolve reference "r/c:3": zzz', 'r/c:3: zzz'],
  ['Back-off pulling image "a/b:1"', 'Back-off pulling image "a/b:1"'],
  ['zzz', 'zzz'],
])('the trouble of a pod is told without what the container runtime writes around it: %s', (message, told) => {
  expect(messageOf(waits('ImagePullBackOff', message))).toBe(told);
});

it('the trouble of a pod keeps the end of long words: the cause stands there', () => {
  expect(messageOf(waits('ImagePullBackOff', `a${'b'.repeat(9_999)} the cause`))).toMatch(/^ab{50,} … b+ the cause$/);
});

it('the trouble of a container that crashes again and again says how it ended last', () => {
  const last = { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } };

  expect(messageOf(waits('CrashLoopBackOff', 'back-off 40s restarting', last))).toBe(
    'container docker ended with exit code 137 (OOMKilled): back-off 40s restarting',
  );
  expect(messageOf(waits('CrashLoopBackOff', 'back-off 40s restarting'))).toBe('back-off 40s restarting');
});

it('the trouble of a container that crashes again and again has its last words in place of those of the kubelet', () => {
  const message = 'level=error msg="zzz"\nfailed to start daemon: no iptables\nstopped\n';
  const last = { lastState: { terminated: { exitCode: 1, reason: 'Error', message } } };

  expect(messageOf(waits('CrashLoopBackOff', 'back-off 40s restarting', last))).toBe(
    'container docker ended with exit code 1: failed to start daemon: no iptables',
  );
});

it('the end of a runner that has failed has its last error', () => {
  const message = 'level=info msg="Starting runner daemon"\nlevel=error msg="Docker connection failed: zzz"\n';
  const terminated = { exitCode: 1, reason: 'Error', message };
  const failed = KubeJob.parse({ metadata: META, status: { conditions: [{ type: 'Failed', status: 'True' }] } });
  const pod = podWith({ phase: 'Failed', containerStatuses: [{ name: 'runner', state: { terminated } }] });

  expect(podEndOf(failed, [pod])).toEqual({
    reason: 'RunnerFailed',
    message: 'container runner ended with exit code 1: Docker connection failed: zzz',
  });
});

it.each([
  [
    'time="t" level=error msg="Cannot ping the server" error="unavailable: dial \\"x\\": refused"\nTry 10 of 10 to register failed.\nNot registered: the lines above say why.',
    ': unavailable: dial "x": refused',
  ],
  [
    'level=error msg="Failed to register runner: not found"\nTry 1 of 10 to register failed.',
    ': Failed to register runner: not found',
  ],
  // Word for word what runner 1.0.8 writes when Gitea refuses the token.
  [
    'level=debug msg="Successfully pinged the Gitea instance server"\nlevel=error msg="poller: cannot register new runner" error="invalid_argument: runner registration token not found"\nError: Failed to register runner: invalid_argument: runner registration token not found\nTry 10 of 10 to register failed.\n',
    ': invalid_argument: runner registration token not found',
  ],
  ['level=error msg="Cannot ping" error=EOF\n', ': EOF'],
  ['Error: failed to register: zzz\nTry 1 of 10 to register failed.', ': Error: failed to register: zzz'],
  [
    'Not registered: the registration Secret is for another Gitea.',
    ': Not registered: the registration Secret is for another Gitea.',
  ],
  ['', ''],
])('the trouble of a pod that could not register says why: %s', (message, told) => {
  const registered = {
    initContainerStatuses: [{ name: 'register', state: { terminated: { exitCode: 1, message } } }],
  };
  const failed = { conditions: [{ type: 'Failed', status: 'True' }] };
  const job = KubeJob.parse({ metadata: META, status: failed });

  expect(podEndOf(job, [podWith({ phase: 'Failed', ...registered })])).toEqual({
    reason: 'RegistrationFailed',
    message: `container register ended with exit code 1${told}`,
  });
});

it('the trouble of a pod that a node has refused is told before its Job has failed', () => {
  const told = { reason: 'UnexpectedAdmissionError', message: 'no healthy devices' };
  const judged = (status: object) => judgeJob(KubeJob.parse({ metadata: META }), [podWith(status)]);

  expect(judged({ phase: 'Failed', ...told })).toMatchObject({ state: 'failed', trouble: told });
  expect(judged({ phase: 'Failed', ...told, reason: 'Evicted' }).trouble).toBeUndefined();
});

test('words of Kubernetes are cut: they go into the status and into Events', () => {
  const message = 'x'.repeat(5_000);
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
  const failed = { conditions: [{ type: 'Failed', status: 'True' }] };
  const evicted = podWith({ phase: 'Failed', reason: 'Evicted', message });

  expect(troubleOfPending(podWith({ conditions })).trouble?.message).toHaveLength(300);
  expect(podEndOf(KubeJob.parse({ metadata: META, status: failed }), [evicted])?.message).toHaveLength(300);
});

const read = (annotations: object, containers?: unknown) =>
  judgeJob(KubeJob.parse({ metadata: { ...META, annotations }, spec: { template: { spec: { containers } } } }), []);
const withEnv = (...env: readonly object[]) => [{ name: 'docker' }, { name: 'runner', env }];

it('a Job tells the page and the repository of its CI job, its Gitea and its Application', () => {
  const [jobUrl, repository] = ['https://gitea.example.com/acme/web/actions/runs/1', 'acme/web'];
  const annotations = { [JOB_URL]: jobUrl, [REPOSITORY]: repository, [TRACKING_ID]: 'ci:batch/Job:runners/ci-1-x' };
  const gitea = { name: 'GITEA_INSTANCE_URL', value: 'https://gitea.example.com' };

  expect(read(annotations, withEnv({ name: 'HOME', value: '/' }, gitea))).toMatchObject({
    jobUrl,
    repository,
    giteaUrl: 'https://gitea.example.com',
    application: 'ci',
  });
});

it.each([
  ['a copy of it names the original', { [TRACKING_ID]: 'ci:batch/Job:runners/ci-2-x' }],
  ['its mark names no Application', { [TRACKING_ID]: ':batch/Job:runners/ci-1-x' }],
  ['Argo CD has not marked it', {}],
])('a Job has no Application when %s', (_, annotations) => {
  expect(read(annotations)).not.toHaveProperty('application');
});

it.each([[undefined], ['runner'], [withEnv({ name: 'GITEA_INSTANCE_URL', value: 7 })], [withEnv()]])(
  'a Job with containers %j tells no Gitea',
  (containers) => {
    expect(read({}, containers)).not.toHaveProperty('giteaUrl');
  },
);

it('a Job with two pods of one second is judged the same, in whatever order they are listed', () => {
  const job = KubeJob.parse({ metadata: META });
  const [a, b] = [
    podWith({ phase: 'Failed' }, { uid: 'a' }),
    podWith({ phase: 'Running', containerStatuses: [{ name: 'runner', state: { running: {} } }] }, { uid: 'b' }),
  ];

  expect(judgeJob(job, [a, b])).toEqual(judgeJob(job, [b, a]));
});
