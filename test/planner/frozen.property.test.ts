/**
 * Law P34 (docs/spec.md): evidence that is frozen for 48 hours keeps no place for ever, and makes few runners. Only the time moves. Jobs that
 * the plan asks for come, and then idle or hang. Kubernetes ends Jobs at their deadline, and removes ended ones.
 */
import { expect } from 'vitest';
import { type EmittedRunner, type Plan, takesSlot } from '../../src/planner/decisions.ts';
import { type Evidence, type Group, isOver, type LiveJob, type RegisteredRunner } from '../../src/planner/evidence.ts';
import { plan } from '../support/plan.ts';
import { fc, test } from '../support/property.ts';
import { anyScene, changeLooks, type Scene, withLiveJobs } from './any-scene.ts';

const MINUTE = 60_000;
const STEP_MS = 20 * MINUTE;
const FROZEN_MS = 48 * 60 * MINUTE;
const TTL_MS = 10 * MINUTE;
const DEADLINE_MS = 6 * 60 * MINUTE;
/** Times that double from five minutes on need 9 steps for 48 hours. Each runner that lives to its deadline is one more. */
const MOST_PER_JOB = 9 + FROZEN_MS / DEADLINE_MS;

const FATES = {
  idle: { state: 'running' },
  hung: { state: 'running' },
  unschedulable: { state: 'starting', trouble: { reason: 'Unschedulable' } },
  image: { state: 'starting', trouble: { reason: 'ImagePullBackOff', ofNode: true } },
  still: { state: 'starting', trouble: { reason: 'PodInitializing', node: 'n' } },
  dead: { state: 'starting', trouble: { reason: 'ContainerCreating', node: 'n', ofNode: true } },
} satisfies Readonly<Record<string, Pick<LiveJob, 'state' | 'trouble'>>>;
type Fate = keyof typeof FATES;

/** A world in which nothing happens but the plan's own Jobs and idle runners. */
class Frozen {
  /** Names of the runners that were asked for. */
  readonly asked = new Set<string>();
  readonly #scene: Scene;
  readonly #fateOf: (nth: number) => Fate;
  readonly #isSeen: boolean;
  readonly #lives: Map<string, LiveJob>;
  readonly #idle = new Map<string, RegisteredRunner & { readonly look: string }>();

  constructor(scene: Scene, fateOf: (nth: number) => Fate) {
    const { cluster } = scene.evidence;
    this.#scene = scene;
    this.#fateOf = fateOf;
    this.#isSeen = cluster.is === 'seen';
    this.#lives = new Map(cluster.is === 'seen' ? cluster.jobs.map((live) => [live.name, live]) : []);
  }

  /** Plays 48 hours, and returns the last plan. */
  play(): Plan {
    const { groups, evidence } = this.#scene;
    for (let ms = 0; ms < FROZEN_MS; ms += STEP_MS) {
      const nowMs = evidence.nowMs + ms;
      for (const live of [...this.#lives.values()]) this.#age(live, nowMs);
      this.#sync(plan(groups, this.#seen(nowMs)), nowMs);
    }
    return plan(groups, this.#seen(evidence.nowMs + FROZEN_MS));
  }

  /** Like Argo CD: deletes unprinted Jobs, unless they are pinned. */
  #sync({ runners }: Plan, nowMs: number): void {
    const kept = new Set(runners.flatMap((each) => (each.emit ? each.runner : [])));
    for (const name of [...this.#lives.keys(), ...this.#idle.keys()])
      if (!kept.has(name) && !this.#lives.get(name)?.pinned) this.#drop(name);
    for (const decision of runners) {
      if (!decision.emit) continue;
      const { runner, pinned, skip } = decision;
      const live = this.#lives.get(runner);
      if (live) this.#lives.set(runner, { ...live, pinned });
      else if (!this.#idle.has(runner) && !skip && takesSlot(decision)) this.#create(decision, nowMs);
    }
  }

  #create({ runner, group, pinned, triedBefore }: EmittedRunner, nowMs: number): void {
    const fate = this.#fateOf(this.asked.size);
    this.asked.add(runner);
    const of = this.#scene.groups.find(({ name }) => name === group.name);
    if (fate === 'idle' && of) this.#idle.set(runner, rowOf(runner, of));
    if (!this.#isSeen) return;
    const made = { namespace: 'runners', name: runner, createdAtMs: nowMs, pinned, ...FATES[fate] };
    const times = {
      ...((fate === 'still' || fate === 'dead') && { stillSinceMs: nowMs }),
      ...(made.state === 'running' && { runningSinceMs: nowMs }),
      ...(triedBefore !== undefined && { triedBefore }),
    };
    this.#lives.set(runner, { ...made, ...times });
  }

  /**
   * A row is online while its runner lives. Rows of the beginning have been silent for long where no Job is seen. Where Jobs are, strangers may
   * keep them online: all pods of the beginning have ended, and the Jobs with them.
   */
  #seen(nowMs: number): Evidence {
    const { evidence } = this.#scene;
    const isOld = nowMs - evidence.nowMs > MINUTE;
    const rows = [...this.#idle.values()];
    const looks = changeLooks(evidence, (look) => {
      const key = [...evidence.looks].find(([, each]) => each === look)?.[0];
      const isSilent = isOld && !this.#isSeen;
      const old = look.runners.map((row) => (isSilent && !this.#idle.has(row.name) ? { ...row, online: false } : row));
      return { ...look, runners: [...old, ...rows.filter((row) => row.look === key)] };
    });
    const now = withLiveJobs({ ...looks, nowMs }, [...this.#lives.values()]);
    return now.cluster.is === 'seen'
      ? { ...now, cluster: { ...now.cluster, pods: new Map(), listedAtMs: nowMs - 1_000 } }
      : now;
  }

  /** As Kubernetes: Jobs end at their deadline, and ended ones are removed. */
  #age(live: LiveJob, nowMs: number): void {
    const { name, state, createdAtMs, finishedAtMs = createdAtMs } = live;
    if (isOver(state)) {
      if (nowMs - finishedAtMs >= TTL_MS) this.#drop(name);
    } else if (nowMs - createdAtMs >= DEADLINE_MS) {
      const { runningSinceMs: _, trouble: __, stillSinceMs: ___, ...rest } = live;
      this.#lives.set(name, { ...rest, state: 'failed', finishedAtMs: nowMs });
      this.#idle.delete(name);
    }
  }

  #drop(name: string): void {
    this.#lives.delete(name);
    this.#idle.delete(name);
  }
}

function rowOf(name: string, { labels, look }: Group) {
  return { id: 1_000, name, online: true, busy: false, disabled: false, ephemeral: true, labels, look };
}

test(
  'P34 evidence that is frozen for 48 hours keeps no place for ever and makes few runners',
  [anyScene, fc.array(fc.constantFrom(...(Object.keys(FATES) as Fate[])), { minLength: 1, maxLength: 5 })],
  (scene, fates) => {
    const frozen = new Frozen(scene, (nth) => fates[nth % fates.length] as Fate);
    const last = frozen.play();
    const { asked } = frozen;

    const known = new Set(plan(scene.groups, scene.evidence).runners.map(({ runner }) => runner));
    const holders = last.runners.flatMap((each) => (each.emit && takesSlot(each) ? each.runner : []));
    expect(holders.filter((runner) => known.has(runner) && !asked.has(runner))).toEqual([]);
    const queued = new Set([...scene.evidence.looks.values()].flatMap(({ jobs }) => jobs.map(({ id }) => id))).size;
    const pools = scene.groups.reduce((sum, { minIdleRunners }) => sum + minIdleRunners, 0);
    expect(asked.size).toBeLessThanOrEqual((queued + pools) * MOST_PER_JOB);
  },
);
