/**
 * Simulates a runner's Job in Kubernetes, and the runner in it:
 *
 *     Job ─► pod starts ─► registers ─► asks for work ─► works, reports ─► ends ─► Job complete ─► TTL
 *                                          │ its Job is deleted: it ends      └► evicted: Gitea notices later
 *
 * A runner at work whose Job is deleted ends its CI job first: the grace period is long.
 */

import type { StoredObject } from '../../../simulator/kubernetes/objects.ts';
import { CREDENTIALS_KEY, REGISTERED_AT, type Texts, timeText } from '../../../src/shared/marks.ts';
import type { GiteaServer } from './gitea.ts';
import type { Kubernetes } from './kubernetes.ts';
import type { World } from './world.ts';

export const NAMESPACE = 'runners';
export const TTL_S = 20;
/** Gitea fails the CI job of a runner that is gone after this time. Ten minutes really; a history is shorter. */
export const ZOMBIE_MS = 25_000;

interface Runner {
  readonly job: StoredObject;
  readonly org: string;
  /** Since when its pod has waited for its Secret, ms of the history. */
  waitsMs: number;
  isStopped: boolean;
  isEvicted: boolean;
  /** True while its container runs. */
  isAlive: boolean;
  /** Row in Gitea; 0: it is not registered. */
  row: number;
  /** Id of its CI job; 0: none. */
  works: number;
}

/** Returns how long a CI job takes, and whether it fails. */
export type CiOf = (jobId: number) => { readonly takesMs: number; readonly fails: boolean };

export class Pods {
  /** Runners that had credentials, and no row. */
  readonly strangers: string[] = [];
  /** Runners that `serve` has registered while another one of the name lived. */
  readonly twins: string[] = [];
  /** Runs whose runners were evicted at work: how often, and when last. */
  readonly losses = new Map<number, { readonly times: number; readonly atMs: number }>();
  readonly #world: World;
  readonly #kubernetes: Kubernetes;
  readonly #server: GiteaServer;
  readonly #ciOf: CiOf;
  readonly #runners = new Set<Runner>();

  constructor(world: World, kubernetes: Kubernetes, server: GiteaServer, ciOf: CiOf) {
    this.#world = world;
    this.#kubernetes = kubernetes;
    this.#server = server;
    this.#ciOf = ciOf;
    server.isWorkedAt = (jobId) => [...this.#runners].some(({ isEvicted, works }) => works === jobId && !isEvicted);
  }

  /** A Job was made. */
  start(job: StoredObject, org: string): void {
    const runner = { job, org, waitsMs: 0, isStopped: false, isEvicted: false, isAlive: false, row: 0, works: 0 };
    this.#runners.add(runner);
    void this.#live(runner);
  }

  /** Ends a runner whose Job is deleted. */
  stop(name: string): void {
    this.#kubernetes.objects.remove('jobs', NAMESPACE, name);
    for (const runner of this.#runners) if (runner.job.metadata.name === name) runner.isStopped = true;
  }

  /** Evicts the pod of a busy runner. */
  evict(): void {
    const busy = [...this.#runners].filter(({ works, isEvicted }) => works > 0 && !isEvicted);
    const runner = busy[Math.floor(this.#world.luck('serve-pods') * busy.length)];
    if (!runner) return;
    runner.isEvicted = true;
    this.#world.tell(`${runner.job.metadata.name} is evicted at work (CI job ${runner.works})`);
    const { state } = this.#server.gitea;
    const run = state.jobs.get(runner.works)?.runId ?? 0;
    this.losses.set(run, { times: (this.losses.get(run)?.times ?? 0) + 1, atMs: this.#world.nowMs });
  }

  /** The node of a busy runner does not answer the API server for a time. */
  silence(forMs: number): void {
    const [runner] = [...this.#runners].filter(({ works, isEvicted }) => works > 0 && !isEvicted);
    if (!runner) return;
    this.#world.tell(`the node of ${runner.job.metadata.name} does not answer (CI job ${runner.works})`);
    const show = (ready: 'True' | 'False'): void => {
      // Ended ones have reported that already.
      if (runner.works === 0 || runner.isEvicted) return;
      const taint = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' };
      const conditions = [taint, { type: 'Ready', status: ready }];
      const running = containers({ running: { startedAt: this.#time() } });
      this.#pod(runner, { phase: 'Running', conditions, ...running }, this.#time());
    };
    show('False');
    this.#world.later(forMs, () => show('True'));
  }

  /** Returns how long pods have waited for their Secrets, by Job, ms. */
  waiting(): ReadonlyMap<string, number> {
    const some = [...this.#runners].filter(({ isStopped, waitsMs }) => waitsMs > 0 && !isStopped);
    return new Map(some.map(({ job, waitsMs }) => [job.metadata.name, waitsMs]));
  }

  async #live(runner: Runner): Promise<void> {
    const chance = (): number => this.#world.luck('serve-pods');
    await this.#world.sleep(50 + 300 * chance());
    this.#pod(runner, { phase: 'Pending' });
    await this.#world.sleep(300 + 2_500 * chance() * (chance() < 0.1 ? 4 : 1));
    if (!runner.isStopped && (await this.#mount(runner))) {
      runner.isAlive = true;
      await this.#run(runner);
      runner.isAlive = false;
    }
    if (runner.isEvicted) {
      this.#evicted(runner);
      return;
    }
    await this.#world.sleep(200 + 1_000 * chance());
    this.#pod(runner, { phase: 'Succeeded', ...containers({ terminated: { exitCode: 0, finishedAt: this.#time() } }) });
    await this.#end(runner, 'Complete');
  }

  /** True if a runner of that name lives, of an earlier Job. */
  #hasTwin({ job }: Runner): boolean {
    return [...this.#runners].some(
      (other) => other.isAlive && other.job.metadata.name === job.metadata.name && other.job !== job,
    );
  }

  /**
   * Waits for the Secret: the kubelet starts no container before the pod has it. False: the Job was deleted before. The
   * wait counts from when no other runner of its name lives.
   */
  async #mount(runner: Runner): Promise<boolean> {
    const { annotations = {}, name } = runner.job.metadata;
    if (!annotations[REGISTERED_AT]) return true;
    runner.waitsMs = this.#world.nowMs;
    for (;;) {
      if (runner.isStopped) return false;
      const secret = this.#kubernetes.objects.get('secrets', NAMESPACE, name) as { readonly data?: Texts } | undefined;
      const file = secret?.data?.[CREDENTIALS_KEY];
      if (this.#hasTwin(runner)) runner.waitsMs = this.#world.nowMs;
      if (file !== undefined) {
        runner.waitsMs = 0;
        if (this.#hasTwin(runner)) this.twins.push(name);
        runner.row = JSON.parse(Buffer.from(file, 'base64').toString()).id;
        return true;
      }
      await this.#world.sleep(300);
    }
  }

  async #run(runner: Runner): Promise<void> {
    const { gitea } = this.#server;
    const { name } = runner.job.metadata;
    this.#pod(runner, { phase: 'Running', ...containers({ running: { startedAt: this.#time() } }) });
    await this.#world.sleep(100 + 400 * this.#world.luck('serve-pods'));
    while (this.#server.isAway) await this.#world.sleep(1_000);
    const isNew = runner.row === 0;
    if (isNew) runner.row = gitea.register({ name, scope: { kind: 'owner', owner: runner.org }, labels: ['linux'] }).id;
    if (gitea.state.runners.get(runner.row)?.deleted !== false) {
      this.strangers.push(name);
      return;
    }
    this.#world.version += 1;
    while (!runner.isStopped) {
      const found = this.#server.isAway ? undefined : gitea.poll(runner.row);
      if (found) {
        this.#world.tell(`${name} takes CI job ${found.id}`);
        this.#server.announce(found);
        await this.#work(runner, found.id);
        return;
      }
      await this.#world.sleep(2_000 + 200 * this.#world.luck('serve-pods'));
    }
  }

  async #work(runner: Runner, jobId: number): Promise<void> {
    const { gitea } = this.#server;
    runner.works = jobId;
    const { fails, takesMs } = this.#ciOf(jobId);
    const endMs = this.#world.nowMs + takesMs;
    while (this.#world.nowMs < endMs && !runner.isEvicted) {
      await this.#world.sleep(Math.min(2_000, endMs - this.#world.nowMs));
      if (!this.#server.isAway && !runner.isEvicted) gitea.report(runner.row);
    }
    while (this.#server.isAway && !runner.isEvicted) await this.#world.sleep(500);
    if (runner.isEvicted) return;
    runner.works = 0;
    gitea.finish(runner.row, fails ? 'failure' : 'success');
    this.#world.tell(`CI job ${jobId} has ended on ${runner.job.metadata.name}`);
    this.#server.announce({ id: jobId });
  }

  #evicted(runner: Runner): void {
    const condition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    this.#pod(runner, { phase: 'Failed', reason: 'Evicted', conditions: [condition] });
    void this.#end(runner, 'Failed');
    this.#world.later(ZOMBIE_MS, () => {
      // It may have been ended before, by request.
      if (!this.#server.gitea.jobs().some(({ id, status }) => id === runner.works && status === 'running')) return;
      this.#server.gitea.finish(runner.row, 'failure');
      this.#world.tell(`Gitea gives up CI job ${runner.works}`);
      this.#server.announce({ id: runner.works });
    });
  }

  async #end(runner: Runner, type: 'Complete' | 'Failed'): Promise<void> {
    const { name, uid } = runner.job.metadata;
    await this.#world.sleep(100 + 900 * this.#world.luck('serve-pods'));
    const known = (): StoredObject | undefined => {
      const found = this.#kubernetes.objects.get('jobs', NAMESPACE, name);
      return found?.metadata.uid === uid ? found : undefined;
    };
    const job = known();
    const lastTransitionTime = this.#time();
    const counts = type === 'Complete' ? { succeeded: 1, completionTime: lastTransitionTime } : { failed: 1 };
    const status = { ...counts, conditions: [{ type, status: 'True', lastTransitionTime }] };
    if (job) this.#kubernetes.objects.put('jobs', { ...job, status });
    this.#world.tell(`Job ${name} is ${type}${job ? '' : ', and was deleted before'}`);
    if (job) await this.#world.sleep(TTL_S * 1000);
    if (known()) this.#kubernetes.objects.remove('jobs', NAMESPACE, name);
    this.#kubernetes.objects.remove('pods', NAMESPACE, podName(runner.job));
    this.#runners.delete(runner);
  }

  #pod({ job }: Runner, status: object, deletionTimestamp?: string): void {
    const { labels = {}, name, uid } = job.metadata;
    const ownerReferences = [{ kind: 'Job', name, uid }];
    const deleted = deletionTimestamp === undefined ? {} : { deletionTimestamp };
    const metadata = { name: podName(job), namespace: NAMESPACE, labels, ownerReferences, ...deleted };
    this.#kubernetes.objects.put('pods', { metadata, status });
  }

  #time(): string {
    return timeText(this.#world.clock.now());
  }
}

/** Returns a name that differs for another Job of the same name. */
function podName({ metadata: { name, uid } }: StoredObject): string {
  return `${name}-${uid}`;
}

function containers(state: object): object {
  return { containerStatuses: [{ name: 'runner', state }] };
}
