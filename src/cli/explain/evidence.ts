/** What `explain` tells of a job besides its cause: since when, what Gitea says, what its pod does. Pure. */
import type { Run } from '../../clients/gitea/runs.ts';
import type { Job, LiveJob } from '../../planner/evidence.ts';
import { count } from '../../shared/printable.ts';
import { duration } from '../duration.ts';
import { troubleText } from '../explain-text.ts';
import type { ExplainedJob } from '../explanation.ts';

export function sinceText({ createdAtMs, startedAtMs, status }: Job, nowMs: number): string {
  if (status === 'in_progress' && startedAtMs !== undefined)
    return `it has run for ${duration(nowMs - startedAtMs)} (since ${utcText(startedAtMs)})`;
  return `it was created ${duration(nowMs - createdAtMs)} ago (${utcText(createdAtMs)}); Gitea does not tell when it became ready`;
}

/** `2026-11-21 12:00:00 UTC` */
function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export function jobEvidence({ job, runHas = [], estimate, position }: ExplainedJob, run: Run | undefined): string {
  const labels = job.labels.length === 0 ? 'no runs-on' : `runs-on ${job.labels.join(', ')}`;
  const attempt = job.attempt > 1 ? `, attempt ${job.attempt}` : '';
  const facts = [`Gitea says ${job.status.replace('_', ' ')}, ${labels}${attempt}`];
  if (position !== undefined && estimate)
    facts.push(`the estimate is made from ${count(estimate.samples, 'finished job')}`);
  if (job.status === 'blocked') facts.push(blockedEvidence(runHas.length, run));
  return facts.join('; ');
}

function blockedEvidence(others: number, run: Run | undefined): string {
  if (others > 0) return "Gitea's API does not tell which of them it needs; the graph on the page of the run does";
  const event = run ? `its run was started by ${run.event}; ` : '';
  return `${event}Gitea's API tells neither the concurrency group nor a missing approval; the page of the run shows both`;
}

/** `its Job was created 3m12s ago; the pod is starting: ImagePullBackOff: …` */
export function podText({ state, createdAtMs, end, ...live }: LiveJob, nowMs: number): string {
  const trouble = live.trouble ?? end;
  const why = trouble ? `: ${troubleText(trouble)}` : '';
  return `its Kubernetes Job was created ${duration(nowMs - createdAtMs)} ago; ${POD_WORDS[state]}${why}`;
}

const POD_WORDS: Readonly<Record<LiveJob['state'], string>> = {
  starting: 'its pod does not run yet',
  running: 'its pod runs',
  complete: 'it has ended',
  failed: 'it has failed',
  deleting: 'it is being deleted',
  unknown: 'the state of its pod is not known',
};
