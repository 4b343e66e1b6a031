/**
 * Which runners are needed right now, and why. A pure function: same groups and evidence, same plan.
 *
 *     looks at Gitea ──► seeJobs ──► takeRosters ──► select ──► assignRunners ──► decide
 *     live Jobs ─────────────────────────▲             │
 *                                    longest ready job first, to its first owner with room
 *
 * The laws P1-P10 (docs/spec.md) are kept here: every busy runner is in the output, pinned; every ready job within the caps
 * has one runner; nothing else is started; doubt keeps.
 */
import { type Assignment, assignRunners, type BackOff, backOffOf, type GroupState, ownRunner } from './assign.ts';
import { decideJob, decideRunners, summarise } from './decide.ts';
import type { Plan } from './decisions.ts';
import type { Evidence, Group } from './evidence.ts';
import { type Owners, ownersFinder } from './owners.ts';
import { type Roster, takeRosters } from './roster.ts';
import { readySinceFinder } from './waiting-time.ts';
import { compareText, type SeenJob, seeJobs } from './world.ts';

/** What has been given to one group so far. */
export interface Ledger extends GroupState {
  /** Jobs that get a runner of this group, longest ready first. */
  readonly selected: readonly SeenJob[];
  /** Jobs for which this group may not start a runner yet, longest ready first. */
  readonly backingOff: ReadonlyMap<SeenJob, BackOff>;
}

type OpenLedger = Ledger & { readonly selected: SeenJob[]; readonly backingOff: Map<SeenJob, BackOff> };

/** The outcome for all ready jobs: who serves them, and who could have. */
export interface Outcome {
  readonly ledgers: ReadonlyMap<Group, Ledger>;
  readonly served: ReadonlyMap<SeenJob, Assignment & { readonly group: Group }>;
  readonly owners: (seen: SeenJob) => Owners;
}

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing.
 */
export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  const inOrder = [...groups].sort(byKey);
  const jobs = seeJobs(inOrder, evidence);
  const readySinceMs = readySinceFinder(jobs);
  const ledgers = openLedgers(takeRosters(inOrder, evidence, jobs), readySinceMs, evidence);
  const owners = ownersFinder(inOrder);

  for (const seen of inQueueOrder(jobs, readySinceMs)) select(seen, owners(seen), ledgers);

  const served = new Map<SeenJob, Assignment & { readonly group: Group }>();
  for (const [group, ledger] of ledgers) {
    for (const assignment of assignRunners(ledger, ledger.selected, [...ledger.backingOff.keys()])) {
      served.set(assignment.seen, { ...assignment, group });
    }
  }

  const outcome: Outcome = { ledgers, served, owners };
  const jobDecisions = jobs.map((seen) => decideJob(seen, outcome));
  return Object.freeze({
    groups: Object.freeze([...ledgers.values()].map((ledger) => summarise(ledger, outcome, jobDecisions))),
    jobs: Object.freeze(jobDecisions),
    runners: Object.freeze([...ledgers.values()].flatMap((ledger) => decideRunners(ledger, outcome))),
  });
}

function byKey(a: Group, b: Group): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/** The ready jobs, longest ready first; of equal ones the oldest first, as `jobs` is sorted. */
function inQueueOrder(jobs: readonly SeenJob[], readySinceMs: (seen: SeenJob) => number): readonly SeenJob[] {
  return jobs
    .filter(({ job }) => job.status === 'queued')
    .map((seen) => ({ seen, sinceMs: readySinceMs(seen) }))
    .sort((a, b) => a.sinceMs - b.sinceMs)
    .map(({ seen }) => seen);
}

function openLedgers(
  rosters: ReadonlyMap<Group, Roster>,
  readySinceMs: (seen: SeenJob) => number,
  { instance, nowMs }: Evidence,
): ReadonlyMap<Group, OpenLedger> {
  const ledgers = new Map<Group, OpenLedger>();
  for (const [group, roster] of rosters) {
    const runners = [...roster.runners.values()];
    const working = runners.filter(({ state }) => state === 'busy' || state === 'finishing').length;
    const room = group.suspend ? 0 : Math.max(0, group.maxActiveRunners - working);
    const endsMs = runners.flatMap(({ job }) => job?.completedAtMs ?? []).sort((a, b) => b - a);
    ledgers.set(group, {
      instance,
      group,
      roster,
      readySinceMs,
      endsMs,
      room,
      nowMs,
      selected: [],
      backingOff: new Map(),
    });
  }
  return ledgers;
}

/** Gives the job to the first owner with room, but before all others to the one that already has a living runner for it. */
function select(seen: SeenJob, owners: Owners, ledgers: ReadonlyMap<Group, OpenLedger>): void {
  if (!owners.covered) return;
  const open = owners.groups
    .flatMap((group) => ledgers.get(group) ?? [])
    .filter(({ selected, room }) => selected.length < room);
  const backOffs = open.map((ledger) => backOffOf(ledger, seen));
  const owner = open.find(({ roster }) => ownRunner(roster, seen)) ?? open.find((_, i) => !backOffs[i]);
  if (owner) {
    owner.selected.push(seen);
    return;
  }
  const [first] = open;
  const [backOff] = backOffs;
  if (first && backOff) first.backingOff.set(seen, backOff);
}
