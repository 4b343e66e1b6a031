/**
 * A cluster of one machine with the manners of Argo CD and the Job controller, so that `generate` meets what it will meet:
 *
 *   apply     a name that does not exist is created; of one that exists only labels and annotations change
 *   prune     what is no longer in the manifests is deleted, unless the living object says Prune=false (since the last apply)
 *   delete    SIGTERM, after the grace period SIGKILL; the object is gone when its process is
 *   start     takes a moment, as scheduling and an image do
 *   complete  the process ended: the Job stays, complete, until it is pruned or its TTL has passed; its name runs nothing again
 */
import { groupOf, isPinned, isSkipped, type RunnerJob } from './manifest.ts';
import { type Pod, type PodWorld, startPod } from './pod.ts';

/** Times of a look at Gitea: its begin and its end. */
export interface Look {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
}

/** A started runner, for the counts at the end. */
export interface RunnerRecord {
  readonly name: string;
  readonly group: string;
  /** The CI job it was made for. */
  readonly jobId: number;
  readonly createdAtMs: number;
  endedAtMs?: number;
  exit?: number | NodeJS.Signals;
  /** Set if the runner was pruned before its process had ended: the look of the sync that did it. */
  prunedAfterLook?: Look;
}

type State =
  | { readonly is: 'starting'; readonly timer: NodeJS.Timeout }
  | { readonly is: 'running' | 'deleting'; readonly pod: Pod }
  | { readonly is: 'complete'; readonly pod: Pod; readonly atMs: number };

interface LiveJob {
  manifest: RunnerJob;
  readonly record: RunnerRecord;
  state: State;
}

export interface ClusterOptions {
  /** Delay from the creation of a Job to the start of its process. Default: none. */
  readonly startDelayMs?: (manifest: RunnerJob) => number;
}

export class Cluster {
  readonly records: RunnerRecord[] = [];
  readonly #jobs = new Map<string, LiveJob>();
  readonly #world: PodWorld;
  readonly #options: ClusterOptions;

  constructor(world: PodWorld, options: ClusterOptions = {}) {
    this.#world = world;
    this.#options = options;
  }

  /** Makes the cluster as the manifests say, as a sync with prune does. `look`: the one behind them. */
  sync(manifests: readonly RunnerJob[], look: Look): void {
    this.#forgetOld(Date.now());
    for (const manifest of manifests) {
      if (isSkipped(manifest)) continue;
      const live = this.#jobs.get(manifest.metadata.name);
      if (live) live.manifest = { ...live.manifest, metadata: manifest.metadata };
      else this.#create(manifest);
    }
    const wanted = namesOf(manifests);
    for (const [name, live] of this.#jobs) {
      if (!wanted.has(name) && !isPinned(live.manifest)) this.#delete(name, live, look);
    }
  }

  /** Returns how many Jobs of a group still run and were not told to end, of those that the last sync wanted. */
  active(group: string, manifests: readonly RunnerJob[]): number {
    const names = namesOf(manifests);
    return [...this.#jobs].filter(
      ([name, { manifest, state }]) =>
        names.has(name) && groupOf(manifest) === group && (state.is === 'starting' || state.is === 'running'),
    ).length;
  }

  /** Number of Jobs that have not ended. */
  get unfinished(): number {
    return [...this.#jobs.values()].filter(({ state }) => state.is !== 'complete').length;
  }

  #create(manifest: RunnerJob): void {
    const { name, labels } = manifest.metadata;
    const jobId = Number(labels['gitea.bpg.pw/job-id']);
    const record: RunnerRecord = { name, group: groupOf(manifest), jobId, createdAtMs: Date.now() };
    this.records.push(record);
    const delayMs = this.#options.startDelayMs?.(manifest) ?? 0;
    const timer = setTimeout(() => this.#start(name, live), delayMs).unref();
    const live: LiveJob = { manifest, record, state: { is: 'starting', timer } };
    this.#jobs.set(name, live);
  }

  #start(name: string, live: LiveJob): void {
    if (this.#world.playground.closed) return;
    const pod = startPod(live.manifest, this.#world);
    live.state = { is: 'running', pod };
    void pod.running.exited.then((exit) => {
      const atMs = Date.now();
      live.record.endedAtMs = atMs;
      live.record.exit = exit;
      this.#world.playground.endSession(pod.running);
      if (live.state.is === 'deleting') this.#forget(name, live);
      else live.state = { is: 'complete', pod, atMs };
    });
  }

  #delete(name: string, live: LiveJob, look: Look): void {
    const { state } = live;
    switch (state.is) {
      case 'starting':
        clearTimeout(state.timer);
        live.record.prunedAfterLook = look;
        live.record.endedAtMs = Date.now();
        this.#forget(name, live);
        return;
      case 'running':
        live.state = { is: 'deleting', pod: state.pod };
        live.record.prunedAfterLook = look;
        state.pod.running.signal('SIGTERM');
        setTimeout(() => state.pod.running.signal('SIGKILL'), state.pod.graceSeconds * 1000).unref();
        return;
      case 'complete':
        this.#forget(name, live);
        return;
      case 'deleting':
        return;
      default: {
        const never: never = state;
        throw new Error(`unknown state ${JSON.stringify(never)}`);
      }
    }
  }

  #forgetOld(nowMs: number): void {
    for (const [name, live] of this.#jobs) {
      const ttlMs = live.manifest.spec.ttlSecondsAfterFinished * 1000;
      if (live.state.is === 'complete' && nowMs - live.state.atMs > ttlMs) this.#forget(name, live);
    }
  }

  #forget(name: string, { state }: LiveJob): void {
    this.#jobs.delete(name);
    if (state.is !== 'starting') state.pod.remove();
  }
}

function namesOf(manifests: readonly RunnerJob[]): ReadonlySet<string> {
  return new Set(manifests.map(({ metadata }) => metadata.name));
}
