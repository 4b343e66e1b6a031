/**
 * 5 ASSIGN: a runner for each job that has a slot. In this order, so that runners that are starting are kept and nothing is started twice:
 *
 *  1. its own living runner;
 *  2. the living runner that the past has asked for in another job's name, where Kubernetes is unseen;
 *  3. a free runner that is left. The youngest jobs get them first: Gitea gives free runners the oldest jobs, and the starting runners
 *     of those jobs are then free for the younger ones;
 *  4. that of another Application (`elsewhereFinder`);
 *  5. a new one.
 */
import { type Allotment, allotSlots, ownRunner, type Slots } from './allot.ts';
import { compareText } from './collections.ts';
import type { ServedBy } from './decisions.ts';
import { type Evidence, type Group, isOfApplication, type ListedJob, type LiveJob, liveJobsOf } from './evidence.ts';
import type { Facts, PastRequest } from './facts.ts';
import { PENDING_TIMEOUTS } from './judge.ts';
import { comesUntilMs, FurtherRunners } from './limits.ts';
import { canServe, type ReadyJob } from './queue.ts';
import { endOf, freeRunners, newName, type Runner } from './runners.ts';

/** A job and its runner. */
export interface Assignment {
  readonly listed: ListedJob;
  readonly group: Group;
  readonly runner: string;
  readonly by: ServedBy;
}

/** The ready jobs with the runner or the reason that each of them got. */
export interface Allocation extends Slots {
  readonly assignments: ReadonlyMap<Group, readonly Assignment[]>;
  /** Runners of other Applications that jobs wait for. */
  readonly elsewhere: ReadonlyMap<ListedJob, string>;
}

/** Assigns runners to the ready jobs. Slots of jobs that runners of other Applications serve are given to the next jobs. */
export function giveRunners(queue: readonly ReadyJob[], facts: Facts, evidence: Evidence): Allocation {
  const findElsewhere = elsewhereFinder(evidence, facts);
  const runnerElsewhere = new Map<ListedJob, string>();
  for (;;) {
    const stillHere = queue.filter(({ listed }) => !runnerElsewhere.has(listed));
    const slots = allotSlots(stillHere, facts);
    const further = new FurtherRunners();
    const assignments = new Map(
      [...slots.allotments].map(([group, allotted]) => {
        const assigned = assignRunners(allotted, facts, slots.overdue, further.howManyMore(allotted), evidence.shards);
        further.take(allotted, assigned.length - allotted.jobs.length);
        return [group, assigned];
      }),
    );
    const before = runnerElsewhere.size;
    for (const { listed, runner, group } of [...assignments.values()].flat()) {
      const isThere = facts.findRunner(runner)?.state === 'free';
      const liveElsewhere = isThere ? undefined : findElsewhere(listed, group.spawnTimeoutMs);
      if (liveElsewhere !== undefined) runnerElsewhere.set(listed, liveElsewhere);
    }
    if (runnerElsewhere.size === before) return { ...slots, assignments, elsewhere: runnerElsewhere };
  }
}

/**
 * One runner for each job that has a slot. Jobs that back off get free runners that are left, as far as slots are left.
 * @param overdue runners that cannot start: they serve at most the job that they were made for
 * @param mostShared runners for jobs that back off
 */
function assignRunners(
  allotment: Allotment,
  facts: Facts,
  overdue: ReadonlySet<Runner>,
  mostShared: number,
  shards: number | undefined,
): readonly Assignment[] {
  const { group, jobs, backingOff } = allotment;
  const takenNames = new Set<string>();
  const assigned = new Map<ReadyJob, Assignment>();
  const assign = (ready: ReadyJob, runner: string, servedBy: ServedBy): void => {
    takenNames.add(runner);
    assigned.set(ready, { listed: ready.listed, group, runner, by: servedBy });
  };
  const withoutOne = (): readonly ReadyJob[] => jobs.filter((ready) => !assigned.has(ready));

  // 1. A job keeps the living runner that was made for it.
  for (const ready of jobs) {
    const ofGroup = ready.ownRunners.filter((runner) => runner.group === group);
    const jobRunner = ownRunner(ofGroup, overdue, facts);
    if (jobRunner) assign(ready, jobRunner.name, 'own-runner');
  }
  // 2. The past asked for a runner in the name of another job.
  for (const ready of withoutOne()) {
    const { madeFor } = requestIn(group, ready) ?? {};
    const made = madeFor ? facts.madeFor(madeFor.origin, madeFor.job) : [];
    const living = made.find((runner) => runner.group === group && canServe(runner, ready, facts));
    if (living) assign(ready, living.name, 'chain');
  }

  // 3. The youngest jobs get free runners first, and jobs that back off last.
  const free = freeRunners(allotment.runners, takenNames).filter((runner) => !overdue.has(runner));
  const backingOffWithSlot = [...backingOff.keys()].slice(0, mostShared);
  for (const ready of [...withoutOne().toReversed(), ...backingOffWithSlot]) {
    const fitting = free.findIndex((runner) => canServe(runner, ready, facts));
    const [runner] = fitting < 0 ? [] : free.splice(fitting, 1);
    if (runner) assign(ready, runner.name, 'free-runner');
  }

  // 5. All others get new runners, under names that the past has asked for or that follow from the job.
  for (const ready of withoutOne()) {
    const { listed } = ready;
    const fresh = { madeFor: listed, missed: missedBy(listed, group, facts, shards) };
    const request = requestIn(group, ready) ?? fresh;
    const { madeFor } = request;
    const name = newName(allotment.nameOf, madeFor.job, facts, request.missed);
    assign(ready, name, madeFor === listed ? 'new-runner' : 'chain');
  }
  return [...assigned.values()];
}

/** The runner that the job was given in the past, if it is one of this group. */
function requestIn(group: Group, { request }: ReadyJob): PastRequest | undefined {
  return request?.group === group ? request : undefined;
}

/** Turns that a job may lose, before they begin again. With the names that are used up they stay below `ORDINALS_SEARCHED`. */
const TURNS = 24;

/** Counts the runners that should have come. With shards: spawn timeouts without a Job, because a shard may be broken and the next name fall to another. */
function missedBy(listed: ListedJob, group: Group, facts: Facts, shards: number | undefined): number {
  if (shards === undefined) return facts.past?.missed(listed, group) ?? 0;
  const liveRunners = facts.madeFor(listed.origin, listed.job).filter(({ live }) => live);
  const sinceMs = Math.max(facts.readySinceMs(listed), ...liveRunners.map(endOf));
  return Math.max(0, Math.floor((facts.nowMs - sinceMs) / group.spawnTimeoutMs)) % TURNS;
}

/**
 * Returns a function that names the runner that another Application has for a ready job: a group of that one covers it,
 * too. Then no second one is started. `spawnTimeoutMs` is that of the group that would serve the job.
 *
 * - Only a Job counts that is alive, unpinned, of the Gitea of this CI job, and printed for its page.
 * - It counts for one spawn timeout, and longer while its pod starts.
 * - A job waits in all for `PENDING_TIMEOUTS` spawn timeouts since it became ready. Then it gets a runner of ours.
 * - A runner of ours that is there already stays. The other Application may leave the job to us at the same time.
 * - Rows in Gitea's list do not count: the owner of a repository can register a runner of any name.
 */
function elsewhereFinder(
  evidence: Evidence,
  facts: Facts,
): (listed: ListedJob, spawnTimeoutMs: number) => string | undefined {
  const { jobs, findRunner, readySinceMs, nowMs } = facts;
  // A runner of this Application whose group was deleted: its Job goes.
  const isOfOther = (live: LiveJob): boolean => findRunner(live.name) === undefined && !isOfApplication(live, evidence);
  const ofOthers = liveJobsOf(evidence).filter((live) => live.jobUrl && isOfOther(live));
  const claimed = new Set(jobs.flatMap(({ job }) => job.runner ?? []));
  const printedFor = new Map<string, LiveJob>();
  for (const live of ofOthers) {
    if (!mayBeFree(live, claimed)) continue;
    for (const page of pagesOf(live.jobUrl)) {
      // A Gitea may name any page. The page that a Job was printed for counts on its own Gitea only.
      const printed = printedFor.get(`${live.giteaUrl} ${page}`);
      if (!printed || youngestFirst(live, printed) < 0) printedFor.set(`${live.giteaUrl} ${page}`, live);
    }
  }
  return (listed, spawnTimeoutMs) => {
    const live = printedFor.get(`${listed.origin} ${pageOf(listed.job)}`);
    const sinceMs = readySinceMs(listed);
    if (!live || nowMs - sinceMs >= PENDING_TIMEOUTS * spawnTimeoutMs) return undefined;
    return nowMs < comesUntilMs(live, spawnTimeoutMs, sinceMs) ? live.name : undefined;
  };
}

/** Returns the page of a job. From Gitea 1.27 on it has only ids, so a renamed repository changes nothing. */
export function pageOf({ url, runId, id }: ListedJob['job']): string {
  const ids = `/actions/runs/${runId}/jobs/${id}`;
  return url.endsWith(ids) ? ids : url;
}

/** Returns the pages that `pageOf` may return for the job of this page. */
export function pagesOf(url = ''): readonly string[] {
  return url === '' ? [] : [url, ...(/\/actions\/runs\/\d+\/jobs\/\d+$/.exec(url) ?? [])];
}

/** True if no evidence says that the runner works or has ended. */
function mayBeFree({ name, state, pinned }: LiveJob, claimed: ReadonlySet<string>): boolean {
  return (state === 'starting' || state === 'running' || state === 'unknown') && !pinned && !claimed.has(name);
}

function youngestFirst(a: LiveJob, b: LiveJob): number {
  return b.createdAtMs - a.createdAtMs || compareText(a.name, b.name) || compareText(a.namespace, b.namespace);
}
