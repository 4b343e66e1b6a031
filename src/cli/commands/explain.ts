/** `gitea-runners explain`: the same look as `generate`, for people. */
import { withSentences } from '../../answers/answer.ts';
import { awaitedIn } from '../../answers/awaited.ts';
import { explanationOf, withBroken, withNotCreated } from '../../answers/explanation.ts';
import { type Explanation, findGroup, groupOfJob } from '../../answers/model.ts';
import { jobOfRunner, runnerSentences } from '../../answers/runner-answer.ts';
import { findRun, nameOfRepositoryNow, type Run, type RunWanted } from '../../clients/gitea/runs.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { findTargets } from '../../plan/find-targets.ts';
import { withNamesNow } from '../../plan/plan-groups.ts';
import { requestOptions, type Settings } from '../../plan/settings.ts';
import { pause, systemClock } from '../../shared/clock.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { canMove, type ExitCode, type Io, paperOf } from '../../shared/io.ts';
import { keyText } from '../../shared/keys.ts';
import { jsonText, printable } from '../../shared/printable.ts';
import { hasJobsOf } from '../../shared/scope.ts';
import { withEvents } from '../explain/cluster-facts.ts';
import { answerText } from '../explain/explain-answer.ts';
import { explainText } from '../explain/explain-text.ts';
import { withNamesBefore } from '../explain/names-before.ts';
import { withRuns } from '../explain/runs-of-jobs.ts';
import {
  currentNameOf,
  filtered,
  findSubject,
  type Subject,
  splitArguments,
  withCurrentName,
} from '../explain/subject.ts';
import { askedOutput, type FlagsOf, flagValue } from '../flags/flags.ts';
import { type ExplainedPlan, fromFilesOrCluster, planOfCluster } from '../reading/cluster-source.ts';
import { fromWithin } from '../reading/finding.ts';
import { readAndPlan } from '../reading/read-and-plan.ts';

/** Runs the command. @throws Failure exit 2 if there is no RunnerGroup: "nothing is queued" would be a guess */
export async function explain(args: readonly string[], flags: FlagsOf<'explain'>, io: Io): Promise<ExitCode> {
  const request = askedFrom(args, flags, io);
  const answerNow = async () => {
    try {
      return await answer(request, flags, io);
    } catch (error) {
      // With `GITEA_TOKEN` a person asks with his own rights.
      const inside = fromWithin(flagValue('argocdNamespace', flags, io));
      if (!(error instanceof Failure && error.kind === 'forbidden' && io.env['GITEA_TOKEN'])) throw error;
      const next = `If you are no owner, ask with the token of the installation. ${inside}`;
      throw new Failure(error.code, error.exit, `${error.message}\n${next}`, error.kind);
    }
  };
  const exitCode = flagValue('exitCode', flags, io);
  if (flagValue('watch', flags, io)) {
    const conflictingFlag = exitCode ? '--exit-code' : request.format === 'json' && '-o json';
    const message = `read --watch: it does not go with ${conflictingFlag}, because it never ends by itself. Leave one of them out.`;
    if (conflictingFlag) throw new Failure('GR-FLAG-19', 2, message);
    return await watch(async () => (await answerNow()).text, io);
  }
  const { text, isUnserved } = await answerNow();
  io.out(text);
  return isUnserved && exitCode ? 4 : 0;
}

function askedFrom(args: readonly string[], flags: FlagsOf<'explain'>, io: Io) {
  return {
    ...splitArguments(args, io.cwd),
    format: askedOutput('explain', flags, io) ?? (flagValue('json', flags, io) ? 'json' : 'text'),
    filter: {
      group: flagValue('group', flags, io),
      repository: flagValue('repository', flags, io),
      states: flagValue('state', flags, io),
    },
  };
}

/** Returns the text of the answer. `isUnserved`: one of the shown jobs is unserved. */
async function answer(request: ReturnType<typeof askedFrom>, flags: FlagsOf<'explain'>, io: Io) {
  const { paths, format, filter, what, written = '' } = request;
  const foundPlan = await look(paths, flags, io);
  const explainedPlan = { ...foundPlan, groups: withNamesNow(foundPlan.groups, foundPlan.plan) };
  const { groups, nowMs, plan, seen, settings, where } = explainedPlan;
  const placed = withBroken(withNotCreated({ ...explanationOf(groups, plan, nowMs, seen), ...(where && { where }) }));
  const withFormerNames = await withNamesBefore(await withEvents(placed, settings), groups, settings);
  const all = what ? withFormerNames : await withRuns(withFormerNames, () => targetsOf(explainedPlan), settings);
  const scopes = groups.map(({ scope }) => scope);
  const { repository } = filter;
  const explanation = filtered(all, { ...filter, repository: repository && currentNameOf(repository, scopes) });
  const paper = paperOf(io);
  if (!what) {
    const isUnserved = explanation.jobs.some(awaitedIn(all).isUnserved);
    // What a shown job waits for may be filtered out.
    if (format === 'json') return { text: jsonText(withSentences(explanation, all)), isUnserved };
    return { text: explainText(explanation, { ...paper, wide: format === 'wide' }, all), isUnserved };
  }
  const places = { explanation, plan, groups, findRun: (run: RunWanted) => runOf(run, explainedPlan) };
  const subject = await findSubject(withCurrentName(what, scopes), written, places);
  const isUnserved = isUnservedSubject(subject, explanation);
  const { checkedAt } = explanation;
  const answerFields =
    subject.is === 'jobs' ? withSentences(subject, explanation) : withRunnerSentences(subject, explanation);
  if (format === 'json') return { text: jsonText({ checkedAt, ...answerFields }), isUnserved };
  return { text: answerText(subject, explanation, paper), isUnserved };
}

function withRunnerSentences(subject: Subject, explanation: Explanation) {
  return subject.is === 'runner' ? { ...subject, ...runnerSentences(subject, explanation) } : subject;
}

function isUnservedSubject(subject: Subject, explanation: Explanation): boolean {
  const { jobs } = explanation;
  const { isUnserved } = awaitedIn(explanation);
  if (subject.is === 'jobs') return subject.jobs.some(isUnserved);
  if (subject.is === 'runner') return [jobOfRunner(explanation, subject.runner) ?? []].flat().some(isUnserved);
  if (subject.is === 'out-of-scope') return true;
  if (subject.is !== 'group') return subject.is === 'broken';
  const { group } = subject;
  return jobs.some((job) => job.state === 'unserved' && findGroup(groupOfJob(job), [group]) !== undefined);
}

/** Plans the RunnerGroups of files. Without PATH and without any in the current folder: those of the cluster. */
async function look(paths: readonly string[], flags: FlagsOf<'explain'>, io: Io): Promise<ExplainedPlan> {
  const ofFiles = async (settings: Settings): Promise<ExplainedPlan | undefined> => {
    const planOptions = { includeBlocked: true, isOnlyRead: true, settings };
    const { read, ...planned } = await readAndPlan(paths, flags, io, planOptions);
    return read.groups.length > 0 ? { ...planned, groups: read.groups, settings } : undefined;
  };
  return await fromFilesOrCluster(paths, flags, io, ofFiles, async (source, reader) => {
    const planned = await planOfCluster(source, reader, flags, io);
    const { server, context, namespaces, broken } = planned.where;
    if (planned.groups.length + broken.length > 0) return planned;
    const namespaceText = namespaces.length === 0 ? 'in any namespace' : `in namespace ${namespaces.join(', ')}`;
    const contextText = context === undefined ? '' : ` (context ${context})`;
    const advice = namespaces.length === 0 ? '' : 'give another namespace with -n, all with -A, ';
    const message = `find RunnerGroups: no RunnerGroup ${namespaceText} of ${server}${contextText}, and none in the current folder. To look elsewhere, ${advice}another cluster with --kubeconfig or kubectl config use-context, or name files.`;
    throw new Failure('GR-INPUT-09', 2, message);
  });
}

/** Returns the looks of the matching groups. Groups in trouble have no token, or a Gitea that is down. */
async function targetsOf({ groups, settings, troubles }: ExplainedPlan, fits = (_: RunnerGroup): boolean => true) {
  const inTrouble = new Set(troubles.map(keyText));
  const askable = groups.filter((group) => fits(group) && !inTrouble.has(keyText(group)));
  return (await findTargets(askable, settings)).targets;
}

/** Asks each Gitea whose groups may have jobs of the repository. */
async function runOf(runReference: RunWanted, planned: ExplainedPlan): Promise<Run | undefined> {
  const { settings } = planned;
  const targets = await targetsOf(planned, ({ scope }) => hasJobsOf(scope, runReference.repository));
  for (const target of targets) {
    const run = await findRun(target, runReference, requestOptions(settings));
    if (run) return run;
  }
  const [target] = targets;
  if (!target || !('number' in runReference)) return undefined;
  const { number, repository } = runReference;
  const now = await orFailure(nameOfRepositoryNow(target, repository, requestOptions(settings)));
  if (typeof now !== 'string') return undefined;
  const ask = `gitea-runners explain ${now}#${number}`;
  throw new Failure('GR-EXPLAIN-03', 2, `explain ${repository}#${number}: it is ${now} in Gitea now: ${ask}.`);
}

/** Time between two looks of `--watch`, ms: the shortest that `serve` takes, too. */
const EVERY_MS = 5_000;
/** Moves the cursor to the top left and clears the screen. The terminal keeps the lines that were scrolled away. */
const CLEAR = '\x1b[H\x1b[2J';

/** Prints what `show` returns, again and again until Ctrl-C. A later error is shown in its place. @returns 130 */
async function watch(show: () => Promise<string>, io: Io): Promise<ExitCode> {
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  process.once('SIGINT', stop);
  try {
    for (let look = 1; !ending.signal.aborted; look += 1) {
      const text = await show().catch((error: unknown) => {
        // Exit 2 is a mistake of the input. At a later look a file may be half saved, so it is shown and retried.
        if (!(error instanceof Failure) || (error.exit !== 1 && look === 1)) throw error;
        return `error: ${error.code} ${error.message.split('\n').map(printable).join('\n')}\n`;
      });
      if (ending.signal.aborted) break;
      const head = `${new Date(io.now()).toISOString().slice(11, 19)} UTC, every ${EVERY_MS / 1000} s, Ctrl-C ends\n\n`;
      io.out(canMove(io) ? CLEAR + head + text : `${head}${text}\n`);
      await pause(systemClock, EVERY_MS, ending.signal);
    }
    return 130;
  } finally {
    process.off('SIGINT', stop);
  }
}
