/**
 * The operator that this project replaces (bapung/gitea-runner-operator 776a3fb), its algorithm as it stands there: every 10 s,
 * per group, jobs that are `queued` or `waiting` (that is: blocked) in the order of the list; a cache in memory, by job id
 * alone, shared by all groups, 5 min; each group's pass forgets the entries that it does not find in its own list; "active" is a Job without a completion time, so
 * a failed one counts until its TTL. Jobs have random names, no deadline, and are never deleted.
 */
import { shownStatus } from '../../../simulator/gitea/json.ts';
import type { Cluster } from '../cluster.ts';
import type { GroupSpec } from '../history.ts';
import type { Stage } from '../stage.ts';
import type { Operator } from './policy.ts';

const CACHE_MS = 300_000;

export const SEED_OPERATOR: Operator = {
  kind: 'operator',
  everyMs: 10_000,
  start: (stage, cluster) => {
    const spawnedMs = new Map<number, number>();
    let made = 0;
    return () => {
      for (const group of stage.history.groups) {
        const slots = group.cap - active(cluster, group);
        if (slots <= 0) continue;
        const jobs = candidates(stage, group);
        forget(spawnedMs, new Set(jobs));
        for (const jobId of jobs.filter((id) => isDue(spawnedMs.get(id), stage.nowMs)).slice(0, slots)) {
          spawnedMs.set(jobId, stage.nowMs);
          made += 1;
          cluster.create(`${group.name}-r${made}`, group, { id: jobId, attempt: 0 });
        }
      }
    };
  },
};

function active(cluster: Cluster, group: GroupSpec): number {
  return [...cluster.jobs.values()].filter((job) => job.group === group && job.finished !== 'complete').length;
}

function candidates(stage: Stage, group: GroupSpec): readonly number[] {
  const listed = [...stage.gitea.state.openJobs.values()]
    .filter((job) => (job.labels ?? []).every((label) => group.labels.includes(label)))
    .filter((job) => stage.isSeenBy(group.scope, job))
    .sort((a, b) => a.id - b.id);
  return ['queued', 'waiting'].flatMap((status) =>
    listed.filter((job) => shownStatus(job.status).status === status).map(({ id }) => id),
  );
}

function forget(spawnedMs: Map<number, number>, listed: ReadonlySet<number>): void {
  for (const id of [...spawnedMs.keys()]) if (!listed.has(id)) spawnedMs.delete(id);
}

function isDue(atMs: number | undefined, nowMs: number): boolean {
  return atMs === undefined || nowMs - atMs >= CACHE_MS;
}
