/** All runners of this program with their states, and functions that find them. */
import { addTo, ByGitea, compareText } from './collections.ts';
import type { Hold } from './debugging.ts';
import type { Group, Job, LiveJob } from './evidence.ts';
import { isMadeForSame, type MadeFor, type RunnerNamer, type Stay } from './names.ts';

/** `judge.ts` has the meaning of each state. */
export type RunnerState =
  | 'busy'
  | 'foreign'
  | 'finishing'
  | 'debugging'
  | 'moved'
  | 'free'
  | 'used-up'
  | 'failed'
  | 'lost'
  | 'never-came'
  | 'replaced'
  | 'disabled'
  | 'deleting'
  | 'gone'
  | 'offline';

/** One runner of one group, with its state. */
export interface Runner {
  readonly name: string;
  readonly group: Group;
  readonly madeFor: MadeFor;
  readonly state: RunnerState;
  /** Slots under the cap that it takes while it works. More than 1 when its Job was re-created: a second runner has its name. */
  readonly slots: number;
  /** Online in Gitea's list: it can take a job this second. */
  readonly registered: boolean;
  /** The job that the runner runs, or else its last one. */
  readonly job: Job | undefined;
  readonly live: LiveJob | undefined;
  /** Set if its CI job failed and its pod waits. */
  readonly hold: Hold | undefined;
  /** `owner/name` as Gitea writes it now, in lower case: it gets jobs of this repository only. Undefined: it is not bound. */
  readonly boundTo: string | undefined;
  /** Labels that it registered with. Undefined while it has not registered: then they are its group's. */
  readonly labels: readonly string[] | undefined;
  /** True when it was made from the present pod template of its group. */
  readonly isCurrent: () => boolean;
}

export interface GroupRunners {
  readonly group: Group;
  readonly nameOf: RunnerNamer;
  readonly runners: readonly Runner[];
}

export type Runners = Readonly<ReturnType<typeof indexRunners>>;

export function indexRunners(groupRunners: readonly GroupRunners[]) {
  const byName = new Map<string, Runner>();
  const byJob = new ByGitea<Runner[]>();
  for (const { group, runners } of groupRunners) {
    for (const runner of runners) {
      byName.set(runner.name, runner);
      if ('id' in runner.madeFor) addTo(byJob.ofGitea(group.origin), runner.madeFor.id, runner);
    }
  }
  return {
    /** The runners of each group, in the order of the groups. */
    byGroup: new Map(groupRunners.map((ofGroup) => [ofGroup.group, ofGroup])) as ReadonlyMap<Group, GroupRunners>,
    /** Finds the runner with a name. There is at most one, since no two groups share names. */
    findRunner: (name: string) => byName.get(name),
    /** Runners that were made for one stay of a job in the queue: registered ones first, then by name. */
    madeFor: (origin: string, stay: Stay): readonly Runner[] =>
      byJob
        .get(origin, stay.id)
        ?.filter(({ madeFor }) => isMadeForSame(madeFor, stay))
        .sort(byReadiness) ?? [],
  };
}

/** Free runners that no job has been given yet, registered ones first. */
export function freeRunners(runners: readonly Runner[], takenNames: ReadonlySet<string>): Runner[] {
  return runners.filter(({ state, name }) => state === 'free' && !takenNames.has(name)).sort(byReadiness);
}

/** Returns how long a runner may take: `ms`, doubled for each one that was given up before it (docs/adr/0078). */
export function patienceMs(live: Pick<LiveJob, 'triedBefore'>, ms: number): number {
  return ms * 2 ** (live.triedBefore ?? 0);
}

/** Returns when a failed runner ended. */
export function endOf({ live }: Runner): number {
  return live?.finishedAtMs ?? live?.createdAtMs ?? 0;
}

/** Returns the lowest unused name: of no Job, and of offline rows at most. @param missed how many names of runners that never came are left out */
export function newName(
  nameOf: RunnerNamer,
  madeFor: MadeFor,
  { findRunner }: Pick<Runners, 'findRunner'>,
  missed = 0,
): string {
  let toSkip = missed;
  for (let ordinal = 0; ; ordinal += 1) {
    const name = nameOf(madeFor, ordinal);
    if ((findRunner(name)?.state ?? 'offline') !== 'offline') continue;
    if (toSkip === 0) return name;
    toSkip -= 1;
  }
}

/** Registered runners first (they need no start), then by name. */
function byReadiness(a: Runner, b: Runner): number {
  return Number(b.registered) - Number(a.registered) || compareText(a.name, b.name);
}

/** True when the runner works, whether or not Gitea lists its job. */
export function isAtWork({ state }: Runner): boolean {
  return state === 'busy' || state === 'finishing' || state === 'moved';
}

/**
 * True if a runner has all labels of the job and is not bound to another repository: Gitea may give it the job. A group
 * whose new runners are bound does not count on runners of other groups: nobody knows whose job such a runner takes.
 */
export function coversJob({ boundTo, labels, group }: Runner, job: Job): boolean {
  if (boundTo === undefined ? group.isBound : boundTo !== job.repository.toLowerCase()) return false;
  return job.labels.every((label) => (labels ?? group.labels).includes(label));
}
