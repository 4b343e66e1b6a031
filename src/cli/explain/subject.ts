/** Selects a part of an explanation: which argument is WHAT, which object it names, and which rows the filters keep. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { brokenFor } from '../../answers/explanation.ts';
import type { JobState } from '../../answers/job-state.ts';
import { type ExplainedGroup, type ExplainedJob, type Explanation, groupOfJob } from '../../answers/model.ts';
import type { Run, RunWanted } from '../../clients/gitea/runs.ts';
import { STANDARD_INPUT } from '../../config/runnergroup/group-files.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { GroupKey, Plan, RunnerDecision } from '../../planner/decisions.ts';
import type { Job, LiveJob } from '../../planner/evidence.ts';
import { parseRunnerName } from '../../planner/names.ts';
import { renamed } from '../../planner/repositories.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { firstNames, printable } from '../../shared/printable.ts';
import { coverOf, hasJobsOf, type Scope } from '../../shared/scope.ts';
import { parseUrl } from '../../shared/url.ts';
import { withRun } from './runs-of-jobs.ts';

type What =
  /** `acme/api#8`: the number that Gitea shows beside the title of a run. */
  | { readonly is: 'run'; readonly repository: string; readonly number: number }
  /** `17`, `#17`, `job/17`: the first column of the table. With a repository when it comes from an address of Gitea's API. */
  | { readonly is: 'job'; readonly id: number }
  /** An address: the end of its path, from the repository on. */
  | { readonly is: 'page'; readonly path: string; readonly origin: string }
  /** `group/ci`, `runner/ci-7-1-9c31e0aa`, `runners/ci`, `ci`: a RunnerGroup, a runner or its pod. */
  | {
      readonly is: 'name';
      readonly name: string;
      readonly kind: 'group' | 'runner' | 'any';
      readonly namespace?: string;
    };

interface ExplainArguments {
  readonly what?: What;
  /** WHAT as it was written. */
  readonly written?: string;
  readonly paths: readonly string[];
}

const REPOSITORY_RUN = /^([\w.-]+\/[\w.-]+)#(\d{1,15})$/;
const JOB_ID = /^(?:#|jobs?\/)?(\d{1,15})$/;
const PAGE = /\/[\w.-]+\/[\w.-]+\/actions\/(?:runs|jobs)\/\d+(?:\/(?:jobs|attempts)\/\d+)*\/?$/;
/** Prefixes for kinds, as kubectl takes them: `pod/NAME`. */
const KINDS: ReadonlyMap<string, 'group' | 'runner'> = new Map([
  ...['group', 'rg', 'runnergroup', 'runnergroups'].map((word) => [word, 'group'] as const),
  ...['runner', 'pod', 'pods', 'job'].map((word) => [word, 'runner'] as const),
]);

/**
 * Separates WHAT from PATHs, in any order. A PATH exists, or looks like one (`isPath`).
 * @throws Failure exit 2 for two WHATs, or an address that is not Gitea's
 */
export function splitArguments(args: readonly string[], cwd: string): ExplainArguments {
  const paths: string[] = [];
  let reference: { readonly what: What; readonly written: string } | undefined;
  for (const arg of args) {
    const argReference = isPath(arg, cwd) ? undefined : readWhat(arg);
    if (argReference === undefined) paths.push(arg);
    else if (reference === undefined) reference = { what: argReference, written: arg };
    else {
      const message = `explain ${printable(reference.written)} and ${printable(arg)}: neither is a file or folder here, and only one thing is explained at a time. Name one.`;
      throw new Failure('GR-EXPLAIN-01', 2, message);
    }
  }
  return { paths, ...reference };
}

function isPath(arg: string, cwd: string): boolean {
  if (arg === STANDARD_INPUT || arg === '') return true;
  if (/^https?:\/\//.test(arg) || REPOSITORY_RUN.test(arg)) return false;
  return /^[./~]|\/$|\.(?:ya?ml|json)$/.test(arg) || existsSync(resolve(cwd, arg));
}

function readWhat(arg: string): What | undefined {
  const run = REPOSITORY_RUN.exec(arg);
  if (run) return { is: 'run', repository: run[1] ?? '', number: Number(run[2]) };
  const job = JOB_ID.exec(arg);
  if (job) return { is: 'job', id: Number(job[1]) };
  if (/^https?:\/\//.test(arg)) return readAddress(arg);
  const [first = '', second, ...more] = arg.split('/');
  if (more.length > 0) return undefined;
  if (second === undefined) return { is: 'name', kind: 'any', name: first };
  const kind = KINDS.get(first);
  return kind ? { is: 'name', kind, name: second } : { is: 'name', kind: 'any', namespace: first, name: second };
}

function readAddress(text: string): What {
  const url = parseUrl(text);
  const path = url && PAGE.exec(url.pathname)?.[0];
  if (!url || path === undefined) {
    const message = `explain ${printable(text.split(/[?#]/)[0] ?? '')}: it is not the page of a run or job. Such an address ends in /OWNER/REPOSITORY/actions/runs/NUMBER or …/runs/NUMBER/jobs/NUMBER.`;
    throw new Failure('GR-EXPLAIN-02', 2, message);
  }
  const id = /\/actions\/jobs\/(\d+)\/?$/.exec(path)?.[1];
  if (id !== undefined) return { is: 'job', id: Number(id) };
  return { is: 'page', path: path.replace(/\/$/, ''), origin: url.origin };
}

export type Subject =
  /** Unfinished jobs, the worst first. */
  | { readonly is: 'jobs'; readonly jobs: readonly ExplainedJob[]; readonly run?: Run }
  /** Only finished jobs were found, or none. */
  | { readonly is: 'finished'; readonly jobs: readonly Job[]; readonly run?: Run }
  /** No group has jobs of this repository. */
  | { readonly is: 'out-of-scope'; readonly repository: string }
  | { readonly is: 'group'; readonly group: ExplainedGroup }
  /** A RunnerGroup of the cluster that cannot be served. */
  | { readonly is: 'broken'; readonly group: string; readonly problem: string }
  | { readonly is: 'runner'; readonly runner: string; readonly decision?: RunnerDecision; readonly live?: LiveJob };

interface SearchedIn {
  readonly explanation: Explanation;
  readonly plan: Plan;
  readonly groups: readonly Pick<RunnerGroup, 'namespace' | 'name' | 'scope'>[];
  readonly findRun: (runReference: RunWanted) => Promise<Run | undefined>;
}

/** Returns the advice for a run or job that Gitea does not list. */
const whyUnseen = (run: string): string =>
  `Open its repository in Gitea. If it has another name or owner there, ask with that: gitea-runners explain ${run}. If not, it is an old one, or the token may not read it`;

/** Finished jobs are read only beside unfinished ones. */
const notNewest = ({ plan }: SearchedIn): string =>
  plan.jobs.some(({ job }) => job.status !== 'blocked')
    ? ', and it is not among the newest finished ones'
    : '. Finished ones were not read: if it has ended, ask about its run, OWNER/NAME#NUMBER';

/** Names that the error of an unknown name lists. */
const SHOWN = 5;

/** A repository, or a path that begins with one, by the name that Gitea has for it now. */
export function currentNameOf(path: string, scopes: readonly Scope[]): string {
  const names = scopes.flatMap((scope) => (scope.now && renamed(path, coverOf(scope) ?? '', scope.now)) ?? []);
  return names[0] ?? path;
}

/** Replaces a former name of a repository with Gitea's current name. */
export function withCurrentName(reference: What, scopes: readonly Scope[]): What {
  if (reference.is === 'run') return { ...reference, repository: currentNameOf(reference.repository, scopes) };
  return reference.is === 'page'
    ? { ...reference, path: `/${currentNameOf(reference.path.slice(1), scopes)}` }
    : reference;
}

/** Finds what WHAT names. @throws Failure exit 2 when nothing has that name. */
export async function findSubject(reference: What, argument: string, places: SearchedIn): Promise<Subject> {
  switch (reference.is) {
    case 'run':
      return await findRunSubject(reference, argument, places);
    case 'job': {
      const jobsOfId = jobsWhere(places, ({ id }) => id === reference.id);
      if (jobsOfId.jobs.length > 0) return await withRunOfWaiting(jobsOfId, places);
      const scopes = [...new Set(places.explanation.groups.map(({ scope }) => scope))];
      const scopesText = `Jobs of these scopes are seen: ${firstNames(scopes, SHOWN) || 'none'}`;
      const noJob = `there is no unfinished job of this id${notNewest(places)}`;
      const unseen = `${noJob}. ${scopesText}. ${elsewhere(reference.id, places)}`;
      throw unknown(argument, whyUnknown(unseen, places));
    }
    case 'page': {
      const pageJobs = jobsOfPage(reference, places);
      if (pageJobs.jobs.length > 0) return await withRunOfWaiting(pageJobs, places);
      const repository = /([^/]+\/[^/]+)\/actions\/runs\//.exec(reference.path)?.[1];
      if (repository !== undefined && !isInScope(repository, places.groups)) return { is: 'out-of-scope', repository };
      const noPage = `no unfinished job has this page${notNewest(places)}. ${whyUnseen('OWNER/NAME#NUMBER')}`;
      throw unknown(argument, whyUnknown(noPage, places, repository));
    }
    case 'name':
      return findName(reference, argument, places);
    default:
      return reference satisfies never;
  }
}

/** Returns where to ask about a job that no list has: the runner that was made for it, or its run. */
function elsewhere(id: number, { explanation: { liveJobs = [], runners } }: SearchedIn): string {
  const names = [...runners.map(({ runner }) => runner), ...liveJobs.map(({ name }) => name)];
  const runner = names.find((name) => {
    const { madeFor } = parseRunnerName(name) ?? {};
    return madeFor && 'id' in madeFor && madeFor.id === id;
  });
  return runner === undefined
    ? 'Jobs of other repositories, and jobs that Gitea has deleted, are not: ask about the run, gitea-runners explain OWNER/NAME#NUMBER'
    : `Gitea may have deleted it with its run. Runner ${runner} was made for it: gitea-runners explain runner/${runner}`;
}

async function findRunSubject(
  reference: What & { readonly is: 'run' },
  argument: string,
  places: SearchedIn,
): Promise<Subject> {
  const { number, repository } = reference;
  if (!isInScope(repository, places.groups)) return { is: 'out-of-scope', repository };
  const run = await places.findRun(reference);
  const isOf = (job: Job): boolean => equalsIgnoringCase(job.repository, run?.repository ?? repository);
  if (run) {
    const jobsOfRun = jobsWhere(places, (job) => job.runId === run.id && isOf(job));
    return jobsOfRun.is === 'finished' ? { ...jobsOfRun, run } : { ...withFactsOf(run, jobsOfRun), run };
  }
  const { jobs } = jobsWhere(places, (job) => job.id === number && isOf(job));
  const meant = jobs.length === 0 ? '' : `. A job has this id: gitea-runners explain ${number}`;
  const noRun = `Gitea shows no run ${number} of ${repository} among the unfinished and the newest ones`;
  const unseen = `${noRun}. ${whyUnseen(`OWNER/NAME#${number}`)}${meant}`;
  throw unknown(argument, whyUnknown(unseen, places, repository));
}

/** Returns why a job is not found. The jobs of broken groups are not seen, so these come before `why`, unless another group has the repository. */
function whyUnknown(why: string, { explanation: { where }, groups }: SearchedIn, repository?: string): string {
  const broken = repository === undefined ? (where?.broken ?? []) : brokenFor(repository, where);
  const isBroken = (group: GroupKey): boolean => broken.some((each) => each.group === keyText(group));
  const well = groups.filter((group) => !isBroken(group));
  if (broken.length === 0 || isInScope(repository, well)) return why;
  const texts = broken
    .slice(0, SHOWN)
    .map(({ group, problem }) => `RunnerGroup ${group} cannot be served, so its jobs are not seen: ${problem}`);
  const isSure = repository !== undefined && broken.some(({ scope }) => scope);
  const others = isSure || groups.length === 0 ? [] : [`Of the others, ${why}`];
  return [...texts.map((text) => text.replace(/[.?]$/, '')), ...others].join('. ');
}

function isInScope(repository: string | undefined, groups: SearchedIn['groups']): boolean {
  return repository !== undefined && groups.some(({ scope }) => hasJobsOf(scope, repository));
}

type JobsSubject = Subject & { readonly is: 'jobs' | 'finished' };

function withFactsOf(run: Run, jobsSubject: Subject & { readonly is: 'jobs' }) {
  return { ...jobsSubject, jobs: jobsSubject.jobs.map((job) => (job.job.runId === run.id ? withRun(job, run) : job)) };
}

/** Adds the run of waiting jobs. The run is not read if it adds nothing: its job runs, or needs another one. */
async function withRunOfWaiting(jobsSubject: JobsSubject, { findRun }: SearchedIn): Promise<Subject> {
  if (jobsSubject.is === 'finished') return jobsSubject;
  const waiting = jobsSubject.jobs.find(({ job, runHas }) => job.status === 'queued' || runHas?.length === 0);
  if (!waiting) return jobsSubject;
  const { repository, runId } = waiting.job;
  const run = await findRun({ repository, id: runId });
  if (!run) return jobsSubject;
  // If the job only waits for a runner, its run adds nothing.
  return { ...withFactsOf(run, jobsSubject), ...(waiting.job.status === 'blocked' && { run }) };
}

function jobsWhere({ explanation, plan }: SearchedIn, isWanted: (job: Job) => boolean): JobsSubject {
  const jobs = explanation.jobs.filter(({ job }) => isWanted(job));
  if (jobs.length > 0) return { is: 'jobs', jobs };
  const finished = plan.jobs.filter(({ job, verdict }) => verdict === 'done' && isWanted(job));
  return { is: 'finished', jobs: finished.map(({ job }) => job) };
}

/** Addresses come from Gitea's ROOT_URL, which may not be the address that people use, so the host decides only between several Giteas. */
function jobsOfPage({ path, origin }: What & { readonly is: 'page' }, places: SearchedIn) {
  // Gitea redirects /runs/8/attempts/2 to the run.
  const pagePath = path.replace(/\/attempts\/\d+/, '').toLowerCase();
  const pathOf = ({ url }: Job): string => parseUrl(url)?.pathname.toLowerCase() ?? '';
  const isPage = (job: Job): boolean => pathOf(job).endsWith(pagePath) || pathOf(job).includes(`${pagePath}/jobs/`);
  const here = jobsWhere(places, (job) => job.url.startsWith(`${origin}/`) && isPage(job));
  return here.jobs.length > 0 ? here : jobsWhere(places, isPage);
}

function findName(
  { name, kind: wanted, namespace }: What & { readonly is: 'name' },
  argument: string,
  { explanation }: SearchedIn,
): Subject {
  const isIt = (key: GroupKey): boolean => key.name === name && (namespace ?? key.namespace) === key.namespace;
  const isAny = (kind: 'group' | 'runner'): boolean => wanted === kind || wanted === 'any';
  const groups = isAny('group') ? explanation.groups.filter(isIt) : [];
  const runner = isAny('runner') ? findRunner(name, explanation) : undefined;
  const [group, another] = groups;
  if (another) {
    const names = groups.map(keyText).join(', ');
    throw unknown(argument, `several RunnerGroups have this name: ${names}. Write it with its namespace`);
  }
  if (group && runner)
    throw unknown(argument, `a group and a runner have this name: write group/${name} or runner/${name}`);
  if (group) return { is: 'group', group };
  if (runner) return runner;
  const broken = explanation.where?.broken.find((each) => isIt(keyOf(each.group)));
  if (broken && isAny('group')) return { is: 'broken', ...broken };
  const knownNames = namesOfGroups(explanation);
  // OWNER/NAME is also how people write a repository, and OWNER/NAME# the begin of a run.
  const repository = /^[\w.-]+\/[\w.-]+(?=#|$)/.exec(namespace === undefined ? '' : argument)?.[0];
  const hint = `. For a repository, give --repository ${repository}, or name a run, e.g. ${repository}#8`;
  const nothingNamed = `it is no file or folder, no RunnerGroup and no runner here. ${knownNames}`;
  throw unknown(argument, repository === undefined ? nothingNamed : nothingNamed + hint);
}

function groupKeys({ groups, where }: Explanation): readonly GroupKey[] {
  return [...groups, ...(where?.broken ?? []).map(({ group }) => keyOf(group))];
}

function namesOfGroups(explanation: Explanation): string {
  return `RunnerGroups: ${firstNames(groupKeys(explanation).map(keyText), SHOWN) || 'none'}`;
}

/** Finds the runner of a pod or Job. A pod has the name of its Job, which is that of the runner, and five characters more. */
function findRunner(name: string, { runners, liveJobs = [] }: Explanation): Subject | undefined {
  const names = [name, name.replace(/-[a-z0-9]{5}$/, '')];
  for (const runner of names) {
    const decision = runners.find((each) => each.runner === runner);
    const live = liveJobs.find((each) => each.name === runner);
    if (decision || live) return { is: 'runner', runner, ...(decision && { decision }), ...(live && { live }) };
  }
  return undefined;
}

function keyOf(text: string): GroupKey {
  const [namespace = '', name = ''] = text.split('/');
  return { namespace, name };
}

function equalsIgnoringCase(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function unknown(argument: string, why: string): Failure {
  return new Failure('GR-EXPLAIN-03', 2, `explain ${printable(argument)}: ${why}.`);
}

interface Filter {
  /** `ci` or `runners/ci` */
  readonly group?: string | undefined;
  /** `owner/name` */
  readonly repository?: string | undefined;
  readonly states?: readonly JobState[] | undefined;
}

/** Leaves out other jobs, and runners without a shown job. @throws Failure exit 2: no such group, empty would mean "all is well" */
export function filtered(explanation: Explanation, { group, repository, states }: Filter): Explanation {
  if (group === undefined && repository === undefined && states === undefined) return explanation;
  const isGroup = (key: GroupKey | undefined): boolean =>
    group === undefined || (key !== undefined && (key.name === group || keyText(key) === group));
  if (group !== undefined && !groupKeys(explanation).some(isGroup))
    throw unknown(`--group ${group}`, `there is no such RunnerGroup here. ${namesOfGroups(explanation)}`);
  const isShown = (job: ExplainedJob): boolean =>
    isGroup(groupOfJob(job)) &&
    (repository === undefined || equalsIgnoringCase(job.job.repository, repository)) &&
    (states === undefined || states.includes(job.state));
  const jobs = explanation.jobs.filter(isShown);
  const ofJobs = new Set(jobs.flatMap((job) => (job.verdict === 'served' ? job.runner : (job.job.runner ?? []))));
  const isWhole = repository === undefined && states === undefined;
  const groups = explanation.groups.filter(isGroup);
  const ofGroups = explanation.runners.filter((decision) => isGroup(decision.group));
  return { ...explanation, groups, jobs, runners: ofGroups.filter(({ runner }) => isWhole || ofJobs.has(runner)) };
}
