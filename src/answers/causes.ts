/** What happens to a job, why, and what to do: the row of its reason, and what only jobs with a runner have. Pure. */
import type { EmittedRunner } from '../planner/decisions.ts';
import { keyText } from '../shared/keys.ts';
import { count, duration } from '../shared/printable.ts';
import { notCoveredAdvice } from './held-back.ts';
import { type ExplainedGroup, type ExplainedJob, findGroup, groupOfJob, isNotCovered } from './model.ts';
import { endAdvice, endedText, HELD, podTroubleText, RUNNERS } from './reasons.ts';
import { offlineAdvice, strainText, troubleText } from './remedies.ts';

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
  if (job.verdict === 'running') return runningText(job, isShared);
  if (job.verdict === 'held') {
    const { estimate: _, position: __, ...rest } = job;
    return HELD[job.because].text(isShared ? rest : job, nowMs);
  }
  return `${servedText(job, runners, nowMs)}; ${isShared ? '' : `runner ${job.runner} of `}group ${keyText(job.group)}`;
}

/** The same for several jobs: each cause once. */
export function advicesFor(jobs: readonly ExplainedJob[], of: (job: ExplainedJob) => readonly string[]) {
  const isMissing = (job: ExplainedJob): boolean => isNotCovered(job) && !job.isActionsOff;
  const others = jobs.filter((job) => !isMissing(job)).flatMap(of);
  return [...new Set([...others, ...notCoveredAdvice(jobs.filter(isMissing))])];
}

/** What to do about a job. Nothing when there is nothing to do but to wait. */
export function adviceFor(job: ExplainedJob, groups: readonly ExplainedGroup[]): readonly string[] {
  const switchOn = `switch Actions on in the settings of ${job.job.repository}; if the job is not to run, cancel its run then`;
  if (job.isActionsOff) return [switchOn];
  if (job.verdict === 'running') return runningAdvice(job);
  if (job.verdict === 'held') return HELD[job.because].advice?.(job, findGroup(job.group, groups)) ?? [];
  return servedAdvice(job);
}

function servedText(
  { by, runner, isUnseen, notCreated, idleMs, inVain, ended }: ServedJob,
  runners: ReadonlyMap<string, EmittedRunner>,
  nowMs: number,
): string {
  const { trouble, triedBefore = 0 } = runners.get(runner) ?? {};
  if (trouble && !notCreated) return podTroubleText(trouble, nowMs);
  const before =
    triedBefore > 0 ? [`${count(triedBefore, 'runner')} before this one got no job, or did not start`] : [];
  if (idleMs !== undefined)
    return [`it is registered and idle for ${duration(idleMs)}: Gitea does not give it the job`, ...before].join('; ');
  const last = ended
    ? [endedText(ended)]
    : inVain === 'idle'
      ? ['its last runner was idle: Gitea did not give it the job']
      : before;
  const unseen = isUnseen && 'would be started; the cluster was not looked at';
  return [...last, notCreated?.why ?? (unseen || RUNNERS[by].serves)].join('; ');
}

function servedAdvice(job: ServedJob): readonly string[] {
  const { group, isUnseen, notCreated, inVain, ended } = job;
  const { repository } = job.job;
  const look = `look whether Actions is switched on in the settings of ${repository}, and whether the runner has all labels of runs-on`;
  const events = `see which pods did not start: kubectl -n ${group.namespace} describe runnergroup ${group.name}. If all did, ${look}`;
  const helps = ended ? endAdvice(job) : inVain === 'idle' ? [look] : inVain ? [events] : [];
  if (helps.length > 0 || notCreated?.isUnserved)
    return [...helps, ...(notCreated?.isUnserved ? [notCreated.next] : [])];
  return isUnseen ? ['to see whether its runner starts, have the cluster looked at: add --kubeconfig'] : [];
}

function runningText(job: RunningJob, isShared: boolean): string {
  const { group, ended, loss, offline, overtime, endsByMs } = job;
  const runner = job.job.runner ?? '<unknown>';
  if (!group) return `runs on ${runner} (not a runner of these groups)`;
  if (loss === 'outlived')
    return `no runner of its group lives as long as Gitea shows it in progress: ${runner} is gone, and holds no slot`;
  if (loss)
    return `its runner ${runner} is lost${ended ? ` (${troubleText(ended)})` : ''}: Gitea fails it after 10 to 15 minutes`;
  if (endsByMs !== undefined || overtime) return `runs on ${runner}: it ${strainText(job)}`;
  if (offline)
    return `Gitea shows its runner ${runner} offline${offline.why === undefined ? '' : `; Kubernetes says: ${offline.why}`}`;
  return isShared ? `runs in group ${keyText(group)}` : `runs on ${runner}`;
}

function runningAdvice(job: RunningJob): readonly string[] {
  const { endsByMs, group, loss, offline, overtime } = job;
  if (loss === 'outlived') return ['force-cancel its run in Gitea', `if that does not end it, ${GITEA_DOCTOR}`];
  if (loss) return [...endAdvice(job), 're-run the job when Gitea has failed it'];
  if (endsByMs !== undefined)
    return ['wait until then, or cancel the job in Gitea: its pod is deleted, as when a node is drained'];
  if (overtime) return ['look at the job in Gitea, and cancel it if it hangs'];
  return offline ? [offlineAdvice(group?.namespace, [job.job.runner ?? ''])] : [];
}

const GITEA_DOCTOR = 'on the host of Gitea: gitea doctor check --run fix-actions-unfinished-run-status --fix';

/** The same for who may read the job and owns no group: whom to ask, and for what. @param own the advice for owners */
export function askAdvice(job: ExplainedJob, own: readonly string[]): readonly string[] {
  const group = groupOfJob(job);
  const whom = `ask an owner of ${group ? `group ${keyText(group)}` : 'the groups here'}`;
  if (job.isActionsOff) return own;
  if (job.verdict === 'held') return [HELD[job.because].ask?.(job, whom) ?? own].flat();
  if (job.verdict === 'served' && job.state === 'unserved') return [`${whom} why its runner does not start`];
  if (job.offline) return [`${whom} whether the node of its runner is well`];
  return job.loss ? [`re-run it when Gitea has failed it, or ${whom} why its runner was lost`] : own;
}
