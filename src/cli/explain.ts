/** `gitea-runners explain`: the same look as `generate`, for people. */

import { findRun, type Run, type RunWanted } from '../clients/gitea/runs.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../config/runnergroup/scope.ts';
import { findTargets } from '../observe/find-targets.ts';
import type { PlanOfNow } from '../observe/look-and-plan.ts';
import type { Settings } from '../observe/settings.ts';
import { Failure } from '../shared/failure.ts';
import type { ExitCode, Io } from '../shared/io.ts';
import { keyText } from '../shared/key-text.ts';
import { jsonText } from '../shared/printable.ts';
import { paperOf } from '../shared/terminal.ts';
import { fromWithin } from './doctor/fixes.ts';
import { answerText } from './explain/answer.ts';
import { type Filter, filtered } from './explain/filter.ts';
import { withNotCreated } from './explain/not-created.ts';
import { findSubject, type Subject } from './explain/subject.ts';
import { watch } from './explain/watch.ts';
import { type ExplainArguments, splitArguments } from './explain/what.ts';
import type { WhereIAm } from './explain/where.ts';
import { explainText } from './explain-text.ts';
import { type Explanation, explanationOf, findGroup, groupOfJob } from './explanation.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import { askedOutput } from './flags/output.ts';
import { noGroups } from './no-groups.ts';
import { byHand, noCluster } from './own-kubeconfig.ts';
import { readAndPlan } from './read-and-plan.ts';
import { pathsFrom, settingsFrom } from './settings.ts';

type Format = 'text' | 'wide' | 'json';

/**
 * Prints one answer; with `--watch` again and again.
 * @throws Failure exit 2 when there is no RunnerGroup: without one Gitea is not asked, so "nothing is queued" would be a guess.
 */
export async function explain(args: readonly string[], flags: FlagsOf<'explain'>, io: Io): Promise<ExitCode> {
  const asked = splitArguments(args, io.cwd);
  const format = formatFrom(flags, io);
  const filter = filterFrom(flags, io);
  const once = async (): Promise<Answer> => {
    try {
      return await answer(asked, format, filter, flags, io);
    } catch (error) {
      const isForbidden = error instanceof Failure && error.kind === 'forbidden';
      if (isForbidden && io.env['GITEA_TOKEN'])
        io.err(`${AS_NO_OWNER} ${fromWithin(flagValue('argocdNamespace', flags, io))}\n\n`);
      throw error;
    }
  };
  if (flagValue('watch', flags, io)) {
    if (flagValue('exitCode', flags, io)) throw together('--exit-code');
    if (format === 'json') throw together('-o json');
    return await watch(async () => (await once()).text, io);
  }
  const { text, isUnserved } = await once();
  io.out(text);
  return isUnserved && flagValue('exitCode', flags, io) ? 4 : 0;
}

/** For a person's own token. */
const AS_NO_OWNER = 'Gitea tells owners only. Who is none asks with the token of the installation.';

function together(flag: string): Failure {
  return new Failure(
    'GR-FLAG-19',
    2,
    `read --watch: it does not go with ${flag}, because it never ends by itself. Leave one of them out.`,
  );
}

function formatFrom(flags: FlagsOf<'explain'>, io: Io): Format {
  return askedOutput('explain', flags, io) ?? (flagValue('json', flags, io) ? 'json' : 'text');
}

interface Answer {
  readonly text: string;
  /** A job that is shown is unserved. */
  readonly isUnserved: boolean;
}

function filterFrom(flags: FlagsOf<'explain'>, io: Io): Filter {
  return {
    group: flagValue('group', flags, io),
    repository: flagValue('repository', flags, io),
    states: flagValue('state', flags, io),
  };
}

async function answer(
  asked: ExplainArguments,
  format: Format,
  filter: Filter,
  flags: FlagsOf<'explain'>,
  io: Io,
): Promise<Answer> {
  const seen = await look(asked.paths, flags, io);
  const planned = explanationOf(seen.groups, seen.plan, seen.nowMs, evidenceOf(seen));
  const all = await toldByEvents(
    withNotCreated({ ...planned, ...(seen.where && { where: seen.where }) }),
    seen.settings,
  );
  const explanation = filtered(all, filter);
  const { what, written = '' } = asked;
  if (!what) {
    const isUnserved = explanation.jobs.some(({ state }) => state === 'unserved');
    if (format === 'json') return { text: jsonText(explanation), isUnserved };
    return { text: explainText(explanation, { ...paperOf(io), wide: format === 'wide' }, all), isUnserved };
  }
  const subject = await findSubject(what, written, {
    explanation,
    plan: seen.plan,
    groups: seen.groups,
    findRun: (wanted) => runOf(wanted, seen, io),
  });
  const isUnserved = isUnservedSubject(subject, explanation);
  if (format === 'json') return { text: jsonText({ checkedAt: explanation.checkedAt, ...subject }), isUnserved };
  return { text: answerText(subject, explanation, paperOf(io)), isUnserved };
}

/** Events are read only where a cluster is seen, and only for Jobs of which nothing else tells. */
async function toldByEvents(explanation: Explanation, settings: Settings): Promise<Explanation> {
  if (!explanation.liveJobs?.length) return explanation;
  const { withEvents } = await import('./explain/pod-events.ts');
  return await withEvents(explanation, settings);
}

function isUnservedSubject(subject: Subject, { jobs }: Explanation): boolean {
  if (subject.is === 'jobs') return subject.jobs.some(({ state }) => state === 'unserved');
  if (subject.is === 'out-of-scope') return true;
  if (subject.is !== 'group') return subject.is === 'broken';
  const { group } = subject;
  return jobs.some((job) => job.state === 'unserved' && findGroup(groupOfJob(job), [group]) !== undefined);
}

/** A plan, its groups, and how Gitea is asked again. */
interface Seen extends PlanOfNow {
  readonly groups: readonly RunnerGroup[];
  readonly settings: Settings;
  /** For groups of a cluster. */
  readonly where?: WhereIAm;
}

function evidenceOf({ seen, jobsWereListed }: Seen) {
  return seen && { ...seen, jobsWereListed };
}

/** RunnerGroups of files. Without PATH and without any in the current folder: those of the cluster. */
async function look(paths: readonly string[], flags: FlagsOf<'explain'>, io: Io): Promise<Seen> {
  const isOfCluster = flagValue('allNamespaces', flags, io) || flagValue('namespace', flags, io) !== undefined;
  const arePathsGiven = paths.length > 0 || Boolean(io.env['GITEA_RUNNERS_PATH']);
  if (arePathsGiven || !isOfCluster) {
    const settings = byHand(await settingsFrom(flags, io));
    const { read, ...planned } = await readAndPlan(paths, flags, io, {
      includeBlocked: true,
      isOnlyRead: true,
      settings,
    });
    if (read.groups.length > 0) return { ...planned, groups: read.groups, settings };
  }
  const none = noGroups({ ...pathsFrom(paths, flags, io), cwd: io.cwd, asksGitea: true });
  if (arePathsGiven) throw none;
  const { clusterSource, planOfCluster } = await import('./explain/cluster-source.ts');
  const source = await clusterSource(flags, io);
  if (!source) throw isOfCluster ? noCluster('GR-EXPLAIN-04', 'read RunnerGroups from the cluster', OR_FILES) : none;
  const planned = await planOfCluster(source, flags, io);
  if (planned.groups.length === 0 && planned.where.broken.length === 0) throw noneInCluster(planned.where);
  return planned;
}

const OR_FILES = 'Give --kubeconfig, or name files.';

function noneInCluster({ server, namespaces }: WhereIAm): Failure {
  const where = namespaces.length === 0 ? 'in any namespace' : `in namespace ${namespaces.join(', ')}`;
  const more = namespaces.length === 0 ? '' : 'give another one with -n, all with -A, or ';
  return new Failure(
    'GR-INPUT-09',
    2,
    `find RunnerGroups: no RunnerGroup ${where} of ${server}, and none in the current folder. To look elsewhere, ${more}name files.`,
  );
}

/** Asks each Gitea whose groups may have jobs of the repository. Groups that could not be planned have no token, or a Gitea that is down. */
async function runOf(wanted: RunWanted, { groups, troubles, settings }: Seen, io: Io): Promise<Run | undefined> {
  const [owner = '', name = ''] = wanted.repository.split('/');
  const inTrouble = new Set(troubles.map(keyText));
  const having = groups.filter((group) => hasJobsOf(group.scope, owner, name) && !inTrouble.has(keyText(group)));
  const { targets } = await findTargets(having, settings);
  for (const target of targets) {
    const { ca, onRequest, timeoutMs } = settings;
    const options = {
      deadlineMs: timeoutMs,
      env: io.env,
      ...(ca !== undefined && { ca }),
      ...(onRequest && { onRequest }),
    };
    const run = await findRun(target, wanted, options);
    if (run) return run;
  }
  return undefined;
}
