import type { GroupKey } from '../../planner/decisions.ts';
import { keyText } from '../../shared/key-text.ts';
import { type ExplainedJob, type Explanation, groupOfJob } from '../explanation.ts';
import type { JobState } from './job-state.ts';
import { checkGroupName } from './subject.ts';

/** What is shown; absent: everything. */
export interface Filter {
  /** `ci` or `runners/ci` */
  readonly group?: string | undefined;
  /** `owner/name` */
  readonly repository?: string | undefined;
  readonly states?: readonly JobState[] | undefined;
}

/**
 * The explanation with less in it. With a filter of jobs, runners that no shown job has are left out, too.
 * @throws Failure exit 2 for a group that does not exist: an empty answer would say that all is well
 */
export function filtered(explanation: Explanation, { group, repository, states }: Filter): Explanation {
  if (group === undefined && repository === undefined && states === undefined) return explanation;
  if (group !== undefined) checkGroupName(group, explanation);
  const isGroup = (key: GroupKey | undefined): boolean =>
    group === undefined || (key !== undefined && (key.name === group || keyText(key) === group));
  const isShown = (job: ExplainedJob): boolean =>
    isGroup(groupOfJob(job)) &&
    (repository === undefined || job.job.repository.toLowerCase() === repository.toLowerCase()) &&
    (states === undefined || states.includes(job.state));
  const jobs = explanation.jobs.filter(isShown);
  const ofJobs = new Set(jobs.flatMap((job) => (job.verdict === 'served' ? job.runner : (job.job.runner ?? []))));
  const isWhole = repository === undefined && states === undefined;
  return {
    ...explanation,
    groups: explanation.groups.filter(isGroup),
    jobs,
    runners: explanation.runners.filter(
      (decision) => isGroup(decision.group) && (isWhole || ofJobs.has(decision.runner)),
    ),
  };
}
