/** The lost CI jobs of all groups with `maxEvictionRetries`. They stand in the status of their groups: a new leader begins with those. */

import type { GiteaTarget } from '../../clients/gitea/observe.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { type LostJob, RunnerGroupStatus } from '../../config/runnergroup/status.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import type { Tell } from '../events.ts';
import type { Sight } from '../looks/poller.ts';
import type { TargetOf } from '../looks/targets.ts';
import type { LiveGroup } from '../planning/live.ts';
import type { Survey } from '../planning/survey.ts';
import { type FollowedLosses, followLosses, type GoodLook, type GroupLosses, NO_LOSSES } from './follow.ts';

/** What a round sees. */
export interface BookScene {
  readonly survey: Survey;
  readonly targetOf: TargetOf;
  /** The last look at each target, by its key. */
  readonly sights: ReadonlyMap<string, Sight>;
  /** By this machine's clock. */
  readonly nowMs: number;
  /** A pod of this Job is there. @param key `<namespace>/<name>` */
  readonly hasPod: (key: string) => boolean;
}

/** A group with losses, and what a re-run of them needs. */
export interface GroupAtLoss {
  readonly live: LiveGroup;
  readonly group: RunnerGroup;
  readonly target: GiteaTarget;
  readonly lost: readonly LostJob[];
  readonly look?: GoodLook;
}

/** What is known of a group. `at` is absent while nothing of it can be re-run. */
interface Entry {
  readonly losses: GroupLosses;
  readonly at?: Omit<GroupAtLoss, 'lost'>;
}

const NONE: readonly LostJob[] = [];

export class LossBook {
  /** @param key of a RunnerGroup. @returns its `status` as the newest copy of the cluster has it. */
  readonly #statusOf: (key: string) => unknown;
  readonly #tell: Tell;
  /** By key of the group. */
  #entries: ReadonlyMap<string, Entry> = new Map();

  constructor(statusOf: (key: string) => unknown, tell: Tell) {
    this.#statusOf = statusOf;
    this.#tell = tell;
  }

  /** Groups that have losses, as the last round saw them. */
  get atLoss(): readonly GroupAtLoss[] {
    return [...this.#entries.values()].flatMap(({ at, losses: { lost } }) =>
      at && lost.length > 0 ? [{ ...at, lost }] : [],
    );
  }

  /** The lost CI jobs of a group; the same list until it changes. */
  of(key: string): readonly LostJob[] {
    return this.#entries.get(key)?.losses.lost ?? NONE;
  }

  /**
   * Notes what a round sees. Groups that are gone, or do not want re-runs, are forgotten.
   * @returns the targets to look at now: a runner was lost, and polls may be a minute apart.
   */
  follow(scene: BookScene): ReadonlySet<GiteaTarget> {
    const wanted = new Set<GiteaTarget>();
    const next = new Map<string, Entry>();
    for (const live of scene.survey.groups) {
      const { group, key } = live;
      // Its spec is not valid for now.
      if (!group) next.set(key, { losses: this.#known(key) });
      if (!group || group.maxEvictionRetries === 0) continue;
      const found = scene.targetOf.get(group);
      const target = found instanceof Failure ? undefined : found;
      const look = lookAt(target, scene);
      const { losses, needsLook } = this.#followGroup(live, scene, look);
      if (needsLook && target) wanted.add(target);
      next.set(key, { losses, ...(target && { at: { live, group, target, ...look } }) });
    }
    this.#entries = next;
    return wanted;
  }

  #followGroup(
    { key, object }: LiveGroup,
    { hasPod, survey, nowMs }: BookScene,
    look: { readonly look?: GoodLook },
  ): FollowedLosses {
    const { namespace } = object.metadata;
    const followed = followLosses(this.#known(key), {
      runners: survey.runnersOfGroup.get(key) ?? [],
      hasPod: (name) => hasPod(keyText({ namespace, name })),
      nowMs,
      ...look,
    });
    for (const lost of followed.found) this.#tell({ is: 'runner-lost', object, lost, isNoted: true });
    for (const lost of followed.more) this.#tell({ is: 'runner-lost', object, lost, isNoted: false });
    for (const lost of followed.returned) this.#tell({ is: 'rerun', object, lost, outcome: 'returned' });
    return followed;
  }

  /** A leader that is new knows what the one before has written. */
  #known(key: string): GroupLosses {
    return this.#entries.get(key)?.losses ?? readLosses(this.#statusOf(key));
  }

  /** This loss needs nothing more. */
  settle(key: string, { jobId }: LostJob): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const lost = entry.losses.lost.filter((each) => each.jobId !== jobId);
    this.#entries = new Map(this.#entries).set(key, { ...entry, losses: { ...entry.losses, lost } });
  }
}

/** The newest look, if it was a good one. */
function lookAt(target: GiteaTarget | undefined, { sights }: BookScene): { readonly look?: GoodLook } {
  const sight = target && sights.get(target.key);
  return sight?.look && !sight.failure ? { look: { found: sight.look, beganMs: sight.beganMs } } : {};
}

function readLosses(status: unknown): GroupLosses {
  const lost = RunnerGroupStatus.safeParse(status ?? {}).data?.lostJobs;
  return lost ? { ...NO_LOSSES, lost } : NO_LOSSES;
}
