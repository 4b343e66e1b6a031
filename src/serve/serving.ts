/**
 * `serve`: wakes Argo CD when the plan and the cluster differ. One process of this is:
 *
 *     /webhook ──► gate ──► leader? ─ yes ─► look at Gitea
 *                             └ no ─► sent on to the leader's address (annotation of the Lease)
 *     /metrics, /healthz, /readyz (listeners.ts)
 *     watches of the cluster (every replica: a new leader must not wait for them)
 *     Lease ──► Leader (one replica at a time)
 *     what happens ──► metrics, log and other subscribers (events.ts)
 */
import { readFile } from 'node:fs/promises';
import { openArgoCd } from '../clients/argocd/argocd.ts';
import { Deadline } from '../clients/http/request.ts';
import { ServerClocks } from '../clients/http/server-clocks.ts';
import { openClusterSecrets, secretsClient } from '../clients/kubernetes/cluster-secrets.ts';
import type { ClusterConfig } from '../clients/kubernetes/config.ts';
import { KubeClient } from '../clients/kubernetes/kube-client.ts';
import { leaseOf } from '../clients/kubernetes/lease.ts';
import type { SecretsMode } from '../clients/tokens/api-token.ts';
import type { InstallationPods } from '../config/runnergroup/to-runner-group.ts';
import { pause } from '../shared/clock.ts';
import { Failure, systemReason } from '../shared/failure.ts';
import { openLiveCluster } from './cluster/live-cluster.ts';
import { type Leader, type LeaderOptions, startLeader, targetBook } from './leader.ts';
import { type ListenersOptions, startListeners } from './listeners.ts';
import { openLookServer } from './looks/look-server.ts';
import { type SpansLost, type Subscriber, type Tell, tellAll } from './planning/events.ts';
import { type QueueRow, WorkQueue } from './queue/work-queue.ts';
import type { OpenFeature } from './task.ts';
import { WebhookGate } from './webhook/gate.ts';
import { Forwarder, type TakeDelivery } from './webhook/listener.ts';
import { secretFiles } from './webhook/secret-files.ts';
import { writeEvents, writeStatuses } from './writers.ts';

/** Options of the leader that `openCluster` makes. */
type Opened =
  | ('argocd' | 'client' | 'clocks' | 'cluster' | 'controlPlaneNamespace')
  | ('openSecrets' | 'secretsClient' | 'tell');

export interface ServeOptions
  extends Omit<LeaderOptions, Opened | 'looks'>,
    Pick<ListenersOptions, 'listen' | 'looksListen' | 'metricsListen' | 'metricsPage' | 'probeListen'> {
  readonly secrets?: SecretsMode;
  readonly cluster: ClusterConfig;
  readonly namespaces: readonly string[];
  /** Images and settings of pods: those of the generator, because a runner's name depends on them. */
  readonly images: InstallationPods;
  readonly argocd: {
    readonly url: string;
    readonly tokenFile: string;
    readonly ca?: string;
    /** Argo CD's own (control-plane) namespace. */
    readonly namespace: string;
  };
  /** File with one secret per line. Absent: no webhook is accepted. */
  readonly webhookSecretFile?: string;
  /** The Lease of the leader. Absent: this process always leads. */
  readonly lease?: { readonly namespace: string; readonly name: string };
  /** Unique per process; the name of the pod mostly. */
  readonly identity: string;
  /** Name or address of this pod, which the Lease tells other replicas. */
  readonly host: string;
  readonly features: readonly OpenFeature[];
  /** Called once, with the function that tells the queue to the subscribers. `main` binds it to SIGUSR2. */
  readonly onAskedForQueue?: (tellQueue: () => void) => void;
  readonly subscribers: readonly Subscriber[];
  /** Receiver of spans; its `onLost` is called with those that no collector got. Absent: nothing is traced. */
  readonly spans?: { onLost: (spans: number, reason: SpansLost) => void };
}

/** `--once` ends after this time, done or not. */
const ONCE_MS = 120_000;

/** Runs until `signal` is aborted, then ends within about a second. @throws Failure at the start */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  // The queue lives as long as the process, also while this replica does not lead.
  const queue = new WorkQueue(options.clock);
  // A failed start closes the queue, too: due keys would keep the process alive.
  await serveWith(queue, options, signal).finally(() => queue.close());
}

async function serveWith(queue: WorkQueue, options: ServeOptions, signal: AbortSignal): Promise<void> {
  const { clock, host, identity } = options;
  const hearers = [...options.subscribers];
  const tell = tellAll(hearers);
  if (options.spans) options.spans.onLost = (spans, reason) => tell({ is: 'spans-lost', spans, reason });
  let leader: Leader | undefined;
  const open = openCluster(options, tell, () => leader);
  const ownEnd = new AbortController();
  const life = AbortSignal.any([signal, ownEnd.signal]);
  const watchSecrets = secretFiles(queue, (failure) => tell({ is: 'secrets-unreadable', failure }));
  const secrets = await watchSecrets(options.webhookSecretFile);
  const { client, clocks } = open.leaderOptions;
  const openTargets = () => targetBook(open.leaderOptions);
  const seen = { cluster: open.cluster, clocks, kubernetes: client.origin };
  const context = { ...options, ...seen, openTargets, queue, tell, watchSecrets };
  const features = await Promise.all(options.features.map((openFeature) => openFeature(context)));
  hearers.push(...features.flatMap(({ subscriber }) => subscriber ?? []));
  const looks = options.looksListen && openLookServer({ clock, tell });
  // Connections of its own: hanging requests elsewhere must not cost the leadership.
  const leaseClient = new KubeClient(options.cluster, { clock });
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${options.listen.port}`;
  const onFailure = (failure: Failure): void => tell({ is: 'cluster-failed', failure });
  const lease = options.lease && leaseOf(leaseClient, { ...options.lease, identity, address, onFailure });
  const forwarder = new Forwarder();
  const take: TakeDelivery = async (event, delivery) => {
    if (leader) {
      tell({ is: 'webhook', result: 'accepted', event });
      leader.announced(event);
      return 202;
    }
    const status = await forwarder.send(lease?.otherHolder(), delivery);
    if (status !== 503) tell({ is: 'webhook', result: 'forwarded' });
    return status;
  };
  const rows = (): readonly QueueRow[] => [...(leader?.queue ?? []), ...queue.rows()];
  options.onAskedForQueue?.(() => tell({ is: 'queue', rows: rows() }));
  const listeners = await startListeners({
    ...options,
    tell,
    gate: new WebhookGate(secrets, clock.now),
    take,
    otherRequests: new Map(features.flatMap(({ requests = [] }) => [...requests])),
    isReady: () => open.cluster.fresh && (leader === undefined || leader.ready),
    queue: rows,
    leads: () => leader !== undefined,
    ...(looks && { looks: looks.onRequest }),
  });
  tell({ is: 'serving', ports: listeners.ports });

  const watching = open.cluster.run(life);
  const running = features.map(({ run }) => run?.(life));
  const lead = async (leading: AbortSignal): Promise<void> => {
    leader = startLeader({ ...open.leaderOptions, ...(looks && { looks }) });
    tell({ is: 'leading' });
    try {
      await leader.run(leading);
    } finally {
      leader = undefined;
      looks?.watch([], () => undefined);
      tell({ is: 'not-leading' });
    }
  };
  try {
    await (lease ? lease.run(life, lead) : lead(life));
  } finally {
    ownEnd.abort();
    queue.close();
    await Promise.all([watching, ...running, ...features.map(({ close }) => close())]);
    await Promise.all([listeners.close(), forwarder.close(), leaseClient.close(), open.close()]);
  }
}

/** Makes one pass: looks, plans, wakes where needed, and writes status. Returns the errors, one line each. */
export async function serveOnce(options: ServeOptions, signal: AbortSignal): Promise<readonly string[]> {
  let unread = 'the cluster was not read';
  const remember: Subscriber = (event) => {
    if (event.is === 'cluster-failed') unread = `${event.failure.code} ${event.failure.message}`;
  };
  const open = openCluster(options, tellAll([remember, ...options.subscribers]), () => leader);
  const leader: Leader = startLeader(open.leaderOptions);
  const life = new AbortController();
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

/** Opens the parts that `serve` and `--once` share. @param leaderNow the leader that hears of the cluster */
function openCluster(options: ServeOptions, tell: Tell, leaderNow: () => Leader | undefined) {
  const { argocd, clock, env, timeoutMs } = options;
  const clocks = new ServerClocks();
  const client = new KubeClient(options.cluster, { clock, clocks });
  const cluster = openLiveCluster(client, {
    ...options,
    tell: (event) => {
      tell(event);
      leaderNow()?.heard(event);
    },
    onChange: () => leaderNow()?.changed(),
  });
  const access = openArgoCd({
    url: argocd.url,
    readToken: () => readArgoCdToken(argocd.tokenFile),
    clock,
    controlPlaneNamespace: argocd.namespace,
    env,
    ca: argocd.ca,
    onRequest: (line) => tell({ is: 'argocd-request', line }),
  });
  // A client that asks nothing has no connection.
  const secrets = secretsClient(options.cluster);
  const leaderOptions: LeaderOptions = {
    ...options,
    ...(options.secrets === 'api' && {
      openSecrets: () => openClusterSecrets(secrets, new Deadline(timeoutMs, clock)),
    }),
    secretsClient: secrets,
    cluster,
    client,
    clocks,
    tell,
    argocd: access,
    controlPlaneNamespace: argocd.namespace,
    tasks: [writeStatuses, writeEvents, ...options.tasks],
  };
  const close = async (): Promise<void> => {
    await Promise.all([access.close(), client.close(), secrets.close()]);
  };
  return { cluster, leaderOptions, close };
}

/** Reads the token for each request: Secrets may be replaced at any time. */
async function readArgoCdToken(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((error: unknown) => {
    const subject = `read the token of Argo CD: ${file}: ${systemReason(error)}`;
    throw new Failure('GR-SERVE-01', 1, `${subject}. Mount the Secret, or give --argocd-token-file.`);
  });
}
