/** `gitea-runners serve`: flags and environment -> options; signals; how it ends. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Failure } from '../failure.ts';
import { findCluster } from '../kubernetes/config.ts';
import type { Settings } from '../look/look-and-plan.ts';
import { printable } from '../printable.ts';
import { type Subscriber, tellAll } from '../serve/events.ts';
import { type ListenAddress, parseListenAddress } from '../serve/http/server.ts';
import { type ServeOptions, serve, serveOnce } from '../serve/serve.ts';
import { logTo, openLog } from '../serve/subscribers/log.ts';
import type { ExitCode, Io } from './io.ts';
import { fromEnv, isOn, isVerbose, type LookFlags, readCa, seconds, settingsFrom } from './settings.ts';

/** As commander gives them. */
export interface ServeFlags extends LookFlags {
  readonly listen?: string;
  readonly metricsListen?: string;
  readonly probeListen?: string;
  readonly webhookSecretFile?: string;
  readonly argocdUrl?: string;
  readonly argocdTokenFile?: string;
  readonly argocdCaFile?: string;
  readonly argocdNamespace?: string;
  readonly namespaces?: string;
  readonly lease?: string;
  readonly poll?: string;
  readonly sweep?: boolean;
  readonly once?: boolean;
}

const TOKEN_FILE = '/var/run/secrets/argocd/token';
const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
/** After a signal the process ends by then. Giving the Lease back takes at most a second; other requests are broken off. */
const LAST_MS = 1_500;

/** Serves until SIGTERM or SIGINT; exit code 0 then. With --once: 0 when all is well, else 1. */
export async function serveCommand(flags: ServeFlags, io: Io): Promise<ExitCode> {
  const options = await optionsFrom(flags, io);
  const tell = tellAll(options.subscribers);
  const ending = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    tell({ is: 'ending', signal });
    ending.abort();
    setTimeout(() => process.exit(1), LAST_MS).unref();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, onSignal);
  process.once('unhandledRejection', (error) => {
    // Its message may hold anything, so only its kind and place are told. Kubernetes starts us again.
    const { name, stack = '' } = error instanceof Error ? error : new Error();
    const at = stack.split('\n').filter((line) => /^\s+at /.test(line));
    tell({ is: 'mistake', error: name, at });
    process.exit(1);
  });
  if (flags.once ?? false) {
    const troubles = await serveOnce(options, ending.signal);
    for (const trouble of troubles) io.err(`error: ${printable(trouble)}\n`);
    return troubles.length === 0 ? 0 : 1;
  }
  await serve(options, ending.signal);
  return 0;
}

async function optionsFrom(flags: ServeFlags, io: Io): Promise<ServeOptions> {
  const settings = await settingsFrom(flags, io);
  const argocdUrl = flags.argocdUrl ?? fromEnv(io, 'ARGOCD_URL');
  if (argocdUrl === undefined) {
    throw new Failure(
      'GR-FLAG-05',
      2,
      'read --argocd-url: it is missing. Give the base URL of the Argo CD API server.',
    );
  }
  const argocdCaFile = flags.argocdCaFile ?? fromEnv(io, 'ARGOCD_CA_FILE');
  const webhookSecretFile = flags.webhookSecretFile ?? fromEnv(io, 'WEBHOOK_SECRET_FILE');
  const lease = await leaseFrom(flags.lease ?? fromEnv(io, 'LEASE'), flags);
  const namespaces = flags.namespaces ?? fromEnv(io, 'NAMESPACES') ?? '';
  return {
    env: io.env,
    secretsDir: settings.secretsDir,
    instance: settings.instance,
    timeoutMs: settings.timeoutMs,
    ...(settings.ca !== undefined && { ca: settings.ca }),
    cluster: await clusterFrom(settings),
    namespaces: namespaces.split(',').filter((namespace) => namespace !== ''),
    argocd: {
      url: argocdUrl,
      tokenFile: flags.argocdTokenFile ?? fromEnv(io, 'ARGOCD_TOKEN_FILE') ?? TOKEN_FILE,
      namespace: flags.argocdNamespace ?? fromEnv(io, 'ARGOCD_NAMESPACE') ?? 'argocd',
      ...(argocdCaFile !== undefined && { ca: await readCa(argocdCaFile, '--argocd-ca-file') }),
    },
    listen: address('--listen', flags.listen ?? fromEnv(io, 'LISTEN') ?? ':8080'),
    metricsListen: address('--metrics-listen', flags.metricsListen ?? fromEnv(io, 'METRICS_LISTEN') ?? ':9090'),
    probeListen: address('--probe-listen', flags.probeListen ?? fromEnv(io, 'PROBE_LISTEN') ?? ':8081'),
    ...(webhookSecretFile !== undefined && { webhookSecretFile }),
    ...(lease && { lease }),
    identity: `${io.env['POD_NAME'] || hostname()}_${randomBytes(4).toString('hex')}`,
    host: io.env['POD_IP'] || '127.0.0.1',
    pollMs: seconds('--poll', flags.poll ?? fromEnv(io, 'POLL') ?? '5') * 1000,
    now: io.now,
    subscribers: subscribersFrom(flags, io),
    sweep: flags.sweep ?? isOn(fromEnv(io, 'SWEEP'), 'GITEA_RUNNERS_SWEEP'),
  };
}

/** Hear what happens. `serve` adds the metrics. */
function subscribersFrom(flags: ServeFlags, io: Io): readonly Subscriber[] {
  return [logTo(openLog(isVerbose(flags, io)))];
}

/** `serve` needs a cluster, so `GITEA_RUNNERS_CLUSTER` does not switch it off. */
async function clusterFrom(settings: Settings): Promise<ServeOptions['cluster']> {
  const found = await findCluster({ ...settings, cluster: 'auto' });
  if (found) return found;
  throw new Failure(
    'GR-FLAG-06',
    2,
    'find the destination cluster: this process has no service account. Run it in the cluster, or give --kubeconfig.',
  );
}

async function leaseFrom(text: string | undefined, flags: ServeFlags): Promise<ServeOptions['lease']> {
  if (text === 'off' || flags.once) return undefined;
  if (text === undefined) {
    const namespace = await readFile(NAMESPACE_FILE, 'utf8').catch(() => '');
    return namespace.trim() === '' ? undefined : { namespace: namespace.trim(), name: 'gitea-runners-serve' };
  }
  const { namespace, name } = /^(?<namespace>[a-z0-9-]+)\/(?<name>[a-z0-9.-]+)$/.exec(text)?.groups ?? {};
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new Failure('GR-FLAG-07', 2, 'read --lease: it must be NAMESPACE/NAME or off.');
}

function address(flag: string, text: string): ListenAddress {
  const found = parseListenAddress(text);
  if (found) return found;
  throw new Failure('GR-FLAG-08', 2, `read ${flag}: it must be an address like :8080 or 127.0.0.1:8080.`);
}
