/** Makes a plan from all that `generate`, `serve`, `explain` and the page have seen (docs/adr/0090): who is in trouble or suspended, which clock holds, how many idle runners are wanted. Pure. */
import type { ClockBounds } from '../clients/http/server-clocks.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { Plan } from '../planner/decisions.ts';
import type { ClusterEvidence, Evidence, Group, LiveJob, Look, PodCounts } from '../planner/evidence.ts';
import type { WithPast } from '../planner/plan.ts';
import { findCollisions } from '../planner/traces.ts';
import { Failure } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { type ClockCorrection, type ClockWarning, correctClocks, shiftJobs, shiftLook } from './clock-correction.ts';
import { withIdleWanted } from './idle-wanted.ts';
import { collisionFailure, planOrRefuse, toPlanned } from './plan-groups.ts';
import { isOwnTrouble, type Trouble } from './troubles.ts';

/** A RunnerGroup whose spec is valid, or a size of one. */
export interface SeenGroup {
  readonly group: RunnerGroup;
  readonly templateHash: string;
  readonly lookKey: string;
  /** The last look at its scope, or why there is none. Absent: nobody has looked yet. */
  readonly look?: Look | Failure | undefined;
}

/** Everything that was seen of the groups of one Application, each time by the clock of its server. */
export interface PlanInput {
  readonly instance: string;
  /** Argo CD's name of the Application. Absent: none manages the groups. */
  readonly application?: string | undefined;
  /** Number of Applications that share the groups (`Evidence.shards`). */
  readonly shards?: number | undefined;
  readonly groups: readonly SeenGroup[];
  /** Groups that cannot be planned, whatever their looks show. */
  readonly broken: readonly Trouble[];
  /** Groups that are suspended in the cluster, by key, with the text written there. */
  readonly suspended: ReadonlyMap<string, string>;
  /** Undefined: no cluster was looked at. */
  readonly cluster:
    | {
        readonly origin: string;
        /** Jobs in the cluster. Those in namespaces of other groups do not count. */
        readonly jobs: readonly LiveJob[];
        readonly pods: PodCounts;
        /** When the Jobs were listed, or a little earlier, by this machine's clock. */
        readonly listedAtMs: number;
      }
    | undefined;
  /** Replays the past. Only if no cluster was read. */
  readonly withPast?: WithPast | undefined;
  /** Returns the bounds of a server's clock. @param origin of a Gitea, or of the cluster */
  readonly clockOf: (origin: string) => ClockBounds | undefined;
  /** Time of this machine's clock, ms. */
  readonly nowMs: number;
}

/** Sources of a plan. */
export type PlanSource = Pick<PlanInput, 'suspended'> & Readonly<{ groups: readonly Group[]; evidence: Evidence }>;

/** The plan, or why there is none. */
export type Planning =
  | {
      readonly is: 'planned';
      readonly plan: Plan;
      /** The time that it is for, by Gitea's clock. */
      readonly atMs: number;
      readonly seen?: PlanSource;
      /** Groups that were left out. The plan keeps their Jobs. */
      readonly troubles?: readonly Trouble[];
      /** Failures that affect all groups of a namespace. */
      readonly stopping?: readonly Failure[];
      readonly clockWarnings?: readonly ClockWarning[];
    }
  /** Some scopes have not been looked at yet. */
  | { readonly is: 'waiting' }
  /** Every group is in trouble. */
  | { readonly is: 'failed'; readonly failure: Failure };

/** Plans what was seen. @throws Failure as `planOrRefuse`: the groups cannot be planned together */
export function planSeen(input: PlanInput): Planning {
  const { sound, stopping, troubles } = sortOut(input);
  const [first] = [...stopping, ...troubles.map(({ failure }) => failure)];
  if (sound.length === 0 && first) return { is: 'failed', failure: first };

  const correction = correctionFor(sound, input);
  const looks = new Map<string, Look>();
  for (const { group, look, lookKey } of sound) {
    if (look === undefined || look instanceof Failure) return { is: 'waiting' };
    if (!looks.has(lookKey)) looks.set(lookKey, shiftLook(look, group.giteaUrl, correction));
  }
  const evidence: Evidence = {
    instance: input.instance,
    ...(input.application && { application: input.application }),
    ...(input.shards !== undefined && { shards: input.shards }),
    looks,
    cluster: clusterOf(input, correction),
    nowMs: input.nowMs + correction.nowShiftMs,
    troubled: troubles.map(({ namespace, name }) => ({ namespace, name })),
  };
  const steady = sound.map(({ group, lookKey, templateHash }) => {
    const planned = toPlanned(group, lookKey, templateHash);
    return [input.suspended.has(keyText(group)) ? { ...planned, suspend: true } : planned, group] as const;
  });
  const planned = withIdleWanted(steady, evidence);
  const plan = planOrRefuse(planned, evidence, input.withPast);
  const source = { groups: planned, evidence, suspended: input.suspended };
  const { nowMs: atMs } = evidence;
  return { is: 'planned', plan, atMs, seen: source, troubles, stopping, clockWarnings: correction.warnings };
}

/** A group's own trouble stops that group, any other all groups of its namespace. Without a cluster, colliding groups stop all. */
function sortOut({ broken, cluster, groups, instance }: PlanInput) {
  const troubles = new Map(broken.map((trouble) => [keyText(trouble), trouble]));
  const isUsable = ({ group }: SeenGroup): boolean => !troubles.has(keyText(group));
  const named = [...broken, ...groups.filter(isUsable).flatMap(({ group }) => (group.size ? [] : group))];
  for (const [{ namespace, name }, error] of cluster ? findCollisions(named, instance) : []) {
    const trouble = { namespace, name, failure: collisionFailure(error) };
    troubles.set(keyText(trouble), troubles.get(keyText(trouble)) ?? trouble);
  }
  const usable = groups.filter(isUsable);
  const stopped = new Map<string, Failure>();
  for (const { group, look } of usable)
    if (look instanceof Failure && !isOwnTrouble(look) && !stopped.has(group.namespace))
      stopped.set(group.namespace, look);
  for (const { group, look } of usable) {
    const { namespace, name } = group;
    const failure = look instanceof Failure ? look : stopped.get(namespace);
    if (failure) troubles.set(keyText(group), { namespace, name, failure });
  }
  const sound = usable.filter(({ group }) => !troubles.has(keyText(group)));
  return { sound, stopping: [...stopped.values()], troubles: [...troubles.values()] };
}

/** Returns the correction. The clock of a Gitea counts only while a group of it is planned. */
function correctionFor(sound: readonly SeenGroup[], { clockOf, cluster }: PlanInput): ClockCorrection {
  const clock = (origin: string) => ({ origin, bounds: clockOf(origin) });
  const urls = [...new Set(sound.map(({ group }) => group.giteaUrl))];
  // The order is fixed, so that warnings about clocks do not change from plan to plan.
  const giteas = [...new Set(urls.map((url) => new URL(url).origin))].sort();
  return correctClocks(giteas.map(clock), cluster && clock(cluster.origin));
}

function clusterOf(
  { broken, cluster, groups }: PlanInput,
  { jobShiftMs, nowShiftMs }: ClockCorrection,
): ClusterEvidence {
  if (!cluster) return { is: 'unseen' };
  const namespaces = new Set([...groups.map(({ group }) => group), ...broken].map(({ namespace }) => namespace));
  const ownJobs = cluster.jobs.filter(({ namespace }) => namespaces.has(namespace));
  const { listedAtMs, pods } = cluster;
  return { is: 'seen', jobs: shiftJobs(ownJobs, jobShiftMs), pods, listedAtMs: listedAtMs + nowShiftMs };
}
