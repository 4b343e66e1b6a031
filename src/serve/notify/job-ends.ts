/** From plans to `job-ended`: which jobs have ended since the last round, and of these the ones that somebody wants to know of. */
import { Failure } from '../../failure.ts';
import { keyText } from '../../key-text.ts';
import type { NotifyTarget } from '../../runnergroup/notify-fields.ts';
import type { RunnerGroup } from '../../runnergroup/runner-group.ts';
import type { TargetOf } from '../looks/targets.ts';
import { EndedJobs, type LeftJob } from '../planning/ended-jobs.ts';
import type { AppVerdict } from '../round.ts';
import { type AskedJob, EndReader, type EndReaderOptions } from './ask-ends.ts';

export interface JobEndsOptions extends EndReaderOptions {
  /** Of groups that have no `notify`; absent: nobody. */
  readonly notifyDefaults?: readonly NotifyTarget[];
}

export class JobEnds {
  readonly #ended = new EndedJobs();
  readonly #reader: EndReader;
  readonly #defaults: readonly NotifyTarget[];

  constructor(options: JobEndsOptions) {
    this.#reader = new EndReader(options);
    this.#defaults = options.notifyDefaults ?? [];
  }

  /** Takes the verdicts of a round. Returns at once. */
  take(verdicts: readonly AppVerdict[], targetOf: TargetOf): void {
    const plans = verdicts.map(({ application, planning }) =>
      planning.is === 'planned' ? { application, planned: planning } : { application },
    );
    const left = this.#ended.take(plans);
    if (left.length === 0) return;
    const groups = new Map(verdicts.flatMap(({ groups: of }) => of.map(({ live }) => [live.key, live.group] as const)));
    this.#reader.ask(left.flatMap((job) => this.#asked(job, groups, targetOf)));
  }

  close(): void {
    this.#reader.close();
  }

  #asked(left: LeftJob, groups: ReadonlyMap<string, RunnerGroup | undefined>, targetOf: TargetOf): readonly AskedJob[] {
    const group = groups.get(keyText(left.group));
    const target = group && targetOf.get(group);
    if (!group || !target || target instanceof Failure) return [];
    const notify = group.notify.length > 0 ? group.notify : this.#defaults;
    const { keepFailedSeconds } = group;
    return notify.length > 0 ? [{ ...left, target, notify, keepFailedSeconds }] : [];
  }
}
