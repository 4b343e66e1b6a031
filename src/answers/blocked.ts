/** Says what a job waits for that Gitea calls blocked, and what to do. Pure. */
import type { JobDecision, Plan } from '../planner/decisions.ts';
import type { Job } from '../planner/evidence.ts';
import { baseName } from '../planner/ready-since.ts';
import { groupBy } from '../shared/keys.ts';
import { firstNames } from '../shared/printable.ts';

type OtherJob = Pick<Job, 'id' | 'name' | 'status'>;

export interface BlockedBy {
  readonly runHas: readonly OtherJob[];
  /** The first jobs of other runs of its repository: those that run, else those that are ready. */
  readonly repositoryHas: readonly OtherJob[];
}

/** A blocked job with the likely causes. */
type BlockedJob = Partial<BlockedBy> & { readonly event?: string; readonly job: Pick<Job, 'name'> };

/** Most jobs of other runs in an explanation. Further ones are dropped: each blocked job would list them. */
const MOST_OF_REPOSITORY = 5;
/** Most jobs of its own run in an explanation. With more, the sentence names some "and others". */
const MOST_OF_RUN = 100;
/** Most names in a sentence. The rest is counted. */
const MOST_NAMED = 3;

/**
 * Finds what each blocked job may wait for. Gitea's API says only that it is blocked; its lists show more, in this order:
 * 1. A job of the same run is queued or in progress: the blocked job probably needs it.
 * 2. Another run of the repository has such a job: it may hold the concurrency group. Jobs in progress count first.
 * 3. Else the job waits for approval (only pull requests from forks need one) or for its concurrency group.
 * Source: Gitea 1.27.3, services/actions/clear_tasks.go and notifier_helper.go.
 */
export function blockedBy({ jobs }: Plan): (decision: JobDecision) => Partial<BlockedBy> {
  const isInProgress = ({ job }: JobDecision): boolean => job.status === 'in_progress';
  const runningFirst = (a: JobDecision, b: JobDecision): number => Number(isInProgress(b)) - Number(isInProgress(a));
  const otherJobOf = ({ job: { id, name, status } }: JobDecision): OtherJob => ({ id, name, status });
  const atWork = jobs.filter((each) => each.job.status === 'queued' || isInProgress(each));
  const runs = groupBy(atWork, ({ origin, job }) => `${origin} ${job.runId}`);
  // Thousands of jobs may be blocked by the same ones.
  const jobsOfRun = new Map([...runs].map(([run, list]) => [run, list.slice(0, MOST_OF_RUN).map(otherJobOf)]));
  const candidates = [...runs.values()].flatMap((run) => run.toSorted(runningFirst).slice(0, MOST_OF_REPOSITORY));
  const repositories = groupBy(candidates.sort(runningFirst), ({ origin, job }) => `${origin} ${job.repository}`);
  return (decision) => {
    if (decision.verdict !== 'held' || decision.because !== 'blocked') return {};
    const { origin, job } = decision;
    // At most 5 of these 10 belong to its own run.
    const ofRepository = repositories.get(`${origin} ${job.repository}`)?.slice(0, 2 * MOST_OF_REPOSITORY) ?? [];
    const ofOtherRuns = ofRepository.filter((each) => each.job.runId !== job.runId);
    const running = ofOtherRuns.filter(isInProgress);
    const holders = running.length > 0 ? running : ofOtherRuns;
    return {
      runHas: jobsOfRun.get(`${origin} ${job.runId}`) ?? [],
      repositoryHas: holders.slice(0, MOST_OF_REPOSITORY).map(otherJobOf),
    };
  };
}

/** True if another leg of the matrix comes first. All legs need the same jobs, so it is max-parallel (Gitea's PR 36357). */
export function isHeldByMatrix({ job, runHas = [] }: BlockedJob): boolean {
  return runHas.some(({ name }) => name !== job.name && baseName({ name }) === baseName(job));
}

/** Returns why Gitea blocks the job, as far as its API tells. */
export function blockedText(blocked: BlockedJob): string {
  const { runHas, repositoryHas, event } = blocked;
  if (runHas === undefined || repositoryHas === undefined)
    return 'waits for jobs it needs, for its concurrency group or for approval';
  if (isHeldByMatrix(blocked)) return `probably held back by max-parallel of its matrix, behind ${jobNames(runHas)}`;
  if (runHas.length > 0) return `probably needs ${jobNames(runHas)} of its run`;
  const approval = approvalIs(event);
  if (repositoryHas.length === 0) {
    const noOtherJob = 'no other job of its run or repository is ready or runs';
    if (approval === 'impossible') return `${noOtherJob}, so Gitea should start it soon`;
    return `it ${approval === 'possible' ? 'waits' : 'probably waits'} for an approval: ${noOtherJob}`;
  }
  const holder = `its concurrency group, probably held by the run of ${jobNames(repositoryHas)}`;
  if (approval === 'impossible') return `it waits for ${holder}`;
  return approval === 'possible'
    ? `it waits for an approval, because its run is of a pull request, or for ${holder}`
    : `it waits for ${holder}, or for an approval`;
}

/** Returns the jobs that a blocked job may wait for. Its cause names them. */
export function blockersOf({ runHas = [], repositoryHas = [] }: Partial<BlockedBy>): readonly OtherJob[] {
  return runHas.length > 0 ? runHas : repositoryHas;
}

/** @param isTold the answer already has the steps of the needed job */
export function blockedAdvice(blocked: BlockedJob, isTold = false): readonly string[] {
  const { runHas, repositoryHas, event } = blocked;
  const [needed] = runHas ?? [];
  const raise = isHeldByMatrix(blocked) ? '. Or raise max-parallel in its workflow' : '';
  if (needed && (raise || needed.status === 'in_progress'))
    return [`wait until ${needed.name} has ended: gitea-runners explain ${needed.id} says how it is${raise}`];
  if (needed && isTold) return [];
  if (needed) return [`see what ${needed.name} waits for: gitea-runners explain ${needed.id}`];
  const [holder] = repositoryHas ?? [];
  const approve = 'open the page of the run: it has a button when an approval is missing';
  if (!holder) return approvalIs(event) === 'impossible' ? ['wait, and re-run it if it stays so'] : [approve];
  const see = `gitea-runners explain ${holder.id} has its link`;
  if (approvalIs(event) === 'impossible') return [`wait for the other run, or cancel it: ${see}`];
  const wait = `wait for the other run: ${see}`;
  return approvalIs(event) === 'possible' ? [approve, wait] : [wait, approve];
}

/** Gitea asks for an approval only for pull requests from forks, and not for `pull_request_target`. */
function approvalIs(event: string | undefined): 'possible' | 'impossible' | 'unknown' {
  if (event === undefined) return 'unknown';
  return event.startsWith('pull_request') && event !== 'pull_request_target' ? 'possible' : 'impossible';
}

/** `build (in progress), test (queued) and 2 more` */
function jobNames(jobs: readonly OtherJob[]): string {
  const names = jobs.map(({ name, status }) => `${name} (${status.replace('_', ' ')})`);
  return jobs.length < MOST_OF_RUN
    ? firstNames(names, MOST_NAMED)
    : `${names.slice(0, MOST_NAMED).join(', ')} and others`;
}
