/** Turns the outcome of the planning into decisions: every job and every runner seen, one reason each. */
import type { GroupKey, GroupSummary, JobDecision, RunnerDecision } from './decisions.ts';
import type { Group } from './evidence.ts';
import type { Ledger, Outcome } from './plan.ts';
import type { Runner } from './roster.ts';
import { compareText, type SeenJob } from './world.ts';

/** The decision about one job. */
export function decideJob(seen: SeenJob, outcome: Outcome): JobDecision {
  const { job, origin } = seen;
  switch (job.status) {
    case 'completed':
      return { job, origin, verdict: 'done' };
    case 'in_progress': {
      const ledger = [...outcome.ledgers.values()].find((candidate) => runsIn(candidate, seen));
      return { job, origin, verdict: 'running', ...(ledger && { group: keyOf(ledger.group) }) };
    }
    case 'blocked':
      return { job, origin, verdict: 'held', because: 'blocked' };
    case 'queued': {
      const served = outcome.served.get(seen);
      if (!served) return holdJob(seen, outcome);
      return { job, origin, verdict: 'served', by: served.by, group: keyOf(served.group), runner: served.runner };
    }
    default:
      return job.status satisfies never;
  }
}

function runsIn({ group, roster }: Ledger, { job, origin }: SeenJob): boolean {
  return group.origin === origin && job.runner !== undefined && roster.runners.has(job.runner);
}

function holdJob(seen: SeenJob, { ledgers, owners }: Outcome): JobDecision {
  const held = { job: seen.job, origin: seen.origin, verdict: 'held' } as const;
  const found = owners(seen);
  if (!found.covered) {
    const { covered: _, ...reason } = found;
    return { ...held, ...reason };
  }
  const [first] = found.groups;
  const backingOff = found.groups.find((group) => ledgers.get(group)?.backingOff.has(seen));
  const backOff = backingOff && ledgers.get(backingOff)?.backingOff.get(seen);
  if (backOff) return { ...held, because: 'backing-off', group: keyOf(backingOff), untilMs: backOff.untilMs };
  const working = found.groups.find((group) => !group.suspend);
  return { ...held, because: working ? 'cap' : 'suspended', group: keyOf(working ?? first) };
}

/** The decisions about all runners of one group, by name. */
export function decideRunners(ledger: Ledger, { served }: Outcome): readonly RunnerDecision[] {
  const group = keyOf(ledger.group);
  const decisions = new Map<string, RunnerDecision>();
  for (const runner of ledger.roster.runners.values()) {
    decisions.set(runner.name, decideUnassigned(runner, ledger, group));
  }
  for (const { runner } of ledger.backingOff.values()) {
    decisions.set(runner, { emit: true, runner, group, because: 'back-off-record', pinned: false });
  }
  for (const { seen, runner, by, group: owner } of served.values()) {
    if (owner !== ledger.group) continue;
    decisions.set(runner, { emit: true, runner, group, because: by, pinned: false, job: seen.job });
  }
  return [...decisions.values()].sort((a, b) => compareText(a.runner, b.runner));
}

/** What becomes of a runner that no ready job was given to. */
function decideUnassigned({ name: runner, state, job }: Runner, ledger: Ledger, group: GroupKey): RunnerDecision {
  switch (state) {
    case 'busy':
      return { emit: true, runner, group, because: 'busy', pinned: true, ...(job && { job }) };
    case 'finishing':
      return { emit: true, runner, group, because: 'finishing', pinned: true };
    case 'free':
      return { emit: false, runner, group, because: ledger.group.suspend ? 'suspended' : 'surplus' };
    case 'used-up':
    case 'failed':
    case 'lost':
    case 'never-came':
    case 'disabled':
    case 'deleting':
    case 'offline':
      return { emit: false, runner, group, because: state };
    default:
      return state satisfies never;
  }
}

/** The counts of one group. */
export function summarise(ledger: Ledger, { served }: Outcome, jobs: readonly JobDecision[]): GroupSummary {
  const { group, roster } = ledger;
  const busy = [...roster.runners.values()].filter(({ state }) => state === 'busy' || state === 'finishing').length;
  const waiting = [...served.values()].filter((assignment) => assignment.group === group).length;
  const held = jobs.filter((decision) => decision.verdict === 'held' && isOf(decision.group, group)).length;
  return { group: keyOf(group), cap: group.maxActiveRunners, busy, waiting, held };
}

function isOf(key: GroupKey | undefined, { namespace, name }: Group): boolean {
  return key?.namespace === namespace && key.name === name;
}

function keyOf({ namespace, name }: Group): GroupKey {
  return { namespace, name };
}
