/** How far the runner of a job has come, and how the last one ended, from what Kubernetes and Gitea show. Pure. */
import type { JobDecision, Plan } from '../../planner/decisions.ts';
import type { Evidence, LiveJob, PodEnd, RegisteredRunner } from '../../planner/evidence.ts';

/** Absent fields: there is nothing to tell. */
export interface Progress {
  /** For a job that waits and whose last runner failed, and for one whose runner is lost: that runner, and how it ended. */
  readonly ended?: PodEnd & { readonly runner: string };
  /** Its runner is registered and idle for so long, ms, and Gitea does not give it the job. */
  readonly idleMs?: number;
}

/** A registered runner asks Gitea every two seconds or so. */
const IDLE_TOO_LONG_MS = 60_000;

/** Answers for each job of a plan. */
export function progressOf(
  plan: Plan,
  evidence: Evidence | undefined,
  nowMs: number,
): (decision: JobDecision) => Progress {
  const lives = new Map((evidence?.liveJobs ?? []).map((each) => [each.name, each]));
  const rows = new Map<string, RegisteredRunner>();
  for (const { runners } of evidence?.looks.values() ?? []) for (const each of runners) rows.set(each.name, each);
  const records = plan.runners.filter(({ because }) => because === 'back-off-record');
  return (decision): Progress => {
    const runner = endedRunner(decision, records);
    const end = runner === undefined ? undefined : lives.get(runner)?.end;
    if (runner !== undefined && end) return { ended: { runner, ...end } };
    const idleMs = idleTime(decision, { lives, rows, nowMs });
    return idleMs === undefined ? {} : { idleMs };
  };
}

/** The newest record of a runner that was made for this job and failed: its name holds the id of the job. Or the runner that has the job. */
function endedRunner(decision: JobDecision, records: Plan['runners']): string | undefined {
  if (decision.verdict === 'running') return decision.group && decision.job.runner;
  if (decision.verdict === 'held' ? decision.because !== 'backing-off' : decision.verdict !== 'served')
    return undefined;
  return records.findLast(({ runner }) => runner.includes(`-${decision.job.id}-`))?.runner;
}

function idleTime(
  decision: JobDecision,
  facts: {
    readonly lives: ReadonlyMap<string, LiveJob>;
    readonly rows: ReadonlyMap<string, RegisteredRunner>;
    readonly nowMs: number;
  },
): number | undefined {
  // It was made when its job was ready. Others may have been idle before that.
  if (decision.verdict !== 'served' || decision.by !== 'own-runner') return undefined;
  const row = facts.rows.get(decision.runner);
  const sinceMs = facts.lives.get(decision.runner)?.runningSinceMs;
  if (!row?.online || row.busy || sinceMs === undefined) return undefined;
  const idleMs = facts.nowMs - Math.max(sinceMs, decision.job.createdAtMs);
  return idleMs >= IDLE_TOO_LONG_MS ? idleMs : undefined;
}
