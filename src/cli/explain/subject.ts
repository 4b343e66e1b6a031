/** What WHAT names in an explanation. */

import type { Run, RunWanted } from '../../clients/gitea/runs.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import { hasJobsOf } from '../../config/runnergroup/scope.ts';
import type { GroupKey, Plan, RunnerDecision } from '../../planner/decisions.ts';
import type { Job, LiveJob } from '../../planner/evidence.ts';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/key-text.ts';
import { parseUrl } from '../../shared/parse-url.ts';
import { firstNames, printable } from '../../shared/printable.ts';
import type { ExplainedGroup, ExplainedJob, Explanation } from '../explanation.ts';
import type { What } from './what.ts';

/** The thing that is explained. */
export type Subject =
  /** Unfinished jobs, the worst first. */
  | { readonly is: 'jobs'; readonly jobs: readonly ExplainedJob[]; readonly run?: Run }
  /** Only finished jobs, or none. */
  | { readonly is: 'finished'; readonly jobs: readonly Job[]; readonly run?: Run }
  /** No group has jobs of the repository. */
  | { readonly is: 'out-of-scope'; readonly repository: string }
  | { readonly is: 'group'; readonly group: ExplainedGroup }
  /** A RunnerGroup of the cluster that cannot be served. */
  | { readonly is: 'broken'; readonly group: string; readonly problem: string }
  | { readonly is: 'runner'; readonly runner: string; readonly decision?: RunnerDecision; readonly live?: LiveJob };

/** Where WHAT is searched. */
export interface SearchedIn {
  readonly explanation: Explanation;
  readonly plan: Plan;
  /** Which repositories the groups have. */
  readonly groups: readonly Pick<RunnerGroup, 'scope'>[];
  /** Asks Gitea for a run. */
  readonly findRun: (wanted: RunWanted) => Promise<Run | undefined>;
}

/** Of a run or job that Gitea does not list. */
const WHY_UNSEEN =
  'It may be an old one, the repository may have another name, Actions may be switched off in the repository, or the token may not read it';

/** Names that the error of an unknown name lists. */
const SHOWN = 5;

/** @throws Failure exit 2 when nothing has that name. */
export async function findSubject(what: What, written: string, places: SearchedIn): Promise<Subject> {
  switch (what.is) {
    case 'run': {
      if (!isInScope(what.repository, places)) return { is: 'out-of-scope', repository: what.repository };
      const run = await places.findRun(what);
      if (run) return jobsOfRun(run, places);
      const job = jobsWhere(places, ({ id }, repository) => id === what.number && same(repository, what.repository));
      const meant = job.jobs.length === 0 ? '' : `. A job has this id: gitea-runners explain ${what.number}`;
      throw unknown(
        written,
        `Gitea shows no run ${what.number} of ${what.repository} among the unfinished and the newest ones. ` +
          `${WHY_UNSEEN}${meant}`,
      );
    }
    case 'job': {
      const found = jobsWhere(places, ({ id }) => id === what.id);
      if (found.jobs.length > 0) return await withRunOfWaiting(found, places);
      const scopes = [...new Set(places.explanation.groups.map(({ scope }) => scope))];
      throw unknown(
        written,
        `there is no unfinished job of this id, and it is not among the newest finished ones. Jobs of these scopes are seen: ${firstNames(scopes, SHOWN) || 'none'}`,
      );
    }
    case 'page': {
      const found = jobsOfPage(what, places);
      if (found.jobs.length > 0) return await withRunOfWaiting(found, places);
      const repository = /([^/]+\/[^/]+)\/actions\/runs\//.exec(what.path)?.[1];
      if (repository !== undefined && !isInScope(repository, places)) return { is: 'out-of-scope', repository };
      throw unknown(
        written,
        `no unfinished job has this page, and it is not among the newest finished ones. ${WHY_UNSEEN}`,
      );
    }
    case 'name':
      return findName(what, written, places);
    default:
      return what satisfies never;
  }
}

function isInScope(repository: string, { groups }: SearchedIn): boolean {
  const [owner = '', name = ''] = repository.split('/');
  return groups.some(({ scope }) => hasJobsOf(scope, owner, name));
}

function jobsOfRun(run: Run, places: SearchedIn): Subject & { readonly is: 'jobs' | 'finished' } {
  const found = jobsWhere(places, ({ runId }, repository) => runId === run.id && same(repository, run.repository), run);
  return found.is === 'jobs' ? { ...found, jobs: found.jobs.map((job) => withFactsOf(run, job)) } : found;
}

/** What has started the run tells whether a job may wait for an approval. Without Actions in the repository no job of it is given away. */
function withFactsOf({ event, isActionsOff }: Run, job: ExplainedJob): ExplainedJob {
  const isWaiting = isActionsOff && job.verdict !== 'running';
  return { ...job, event, ...(isWaiting && { isActionsOff, state: 'unserved' as const }) };
}

/** The run is not asked for where nothing of it is told: its job runs, or needs another one. */
async function withRunOfWaiting(
  found: Subject & { readonly is: 'jobs' | 'finished' },
  { findRun }: SearchedIn,
): Promise<Subject> {
  if (found.is === 'finished') return found;
  const waiting = found.jobs.find(({ job, runHas }) => job.status === 'queued' || runHas?.length === 0);
  if (!waiting) return found;
  const { repository, runId } = waiting.job;
  const run = await findRun({ repository, id: runId });
  if (!run) return found;
  const jobs = found.jobs.map((job) => (job.job.runId === runId ? withFactsOf(run, job) : job));
  // Of a job that only waits for a runner, its run has nothing to add.
  return { ...found, jobs, ...(waiting.job.status === 'blocked' && { run }) };
}

function jobsWhere(
  { explanation, plan }: SearchedIn,
  is: (job: Job, repository: string) => boolean,
  run?: Run,
): Subject & { readonly is: 'jobs' | 'finished' } {
  const jobs = explanation.jobs.filter(({ job }) => is(job, job.repository));
  if (jobs.length > 0) return { is: 'jobs', jobs, ...(run && { run }) };
  const finished = plan.jobs.flatMap(({ job, verdict }) =>
    verdict === 'done' && is(job, job.repository) ? [job] : [],
  );
  return { is: 'finished', jobs: finished, ...(run && { run }) };
}

/** Addresses come from Gitea's ROOT_URL, which may not be the address that people use, so the host decides only between several Giteas. */
function jobsOfPage({ path, origin }: What & { readonly is: 'page' }, places: SearchedIn) {
  // Gitea redirects /runs/8/attempts/2 to the run.
  const wanted = path.replace(/\/attempts\/\d+/, '').toLowerCase();
  const pathOf = ({ url }: Job): string => parseUrl(url)?.pathname.toLowerCase() ?? '';
  const isPage = (job: Job): boolean => pathOf(job).endsWith(wanted) || pathOf(job).includes(`${wanted}/jobs/`);
  const here = jobsWhere(places, (job) => job.url.startsWith(`${origin}/`) && isPage(job));
  return here.jobs.length > 0 ? here : jobsWhere(places, isPage);
}

function findName(
  { name, of, namespace }: What & { readonly is: 'name' },
  written: string,
  places: SearchedIn,
): Subject {
  const { explanation } = places;
  const isIt = (key: GroupKey): boolean =>
    key.name === name && (namespace === undefined || key.namespace === namespace);
  const groups = of === 'runner' ? [] : explanation.groups.filter(isIt);
  const broken = of === 'runner' ? [] : (explanation.where?.broken ?? []).filter((each) => isIt(keyOf(each.group)));
  const runner = of === 'group' ? undefined : findRunner(name, explanation);
  const [group, another] = groups;
  if (group && another) {
    throw unknown(
      written,
      `several RunnerGroups have this name: ${groups.map(keyText).join(', ')}. Write it with its namespace`,
    );
  }
  if (group && runner)
    throw unknown(written, `a group and a runner have this name: write group/${name} or runner/${name}`);
  if (group) return { is: 'group', group };
  if (runner) return runner;
  const [first] = broken;
  if (first) return { is: 'broken', ...first };
  const known = namesOfGroups(explanation);
  // OWNER/NAME is also how people write a repository, and OWNER/NAME# the begin of a run.
  const repository = /^[\w.-]+\/[\w.-]+(?=#|$)/.exec(namespace === undefined ? '' : written)?.[0];
  const hint =
    repository === undefined
      ? ''
      : `. For a repository, give --repository ${repository}, or name a run, e.g. ${repository}#8`;
  throw unknown(written, `it is no file or folder, no RunnerGroup and no runner here. ${known}${hint}`);
}

/** What there is, for the error of a name that is not there. */
function namesOfGroups({ groups, where }: Explanation): string {
  const known = [...groups.map(keyText), ...(where?.broken ?? []).map(({ group }) => group)];
  return `RunnerGroups: ${firstNames(known, SHOWN) || 'none'}`;
}

/** @throws Failure exit 2 when no RunnerGroup, served or not, is called so: `ci` or `runners/ci` */
export function checkGroupName(name: string, explanation: Explanation): void {
  const known = [...explanation.groups, ...(explanation.where?.broken ?? []).map(({ group }) => keyOf(group))];
  if (known.some((key) => key.name === name || keyText(key) === name)) return;
  throw unknown(`--group ${name}`, `there is no such RunnerGroup here. ${namesOfGroups(explanation)}`);
}

/** A pod has the name of its Job, which is that of the runner, and five characters behind it. */
function findRunner(
  name: string,
  { runners, liveJobs = [] }: Explanation,
): (Subject & { readonly is: 'runner' }) | undefined {
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

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function unknown(written: string, why: string): Failure {
  return new Failure('GR-EXPLAIN-03', 2, `explain ${printable(written)}: ${why}.`);
}
