/** What Gitea shows of the past: when each job became ready, began and ended. */
import type { Facts } from '../facts.ts';
import type { ListedJob } from '../join.ts';
import { OFFLINE_AFTER_MS } from '../judge.ts';
import { blockedFinder } from './needs.ts';
import type { PastJob } from './requests.ts';

/** What happens in the same second, in this order. */
const ORDER = { end: 0, cancel: 1, ready: 2, begin: 3 } as const;

export interface PastEvent {
  readonly atMs: number;
  readonly what: keyof typeof ORDER;
  readonly job: PastJob;
}

/** Says when a job became ready, ms, as far as is known; undefined when it never did. */
export function becameReadyFinder({ jobs, readySinceMs }: Facts): (listed: ListedJob) => number | undefined {
  const wasBlocked = blockedFinder(jobs);
  return (listed) => {
    const { status, startedAtMs, completedAtMs } = listed.job;
    if (status === 'blocked') return undefined;
    const sinceMs = readySinceMs(listed);
    const isCancelled = status === 'completed' && startedAtMs === undefined;
    if (isCancelled && ((completedAtMs ?? 0) <= sinceMs || wasBlocked(listed))) return undefined;
    return status === 'queued' ? sinceMs : Math.min(sinceMs, startedAtMs ?? sinceMs);
  };
}

/** All events, in their order. `jobs` come oldest first: so do their events of one kind in one second. */
export function eventsOf(jobs: Iterable<PastJob>, facts: Facts): readonly PastEvent[] {
  const events: PastEvent[] = [];
  for (const job of jobs) {
    const { status, startedAtMs, completedAtMs } = job.listed.job;
    const add = (what: PastEvent['what'], atMs: number | undefined): void => {
      if (atMs !== undefined) events.push({ atMs, what, job });
    };
    add('ready', job.readyMs);
    if (status === 'queued') continue;
    add('begin', startedAtMs);
    add('end', lostMs(job.listed, facts));
    if (status === 'completed') add(startedAtMs === undefined ? 'cancel' : 'end', completedAtMs ?? startedAtMs);
  }
  return events.sort((a, b) => a.atMs - b.atMs || ORDER[a.what] - ORDER[b.what]);
}

/** When the place of a lost runner became free. Nobody knows, so it is the first moment at which it may have been. */
function lostMs({ job, origin }: ListedJob, { findRunner }: Facts): number | undefined {
  if (job.status !== 'in_progress' || job.startedAtMs === undefined) return undefined;
  const runner = findRunner(job.runner ?? '');
  return runner?.group.origin === origin && runner.state === 'lost' ? job.startedAtMs + OFFLINE_AFTER_MS : undefined;
}
