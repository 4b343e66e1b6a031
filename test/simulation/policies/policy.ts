/** A policy decides which runners exist. Seven of them are compared over the same histories. */
import type { MadeFor } from '../../../src/planner/names.ts';
import type { Annotations, Cluster } from '../cluster.ts';
import type { GroupSpec } from '../history.ts';
import type { lookout, Observation } from '../look.ts';
import type { Shard } from '../shards.ts';
import type { Stage } from '../stage.ts';

/** A Job that is to be there. */
export interface Wanted extends Annotations {
  readonly name: string;
  readonly group: GroupSpec;
  /** True if a sync leaves the Job as it is, and does not create it. */
  readonly skip?: boolean | undefined;
  readonly madeFor: MadeFor | undefined;
  readonly priorityClass?: string | undefined;
  /** Gitea gives it only jobs of this repository. */
  readonly boundTo?: string | undefined;
  /** Shard of its label. */
  readonly shard?: number | undefined;
}

/** A policy that prints the whole set of Jobs, which Argo CD then applies. */
export interface Generator {
  readonly kind: 'generator';
  /** True if it sees which pods are on their way. */
  readonly seesPods: boolean;
  /** True if it fills the warm pools of the groups. */
  readonly keepsPools?: true;
  /** Returns the wanted Jobs. @param shard the printed part; only for a policy that knows shards */
  readonly decide: (stage: Stage, cluster: Cluster, sight: Observation, shard?: Shard) => readonly Wanted[];
  readonly knowsShards?: true;
  /** Default: `lookout`. */
  readonly lookout?: typeof lookout;
}

/** A policy that makes Jobs by itself, again and again, and remembers. */
export interface Operator {
  readonly kind: 'operator';
  readonly everyMs: number;
  /** A new one for each run: it has a memory. */
  readonly start: (stage: Stage, cluster: Cluster) => () => void;
}

export type Policy = Generator | Operator;
