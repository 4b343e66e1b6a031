/** Turns the outcome of the planning into decisions: every job and every runner seen, one reason each. */
import type { GroupKey, GroupSummary, JobDecision, RunnerDecision } from './decisions.ts';
import type { Group, LiveJob } from './evidence.ts';
import type { Ledger } from './ledger.ts';
import { firstWorking } from './owners.ts';
import type { Outcome } from './plan.ts';
import type { Runner } from './roster.ts';
import { compareText, type SeenJob, type World } from './world.ts';

/** The decision about one job. */
export function decideJob(seen: SeenJob, outcome: Outcome): JobDecision {
  const { job, origin } = seen;
  switch (job.status) {
    case 'completed':
      return { job, origin, verdict: 'done' };
    case 'in_progress': {
      const group = job.runner === undefined ? undefined : outcome.findRunner(job.runner)?.group;
      if (group?.origin !== origin) return { job, origin, verdict: 'running' };
      return { job, origin, verdict: 'running', group: outcome.keyOf(group) };
    }
    case 'blocked':
      return { job, origin, verdict: 'held', because: 'blocked' };
    case 'queued': {
      const served = outcome.served.get(seen);
      if (!served) return holdJob(seen, outcome);
      const group = outcome.keyOf(served.group);
      return { job, origin, verdict: 'served', by: served.by, group, runner: served.runner };
    }
    default:
      return job.status satisfies never;
  }
}

function holdJob(seen: SeenJob, { backingOff, elsewhere, owners, nextIn, keyOf }: Outcome): JobDecision {
  const { job, origin } = seen;
  const verdict = 'held';
  const runner = elsewhere.get(seen);
  if (runner !== undefined) return { job, origin, verdict, because: 'served-elsewhere', runner };
  const found = owners(seen);
  if (!found.covered) {
    const { covered: _, ...reason } = found;
    return { job, origin, verdict, ...reason };
  }
  const [first] = found.groups;
  const backOff = backingOff.get(seen);
  if (backOff) {
    const { group, untilMs } = backOff;
    return { job, origin, verdict, because: 'backing-off', group: keyOf(group), untilMs };
  }
  const working = firstWorking(found);
  if (!working) return { job, origin, verdict, because: 'suspended', group: keyOf(first) };
  const group = keyOf(working);
  const next = nextIn.get(working);
  if (next === undefined) return { job, origin, verdict, because: 'cap', group };
  return { job, origin, verdict, because: 'cap', group, next };
}

/** The decisions about all runners of one group, by name. */
export function decideRunners(ledger: Ledger, group: GroupKey, find: World['find']): readonly RunnerDecision[] {
  const decisions = new Map<string, RunnerDecision>();
  for (const { seen, runner, by } of ledger.assignments) {
    decisions.set(runner, { emit: true, runner, group, because: by, pinned: false, job: seen.job });
  }
  for (const { name: runner, live } of ledger.spares) {
    decisions.set(runner, { emit: true, runner, group, because: 'spare', pinned: false, ...(!live?.pinned && SKIP) });
  }
  for (const runner of ledger.roster.runners) {
    if (decisions.has(runner.name)) continue;
    decisions.set(runner.name, decideUnassigned(runner, { group, suspend: ledger.group.suspend, find }));
  }
  return [...decisions.values()].sort((a, b) => compareText(a.runner, b.runner));
}

/** What the group of a runner says about it. */
interface Circumstance {
  readonly group: GroupKey;
  readonly suspend: boolean;
  readonly find: World['find'];
}

/** What becomes of a runner that no ready job was given to. */
function decideUnassigned(of: Runner, { group, suspend, find }: Circumstance): RunnerDecision {
  const { name: runner, state, job, live } = of;
  switch (state) {
    case 'busy':
      return { emit: true, runner, group, because: 'busy', pinned: true, ...skipAtWork(live), ...(job && { job }) };
    case 'finishing':
      return { emit: true, runner, group, because: 'finishing', pinned: true, ...skipAtWork(live) };
    case 'free':
    case 'never-came':
    case 'replaced':
    case 'disabled':
      // Pinned when Gitea believed it busy: a claim that was lost, or a Job that was re-created in place of a lost one.
      if (live?.pinned) return { emit: true, runner, group, because: 'unpinning', pinned: false };
      if (state !== 'free') return { emit: false, runner, group, because: state };
      return { emit: false, runner, group, because: suspend ? 'suspended' : 'surplus' };
    case 'lost':
      // The proof that it has ended must not be pruned: without it Gitea's word alone would count, and the slot be taken again.
      return { emit: true, runner, group, because: 'lost', pinned: !live, skip: true };
    case 'failed':
      // The back-off counts the failures of a job: their records must not be pruned while it waits.
      if (isWanted(of, find)) return { emit: true, runner, group, because: 'back-off-record', pinned: false, ...SKIP };
      return { emit: false, runner, group, because: state };
    case 'used-up':
    case 'deleting':
    case 'gone':
    case 'offline':
      return { emit: false, runner, group, because: state };
    default:
      return state satisfies never;
  }
}

/** True when the job that it was made for still waits for a runner. */
function isWanted({ madeFor, group }: Runner, find: World['find']): boolean {
  const job = find(group.origin, madeFor.jobId)?.job;
  return job?.status === 'queued' && job.attempt === madeFor.attempt;
}

/** Argo CD keeps the Job as it is, and does not create it. */
const SKIP = { skip: true } as const;

/**
 * The Job of a runner at work must never be created again: a second runner would take its name. So Argo CD skips it once the pin is on the
 * live object. A sync of old manifests then creates nothing either.
 */
function skipAtWork(live: LiveJob | undefined): { readonly skip?: true } {
  const isToBePinned = live !== undefined && live.state !== 'deleting' && live.pinned !== true;
  return isToBePinned ? {} : SKIP;
}

/** The counts of all groups, in their order. */
export function summarise(
  ledgers: Iterable<Ledger>,
  jobs: readonly JobDecision[],
  keyOf: (group: Group) => GroupKey,
): readonly GroupSummary[] {
  const heldBy = new Map<GroupKey, number>();
  for (const decision of jobs) {
    if (decision.verdict !== 'held' || !decision.group) continue;
    heldBy.set(decision.group, (heldBy.get(decision.group) ?? 0) + 1);
  }
  return [...ledgers].map(({ group, roster, assignments, spares }) => {
    const busy = roster.runners.filter(({ state }) => state === 'busy' || state === 'finishing').length;
    const key = keyOf(group);
    const held = heldBy.get(key) ?? 0;
    return { group: key, cap: group.maxActiveRunners, busy, waiting: assignments.length, spare: spares.length, held };
  });
}

/** A function that answers the same key for the same group each time: thousands of decisions share it, and can be counted by it. */
export function keyFinder(): (group: Group) => GroupKey {
  const keys = new Map<Group, GroupKey>();
  return (group) => {
    const known = keys.get(group);
    if (known) return known;
    const key = { namespace: group.namespace, name: group.name };
    keys.set(group, key);
    return key;
  };
}
