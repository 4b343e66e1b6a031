/** Which group gets a job: of its owners the one that has a living runner for it, else the first with room. */
import { backOffOf } from './assign.ts';
import type { Candidate } from './chain.ts';
import type { Group } from './evidence.ts';
import { isFull, type OpenLedger } from './ledger.ts';
import type { Owners } from './owners.ts';
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
  return (candidate) => {
    const { seen, own, living, asked } = candidate;
    const open = openOwners(seen);
    if (open.length === 0) return;
    const keeper = own.length > 0 ? open.find((ledger) => own.some(({ group }) => group === ledger.group)) : undefined;
    const chained = living && open.find(({ group }) => group === living.group);
    const before = asked && open.find(({ group }) => group === asked.group);
    const owner = keeper ?? chained ?? before ?? open.find((ledger) => !backOffOf(ledger, seen));
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
