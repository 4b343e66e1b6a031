/** Answers for one runner: why it stays or goes, and the cause and steps of its CI job or its pod. Pure. */
import type { RunnerDecision } from '../planner/decisions.ts';
import { isOver, type LiveJob } from '../planner/evidence.ts';
import { sentencesOf } from './answer.ts';
import { causeText } from './causes.ts';
import { type ExplainedJob, type Explanation, emittedRunners, findGroup } from './model.ts';
import { unregistered } from './not-created.ts';
import { endAdvice, podTroubleText, runnerAdvice, whyText } from './reasons.ts';
import { delayText, hasLogs, troubleText } from './remedies.ts';

interface ShownRunner {
  readonly runner: string;
  /** Absent: no RunnerGroup here has the runner. */
  readonly decision?: RunnerDecision | undefined;
  readonly live?: LiveJob | undefined;
}

/** Returns the CI job that the runner runs or is to have. */
export function jobOfRunner({ jobs }: Explanation, runner: string): ExplainedJob | undefined {
  return jobs.find((job) => (job.verdict === 'served' ? job.runner : job.job.runner) === runner);
}

/** Returns the cause and the next steps for one runner, as `explain runner/NAME` shows them. */
export function runnerSentences(shown: ShownRunner, explanation: Explanation) {
  const { decision } = shown;
  const why = decision && whyText(decision, explanation.groups, Date.parse(explanation.checkedAt));
  const { words, nextSteps } = wordsOf(shown, explanation);
  return { cause: [why, words].filter(Boolean).join('; '), nextSteps };
}

/** A runner with a CI job has the words of the job. Other runners have those of their pods. */
function wordsOf({ runner, decision, live }: ShownRunner, explanation: Explanation) {
  const nowMs = Date.parse(explanation.checkedAt);
  const job = jobOfRunner(explanation, runner);
  if (job) {
    const { nextSteps } = sentencesOf(explanation)(job);
    const isWell = job.verdict === 'running' && job.loss === undefined && !job.sidecar && delayText(job) === '';
    return { words: isWell ? undefined : causeText(job, nowMs, emittedRunners(explanation)), nextSteps };
  }
  const advice = decision ? runnerAdvice(decision) : [];
  const end = live && (live.end ?? (isOver(live.state) ? live.trouble : undefined));
  if (end) {
    const remedy = endAdvice({ ended: { runner, ...end } }, findGroup(decision?.group, explanation.groups));
    return { words: troubleText(end), nextSteps: [remedy, hasLogs(end) ? advice : []].flat() };
  }
  const trouble = decision ? decision.emit && decision.trouble : live?.trouble && { ...live, ...live.trouble };
  const refusal = decision && live && explanation.where && unregistered(explanation.where, decision, live);
  if (refusal) return { words: refusal.why, nextSteps: [refusal.next] };
  const stateText = trouble ? podTroubleText({ isLate: false, ...trouble }, nowMs) : live && leavingText(live);
  return { words: stateText, nextSteps: advice };
}

function leavingText({ endsByMs, disruption }: LiveJob): string {
  return endsByMs === undefined ? '' : `it ${delayText({ endsByMs, ...(disruption && { disruption }) })}`;
}
