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

const NONE: readonly LostJob[] = [];

export class LossBook {
  /** @param key of a RunnerGroup. @returns its `status` as the newest copy of the cluster has it. */
  readonly #statusOf: (key: string) => unknown;
  readonly #tell: Tell;
  /** By key of the group. */
  #losses: ReadonlyMap<string, GroupLosses> = new Map();
  #atLoss: readonly GroupAtLoss[] = [];

  constructor(statusOf: (key: string) => unknown, tell: Tell) {
    this.#statusOf = statusOf;
    this.#tell = tell;
  }

  /** Groups that have losses, as the last round saw them. */
  get atLoss(): readonly GroupAtLoss[] {
    return this.#atLoss;
  }

  /** The lost CI jobs of a group; the same list until it changes. */
  of(key: string): readonly LostJob[] {
    return this.#losses.get(key)?.lost ?? NONE;
  }

  /**
   * Notes what a round sees. Groups that are gone, or do not want re-runs, are forgotten.
   * @returns the targets to look at now: a runner was lost, and polls may be a minute apart.
   */
  follow(scene: BookScene): ReadonlySet<GiteaTarget> {
    const wanted = new Set<GiteaTarget>();
    const next = new Map<string, GroupLosses>();
    const atLoss: GroupAtLoss[] = [];
    for (const live of scene.survey.groups) {
      const { group, key } = live;
      // Its spec is not valid for now.
      if (!group) next.set(key, this.#known(key));
      if (!group || group.maxEvictionRetries === 0) continue;
      const target = scene.targetOf.get(group);
      const look = target instanceof Failure ? undefined : lookAt(target, scene);
      const { losses, needsLook } = this.#followGroup(live, scene, look);
      next.set(key, losses);
      if (needsLook && target && !(target instanceof Failure)) wanted.add(target);
      if (losses.lost.length === 0 || !target || target instanceof Failure) continue;
      atLoss.push({ live, group, target, lost: losses.lost, ...(look && { look }) });
    }
    this.#losses = next;
    this.#atLoss = atLoss;
    return wanted;
  }

  #followGroup(
    { key, object }: LiveGroup,
    { hasPod, survey, nowMs }: BookScene,
    look: GoodLook | undefined,
  ): FollowedLosses {
    const before = this.#known(key);
    const { namespace } = object.metadata;
    const ofGroup = {
      runners: survey.index.ofGroup(key),
      hasPod: (name: string) => hasPod(keyText({ namespace, name })),
    };
    const scene = { ...ofGroup, nowMs, ...(look && { look }) };
    const followed = followLosses(before, scene);
    for (const lost of followed.found) this.#tell({ is: 'runner-lost', object, lost, isNoted: true });
    for (const lost of followed.more) this.#tell({ is: 'runner-lost', object, lost, isNoted: false });
    for (const lost of followed.returned) this.#tell({ is: 'rerun', object, lost, outcome: 'returned' });
    return followed;
  }

  /** A leader that is new knows what the one before has written. */
  #known(key: string): GroupLosses {
    return this.#losses.get(key) ?? readLosses(this.#statusOf(key));
  }

  /** This loss needs nothing more. */
  settle(key: string, { jobId }: LostJob): void {
    const known = this.#losses.get(key);
    if (!known) return;
    const lost = known.lost.filter((each) => each.jobId !== jobId);
    this.#losses = new Map(this.#losses).set(key, { ...known, lost });
    this.#atLoss = this.#atLoss.flatMap((each) => {
      if (each.live.key !== key) return [each];
      return lost.length === 0 ? [] : [{ ...each, lost }];
    });
  }
}

/** The newest look, if it was a good one. */
function lookAt(target: GiteaTarget | undefined, { sights }: BookScene): GoodLook | undefined {
  const sight = target && sights.get(target.key);
  return sight?.look && !sight.failure ? { found: sight.look, beganMs: sight.beganMs } : undefined;
}

function readLosses(status: unknown): GroupLosses {
  const read = RunnerGroupStatus.safeParse(status ?? {});
  const lost = read.success ? read.data.lostJobs : undefined;
  return lost ? { ...NO_LOSSES, lost } : NO_LOSSES;
}
