/** Laws P48 and P51 (docs/spec.md): what a Job of a queue shows, and that Kueue has stopped it. */
import { describe, expect, it } from 'vitest';
import { judgeJob } from '../../../src/clients/kubernetes/judge-job.ts';
import { lossOf } from '../../../src/clients/kubernetes/kube-pods.ts';
import { KubeJob, KubePod } from '../../../src/clients/kubernetes/resources.ts';

const BORN = '2026-11-20T10:00:00Z';
const LATER = '2026-11-20T12:30:00Z';
const at = (text: string): number => Date.parse(text);
const META = { name: 'ci-1', namespace: 'runners', uid: 'job', creationTimestamp: BORN };

interface Shown {
  readonly queue?: string | undefined;
  readonly generation?: number;
  readonly suspend?: boolean;
  /** Status of the condition `Suspended`, which changed at `LATER`. */
  readonly suspended?: 'True' | 'False';
}

function jobOf({ queue = 'team-a', generation = 1, suspend = true, suspended }: Shown): KubeJob {
  const labels = queue === '' ? {} : { 'kueue.x-k8s.io/queue-name': queue };
  const conditions = suspended
    ? [{ type: 'Suspended', status: suspended, message: 'Job suspended', lastTransitionTime: LATER }]
    : [];
  return KubeJob.parse({ metadata: { ...META, labels, generation }, spec: { suspend }, status: { conditions } });
}

/** A pod whose runner runs, or not yet. */
function podOf(runs: boolean, isEnding = false): KubePod {
  const state = runs ? { running: { startedAt: LATER } } : { waiting: {} };
  const ending = isEnding ? { deletionTimestamp: LATER } : {};
  return KubePod.parse({
    metadata: { ...META, name: 'ci-1-x', uid: 'pod', ...ending },
    status: { phase: runs ? 'Running' : 'Pending', containerStatuses: [{ name: 'runner', state }] },
  });
}

it('a Job that waits in a queue tells its queue, and that it waits there', () => {
  expect(judgeJob(jobOf({ suspended: 'True' }), [])).toMatchObject({
    state: 'starting',
    queue: 'team-a',
    createdAtMs: at(BORN),
    trouble: { reason: 'Suspended', message: 'Job suspended', isSuspended: true, queue: 'team-a' },
  });
  expect(judgeJob(jobOf({ queue: '', suspended: 'True' }), [])).not.toHaveProperty('queue');
});

it('a Job that waits in a queue counts from when it was let start: its wait is no fault of its pod', () => {
  const started = jobOf({ generation: 2, suspend: false, suspended: 'False' });

  expect(judgeJob(started, [podOf(true)])).toMatchObject({ state: 'running', createdAtMs: at(LATER) });
  expect(judgeJob(started, [])).toMatchObject({ state: 'starting', createdAtMs: at(LATER) });
  expect(judgeJob(jobOf({ queue: '', suspend: false, suspended: 'False' }), [podOf(true)]).createdAtMs).toBe(at(LATER));
});

describe('a Job that Kueue has stopped', () => {
  const stopped = jobOf({ generation: 3, suspended: 'True' });
  const again = jobOf({ generation: 4, suspend: false, suspended: 'False' });

  it.each<[string, KubeJob, readonly KubePod[], string]>([
    ['has ended when its pod has gone', stopped, [], 'failed'],
    ['has ended when Kueue lets it start again', again, [], 'failed'],
    ['has ended also when a second pod is about to start', again, [podOf(false)], 'failed'],
    ['is going while its pod ends that had not started', stopped, [podOf(false, true)], 'deleting'],
    ['is going while its runner may end its CI job', stopped, [podOf(true, true)], 'deleting'],
    ['runs when its second pod has started: it may have a CI job', again, [podOf(true)], 'running'],
  ])('%s', (_, job, pods, state) => {
    expect(judgeJob(job, pods)).toMatchObject({ state, isStopped: true });
  });

  it.each<[string, KubeJob]>([
    ['a Job that waits', jobOf({})],
    ['a Job that was let start', jobOf({ generation: 2, suspend: false })],
    ['a Job of no queue that somebody suspends and lets go', jobOf({ queue: '', generation: 5 })],
  ])('a Job that Kueue has stopped is not %s', (_, job) => {
    expect(judgeJob(job, [])).not.toHaveProperty('isStopped');
    expect(judgeJob(job, []).state).toBe('starting');
    expect(lossOf(job, [])).toBeUndefined();
  });

  it('a Job that Kueue has stopped has lost its runner when its pod has gone, and not while that may end its CI job', () => {
    expect(lossOf(stopped, [])).toBe('Preempted');
    expect(lossOf(stopped, [podOf(true, true)])).toBeUndefined();
  });
});
