/** Runners whose pods cannot start, or have failed before their runners started, long enough that people should know. Pure. */

import type { GroupKey, Plan, RunnerTrouble } from '../../planner/decisions.ts';
import { isSame } from '../../shared/key-text.ts';

export interface StuckPod {
  /** Name of the runner and of its Job. */
  readonly runner: string;
  readonly trouble: RunnerTrouble;
  /** The pod has ended; its runner never started. */
  readonly failed: boolean;
}

/** Those of one group, by name. */
export function stuckPodsOf({ runners }: Plan, key: GroupKey): readonly StuckPod[] {
  return runners.flatMap((decision): readonly StuckPod[] => {
    const { group, runner, because } = decision;
    if (!isSame(group, key) || !decision.emit || !decision.trouble?.isLate) return [];
    return [{ runner, trouble: decision.trouble, failed: because === 'back-off-record' }];
  });
}

/** `ci-7-1-9c31e0aa: Unschedulable: 0/3 nodes are available.` */
export function stuckText({ runner, trouble: { reason, message } }: StuckPod): string {
  return `${runner}: ${reason}${message === undefined ? '' : `: ${message}`}`;
}
