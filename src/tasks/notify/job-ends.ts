/** From plans to `job-ended`: which jobs have ended since the last round, and of these the ones that somebody wants to know of. */

import type { NotifyTarget } from '../../config/runnergroup/notify-fields.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { TargetOf } from '../../serve/looks/targets.ts';
import { EndedJobs, type LeftJob } from '../../serve/planning/ended-jobs.ts';
import type { StartTask } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { type AskedJob, EndReader, type EndReaderOptions } from './ask-ends.ts';

export interface JobEndsOptions extends EndReaderOptions {
  /** Of groups that have no `notify`; absent: nobody. */
  readonly notifyDefaults?: readonly NotifyTarget[];
}

export function tellJobEnds(options: JobEndsOptions): StartTask {
  return (context) => {
    const ended = new EndedJobs();
    const reader = new EndReader(context, options);
    return (event) => {
      if (event.is !== 'round-done') return;
      const { verdicts } = event;
      const plans = verdicts.map(({ application, planning }) =>
        planning.is === 'planned' ? { application, planned: planning } : { application },
      );
      const left = ended.take(plans);
      if (left.length === 0) return;
      const groups = new Map(
        verdicts.flatMap(({ groups: of }) => of.map(({ live }) => [live.key, live.group] as const)),
      );
      const targetOf = context.targetOf();
      reader.ask(left.flatMap((job) => askedJob(job, groups, targetOf, options.notifyDefaults ?? [])));
    };
  };
}

function askedJob(
  left: LeftJob,
  groups: ReadonlyMap<string, RunnerGroup | undefined>,
  targetOf: TargetOf,
  defaults: readonly NotifyTarget[],
): readonly AskedJob[] {
  const group = groups.get(keyText(left.group));
  const target = group && targetOf.get(group);
  if (!group || !target || target instanceof Failure) return [];
  const notify = group.notify.length > 0 ? group.notify : defaults;
  const { keepFailedSeconds } = group;
  return notify.length > 0 ? [{ ...left, target, notify, keepFailedSeconds }] : [];
}
