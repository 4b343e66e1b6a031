/**
 * Which runners are needed right now, and why. A pure function: same groups and evidence, same plan.
 *
 *     looks at Gitea ──► seeJobs ──► takeRosters ──► replay ──► select ──► assignRunners ──► spare ──► decide
 *     live Jobs ─────────────────────────▲             │          │                            └ kept for the next job
 *             what was asked for, where nobody sees it ┘          └ longest ready job first, to its first owner with room
 *
 * The laws P1-P12 (docs/spec.md) are kept here: every busy runner is in the output, pinned; every ready job within the caps
 * has one runner; nothing else is started; doubt keeps.
 */
import { type Assignment, assignRunners, type BackOff } from './assign.ts';
import { type Candidate, chainFollower } from './chain.ts';
import { decideJob, decideRunners, keyFinder, summarise } from './decide.ts';
import type { GroupKey, Plan } from './decisions.ts';
import { type ElsewhereFinder, elsewhereFinder } from './elsewhere.ts';
import type { Evidence, Group } from './evidence.ts';
import { type OpenLedger, openLedgers } from './ledger.ts';
import { type Owners, ownersFinder } from './owners.ts';
import { byTurns, inQueueOrder, nextByGroup } from './queue-order.ts';
import { replay } from './replay.ts';
import { type Rosters, takeRosters } from './roster.ts';
import { selector } from './select.ts';
import { sparesFinder } from './spare.ts';
import { readySinceFinder } from './waiting-time.ts';
import { byKey, type SeenJob, seeJobs } from './world.ts';

/** What all ready jobs were given. */
interface Given extends Pick<Outcome, 'served' | 'backingOff'> {
  readonly order: readonly Candidate[];
  readonly ledgers: ReadonlyMap<Group, OpenLedger>;
}

/** The outcome for all ready jobs: who serves them, and who could have. */
export interface Outcome {
  readonly served: ReadonlyMap<SeenJob, Assignment>;
  readonly backingOff: ReadonlyMap<SeenJob, BackOff>;
  /** Names of runners of somebody else that jobs wait for. */
  readonly elsewhere: ReadonlyMap<SeenJob, string>;
  readonly owners: (seen: SeenJob) => Owners;
  /** The repository whose job gets the next slot of a group with fairness `per-repository`. */
  readonly nextIn: ReadonlyMap<Group, string>;
  readonly findRunner: Rosters['find'];
  readonly keyOf: (group: Group) => GroupKey;
}

/**
 * Plans one pass over all groups, which must be unique by namespace and name.
 * @throws GroupsCollide when two groups would share runner names; Error when a group's look is missing.
 */
export function plan(groups: readonly Group[], evidence: Evidence): Plan {
  const inOrder = [...groups].sort(byKey);
  const { jobs, find } = seeJobs(inOrder, evidence);
  const rosters = takeRosters(inOrder, evidence, jobs);
  const readySinceMs = readySinceFinder(jobs, rosters.madeFor);
  const owners = ownersFinder(inOrder);
  const others = elsewhereFinder(jobs, (runner) => rosters.find(runner) !== undefined, readySinceMs, evidence);
  const elsewhere = new Map<SeenJob, string>();
  const asked = replay({ jobs, find }, rosters, { owners, readySinceMs, nowMs: evidence.nowMs });
  const times = { readySinceMs, missedBy: (seen: SeenJob) => asked.get(seen)?.missed ?? 0, nowMs: evidence.nowMs };
  const follow = chainFollower(rosters, find, times);
  const ready = inQueueOrder(jobs, readySinceMs, follow, asked);

  const giveRunners = (): Given => {
    const ledgers = openLedgers(rosters, times, evidence);
    const order = byTurns(ready, ledgers, owners);
    const select = selector(ledgers, owners);
    for (const candidate of order) if (!elsewhere.has(candidate.seen)) select(candidate);
    return { order, ledgers, ...assignAll(ledgers) };
  };
  let given = giveRunners();
  // Who would get a new runner, but has one elsewhere, leaves the slot to somebody else; that one may have one elsewhere, too.
  for (let left = leftToOthers(given, others); left.size > 0; left = leftToOthers(given, others)) {
    for (const [seen, runner] of left) elsewhere.set(seen, runner);
    given = giveRunners();
  }

  const { order, ledgers, served, backingOff } = given;
  const sparesOf = sparesFinder(jobs);
  for (const ledger of ledgers.values()) ledger.spares.push(...sparesOf(ledger));
  const isDecided = (seen: SeenJob): boolean => served.has(seen) || backingOff.has(seen) || elsewhere.has(seen);
  const nextIn = nextByGroup(inOrder, order, isDecided, owners);
  const keyOf = keyFinder();
  const outcome: Outcome = { served, backingOff, elsewhere, owners, nextIn, findRunner: rosters.find, keyOf };
  const jobDecisions = jobs.map((seen) => decideJob(seen, outcome));
  return Object.freeze({
    groups: Object.freeze(summarise(ledgers.values(), jobDecisions, keyOf)),
    jobs: Object.freeze(jobDecisions),
    runners: Object.freeze([...ledgers.values()].flatMap((ledger) => decideRunners(ledger, keyOf(ledger.group), find))),
  });
}

/** Who serves the jobs of each ledger. */
function assignAll(ledgers: ReadonlyMap<Group, OpenLedger>): Pick<Given, 'served' | 'backingOff'> {
  const served = new Map<SeenJob, Assignment>();
  const backingOff = new Map<SeenJob, BackOff>();
  for (const ledger of ledgers.values()) {
    for (const [seen, backOff] of ledger.backingOff) backingOff.set(seen, backOff);
    for (const assignment of assignRunners(ledger, ledger.selected, [...ledger.backingOff.keys()])) {
      ledger.assignments.push(assignment);
      served.set(assignment.seen, assignment);
    }
  }
  return { served, backingOff };
}

/** Jobs for which a runner is asked that nobody has seen yet, although somebody else has one for them. */
function leftToOthers({ ledgers }: Given, others: ElsewhereFinder): ReadonlyMap<SeenJob, string> {
  const left = new Map<SeenJob, string>();
  for (const { assignments, group, rosters } of ledgers.values()) {
    for (const { seen, runner } of assignments) {
      const other = others(seen, group.spawnTimeoutMs);
      if (other !== undefined && rosters.find(runner)?.state !== 'free') left.set(seen, other);
    }
  }
  return left;
}
