/**
 * The inputs of a reconcile, and the looks that they ask for:
 *
 *     groups ─► targets (targets.ts) ─► looks at Gitea (poller.ts) ─┐
 *     cluster ─► snapshot ─► who has ended, who asks ─► more looks  ├─► ReconcileInput
 *     lost jobs, warnings, wakes ───────────────────────────────────┘
 */
import { isRefusal } from '../clients/gitea/failures.ts';
import type { GiteaTarget } from '../clients/gitea/observe-gitea.ts';
import type { TargetOf } from '../plan/find-targets.ts';
import { isBoundAtWork, isPinnedAlive } from '../planner/evidence.ts';
import { Failure } from '../shared/failure.ts';
import { LOOK_NOW } from '../shared/marks.ts';
import type { Applications } from './applications.ts';
import { originOf } from './looks/giteas.ts';
import { type PollerOptions, startPoller } from './looks/poller.ts';
import type { TargetBook } from './looks/targets.ts';
import { openLossBook } from './losses/losses.ts';
import type { ReconcileInput } from './planning/reconcile.ts';
import { type ClusterSnapshot, groupKeyOfRunner, type LiveGroup, snapshot } from './seen/live.ts';
import type { TaskContext } from './task.ts';

interface InputsOptions
  extends Omit<PollerOptions, 'boundRunners' | 'needsRows' | 'onLook'>,
    Pick<TaskContext, 'client' | 'cluster'>,
    Pick<ReconcileInput, 'instance'> {
  readonly apps: Pick<Applications, 'keep' | 'wakes'>;
  readonly book: TargetBook;
  readonly controlPlaneNamespace: string;
  readonly onLooked: () => void;
}

/** Starts the looks at Gitea, and makes the input of each reconcile. */
export function openInputs(options: InputsOptions) {
  const { apps, book, client, clock, clocks, cluster, controlPlaneNamespace, instance, tell } = options;
  const unregistered: TaskContext['unregistered'] = new Map();
  const losses = openLossBook(cluster, tell);
  let lastSnapshot: ClusterSnapshot | undefined;
  /** Annotation of each group that requests a look (`LOOK_NOW`), by group. */
  let lastLookRequests: ReadonlyMap<string, string | undefined> | undefined;
  let targetOf: TargetOf = new Map();
  const poller = startPoller({
    ...options,
    needsRows: async () => cluster.runners().some(({ job }) => isPinnedAlive(job)),
    boundRunners: async () => cluster.runners().flatMap(({ job }) => (isBoundAtWork(job) ? [job] : [])),
    onLook: (target, { beganMs, endedMs, failure, look }) => {
      const { key, url } = target;
      book.looked(target, failure !== undefined && isRefusal(failure));
      const result = failure ? { failure } : look && { look };
      tell({ is: 'looked', origin: originOf(target), target: key, url, beganMs, endedMs, ...result });
      options.onLooked();
    },
  });

  const targetsOf = (groups: readonly LiveGroup[]) => new Set(groups.map(({ group }) => group && targetOf.get(group)));

  /** Requests looks where runners have ended since the last snapshot, where a loss is in doubt, and where a person asks. */
  const requestLooks = ({ ended, groups }: ClusterSnapshot, doubtful: ReadonlySet<GiteaTarget>): void => {
    // Only a new look shows what the end of a runner means.
    const endedGroups = new Set(ended.map(groupKeyOfRunner));
    const targets = targetsOf(groups.filter(({ key }) => endedGroups.has(key)));
    poller.nudge((target) => targets.has(target) || doubtful.has(target));
    const asks = new Map(groups.map(({ key, object }) => [key, object.metadata.annotations?.[LOOK_NOW]]));
    const before = lastLookRequests ?? asks;
    const asking = groups.filter(({ key }) => asks.get(key) !== undefined && asks.get(key) !== before.get(key));
    lastLookRequests = asks;
    poller.demand(targetsOf(asking));
  };

  return {
    poller,
    losses,
    unregistered,
    targetOf: (): TargetOf => targetOf,

    /** Requests new looks at the scopes of this Application's groups. */
    lookAgain: (application: string): void => {
      const targets = targetsOf(lastSnapshot?.byApp.get(application) ?? []);
      poller.nudge((target) => targets.has(target));
    },

    /** True once every target was looked at. */
    isComplete: (): boolean => {
      const observations = poller.observations();
      return book.targets().every(({ key }) => observations.has(key));
    },

    /** Failures of the last looks and of tokens. */
    failures: (): readonly Failure[] => {
      const observations = poller.observations();
      const looks = book.targets().flatMap(({ key }) => observations.get(key)?.failure ?? []);
      return [...looks, ...[...targetOf.values()].filter((target) => target instanceof Failure)];
    },

    /** Returns the groups, and looks at their targets from now on. Undefined: a missing object proves nothing now. */
    groupsNow: async (): Promise<readonly LiveGroup[] | undefined> => {
      await cluster.readAhead();
      if (!cluster.fresh) return undefined;
      const groups = cluster.groups();
      const latest = await book.resolve(groups, clock.now());
      if (latest !== targetOf) poller.watch(book.namespacesOf());
      targetOf = latest;
      return groups;
    },

    inputOf: (groups: readonly LiveGroup[]): ReconcileInput => {
      const times = { nowMs: clock.now(), steadyMs: clock.steadyMs() };
      const now = snapshot({ groups, runners: cluster.runners(), controlPlaneNamespace, ...times }, lastSnapshot);
      // The first snapshot finds what ended before this process led.
      if (lastSnapshot) for (const runner of now.ended) tell({ is: 'runner-ended', runner });
      lastSnapshot = now;
      apps.keep(now.byApp);
      const input: ReconcileInput = {
        ...times,
        instance,
        snapshot: now,
        pods: cluster.podsAlive(),
        targetOf,
        observations: poller.observations(),
        warningsOf: book.warningsOf(),
        lostJobs: losses.of,
        unregistered: (key) => unregistered.get(key),
        clocks: { kubernetes: client.origin, of: (origin) => clocks.boundsFor(origin) },
        wakes: apps.wakes,
      };
      requestLooks(now, losses.follow(input));
      return input;
    },
  };
}
