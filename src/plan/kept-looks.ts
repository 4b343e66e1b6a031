/**
 * Looks that `serve` has kept, in place of new ones, and what a plan may not make of them (docs/adr/0112). They are some seconds old, and the
 * Jobs of the cluster are listed after them. So two things are taken back that such an order of looks would show:
 *
 *     a Job has ended since the look ..... it counts as running. Else its CI job may look as if it still waited
 *     the plan lets a living Job go ...... Gitea is asked anew. Its runner may have taken a CI job after the look
 */
import { askServe } from '../clients/gitea/ask-serve.ts';
import { type GiteaTarget, type ObserveOptions, observeEach } from '../clients/gitea/observe-gitea.ts';
import type { ClockBounds, ServerClocks } from '../clients/http/server-clocks.ts';
import type { Plan, RunnerDecision } from '../planner/decisions.ts';
import { hasEnded, isOver, type LiveJob, type Look } from '../planner/evidence.ts';
import { systemClock } from '../shared/clock.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import type { Planning } from './plan-seen.ts';
import type { Settings } from './settings.ts';

type Looks = ReadonlyMap<string, Look | Failure>;

/** Returns some looks of `serve`, and all others from Gitea. */
export interface SomeKept {
  readonly looks: Looks;
  /** Jobs as they were when the oldest kept look began. Absent: none was kept. */
  readonly jobsThen?: (jobs: readonly LiveJob[], nowMs: number, cluster: ClockBounds | undefined) => readonly LiveJob[];
  /** True if a plan from these looks needs new ones. Absent: no look was kept. */
  readonly isInDoubt?: (planning: Planning) => boolean;
}

export async function looksKept(
  targets: readonly GiteaTarget[],
  asking: ObserveOptions & { readonly clocks: ServerClocks },
  observeNow: (targets: readonly GiteaTarget[], options: ObserveOptions) => Promise<Looks>,
  { now, onRequest }: Pick<Settings, 'now' | 'onRequest'>,
  url: string,
): Promise<SomeKept> {
  const keptLooks = await askServe(targets, { url, clocks: asking.clocks, now, onRequest });
  const isKept = ({ key }: GiteaTarget) => keptLooks.has(key);
  const missing = targets.filter((target) => !isKept(target));
  const [atOnce, ...played] = await Promise.all([
    observeNow(missing, asking),
    ...targets.filter(isKept).map(async (target) => {
      const { beganMs, ...from } = keptLooks.get(target.key) ?? {};
      // This fails if the look needs a request that `serve` did not record. Then Gitea is asked instead.
      const looked = await observeEach([target], { ...asking, ...from, ahead: false }).catch(() => undefined);
      const look = looked?.get(target.key);
      return look === undefined || look instanceof Failure ? { target } : { target, look, beganMs };
    }),
  ]);
  const failed = played.flatMap(({ look, target }) => (look ? [] : [target]));
  const late = failed.length > 0 ? await observeNow(failed, asking) : [];
  const kept = played.flatMap(({ look, target }) => (look ? [[target.key, look] as const] : []));
  const looks = new Map([...atOnce, ...late, ...kept]);
  const oldestMs = Math.min(...played.flatMap(({ beganMs }) => beganMs ?? []));
  if (kept.length === 0) return { looks };
  const jobsThen: SomeKept['jobsThen'] = (jobs, nowMs, cluster) =>
    asOf(nowMs - (systemClock.steadyMs() - oldestMs) + (cluster?.leastMs ?? 0), jobs);
  const isInDoubt: SomeKept['isInDoubt'] = (planning) => {
    const cluster = planning.is === 'planned' ? planning.seen?.evidence.cluster : undefined;
    return planning.is === 'planned' && cluster?.is === 'seen' && prunesLivingJob(planning.plan, cluster.jobs);
  };
  return { looks, jobsThen, isInDoubt };
}

/** Kubernetes tells whole seconds. */
const CUT_OFF_MS = 999;

/** Returns the Jobs as they were then: one that has ended since is running. @param thenMs by the cluster's clock, or a little before */
export function asOf(thenMs: number, jobs: readonly LiveJob[]): readonly LiveJob[] {
  return jobs.map((job) => {
    const { finishedAtMs, trouble, end, ...running } = job;
    const endedSince = hasEnded(job.state) && (finishedAtMs ?? thenMs) + CUT_OFF_MS >= thenMs;
    return endedSince ? { ...running, state: 'running' as const } : job;
  });
}

/** True if the plan would prune a Job that has not ended. Used-up runners do not count. */
export function prunesLivingJob({ runners }: Plan, jobs: readonly LiveJob[]): boolean {
  const alive = new Set(jobs.filter(({ state }) => !isOver(state)).map(keyText));
  const isLetGo = (decision: RunnerDecision) =>
    decision.emit ? decision.because === 'unpinning' : decision.because !== 'used-up';
  return runners.some((decision) => {
    const { group, runner: name } = decision;
    return isLetGo(decision) && alive.has(keyText({ namespace: group.namespace, name }));
  });
}
