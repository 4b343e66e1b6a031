/** Describes each job: what happens to it, why, and what to do. Joins the row of its reason with facts of its runner. Pure. */
import type { EmittedRunner } from '../planner/decisions.ts';
import { groupBy, keyText } from '../shared/keys.ts';
import { GROUP_NAME, timeText } from '../shared/marks.ts';
import { count, duration } from '../shared/printable.ts';
import { type ExplainedGroup, type ExplainedJob, findGroup, groupOfJob, isNotCovered } from './model.ts';
import { endAdvice, endedText, HELD, podTroubleText, RUNNERS } from './reasons.ts';
import { delayText, offlineAdvice, remedyOf, troubleText } from './remedies.ts';
import { notCoveredAdvice } from './uncovered-labels.ts';

type RunningJob = ExplainedJob & { readonly verdict: 'running' };
type ServedJob = ExplainedJob & { readonly verdict: 'served' };

/** Returns the sentence about a job. @param isShared true if several jobs share it: it leaves out the details of each */
export function verdictText(...[job, nowMs, runners, isShared = false]: Parameters<typeof causeText>): string {
  const text = causeText(job, nowMs, runners, isShared);
  if (job.isActionsOff || job.verdict !== 'served') return text;
  return `${text.replace(/\.$/, '')}; ${isShared ? '' : `runner ${job.runner} of `}group ${keyText(job.group)}`;
}

/** Returns the sentence about a job without its future runner. */
export function causeText(
  job: ExplainedJob,
  nowMs: number,
  runners: ReadonlyMap<string, EmittedRunner>,
  isShared = false,
): string {
  if (job.isActionsOff)
    return `Actions is switched off in the settings of ${job.job.repository}: Gitea gives its jobs to no runner`;
  if (job.verdict === 'running') return runningText(job, isShared);
  if (job.verdict === 'held') {
    const { estimate: _, position: __, ...shared } = job;
    return [HELD[job.because].text(isShared ? shared : job, nowMs), job.behindGit?.why].filter(Boolean).join('; ');
  }
  return servedText(job, runners, nowMs);
}

/** Returns the advice for several jobs, once for each cause. */
export function advicesFor(jobs: readonly ExplainedJob[], adviceOf: (job: ExplainedJob) => readonly string[]) {
  const lacksLabels = (job: ExplainedJob): boolean => isNotCovered(job) && !job.isActionsOff && !job.brokenGroup;
  const advice = jobs.filter((job) => !lacksLabels(job)).flatMap((job) => adviceOf(job));
  const uncovered = jobs.filter(lacksLabels);
  // What git has may come first. Then other labels may be missing, or none.
  const ofGit = uncovered.flatMap(({ behindGit }) => behindGit?.next ?? []);
  return [
    ...oncePerCause([...advice, ...ofGit]),
    ...oncePerCause(notCoveredAdvice(uncovered.filter(({ behindGit }) => !behindGit))),
  ];
}

/**
 * Steps that differ only in the runner or the time become the first of them, with the number of the others.
 * @param steps one for each job or runner that it helps: the step that helps most comes first
 */
export function oncePerCause(steps: readonly string[]): readonly string[] {
  const alike = [...groupBy(steps, (step) => step.replaceAll(VARYING, '')).values()];
  return alike
    .toSorted((one, other) => other.length - one.length)
    .map((same) => {
      const [first = '', ...others] = new Set(same);
      return others.length === 0 ? first : `${first}. The same for ${count(others.length, 'other runner')}`;
    });
}

/** The name of a runner, and a time. */
const VARYING = /\b[a-z0-9][a-z0-9-]*-\d+-\d+-[0-9a-f]{8}\b|\d{4}-\d\d-\d\dT[\d:]+Z/g;

/** Returns the advice for a job. Empty: it only has to wait. */
export function adviceFor(job: ExplainedJob, groups: readonly ExplainedGroup[]): readonly string[] {
  const switchOn = `switch Actions on in the settings of ${job.job.repository}; if the job is not to run, cancel its run then`;
  if (job.isActionsOff) return [switchOn];
  const group = findGroup(job.group, groups);
  if (job.verdict === 'running') return runningAdvice(job, group);
  if (job.verdict === 'served') return servedAdvice(job, group);
  const { advice, isOfFile } = HELD[job.because];
  const steps = advice?.(job, group) ?? [];
  if (!isOfFile || !job.behindGit) return steps;
  return [...steps.slice(0, -1), `${job.behindGit.next}. If git has the same: ${steps.at(-1)}`];
}

function servedText(job: ServedJob, runners: ReadonlyMap<string, EmittedRunner>, nowMs: number): string {
  const { by, ended, idleMs, isUnseen, notCreated, row, runner } = job;
  const { trouble, triedBefore = 0 } = runners.get(runner) ?? {};
  // What happens now may end by itself, and does not say why the last one failed.
  if (trouble && !notCreated) return `${ended ? `${endedText(ended)}; now ` : ''}${podTroubleText(trouble, nowMs)}`;
  const history = historyText(job, triedBefore);
  const idle =
    idleMs !== undefined && `it is registered and idle for ${duration(idleMs)}: Gitea does not give it the job`;
  const unseen = isUnseen && 'would be started; the cluster was not looked at';
  const known = idle || (row && ROWS[row]);
  const parts = known ? [known, history] : [history, notCreated?.why ?? (unseen || RUNNERS[by].serves)];
  return parts.filter(Boolean).join('; ');
}

/** What Gitea shows of a runner whose pod runs. */
const ROWS = {
  missing: 'its pod runs, and Gitea has no runner of its name: the row was deleted, or is in another Gitea or scope',
  offline: 'its pod runs, and Gitea shows its runner offline: its requests for jobs do not reach Gitea',
} as const;

/** Returns what became of the job's last runners. Undefined: it had none, or nothing is known. */
function historyText({ ended, idleMs, inVain }: ServedJob, triedBefore: number): string | undefined {
  if (ended) return endedText(ended);
  if (inVain === 'idle' && idleMs === undefined) return 'its last runner was idle: Gitea did not give it the job';
  if (inVain === 'offline') return 'its last runner was offline in Gitea: its requests for jobs did not reach Gitea';
  if (triedBefore === 0) return undefined;
  return `${count(triedBefore, 'runner')} before this one got no job, or did not start`;
}

function servedAdvice(job: ServedJob, group: ExplainedGroup | undefined): readonly string[] {
  const { isUnseen, notCreated } = job;
  const advice = [
    ...rowAdvice(job, group),
    ...historyAdvice(job, group),
    ...(notCreated?.isUnserved || notCreated?.isKnown ? [notCreated.next] : []),
  ];
  if (advice.length > 0) return advice;
  return isUnseen ? ['to see whether its runner starts, have the cluster looked at: add --kubeconfig'] : [];
}

/** A runner without a row never comes back, and one that is offline seldom. The next one comes when its time is over. */
function rowAdvice({ group, row, runner, ...job }: ServedJob, explained: ExplainedGroup | undefined) {
  if (!row) return [];
  const { namespace } = group;
  const { state, waitUntilMs = 0 } = job;
  const wait = state === 'starting' ? `wait until ${timeText(waitUntilMs)}: then another runner is tried. ` : '';
  if (row === 'offline')
    return [
      `${wait}See in its log what refuses it (Gitea, a proxy, a firewall): kubectl -n ${namespace} logs job/${runner} -c runner`,
    ];
  const secret = explained?.registrationSecret;
  const compare =
    secret === undefined
      ? ''
      : `compare Secret ${namespace}/${secret} with spec.gitea.url and the scope of the group, and `;
  return [
    `${wait}Sooner: kubectl -n ${namespace} delete job ${runner}. If the next one has no row either, ${compare}ask who deletes runners in Gitea`,
  ];
}

/** Returns the advice for a job whose last runners failed. */
function historyAdvice(job: ServedJob, explained: ExplainedGroup | undefined): readonly string[] {
  const { ended, group, inVain } = job;
  if (ended) return endAdvice(job, explained);
  const look = `look whether Actions is switched on in the settings of ${job.job.repository}, and whether the runner has all labels of runs-on`;
  if (inVain === 'idle') return [look];
  if (inVain === 'offline')
    return [
      `see what keeps its runners from Gitea: kubectl -n ${group.namespace} logs -l ${GROUP_NAME}=${group.name} -c runner`,
    ];
  const events = `see which pods did not start: kubectl -n ${group.namespace} describe runnergroup ${group.name}. If all did, ${look}`;
  return inVain ? [events] : [];
}

function runningText(job: RunningJob, isShared: boolean): string {
  const { group, ended, loss, offline, overtime, endsByMs, sidecar } = job;
  const runner = job.job.runner ?? '<unknown>';
  if (!group) return `runs on ${runner} (not a runner of these groups)${offline ? ', which Gitea shows offline' : ''}`;
  if (loss === 'outlived')
    return `no runner of its group lives as long as Gitea shows it in progress: ${runner} is gone, and holds no slot`;
  const end = ended ? ` (${troubleText(ended)})` : '';
  if (loss) return `its runner ${runner} is lost${end}: Gitea fails it after 10 to 15 minutes`;
  if (sidecar) return `runs on ${runner}, whose ${sidecar.message ?? 'sidecar has ended'}: steps that use it fail`;
  if (endsByMs !== undefined || overtime) return `runs on ${runner}: it ${delayText(job)}`;
  const { isGone, why } = offline ?? {};
  if (isGone)
    return `Gitea shows its runner ${runner} offline, and its Kubernetes Job is gone: Gitea fails it after 10 to 15 minutes`;
  if (offline) return `Gitea shows its runner ${runner} offline${why === undefined ? '' : `; Kubernetes says: ${why}`}`;
  return isShared ? `runs in group ${keyText(group)}` : `runs on ${runner}`;
}

function runningAdvice(job: RunningJob, explained: ExplainedGroup | undefined): readonly string[] {
  const { disruption, endsByMs, group, loss, offline, overtime, sidecar } = job;
  if (loss === 'outlived') return ['force-cancel its run in Gitea', `if that does not end it, ${GITEA_DOCTOR}`];
  if (loss) return [...endAdvice(job, explained), RERUN];
  if (!group && offline) return [`start that runner again. If it is gone, ${RERUN}`];
  if (sidecar) return [...endAdvice({ ended: { runner: job.job.runner ?? '', ...sidecar } }, explained), RERUN_FAILED];
  if (offline?.isGone) return [`${RERUN}. Sooner: cancel its run first`];
  if (endsByMs !== undefined) {
    const remedy = disruption && remedyOf(disruption, { group });
    const why = disruption ? '' : ': its pod is deleted, as when a node is drained';
    return [`wait until then, or cancel the job in Gitea${why}`, ...(remedy ? [remedy] : [])];
  }
  if (overtime) return ['look at the job in Gitea, and cancel it if it hangs'];
  return offline ? [offlineAdvice(group?.namespace, [job.job.runner ?? ''])] : [];
}

const RERUN = 're-run the job when Gitea has failed it';
const RERUN_FAILED = 're-run the job if it fails, or cancel it now';
const GITEA_DOCTOR = 'on the host of Gitea: gitea doctor check --run fix-actions-unfinished-run-status --fix';

/** Returns the advice for people who can read a job and own no group: whom to ask, and for what. */
export function askAdvice(job: ExplainedJob, ownersAdvice: readonly string[]): readonly string[] {
  const group = groupOfJob(job);
  const askOwner = `ask an owner of ${group ? `group ${keyText(group)}` : 'the groups here'}`;
  if (job.isActionsOff) return ownersAdvice;
  if (job.verdict === 'held') return [HELD[job.because].ask?.(job, askOwner) ?? ownersAdvice].flat();
  if (job.verdict === 'served' && (job.state === 'unserved' || job.row))
    return [`${askOwner} why its runner does not start`];
  if (job.offline && !job.offline.isGone) return [`${askOwner} whether the node of its runner is well`];
  return job.loss || job.offline
    ? [`re-run it when Gitea has failed it, or ${askOwner} why its runner was lost`]
    : ownersAdvice;
}
