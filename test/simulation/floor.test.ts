/** What the oracle of warm pools calls a gap (floor.ts). */
import { describe, expect, it } from 'vitest';
import { Gitea, type GiteaJob } from '../../model/gitea/gitea.ts';
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
/** Its CI job is over, 1 s before the look. */
const done = (over: Partial<Pod> = {}): Pod =>
  pod({ phase: 'ended', end: 'done', claimedMs: 50_000, endedMs: 97_000, job: job({ stopped: 97 }), ...over });
const gapOf = (pods: readonly Pod[], isForgotten = false): string | undefined =>
  gapInPool({ pods: [...pods], jobs: new Map(), madeAgain: new Set() }, GROUP, {
    nowMs: NOW_MS,
    lookedAtMs: LOOKED_AT_MS,
    seesPods: true,
    forgetsForMs: 20_000,
    isForgotten: () => isForgotten,
    minIdle: 1,
    isOut: () => false,
    isUnlisted: () => false,
    isGhost: () => false,
  });

describe('a pool of one has a gap', () => {
  it('when it has no idle runner', () => {
    expect(gapOf([])).toContain('0 idle runners');
    expect(gapOf([done()])).toContain('0 idle runners');
    expect(gapOf([pod()])).toBeUndefined();
  });

  it('not when its runner was idle as the look began', () => {
    expect(gapOf([pod({ phase: 'busy', claimedMs: LOOKED_AT_MS })])).toBeUndefined();
    expect(gapOf([pod({ phase: 'busy', claimedMs: LOOKED_AT_MS - 1 })])).toContain('0 idle runners');
  });

  it('not while a slot may wait, because nothing shows what its last runner did', () => {
    expect(gapOf([done()], true)).toBeUndefined();
    expect(gapOf([done({ endedMs: 79_000 })], true)).toContain('0 idle runners');
  });

  it('but then, too, when its Job was pinned as the look began: that shows that it was at work', () => {
    expect(gapOf([done({ pinnedMs: 60_000 })], true)).toContain('0 idle runners');
    expect(gapOf([done({ pinnedMs: LOOKED_AT_MS + 1 })], true)).toBeUndefined();
    expect(gapOf([done({ pinnedMs: 60_000, unpinnedMs: 90_000 })], true)).toBeUndefined();
  });

  it('not when the CI job of its runner was being cancelled as the look began: Gitea showed it as idle', () => {
    expect(gapOf([done({ job: job({ status: 'cancelling', stopped: 0 }) })])).toBeUndefined();
    expect(gapOf([done({ endedMs: 98_200, job: job({ status: 'cancelled', stopped: 98 }) })])).toBeUndefined();
    expect(gapOf([done({ job: job({ status: 'cancelled', stopped: 97 }) })])).toContain('0 idle runners');
    expect(gapOf([done({ job: job({ status: 'failure', stopped: 98 }) })])).toContain('0 idle runners');
  });

  it('not when lost runners filled the cap as the look began, because Gitea showed their CI jobs in progress', () => {
    const lost = (stopped: number): Pod =>
      pod({ phase: 'ended', end: 'lost', claimedMs: 9000, endedMs: 20_000, job: job({ status: 'failure', stopped }) });

    expect(gapOf(Array.from({ length: GROUP.cap }, () => lost(98)))).toBeUndefined();
    expect(gapOf(Array.from({ length: GROUP.cap - 1 }, () => lost(98)))).toContain('0 idle runners');
    expect(gapOf(Array.from({ length: GROUP.cap }, () => lost(97)))).toContain('0 idle runners');
  });
});
