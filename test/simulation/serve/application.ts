/**
 * An Application of Argo CD 3.5, as far as `serve` meets it:
 *
 *     refresh ─► annotation ─► comparison (the plugin runs when it is hard, or when git has changed) ─► status, annotation away
 *     a live object changes ─► comparison with the copy of the output
 *     sync ─► operation: applies what differs from the copy; one at a time
 *     git has changed, and it is out of sync ─► Argo CD syncs by itself, once
 *
 * A refresh that is asked for while one is under way is lost in it (argo-cd issue 28306). One may be overlooked: it stays pending until
 * the Application changes.
 */

import type { StoredObject } from '../../../simulator/kubernetes/objects.ts';
import type { AppState } from '../../../src/clients/argocd/app-state.ts';
import { type ObjectRef, objectKey } from '../../../src/clients/argocd/application.ts';
import type { RefreshKind, SyncStart } from '../../../src/clients/argocd/argocd.ts';
import type { Deadline } from '../../../src/clients/http/request.ts';
import { jobAnnotations } from '../../../src/plan/output-of-plan.ts';
import type { Look } from '../../../src/planner/evidence.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { keyText } from '../../../src/shared/keys.ts';
import { COMPARE_OPTIONS, IGNORE_EXTRANEOUS, isPinned, type Texts, TRACKING_ID } from '../../../src/shared/marks.ts';
import type { GiteaServer } from './gitea.ts';
import { groupObject, jobObject, liveRunners, type Printed, planOf, printedBy, specOf } from './groups.ts';
import type { AppInGit, GroupInGit } from './history.ts';
import type { Kubernetes } from './kubernetes.ts';
import { NAMESPACE, type Pods } from './pods.ts';
import { never, type World } from './world.ts';

/** A request to Argo CD that is not answered is given up after half a minute, and the wake comes again soon. */
const NO_ANSWER_MS = 36_000;
/** Time after which a pending request is repeated in another way, ms. */
const OVERLOOKED_MS = 62_000;

interface Output {
  readonly revision: number;
  readonly groups: readonly GroupInGit[];
  readonly jobs: ReadonlyMap<string, Printed>;
}

/** Work of a sync. */
type Task =
  | { readonly is: 'group'; readonly group: GroupInGit }
  | { readonly is: 'prune-group'; readonly name: string }
  | { readonly is: 'create' | 'annotate'; readonly job: Printed }
  | { readonly is: 'prune'; readonly name: string };

/** A process with a wake under way. */
export interface Asker {
  readonly leader: string;
  readonly isDead: boolean;
  readonly leads: boolean;
}

export interface Around {
  readonly world: World;
  readonly kubernetes: Kubernetes;
  readonly server: GiteaServer;
  readonly pods: Pods;
}

const OURS = Object.keys(jobAnnotations({ pinned: true }));
const NO_ANSWER = 'GR-HTTP-09';
const RUNNING: AppState['operation'] = { phase: 'Running', message: '' };
/** Argo CD asks git so often (`timeout.reconciliation`; three minutes really, most have a webhook). */
const GIT_POLL_MS = 20_000;

export class Application {
  readonly name: string;
  /** Switches of faults. */
  readonly faults = {
    refreshLost: false,
    overlooks: false,
    readLost: 0,
    syncLost: 0,
    answersLate: false,
    slow: 1,
    hangsUntilMs: 0,
    keepsError: false,
    isAway: false,
    appliesFail: false,
    othersDiffer: false,
  };
  /** Processes that wait for the answer to a refresh or a sync. */
  readonly asking = new Set<Asker>();
  /** A forbidden request, in words. */
  fault: string | undefined;
  /** Begin of the last refresh or sync of `serve`, by the begin of the history. */
  lastAskedMs = 0;
  /** True if its copy of the output comes from a refresh that `serve` did not request. */
  hasPrintedUnasked = false;
  /** True if it has reported another operation since the last refresh. */
  hasSaidBusy = false;
  /** Keys of Jobs that were made when nobody wanted them any more: by a rollback, or from an output that came late. */
  readonly madeLate = new Set<string>();
  readonly #around: Around;
  #git: readonly GroupInGit[];
  #revision = 1;
  #output: Output | undefined;
  /** Older outputs, the newest last. */
  readonly #older: Output[] = [];
  #error: string | undefined;
  #sync: AppState['sync'] = 'Unknown';
  #reconciledMs = 0;
  #annotation: RefreshKind | undefined;
  #isOverlooked = false;
  #isComparing = false;
  #again = false;
  #operation: AppState['operation'];
  #isOperating = false;
  #autoSynced = 0;
  #answers: (() => void)[] = [];

  constructor({ groups, name }: AppInGit, around: Around) {
    this.name = name;
    this.#git = groups;
    this.#around = around;
    around.kubernetes.listen(({ kind, object }) => {
      if (kind === 'pods' || kind === 'leases' || kind === 'secrets') return;
      if (object.metadata.annotations?.[TRACKING_ID]?.startsWith(`${name}:`)) this.#touched();
    });
    this.refreshByPeople('normal');
    this.#pollGit();
  }

  /** Groups of its copy of the output. */
  get groups(): readonly GroupInGit[] {
    return this.#output?.groups ?? [];
  }

  /** Keys of the Jobs that it compares. */
  get printed(): ReadonlySet<string> {
    return new Set([...(this.#output?.jobs ?? [])].flatMap(([key, { skip }]) => (skip ? [] : key)));
  }

  /** A refresh or a sync of a process that lives is under way. */
  get isAsked(): boolean {
    return [...this.asking].some(({ isDead }) => !isDead);
  }

  get error(): string | undefined {
    return this.#error;
  }

  /** An operation is under way, or git is not applied yet. */
  get isBusy(): boolean {
    return this.#isOperating || this.#output?.revision !== this.#revision || this.#groupTasks().length > 0;
  }

  commit(group: GroupInGit): void {
    const others = this.#git.filter(({ name }) => name !== group.name);
    this.#git = [...others, group];
    this.#revision += 1;
    this.#around.world.version += 1;
    if (this.#around.world.luck('serve-argocd') < 0.7) this.#later(200, 800, () => this.refreshByPeople('normal'));
  }

  refreshByPeople(how: RefreshKind): void {
    this.#annotate(how);
    void this.#compare();
  }

  /** An annotation that does not change gives no event. */
  #annotate(how: RefreshKind): void {
    if (this.#annotation !== how) this.#isOverlooked = false;
    this.#annotation = how;
  }

  syncByPeople(): void {
    if (!this.#isOperating) void this.#operate(this.#output);
  }

  /** Syncs old manifests, like a rollback. */
  syncOld(): void {
    const [oldest] = this.#older;
    if (!oldest || this.#isOperating) return;
    for (const task of this.#tasks(oldest))
      if (task.is === 'create') this.madeLate.add(`${NAMESPACE}/${task.job.name}`);
    void this.#operate(oldest);
  }

  /** An operation that lasts. */
  hold(forMs: number): void {
    if (this.#isOperating) return;
    this.#isOperating = true;
    this.#operation = RUNNING;
    this.#later(forMs, forMs, () => {
      this.#isOperating = false;
      this.#operation = { phase: 'Succeeded', message: '' };
      this.#touched();
    });
  }

  /** Makes Argo CD meet an error in its own refresh: `generate` failed in it. */
  keepError(): void {
    this.faults.keepsError = true;
    this.refreshByPeople('hard');
  }

  async read(): Promise<AppState> {
    await this.#request();
    if (this.faults.readLost > 0) {
      this.faults.readLost -= 1;
      this.#around.world.obstacle('a read that is lost', NO_ANSWER_MS, this.name);
      return await this.#noAnswer();
    }
    this.hasSaidBusy ||= this.#isOperating;
    return this.#state();
  }

  async refresh(deadline: Deadline, asker: Asker, how: RefreshKind = 'hard'): Promise<AppState> {
    const { world } = this.#around;
    deadline.signal?.addEventListener('abort', () => this.asking.delete(asker), { once: true });
    return await this.#ask(asker, async () => {
      this.hasSaidBusy = false;
      await this.#request();
      this.#annotate(how);
      if (this.faults.overlooks && !this.#isComparing) {
        this.faults.overlooks = false;
        this.#isOverlooked = true;
      }
      if (this.#isOverlooked) world.obstacle('a refresh that is overlooked', OVERLOOKED_MS, this.name);
      const answered = new Promise<void>((resolve) => this.#answers.push(resolve));
      void this.#compare();
      const late = new Promise<'late'>((resolve) => {
        world.later(deadline.remainingMs(), () => resolve('late'));
        deadline.signal?.addEventListener('abort', () => resolve('late'), { once: true });
      });
      const found = await Promise.race([this.faults.refreshLost ? never<void>() : answered, late]);
      if (found === 'late') throw new Failure(NO_ANSWER, 1, 'no answer to a refresh', 'timeout');
      return this.#state();
    });
  }

  async sync(asker: Asker): Promise<SyncStart> {
    return await this.#ask(asker, async () => {
      await this.#request();
      if (this.faults.syncLost > 0) {
        this.faults.syncLost -= 1;
        return await this.#noAnswer();
      }
      this.hasSaidBusy = this.#isOperating;
      if (this.#isOperating) return 'busy';
      void this.#operate(this.#output);
      return 'started';
    });
  }

  async #ask<T>(asker: Asker, work: () => Promise<T>): Promise<T> {
    const others = [...this.asking].filter(({ leader }) => leader === asker.leader);
    if (others.length > 0) this.fault = `${asker.leader} asks twice at a time`;
    if (!asker.leads) this.fault = `${asker.leader} asks, and leads no more`;
    this.asking.add(asker);
    this.lastAskedMs = this.#around.world.nowMs;
    try {
      return await work();
    } finally {
      this.asking.delete(asker);
      this.lastAskedMs = this.#around.world.nowMs;
    }
  }

  async #request(): Promise<void> {
    const { world } = this.#around;
    const lateMs = this.faults.answersLate ? 4_000 : 20;
    await world.sleep(3 + lateMs * world.luck('serve-argocd'));
    if (this.faults.isAway) throw new Failure('GR-HTTP-01', 1, 'Argo CD is away', 'unreachable');
  }

  /** A dead connection: the client gives up by its own deadline. */
  async #noAnswer(): Promise<never> {
    await this.#around.world.sleep(30_000);
    throw new Failure(NO_ANSWER, 1, 'no answer', 'timeout');
  }

  #state(): AppState {
    const output = this.#output;
    const resources = [
      ...(output?.groups ?? []).map(({ name }) => name),
      ...this.#live('runnergroups').map(({ metadata }) => metadata.name),
    ];
    const managed = new Set(resources.map((name) => objectKey(groupRef(name))));
    const differing = new Set(this.#tasks(output).flatMap((task) => ('job' in task ? task.job.name : [])));
    const jobs = [...(output?.jobs.values() ?? [])].flatMap(({ name, skip }): AppState['jobs'] =>
      skip ? [] : [{ namespace: NAMESPACE, name, outOfSync: differing.has(name) }],
    );
    return {
      name: this.name,
      namespace: 'argocd',
      sync: this.#error === undefined ? this.#sync : 'Unknown',
      health: 'Healthy',
      errors: this.#error === undefined ? [] : [{ type: 'ComparisonError', message: this.#error, stops: true }],
      ...(this.#operation && { operation: this.#operation }),
      warnings: [],
      isOperating: this.#isOperating,
      isSkipped: false,
      reconciledAtMs: this.#reconciledMs,
      refreshPending: this.#annotation !== undefined,
      manages: (object) => managed.has(objectKey(object)),
      // The others wait to be pruned.
      ...(managed.size > 0 && { groups: (output?.groups ?? []).map(({ name }) => keyText(groupRef(name))) }),
      jobs,
    };
  }

  #live(kind: 'runnergroups' | 'jobs'): readonly StoredObject[] {
    const all = this.#around.kubernetes.objects.all(kind);
    return all.filter(({ metadata }) => metadata.annotations?.[TRACKING_ID]?.startsWith(`${this.name}:`));
  }

  #touched(): void {
    if (this.#isComparing) this.#again = true;
    else this.#later(20, 100, () => void this.#compare());
  }

  async #compare(): Promise<void> {
    const { world } = this.#around;
    if (this.#isComparing) {
      this.#again = true;
      return;
    }
    this.#isComparing = true;
    do {
      this.#again = false;
      const annotation = this.#isOverlooked ? undefined : this.#annotation;
      const beganMs = world.clock.now();
      const isNew = annotation !== undefined && this.#output?.revision !== this.#revision;
      if (annotation === 'hard' || isNew || !this.#output) await this.#print();
      else await world.sleep((20 + 100 * world.luck('serve-argocd')) * this.faults.slow);
      if (world.nowMs < this.faults.hangsUntilMs) await world.sleep(this.faults.hangsUntilMs - world.nowMs);
      this.#judge();
      this.#reconciledMs = Math.floor(beganMs / 1000) * 1000;
      if (annotation) this.#answer();
      const revision = this.#output?.revision ?? 0;
      if (this.#sync === 'OutOfSync' && revision !== this.#autoSynced && !this.#isOperating) {
        this.#autoSynced = revision;
        void this.#operate(this.#output);
      }
    } while (this.#again || (this.#annotation && !this.#isOverlooked));
    this.#isComparing = false;
  }

  #answer(): void {
    this.#annotation = undefined;
    const answers = this.#answers;
    this.#answers = [];
    for (const answer of answers) answer();
  }

  /** Runs the plugin. */
  async #print(): Promise<void> {
    const { kubernetes, server, world } = this.#around;
    const revision = this.#revision;
    const groups = this.#git;
    const isAsked = this.#answers.length > 0;
    const slowly = async (leastMs: number, mostMs: number): Promise<void> =>
      world.sleep((leastMs + (mostMs - leastMs) * world.luck('serve-argocd')) * this.faults.slow);
    await slowly(100, 400);
    const isDown = server.isAway || this.faults.keepsError || world.luck('serve-argocd') < server.looksFail;
    this.faults.keepsError = false;
    const looks = new Map<string, Look>();
    if (!isDown) for (const { org } of groups) looks.set(org, server.look(org));
    await slowly(20, 150);
    const failure = new Failure('GR-HTTP-01', 1, 'Gitea is away', 'unreachable');
    const runners = liveRunners(kubernetes);
    const planning = planOf(groups, (org) => looks.get(org) ?? failure, runners, world.clock.now());
    await slowly(50, 250);
    const jobs = kubernetes.isAway ? undefined : printedBy(planning);
    if (!jobs) {
      this.#error = 'generate has failed';
      world.obstacle('Argo CD could not generate', 0, this.name);
      return;
    }
    this.#error = undefined;
    if (this.#output) this.#older.push(this.#output);
    if (this.#older.length > 5) this.#older.shift();
    this.#output = { revision, groups, jobs };
    this.hasPrintedUnasked = !isAsked;
    world.version += 1;
  }

  #judge(): void {
    if (this.#error !== undefined || !this.#output) return;
    this.#sync = this.faults.othersDiffer || this.#tasks(this.#output).length > 0 ? 'OutOfSync' : 'Synced';
  }

  #groupTasks(output = this.#output): readonly Task[] {
    if (!output) return [];
    const live = new Map(this.#live('runnergroups').map((object) => [object.metadata.name, object]));
    const wanted = new Set(output.groups.map(({ name }) => name));
    const applied = output.groups.filter((group) => {
      return JSON.stringify(live.get(group.name)?.spec) !== JSON.stringify(specOf(group));
    });
    return [
      ...applied.map((group) => ({ is: 'group', group }) as const),
      ...[...live.keys()].flatMap((name) => (wanted.has(name) ? [] : [{ is: 'prune-group', name } as const])),
    ];
  }

  #tasks(output: Output | undefined): readonly Task[] {
    if (!output) return [];
    const tasks: Task[] = [...this.#groupTasks(output)];
    const live = new Map(this.#live('jobs').map((job) => [`${NAMESPACE}/${job.metadata.name}`, job]));
    for (const [key, job] of output.jobs) {
      const found = live.get(key)?.metadata.annotations;
      if (job.skip) continue;
      if (!found) tasks.push({ is: 'create', job });
      else if (OURS.some((name) => found[name] !== job.annotations[name])) tasks.push({ is: 'annotate', job });
    }
    for (const [key, { metadata }] of live) {
      const { annotations = {} as Texts, name } = metadata;
      if (output.jobs.has(key) || annotations[COMPARE_OPTIONS] === IGNORE_EXTRANEOUS) continue;
      if (!isPinned(annotations)) tasks.push({ is: 'prune', name });
    }
    return tasks;
  }

  async #operate(output: Output | undefined): Promise<void> {
    const { kubernetes, world } = this.#around;
    const chance = (): number => world.luck('serve-argocd');
    this.#isOperating = true;
    this.#isOverlooked = false;
    this.#operation = RUNNING;
    await world.sleep((30 + 500 * chance()) * this.faults.slow);
    let failed = this.#error !== undefined;
    if (!failed) {
      for (const task of this.#tasks(output)) {
        await world.sleep(5 + 40 * chance());
        if (kubernetes.isAway || this.faults.appliesFail) failed = true;
        else this.#apply(task);
      }
    }
    this.#operation = failed
      ? { phase: 'Failed', message: 'one or more objects failed to apply' }
      : { phase: 'Succeeded', message: '' };
    await world.sleep(10 + 100 * chance());
    this.#isOperating = false;
    this.#touched();
  }

  #apply(task: Task): void {
    const { kubernetes, pods, server, world } = this.#around;
    switch (task.is) {
      case 'group': {
        const known = kubernetes.objects.get('runnergroups', NAMESPACE, task.group.name);
        kubernetes.objects.put('runnergroups', groupObject(this.name, task.group, known));
        return;
      }
      case 'prune-group':
        kubernetes.objects.remove('runnergroups', NAMESPACE, task.name);
        return;
      case 'create': {
        if (kubernetes.objects.get('jobs', NAMESPACE, task.job.name)) return;
        if (server.hasEnded(task.job.name)) this.madeLate.add(`${NAMESPACE}/${task.job.name}`);
        const group = this.#git.find(({ name }) => name === task.job.group);
        const made = kubernetes.objects.put('jobs', jobObject(this.name, task.job));
        world.tell(`${this.name}: Job ${task.job.name} is made`);
        pods.start(made, group?.org ?? '');
        return;
      }
      case 'annotate': {
        const known = kubernetes.objects.get('jobs', NAMESPACE, task.job.name);
        if (!known) return;
        const { annotations = {} } = known.metadata;
        const others = Object.fromEntries(Object.entries(annotations).filter(([name]) => !OURS.includes(name)));
        const metadata = { ...known.metadata, annotations: { ...others, ...task.job.annotations } };
        kubernetes.objects.put('jobs', { ...known, metadata });
        return;
      }
      case 'prune':
        world.tell(`${this.name}: Job ${task.name} is pruned`);
        pods.stop(task.name);
        return;
      default:
        task satisfies never;
    }
  }

  #later(leastMs: number, mostMs: number, call: () => void): void {
    const { world } = this.#around;
    world.later(leastMs + (mostMs - leastMs) * world.luck('serve-argocd'), call);
  }

  #pollGit(): void {
    this.#later(GIT_POLL_MS, GIT_POLL_MS, () => {
      if (this.#output && this.#output.revision !== this.#revision && !this.#annotation) this.refreshByPeople('normal');
      this.#pollGit();
    });
  }
}

function groupRef(name: string): ObjectRef {
  return { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: NAMESPACE, name };
}
