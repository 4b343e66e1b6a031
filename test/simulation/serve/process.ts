/**
 * A process of `serve`, wired as in src/serve/serving.ts: copies of the cluster, a Lease, and a Leader with all its
 * tasks while it leads. Only its servers are models. After it is killed it does nothing more, and no answer reaches it.
 */
import type { ApplicationRef } from '../../../src/clients/argocd/application.ts';
import { ServerClocks } from '../../../src/clients/http/server-clocks.ts';
import type { KubeApi } from '../../../src/clients/kubernetes/kube-client.ts';
import { leaseOf } from '../../../src/clients/kubernetes/lease.ts';
import { openLiveCluster } from '../../../src/serve/cluster/live-cluster.ts';
import { type Leader, startLeader } from '../../../src/serve/leader.ts';
import { type ServeEvent, type Tell, tellAll } from '../../../src/serve/planning/events.ts';
import { type QueueRow, WorkQueue } from '../../../src/serve/queue/work-queue.ts';
import type { StartTask } from '../../../src/serve/task.ts';
import type { WakeTarget } from '../../../src/serve/waking/wake.ts';
import type { WebhookEvent } from '../../../src/serve/webhook/gate.ts';
import { writeEvents, writeStatuses } from '../../../src/serve/writers.ts';
import type { Clock } from '../../../src/shared/clock.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { rerunLostJobs } from '../../../src/tasks/losses/rerunning.ts';
import { tellJobEnds } from '../../../src/tasks/notify/job-ends.ts';
import { type NotifyOptions, openNotifier } from '../../../src/tasks/notify/notifier.ts';
import { openSlack } from '../../../src/tasks/notify/slack.ts';
import { webhookReceiver } from '../../../src/tasks/notify/webhook.ts';
import { registerRunners } from '../../../src/tasks/registration/registering.ts';
import { sweepDeadRows } from '../../../src/tasks/sweep/sweeper.ts';
import type { Application, Around, Asker } from './application.ts';
import { GITEA_URL, HOOK_URL, TOKEN } from './gitea.ts';
import { NAMESPACE } from './pods.ts';
import { never } from './world.ts';

/** Looks at one scope, and questions about ends and re-runs, ms. */
const TIMEOUT_MS = 20_000;
const POLL_MS = 5_000;

/** Defects that are made on purpose, to see that the laws notice them. */
export interface Sabotage {
  readonly argocd?: (argocd: WakeTarget) => WakeTarget;
  /** A task that is left out. */
  readonly without?: TaskName;
  /** A further task. */
  readonly more?: StartTask;
  /** Changes which events the notifier hears. */
  readonly hears?: (tell: Tell) => Tell;
  /** Whatever the Lease says. */
  readonly leads?: 'never' | 'always';
}

type TaskName = keyof typeof TASKS;

/** Tasks as in src/serve/serving.ts, without those of Secrets. */
const TASKS = {
  statuses: writeStatuses,
  events: writeEvents,
  ends: tellJobEnds(TIMEOUT_MS),
  reruns: rerunLostJobs(TIMEOUT_MS),
  registrations: registerRunners(TIMEOUT_MS),
  sweeps: sweepDeadRows(false, '', TIMEOUT_MS),
} as const;

function tasksOf({ more, without }: Sabotage): readonly StartTask[] {
  const kept = Object.entries(TASKS).flatMap(([name, task]) => (name === without ? [] : [task]));
  return [...kept, ...(more ? [more] : [])];
}

export interface ProcessOptions {
  readonly around: Around;
  readonly apps: ReadonlyMap<string, Application>;
  readonly name: string;
  readonly wakes: number;
  readonly namespaces: readonly string[];
  /** Returns how far its clock is ahead of the right time, ms. */
  readonly aheadMs: () => number;
  readonly sabotage: Sabotage;
  readonly onEvent: (event: ServeEvent) => void;
  readonly onMistake: (error: unknown) => void;
}

export class ServeProcess {
  readonly name: string;
  /** Begin of the process, ms since the begin of the history. */
  readonly beganMs: number;
  leader: Leader | undefined;
  readonly #options: ProcessOptions;
  readonly #life = new AbortController();
  readonly #queue: WorkQueue;
  #isDead = false;
  #leads = 0;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.name = options.name;
    this.beganMs = options.around.world.nowMs;
    const clock = this.#clock();
    this.#queue = new WorkQueue(clock);
    void this.#run(clock).catch((error: unknown) => options.onMistake(error));
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Returns the rows of its queues, the leader's and its own. */
  rows(): readonly QueueRow[] {
    return [...this.#queue.rows(), ...(this.leader?.queue ?? [])];
  }

  announced(event: WebhookEvent): void {
    this.leader?.announced(event);
  }

  /** SIGTERM. */
  stop(): void {
    this.#life.abort();
  }

  /** SIGKILL, or its node is gone. */
  kill(): void {
    this.#isDead = true;
    this.leader = undefined;
  }

  /** Time stands still for a dead process. */
  #clock(): Clock {
    const { aheadMs, around } = this.#options;
    const { clock } = around.world;
    return {
      now: () => clock.now() + aheadMs(),
      steadyMs: clock.steadyMs,
      nextTurn: clock.nextTurn,
      after: (ms, call) =>
        clock.after(ms, () => {
          if (!this.#isDead) call();
        }),
    };
  }

  /** Drops answers to a dead process. */
  async #unlessDead<T>(work: Promise<T>): Promise<T> {
    try {
      const answer = await work;
      return this.#isDead ? await never<T>() : answer;
    } catch (error) {
      if (this.#isDead) return await never<T>();
      throw error;
    }
  }

  #kubernetes(clock: Clock, clocks?: ServerClocks): KubeApi {
    const { around } = this.#options;
    const api = around.kubernetes.api(clock);
    return {
      ...api,
      send: async (question, deadline) => {
        const sentMs = clock.now();
        const answer = await this.#unlessDead(api.send(question, deadline));
        const date = new Date(around.world.clock.now()).toUTCString();
        clocks?.note(api.origin, { sentMs, receivedMs: clock.now(), date });
        return answer;
      },
      stream: (question, idleMs, signal) => this.#streamed(api.stream(question, idleMs, signal)),
    };
  }

  async *#streamed(lines: AsyncGenerator<string>): AsyncGenerator<string> {
    for (;;) {
      const { done, value } = await this.#unlessDead(lines.next());
      if (done) return;
      yield value;
    }
  }

  /** Makes a sender for one request. */
  #asker(): Asker {
    const isDead = (): boolean => this.#isDead;
    return {
      leader: `${this.name}, leading for the ${this.#leads}. time`,
      leads: this.leader !== undefined,
      get isDead() {
        return isDead();
      },
    };
  }

  #argocd(clock: Clock): WakeTarget {
    const { apps, sabotage } = this.#options;
    const app = ({ name }: ApplicationRef): Application => {
      const found = apps.get(name);
      if (!found) throw new Failure('GR-ARGOCD-05', 1, `no Application ${name}`);
      return found;
    };
    const target: WakeTarget = {
      clock,
      read: (ref) => this.#unlessDead(app(ref).read()),
      refresh: (ref, deadline, how) => this.#unlessDead(app(ref).refresh(deadline, this.#asker(), how)),
      sync: (ref) => this.#unlessDead(app(ref).sync(this.#asker())),
    };
    return sabotage.argocd?.(target) ?? target;
  }

  async #run(clock: Clock): Promise<void> {
    const { around, name, namespaces, onEvent, sabotage, wakes } = this.#options;
    const { server, world } = around;
    const env = { GITEA_TOKEN: TOKEN, GITEA_URL };
    const clocks = new ServerClocks();
    const wireTo = (origin: string) => {
      const wire = server.wire(origin);
      return {
        close: wire.close,
        send: (request: Parameters<typeof wire.send>[0]) => {
          const { answer, cancel } = wire.send(request);
          return { answer: this.#unlessDead(answer), cancel };
        },
      };
    };
    const hearers: Tell[] = [
      (event) => {
        if (!this.#isDead) onEvent(event);
      },
    ];
    const tell = tellAll(hearers);
    const receivers: NotifyOptions['receivers'] = async (context) => ({
      slack: await openSlack(context, { extend: async () => '' }),
      webhook: webhookReceiver(context, [new URL(HOOK_URL)]),
    });
    const watchSecrets = async () => () => [];
    const context = { env, clock, queue: this.#queue, random: () => 0, tell, watchSecrets, wireTo };
    const notifier = await openNotifier({ receivers, defaults: [] }, context);
    hearers.push((sabotage.hears ?? ((hears: Tell) => hears))(notifier.subscriber));
    const client = this.#kubernetes(clock, clocks);
    const onChange = () => this.leader?.changed();
    const toldByCluster: Tell = (event) => {
      tell(event);
      this.leader?.heard(event);
    };
    const cluster = openLiveCluster(client, { namespaces, images: {}, tell: toldByCluster, onChange });
    const lease = leaseOf(this.#kubernetes(clock), {
      namespace: NAMESPACE,
      name: 'gitea-runners',
      identity: name,
      address: `http://${name}`,
      onFailure: (failure) => tell({ is: 'cluster-failed', failure }),
    });
    const lead = async (leading: AbortSignal): Promise<void> => {
      this.#leads += 1;
      this.leader = startLeader({
        env,
        instance: '',
        clock,
        random: () => world.luck('serve-process'),
        secretsDir: '/nowhere',
        cluster,
        client,
        secretsClient: client,
        tell,
        argocd: this.#argocd(clock),
        controlPlaneNamespace: 'argocd',
        tasks: tasksOf(sabotage),
        wakes,
        timeoutMs: TIMEOUT_MS,
        pollMs: POLL_MS,
        giteaRequests: 1_200,
        clocks,
        wireTo,
      });
      tell({ is: 'leading' });
      try {
        await this.leader.run(leading);
      } finally {
        this.leader = undefined;
        tell({ is: 'not-leading' });
      }
    };
    const watching = cluster.run(this.#life.signal);
    if (sabotage.leads === 'always') await lead(this.#life.signal);
    else if (sabotage.leads !== 'never') await lease.run(this.#life.signal, lead);
    await Promise.all([watching, this.#queue.close()]);
    await notifier.close();
  }
}
