/** Adds facts of runs to jobs. Gitea's list of jobs has neither the event of the run nor the settings of the repository. */
import { byState } from '../../answers/explanation.ts';
import type { ExplainedJob, Explanation } from '../../answers/model.ts';
import type { GiteaTarget } from '../../clients/gitea/observe-gitea.ts';
import { type Run, unfinishedRuns } from '../../clients/gitea/runs.ts';
import { requestOptions, type Settings } from '../../plan/settings.ts';
import { Failure, orFailure } from '../../shared/failure.ts';

/** A queued job is asked about when it is older than this. Most jobs have a runner by then. */
const OLD_MS = 60_000;

/** Reads runs only if a job is blocked, or waits for longer than usual. Without an answer, the jobs stay as they are. */
export async function withRuns(
  explanation: Explanation,
  findTargets: () => Promise<readonly GiteaTarget[]>,
  settings: Settings,
): Promise<Explanation> {
  const nowMs = Date.parse(explanation.checkedAt);
  const isAskedFor = ({ job }: ExplainedJob): boolean =>
    job.status === 'blocked' || (job.status === 'queued' && nowMs - job.createdAtMs > OLD_MS);
  if (!explanation.jobs.some(isAskedFor)) return explanation;
  const runs = new Map<string, Run>();
  const ask = async (target: GiteaTarget): Promise<void> => {
    const runsOrFailure = await orFailure(unfinishedRuns(target, requestOptions(settings)));
    if (runsOrFailure instanceof Failure) return;
    for (const run of runsOrFailure) runs.set(`${target.url} ${run.id}`, run);
  };
  await Promise.all((await findTargets()).map(ask));
  const jobs = explanation.jobs.map((job): ExplainedJob => {
    const run = runs.get(`${job.origin} ${job.job.runId}`);
    return run ? withRun(job, run) : job;
  });
  return { ...explanation, jobs: jobs.sort(byState) };
}

/** Adds the event of the run (a job may wait for approval), and whether Actions is switched off: then no runner gets the job. */
export function withRun(job: ExplainedJob, { event, isActionsOff }: Run): ExplainedJob {
  const isWaiting = isActionsOff && job.verdict !== 'running';
  return { ...job, event, ...(isWaiting && { isActionsOff, state: 'unserved' }) };
}
