/** Compares what the planner wants with the Jobs that exist. Pure. */
import { jobAnnotations, present, type Texts } from '../charts/labels.ts';
import type { RunnerDecision } from '../plan/decisions.ts';
import type { LiveJob } from '../plan/evidence.ts';

/** A Job of ours in the cluster, with what Argo CD reads of it. */
export interface LiveRunner {
  readonly job: LiveJob;
  readonly annotations: Texts;
}

/** What a sync would change, as `<namespace>/<name>` of Jobs. Sorted; all empty: the cluster shows the plan. */
export interface Difference {
  /** Runners without a Job: a CI job waits. */
  readonly missing: readonly string[];
  /** Busy runners that nothing protects from a prune yet. */
  readonly unpinned: readonly string[];
  /** Jobs that nobody wants any more and that have not ended. */
  readonly surplus: readonly string[];
  /**
   * Ended Jobs that the output no longer holds, Jobs whose annotations tell of another CI job, and names that Argo CD still has in
   * its copy of the output although nobody wants them: when Kubernetes removes such a Job, Argo CD would call it missing for ever.
   */
  readonly untidy: readonly string[];
}

/** The annotations that we write, all of them. */
const OUR_ANNOTATIONS = Object.keys(jobAnnotations(true, undefined));

/**
 * @param runners decisions about the runners of one Application.
 * @param live all Jobs of that Application.
 * @param printed keys of the Jobs that the output held at the last wake.
 */
export function differenceOf(
  runners: readonly RunnerDecision[],
  live: readonly LiveRunner[],
  printed: ReadonlySet<string> = new Set(),
): Difference {
  const liveByKey = new Map(live.map((runner) => [keyOf(runner.job.namespace, runner.job.name), runner]));
  const wanted = new Set<string>();
  const missing: string[] = [];
  const unpinned: string[] = [];
  const untidy = new Set<string>();
  for (const decision of runners) {
    if (!decision.emit) continue;
    const key = keyOf(decision.group.namespace, decision.runner);
    wanted.add(key);
    const found = liveByKey.get(key);
    if (!found) missing.push(key);
    else if (!hasEnded(found.job) && !sameAnnotations(decision, found)) {
      if (decision.pinned && !found.job.pinned) unpinned.push(key);
      else untidy.add(key);
    }
  }
  const surplus = [...liveByKey].filter(([key, runner]) => !wanted.has(key) && isSurplus(runner)).map(([key]) => key);
  const left = [...liveByKey].filter(([key, runner]) => !wanted.has(key) && isLeft(runner)).map(([key]) => key);
  for (const key of [...left, ...printed]) if (!wanted.has(key) && !surplus.includes(key)) untidy.add(key);
  return { missing: missing.sort(), unpinned: unpinned.sort(), surplus: surplus.sort(), untidy: [...untidy].sort() };
}

/** Keys of the Jobs that the output holds. */
export function printedKeys(runners: readonly RunnerDecision[]): ReadonlySet<string> {
  return new Set(runners.flatMap(({ emit, group, runner }) => (emit ? keyOf(group.namespace, runner) : [])));
}

/** Nothing to do. */
export const NO_DIFFERENCE: Difference = { missing: [], unpinned: [], surplus: [], untidy: [] };

/** How long a difference may wait for others to come along, ms: each wake costs Argo CD about a second. */
const PATIENCE_MS = { missing: 30, surplus: 2_000, unpinned: 3_000, untidy: 10_000 } as const;

/** The most urgent part of a difference; undefined when there is none. */
export function patienceMs(difference: Difference): number | undefined {
  if (difference.missing.length > 0) return PATIENCE_MS.missing;
  if (difference.surplus.length > 0) return PATIENCE_MS.surplus;
  if (difference.unpinned.length > 0) return PATIENCE_MS.unpinned;
  if (difference.untidy.length > 0) return PATIENCE_MS.untidy;
  return undefined;
}

function sameAnnotations(decision: RunnerDecision & { readonly emit: true }, { annotations }: LiveRunner): boolean {
  const expected = present(jobAnnotations(decision.pinned, decision.job));
  return OUR_ANNOTATIONS.every((name) => expected[name] === annotations[name]);
}

/** A pinned Job is never pruned, whoever asks; one that is being deleted needs nobody. */
function isSurplus(runner: LiveRunner): boolean {
  return !runner.job.pinned && !hasEnded(runner.job) && runner.job.state !== 'deleting';
}

/** It has ended, and a prune would take it away. */
function isLeft(runner: LiveRunner): boolean {
  return !runner.job.pinned && hasEnded(runner.job);
}

function hasEnded({ state }: LiveJob): boolean {
  return state === 'complete' || state === 'failed';
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
