/** `gitea-runners extend POD --for 1h`: a runner whose CI job failed stays longer. With the rights of who calls it (docs/debugging.md). */
import { Deadline } from '../../clients/http/request.ts';
import { ServerClocks } from '../../clients/http/server-clocks.ts';
import type { ClusterConfig } from '../../clients/kubernetes/config.ts';
import { findRunnerJob, type NamedJob, writeExtension } from '../../clients/kubernetes/kept-job.ts';
import { KubeClient } from '../../clients/kubernetes/kube-client.ts';
import { LONGEST_KEEP_MS } from '../../planner/debugging.ts';
import { isOver } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { timeText } from '../../shared/marks.ts';
import { duration } from '../../shared/printable.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { byHand, clusterByHand, noCluster } from '../reading/own-kubeconfig.ts';

/** Somebody else may write the Job between our look and our patch. */
const TRIES = 5;
const NAME = /^(?:pods?\/|jobs?(?:\.batch)?\/)?([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;

/** Runs the command. @throws Failure exit 2: no waiting runner is named; exit 1: it does not exist, or the cluster refuses */
export async function extend(podName: string, flags: FlagsOf<'extend'>, io: Io): Promise<ExitCode> {
  const name = NAME.exec(podName)?.[1];
  if (name === undefined)
    throw new Failure('GR-EXTEND-06', 2, 'extend: the name must be that of a pod or Job, e.g. ci-7-1-9c31e0aa-x2x4z.');
  const forMs = flagValue('for', flags, io);
  const timeoutMs = flagValue('timeout', flags, io) * 1000;
  const choice = { cluster: 'auto', kubeconfig: flagValue('kubeconfig', flags, io), env: io.env, timeoutMs } as const;
  const { config: cluster } = await clusterByHand(byHand(choice));
  if (!cluster) throw noCluster('GR-EXTEND-05', 'extend');
  const namespace = flagValue('namespace', flags, io) ?? cluster.context?.namespace ?? 'default';
  const extension = await extendIn(cluster, { namespace, name, forMs, timeoutMs, now: io.now });
  io.out(`${extension}\n`);
  return 0;
}

type ExtendRequest = Readonly<{ namespace: string; name: string; forMs: number; timeoutMs: number; now: () => number }>;

/** Extends the stay of a runner. Returns the message with its new end. @throws Failure */
export async function extendIn(config: ClusterConfig, request: ExtendRequest): Promise<string> {
  const deadline = new Deadline(request.timeoutMs);
  const clocks = new ServerClocks();
  const client = new KubeClient(config, { clocks });
  try {
    for (let tries = 1; ; tries += 1) {
      const job = await findRunnerJob(client, request.namespace, request.name, deadline);
      // The cluster's clock counts, not that of a laptop.
      const nowMs = request.now() + (clocks.boundsFor(client.origin)?.leastMs ?? 0);
      const mostMs = keptSince(job) + LONGEST_KEEP_MS;
      const untilMs = wholeSeconds(Math.min(nowMs + request.forMs, mostMs));
      // When its stay ends without this command.
      const { keepUntilMs = 0, extendUntilMs = 0 } = job.live;
      const standsMs = Math.max(keepUntilMs, extendUntilMs === 'unreadable' ? 0 : extendUntilMs);
      if (untilMs <= standsMs) return stayText(job, 'already stays', Math.min(standsMs, mostMs), { nowMs, mostMs });
      if (await writeExtension(client, job, timeText(untilMs), deadline))
        return stayText(job, 'stays', untilMs, { nowMs, mostMs });
      if (tries < TRIES) continue;
      const message = `extend Job ${job.live.name} of namespace ${request.namespace}: it was changed ${TRIES} times while it was written. Try again.`;
      throw new Failure('GR-EXTEND-04', 1, message);
    }
  } finally {
    await client.close();
  }
}

function stayText(
  { live: { name } }: NamedJob,
  verb: 'stays' | 'already stays',
  endMs: number,
  { nowMs, mostMs }: Readonly<Record<'nowMs' | 'mostMs', number>>,
): string {
  const longest = endMs >= wholeSeconds(mostMs) ? ' It is the longest stay: 24 hours after the failure.' : '';
  return `job/${name} ${verb} until ${timeText(endMs)} (${duration(endMs - nowMs)}).${longest}`;
}

function wholeSeconds(timeMs: number): number {
  return Math.floor(timeMs / 1000) * 1000;
}

/** Returns when the runner's CI job failed. @throws Failure exit 2: the runner does not wait */
function keptSince({ live: { namespace, name, state, endedAtMs, keepUntilMs } }: NamedJob): number {
  const hasEnded = isOver(state);
  // If the stay has no length, the CI job did not fail.
  if (!hasEnded && endedAtMs !== undefined && keepUntilMs !== endedAtMs) return endedAtMs;
  const why = hasEnded
    ? 'it has ended'
    : 'no CI job of it is known to have failed, or Argo CD has not synced since (some seconds)';
  const message = `extend Job ${name} of namespace ${namespace}: it does not stay for a look: ${why}. Only runners of groups with keepFailedSeconds stay.`;
  throw new Failure('GR-EXTEND-02', 2, message);
}
