import { describeScope } from '../gitea/endpoints.ts';
import type { JobDecision, Plan } from '../plan/decisions.ts';
import type { Evidence, Group, Job, LiveJob } from '../plan/evidence.ts';
import { waitingLine } from '../plan/line.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { JOB_STATES, type JobState, stateOf } from './explain/job-state.ts';
import { Durations, estimateWaits, type WaitEstimate } from './explain/wait-estimate.ts';
import type { WhereIAm } from './explain/where.ts';
import { type LabelHint, labelHint } from './label-hint.ts';

/** What `explain -o json` prints, and all that the text is made from. */
export interface Explanation {
  readonly checkedAt: string;
  /** Absent: the RunnerGroups are those of files, and nothing but Jobs was read from a cluster. */
  readonly where?: WhereIAm;
  readonly groups: readonly ExplainedGroup[];
  /** Unfinished jobs: the worst state first, then the oldest. */
  readonly jobs: readonly ExplainedJob[];
  readonly runners: Plan['runners'];
  /** Jobs of ours in Kubernetes that have not ended well. Absent: nobody looked. */
  readonly liveJobs?: readonly LiveJob[];
}

/** A job that has not finished, and what only people need to know of it. */
export type ExplainedJob = Exclude<JobDecision, { readonly verdict: 'done' }> & {
  readonly state: JobState;
  /** For labels that no group covers: the correction with which one would. */
  readonly didYouMean?: LabelHint;
  /** For `cap`: its place among the jobs that wait for slots of the group, from 1. */
  readonly position?: number;
  /** For `cap`: how long it will wait. Absent: no finished job tells. */
  readonly estimate?: WaitEstimate;
  /** For `blocked`: the other jobs of its run that are ready or run. It waits for one of them, or Gitea does not tell for what. */
  readonly runHas?: readonly RunJob[];
};

/** Another job of the same run. */
export interface RunJob {
  readonly id: number;
  readonly name: string;
  readonly status: Job['status'];
}

export interface ExplainedGroup {
  readonly namespace: string;
  readonly name: string;
  readonly file: string;
  readonly gitea: string;
  readonly scope: string;
  readonly labels: readonly string[];
  readonly suspended: boolean;
  readonly cap: number;
  readonly busy: number;
  readonly waiting: number;
  readonly debugging: number;
  readonly spare: number;
  readonly warm: number;
  readonly minIdle: number;
  readonly held: number;
}

/** What an explanation is made from besides the plan. */
export interface ExplainedEvidence {
  readonly groups: readonly Group[];
  readonly evidence: Evidence;
  readonly jobsWereListed: boolean;
}

/** Joins groups, plan and evidence. Finished jobs are left out: they wait for nothing. */
export function explanationOf(
  groups: readonly RunnerGroup[],
  plan: Plan,
  nowMs: number,
  seen?: ExplainedEvidence,
): Explanation {
  const facts = {
    caps: new Map(plan.groups.map(({ group, cap }) => [keyText(group), cap])),
    runners: new Map(plan.runners.map((decision) => [decision.runner, decision])),
  };
  const waits = seen ? waitsOf(plan, seen, nowMs) : new Map<string, Wait>();
  const runs = activeByRun(plan);
  const jobs = plan.jobs.flatMap((decision): readonly ExplainedJob[] => {
    if (decision.verdict === 'done') return [];
    const didYouMean = labelHint(decision, groups);
    const runHas = runs.get(runKey(decision));
    return [
      {
        ...decision,
        state: stateOf(decision, facts),
        ...(didYouMean && { didYouMean }),
        ...waits.get(jobKey(decision)),
        ...(isBlocked(decision) && { runHas: runHas ?? [] }),
      },
    ];
  });
  return {
    checkedAt: new Date(nowMs).toISOString(),
    groups: explainedGroups(groups, plan),
    jobs: jobs.sort((a, b) => JOB_STATES.indexOf(a.state) - JOB_STATES.indexOf(b.state)),
    runners: plan.runners,
    ...(seen?.jobsWereListed && { liveJobs: seen.evidence.liveJobs.filter(({ state }) => state !== 'complete') }),
  };
}

function explainedGroups(groups: readonly RunnerGroup[], plan: Plan): readonly ExplainedGroup[] {
  const written = new Map(groups.map((group) => [keyText(group), group]));
  return plan.groups.flatMap(({ group: key, ...counts }) => {
    const group = written.get(keyText(key));
    if (!group) return [];
    return {
      namespace: key.namespace,
      name: key.name,
      file: group.place.file,
      gitea: group.giteaUrl,
      scope: describeScope(group.scope),
      labels: group.labels.map((label) => label.name),
      suspended: group.suspend,
      ...counts,
    };
  });
}

type Wait = Pick<ExplainedJob, 'position' | 'estimate'>;

/** The place in line, and the estimate, of all jobs that a cap holds back; by `jobKey`. */
function waitsOf(plan: Plan, { groups, evidence }: ExplainedEvidence, nowMs: number): ReadonlyMap<string, Wait> {
  const waits = new Map<string, Wait>();
  const held = new Map(plan.jobs.flatMap((each) => (isHeldByCap(each) ? [[jobKey(each), each] as const] : [])));
  if (held.size === 0) return waits;
  const lines = new Map<string, JobDecision[]>();
  for (const listed of waitingLine(groups, evidence)) {
    const decision = held.get(jobKey(listed));
    if (!decision?.group) continue;
    const key = keyText(decision.group);
    const line = lines.get(key) ?? [];
    lines.set(key, line);
    line.push(decision);
  }
  for (const [key, line] of lines) {
    const cap = plan.groups.find(({ group }) => keyText(group) === key)?.cap ?? 0;
    const ofGitea = plan.jobs.filter(({ origin }) => origin === line[0]?.origin);
    const atWork = ofGitea.filter((each) => isAtWorkOf(each, key)).map(({ job }) => job);
    const durations = new Durations(ofGitea.map(({ job }) => job));
    const estimates = estimateWaits({ cap, atWork, line: line.map(({ job }) => job) }, durations, nowMs);
    for (const [index, decision] of line.entries()) {
      const estimate = estimates[index];
      waits.set(jobKey(decision), { position: index + 1, ...(estimate && { estimate }) });
    }
  }
  return waits;
}

function isHeldByCap(decision: JobDecision): decision is JobDecision & { readonly verdict: 'held' } {
  return decision.verdict === 'held' && decision.because === 'cap';
}

function isBlocked(decision: JobDecision): boolean {
  return decision.verdict === 'held' && decision.because === 'blocked';
}

function isAtWorkOf(decision: JobDecision, key: string): boolean {
  if (decision.verdict !== 'running' && decision.verdict !== 'served') return false;
  return decision.group !== undefined && keyText(decision.group) === key;
}

/** The jobs of each run that are ready or run. */
function activeByRun({ jobs }: Plan): ReadonlyMap<string, readonly RunJob[]> {
  const runs = new Map<string, RunJob[]>();
  for (const decision of jobs) {
    const { id, name, status } = decision.job;
    if (status !== 'queued' && status !== 'in_progress') continue;
    const key = runKey(decision);
    runs.set(key, [...(runs.get(key) ?? []), { id, name, status }]);
  }
  return runs;
}

function runKey({ origin, job }: Pick<JobDecision, 'origin' | 'job'>): string {
  return `${origin} ${job.runId}`;
}

function jobKey({ origin, job }: Pick<JobDecision, 'origin' | 'job'>): string {
  return `${origin} ${job.id}`;
}

/** `runners/ci` */
function keyText({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}
