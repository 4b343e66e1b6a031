/** What happens to a job, why, and what to do: the row of its reason, and what only jobs with a runner have. Pure. */
import type { EmittedRunner } from '../../planner/decisions.ts';
import { keyText } from '../../shared/keys.ts';
import { duration } from '../../shared/printable.ts';
import { type ExplainedGroup, type ExplainedJob, findGroup, groupOfJob } from './model.ts';
import { endAdvice, HELD, podTroubleText, RUNNERS, troubleText } from './reasons.ts';

type RunningJob = ExplainedJob & { readonly verdict: 'running' };
type ServedJob = ExplainedJob & { readonly verdict: 'served' };

/** @param isShared of several jobs: without what each of them has for itself */
export function verdictText(
  job: ExplainedJob,
  nowMs: number,
  runners: ReadonlyMap<string, EmittedRunner>,
  isShared = false,
): string {
  if (job.isActionsOff)
    return `Actions is switched off in the settings of ${job.job.repository}: Gitea gives its jobs to no runner`;
  if (job.verdict === 'running')
    return isShared && job.group && !job.offline ? `runs in group ${keyText(job.group)}` : runningText(job, runners);
  if (job.verdict === 'held') {
    const { estimate: _, position: __, ...rest } = job;
    return HELD[job.because].text(isShared ? rest : job, nowMs);
  }
  return `${servedText(job, runners, nowMs)}; ${isShared ? '' : `runner ${job.runner} of `}group ${keyText(job.group)}`;
}

/** What to do about a job. Nothing when there is nothing to do but to wait. */
export function adviceFor(job: ExplainedJob, groups: readonly ExplainedGroup[]): readonly string[] {
  const switchOn = `switch Actions on in the settings of ${job.job.repository}; if the job is not to run, cancel its run then`;
  if (job.isActionsOff) return [switchOn];
  if (job.verdict === 'running') return job.offline ? [offlineAdvice(job)] : endAdvice(job);
  if (job.verdict === 'held') return HELD[job.because].advice?.(job, findGroup(job.group, groups)) ?? [];
  return servedAdvice(job);
}

function servedText(
  { by, runner, isUnseen, notCreated, idleMs, ended }: ServedJob,
  runners: ReadonlyMap<string, EmittedRunner>,
  nowMs: number,
): string {
  const { trouble, triedBefore = 0 } = runners.get(runner) ?? {};
  if (trouble && !notCreated) return podTroubleText(trouble, nowMs);
  const last = ended ? `its last runner failed: ${troubleText(ended)}; ` : '';
  const before = triedBefore > 0 ? `; ${triedBefore} before it got no job, or did not start` : '';
  if (idleMs !== undefined)
    return `it is registered and idle for ${duration(idleMs)}: Gitea does not give it the job${before}`;
  const unseen = isUnseen && 'would be started; the cluster was not looked at';
  return `${last}${notCreated?.why ?? (unseen || RUNNERS[by].serves)}${before}`;
}

function servedAdvice(job: ServedJob): readonly string[] {
  const { isUnseen, notCreated, idleMs, ended } = job;
  if (ended || notCreated?.isUnserved) return [...endAdvice(job), ...(notCreated?.isUnserved ? [notCreated.next] : [])];
  if (isUnseen) return ['to see whether its runner starts, have the cluster looked at: add --kubeconfig'];
  if (idleMs === undefined) return [];
  const { repository } = job.job;
  return [
    `look whether Actions is switched on in the settings of ${repository}, and whether the runner has all labels of runs-on`,
  ];
}

function runningText({ job, group, ended, offline }: RunningJob, runners: ReadonlyMap<string, EmittedRunner>): string {
  const runner = job.runner ?? '<unknown>';
  if (!group) return `runs on ${runner} (not a runner of these groups)`;
  const decision = runners.get(runner);
  if (decision?.because !== 'lost') {
    if (!offline) return `runs on ${runner}`;
    return `Gitea shows its runner ${runner} offline${offline.why === undefined ? '' : `; Kubernetes says: ${offline.why}`}`;
  }
  if (decision.isOutlived)
    return `no runner of its group lives as long as Gitea shows it in progress: ${runner} is gone, and holds no slot`;
  const why = ended ? ` (${troubleText(ended)})` : '';
  return `its runner ${runner} is lost${why}: Gitea fails it after 10 to 15 minutes`;
}

function offlineAdvice({ group, job }: RunningJob): string {
  const pod = `kubectl -n ${group?.namespace} get pods -l job-name=${job.runner} -o wide`;
  return `see whether its pod and its node are well: ${pod}. A pod whose node stays away is deleted after some five minutes, and its job is lost`;
}

/** The same for who may read the job and owns no group: whom to ask, and for what. @param own the advice for owners */
export function askAdvice(job: ExplainedJob, own: readonly string[]): readonly string[] {
  const group = groupOfJob(job);
  const whom = `ask an owner of ${group ? `group ${keyText(group)}` : 'the groups here'}`;
  if (job.isActionsOff) return own;
  if (job.verdict === 'held') return [HELD[job.because].ask?.(job, whom) ?? own].flat();
  if (job.verdict === 'served' && job.state === 'unserved') return [`${whom} why its runner does not start`];
  if (job.offline) return [`${whom} whether the node of its runner is well`];
  return job.ended ? [`re-run it when Gitea has failed it, or ${whom} why its runner was lost`] : own;
}
