/** `serve` with all that it also does, as its settings ask for it. */
import type { PageOptions } from '../page/page.ts';
import { mistakeOf, tellAll } from '../serve/planning/events.ts';
import { type ServeOptions, serve, serveOnce } from '../serve/serving.ts';
import type { FeatureContext } from '../serve/task.ts';
import { rerunLostJobs } from './losses/rerunning.ts';
import { tellJobEnds } from './notify/job-ends.ts';
import { type NotifyOptions, openNotifier } from './notify/notifier.ts';
import { fillSecrets } from './registration/filling.ts';
import { registerRunners } from './registration/registering.ts';
import { sweepDeadRows } from './sweep/sweeper.ts';
import { sayWhyJobsWait } from './waits/commit-status.ts';

/** `serve` and its tasks, from flags and environment. */
export interface ServeSettings extends Omit<ServeOptions, 'tasks' | 'features'> {
  /** Delete dead registrations regularly, not only count them. */
  readonly sweep: boolean;
  /** Names of the Secrets that are kept filled with registration tokens. */
  readonly registrationSecrets?: readonly string[];
  /** Settings of notifications. Absent: none are sent. */
  readonly notify?: NotifyOptions;
  /** Settings of the page. Absent: there is none. */
  readonly page?: PageOptions;
}

/** Makes the tasks, features and subscribers of a process. The subscribers receive events of the process, too. */
export function openServe(settings: ServeSettings) {
  const options = { ...settings, ...tasksOf(settings) };
  const tell = tellAll(settings.subscribers);
  return {
    run: (signal: AbortSignal) => serve(options, signal),
    once: (signal: AbortSignal) => serveOnce(options, signal),
    ending: (signal: string) => tell({ is: 'ending', signal }),
    mistake: (error: unknown) => tell(mistakeOf(error)),
  };
}

export function tasksOf(settings: ServeSettings) {
  const { instance, notify, page, registrationSecrets: names = [], sweep: deletes, timeoutMs } = settings;
  return {
    tasks: [
      tellJobEnds(timeoutMs, notify?.defaults),
      rerunLostJobs(timeoutMs),
      sayWhyJobsWait(timeoutMs),
      registerRunners(timeoutMs),
      sweepDeadRows(deletes, instance, timeoutMs),
      ...(names.length > 0 ? [fillSecrets(new Set(names), timeoutMs)] : []),
    ],
    features: [
      ...(notify ? [(context: FeatureContext) => openNotifier(notify, context)] : []),
      // The packages of the page are loaded only if there is one.
      ...(page ? [async (context: FeatureContext) => (await import('../page/page.ts')).openPage(page, context)] : []),
    ],
  };
}
