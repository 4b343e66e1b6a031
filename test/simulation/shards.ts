/** Several Applications that print one folder, each its shard (src/planner/shards.ts): how many there are, and which of them do their work. */
import type { History } from './history.ts';

/** As one Application of the ApplicationSet. */
export interface Shard {
  readonly index: number;
  /** Argo CD's name of it. */
  readonly application: string;
  /** How many there are, as it was told last; it is told up to 5 s late. */
  readonly of: () => number;
  /** It exists, and nothing is wrong with it. */
  readonly works: () => boolean;
}

/** Undefined: there are no shards. */
export function shardsAt({ shards }: History, atS: number): number | undefined {
  return shards?.findLast((each) => each.atS <= Math.max(0, atS))?.of;
}

export function isBroken({ troubles }: History, index: number, atS: number): boolean {
  return troubles.some(
    (each) => each.kind === 'shard-broken' && each.shard === index && each.atS <= atS && atS < each.untilS,
  );
}

/** All that there ever are. */
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
