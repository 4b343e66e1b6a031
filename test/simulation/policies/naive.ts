/** The two ways in which everybody builds it first: one Job per CI job, with the name of the CI job. */
import type { Job, JobStatus } from '../../../src/planner/evidence.ts';
import type { GroupSpec } from '../history.ts';
import { lookKey, type Observation } from '../look.ts';
import type { Generator, Wanted } from './policy.ts';

/** A Job for each queued CI job: it is pruned as soon as any runner takes that CI job. */
export const QUEUED_ONLY = naive([]);
/** A Job for each queued or running CI job: a queued one may name a Job that is long used up by another. */
export const QUEUED_AND_RUNNING = naive(['in_progress']);

function naive(kept: readonly JobStatus[]): Generator {
  return { kind: 'generator', seesPods: false, decide: (_stage, _cluster, sight) => decide(sight, kept) };
}

function decide({ groups, looks }: Observation, kept: readonly JobStatus[]): readonly Wanted[] {
  return groups.flatMap((group) => {
    const jobs = (looks.get(lookKey(group.scope))?.jobs ?? [])
      .filter(({ status }) => status === 'queued' || kept.includes(status))
      .filter((job) => job.labels.length > 0 && job.labels.every((label) => group.labels.includes(label)))
      .sort((a, b) => a.createdAtMs - b.createdAtMs || a.id - b.id);
    const running = jobs.filter(({ status }) => kept.includes(status));
    const queued = jobs.filter(({ status }) => status === 'queued');
    return [...running, ...queued].slice(0, group.cap).map((job) => toWanted(group, job));
  });
}

function toWanted(group: GroupSpec, { id, attempt }: Job): Wanted {
  return { name: `${group.name}-${id}-${attempt}`, group, pinned: false, madeFor: { id, attempt } };
}
