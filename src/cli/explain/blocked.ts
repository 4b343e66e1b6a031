/**
 * Why Gitea holds a job back, as far as its lists tell. Gitea's API says only that a job is blocked. What can be concluded (1.27.3:
 * services/actions/clear_tasks.go and notifier_helper.go):
 *
 *   - A job of the same run is ready or runs .............. it probably needs that one
 *   - Only runs of the same repository with a running job hold a concurrency group. Between two jobs of such a run none of them runs,
 *     so ready ones are shown too where none runs. There is neither: it waits for an approval
 *   - Only pull requests from forks need an approval. Another event: it waits for its concurrency group
 */

import type { JobDecision, Plan } from '../../planner/decisions.ts';
import type { Job } from '../../planner/evidence.ts';
import { groupBy } from '../../shared/group-by.ts';
import { firstNames } from '../../shared/printable.ts';

interface OtherJob {
  readonly id: number;
  readonly name: string;
  readonly status: Job['status'];
}

export interface BlockedBy {
  readonly runHas: readonly OtherJob[];
  /** The first jobs of other runs of its repository: those that run, else those that are ready. */
  readonly repositoryHas: readonly OtherJob[];
}

/** What is told of a blocked job. Absent: it is not known. */
interface BlockedJob extends Partial<BlockedBy> {
  readonly event?: string;
}

const MOST_OF_REPOSITORY = 5;
const MOST_NAMED = 3;

/** Answers what each job of a plan may wait for, if it is blocked. */
export function blockedBy({ jobs }: Plan): (decision: JobDecision) => Partial<BlockedBy> {
  const atWork = jobs.filter(({ job }) => job.status === 'queued' || job.status === 'in_progress');
  const runs = groupBy(atWork, ({ origin, job }) => `${origin} ${job.runId}`);
  const repositories = groupBy([...runs.values()].flat(), ({ origin, job }) => `${origin} ${job.repository}`);
  return (decision) => {
    if (decision.verdict !== 'held' || decision.because !== 'blocked') return {};
    const { origin, job } = decision;
    const others = (repositories.get(`${origin} ${job.repository}`) ?? []).filter(
      (each) => each.job.runId !== job.runId,
    );
    const running = others.filter((each) => each.job.status === 'in_progress');
    return {
      runHas: (runs.get(`${origin} ${job.runId}`) ?? []).map(otherJob),
      repositoryHas: (running.length > 0 ? running : others).slice(0, MOST_OF_REPOSITORY).map(otherJob),
    };
  };
}

function otherJob({ job: { id, name, status } }: JobDecision): OtherJob {
  return { id, name, status };
}

export function blockedText({ runHas, repositoryHas, event }: BlockedJob): string {
  if (runHas === undefined || repositoryHas === undefined)
    return 'waits for jobs it needs, for its concurrency group or for approval';
  if (runHas.length > 0) return `probably needs ${jobNames(runHas)} of its run`;
  const approval = approvalIs(event);
  if (repositoryHas.length === 0) {
    const nothing = 'no other job of its run or repository is ready or runs';
    if (approval === 'impossible') return `${nothing}, so Gitea should start it soon`;
    return `it ${approval === 'possible' ? 'waits' : 'probably waits'} for an approval: ${nothing}`;
  }
  const holder = `its concurrency group, probably held by the run of ${jobNames(repositoryHas)}`;
  if (approval === 'impossible') return `it waits for ${holder}`;
  return approval === 'possible'
    ? `it waits for an approval, because its run is of a pull request, or for ${holder}`
    : `it waits for ${holder}, or for an approval`;
}

export function blockedAdvice({ runHas, repositoryHas, event }: BlockedJob): readonly string[] {
  const [needed] = runHas ?? [];
  if (needed) return [`see what ${needed.name} waits for: gitea-runners explain ${needed.id}`];
  const [holder] = repositoryHas ?? [];
  const approve = 'open the page of the run: it has a button when an approval is missing';
  if (!holder) return approvalIs(event) === 'impossible' ? ['wait, and re-run it if it stays so'] : [approve];
  const release = `wait for the other run, or cancel it: gitea-runners explain ${holder.id} has its link`;
  return approvalIs(event) === 'impossible' ? [release] : [release, approve];
}

/** Gitea asks for an approval only for pull requests from forks, and not for `pull_request_target`. */
function approvalIs(event: string | undefined): 'possible' | 'impossible' | 'unknown' {
  if (event === undefined) return 'unknown';
  return event.startsWith('pull_request') && event !== 'pull_request_target' ? 'possible' : 'impossible';
}

/** `build (in progress), test (queued) and 2 more` */
function jobNames(jobs: readonly OtherJob[]): string {
  return firstNames(
    jobs.map(({ name, status }) => `${name} (${status.replace('_', ' ')})`),
    MOST_NAMED,
  );
}
