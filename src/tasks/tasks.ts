/** What `serve` also does, as its settings ask for it. */
import type { OpenFeature, StartTask } from '../serve/task.ts';
import { rerunLostJobs } from './losses/rerunning.ts';
import { tellJobEnds } from './notify/job-ends.ts';
import { type NotifyOptions, openNotifier } from './notify/notifier.ts';
import { fillSecrets } from './registration/filling.ts';
import { sweepDeadRows } from './sweep/sweep.ts';
import { sayWhyJobsWait } from './waits/commit-status.ts';

export interface TaskSettings {
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  /** For one look at Gitea, ms. */
  readonly timeoutMs: number;
  /** Delete dead registrations regularly, not only count them. */
  readonly sweep: boolean;
  /** Names of the Secrets that are kept filled with registration tokens. */
  readonly registrationSecrets?: readonly string[];
  /** Absent: nobody is told that CI jobs have ended. */
  readonly notify?: NotifyOptions;
}

export function tasksOf(settings: TaskSettings): {
  readonly tasks: readonly StartTask[];
  readonly features: readonly OpenFeature[];
} {
  const { instance, notify, registrationSecrets: names = [], sweep: deletes, timeoutMs } = settings;
  return {
    tasks: [
      tellJobEnds({ timeoutMs, ...(notify && { notifyDefaults: notify.defaults }) }),
      rerunLostJobs(timeoutMs),
      sayWhyJobsWait(timeoutMs),
      sweepDeadRows({ deletes, instance, timeoutMs }),
      ...(names.length > 0 ? [fillSecrets({ names: new Set(names), timeoutMs })] : []),
    ],
    features: notify ? [(context) => openNotifier({ ...notify, ...context })] : [],
  };
}
