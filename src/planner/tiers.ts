/** The places of a group's priority tiers. */
import type { PriorityTier } from './evidence.ts';

/** How many runners of each tier may still be started. */
export class TierSlots {
  readonly #tiers: { readonly priorityClassName: string; free: number }[];

  /** @param tiers thresholds ascend */
  constructor(tiers: readonly PriorityTier[]) {
    this.#tiers = tiers.map(({ priorityClassName, threshold }, nth) => ({
      priorityClassName,
      free: threshold - (tiers[nth - 1]?.threshold ?? 0),
    }));
  }

  /** A runner with this class, or none, is there. A class that no tier has, or that is full after a commit lowered it, takes no place. */
  take(priorityClassName: string | undefined): void {
    const tier = this.#tiers.find((each) => each.priorityClassName === priorityClassName && each.free > 0);
    if (tier) tier.free -= 1;
  }

  /** The class of the lowest tier that has a place. Undefined: all are taken, as when more runners work than the cap allows. */
  takeLowest(): string | undefined {
    const tier = this.#tiers.find(({ free }) => free > 0);
    if (tier) tier.free -= 1;
    return tier?.priorityClassName;
  }
}
