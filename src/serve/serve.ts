/**
 * `serve`: wakes Argo CD when the plan and the cluster differ. One process of this is:
 *
 *     /webhook ──► gate ──► leader? ─ yes ─► look at Gitea
 *                             └ no ─► sent on to the leader's address (annotation of the Lease)
 *     /metrics, /healthz, /readyz (http/listeners.ts)
 *     watches of the cluster (every replica: a new leader must not wait for them)
 *     Lease ──► Leader (one replica at a time)
 *     what happens ──► metrics, log and other subscribers (events.ts)
 */

import { ServerClocks } from '../clients/http/clock.ts';
import { Deadline } from '../clients/http/deadline.ts';
import { KubeClient } from '../clients/kubernetes/client.ts';
import type { ClusterConfig } from '../clients/kubernetes/config.ts';
import { Lease, type LeaseOptions } from '../clients/kubernetes/lease.ts';
import { ClusterSecrets, secretsClient } from '../clients/kubernetes/secrets.ts';
import type { SecretsMode, TokenSources } from '../clients/tokens/api-token.ts';
import type { InstallationImages } from '../config/runnergroup/installation.ts';
import { type Clock, pause } from '../shared/clock.ts';
import type { Failure } from '../shared/failure.ts';
import { rerunLostJobs } from '../tasks/losses/rerunning.ts';
import { tellJobEnds } from '../tasks/notify/job-ends.ts';
import { Notifier, type NotifyOptions } from '../tasks/notify/notifier.ts';
import { interactiveListener } from '../tasks/notify/slack-interactive.ts';
import { PressGate } from '../tasks/notify/slack-presses.ts';
import { fillSecrets } from '../tasks/registration/filling.ts';
import { openMetrics } from '../telemetry/metrics.ts';
import type { SpanSink } from '../telemetry/tracing/sink.ts';
import { writeEvents } from './cluster/event-writer.ts';
import { LiveCluster } from './cluster/live-cluster.ts';
import { writeStatuses } from './cluster/status-writer.ts';
import { type Subscriber, type Tell, tellAll } from './events.ts';
import { type Listeners, startListeners } from './http/listeners.ts';
import type { ListenAddress } from './http/server.ts';
import { Leader, type LeaderOptions } from './leader.ts';
import { type QueueRow, WorkQueue } from './queue.ts';
import { sweepDeadRows } from './sweeping.ts';
import type { StartTask } from './task.ts';
import { tellWaits } from './tell-waits.ts';
import { ArgoCdAccess } from './waking/argocd-access.ts';
import { Forwarder } from './webhook/forward.ts';
import { type WebhookEvent, WebhookGate } from './webhook/gate.ts';
import type { RawDelivery } from './webhook/listener.ts';
import { SecretFiles } from './webhook/secrets.ts';

export interface ServeOptions extends Omit<TokenSources, 'clusterSecrets'> {
  /** Default: `files`. */
  readonly secrets?: SecretsMode;
  readonly cluster: ClusterConfig;
  /** Namespaces whose RunnerGroups are served; empty: all. */
  readonly namespaces: readonly string[];
  /** The same as those of the generator: they are part of what names a runner. */
  readonly images: InstallationImages;
  readonly argocd: {
    readonly url: string;
    readonly tokenFile: string;
    readonly ca?: string;
    /** Argo CD's own (control-plane) namespace. */
    readonly namespace: string;
  };
  readonly listen: ListenAddress;
  readonly metricsListen: ListenAddress;
  readonly probeListen: ListenAddress;
  /** One secret per line; absent: no webhook is accepted. */
  readonly webhookSecretFile?: string;
  /** Absent: this process always leads. */
  readonly lease?: { readonly namespace: string; readonly name: string };
  /** Unique per process; the name of the pod mostly. */
  readonly identity: string;
  /** Where other replicas reach this one. */
  readonly host: string;
  readonly instance: string;
  readonly pollMs: number;
  /** Requests per minute to one Gitea. */
  readonly giteaRequests: number;
  /** Wakes at the same time. */
  readonly wakes: number;
  /** Absent: no policy is named. */
  readonly policyFile?: string;
  /** For one look at Gitea, ms. */
  readonly timeoutMs: number;
  readonly ca?: string;
  /** Delete dead registrations regularly. */
  readonly sweep: boolean;
  /** Names of the Secrets that are kept filled with registration tokens. Absent: none. */
  readonly registrationSecrets?: readonly string[];
  /** Absent: nobody is told that CI jobs have ended. */
  readonly notify?: NotifyOptions;
  /** Registers what tells the queue to the subscribers: SIGUSR2. */
  readonly onAskedForQueue?: (tellQueue: () => void) => void;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Hear what happens. The metrics hear it, too. */
  readonly subscribers: readonly Subscriber[];
  /** Absent: nothing is traced. Here it only tells what it loses; its subscriber is among `subscribers`. */
  readonly spans?: Pick<SpanSink, 'onLost'>;
}

const NOTIFIES_NOBODY: NotifyOptions = { allowedUrls: [], defaults: [] };
/** `--once` ends after this time, done or not. */
const ONCE_MS = 120_000;

/**
 * Serves until `signal` is aborted. Then it ends within a second or so: requests under way are broken off, and the Lease is given back.
 * @throws Failure when it cannot begin: a port is taken, an option is wrong.
 */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  // Of the process: what does not end with its leadership.
  const queue = new WorkQueue(options.clock);
  try {
    await serveWith(queue, options, signal);
  } finally {
    // Also when it cannot begin: what is due would keep the process.
    queue.close();
  }
}

async function serveWith(queue: WorkQueue, options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { clock } = options;
  const metrics = openMetrics();
  const notifier = new Notifier({
    ...(options.notify ?? NOTIFIES_NOBODY),
    env: options.env,
    clock,
    queue,
    tell: (event) => tell(event),
  });
  const tell = tellAll([metrics.subscriber, ...options.subscribers, notifier.subscriber]);
  if (options.spans) options.spans.onLost = (spans, reason) => tell({ is: 'spans-lost', spans, reason });
  const open = openCluster(options, tell);
  const life = new AbortController();
  const stop = (): void => life.abort();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const files = new SecretFiles(queue, (failure) => tell({ is: 'secrets-unreadable', failure }));
  const secrets = await files.watch(options.webhookSecretFile);
  const signing = await files.watch(options.notify?.slackSigningSecretFile);
  const pressGate = new PressGate({ secret: () => signing()[0], nowMs: options.clock.now });
  let leader: Leader | undefined;
  // Connections of its own: requests that hang elsewhere must not cost the leadership.
  const leaseClient = new KubeClient(options.cluster, { clock });
  const lease = options.lease && new Lease(leaseClient, leaseOptions(options, options.lease, tell));
  const forwarder = new Forwarder();
  const take = async (event: WebhookEvent, raw: RawDelivery): Promise<number> => {
    if (leader) {
      tell({ is: 'webhook', result: 'accepted', event });
      leader.announced(event);
      return 202;
    }
    const status = await forwarder.send(lease?.otherHolder, raw);
    tell({ is: 'webhook', result: 'forwarded' });
    return status;
  };
  const rows = (): readonly QueueRow[] => [...(leader?.queue ?? []), ...queue.rows()];
  options.onAskedForQueue?.(() => tell({ is: 'queue', rows: rows() }));
  const { listen, metricsListen, probeListen } = options;
  const listeners: Listeners = await startListeners({
    listen,
    metricsListen,
    probeListen,
    tell,
    gate: new WebhookGate({ secrets, nowMs: options.clock.now }),
    take,
    interactive: interactiveListener({ gate: pressGate, onPress: notifier.pressed }),
    isReady: () => open.cluster.fresh && (leader === undefined || leader.ready),
    queue: rows,
    leads: () => leader !== undefined,
    metricsPage: metrics.render,
  });
  tell({ is: 'serving', ports: listeners.ports });

  const watching = open.cluster.run(life.signal);
  const listening = listenForPresses(options, notifier, tell, life.signal);
  open.onChange = () => leader?.changed();
  const lead = async (leading: AbortSignal): Promise<void> => {
    leader = new Leader(open.leaderOptions);
    tell({ is: 'leading' });
    try {
      await leader.run(leading);
    } finally {
      leader = undefined;
      tell({ is: 'not-leading' });
    }
  };
  try {
    await (lease ? lease.run(life.signal, lead) : lead(life.signal));
  } finally {
    stop();
    queue.close();
    await Promise.all([watching, listening]);
    await Promise.all([listeners.close(), forwarder.close(), leaseClient.close(), notifier.close(), open.close()]);
  }
}

/** Presses of the button in Slack that come over socket mode. */
async function listenForPresses(
  { clock, env, notify = NOTIFIES_NOBODY, random }: ServeOptions,
  notifier: Notifier,
  tell: Tell,
  signal: AbortSignal,
): Promise<void> {
  const { slackApiUrl: apiUrl, slackSocket } = notify;
  if (!slackSocket) return;
  const { listen, ...socket } = slackSocket;
  const onFailure = (failure: Failure): void => tell({ is: 'notified', to: 'slack', result: 'unconnected', failure });
  const options = { ...socket, clock, env, random, onPress: notifier.pressed, onFailure };
  await listen({ ...options, ...(apiUrl !== undefined && { apiUrl }) }, signal);
}

/** One pass: looks, plans, wakes where it is needed, writes status. Answers what went wrong, one line each. */
export async function serveOnce(options: ServeOptions, signal: AbortSignal): Promise<readonly string[]> {
  let unread = 'the cluster was not read';
  const remember: Subscriber = (event) => {
    if (event.is === 'cluster-failed') unread = `${event.failure.code} ${event.failure.message}`;
  };
  const open = openCluster(options, tellAll([remember, ...options.subscribers]));
  const life = new AbortController();
  const leader = new Leader(open.leaderOptions);
  open.onChange = () => leader.changed();
  const running = Promise.all([open.cluster.run(life.signal), leader.run(life.signal)]);
  try {
    const { clock } = options;
    const deadline = new Deadline(ONCE_MS, clock);
    while (!leader.done && deadline.remainingMs() > 0 && !signal.aborted) await pause(clock, 50, signal);
    const { done, troubles } = leader;
    const isRead = !open.cluster.isPartial && (done || open.cluster.fresh);
    const all = [...(isRead ? [] : [unread]), ...troubles];
    if (done) return all;
    const why = signal.aborted ? 'stopped before it was done' : `not done within ${ONCE_MS / 1000} s`;
    return [...all, `serve --once: ${why}`];
  } finally {
    life.abort();
    await running;
    await open.close();
  }
}

/** What `serve` and `--once` have in common. */
interface OpenCluster {
  readonly cluster: LiveCluster;
  readonly leaderOptions: LeaderOptions;
  readonly close: () => Promise<void>;
  /** Called after each change in the cluster. */
  onChange: () => void;
}

function openCluster(options: ServeOptions, tell: Tell): OpenCluster {
  const { argocd, ca, env, giteaRequests, instance, notify, clock, policyFile, pollMs, random } = options;
  const { secrets, secretsDir, sweep, timeoutMs } = options;
  const clocks = new ServerClocks();
  const client = new KubeClient(options.cluster, { clock, clocks });
  const cluster = new LiveCluster(client, options, {
    onChange: () => open.onChange(),
    onFailure: (failure) => tell({ is: 'cluster-failed', failure }),
    onJob: ({ uid, namespace, name }) => tell({ is: 'job-seen', uid, namespace, name }),
    onPod: (jobUid, step) => tell({ is: 'pod-seen', jobUid, step }),
  });
  const access = new ArgoCdAccess(
    {
      url: argocd.url,
      clock,
      controlPlaneNamespace: argocd.namespace,
      env,
      ...(argocd.ca !== undefined && { ca: argocd.ca }),
      onRequest: (line) => tell({ is: 'argocd-request', line }),
    },
    argocd.tokenFile,
  );
  const { registrationSecrets: names = [] } = options;
  const writesSecrets = names.length === 0 ? undefined : secretsClient(options.cluster);
  const tasks: readonly StartTask[] = [
    writeStatuses,
    writeEvents,
    tellWaits,
    tellJobEnds({ timeoutMs, ...(notify && { notifyDefaults: notify.defaults }) }),
    rerunLostJobs(timeoutMs),
    sweepDeadRows({ deletes: sweep, instance, timeoutMs }),
    ...(writesSecrets ? [fillSecrets({ names: new Set(names), client: writesSecrets, timeoutMs })] : []),
  ];
  const secretsApi = secrets === 'api' ? secretsClient(options.cluster) : undefined;
  const open: OpenCluster = {
    cluster,
    onChange: () => undefined,
    leaderOptions: {
      env,
      instance,
      clock,
      random,
      secretsDir,
      ...(secretsApi && { openSecrets: () => new ClusterSecrets(secretsApi, new Deadline(timeoutMs, clock)) }),
      cluster,
      client,
      tell,
      argocd: access,
      controlPlaneNamespace: argocd.namespace,
      tasks,
      wakes: options.wakes,
      ...(policyFile !== undefined && { policyFile }),
      lookout: {
        timeoutMs,
        pollMs,
        budget: giteaRequests,
        clocks,
        ...(ca !== undefined && { ca }),
      },
    },
    close: async () => {
      await Promise.all([access.close(), client.close(), secretsApi?.close(), writesSecrets?.close()]);
    },
  };
  return open;
}

function leaseOptions(
  { identity, host, listen: { port } }: ServeOptions,
  { namespace, name }: NonNullable<ServeOptions['lease']>,
  tell: Tell,
): LeaseOptions {
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { namespace, name, identity, address, onFailure: (failure) => tell({ is: 'cluster-failed', failure }) };
}
