/** Finds the jobs that a blocked job waits for. Their causes and steps stand in its answer. Pure. */
import { once } from '../shared/once.ts';
import { blockersOf } from './blocked.ts';
import { byState } from './explanation.ts';
import { type ExplainedJob, type Explanation, emittedRunners } from './model.ts';
import { delayText } from './remedies.ts';

/** @param details adds the rest to jobs of an outline (`explainerOf`) */
export function awaitedIn({ jobs, runners }: Explanation, details = (job: ExplainedJob): ExplainedJob => job) {
  const keyOf = (origin: string, id: number): string => `${origin} ${id}`;
  const jobsByKey = once(() => new Map(jobs.map((each) => [keyOf(each.origin, each.job.id), each])));
  const blockers = (job: ExplainedJob): readonly ExplainedJob[] =>
    job.verdict === 'held' && job.because === 'blocked'
      ? blockersOf(job).flatMap(({ id }) => jobsByKey().get(keyOf(job.origin, id)) ?? [])
      : [];
  const emitted = once(() => emittedRunners({ runners }));
  const isKept = (job: ExplainedJob): boolean => {
    if (job.verdict === 'running') return job.loss !== undefined || delayText(job) !== '';
    return job.verdict === 'held' || job.state === 'unserved' || emitted().get(job.runner)?.trouble !== undefined;
  };
  return {
    /** Returns the worst of the awaited jobs. Undefined: there is none, or all of them go on. */
    worst: (job: ExplainedJob): ExplainedJob | undefined =>
      blockers(job).map(details).filter(isKept).toSorted(byState)[0],
    /** True for a job that gets no runner until somebody acts, and for one that waits only for such jobs. */
    isUnserved: (job: ExplainedJob): boolean => {
      const all = job.state === 'unserved' ? [job] : blockers(job);
      return all.length > 0 && all.every(({ state }) => state === 'unserved');
    },
  };
}
