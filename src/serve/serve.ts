/**
 * `serve`: wakes Argo CD when the plan and the cluster differ. One process of this is:
 *
 *     /webhook ──► gate ──► leader? ─ yes ─► look at Gitea
 *                             └ no ─► sent on to the leader's address (annotation of the Lease)
 *     /metrics, /healthz, /readyz (listeners.ts)
 *     watches of the cluster (every replica: a new leader must not wait for them)
 *     Lease ──► Leader (one replica at a time)
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { HttpClient } from '../http/client.ts';
import { ServerClocks } from '../http/clock.ts';
import { Deadline } from '../http/deadline.ts';
import { KubeClient } from '../kubernetes/client.ts';
import type { ClusterConfig } from '../kubernetes/config.ts';
import { Lease } from '../kubernetes/lease.ts';
import type { TokenSources } from '../tokens/api-token.ts';
import { LiveCluster } from './cluster/live-cluster.ts';
import { startListeners } from './http/listeners.ts';
import type { ListenAddress } from './http/server.ts';
import { Leader } from './leader.ts';
import type { Log } from './subscribers/log.ts';
import { type Metrics, openMetrics } from './subscribers/metrics.ts';
import { ArgoCdAccess } from './waking/argocd-access.ts';
import { parseSecrets, type WebhookEvent, WebhookGate } from './webhook/gate.ts';
import type { RawDelivery } from './webhook/listener.ts';

export interface ServeOptions extends TokenSources {
  readonly cluster: ClusterConfig;
  /** Namespaces whose RunnerGroups are served; empty: all. */
  readonly namespaces: readonly string[];
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
  /** For one look at Gitea, ms. */
  readonly timeoutMs: number;
  readonly ca?: string;
  /** Delete dead registrations regularly. */
  readonly sweep: boolean;
  readonly now: () => number;
  readonly log: Log;
}

/** The webhook secrets are read anew this often. */
const SECRETS_MS = 10_000;
const FORWARD_MS = 3_000;
const ONCE_MS = 120_000;

/**
 * Serves until `signal` is aborted. Then it ends within a second or so: requests under way are broken off, only the Lease is given
 * back. @throws Failure when it cannot begin: a port is taken, an option is wrong. */
export async function serve(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const metrics = openMetrics();
  const parts = open(options, metrics);
  const { cluster, log } = parts;
  const secrets = await watchSecrets(options, signal);
  const life = new AbortController();
  const stop = (): void => life.abort();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();

  let leader: Leader | undefined;
  // Connections of its own: requests that hang elsewhere must not cost the leadership.
  const leaseClient = new KubeClient(options.cluster);
  const lease = options.lease && new Lease(leaseClient, leaseOptions(options, options.lease, parts.onFailure));
  const forward = new HttpClient({ env: {}, attemptMs: FORWARD_MS });
  const take = async (event: WebhookEvent, raw: RawDelivery): Promise<number> => {
    if (leader) leader.announced(event);
    else return await sendOn(forward, lease?.otherHolder, raw);
    return 202;
  };
  const { listen, metricsListen, probeListen } = options;
  const listeners = await startListeners({
    listen,
    metricsListen,
    probeListen,
    metrics,
    log,
    gate: new WebhookGate({ secrets, nowMs: options.now }),
    take: async (event, raw) => {
      const status = await take(event, raw);
      metrics.webhooks.inc({ result: leader ? 'accepted' : 'forwarded' });
      return status;
    },
    isReady: () => cluster.fresh && (leader === undefined || leader.settled),
    measure: () => leader?.measure(),
  });
  log.info(listeners.ports, 'serving');

  const watching = cluster.run(life.signal);
  parts.onChange = () => leader?.changed();
  const lead = async (leading: AbortSignal): Promise<void> => {
    leader = new Leader(parts.leaderOptions);
    metrics.leader.set(1);
    log.info('leading');
    try {
      await leader.run(leading);
    } finally {
      leader = undefined;
      metrics.leader.set(0);
      log.info('not leading any more');
    }
  };
  try {
    await (lease ? lease.run(life.signal, lead) : lead(life.signal));
  } finally {
    stop();
    await watching;
    await Promise.all([listeners.close(), forward.close(), leaseClient.close(), parts.close()]);
  }
}

/** One pass: looks, plans, wakes where it is needed, writes status. Answers what went wrong, one line each. */
export async function serveOnce(options: ServeOptions, signal: AbortSignal): Promise<readonly string[]> {
  const parts = open(options, openMetrics());
  const life = new AbortController();
  const leader = new Leader(parts.leaderOptions);
  parts.onChange = () => leader.changed();
  const running = Promise.all([parts.cluster.run(life.signal), leader.run(life.signal)]);
  try {
    const deadline = new Deadline(ONCE_MS);
    while (!leader.done && deadline.remainingMs() > 0 && !signal.aborted) await sleep(50);
    const troubles = leader.troubles;
    if (leader.done) return troubles;
    const unread = parts.cluster.fresh ? [] : [parts.lastFailure ?? 'the cluster was not read'];
    return [...unread, ...troubles, `not done within ${ONCE_MS / 1000} s`];
  } finally {
    life.abort();
    await running;
    await parts.close();
  }
}

interface Parts {
  readonly cluster: LiveCluster;
  readonly log: Log;
  readonly leaderOptions: ConstructorParameters<typeof Leader>[0];
  readonly onFailure: (failure: Failure) => void;
  readonly close: () => Promise<void>;
  /** Called after each change in the cluster. */
  onChange: () => void;
  lastFailure: string | undefined;
}

function open(options: ServeOptions, metrics: Metrics): Parts {
  const { argocd, log } = options;
  const clocks = new ServerClocks();
  const client = new KubeClient(options.cluster, undefined, clocks);
  const onFailure = (failure: Failure): void => {
    parts.lastFailure = `${failure.code} ${failure.message}`;
    metrics.clusterErrors.inc({ code: failure.code });
    log.warn({ code: failure.code, error: failure.message }, 'request to the cluster failed');
  };
  const cluster = new LiveCluster(client, options.namespaces, { onChange: () => parts.onChange(), onFailure });
  const access = new ArgoCdAccess(
    {
      url: argocd.url,
      controlPlaneNamespace: argocd.namespace,
      env: options.env,
      ...(argocd.ca !== undefined && { ca: argocd.ca }),
      onRequest: ({ status, method, url, ms }) => {
        metrics.argocdRequests.inc({ status: String(status) });
        log.debug({ method, url, status, ms: Math.round(ms) }, 'request to Argo CD');
      },
    },
    argocd.tokenFile,
  );
  const { env, instance, now, secretsDir } = options;
  const { ca, pollMs, timeoutMs } = options;
  const parts: Parts = {
    cluster,
    log,
    onFailure,
    onChange: () => undefined,
    lastFailure: undefined,
    leaderOptions: {
      env,
      instance,
      now,
      secretsDir,
      cluster,
      client,
      log,
      metrics,
      argocd: access,
      controlPlaneNamespace: argocd.namespace,
      sweep: options.sweep,
      lookout: { timeoutMs, pollMs, clocks, random: Math.random, ...(ca !== undefined && { ca }) },
    },
    close: async () => {
      await Promise.all([access.close(), client.close()]);
    },
  };
  return parts;
}

function leaseOptions(
  { identity, host, listen: { port } }: ServeOptions,
  { namespace, name }: NonNullable<ServeOptions['lease']>,
  onFailure: (failure: Failure) => void,
): ConstructorParameters<typeof Lease>[1] {
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { namespace, name, identity, address, onFailure };
}

/** Lets the leader have a delivery that came to us. One that was sent on before ends here: nobody leads at the moment. */
async function sendOn(http: HttpClient, holder: string | undefined, raw: RawDelivery): Promise<number> {
  if (holder === undefined || raw.forwarded || !URL.canParse('/webhook', holder)) return 503;
  const url = new URL('/webhook', holder);
  const { body, headers } = raw;
  const request = { what: 'send a webhook on to the leader', method: 'POST', url, body, headers } as const;
  return (await http.send(request, new Deadline(FORWARD_MS))).status;
}

/** The secrets that are valid now; the file is read again every 10 s. @throws Failure when it cannot be read at start. */
async function watchSecrets(
  { webhookSecretFile: file, log }: ServeOptions,
  signal: AbortSignal,
): Promise<() => readonly string[]> {
  if (file === undefined) return () => [];
  let secrets = await readSecrets(file);
  const timer = setInterval(async () => {
    try {
      secrets = await readSecrets(file);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      log.warn({ code: error.code, error: error.message }, 'the webhook secrets stay as they were');
    }
  }, SECRETS_MS);
  // It keeps no process alive that has nothing else to do.
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return () => secrets;
}

async function readSecrets(file: string): Promise<readonly string[]> {
  try {
    return parseSecrets(await readFile(file, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    throw new Failure(
      'GR-SERVE-02',
      1,
      `read the webhook secrets: ${file}: ${code}. Mount the Secret, or leave --webhook-secret-file out to do without webhooks.`,
    );
  }
}
