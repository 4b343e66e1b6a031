import { describeScope } from '../clients/gitea/endpoints.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { EmittedRunner, GroupKey, GroupSummary, JobDecision, Plan, RunnerDecision } from '../planner/decisions.ts';
import type { Evidence, Group, LiveJob } from '../planner/evidence.ts';
import { waitingLine } from '../planner/line.ts';
import { groupBy } from '../shared/group-by.ts';
import { keyText } from '../shared/key-text.ts';
import { type BlockedBy, blockedBy } from './explain/blocked.ts';
import { byState, type JobState, stateOf } from './explain/job-state.ts';
import { type LabelsElsewhere, labelsElsewhere } from './explain/labels-elsewhere.ts';
import { type Progress, progressOf } from './explain/progress.ts';
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
export type ExplainedJob = Exclude<JobDecision, { readonly verdict: 'done' }> &
  Partial<BlockedBy> &
  Progress & {
    readonly state: JobState;
    /** For labels that no group covers: the correction with which one would. */
    readonly didYouMean?: LabelHint;
    /** For labels that no group covers, although groups have them. */
    readonly elsewhere?: LabelsElsewhere;
    /** For `cap`: the cap. */
    readonly cap?: number;
    /** For `cap`: its place among the jobs that wait for slots of the group, from 1. */
    readonly position?: number;
    /** For `cap`: how long it will wait. Absent: no finished job tells. */
    readonly estimate?: WaitEstimate;
    /** For `blocked`: what has started its run. Absent: not known. */
    readonly event?: string;
    /** Its repository has Actions switched off. Absent: it has not, or the run was not asked for. */
    readonly isActionsOff?: true;
    /** Its runner is wanted, and nobody looked whether Kubernetes has it. */
    readonly isUnseen?: true;
    /** Its runner is wanted, and Kubernetes has no Job for it. */
    readonly notCreated?: NotCreated;
  };

/** Why the Kubernetes Job of a runner that is wanted is not there, and what to do. */
export interface NotCreated {
  readonly why: string;
  readonly next: string;
  /** It does not come by itself. */
  readonly isUnserved: boolean;
}

export interface ExplainedGroup extends GroupKey, Omit<GroupSummary, 'group'> {
  readonly file: string;
  readonly gitea: string;
  readonly scope: string;
  readonly labels: readonly string[];
  readonly suspended: boolean;
  /** Nobody looked at its Jobs: how its runners that Gitea does not show are doing is not known. */
  readonly isUnseen?: true;
  /** Runners that take slots although their pods cannot start. */
  readonly cannotStart: number;
}

/** The group that a job waits for or runs in. For labels that no group covers: the nearest one. Undefined: there is none. */
export function groupOfJob(job: ExplainedJob): GroupKey | undefined {
  return job.verdict === 'held' ? (job.group ?? job.nearest) : job.group;
}

/** What is told of a group. */
export function findGroup(key: GroupKey | undefined, groups: readonly ExplainedGroup[]): ExplainedGroup | undefined {
  return key && groups.find((group) => keyText(group) === keyText(key));
}

/** Runners in the output, by name. */
export function emittedRunners({ runners }: Pick<Plan, 'runners'>): ReadonlyMap<string, EmittedRunner> {
  return new Map(runners.flatMap((decision) => (decision.emit ? [[decision.runner, decision] as const] : [])));
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
  const unseen = seen?.jobsWereListed === false && { isUnseen: true as const };
  const explained = explainedGroups(groups, plan).map((group) => ({ ...group, ...unseen }));
  const facts = {
    groups: new Map(explained.map((group) => [keyText(group), group])),
    runners: new Map(plan.runners.map((decision) => [decision.runner, decision])),
  };
  const waits = seen ? waitsOf(plan, seen, nowMs) : new Map<string, Wait>();
  const blockers = blockedBy(plan);
  const progress = progressOf(plan, seen?.evidence, nowMs);
  const jobs = plan.jobs.flatMap((decision): readonly ExplainedJob[] => {
    if (decision.verdict === 'done') return [];
    const didYouMean = labelHint(decision, groups);
    const elsewhere = labelsElsewhere(decision, groups);
    const cap = isHeldByCap(decision) && decision.group ? facts.groups.get(keyText(decision.group))?.cap : undefined;
    return [
      {
        ...decision,
        state: stateOf(decision, facts),
        ...(didYouMean && { didYouMean }),
        ...(decision.verdict === 'served' && decision.by === 'new-runner' && unseen),
        ...waits.get(jobKey(decision)),
        ...(elsewhere && { elsewhere }),
        ...(cap !== undefined && { cap }),
        ...(isBlocked(decision) && blockers(decision)),
        ...progress(decision),
      },
    ];
  });
  return {
    checkedAt: new Date(nowMs).toISOString(),
    groups: explained,
    jobs: jobs.sort(byState),
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
      cannotStart: plan.runners.filter((each) => cannotStart(each) && keyText(each.group) === keyText(key)).length,
    };
  });
}

type Wait = Pick<ExplainedJob, 'position' | 'estimate'>;

/** The place in line, and the estimate, of all jobs that a cap holds back; by `jobKey`. */
function waitsOf(plan: Plan, { groups, evidence }: ExplainedEvidence, nowMs: number): ReadonlyMap<string, Wait> {
  const waits = new Map<string, Wait>();
  const held = new Map(plan.jobs.flatMap((each) => (isHeldByCap(each) ? [[jobKey(each), each] as const] : [])));
  if (held.size === 0) return waits;
  const inOrder = waitingLine(groups, evidence).flatMap((listed) => held.get(jobKey(listed)) ?? []);
  const lines = groupBy(inOrder, ({ group }) => group && keyText(group));
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

/** It takes a slot, and Kubernetes says why its pod does not start. */
function cannotStart(decision: RunnerDecision): boolean {
  return decision.emit && decision.because !== 'back-off-record' && decision.trouble?.isLate === true;
}

function jobKey({ origin, job }: Pick<JobDecision, 'origin' | 'job'>): string {
  return `${origin} ${job.id}`;
}
