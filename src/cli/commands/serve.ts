/** `gitea-runners serve`: flags and environment -> options; signals; how it ends. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { findCluster } from '../../plan/settings.ts';
import { systemClock } from '../../shared/clock.ts';
import { defined } from '../../shared/defined.ts';
import { Failure } from '../../shared/failure.ts';
import { SERVE_LEASE } from '../../shared/installed/installed-names.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { type NotifyOptions, readNotifyFile } from '../../tasks/notify/notifier.ts';
import { openSlack, type SlackOptions } from '../../tasks/notify/slack.ts';
import { webhookReceiver } from '../../tasks/notify/webhook.ts';
import { openServe, type ServeSettings } from '../../tasks/tasks.ts';
import { logTo, openLog } from '../../telemetry/log.ts';
import { openMetrics } from '../../telemetry/metrics.ts';
import type { SpanSink } from '../../telemetry/tracing/span.ts';
import { traceTo } from '../../telemetry/tracing.ts';
import { namesOf } from '../flags/flag.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { installationFrom, readCa, settingsFrom, tracingFrom } from '../reading/command-settings.ts';
import { extendIn } from './extend.ts';

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
/** Time from a signal to the end of the process, ms. Giving the Lease back takes at most a second. */
const LAST_MS = 1_500;

/** Serves until SIGTERM or SIGINT; exit code 0 then. With --once: 0 when all is well, else 1. */
export async function serveCommand(flags: FlagsOf<'serve'>, io: Io): Promise<ExitCode> {
  const once = flagValue('once', flags, io);
  const tracing = tracingFrom(flags, io);
  // OpenTelemetry's packages are loaded for an endpoint only (docs/adr/0049).
  const spans = tracing && (await import('../../telemetry/tracing/otlp.ts')).openSink(tracing);
  const serving = openServe(await serveSettings(flags, io, spans));
  const ending = new AbortController();
  let closing: Promise<boolean> | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    serving.ending(signal);
    ending.abort();
    closing = spans?.close();
    setTimeout(() => process.exit(1), LAST_MS).unref();
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, onSignal);
  process.once('unhandledRejection', (error) => {
    // Kubernetes starts us again.
    serving.mistake(error);
    process.exit(1);
  });
  if (once) {
    const failures = await serving.once(ending.signal);
    for (const failure of failures) io.err(`error: ${printable(failure)}\n`);
    await (closing ?? spans?.close());
    return failures.length === 0 ? 0 : 1;
  }
  await serving.run(ending.signal);
  // A request to a dead collector would keep the process.
  if ((await closing) === false) process.exit(0);
  return 0;
}

async function serveSettings(flags: FlagsOf<'serve'>, io: Io, spans: SpanSink | undefined): Promise<ServeSettings> {
  const settings = await settingsFrom(flags, io);
  const argocdUrl = flagValue('argocdUrl', flags, io);
  const argocdCaFile = flagValue('argocdCaFile', flags, io);
  const looksListen = flagValue('looksListen', flags, io);
  const webhookSecretFile = flagValue('webhookSecretFile', flags, io);
  const lease = await leaseFrom(flags, io);
  // `serve` needs a cluster, so `GITEA_RUNNERS_CLUSTER` does not switch it off.
  const cluster = await findCluster({ ...settings, cluster: 'auto' });
  if (argocdUrl === undefined || !cluster) {
    const noUrl = `${namesOf('argocdUrl')} is missing: give the base URL of the Argo CD API server.`;
    const noCluster = `No cluster is known, as this process has no service account: run it in the cluster, or give ${namesOf('kubeconfig')}.`;
    const [code, ...problems] = argocdUrl === undefined ? ['GR-FLAG-05', noUrl] : ['GR-FLAG-06'];
    throw new Failure(code, 2, `start serve: ${[...problems, ...(cluster ? [] : [noCluster])].join(' ')}`);
  }
  const metrics = openMetrics();
  const log = logTo(openLog(flagValue('verbose', flags, io)));
  return {
    ...settings,
    // Read again and again: it is good now, and `settingsFrom` has said so.
    ...(settings.policy && { policyFile: settings.policy.file }),
    cluster,
    namespaces: flagValue('namespaces', flags, io) ?? [],
    images: await installationFrom(flags, io),
    argocd: {
      url: argocdUrl,
      tokenFile: flagValue('argocdTokenFile', flags, io),
      namespace: flagValue('argocdNamespace', flags, io),
      ...(argocdCaFile !== undefined && { ca: readCa(argocdCaFile, '--argocd-ca-file') }),
    },
    listen: flagValue('listen', flags, io),
    metricsListen: flagValue('metricsListen', flags, io),
    probeListen: flagValue('probeListen', flags, io),
    ...defined({ looksListen, webhookSecretFile, lease, spans }),
    identity: `${io.env['POD_NAME'] || hostname()}_${randomBytes(4).toString('hex')}`,
    host: io.env['POD_IP'] || '127.0.0.1',
    pollMs: flagValue('poll', flags, io) * 1000,
    giteaRequests: flagValue('giteaRequests', flags, io),
    wakes: flagValue('wakes', flags, io),
    clock: { ...systemClock, now: io.now },
    random: Math.random,
    onAskedForQueue: (tellQueue) => void process.on('SIGUSR2', tellQueue),
    ...pageFrom(flags, io),
    sweep: flagValue('sweep', flags, io),
    registrationSecrets: flagValue('registrationSecrets', flags, io) ?? [],
    notify: await notifyFrom(flags, io, (runner) =>
      extendIn(cluster, { ...runner, forMs: 3_600_000, timeoutMs: settings.timeoutMs, now: io.now }),
    ),
    metricsPage: metrics.render,
    subscribers: [metrics.subscriber, log, ...(spans ? [traceTo(spans, io.now)] : [])],
  };
}

async function notifyFrom(flags: FlagsOf<'serve'>, io: Io, extend: SlackOptions['extend']): Promise<NotifyOptions> {
  const file = flagValue('notifyFile', flags, io);
  const allowedUrls = flagValue('notifyUrls', flags, io) ?? [];
  const secretFile = flagValue('notifySecretFile', flags, io);
  return {
    defaults: file === undefined ? [] : await readNotifyFile(file),
    receivers: async (context) => ({
      slack: await openSlack(context, {
        tokenFile: flagValue('slackTokenFile', flags, io),
        signingSecretFile: flagValue('slackSigningSecretFile', flags, io),
        appTokenFile: flagValue('slackAppTokenFile', flags, io),
        extend,
      }),
      webhook: webhookReceiver(context, allowedUrls, secretFile),
    }),
  };
}

/** @throws Failure exit 2: something of the page is missing */
export function pageFrom(flags: FlagsOf<'serve'>, io: Io): Pick<ServeSettings, 'page'> {
  const listen = flagValue('pageListen', flags, io);
  if (!listen) return {};
  const needed = ['pageUrl', 'pageGitea', 'pageClientId'] as const;
  const [url, gitea, clientId] = needed.map((name) => flagValue(name, flags, io));
  if (url === undefined || gitea === undefined || clientId === undefined) {
    const missing = needed.filter((name) => flagValue(name, flags, io) === undefined).map(namesOf);
    const message = `start the page: --page-listen needs ${missing.join(', ')}. Give it, or leave --page-listen out.`;
    throw new Failure('GR-FLAG-26', 2, message);
  }
  return {
    page: {
      listen,
      url,
      gitea,
      giteaPublic: flagValue('pageGiteaPublic', flags, io) ?? gitea,
      clientId,
      clientSecretFile: flagValue('pageClientSecretFile', flags, io),
      keyFile: flagValue('pageKeyFile', flags, io),
      logUrl: flagValue('pageLogUrl', flags, io) ?? '',
    },
  };
}

async function leaseFrom(flags: FlagsOf<'serve'>, io: Io): Promise<ServeSettings['lease']> {
  const lease = flagValue('lease', flags, io);
  if (lease === 'off' || flagValue('once', flags, io)) return undefined;
  if (lease !== undefined) return lease;
  const namespace = await readFile(NAMESPACE_FILE, 'utf8').catch(() => '');
  return namespace.trim() === '' ? undefined : { namespace: namespace.trim(), name: SERVE_LEASE };
}
