/** `gitea-runners sweep`: deletes dead registrations of our runners in Gitea. What is dead: src/tasks/sweep/choose.ts. */

import { type GiteaTarget, giteaClient } from '../clients/gitea/observe.ts';
import type { HttpClient } from '../clients/http/client.ts';
import type { ClusterConfig } from '../clients/kubernetes/config.ts';
import { findCluster } from '../clients/kubernetes/find-cluster.ts';
import { observeCluster } from '../clients/kubernetes/observe.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { findTargets } from '../observe/find-targets.ts';
import type { Settings } from '../observe/settings.ts';
import { type Clock, pause, systemClock } from '../shared/clock.ts';
import { Failure, joinFailures } from '../shared/failure.ts';
import type { ExitCode, Io } from '../shared/io.ts';
import { count, jsonText } from '../shared/printable.ts';
import { paperOf } from '../shared/terminal.ts';
import { SIGHTINGS_APART_MS } from '../tasks/sweep/choose.ts';
import {
  Sweeper,
  type SweepGroup,
  type SweepReport,
  type SweepScene,
  type SweptRegistration,
} from '../tasks/sweep/sweep.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import { isJson } from './flags/output.ts';
import { byHand } from './own-kubeconfig.ts';
import { refuseDenied } from './policy.ts';
import { readGroups } from './read-groups.ts';
import { pathsFrom, settingsFrom } from './settings.ts';
import { type SweepResult, sweepText } from './sweep-text.ts';

/** Time as the command uses it; a test hands in its own. */
export type SweepClock = Pick<Clock, 'after' | 'steadyMs'>;

/**
 * Looks, waits, looks again and deletes. stdout is written at the end, and only when everything was done.
 * @throws Failure exit 2 when the cluster is not seen and this is no dry run.
 */
export async function sweep(
  args: readonly string[],
  flags: FlagsOf<'sweep'>,
  io: Io,
  clock: SweepClock = systemClock,
): Promise<ExitCode> {
  const settings = byHand(await settingsFrom(flags, io));
  const budget = flagValue('budget', flags, io);
  const dryRun = flagValue('dryRun', flags, io);
  const asJson = isJson('sweep', flags, io);
  const { groups } = await readGroups(pathsFrom(args, flags, io), io);
  if (settings.policy) await refuseDenied(settings.policy, groups, io);
  const cluster = await findCluster(settings);
  if (!cluster && !dryRun) throw clusterUnseen();
  const scene: SweepScene = {
    groups: await sweepGroups(groups, settings),
    liveJobs: async () => cluster && (await observeJobs(groups, cluster, settings)),
  };

  const { env, timeoutMs, ca, onRequest, instance } = settings;
  const http: HttpClient = giteaClient({
    env,
    deadlineMs: timeoutMs,
    ...(ca !== undefined && { ca }),
    ...(onRequest && { onRequest }),
  });
  try {
    const sweeper = new Sweeper({ instance, http, timeoutMs, budget, dryRun, clock });
    const { failures, ...report } = await passes(sweeper, scene, io, clock);
    const [failure, ...others] = failures;
    if (failure) throw joinFailures([failure, ...others], deletedBefore(report.registrations));
    const result: SweepResult = { dryRun, groups: groups.length, ...report };
    io.out(asJson ? jsonText(result) : sweepText(result, paperOf(io)));
    return 0;
  } finally {
    await http.close();
  }
}

/** One pass, a second one when rows look dead, and more while the budget of a pass is too small. Each pass looks again. */
async function passes(sweeper: Sweeper, scene: SweepScene, io: Io, clock: SweepClock): Promise<SweepReport> {
  const done: SweptRegistration[] = [];
  for (let waited = false; ; ) {
    const report = await sweeper.pass(scene);
    done.push(...report.registrations.filter(({ outcome }) => outcome.is === 'deleted' || outcome.is === 'gone'));
    const young = report.registrations.filter(
      ({ outcome }) => outcome.is === 'kept' && outcome.because === 'seen-too-briefly',
    ).length;
    const postponed = report.registrations.some(({ outcome }) => outcome.is === 'postponed');
    if (report.failures.length === 0 && young > 0 && !waited) {
      const seconds = SIGHTINGS_APART_MS / 1000;
      io.err(`${count(young, 'registration')} seem${young === 1 ? 's' : ''} dead; looking again in ${seconds} s\n`);
      await pause(clock, SIGHTINGS_APART_MS);
      waited = true;
      continue;
    }
    if (report.failures.length === 0 && postponed) continue;
    const rest = report.registrations.filter((row) => !done.includes(row));
    return { ...report, registrations: [...done, ...rest] };
  }
}

async function sweepGroups(groups: readonly RunnerGroup[], settings: Settings): Promise<readonly SweepGroup[]> {
  const { targets, lookOf } = await findTargets(groups, settings);
  const byKey = new Map<string, GiteaTarget>(targets.map((target) => [target.key, target]));
  return groups.flatMap((group) => {
    const target = byKey.get(lookOf(group));
    return target ? [{ namespace: group.namespace, name: group.name, target }] : [];
  });
}

async function observeJobs(
  groups: readonly RunnerGroup[],
  cluster: ClusterConfig,
  { timeoutMs, onRequest }: Settings,
): ReturnType<typeof observeCluster> {
  const namespaces = groups.map(({ namespace }) => namespace);
  return await observeCluster(namespaces, cluster, { deadlineMs: timeoutMs, ...(onRequest && { onRequest }) });
}

function clusterUnseen(): Failure {
  return new Failure(
    'GR-SWEEP-01',
    2,
    'sweep: Kubernetes cannot be looked at, and without it a runner that starts or has lost its network looks like a dead one. ' +
      'Nothing was deleted. Run it in the cluster of the runners with a service account that lists Jobs and Pods, give --kubeconfig, or look with --dry-run.',
  );
}

/** What was deleted before a failure, as lines that follow its message. */
function deletedBefore(registrations: readonly SweptRegistration[]): readonly string[] {
  const deleted = registrations.filter(({ outcome }) => outcome.is === 'deleted').length;
  return deleted > 0 ? [`${count(deleted, 'registration')} deleted before that; the others stay.`] : [];
}
