/** Which group gets a job: of its owners the one that has a living runner for it, else the first with room. */
import { backOffOf } from './assign.ts';
import type { Candidate } from './chain.ts';
import type { Group } from './evidence.ts';
import { isFull, type OpenLedger } from './ledger.ts';
import type { Owners } from './owners.ts';
import { withinCapSinceMs } from './waiting-time.ts';
import type { SeenJob } from './world.ts';

/**
 * A function that writes a job into the ledger of the group that gets it, if any has room. Full ledgers stay full, so the owners with room
 * are kept from job to job (200 groups, 10,000 jobs).
 */
export function selector(
  ledgers: ReadonlyMap<Group, OpenLedger>,
  ownersOf: (seen: SeenJob) => Owners,
): (candidate: Candidate) => void {
  const openOf = new Map<Owners, { readonly open: readonly OpenLedger[]; readonly full: number }>();
  let full = 0;
  const openOwners = (seen: SeenJob): readonly OpenLedger[] => {
    const owners = ownersOf(seen);
    if (!owners.covered) return [];
    const known = openOf.get(owners);
    if (known?.full === full) return known.open;
    const all = known?.open ?? owners.groups.flatMap((group) => ledgers.get(group) ?? []);
    const open = all.filter((ledger) => !isFull(ledger));
    openOf.set(owners, { open, full });
    return open;
  };
  /** The group in which the runner of the job at the end of a chain was asked for, when it serves this one, too. */
  const ofStandIn = (
    other: SeenJob | undefined,
    open: readonly OpenLedger[],
    seen: SeenJob,
  ): OpenLedger | undefined => {
    const ledger = other && firstWithRoom(openOwners(other), other);
    return ledger && open.includes(ledger) && !ledger.roster.sighted && !backOffOf(ledger, seen) ? ledger : undefined;
  };
  return (candidate) => {
    const { seen, own, living, standIn } = candidate;
    const open = openOwners(seen);
    if (open.length === 0) return;
    const keeper = own.length > 0 ? open.find((ledger) => own.some(({ group }) => group === ledger.group)) : undefined;
    const chained = living && open.find(({ group }) => group === living.group);
    const owner = keeper ?? chained ?? ofStandIn(standIn, open, seen) ?? firstWithRoom(open, seen);
    if (owner) {
      owner.selected.push(candidate);
      if (isFull(owner)) full += 1;
      return;
    }
    const [first] = open;
    const backOff = first && backOffOf(first, seen);
    if (backOff) first.backingOff.set(seen, backOff);
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
