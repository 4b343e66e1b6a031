/** Tests which states the oracle of warm pools calls a gap (floor.ts). */
import { expect, it } from 'vitest';
import { Gitea, type GiteaJob } from '../../simulator/gitea/gitea.ts';
import { NOTHING_YET, type Pod } from './cluster.ts';
import { gapInPool } from './floor.ts';
import { groupSpec, ORDINARY_POD } from './history.ts';

const GROUP = groupSpec({ minIdle: 1 });
const NOW_MS = 100_000;
const LOOKED_AT_MS = 98_500;

const gitea = new Gitea('1.27.3', () => NOW_MS);
gitea.addUser('anna');
gitea.addOrg('acme', { owners: ['anna'] });
gitea.addRepo('acme/web');
const [CI_JOB] = gitea.push('acme/web', { jobs: [{ key: 'build', runsOn: ['linux'] }] }).jobs as [GiteaJob];

const pod = (over: Partial<Pod> = {}): Pod => ({
  nth: 1,
  name: 'ci-0-1-0',
  group: GROUP,
  madeFor: undefined,
  fate: ORDINARY_POD,
  createdMs: 1000,
  priorityClass: undefined,
  template: 't1',
  phase: 'idle',
  rowId: 1,
  isMade: true,
  registeredMs: 9000,
  ...NOTHING_YET,
  ...over,
});
const job = (over: Partial<GiteaJob>): GiteaJob => ({ ...CI_JOB, ...over });
/** A pod whose CI job ended 1 s before the look. */
const done = (over: Partial<Pod> = {}): Pod =>
  pod({ phase: 'ended', end: 'done', claimedMs: 50_000, endedMs: 97_000, job: job({ stopped: 97 }), ...over });
/** A lost pod. Gitea has shown its CI job in progress until then. */
const lost = (stopped: number): Pod =>
  pod({ phase: 'ended', end: 'lost', claimedMs: 9000, endedMs: 20_000, job: job({ status: 'failure', stopped }) });
const many = (count: number, one: Pod): readonly Pod[] => Array.from({ length: count }, () => one);
const gapOf = (pods: readonly Pod[], isForgotten: boolean): string | undefined =>
  gapInPool({ pods: [...pods], jobs: new Map(), madeAgain: new Set() }, GROUP, {
    nowMs: NOW_MS,
    lookedAtMs: LOOKED_AT_MS,
    seesPods: true,
    forgetsForMs: 20_000,
    isForgotten: () => isForgotten,
    minIdle: 1,
    cap: GROUP.cap,
    room: Number.POSITIVE_INFINITY,
    isOut: () => false,
    isUnlisted: () => false,
    isGhost: () => false,
  });

it.each<[what: string, pods: readonly Pod[], isForgotten?: boolean]>([
  ['there is no runner', []],
  ['its only runner is done', [done()]],
  ['its runner had a CI job when the look began', [pod({ phase: 'busy', claimedMs: LOOKED_AT_MS - 1 })]],
  ['its last runner ended too long ago for its slot to wait', [done({ endedMs: 79_000 })], true],
  ['its Job was pinned as the look began, which shows that it was at work', [done({ pinnedMs: 60_000 })], true],
  ['its CI job was cancelled before the look', [done({ job: job({ status: 'cancelled', stopped: 97 }) })]],
  ['its CI job failed as the look began', [done({ job: job({ status: 'failure', stopped: 98 }) })]],
  ['lost runners filled all of the cap but one place', many(GROUP.cap - 1, lost(98))],
  ['lost runners filled the cap until before the look', many(GROUP.cap, lost(97))],
])('a pool of one has a gap when %s', (_, pods, isForgotten = false) => {
  expect(gapOf(pods, isForgotten)).toContain('0 idle runners');
});

// Gitea shows a runner as idle whose CI job is being cancelled, and the CI jobs of lost runners in progress.
it.each<[what: string, pods: readonly Pod[], isForgotten?: boolean]>([
  ['its runner is idle', [pod()]],
  ['its runner was idle as the look began', [pod({ phase: 'busy', claimedMs: LOOKED_AT_MS })]],
  ['a slot may wait, because nothing shows what its last runner did', [done()], true],
  ['its Job was pinned after the look began', [done({ pinnedMs: LOOKED_AT_MS + 1 })], true],
  ['its Job had lost its pin when the look began', [done({ pinnedMs: 60_000, unpinnedMs: 90_000 })], true],
  ['its CI job is being cancelled', [done({ job: job({ status: 'cancelling', stopped: 0 }) })]],
  [
    'its CI job was cancelled as the look began',
    [done({ endedMs: 98_200, job: job({ status: 'cancelled', stopped: 98 }) })],
  ],
  ['lost runners filled the cap as the look began', many(GROUP.cap, lost(98))],
])('a pool of one has no gap when %s', (_, pods, isForgotten = false) => {
  expect(gapOf(pods, isForgotten)).toBeUndefined();
});
