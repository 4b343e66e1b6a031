/** `gitea-runners report`: prints the runs of a period and their cost. src/answers/usage.ts defines the figures. */
import * as z from 'zod';
import {
  type AtLeast,
  askedIn,
  type EndedRunner,
  type GiteaHistory,
  type Price,
  type Usage,
  type UsageFigures,
  type UsageRow,
  usageOf,
} from '../../answers/usage.ts';
import { GiteaApi } from '../../clients/gitea/api.ts';
import { Shelf } from '../../clients/gitea/bounds.ts';
import { describeScope } from '../../clients/gitea/endpoints.ts';
import { type Period, readScopeHistory } from '../../clients/gitea/history.ts';
import { giteaClient } from '../../clients/gitea/observe-gitea.ts';
import { Deadline } from '../../clients/http/request.ts';
import { observeCluster } from '../../clients/kubernetes/observe-cluster.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { readSmallYaml } from '../../config/small-yaml.ts';
import { findTargets } from '../../plan/find-targets.ts';
import { findCluster, requestOptions, type Settings } from '../../plan/settings.ts';
import type { GroupKey } from '../../planner/decisions.ts';
import { hasEnded, type LiveJob } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { type ExitCode, type Io, type Paper, paperOf } from '../../shared/io.ts';
import { keyText } from '../../shared/keys.ts';
import { count, jsonText, printable, rangeText } from '../../shared/printable.ts';
import { table } from '../../shared/table.ts';
import { askedOutput, type FlagsOf, flagValue } from '../flags/flags.ts';
import { type ExplainedPlan, fromFilesOrCluster, groupsOfCluster } from '../reading/cluster-source.ts';
import { pathsFrom, refuseDenied } from '../reading/command-settings.ts';
import { readGroups } from '../reading/read-groups.ts';

export async function report(args: readonly string[], flags: FlagsOf<'report'>, io: Io): Promise<ExitCode> {
  const format = askedOutput('report', flags, io) ?? 'text';
  const grouping = flagValue('by', flags, io);
  const toMs = io.now();
  const period = { fromMs: toMs - flagValue('since', flags, io), toMs };
  const file = flagValue('prices', flags, io);
  const prices = file === undefined ? undefined : await readPrices(file);
  const { groups, settings } = await groupsFrom(args, flags, io);
  // The cluster is read before Gitea: so the CI job of each Job is in Gitea's later answer.
  const cluster = await findCluster(settings);
  const namespaces = groups.map(({ namespace }) => namespace);
  const live = cluster && (await observeCluster(namespaces, cluster, requestOptions(settings)));
  const runners = live?.flatMap(endedRunner);
  const histories = await readHistories(groups, settings, { ...period, workflows: grouping === 'workflow' });
  const cut = histories.filter(({ isWhole }) => !isWhole);
  const evidence = { instance: settings.instance, groups, histories, runners, period };
  const usage = usageOf({ ...evidence, ...(prices && { priceOf: prices.priceOf }) }, grouping);
  const result: Report = {
    from: new Date(period.fromMs).toISOString(),
    to: new Date(period.toMs).toISOString(),
    by: grouping,
    ...(prices && { currency: prices.currency }),
    isWhole: cut.length === 0,
    isClusterSeen: runners !== undefined,
    ...usage,
  };
  for (const { scope, url } of cut) {
    const sourceText = `${describeScope(scope)} at ${new URL(url).origin}`;
    const why = 'it is too long, or it moved while it was read. Figures are too small. Choose a shorter --since.';
    io.err(`${printable(`warning: GR-REPORT-02 the history of ${sourceText} is not whole: ${why}`)}\n`);
  }
  if (format === 'json') io.out(jsonText(result));
  else io.out(format === 'csv' ? csvText(result) : reportText(result, paperOf(io)));
  return 0;
}

/** The data of `report -o json`. The other formats are made from it. */
interface Report extends Usage {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly currency?: string;
  /** False: jobs may be missing. */
  readonly isWhole: boolean;
  readonly isClusterSeen: boolean;
}

/** Reads the RunnerGroups of files. Without PATH and without any in the current folder: those of the cluster. */
async function groupsFrom(args: readonly string[], flags: FlagsOf<'report'>, io: Io) {
  const ofFiles = async (settings: Settings) => {
    const { groups } = await readGroups({ ...pathsFrom(args, flags, io), defaults: settings.policy?.defaults }, io);
    await refuseDenied(settings, groups, io);
    return groups.length > 0 ? { groups, settings } : undefined;
  };
  type Found = Pick<ExplainedPlan, 'groups' | 'settings'>;
  return await fromFilesOrCluster<Found>(args, flags, io, ofFiles, async (source, reader, noGroupsFailure) => {
    const clusterGroups = await groupsOfCluster(source, reader, flags, io);
    for (const { group, problem } of clusterGroups.broken)
      io.err(`${printable(`warning: RunnerGroup ${group} is left out: ${problem}`)}\n`);
    if (clusterGroups.groups.length === 0) throw noGroupsFailure;
    return clusterGroups;
  });
}

function endedRunner(job: LiveJob): readonly EndedRunner[] {
  const { namespace, name, createdAtMs, finishedAtMs: endedAtMs, repository, size, spec, state } = job;
  if (!hasEnded(state) || endedAtMs === undefined) return [];
  const requests = askedIn((spec as { template?: { spec?: unknown } } | undefined)?.template?.spec);
  const made = { ...(repository && { repository }), ...(size !== undefined && { size }) };
  return [{ namespace, name, createdAtMs, endedAtMs, ...requests, ...made }];
}

/** Bytes of the rows of all scopes together. */
const MOST_BYTES = 128 * 1024 * 1024;

/** Reads one scope after another: history can wait, and Gitea has other work. */
async function readHistories(
  groups: readonly RunnerGroup[],
  settings: Settings,
  question: Period & { readonly workflows: boolean },
): Promise<readonly GiteaHistory[]> {
  const { targets } = await findTargets(groups, settings);
  const http = giteaClient(requestOptions(settings));
  const access = { http, deadline: new Deadline(settings.timeoutMs), versions: new Map(), now: settings.now };
  const histories: GiteaHistory[] = [];
  try {
    for (const { url, token, scope, labels } of targets) {
      const api = new GiteaApi({ ...access, url, token, shelf: new Shelf(MOST_BYTES / targets.length, labels) });
      histories.push({ url, scope, ...(await readScopeHistory(api, scope, question)) });
    }
    return histories;
  } finally {
    await http.close();
  }
}

type Column = readonly [head: string, text: (figures: UsageFigures) => string];

function columnsOf({ currency }: Report): readonly Column[] {
  return [
    ['JOBS', ({ jobs }) => String(jobs)],
    ['FAILED', ({ failed }) => String(failed)],
    ['WAIT P50', ({ waitP50 }) => rangeText(waitP50)],
    ['WAIT P95', ({ waitP95 }) => rangeText(waitP95)],
    ['CI MIN', ({ ciMinutes }) => ciMinutes.toFixed(0)],
    ['RUNNER MIN', ({ runnerMinutes }) => sumText(runnerMinutes, 0)],
    ['NEEDLESS', ({ needlessStarts }) => String(needlessStarts ?? '?')],
    ['CPU H', ({ cpuHours }) => sumText(cpuHours, 1)],
    ['GIB H', ({ memoryGibHours }) => sumText(memoryGibHours, 1)],
    ...(currency === undefined ? [] : [[currency, ({ cost }) => sumText(cost, 2)] satisfies Column]),
  ];
}

function sumText(sum: AtLeast | undefined, digits: number): string {
  return sum ? `${sum.isExact ? '' : '≥'}${sum.atLeast.toFixed(digits)}` : '?';
}

function reportText(result: Report, paper: Paper): string {
  const { by, from, rows, to, total } = result;
  const period = `${from.slice(0, 16)}Z to ${to.slice(0, 16)}Z`;
  const notes = notesOf(result);
  if (rows.length === 0) return [`No CI job ended on these runners from ${period}.`, ...notes, ''].join('\n');
  const columns = columnsOf(result);
  const giteas = new Set(rows.map(({ gitea }) => gitea)).size;
  const nameOf = ({ gitea, name }: UsageRow): string => (giteas > 1 ? `${new URL(gitea).host} ${name}` : name);
  const lines = rows.map((row) => [nameOf(row), ...columns.map(([, text]) => text(row))]);
  const sum = ['all', ...columns.map(([, text]) => text(total))];
  const head = [by.toUpperCase(), ...columns.map(([title]) => title)];
  return [`CI jobs that ended from ${period}\n`, table(head, [...lines, sum], paper), ...notes, ''].join('\n');
}

/** Returns notes on the gaps of the figures. */
function notesOf({ isClusterSeen, isWhole, ofUnknownGroup, onOtherRunners, total, ...result }: Report) {
  const { byLabels, jobs, needlessStarts = 0, runnersSeen } = total;
  const unseen = isClusterSeen ? jobs - (runnersSeen - needlessStarts) : 0;
  const unmatched = result.unmatchedRunners;
  const ciJobs = (amount: number): string => count(amount, 'CI job');
  return [
    unseen > 0 &&
      `≥ Kubernetes shows the runners of ${ciJobs(unseen)} no more: start-up is not counted, CPU and memory are what their groups ask for now.`,
    !isClusterSeen && 'Kubernetes was not looked at: runner minutes are CI minutes, needless starts are unknown.',
    byLabels > 0 &&
      `The groups of ${ciJobs(byLabels)} were found by labels: Gitea has forgotten the names of their runners.`,
    onOtherRunners > 0 && `Not counted: ${ciJobs(onOtherRunners)} on other runners.`,
    ofUnknownGroup > 0 &&
      `Not counted: ${ciJobs(ofUnknownGroup)} whose runners Gitea has forgotten, covered by no group or by several.`,
    unmatched > 0 && `Not counted: ${count(unmatched, 'runner')} that may have run a CI job.`,
    !isWhole && 'The history is not whole: figures are too small.',
  ].filter((note) => note !== false);
}

/** Fields of a row, as in `-o json`. */
const CSV_FIELDS = [
  ...['gitea', 'name', 'jobs', 'failed', 'byLabels', 'ciMinutes', 'runnersSeen', 'needlessStarts'],
  ...['waitP50.atLeast', 'waitP50.atMost', 'waitP95.atLeast', 'waitP95.atMost'],
  ...['runnerMinutes.atLeast', 'runnerMinutes.isExact', 'cpuHours.atLeast', 'memoryGibHours.atLeast', 'cost.atLeast'],
];

/** RFC 4180 with one line per row and none for the sum. An empty cell: not known. */
function csvText({ isWhole, rows }: Report): string {
  const valueAt = (row: unknown, field: string): unknown =>
    field.split('.').reduce((value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], row);
  const cellsOf = (row: unknown) => CSV_FIELDS.map((field) => csvCell(String(valueAt(row, field) ?? '')));
  const lines = rows.map((row) => [...cellsOf(row), String(isWhole)]);
  return [[...CSV_FIELDS, 'isWhole'], ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** Authors of workflows choose names. A spreadsheet takes a cell that begins with one of these for a formula. */
function csvCell(text: string): string {
  const safe = printable(/^[=+\-@]/.test(text) ? `'${text}` : text);
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const amount = z.number().min(0).max(1_000_000).default(0);
const price = { runnerHour: amount, cpuHour: amount, memoryGibHour: amount };
const PriceFile = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capitals, e.g. EUR'),
  ...price,
  /** Prices by `NAMESPACE/NAME` or `NAMESPACE/NAME/SIZE`. They replace the general ones. */
  groups: z.record(z.string().max(500), z.strictObject(price)).default({}),
});

/** Reads the prices of an hour of a runner, a CPU and a GiB of memory from a file. @throws Failure exit 2 */
async function readPrices(file: string) {
  const example = manual('report.md#prices');
  const pricesFailure = (problem: string): Failure =>
    new Failure('GR-REPORT-01', 2, `read --prices ${file}: ${problem}. ${example} shows such a file.`);
  const { currency, groups, ...all } = await readSmallYaml(file, PriceFile, pricesFailure);
  const groupPrices = new Map(Object.entries(groups));
  const priceOf = (group: GroupKey, size: string | undefined): Price =>
    (size === undefined ? undefined : groupPrices.get(`${keyText(group)}/${size}`)) ??
    groupPrices.get(keyText(group)) ??
    all;
  return { currency, priceOf };
}
