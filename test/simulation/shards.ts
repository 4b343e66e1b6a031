/**
 * Several Applications that print one folder, each its shard (src/planner/shards.ts): their number, and which of them
 * work.
 */
import type { History } from './history.ts';

/** One Application of the ApplicationSet. */
export interface Shard {
  readonly index: number;
  /** Its name in Argo CD. */
  readonly application: string;
  /** Returns the number of shards that it knows: up to 5 s late. */
  readonly of: () => number;
  /** True if it exists and is not broken. */
  readonly works: () => boolean;
}

/** Returns the number of shards. Undefined: there are none. */
export function shardsAt({ shards }: History, atS: number): number | undefined {
  return shards?.findLast((each) => each.atS <= Math.max(0, atS))?.of;
}

export function isBroken({ troubles }: History, index: number, atS: number): boolean {
  return troubles.some(
    (each) => each.kind === 'shard-broken' && each.shard === index && each.atS <= atS && atS < each.untilS,
  );
}

/** Returns all shards that ever exist. */
export function shardsOf(history: History, application: string, nowS: () => number): readonly Shard[] {
  const most = Math.max(0, ...(history.shards ?? []).map(({ of }) => of));
  return Array.from({ length: most }, (_, index): Shard => {
    const of = (): number => shardsAt(history, nowS() - (index % 6)) ?? 1;
    return {
      index,
      application: shardName(application, index),
      of,
      works: () => index < of() && !isBroken(history, index, nowS()),
    };
  });
}

export function shardName(application: string, index: number): string {
  return `${application}-${index}`;
}
