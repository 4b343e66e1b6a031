/** Facts that hold before any decision. Every later step reads these facts; none writes them. */
import { byKey, type Evidence, type Group, joinLooks, type ListedJob } from './evidence.ts';
import { findHeirs } from './heirs.ts';
import { judgeRunners } from './judge.ts';
import { countTaken, openLimits } from './limits.ts';
import { ownersFinder } from './owners.ts';
import { readySinceFinder } from './ready-since.ts';
import { indexRunners } from './runners.ts';
import { gatherTraces } from './traces.ts';

export type Facts = Readonly<ReturnType<typeof establishFacts>> & {
  /** Only for a plan that cannot see Kubernetes (`unseen/`). */
  readonly past?: Past;
};

/** The runners that earlier plans have requested. They may be starting unseen. */
export interface Past {
  /** The request that each ready job has. */
  readonly requests: ReadonlyMap<ListedJob, PastRequest>;
  /** Runners of a ready job that should have come, and have not. */
  readonly missed: (listed: ListedJob, group: Group) => number;
}

/** The runner that a ready job was given in the past. */
export interface PastRequest {
  readonly group: Group;
  /** The job in its name. Only one job waits for a runner in that name. */
  readonly madeFor: ListedJob;
  /** Runners in that name that have not come. */
  readonly missed: number;
}

/** @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing */
export function establishFacts(groups: readonly Group[], evidence: Evidence) {
  const inOrder: readonly Group[] = [...groups].sort(byKey);
  const list = joinLooks(inOrder, evidence);
  const ownersOf = ownersFinder(inOrder, evidence.looks);
  const heirs = findHeirs(inOrder, evidence, list.jobs, ownersOf);
  const traces = gatherTraces(inOrder, evidence, list.jobs, heirs);
  const runners = indexRunners(judgeRunners(traces, evidence, list));
  const slotsTaken = countTaken(inOrder, runners, evidence, list.jobs);
  return {
    /** Sorted by namespace and name. */
    groups: inOrder,
    ...list,
    ...runners,
    /** The groups that may serve a job. */
    ownersOf,
    /** Returns since when a job has been ready, ms. */
    readySinceMs: readySinceFinder(list.jobs, runners.madeFor),
    /** Queued jobs of its scope that were not read. */
    unreadJobsOf: ({ look }: Group) => evidence.looks.get(look)?.unreadJobs ?? 0,
    renamedTo: ({ look }: Group) => evidence.looks.get(look)?.renamedTo,
    /** The slots that cap and limits leave beside runners at work and held ones. New objects: callers take from them. */
    openLimits: () => openLimits(slotsTaken),
    nowMs: evidence.nowMs,
  };
}
