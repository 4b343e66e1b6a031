/** What is true before anything is decided. Every later step reads these facts; none writes. */
import type { Evidence, Group } from './evidence.ts';
import { findHeirs } from './heirs.ts';
import { judgeRunners } from './judge.ts';
import { byKey, type JobList, joinLooks, type ListedJob } from './listed-jobs.ts';
import { type Owners, ownersFinder } from './owners.ts';
import { readySinceFinder } from './ready-since.ts';
import { indexRunners, type Runners } from './runners.ts';
import { gatherTraces } from './traces.ts';

export interface Facts extends JobList, Runners {
  /** By namespace and name. */
  readonly groups: readonly Group[];
  /** The groups that may serve a job. */
  readonly ownersOf: (listed: ListedJob) => Owners;
  /** Since when a job has been ready, ms. */
  readonly readySinceMs: (listed: ListedJob) => number;
  /** Queued jobs of its scope that were not read. */
  readonly unreadJobsOf: (group: Group) => number;
  readonly nowMs: number;
}

/** @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing */
export function establishFacts(groups: readonly Group[], evidence: Evidence): Facts {
  const inOrder = [...groups].sort(byKey);
  const list = joinLooks(inOrder, evidence);
  const ownersOf = ownersFinder(inOrder);
  const heirs = findHeirs(inOrder, evidence, list.jobs, ownersOf);
  const traces = gatherTraces(inOrder, evidence, list.jobs, heirs);
  const runners = indexRunners(judgeRunners(traces, evidence, list.jobs));
  return {
    groups: inOrder,
    ...list,
    ...runners,
    ownersOf,
    readySinceMs: readySinceFinder(list.jobs, runners.madeFor),
    unreadJobsOf: ({ look }) => evidence.looks.get(look)?.unreadJobs ?? 0,
    nowMs: evidence.nowMs,
  };
}
