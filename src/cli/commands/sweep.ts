/** `gitea-runners sweep`: deletes dead registrations in Gitea. src/tasks/sweep/choose.ts says which are dead. */
import { giteaClient } from '../../clients/gitea/observe-gitea.ts';
import { observeCluster } from '../../clients/kubernetes/observe-cluster.ts';
import { findTargets } from '../../plan/find-targets.ts';
import { findCluster, requestOptions } from '../../plan/settings.ts';
import { type Clock, pause, systemClock } from '../../shared/clock.ts';
import { Failure, joinFailures } from '../../shared/failure.ts';
import { type ExitCode, type Io, type Paper, paperOf } from '../../shared/io.ts';
import { count, jsonText } from '../../shared/printable.ts';
import { table } from '../../shared/table.ts';
import { SIGHTINGS_APART_MS } from '../../tasks/sweep/choose.ts';
import {
  atOnce,
  type SweepContext,
  Sweeper,
  type SweepOutcome,
  type SweepReport,
  type SweptRegistration,
} from '../../tasks/sweep/sweeper.ts';
import { type FlagsOf, flagValue, isJson } from '../flags/flags.ts';
import { pathsFrom, refuseDenied, settingsFrom } from '../reading/command-settings.ts';
import { byHand } from '../reading/own-kubeconfig.ts';
import { readGroups } from '../reading/read-groups.ts';

/** Time as the command uses it; a test hands in its own. */
export type SweepClock = Pick<Clock, 'after' | 'steadyMs'>;

/** Looks, waits, looks again and deletes. stdout is written at the end. @throws Failure exit 2 when the cluster is not seen */
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
  const { groups } = await readGroups({ ...pathsFrom(args, flags, io), defaults: settings.policy?.defaults }, io);
  await refuseDenied(settings, groups, io);
  const cluster = await findCluster(settings);
  if (!cluster && !dryRun) {
    const why =
      'Kubernetes cannot be looked at, and without it a runner that starts or has lost its network looks like a dead one. Nothing was deleted';
    const todo =
      'Run it in the cluster of the runners with a service account that lists Jobs and Pods, give --kubeconfig, or look with --dry-run';
    throw new Failure('GR-SWEEP-01', 2, `sweep: ${why}. ${todo}.`);
  }
  const { targets, lookOf } = await findTargets(groups, settings);
  const namespaces = groups.map(({ namespace }) => namespace);
  const context: SweepContext = {
    groups: groups.flatMap((group) => {
      const target = targets.find(({ key }) => key === lookOf(group));
      return target ? [{ namespace: group.namespace, name: group.name, target }] : [];
    }),
    liveJobs: async () => cluster && (await observeCluster(namespaces, cluster, requestOptions(settings))),
  };

  const { timeoutMs, instance } = settings;
  const http = giteaClient(requestOptions(settings));
  try {
    const sweeper = new Sweeper({ instance, ask: atOnce(http, timeoutMs), budget, dryRun, clock });
    const { failures, ...report } = await passes(sweeper, context, io, clock);
    const [failure, ...otherFailures] = failures;
    const deleted = report.registrations.filter(({ outcome }) => outcome.is === 'deleted').length;
    const before = deleted > 0 ? [`${count(deleted, 'registration')} deleted before that; the others stay.`] : [];
    if (failure) throw joinFailures([failure, ...otherFailures], before);
    const result: SweepResult = { dryRun, groups: groups.length, ...report };
    io.out(asJson ? jsonText(result) : sweepText(result, paperOf(io)));
    return 0;
  } finally {
    await http.close();
  }
}

/** Makes passes, each with a new look: a second one if rows look dead, and more while the budget is too small. */
async function passes(sweeper: Sweeper, context: SweepContext, io: Io, clock: SweepClock): Promise<SweepReport> {
  const done: SweptRegistration[] = [];
  for (let hasWaited = false; ; ) {
    const report = await sweeper.pass(context);
    done.push(...report.registrations.filter(({ outcome }) => outcome.is === 'deleted' || outcome.is === 'gone'));
    const outcomes = report.registrations.map(({ outcome }) => outcome);
    const young = outcomes.filter((each) => each.is === 'kept' && each.because === 'seen-too-briefly').length;
    if (report.failures.length === 0 && young > 0 && !hasWaited) {
      const seconds = SIGHTINGS_APART_MS / 1000;
      io.err(`${count(young, 'registration')} seem${young === 1 ? 's' : ''} dead; looking again in ${seconds} s\n`);
      await pause(clock, SIGHTINGS_APART_MS);
      hasWaited = true;
      continue;
    }
    if (report.failures.length === 0 && outcomes.some(({ is }) => is === 'postponed')) continue;
    const remainingRows = report.registrations.filter((row) => !done.includes(row));
    return { ...report, registrations: [...done, ...remainingRows] };
  }
}

/** The data of `sweep --json`. The text is made from it. */
interface SweepResult extends Omit<SweepReport, 'failures'> {
  readonly dryRun: boolean;
  readonly groups: number;
}

function sweepText(result: SweepResult, options: Paper): string {
  const { groups, registrations, unlisted } = result;
  if (groups === 0) return 'No RunnerGroups found.\n';
  const rows = registrations.map(({ group, id, name, namespace, outcome }) => {
    return [name, String(id), `${namespace}/${group}`, outcomeText(outcome)];
  });
  const parts = [
    ...(rows.length > 0 ? [table(['RUNNER', 'ID', 'GROUP', 'WHAT HAPPENS'], rows, options)] : []),
    ...unlisted.map((scope) => `Not swept: ${scope}. Gitea shows these runners to a token of that user only.\n`),
    summary(result),
  ];
  return parts.join('\n');
}

function outcomeText(outcome: SweepOutcome): string {
  if (outcome.is === 'failed') return `dead, but could not be deleted (${outcome.code})`;
  if (outcome.is !== 'kept') return OUTCOMES[outcome.is];
  const { because, witness = 'a runner of its group' } = outcome;
  return `stays: ${because === 'group-elsewhere' ? `${witness} ${KEPT[because]}` : KEPT[because]}`;
}

const OUTCOMES: Readonly<Record<Exclude<SweepOutcome['is'], 'kept' | 'failed'>, string>> = {
  deleted: 'deleted: offline, no CI job, no living Job',
  'would-delete': 'would be deleted: offline, no CI job, no living Job',
  gone: 'already gone',
  postponed: 'dead, not deleted yet',
};

const KEPT: Readonly<Record<Extract<SweepOutcome, { readonly is: 'kept' }>['because'], string>> = {
  online: 'online',
  'not-ephemeral': 'not ephemeral, so not one of ours in spite of its name',
  'job-in-progress': 'a CI job in progress names it',
  'job-alive': 'its Job is not finished',
  'cluster-unseen': 'offline, but nobody looked whether its Job lives (Kubernetes was not looked at)',
  'group-elsewhere':
    'is online, but has no Job in this cluster: is it the right one, and has each cluster its own GITEA_RUNNERS_INSTANCE?',
  'seen-too-briefly': 'seems dead, but not for long enough: run sweep again',
  changed: 'has changed since it was listed',
};

function summary({ dryRun, registrations, foreign }: SweepResult): string {
  const amount = (...kinds: readonly SweepOutcome['is'][]): number =>
    registrations.filter(({ outcome }) => kinds.includes(outcome.is)).length;
  const gone = amount('gone') > 0 ? `, ${amount('gone')} already gone` : '';
  const dead = dryRun
    ? `Dry run: ${count(amount('would-delete'), 'registration')} would be deleted`
    : `Sweep: ${count(amount('deleted'), 'registration')} deleted`;
  const foreignText = foreign > 0 ? `; ${count(foreign, 'registration')} of other runners left alone` : '';
  const staying = amount('kept', 'postponed', 'failed');
  return `${dead}${gone}, ${staying} ${staying === 1 ? 'stays' : 'stay'}${foreignText}.\n`;
}
