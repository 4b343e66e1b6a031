/**
 * Tests each rule of the choice, one at a time: a row is dead without a reason to keep it, and one reason is enough.
 */
import { describe, expect, it } from 'vitest';
import type { Look } from '../../../src/planner/evidence.ts';
import {
  deadRegistrations,
  SIGHTINGS_APART_MS,
  type SweepEvidence,
  VANISHED_APART_MS,
} from '../../../src/tasks/sweep/choose.ts';
import { done, live, ORIGIN, running } from '../../support/scenario.ts';
import { CI, evidence, ownName, row, seenTwice, verdicts } from './scene.ts';

const NAME = ownName(7);
const WIDE = { ...CI, name: 'wide', look: 'all' };
const BOTH = [CI, WIDE];

/** Looks at both scopes of a Gitea. */
function looksAt(acme: Partial<Look>, all: Partial<Look>): ReadonlyMap<string, Look> {
  const none = { runners: [], jobs: [] };
  return new Map([
    ['acme', { ...none, ...acme }],
    ['all', { ...none, ...all }],
  ]);
}

const [OFFLINE, WORKING] = [{ runners: [row(NAME)] }, { jobs: [running(900, NAME)] }];

it.each<[string, string, Partial<Look>, Partial<SweepEvidence>?]>([
  ['dead', 'offline, without a job and without a Job', OFFLINE],
  ['dead', 'its Job is complete', OFFLINE, { liveJobs: [live(NAME, 'complete')] }],
  ['dead', 'its Job is failed', OFFLINE, { liveJobs: [live(NAME, 'failed')] }],
  ['job-alive', 'its Job is starting', OFFLINE, { liveJobs: [live(NAME, 'starting')] }],
  ['job-alive', 'its Job is running', OFFLINE, { liveJobs: [live(NAME, 'running')] }],
  ['job-alive', 'its Job is deleting', OFFLINE, { liveJobs: [live(NAME, 'deleting')] }],
  ['job-alive', 'its Job is unknown', OFFLINE, { liveJobs: [live(NAME, 'unknown')] }],
  ['job-alive', 'a Job in another namespace', OFFLINE, { liveJobs: [live(NAME, 'running', { namespace: 'other' })] }],
  ['cluster-unseen', 'nobody looked at Kubernetes', OFFLINE, { liveJobs: undefined }],
  ['job-in-progress', 'a job in progress names it', { ...OFFLINE, ...WORKING }],
  ['job-in-progress', 'one of another scope does', {}, { groups: BOTH, looks: looksAt(OFFLINE, WORKING) }],
  ['dead', 'a completed job names it', { ...OFFLINE, jobs: [done(900, NAME)] }],
  ['online', 'online', { runners: [row(NAME, { online: true })] }, { liveJobs: [live(NAME, 'running')] }],
  ['online', 'busy', { runners: [row(NAME, { busy: true })] }],
  ['not-ephemeral', 'not ephemeral', { runners: [row(NAME, { ephemeral: false })] }],
])('a row of ours is %s: %s', (verdict, _, look, over) => {
  expect(seenTwice(evidence(look, over)).get(NAME)).toBe(verdict);
});

it('a row of ours stays while another row of its name is online', () => {
  const runners = [row(NAME), row(NAME, { id: 2, online: true })];

  const { registrations } = deadRegistrations(evidence({ runners }), new Map());

  const online = { is: 'kept', because: 'online' };
  expect(registrations.map(({ verdict }) => verdict)).toEqual([online, online]);
});

describe('two observations', () => {
  const scene = evidence({ runners: [row(NAME)] });
  const first = deadRegistrations(scene, new Map());

  it('two observations are needed, far enough apart', () => {
    const soon = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS - 1 }, first.observations);
    const later = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS }, soon.observations);

    expect(verdicts(first).get(NAME)).toBe('seen-too-briefly');
    expect(verdicts(soon).get(NAME)).toBe('seen-too-briefly');
    expect(verdicts(later).get(NAME)).toBe('dead');
  });

  it.each([
    ['the row was online', { runners: [row(NAME, { online: true })] }, {}],
    ['the row was not listed', { runners: [] }, {}],
    ['its Job lived', { runners: [row(NAME)] }, { liveJobs: [live(NAME, 'running')] }],
    ['nobody looked at Kubernetes', { runners: [row(NAME)] }, { liveJobs: undefined }],
    ['the id had another name', { runners: [row(ownName(8))] }, {}],
  ])('begin anew when in between %s', (_, look, over) => {
    const between = deadRegistrations(evidence(look, { ...over, nowMs: 40_000 }), first.observations);
    const later = deadRegistrations({ ...scene, nowMs: SIGHTINGS_APART_MS }, between.observations);

    expect(verdicts(later).get(NAME)).toBe('seen-too-briefly');
  });

  it('two observations of one Gitea say nothing about the same id on another', () => {
    const other = { ...CI, giteaUrl: 'https://other.example.com' };

    const later = deadRegistrations({ ...scene, groups: [other], nowMs: SIGHTINGS_APART_MS }, first.observations);

    expect(verdicts(later).get(NAME)).toBe('seen-too-briefly');
  });
});

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
])('rows of others are never judged: %s', (_, name) => {
  const { registrations, foreign } = deadRegistrations(evidence({ runners: [row(name)] }), new Map());

  expect(registrations).toEqual([]);
  expect(foreign).toBe(1);
});

it('rows of others are those of our name in a scope that is not its group’s, too', () => {
  const scene = evidence({}, { groups: BOTH, looks: looksAt({}, OFFLINE) });

  expect(deadRegistrations(scene, new Map()).registrations).toEqual([]);
});

describe('a runner that is online without a Job', () => {
  const stray = ownName(1);
  const runners = [row(stray, { online: true }), row(NAME, { id: 2 })];

  it('a runner that is online without a Job keeps all rows of its group when it is seen so twice: this is not the cluster it lives in', () => {
    const later = deadRegistrations(
      evidence({ runners }, { nowMs: SIGHTINGS_APART_MS }),
      deadRegistrations(evidence({ runners }), new Map()).observations,
    );

    expect(later.registrations.map(({ name, verdict }) => [name, verdict])).toEqual([
      [stray, { is: 'kept', because: 'online' }],
      [NAME, { is: 'kept', because: 'group-elsewhere', witness: stray }],
    ]);
  });

  it('a runner that is online without a Job keeps nothing when it is seen so once: Gitea shows an ended runner as online for 60 s', () => {
    const before = deadRegistrations(evidence({ runners: [row(NAME, { id: 2 })] }), new Map());

    const later = deadRegistrations(evidence({ runners }, { nowMs: SIGHTINGS_APART_MS }), before.observations);

    expect(verdicts(later).get(NAME)).toBe('dead');
  });

  it('a runner that is online without a Job keeps no row of another group', () => {
    const gpu = { ...CI, name: 'gpu' };
    const ofGpu = ownName(3, gpu);

    const scene = evidence({ runners: [...runners, row(ofGpu, { id: 3 })] }, { groups: [CI, gpu] });

    expect(seenTwice(scene).get(ofGpu)).toBe('dead');
  });

  it('a runner that is online with a Job, even a finished one, is no stray', () => {
    const liveJobs = [live(stray, 'complete')];

    expect(seenTwice(evidence({ runners }, { liveJobs })).get(NAME)).toBe('dead');
  });
});

it('a row in two lists of one Gitea is judged once', () => {
  const scene = evidence({}, { groups: BOTH, looks: looksAt(OFFLINE, OFFLINE) });

  const choice = deadRegistrations(scene, new Map());

  expect(choice).toMatchObject({ foreign: 0, registrations: [{ id: 1, name: NAME, group: { giteaUrl: ORIGIN } }] });
});

const ofGroup = (name: string, namespace = 'runners', instance?: string): string =>
  ownName(7, { namespace, name }, instance);
const GONE = ofGroup('gone');

it.each<[string | undefined, string, string, number?, Partial<SweepEvidence>?]>([
  ['dead', 'an hour after nobody remembers the group', GONE],
  ['seen-too-briefly', 'before', GONE, VANISHED_APART_MS - 1],
  ['job-alive', 'while its Job lives', GONE, VANISHED_APART_MS, { liveJobs: [live(GONE, 'running')] }],
  ['cluster-unseen', 'when nobody looked at Kubernetes', GONE, VANISHED_APART_MS, { liveJobs: undefined }],
  [undefined, 'where nobody knows all groups', GONE, VANISHED_APART_MS, { areAll: false }],
  [undefined, 'of a namespace without a group here', ofGroup('gone', 'others')],
  [undefined, 'of another instance', ofGroup('gone', 'runners', 'other')],
  [undefined, 'whose group hash is another one', GONE.replace(/[0-9a-f]{8}$/, '00000000')],
  [
    undefined,
    'of a long name, which its runners do not tell',
    ofGroup('a-very-long-name-of-a-runner-group-that-is-gone'),
  ],
  [undefined, 'of a group that is there, but reads another list', ofGroup('wide'), VANISHED_APART_MS, { groups: BOTH }],
])('a row of a group that is gone is %s: %s', (verdict, _, name, apartMs = VANISHED_APART_MS, over = {}) => {
  const scene = evidence({ runners: [row(name)] }, { areAll: true, ...over });

  expect(seenTwice(scene, apartMs).get(name)).toBe(verdict);
});

it('reads the runners of a scope as often for many groups as for one (V102)', () => {
  let reads = 0;
  const look = {
    jobs: [],
    get runners() {
      reads += 1;
      return [];
    },
  };
  const groups = Array.from({ length: 200 }, (_, at) => ({ ...CI, name: `g${at}` }));
  deadRegistrations({ ...evidence({}, { groups }), looks: new Map([[CI.look, look]]) }, new Map());

  expect(reads).toBe(2);
});
