/** Counts for one RunnerGroup from a plan, for its status and the metrics. Pure. */
import { BY_GROUPS, isHeldBack } from '../../answers/reasons.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { HeldBecause, Plan } from '../../planner/decisions.ts';
import { groupBy, isSame, keyText } from '../../shared/keys.ts';
import { oncePerObject } from '../seen/unchanged.ts';

type HeldCounts = Readonly<Partial<Record<HeldBecause, number>>>;
export type GroupCounts = Readonly<ReturnType<typeof countsOf>>;
export type StuckPod = GroupCounts['stuck'][number];

/** Jobs and runners are sorted by group once for each plan. */
const jobsByGroup = oncePerObject(({ jobs }: Plan) =>
  groupBy(jobs, (job) => ('group' in job && job.group ? keyText(job.group) : undefined)),
);

const emittedByGroup = oncePerObject(({ runners }: Plan) =>
  groupBy(
    runners.flatMap((decision) => (decision.emit ? decision : [])),
    ({ group }) => keyText(group),
  ),
);

export function countsOf(plan: Plan, group: RunnerGroup) {
  const { groups } = plan;
  const groupJobs = jobsByGroup(plan).get(keyText(group)) ?? [];
  const [limit] = groupJobs.flatMap((job) => (job.verdict === 'held' ? (job.limit ?? []) : []));
  const heldBy = (because: HeldBecause): number =>
    groupJobs.filter((job) => job.verdict === 'held' && job.because === because).length;
  const emitted = emittedByGroup(plan).get(keyText(group)) ?? [];
  return {
    /** Jobs that wait for a runner of the group, held ones too. */
    queued: groupJobs.filter((job) => job.verdict === 'served' || isHeldBack(job)).length,
    held: Object.fromEntries(BY_GROUPS.map((each) => [each, heldBy(each)])) as HeldCounts,
    /** The first limit besides the cap that holds a job back. */
    ...(limit && { limit }),
    summary: groups.find((each) => isSame(each.group, group)),
    /** Pods that cannot start, or have `failed` before their runners started, long enough that people should know. */
    stuck: emitted.flatMap(({ because, runner, trouble }) =>
      trouble?.isLate ? { runner, trouble, failed: because === 'back-off-record' } : [],
    ),
    /** Runners whose Jobs or pods somebody holds. */
    suspended: emitted.flatMap(({ runner, trouble }) => (trouble?.isSuspended ? { runner, trouble } : [])),
    /** Runners whose CI job failed and that stay for a look, and until when, by Gitea's clock. */
    debugging: emitted.flatMap(({ because, keep, runner }) =>
      because === 'debugging' && keep ? { runner, untilMs: keep.untilMs } : [],
    ),
  };
}
