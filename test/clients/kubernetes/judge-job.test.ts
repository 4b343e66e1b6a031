import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { judgeJob } from '../../../src/clients/kubernetes/judge-job.ts';
import { KubeJob, KubePod } from '../../../src/clients/kubernetes/resources.ts';

interface Part {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}
interface Case {
  readonly case: string;
  readonly job: Part;
  readonly pods?: readonly Part[];
  readonly state: string;
  readonly trouble?: object;
  readonly end?: object;
  readonly priorityClass?: string;
  readonly created?: string;
  readonly stillSince?: string;
  readonly runningSince?: string;
  readonly endsBy?: string;
  readonly disruption?: object;
  readonly finishedAt?: string;
  readonly pinned?: boolean;
}

const text = readFileSync(new URL('fixtures/judge.yaml', import.meta.url), 'utf8');
const cases = parseAllDocuments(text)
  .map((each) => each.toJS() as Case | null)
  .filter((each) => each !== null);

function complete(part: Part, uid: string): object {
  const metadata = {
    name: 'ci-1',
    namespace: 'runners',
    uid,
    creationTimestamp: '2026-11-20T10:00:00Z',
    ...part.metadata,
  };
  return { ...part, metadata };
}

test.each(cases.map((each) => [each.case, each] as const))('%s', (_, each) => {
  const {
    job,
    pods = [],
    state,
    trouble,
    created = '2026-11-20T10:00:00Z',
    end,
    priorityClass,
    stillSince,
    runningSince,
    endsBy,
    disruption,
    finishedAt,
    pinned,
  } = each;
  const judged = judgeJob(
    KubeJob.parse(complete(job, 'job')),
    pods.map((pod, index) => KubePod.parse(complete(pod, `pod-${index}`))),
  );

  expect(judged).toEqual({
    namespace: 'runners',
    name: 'ci-1',
    state,
    createdAtMs: Date.parse(created),
    ...(trouble && { trouble }),
    ...(end && { end }),
    ...(priorityClass !== undefined && { priorityClass }),
    ...(stillSince !== undefined && { stillSinceMs: Date.parse(stillSince) }),
    ...(runningSince !== undefined && { runningSinceMs: Date.parse(runningSince) }),
    ...(endsBy !== undefined && { endsByMs: Date.parse(endsBy) }),
    ...(disruption && { disruption }),
    ...(finishedAt !== undefined && { finishedAtMs: Date.parse(finishedAt) }),
    ...(pinned && { pinned }),
  });
});

test('the fixtures were read', () => {
  expect(cases.length).toBeGreaterThan(20);
});

test.each<[string, Readonly<Record<string, string>>, object]>([
  [
    'times of a stay',
    {
      'gitea.bpg.pw/ended-at': '2026-11-20T10:00:00Z',
      'gitea.bpg.pw/keep-until': '2026-11-20T10:20:00Z',
      'gitea.bpg.pw/extend-until': '2026-11-20T12:00:00.75+01:00',
    },
    {
      endedAtMs: Date.UTC(2026, 10, 20, 10),
      keepUntilMs: Date.UTC(2026, 10, 20, 10, 20),
      extendUntilMs: Date.UTC(2026, 10, 20, 11),
    },
  ],
  ['a wish that is no time', { 'gitea.bpg.pw/extend-until': 'tomorrow' }, { extendUntilMs: 'unreadable' }],
  ['a wish that is no date', { 'gitea.bpg.pw/extend-until': '2026-13-41T00:00:00Z' }, { extendUntilMs: 'unreadable' }],
  ['an empty wish', { 'gitea.bpg.pw/extend-until': '' }, {}],
  ['our own marks when they are no times', { 'gitea.bpg.pw/ended-at': '1', 'gitea.bpg.pw/keep-until': '' }, {}],
])("the planner's evidence has %s from the annotations of a Job", (_, annotations, expected) => {
  const job = KubeJob.parse(complete({ metadata: { annotations } }, 'job'));
  const { endedAtMs, keepUntilMs, extendUntilMs } = judgeJob(job, []);

  expect(JSON.parse(JSON.stringify({ endedAtMs, keepUntilMs, extendUntilMs }))).toEqual(expected);
});
