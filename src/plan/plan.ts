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
import { type Assignment, assignRunners, type BackOff, backOffOf, type GroupState } from './assign.ts';
import { type Candidate, chainFollower } from './chain.ts';
import { decideJob, decideRunners, summarise } from './decide.ts';
import type { Plan } from './decisions.ts';
import type { Evidence, Group } from './evidence.ts';
import { runnerNamer } from './names.ts';
import { type Owners, ownersFinder } from './owners.ts';
import { type Roster, takeRosters } from './roster.ts';
import { readySinceFinder, withinCapSinceMs } from './waiting-time.ts';
import { compareText, type SeenJob, seeJobs } from './world.ts';

/** What has been given to one group so far. */
export interface Ledger extends GroupState {
  /** Jobs that get a runner of this group, longest ready first. */
  readonly selected: readonly Candidate[];
  /** Jobs for which this group may not start a runner yet, longest ready first. */
  readonly backingOff: ReadonlyMap<SeenJob, BackOff>;
  /** Who serves the selected jobs, and those that back off when there are free runners. */
  readonly assignments: readonly Assignment[];
}

type OpenLedger = Ledger & {
  readonly selected: Candidate[];
  readonly backingOff: Map<SeenJob, BackOff>;
  readonly assignments: Assignment[];
};

/** The outcome for all ready jobs: who serves them, and who could have. */
export interface Outcome {
  readonly served: ReadonlyMap<SeenJob, Assignment & { readonly group: Group }>;
  readonly backingOff: ReadonlyMap<SeenJob, BackOff & { readonly group: Group }>;
  readonly owners: (seen: SeenJob) => Owners;
  /** The group of a runner of ours; one group at most, since no two share names. */
  readonly groupOf: (runner: string) => Group | undefined;
}

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing.
 */
export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  const inOrder = [...groups].sort(byKey);
  const jobs = seeJobs(inOrder, evidence);
  const rosters = takeRosters(inOrder, evidence, jobs);
  const owners = ownersFinder(inOrder);
  const readySinceMs = readySinceFinder(jobs);
  const ledgers = openLedgers(rosters, readySinceMs, evidence);

  const select = selector(ledgers);
  for (const candidate of inQueueOrder(jobs, readySinceMs, followChains(jobs, ledgers))) {
    select(candidate, owners);
  }

  const served = new Map<SeenJob, Assignment & { readonly group: Group }>();
  const backingOff = new Map<SeenJob, BackOff & { readonly group: Group }>();
  for (const [group, ledger] of ledgers) {
    for (const [seen, backOff] of ledger.backingOff) backingOff.set(seen, { ...backOff, group });
    for (const assignment of assignRunners(ledger, ledger.selected, [...ledger.backingOff.keys()])) {
      ledger.assignments.push(assignment);
      served.set(assignment.seen, { ...assignment, group });
    }
  }

  const outcome: Outcome = { served, backingOff, owners, groupOf: groupFinder(rosters) };
  const jobDecisions = jobs.map((seen) => decideJob(seen, outcome));
  return Object.freeze({
    groups: Object.freeze(summarise(ledgers.values(), jobDecisions)),
    jobs: Object.freeze(jobDecisions),
    runners: Object.freeze([...ledgers.values()].flatMap(decideRunners)),
  });
}

function groupFinder(rosters: ReadonlyMap<Group, Roster>): (runner: string) => Group | undefined {
  const groups = new Map<string, Group>();
  for (const [group, { runners }] of rosters) for (const name of runners.keys()) groups.set(name, group);
  return (runner) => groups.get(runner);
}

function byKey(a: Group, b: Group): number {
  return compareText(a.namespace, b.namespace) || compareText(a.name, b.name);
}

/**
 * The ready jobs, longest ready first; of equal ones the oldest first, as `jobs` is sorted. A job that waits for another one's runner
 * stands in that one's place: there the runner was asked for.
 */
function inQueueOrder(
  jobs: readonly SeenJob[],
  readySinceMs: (seen: SeenJob) => number,
  follow: (seen: SeenJob) => Candidate<OpenLedger>,
): readonly Candidate<OpenLedger>[] {
  const places = new Map(jobs.map((seen, place) => [seen, place]));
  return jobs
    .filter(({ job }) => job.status === 'queued')
    .map((seen) => {
      const candidate = follow(seen);
      const stands = candidate.standIn ?? seen;
      return { candidate, sinceMs: readySinceMs(stands), place: places.get(stands) ?? 0 };
    })
    .sort((a, b) => a.sinceMs - b.sinceMs || a.place - b.place)
    .map(({ candidate }) => candidate);
}

function followChains(
  jobs: readonly SeenJob[],
  ledgers: ReadonlyMap<Group, OpenLedger>,
): (seen: SeenJob) => Candidate<OpenLedger> {
  const byId = new Map(jobs.map((seen) => [`${seen.origin} ${seen.job.id}`, seen]));
  return chainFollower([...ledgers.values()], (origin, id) => byId.get(`${origin} ${id}`));
}

function openLedgers(
  rosters: ReadonlyMap<Group, Roster>,
  readySinceMs: (seen: SeenJob) => number,
  { instance, nowMs }: Evidence,
): ReadonlyMap<Group, OpenLedger> {
  const ledgers = new Map<Group, OpenLedger>();
  for (const [group, roster] of rosters) {
    const runners = [...roster.runners.values()];
    const taken = runners
      .filter(({ state }) => state === 'busy' || state === 'finishing')
      .reduce((sum, { slots }) => sum + slots, 0);
    const room = group.suspend ? 0 : Math.max(0, group.maxActiveRunners - taken);
    const endsMs = runners.flatMap(({ job }) => job?.completedAtMs ?? []).sort((a, b) => b - a);
    ledgers.set(group, {
      group,
      nameOf: runnerNamer(instance, group),
      roster,
      readySinceMs,
      endsMs,
      room,
      nowMs,
      selected: [],
      backingOff: new Map(),
      assignments: [],
    });
  }
  return ledgers;
}

/**
 * A function that gives a job to the first of its owners with room, but before all others to the one that already has a living
 * runner for it. Full ledgers stay full, so the list of those with room is kept from job to job (200 groups, 10,000 jobs).
 */
function selector(
  ledgers: ReadonlyMap<Group, OpenLedger>,
): (candidate: Candidate<OpenLedger>, ownersOf: (seen: SeenJob) => Owners) => void {
  const openOf = new Map<Owners, readonly OpenLedger[]>();
  const openOwners = (owners: Owners): readonly OpenLedger[] => {
    if (!owners.covered) return [];
    const known = openOf.get(owners) ?? owners.groups.flatMap((group) => ledgers.get(group) ?? []);
    const open = known.some(isFull) ? known.filter((ledger) => !isFull(ledger)) : known;
    openOf.set(owners, open);
    return open;
  };
  return (candidate, ownersOf) => {
    const { seen, keepers, living, standIn } = candidate;
    const open = openOwners(ownersOf(seen));
    const keeper = open.find((ledger) => keepers.includes(ledger));
    const chained = living && open.includes(living.ledger) ? living.ledger : undefined;
    const owner = keeper ?? chained ?? ofStandIn(standIn) ?? firstWithRoom(open, seen);
    if (owner) {
      owner.selected.push(candidate);
      return;
    }
    const [first] = open;
    const backOff = first && backOffOf(first, seen);
    if (backOff) first.backingOff.set(seen, backOff);

    /** The group in which the other job's runner was asked for, when it serves this one, too. */
    function ofStandIn(other: SeenJob | undefined): OpenLedger | undefined {
      const ledger = other && firstWithRoom(openOwners(ownersOf(other)), other);
      return ledger && open.includes(ledger) && !ledger.roster.sighted && !backOffOf(ledger, seen) ? ledger : undefined;
    }
  };
}

/**
 * Of the owners that may start a runner for the job the one that had room for it first. Later ones only seem better: the job
 * may have a starting runner there by now, which nobody sees, and moving it would drop that. Where Kubernetes shows runners, a
 * runner that starts is seen, and the first owner is right.
 */
function firstWithRoom(owners: readonly OpenLedger[], seen: SeenJob): OpenLedger | undefined {
  let first: { readonly ledger: OpenLedger; readonly sinceMs: number } | undefined;
  for (const ledger of owners) {
    if (backOffOf(ledger, seen)) continue;
    const readyMs = ledger.readySinceMs(seen);
    const slotsLeft = ledger.room - ledger.selected.length;
    const sinceMs = ledger.roster.sighted ? readyMs : withinCapSinceMs(readyMs, slotsLeft, ledger.endsMs);
    // Nobody had room before the job was ready.
    if (sinceMs <= readyMs) return ledger;
    if (!first || sinceMs < first.sinceMs) first = { ledger, sinceMs };
  }
  return first?.ledger;
}

function isFull({ selected, room }: Ledger): boolean {
  return selected.length >= room;
}
