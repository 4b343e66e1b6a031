/** Each rule of the choice, one at a time: a row that nothing keeps is dead, and one reason is enough to keep it. */
import { describe, expect, it } from 'vitest';
import {
  deadRegistrations,
  SIGHTINGS_APART_MS,
  type SweepEvidence,
  VANISHED_APART_MS,
} from '../../../src/tasks/sweep/choose.ts';
import { CI, evidence, GITEA, liveJob, ownName, row, runningJob, seenTwice, verdicts } from './scene.ts';

const NAME = ownName(7);

describe('a row of ours', () => {
  it('is dead when it was offline, without a job and without a Job, at both observations', () => {
    expect(seenTwice(evidence({ runners: [row(NAME)] })).get(NAME)).toBe('dead');
  });

  it.each(['complete', 'failed'] as const)('is dead when its Job is %s', (state) => {
    const scene = evidence({ runners: [row(NAME)] }, { liveJobs: [liveJob(NAME, state)] });

    expect(seenTwice(scene).get(NAME)).toBe('dead');
  });

  it.each(['starting', 'running', 'deleting', 'unknown'] as const)('stays while its Job is %s', (state) => {
    const scene = evidence({ runners: [row(NAME)] }, { liveJobs: [liveJob(NAME, state)] });

    expect(seenTwice(scene).get(NAME)).toBe('job-alive');
  });

  it('stays while a Job of its name lives in another namespace', () => {
    const live = { ...liveJob(NAME, 'running'), namespace: 'elsewhere' };

    expect(seenTwice(evidence({ runners: [row(NAME)] }, { liveJobs: [live] })).get(NAME)).toBe('job-alive');
  });

  it('stays when nobody looked at Kubernetes', () => {
    expect(seenTwice(evidence({ runners: [row(NAME)] }, { liveJobs: undefined })).get(NAME)).toBe('cluster-unseen');
  });

  it('stays while a job in progress names it', () => {
    const scene = evidence({ runners: [row(NAME)], jobs: [runningJob(NAME)] });

    expect(seenTwice(scene).get(NAME)).toBe('job-in-progress');
  });

  it('stays when a job in progress of another scope of the same Gitea names it', () => {
    const looks = new Map([
      ['acme', { runners: [row(NAME)], jobs: [] }],
      ['all', { runners: [], jobs: [runningJob(NAME)] }],
    ]);
    const groups = [CI, { ...CI, name: 'wide', look: 'all' }];

    expect(seenTwice(evidence({}, { looks, groups })).get(NAME)).toBe('job-in-progress');
  });

  it('is dead although a completed job names it', () => {
    const scene = evidence({ runners: [row(NAME)], jobs: [runningJob(NAME, { status: 'completed' })] });

    expect(seenTwice(scene).get(NAME)).toBe('dead');
  });

  it('stays while it is online, or said to be busy', () => {
    const [online, busy] = [ownName(1), ownName(2)];
    const runners = [row(online, { online: true }), row(busy, { id: 2, busy: true })];
    const liveJobs = [liveJob(online, 'running')];

    expect([...seenTwice(evidence({ runners }, { liveJobs })).values()]).toEqual(['online', 'online']);
  });

  it('stays while another row of its name is online', () => {
    const runners = [row(NAME), row(NAME, { id: 2, online: true })];

    const { registrations } = deadRegistrations(evidence({ runners }), new Map());

    expect(registrations.map(({ verdict }) => verdict)).toEqual([
      { is: 'kept', because: 'online' },
      { is: 'kept', because: 'online' },
    ]);
  });

  it('stays when it is not ephemeral', () => {
    expect(seenTwice(evidence({ runners: [row(NAME, { ephemeral: false })] })).get(NAME)).toBe('not-ephemeral');
  });
});

describe('two observations', () => {
  const scene = evidence({ runners: [row(NAME)] });
  const first = deadRegistrations(scene, new Map());

  it('are needed', () => {
    expect(verdicts(first).get(NAME)).toBe('seen-too-briefly');
  });

  it('must be far enough apart', () => {
    const soon = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS - 1 }, first.observations);
    const later = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS }, soon.observations);

    expect(verdicts(soon).get(NAME)).toBe('seen-too-briefly');
    expect(verdicts(later).get(NAME)).toBe('dead');
  });

  it.each([
    ['the row was online', { runners: [row(NAME, { online: true })] }, {}],
    ['the row was not listed', { runners: [] }, {}],
    ['its Job lived', { runners: [row(NAME)] }, { liveJobs: [liveJob(NAME, 'running')] }],
    ['nobody looked at Kubernetes', { runners: [row(NAME)] }, { liveJobs: undefined }],
    ['the id had another name', { runners: [row(ownName(8))] }, {}],
  ])('begin anew when in between %s', (_, look, over) => {
    const between = deadRegistrations(evidence(look, { ...over, nowMs: 40_000 }), first.observations);
    const later = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS }, between.observations);

    expect(verdicts(later).get(NAME)).toBe('seen-too-briefly');
  });

  it('of one Gitea say nothing about the same id on another', () => {
    const other = { ...CI, giteaUrl: 'https://other.example.com' };

    const later = deadRegistrations({ ...scene, groups: [other], nowMs: SIGHTINGS_APART_MS }, first.observations);

    expect(verdicts(later).get(NAME)).toBe('seen-too-briefly');
  });
});

describe('rows of others', () => {
  it.each([
    ['another tool', 'buildkite-agent-1'],
    ['a person', 'ci'],
    ['a name like ours with another group hash', NAME.replace(/-[0-9a-f]{4}(?=[0-9a-f]{4}$)/, '-0000')],
    ['a name like ours with something before it', `x${NAME}`],
    ['a name like ours with something behind it', `${NAME}0`],
    ['a name like ours in capitals', NAME.toUpperCase()],
    ['another instance on the same Gitea', ownName(7, CI, 'south')],
    ['a group of the same name in another namespace', ownName(7, { namespace: 'other', name: 'ci' })],
    ['a group that was not given', ownName(7, { namespace: 'runners', name: 'gpu' })],
  ])('are never judged: %s', (_, name) => {
    const { registrations, foreign } = deadRegistrations(evidence({ runners: [row(name)] }), new Map());

    expect(registrations).toEqual([]);
    expect(foreign).toBe(1);
  });

  it('are those of our name in a scope that is not its group’s, too', () => {
    const looks = new Map([['all', { runners: [row(NAME)], jobs: [] }]]);
    const groups = [CI, { ...CI, name: 'wide', look: 'all' }];

    expect(deadRegistrations(evidence({}, { looks, groups }), new Map()).registrations).toEqual([]);
  });
});

describe('a runner that is online without a Job', () => {
  const stray = ownName(1);
  const runners = [row(stray, { online: true }), row(NAME, { id: 2 })];

  it('keeps all rows of its group when it is seen so twice: this is not the cluster it lives in', () => {
    const later = deadRegistrations(
      evidence({ runners }, { nowMs: SIGHTINGS_APART_MS }),
      deadRegistrations(evidence({ runners }), new Map()).observations,
    );

    expect(later.registrations.map(({ name, verdict }) => [name, verdict])).toEqual([
      [stray, { is: 'kept', because: 'online' }],
      [NAME, { is: 'kept', because: 'group-elsewhere', witness: stray }],
    ]);
  });

  it('keeps nothing when it is seen so once: Gitea shows an ended runner as online for 60 s', () => {
    const before = deadRegistrations(evidence({ runners: [row(NAME, { id: 2 })] }), new Map());

    const later = deadRegistrations(evidence({ runners }, { nowMs: SIGHTINGS_APART_MS }), before.observations);

    expect(verdicts(later).get(NAME)).toBe('dead');
  });

  it('keeps no row of another group', () => {
    const gpu = { ...CI, name: 'gpu' };
    const ofGpu = ownName(3, gpu);

    const scene = evidence({ runners: [...runners, row(ofGpu, { id: 3 })] }, { groups: [CI, gpu] });

    expect(seenTwice(scene).get(ofGpu)).toBe('dead');
  });

  it('with a Job, even a finished one, is no stray', () => {
    const liveJobs = [liveJob(stray, 'complete')];

    expect(seenTwice(evidence({ runners }, { liveJobs })).get(NAME)).toBe('dead');
  });
});

it('a group whose look is missing has no verdicts, and the others have theirs', () => {
  const gpu = { ...CI, name: 'gpu', look: 'failed' };

  const found = seenTwice(evidence({ runners: [row(NAME)] }, { groups: [CI, gpu] }));

  expect([...found]).toEqual([[NAME, 'dead']]);
  expect(deadRegistrations(evidence({}, { groups: [gpu] }), new Map()).registrations).toEqual([]);
});

it('a row in two lists of one Gitea is judged once', () => {
  const look = { runners: [row(NAME)], jobs: [] };
  const looks = new Map([
    ['acme', look],
    ['all', look],
  ]);
  const groups = [CI, { ...CI, name: 'wide', look: 'all' }];

  const choice = deadRegistrations(evidence({}, { looks, groups }), new Map());

  expect(choice).toMatchObject({ foreign: 0, registrations: [{ id: 1, name: NAME, group: { giteaUrl: GITEA } }] });
});

describe('a row of a group that is gone', () => {
  const nameOf = (name: string, namespace = 'runners', instance?: string): string =>
    ownName(7, { namespace, name }, instance);
  const fateAfter = (ms: number, name: string, over: Partial<SweepEvidence> = {}): unknown => {
    const scene = evidence({ runners: [row(name)] }, { areAll: true, ...over });
    const first = deadRegistrations(scene, new Map());
    return verdicts(deadRegistrations({ ...scene, nowMs: scene.nowMs + ms }, first.observations)).get(name);
  };

  it('is dead after an hour, though nobody remembers the group', () => {
    expect(fateAfter(VANISHED_APART_MS, nameOf('gone'))).toBe('dead');
    expect(fateAfter(VANISHED_APART_MS - 1, nameOf('gone'))).toBe('seen-too-briefly');
  });

  it('is foreign where nobody knows all groups', () => {
    expect(fateAfter(VANISHED_APART_MS, nameOf('gone'), { areAll: false })).toBeUndefined();
  });

  it('stays for the reasons for which any row stays', () => {
    const name = nameOf('gone');

    expect(fateAfter(VANISHED_APART_MS, name, { liveJobs: [liveJob(name, 'running')] })).toBe('job-alive');
    expect(fateAfter(VANISHED_APART_MS, name, { liveJobs: undefined })).toBe('cluster-unseen');
  });

  it.each([
    ['of a namespace without a group here', nameOf('gone', 'others')],
    ['of another instance', nameOf('gone', 'runners', 'other')],
    ['whose group hash is another one', nameOf('gone').replace(/[0-9a-f]{8}$/, '00000000')],
    ['of a long name, which its runners do not tell', nameOf('a-very-long-name-of-a-runner-group-that-is-gone')],
  ])('%s is foreign', (_, name) => {
    expect(fateAfter(VANISHED_APART_MS, name)).toBeUndefined();
  });

  it('of a group that is there, but reads another list, is foreign', () => {
    const groups = [CI, { ...CI, name: 'wide', look: 'all' }];

    expect(fateAfter(VANISHED_APART_MS, nameOf('wide'), { groups })).toBeUndefined();
  });
});
