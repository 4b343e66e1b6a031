/** `validate --against`: what the RunnerGroups would do to the runners of those that are there now (src/plan/against.ts). */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { HELD, RUNNERS } from '../../answers/reasons.ts';
import { observeCluster } from '../../clients/kubernetes/observe-cluster.ts';
import { formatProblem, InputProblems } from '../../config/runnergroup/problems.ts';
import type { ReadOptions, ReadResult } from '../../config/runnergroup/read.ts';
import { withImages } from '../../config/runnergroup/to-runner-group.ts';
import { type Comparison, compareGroups, type GroupChange, type RunnerFate } from '../../plan/against.ts';
import { podsOf } from '../../plan/group-pods.ts';
import { findCluster } from '../../plan/settings.ts';
import type { Io } from '../../shared/io.ts';
import { count, firstLines, printable } from '../../shared/printable.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { installationFrom } from '../reading/command-settings.ts';
import { byHand } from '../reading/own-kubeconfig.ts';
import { readGroups } from '../reading/read-groups.ts';

type Read = Pick<ReadResult, 'groups' | 'sources'>;

/** Compares with the present groups. Undefined, with a warning: these are not valid. @throws Failure: no cluster */
export async function compareAgainst(
  { path, ...readOptions }: Pick<ReadOptions, 'recursive' | 'defaults'> & { readonly path: string },
  read: Read,
  flags: FlagsOf<'validate'>,
  io: Io,
): Promise<Comparison | undefined> {
  const sideOf = async ({ groups, sources }: Read) => {
    const installation = await installationFrom(flags, io);
    const pods = await podsOf({ groups, sources });
    return { groups: groups.map((group) => withImages(group, installation)), finish: pods?.finish, check: pods?.check };
  };
  const after = await sideOf(read);
  try {
    const before = await sideOf(await readGroups({ paths: [path], ...readOptions }, io));
    const jobs = await livingJobs([...before.groups, ...after.groups], flags, io);
    const instance = io.env['GITEA_RUNNERS_INSTANCE'] ?? '';
    const comparison = compareGroups({ before, after }, { instance, nowMs: io.now(), jobs });
    await before.check?.();
    return comparison;
  } catch (error) {
    if (!(error instanceof InputProblems && existsSync(resolve(io.cwd, path)))) throw error;
    const [first = ''] = error.problems.map(formatProblem);
    io.err(`warning: correct ${printable(path)} first, or nothing is said about runners: ${printable(first)}\n`);
    return undefined;
  }
}

/** Returns the present Jobs. Undefined: no cluster is named. */
async function livingJobs(groups: Read['groups'], flags: FlagsOf<'validate'>, io: Io) {
  const kubeconfig = flagValue('kubeconfig', flags, io);
  if (kubeconfig === undefined) return undefined;
  const deadlineMs = flagValue('timeout', flags, io) * 1000;
  const choice = { cluster: 'auto', kubeconfig, env: io.env, timeoutMs: deadlineMs } as const;
  const config = await findCluster(byHand(choice));
  const namespaces = groups.map(({ namespace }) => namespace);
  return config && (await observeCluster(namespaces, config, { deadlineMs }));
}

/** Rows of a table: a comment of Gitea has 64 KiB. `-o json` has all. */
const MOST_ROWS = 200;

/** Makes a summary and tables of the comparison. `rest`: how many rows are left out. */
export function comparisonParts({ changes, unchanged, unknownJobs = 0 }: Comparison) {
  const fates = changes.flatMap(({ group, runners }) => runners.map((fate) => [group, fate] as const));
  const tables = [
    { head: ['GROUP', 'CHANGE'], rows: changes.map((change) => [change.group, changeText(change)]) },
    {
      head: ['GROUP', 'RUNNER', 'ARGO CD', 'WHAT HAPPENS'],
      rows: fates.map(([group, fate]) => [group, runnerText(fate), ARGO_CD[fate.argocd], fateText(fate)]),
    },
  ];
  const differ = changes.filter(({ is, fields }) => is !== 'changed' || fields.length > 0).length;
  const belong = unknownJobs === 1 ? 'belongs' : 'belong';
  const unknown = `; ${count(unknownJobs, 'living Job')} ${belong} to none of them. If that is wrong, set GITEA_RUNNERS_INSTANCE as the installation does`;
  return {
    summary: `${count(differ, 'RunnerGroup')} would change, ${unchanged} would not${unknownJobs > 0 ? unknown : ''}`,
    tables: tables
      .filter(({ rows }) => rows.length > 0)
      .map(({ head, rows }) => ({ head, rows: rows.slice(0, MOST_ROWS), rest: rows.length - MOST_ROWS })),
  };
}

function changeText({ is, fields, hasNewTemplate, cap, place }: GroupChange): string {
  if (is !== 'changed') return is;
  const parts = [
    ...(fields.length > 0 ? firstLines(fields, 10) : ['runners of other groups come']),
    ...(cap ? [`cap ${cap.join(' → ')}`] : []),
    ...(place ? [`moves from ${place.join(' to ')}`] : []),
    ...(hasNewTemplate ? ['new pod template'] : []),
  ];
  return parts.join(', ');
}

function runnerText({ runner, now, isBeyond, lostLabels }: RunnerFate): string {
  if (runner !== undefined) return `${runner} (${now})`;
  return `${now}${isBeyond ? ', more than fit' : ''}${lostLabels ? `, for ${lostLabels.join(', ')}` : ''}`;
}

const ARGO_CD: Readonly<Record<RunnerFate['argocd'], string>> = {
  nothing: 'no difference',
  'changes-it': 'changes its Job',
  'prunes-it': 'deletes its Job',
};

/** Texts of reasons that a change of groups causes. The other reasons have their usual text. */
const REMOVED: Readonly<Partial<Record<RunnerFate['because'], string>>> = {
  drained: 'goes: there is no slot for it in the pool',
  surplus: 'goes: there is no slot for it',
  unpinning: 'goes: runners of failed CI jobs are no longer kept (keepFailedSeconds)',
};

function goesText(because: RunnerFate['because']): string {
  if (because === 'not-planned') return 'goes: its RunnerGroup is gone';
  const { text } = RUNNERS[because];
  return REMOVED[because] ?? (typeof text === 'string' ? text : because);
}

function fateText({ now, outcome, because, heir, jobHeld }: RunnerFate): string {
  const texts = {
    stays: now === 'debugging' ? 'stays until its time is over' : 'stays',
    finishes: 'finishes its CI job, then ends',
    replaced: 'goes, and a new runner comes',
    removed: goesText(because),
  };
  const heirText = heir === undefined ? '' : `; takes a slot of ${heir}`;
  const short = jobHeld && HELD[jobHeld].short;
  const jobText = short === undefined ? '' : `; its CI job: ${short}`;
  return `${texts[outcome]}${heirText}${jobText}`;
}
