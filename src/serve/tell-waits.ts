/** Tells how long CI jobs wait: from when a job was first seen queued to when it was first seen on a runner of ours. */
import type { JobDecision } from '../planner/decisions.ts';
import type { EventOf } from './events.ts';
import type { StartTask } from './task.ts';

export function waitingTimes() {
  let queuedSince: ReadonlyMap<string, number> = new Map();
  return (decisions: Iterable<JobDecision>, nowMs: number): readonly EventOf<'job-started'>[] => {
    const queued = new Map<string, number>();
    const waits: EventOf<'job-started'>[] = [];
    for (const decision of decisions) {
      const { job, origin } = decision;
      const key = `${origin} ${job.id} ${job.attempt}`;
      const since = queuedSince.get(key);
      if (job.status === 'queued') queued.set(key, since ?? nowMs);
      else if (decision.verdict === 'running' && decision.group && since !== undefined) {
        const { namespace, name: group } = decision.group;
        // Gitea's clock may differ from ours, and it tells whole seconds: what we saw is the limit.
        waits.push({ is: 'job-started', namespace, group, seconds: Math.max(0, nowMs - since) / 1000 });
      }
    }
    queuedSince = queued;
    return waits;
  };
}

export const tellWaits: StartTask = ({ clock, tell }) => {
  const take = waitingTimes();
  return (event) => {
    if (event.is !== 'reconciled') return;
    const jobs = event.verdicts.flatMap(({ planning }) => (planning.is === 'planned' ? planning.plan.jobs : []));
    for (const wait of take(jobs, clock.now())) tell(wait);
  };
};
