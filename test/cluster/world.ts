/**
 * Records what really happens, seen from outside: CI jobs through Gitea's API; Jobs, pods, the RunnerGroup and the
 * Application through watches. It contains no code of the product, and trusts none of its answers.
 */
import * as z from 'zod';
import type { Account, ApiJob } from '../servers/account.ts';
import { sleep } from '../servers/process.ts';
import type { Kubernetes } from './stack/kubernetes.ts';
import { followObjects } from './world-watch.ts';

/** A CI job while it is active; times in ms, half a look's distance exact. */
export interface CiJob {
  readonly id: number;
  readonly name: string;
  queuedAtMs?: number;
  startedAtMs?: number;
  runner?: string;
  endedAtMs?: number;
}

/** A Kubernetes Job in the runners' namespace, or a pod there. */
export interface Seen {
  readonly name: string;
  readonly createdAtMs: number;
  /** The Application that has applied the Job last. */
  application?: string;
  /** Complete or Failed; for a pod its phase Succeeded or Failed. */
  endedAtMs?: number;
  /** Deletion was asked for, or it is gone. */
  deletedAtMs?: number;
  /** A Job that nothing prunes; a pod whose containers run. */
  markedAtMs?: number;
  gone: boolean;
}

const Meta = z.object({
  name: z.string(),
  uid: z.string(),
  deletionTimestamp: z.string().optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const Condition = z.object({
  type: z.string(),
  status: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const Job = z.object({ metadata: Meta, status: z.object({ conditions: z.array(Condition).optional() }).optional() });
const Pod = z.object({ metadata: Meta, status: z.object({ phase: z.string().optional() }).optional() });
const Group = z.object({
  metadata: z.object({ name: z.string(), generation: z.number() }),
  spec: z.record(z.string(), z.unknown()),
  status: z.object({ observedGeneration: z.number().optional(), conditions: z.array(Condition).optional() }).optional(),
});
export type LiveGroup = z.infer<typeof Group>;
const Application = z.object({
  metadata: z.object({ name: z.string() }),
  status: z
    .object({
      sync: z.object({ status: z.string().optional() }).optional(),
      health: z.object({ status: z.string().optional() }).optional(),
      conditions: z.array(Condition).nullish(),
      operationState: z.object({ phase: z.string().optional() }).optional(),
      resources: z.array(z.object({ kind: z.string(), name: z.string() })).nullish(),
    })
    .optional(),
});
export type LiveApplication = z.infer<typeof Application>;

const EVERY_MS = 150;
const ACTIVE = ['queued', 'in_progress', 'waiting'];

export class World {
  /** All CI jobs that were ever active, by id. */
  readonly ciJobs = new Map<number, CiJob>();
  /** All Jobs that ever existed, by uid. */
  readonly jobs = new Map<string, Seen>();
  readonly pods = new Map<string, Seen>();
  readonly groups = new Map<string, LiveGroup>();
  readonly applications = new Map<string, LiveApplication>();
  /** The active CI jobs of the last look that Gitea answered. */
  active: readonly ApiJob[] = [];
  /** Errors of Applications since `mark`. */
  readonly errors = new Set<string>();
  /**
   * The most since `mark`, at one time: CI jobs at work, and runners that wait or work. A runner that is pruned in the second of its claim ends
   * its CI job beside the cap (docs/simulations.md, "for a moment only"), so its CI job does not count.
   */
  mostAtWork = 0;
  /** The CI jobs of that time, with their runners. */
  whenMost = '';
  mostRunners = 0;
  readonly #admin: Account;
  readonly #org: string;
  readonly #ending = new AbortController();
  readonly #running: Promise<unknown>;
  /** Uids of the Jobs that were made before `mark`. */
  #before: ReadonlySet<string> = new Set();

  constructor(kubernetes: Kubernetes, admin: Account, org: string) {
    this.#admin = admin;
    this.#org = org;
    const follow = (path: string, note: (object: unknown, gone: boolean) => void): Promise<void> =>
      followObjects(kubernetes.kubeconfig, path, this.#ending.signal, ({ object, gone }) => note(object, gone));
    this.#running = Promise.all([
      follow('/apis/batch/v1/namespaces/runners/jobs', (object, gone) => this.#noteJob(object, gone)),
      follow('/api/v1/namespaces/runners/pods', (object, gone) => this.#notePod(object, gone)),
      follow('/apis/gitea.bpg.pw/v1alpha1/namespaces/runners/runnergroups', (object, gone) => {
        const group = Group.parse(object);
        if (gone) this.groups.delete(group.metadata.name);
        else this.groups.set(group.metadata.name, group);
      }),
      follow('/apis/argoproj.io/v1alpha1/namespaces/argocd/applications', (object, gone) => {
        const application = Application.parse(object);
        if (gone) this.applications.delete(application.metadata.name);
        else this.applications.set(application.metadata.name, application);
        for (const { type, message } of application.status?.conditions ?? [])
          if (type.endsWith('Error')) this.errors.add(`${type}: ${message}`);
      }),
      this.#watchGitea(),
    ]);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  /** Forgets the records that were broken so far, and the Jobs that were made. */
  mark(): void {
    this.#before = new Set(this.jobs.keys());
    this.errors.clear();
    this.mostAtWork = 0;
    this.mostRunners = 0;
  }

  /** Returns the names of the Jobs that were made since `mark`. A Job that was made twice is listed twice. */
  made(): readonly string[] {
    return this.madeJobs().map(({ name }) => name);
  }

  madeJobs(): readonly Seen[] {
    return [...this.jobs].flatMap(([uid, job]) => (this.#before.has(uid) ? [] : [job]));
  }

  /** Jobs that exist and have not ended. */
  unfinished(): readonly Seen[] {
    return [...this.jobs.values()].filter((job) => isAlive(job));
  }

  /** Returns the Jobs whose runner has not run a CI job. A runner that has one needs a second to end. */
  runners(): readonly Seen[] {
    const done = new Set([...this.ciJobs.values()].flatMap(({ runner, endedAtMs }) => (endedAtMs && runner) || []));
    return this.unfinished().filter(({ name }) => !done.has(name));
  }

  /** Jobs that exist, ended ones too. */
  leftJobs(): readonly string[] {
    return [...this.jobs.values()].filter(({ gone }) => !gone).map(({ name }) => name);
  }

  /** Returns the existing pods. Pods of a deleted Job are included until they have ended. */
  leftPods(): readonly string[] {
    return [...this.pods.values()].filter(({ gone }) => !gone).map(({ name }) => name);
  }

  inState(...states: readonly string[]): readonly ApiJob[] {
    return this.active.filter(({ status }) => states.includes(status));
  }

  condition(group: string, type: string): z.infer<typeof Condition> | undefined {
    return this.groups.get(group)?.status?.conditions?.find((condition) => condition.type === type);
  }

  /** True if all Applications are Synced and Healthy, and have no error. */
  areWell(): boolean {
    return [...this.applications.values()].every(({ status }) => {
      const errors = (status?.conditions ?? []).filter(({ type }) => type.endsWith('Error'));
      return status?.sync?.status === 'Synced' && status.health?.status === 'Healthy' && errors.length === 0;
    });
  }

  /** Everything on a few lines, for the error of a wait that was in vain. */
  describe(): string {
    const ci = this.active.map(({ id, name, status, runner_name }) => `${id} ${name} ${status} ${runner_name ?? ''}`);
    const jobs = [...this.jobs.values()].filter(({ gone }) => !gone);
    const apps = [...this.applications.values()].map(({ metadata, status }) => {
      const told = (status?.conditions ?? []).map(({ type, message }) => `${type}: ${message?.slice(0, 300)}`);
      return `${metadata.name} ${status?.sync?.status} ${status?.health?.status} ${status?.operationState?.phase} ${told}`;
    });
    const groups = [...this.groups.values()].map(({ metadata, spec, status }) => {
      const told = status?.conditions?.map(
        ({ type, status: is, reason, message }) => `${type}=${is} ${reason} ${message}`,
      );
      return `${metadata.name} cap ${spec['maxActiveRunners']}: ${told?.join('; ')}`;
    });
    const lines = (what: string, list: readonly string[]): string =>
      `${what}:\n${list.map((line) => `  ${line}\n`).join('')}`;
    const pods = [...this.pods.values()].filter(({ gone }) => !gone);
    return [
      lines('active CI jobs', ci),
      lines('Jobs', jobs.map(stateText)),
      lines('pods', pods.map(stateText)),
      lines('Applications', apps),
      lines('RunnerGroups', groups),
    ].join('');
  }

  /** Returns everything that was ever seen, for the person who looks for a fault. */
  history(): string {
    const ci = [...this.ciJobs.values()].map(({ id, name, queuedAtMs, startedAtMs, endedAtMs, runner }) => {
      return `${id} ${name} queued ${timeText(queuedAtMs)} started ${timeText(startedAtMs)} ended ${timeText(endedAtMs)} ${runner ?? ''}`;
    });
    const of = (all: ReadonlyMap<string, Seen>): readonly string[] => [...all.values()].map(stateText);
    return ['CI jobs:', ...ci, 'Jobs:', ...of(this.jobs), 'pods:', ...of(this.pods), ''].join('\n');
  }

  async #watchGitea(): Promise<void> {
    let lastMs = Date.now();
    while (!this.#ending.signal.aborted) {
      try {
        const active = await this.#admin.jobs(`/orgs/${this.#org}`, ...ACTIVE);
        const nowMs = Date.now();
        // The change came between the two looks. The middle is neither early nor late on average.
        this.#noteActive(active, (lastMs + nowMs) / 2);
        lastMs = nowMs;
      } catch {
        // Gitea is down in some scenarios; what it did meanwhile shows when it is back.
      }
      await sleep(EVERY_MS);
    }
  }

  #noteActive(active: readonly ApiJob[], nowMs: number): void {
    this.active = active;
    for (const { id, name, status, runner_name } of active) {
      const job = this.ciJobs.get(id) ?? { id, name };
      this.ciJobs.set(id, job);
      if (status !== 'waiting') job.queuedAtMs ??= nowMs;
      if (status !== 'in_progress') continue;
      job.startedAtMs ??= nowMs;
      if (runner_name !== undefined) job.runner = runner_name;
    }
    const seen = new Set(active.map(({ id }) => id));
    for (const [id, job] of this.ciJobs) if (!seen.has(id)) job.endedAtMs ??= nowMs;
    const pruned = new Set([...this.jobs.values()].flatMap(({ name, deletedAtMs }) => (deletedAtMs ? [name] : [])));
    const atWork = this.inState('in_progress').filter(({ runner_name }) => !pruned.has(runner_name ?? ''));
    if (atWork.length <= this.mostAtWork) return;
    this.mostAtWork = atWork.length;
    const runners = new Set(atWork.map(({ runner_name }) => runner_name));
    const known = [...this.jobs.values()].filter(({ name }) => runners.has(name)).map(stateText);
    this.whenMost = [...atWork.map(({ id, runner_name }) => `${id} on ${runner_name}`), ...known].join('\n');
  }

  #noteJob(object: unknown, gone: boolean): void {
    const { metadata, status } = Job.parse(object);
    const ended = (status?.conditions ?? []).some(
      ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
    );
    const pinned = metadata.annotations?.['argocd.argoproj.io/sync-options'] === 'Prune=false';
    const seen = note(this.jobs, metadata, { gone, ended, marked: pinned });
    const [application] = metadata.annotations?.['argocd.argoproj.io/tracking-id']?.split(':') ?? [];
    if (application !== undefined) seen.application = application;
    this.mostRunners = Math.max(this.mostRunners, this.runners().length);
  }

  #notePod(object: unknown, gone: boolean): void {
    const { metadata, status } = Pod.parse(object);
    const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
    note(this.pods, metadata, { gone, ended, marked: status?.phase === 'Running' });
  }
}

function note(
  all: Map<string, Seen>,
  { name, uid, deletionTimestamp }: z.infer<typeof Meta>,
  { gone, ended, marked }: { readonly gone: boolean; readonly ended: boolean; readonly marked: boolean },
): Seen {
  const nowMs = Date.now();
  const seen = all.get(uid) ?? { name, createdAtMs: nowMs, gone: false };
  all.set(uid, seen);
  if (marked) seen.markedAtMs ??= nowMs;
  if (ended) seen.endedAtMs ??= nowMs;
  if (gone || deletionTimestamp !== undefined) seen.deletedAtMs ??= nowMs;
  seen.gone = gone;
  return seen;
}

function isAlive({ endedAtMs, deletedAtMs }: Seen): boolean {
  return endedAtMs === undefined && deletedAtMs === undefined;
}

function stateText({ name, createdAtMs, markedAtMs, endedAtMs, deletedAtMs }: Seen): string {
  const [created, marked, ended, deleted] = [createdAtMs, markedAtMs, endedAtMs, deletedAtMs].map(timeText);
  return `${name} created ${created} pinned/running ${marked} ended ${ended} deleted ${deleted}`;
}

function timeText(ms: number | undefined): string {
  return ms === undefined ? '-' : new Date(ms).toISOString().slice(11, 23);
}
