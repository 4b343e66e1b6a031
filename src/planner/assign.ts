/**
 * Gives each job that has a slot of a group its runner. In this order, so that runners that are starting are kept and nothing is started
 * twice:
 *
 *  1. its own living runner;
 *  2. the living runner that the past has asked for in another job's name, where the past is replayed;
 *  3. a free runner that is left. The youngest jobs get them first: Gitea gives free runners the oldest jobs, and the starting runners
 *     of those jobs are then free for the younger ones;
 *  4. a new one.
 */
import type { Allotment } from './allot.ts';
import type { ServedBy } from './decisions.ts';
import type { Group } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { ListedJob } from './listed-jobs.ts';
import { ownRunner } from './overdue.ts';
import { missedRunners } from './patience.ts';
import { canServe, type ReadyJob } from './ready-job.ts';
import type { PastRequest } from './replay/replay.ts';
import { freeRunners, isKnown, type Runner } from './runners.ts';

/** A job and its runner. */
export interface Assignment {
  readonly listed: ListedJob;
  readonly group: Group;
  readonly runner: string;
  readonly by: ServedBy;
}

/**
 * One runner for each job that has a slot. Jobs that back off get free runners that are left, as far as there is room.
 * @param overdue runners that cannot start: they serve at most the job that they were made for
 */
export function assignRunners(allotment: Allotment, facts: Facts, overdue: ReadonlySet<Runner>): readonly Assignment[] {
  const { group, jobs, backingOff, room } = allotment;
  const taken = new Set<string>();
  const assigned = new Map<ReadyJob, Assignment>();
  const assign = (ready: ReadyJob, runner: string, by: ServedBy): void => {
    taken.add(runner);
    assigned.set(ready, { listed: ready.listed, group, runner, by });
  };
  const withoutOne = (): readonly ReadyJob[] => jobs.filter((ready) => !assigned.has(ready));

  for (const ready of jobs) {
    const own = ownRunner(
      ready.own.filter((runner) => runner.group === group),
      overdue,
    );
    if (own) assign(ready, own.name, 'own-runner');
  }
  for (const ready of withoutOne()) {
    const { madeFor } = askedIn(group, ready) ?? {};
    const made = madeFor ? facts.madeFor(madeFor.origin, madeFor.job) : [];
    const living = made.find((runner) => runner.group === group && canServe(runner, ready, facts));
    if (living) assign(ready, living.name, 'chain');
  }

  const free = freeRunners(allotment.runners, taken).filter((runner) => !overdue.has(runner));
  const mayShare = [...backingOff.keys()].slice(0, Math.max(0, room - jobs.length));
  for (const ready of [...withoutOne().toReversed(), ...mayShare]) {
    const fitting = free.findIndex((runner) => canServe(runner, ready, facts));
    const [runner] = fitting < 0 ? [] : free.splice(fitting, 1);
    if (runner) assign(ready, runner.name, 'free-runner');
  }

  for (const ready of withoutOne()) {
    const { listed } = ready;
    const { madeFor, missed } = askedIn(group, ready) ?? {
      madeFor: listed,
      missed: missedSoFar(allotment, listed, facts),
    };
    const name = newName(allotment, madeFor, missed, facts);
    assign(ready, name, madeFor === listed ? 'new-runner' : 'chain');
  }
  return [...assigned.values()];
}

/** The runner that the job was given in the past, if it is one of this group. */
function askedIn(group: Group, { asked }: ReadyJob): PastRequest | undefined {
  return asked?.group === group ? asked : undefined;
}

/** The lowest ordinal that is not used up, and one more for each runner that should have come and has not. */
function newName({ nameOf }: Allotment, { job }: ListedJob, missed: number, facts: Facts): string {
  let toSkip = missed;
  for (let ordinal = 0; ; ordinal += 1) {
    const name = nameOf(job, ordinal);
    if (isKnown(name, facts)) continue;
    if (toSkip === 0) return name;
    toSkip -= 1;
  }
}

/** How many runners of the job have not come. Where Kubernetes shows the Jobs of the group it shows those, too, so none is counted. */
function missedSoFar({ group, jobsAreSeen }: Allotment, listed: ListedJob, { readySinceMs, nowMs }: Facts): number {
  return jobsAreSeen ? 0 : missedRunners(readySinceMs(listed), nowMs, group.spawnTimeoutMs);
}
