/**
 * Histories of cases that are easy to get wrong, nearly all written by hand. histories.test.ts has their expected
 * results.
 */
import { groupSpec, type History, job, ordinaryWake, push, quietHistory } from '../history.ts';
import { makeHistory } from '../make-history.ts';

/** The history of the picture in docs/planner.md: a queue longer than the cap, needs, a cancel, a runner that crashes. */
export const AFTERNOON: History = quietHistory({
  groups: [groupSpec({ cap: 3 })],
  pushes: [
    push(5, [60, 90, 70, 80], job('build'), { ...job('test', 'build'), matrix: ['a', 'b', 'c'] }),
    { ...push(20, [80, 110], job('lint'), job('unit')), repo: 'acme/api' },
    { ...push(60, [50], job('pages')), repo: 'acme/docs' },
    { ...push(180, [50], job('pages')), repo: 'acme/docs' },
    { ...push(300, [70, 90], job('lint'), job('unit')), repo: 'acme/api' },
  ],
  acts: [{ atS: 190, kind: 'cancel-run', push: 3 }],
  pods: [12, 25, 9, 15, 60, 11, 20, 14].map((startS, nth) => (nth === 5 ? { startS, start: 'crash' } : { startS })),
});

/** docs/adr/0004: jobs that become ready late do not jump in front of those whose runners are starting. */
export const UNBLOCKED_BY_NEEDS: History = quietHistory({
  groups: [groupSpec({ cap: 3 })],
  pushes: [
    push(1, [30, 40, 40], job('build'), job('test', 'build'), job('lint', 'build')),
    push(25, [60], { ...job('matrix'), matrix: ['a', 'b', 'c', 'd'] }),
  ],
  pods: [8, 30, 30, 30, 30, 30, 30].map((startS) => ({ startS })),
});

/** The runner made for the second job takes the first one; what stands for the first is long finished when the third is asked for. */
export const CHAIN_OVER_FINISHED_JOBS: History = quietHistory({
  groups: [groupSpec({ cap: 3 })],
  pushes: [push(1, [5], job('slow')), push(2, [5], job('quick')), push(3, [50], job('last'))],
  pods: [60, 8, 40].map((startS) => ({ startS })),
});

/** A runner is lost at work; Gitea believes it busy for 10 minutes and more. The next job must not wait for that. */
export const LOST_AT_WORK: History = quietHistory({
  groups: [groupSpec({ cap: 1 })],
  pushes: [push(1, [300], job('lost')), push(60, [20], job('next'))],
  pods: [{ startS: 8, evictedAfterS: 30 }],
});

/** Runners crash at once, four times: another name each time, later and later, and the job is served in the end. */
export const CRASHES_AT_START: History = quietHistory({
  pushes: [push(1, [20], job('build'))],
  pods: [1, 2, 3, 4].map(() => ({ startS: 2, start: 'crash' as const })),
});

/** The image cannot be pulled: nothing comes and nothing fails. */
export const NEVER_STARTS: History = quietHistory({
  pushes: [push(1, [20], job('build'))],
  pods: [{ startS: 0, start: 'image' }],
});

/** Cancelled while its runner starts: the runner goes. */
export const CANCELLED_BEFORE_PICK_UP: History = quietHistory({
  pushes: [push(1, [20], job('build'))],
  acts: [{ atS: 15, kind: 'cancel-run', push: 0 }],
  pods: [{ startS: 60 }],
});

/** Cancelled at work (1.27): while the runner cleans up its job is in no list, but the runner has its slot and lives. */
export const CANCELLED_AT_WORK: History = quietHistory({
  groups: [groupSpec({ cap: 1 })],
  pushes: [push(1, [200], job('long')), push(2, [20], job('next'))],
  acts: [{ atS: 40, kind: 'cancel-run', push: 0 }],
});

/** Up to 1.26 a rerun keeps the id of the job, whose first runner's name is used up. */
export const RERUN_KEEPS_THE_ID: History = quietHistory({
  gitea: '1.26.0',
  pushes: [push(1, [20], job('build'))],
  acts: [{ atS: 60, kind: 'rerun', push: 0 }],
});

/** Gitea's nightly clean-up takes the runner names from finished jobs while others wait. */
export const CLEAN_UP_IN_THE_MIDDLE: History = quietHistory({
  groups: [groupSpec({ cap: 2 })],
  pushes: [push(1, [15], { ...job('matrix'), matrix: ['a', 'b', 'c', 'd', 'e', 'f'] })],
  acts: [{ atS: 40, kind: 'clean-up' }],
});

/** Pods are refused for four minutes while jobs wait. */
export const QUOTA: History = quietHistory({
  pushes: [push(1, [20], job('one'), job('two'))],
  troubles: [{ kind: 'quota', atS: 0, untilS: 240 }],
});

/** The cached manifests are applied again, after a minute in which no refresh worked: they name a Job that has done its work. */
export const STALE_MANIFESTS: History = quietHistory({
  pushes: [push(1, [20], job('one')), push(50, [20], job('two'))],
  wakes: [
    ordinaryWake(5),
    ...[10, 15, 20, 25, 30, 35, 45].map((atS) => ({ ...ordinaryWake(atS), fault: 'refresh-fails' as const })),
    { ...ordinaryWake(46), fault: 'stale-sync' },
    ordinaryWake(50),
  ],
  groups: [groupSpec({ ttlS: 5 })],
});

/**
 * Found by the simulation (seed 17): Gitea gives a job without labels to any runner. The planner asks for none for it, so nothing is
 * starting in its name, and the runner it took must be replaced under a name of the job that lost it.
 */
export const UNLABELLED_JOB_TAKES_A_RUNNER: History = quietHistory({
  groups: [groupSpec({ cap: 2 })],
  pushes: [push(1, [60], { key: 'unlabelled', runsOn: [] }), push(2, [60], job('linux'))],
});

/**
 * Found by the simulation (seed 19): a runner is lost at work and Kubernetes removes its Job before Gitea gives the CI
 * job up, so the Job is re-created, pinned. Its pod starts slowly: after Gitea has given up, it is a runner like any
 * other, and counts.
 */
export const LOST_AND_MADE_ANEW: History = quietHistory({
  groups: [groupSpec({ cap: 2, ttlS: 60 })],
  pushes: [
    push(1, [900], job('lost')),
    push(700, [60], { ...job('matrix'), matrix: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] }),
  ],
  pods: [{ startS: 8, evictedAfterS: 30 }, { startS: 180 }],
});

/**
 * Found by the simulation (seed 78): the pod template is changed, and a runner of the old one takes a CI job at the
 * moment in which it is pruned. Its Job is re-created by law P1, and the second runner exceeds the cap.
 */
export const PRUNED_WHILE_IT_REGISTERS: History = quietHistory({
  groups: [groupSpec({ cap: 2 })],
  pushes: [push(1, [60], { ...job('matrix'), matrix: ['a', 'b', 'c', 'd'] })],
  acts: [{ atS: 9, kind: 'new-template' }],
  pods: [8.3, 30, 20, 20, 20].map((startS) => ({ startS })),
});

/**
 * Found by the simulation (seeds 556, 614, 767, 833, 1544, 2029, 2470): a runner takes a CI job at the moment in which
 * it is pruned, and its Job is re-created within seconds of the claim, in which clocks may differ. Its pod starts
 * slowly: only that distinguishes it from the first one.
 */
export const MADE_ANEW_WITHIN_SECONDS: History = {
  ...PRUNED_WHILE_IT_REGISTERS,
  pods: [8, 30, 120, 120, 120].map((startS) => ({ startS })),
  wakeEveryS: 1,
};

/** docs/adr/0015: a static runner takes the job (at 9.8 s) while ours starts. */
export const STATIC_RUNNER_IS_FIRST: History = quietHistory({
  statics: [{ scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'], pollEveryS: 5 }],
  pushes: [push(6.1, [60], job('one'))],
  pods: [{ startS: 30 }],
  wakeEveryS: 0.5,
});

/** A static runner takes the first job, and another job comes before a look can show that no job needs our runner. */
export const STATIC_RUNNER_IS_FIRST_OF_TWO: History = {
  ...STATIC_RUNNER_IS_FIRST,
  pushes: [...STATIC_RUNNER_IS_FIRST.pushes, push(9.9, [60], job('two'))],
};

/** Found by the simulation (seed 4): runners of several groups take each other's jobs; nothing is started twice for it. */
export const CHAIN_ACROSS_GROUPS: History = quietHistory({
  groups: [
    groupSpec({ cap: 1, name: 'web', scope: { kind: 'repo', repo: 'acme/web' } }),
    groupSpec({ cap: 1 }),
    groupSpec({ cap: 1, name: 'all', scope: { kind: 'global' } }),
  ],
  pushes: [push(1, [60], job('one'), job('two'), job('three'))],
  pods: [40, 8, 60].map((startS) => ({ startS })),
});

/**
 * Found by the simulation (seed 309): a job without labels takes the runner of another one, whose second runner crashes. With Gitea alone
 * nobody sees that, so it must be missed after a spawn timeout like any other.
 */
export const SECOND_RUNNER_CRASHES: History = {
  ...UNLABELLED_JOB_TAKES_A_RUNNER,
  pods: [{ startS: 8 }, { startS: 8, start: 'crash' }, { startS: 8 }],
};

/**
 * Found by the simulation (seed 5306): a claim is lost, and the job goes to the end of Gitea's queue. Dozens of its
 * runners take other jobs; the one that starts after them has a high ordinal and must be recognized.
 */
export const OVERTAKEN_DOZENS_OF_TIMES: History = makeHistory(5306);

/**
 * More than 150 younger CI jobs are completed when a long one ends, so no look lists it. Its Job is pinned, which shows
 * that its runner was at work. The warm runner beside it takes a CI job right after that, and its slot must not wait.
 */
export const LONG_JOB_BEHIND_THE_NEWEST: History = quietHistory({
  groups: [groupSpec({ cap: 45, minIdle: 1 })],
  pushes: [
    push(20, [150], job('long')),
    ...[30, 50, 70, 90].map((atS) => push(atS, [3], { ...job('short'), matrix: Array.from({ length: 40 }, String) })),
    push(171, [60], job('next')),
  ],
});

/** The repository of the only CI job goes to another organization: only the row of its runner shows that it is at work (law L17). */
export const TRANSFERRED_AT_WORK: History = quietHistory({
  pushes: [push(1, [300], job('long'))],
  acts: [{ atS: 60, kind: 'transfer', repo: 'acme/web' }],
});

/** The organization gets another name while runners start, and the repository while they work (law P29). */
export const RENAMED_IN_GITEA: History = quietHistory({
  groups: [groupSpec({ cap: 2 })],
  pushes: [push(1, [120, 100], job('long'), job('longer')), push(20, [10], job('next'))],
  acts: [
    { atS: 6, kind: 'rename-org', name: 'acme' },
    { atS: 60, kind: 'rename-repo', repo: 'acme/web' },
  ],
});

/** The group of a runner at work is renamed, before the first sync has pinned its Job (law P20). */
export const RENAMED_AT_WORK: History = quietHistory({
  groups: [groupSpec({ cap: 2 })],
  pushes: [push(1, [120, 100], job('long'), job('longer')), push(20, [10], job('next'))],
  acts: [{ atS: 11, kind: 'rename', group: 'ci' }],
});

/** The repository of the only CI job is deleted: only the row of its runner shows that it is at work (law L17). */
export const DELETED_AT_WORK: History = quietHistory({
  pushes: [push(1, [300], job('long'))],
  acts: [{ atS: 60, kind: 'delete-repo', repo: 'acme/web' }],
});

/** A group with a pool moves to another organization, under the same registration Secret. Its idle runner is registered at the old one. */
export const MOVED_WITH_POOL: History = quietHistory({
  groups: [groupSpec({ minIdle: 1 })],
  pushes: [{ ...push(120, [10], job('first')), repo: 'beta/app' }],
  acts: [{ atS: 60, kind: 'move', group: 'ci' }],
});

/** Gitea is restored while a runner works, and the id of its CI job comes again. Nothing shows what it works on. */
export const IDS_COME_AGAIN: History = quietHistory({
  pushes: [push(30, [200], job('lost')), push(90, [10], job('again'))],
  acts: [{ atS: 60, kind: 'restore', backupS: 20 }],
});

/**
 * Two restores, the second one from the later backup. The id of an idle runner's row belongs to a deleted row there.
 */
export const RESTORED_TWICE: History = quietHistory({
  groups: [groupSpec({ minIdle: 1 })],
  pushes: [push(30, [10], job('first')), push(400, [10], job('second'))],
  acts: [
    { atS: 90, kind: 'restore', backupS: 0.5 },
    { atS: 300, kind: 'restore', backupS: 80 },
  ],
});

/** Somebody deletes the Job of a runner at work in the foreground: Kubernetes shows it until the pod has ended. */
export const JOB_DELETED_AT_WORK: History = quietHistory({
  groups: [groupSpec({ cap: 1 })],
  pushes: [push(1, [200], job('long')), push(60, [10], job('next'))],
  acts: [{ atS: 40, kind: 'delete-job', pod: 0 }],
});

/** Argo CD is away for an hour. A group is suspended meanwhile, and its cap is lower when Argo CD is back. */
export const ARGO_CD_AWAY: History = quietHistory({
  pushes: [push(1, [60], job('a'), job('b'), job('c')), push(600, [60], job('d'), job('e'))],
  troubles: [{ kind: 'argo-away', atS: 30, untilS: 3630 }],
  acts: [
    { atS: 300, kind: 'settings', group: 'ci', settings: { suspend: true } },
    { atS: 4000, kind: 'settings', group: 'ci', settings: { suspend: false, cap: 1 } },
  ],
});
