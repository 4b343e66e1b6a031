/**
 * Calculates the CI of a period and its cost. Pure. Gitea's history and the Jobs that Kubernetes still shows are joined by the runner's name.
 *
 *   CI minutes       from the start of a CI job to its end, by Gitea. Exact
 *   waiting          from when a CI job could run to its start. Gitea does not tell when that was, so these are bounds:
 *                      at most   since the creation of the job
 *                      at least  since the last job of its run that ended before its start: it may have been needed. Of a re-run up to Gitea 1.26: 0
 *   runner minutes   from the creation of a Kubernetes Job to its end. Where Kubernetes shows no Job any more: at least the CI minutes
 *   CPU and memory   requests of the Job times its runner minutes. Where it shows none: what the RunnerGroup, or the
 *                    size of it, asks for now, times CI minutes. If the size is not known, the least of all sizes
 *   needless start   a Job that ended without a CI job, as far as Kubernetes still shows it
 *
 * A CI job is of the group whose runner ran it. If Gitea has forgotten the runner's name, it is of the only group that covers it.
 */
import type { EndedJob, Period, ScopeHistory } from '../clients/gitea/history.ts';
import type { GiteaTarget } from '../clients/gitea/observe-gitea.ts';
import { requestsOf } from '../config/runnergroup/resource-requests.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { withSizes } from '../config/runnergroup/sizes.ts';
import { ownTemplate } from '../plan/own-pod.ts';
import { compareText, memo } from '../planner/collections.ts';
import type { GroupKey } from '../planner/decisions.ts';
import { groupHash, namePrefix, parseRunnerName } from '../planner/names.ts';
import { groupBy, keyText } from '../shared/keys.ts';
import { hasJobsOf } from '../shared/scope.ts';

export type Dimension = 'group' | 'organization' | 'repository' | 'workflow';

/** Requests of a runner: CPUs, and GiB of memory. */
interface Asked {
  readonly cpu: number;
  readonly memoryGib: number;
  /** The size of its group that it was made for. */
  readonly size?: string;
}

/** An ended Kubernetes Job of this program. Times in ms since 1970, by the clock of Kubernetes. */
export interface EndedRunner extends GroupKey, Asked {
  readonly createdAtMs: number;
  readonly endedAtMs: number;
  /** Repository of the CI job that it was last wanted for. */
  readonly repository?: string;
}

/** Per hour of a runner, of a requested CPU, of a requested GiB of memory. */
export type Price = Readonly<Record<'runnerHour' | 'cpuHour' | 'memoryGibHour', number>>;

/** The history of one scope. `url`: base URL of its Gitea. */
export type GiteaHistory = ScopeHistory & Pick<GiteaTarget, 'scope' | 'url'>;

export interface UsageEvidence {
  /** `GITEA_RUNNERS_INSTANCE`. */
  readonly instance: string;
  readonly groups: readonly RunnerGroup[];
  readonly histories: readonly GiteaHistory[];
  /** Undefined: Kubernetes was not looked at. */
  readonly runners: readonly EndedRunner[] | undefined;
  readonly period: Period;
  readonly priceOf?: (group: GroupKey, size: string | undefined) => Price;
}

/** A sum that may lack something. */
export interface AtLeast {
  readonly atLeast: number;
  /** True if Kubernetes showed the runner of each CI job in the sum. Needless starts that it no longer shows are in no sum. */
  readonly isExact: boolean;
}

/** The true value is between both. In seconds. */
type Range = Readonly<Record<'atLeast' | 'atMost', number>>;

export type UsageFigures = Readonly<ReturnType<typeof figuresOf>>;

/** `name`: `ci/linux`, `acme`, `acme/web`, `acme/web ci.yaml`. */
export type UsageRow = UsageFigures & Readonly<Record<'gitea' | 'name', string>>;

export type Usage = Readonly<ReturnType<typeof usageOf>>;

/** Clocks of Kubernetes and Gitea may differ by so much. */
const CLOCKS_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;

/** Returns one row for each group, organization, repository or workflow. */
export function usageOf(evidence: UsageEvidence, dimension: Dimension) {
  const { finder, giteas, jobs } = jobsIn(evidence);
  const withoutJob = giteas.flatMap((gitea) => runnersWithoutJob(gitea, finder, evidence));
  const uses = [...jobs, ...withoutJob].flatMap((use) => (typeof use === 'string' ? [] : use));
  const rows = groupBy(uses, (use) => JSON.stringify([use.gitea.url, nameOf(use, dimension)]));
  return {
    rows: [...rows]
      .map(([key, rowUses]): UsageRow => {
        const [gitea, name] = JSON.parse(key) as [string, string];
        return { gitea, name, ...figuresOf(rowUses, evidence) };
      })
      .sort((a, b) => compareText(a.gitea, b.gitea) || compareText(a.name, b.name)),
    total: figuresOf(uses, evidence),
    // What is in no row: CI jobs on foreign or forgotten runners, and ended Jobs that may have run a CI job.
    onOtherRunners: jobs.filter((use) => use === 'on-other-runner').length,
    ofUnknownGroup: jobs.filter((use) => use === 'of-unknown-group').length,
    unmatchedRunners: withoutJob.filter((use) => use === 'unmatched').length,
  };
}

function jobsIn(evidence: UsageEvidence) {
  const finder = groupFinder(evidence);
  const giteas = [...groupBy(evidence.histories, ({ url }) => url).values()].map(joined);
  return { finder, giteas, jobs: giteas.flatMap((gitea) => ranJobs(gitea, finder, evidence)) };
}

/** The CI jobs of one group, by the day of their end (UTC) and by repository. Pure. */
export function trendsOf(evidence: UsageEvidence, group: string) {
  const isOfGroup = (use: Use | string): use is Use => typeof use === 'object' && keyText(use.group) === group;
  const uses = jobsIn(evidence).jobs.filter(isOfGroup);
  const rowsBy = (nameOf: (use: Use) => string) =>
    [...groupBy(uses, nameOf)]
      .map(([name, rowUses]) => ({ name, ...figuresOf(rowUses, evidence) }))
      .sort((a, b) => compareText(a.name, b.name));
  return {
    days: rowsBy(({ job }) => new Date(job?.completedAtMs ?? 0).toISOString().slice(0, 10)),
    repositories: rowsBy(({ repository = '' }) => repository),
  };
}

/** The histories of all scopes of a Gitea, as one. */
type WholeGitea = ReturnType<typeof joined>;

function joined(scopes: readonly GiteaHistory[]) {
  const byId = new Map(scopes.flatMap(({ jobs }) => jobs.map((job) => [job.id, job] as const)));
  return {
    url: scopes[0]?.url ?? '',
    byId,
    /** Each job once, sorted by id. */
    jobs: [...byId.values()].sort((a, b) => a.id - b.id),
    users: new Set(scopes.flatMap(({ users }) => [...users])),
    hidden: scopes.flatMap(({ hidden }) => hidden),
    workflows: new Map(scopes.flatMap(({ workflows }) => [...workflows])),
    isWhole: scopes.every(({ isWhole }) => isWhole),
  };
}

/** A CI job that ran on a runner of a group, or a runner without a CI job. */
interface Use {
  readonly gitea: WholeGitea;
  readonly group: RunnerGroup;
  /** Absent for a runner of a warm pool that was never wanted for a CI job. */
  readonly repository: string | undefined;
  readonly runId: number | undefined;
  readonly job?: RanJob;
  /** Duration of the CI job. */
  readonly ciMs: number;
  readonly wait?: Range;
  /** Absent: Kubernetes does not show it any more. */
  readonly runner?: EndedRunner | undefined;
  /** Possible requests of the runner: it had one of these. */
  readonly requests: readonly Asked[];
}

function ranJobs(gitea: WholeGitea, finder: GroupFinder, { period, runners = [] }: UsageEvidence) {
  const runnerOf = new Map(runners.map((runner) => [keyText(runner), runner]));
  const waitOf = waitRangeOf(gitea.jobs, period);
  return withoutCopies(gitea.jobs).map((job): Use | 'on-other-runner' | 'of-unknown-group' => {
    const name = job.ran.runner;
    const group = name === undefined ? finder.byLabels(gitea.url, job) : finder.byRunner(gitea.url, name);
    if (!group) return name === undefined ? 'of-unknown-group' : 'on-other-runner';
    const { repository, runId } = job;
    const runner = name === undefined ? undefined : runnerOf.get(keyText({ namespace: group.namespace, name }));
    const { madeFor } = parseRunnerName(name ?? '') ?? {};
    const labels = madeFor && ('id' in madeFor ? gitea.byId.get(madeFor.id)?.labels : []);
    const requests = runner ? [runner] : finder.askedBy(group, job, labels);
    const ciMs = Math.max(0, job.completedAtMs - job.ran.startedAtMs);
    return { gitea, group, repository, runId, job, ciMs, wait: waitOf(job), runner, requests };
  });
}

/** Returns the runners that ended without a CI job. `unmatched`: it is not certain. */
function runnersWithoutJob(gitea: WholeGitea, finder: GroupFinder, { period, runners = [] }: UsageEvidence) {
  const { byId, hidden, isWhole, jobs, url, users } = gitea;
  const unnamed = jobs.flatMap(({ ran }) => (ran && ran.runner === undefined ? [ran.startedAtMs] : []));
  const lastUnnamedMs = unnamed.reduce((last, ms) => Math.max(last, ms), Number.NEGATIVE_INFINITY);
  return runners.flatMap((runner): readonly (Use | 'unmatched')[] => {
    const { createdAtMs, endedAtMs, name, namespace } = runner;
    const group = finder.byRunner(url, name);
    const isInPeriod = endedAtMs >= period.fromMs && endedAtMs < period.toMs;
    if (!group || group.namespace !== namespace || !isInPeriod || users.has(name)) return [];
    // The runner may have run a job whose runner has no name, or one whose row now belongs to a re-run.
    const [earliestMs, latestMs] = [createdAtMs - CLOCKS_MS, endedAtMs + CLOCKS_MS];
    const mayHaveRun = hidden.some(({ fromMs, toMs }) => fromMs <= latestMs && toMs >= earliestMs);
    if (!isWhole || mayHaveRun || lastUnnamedMs >= earliestMs) return ['unmatched'];
    const { madeFor } = parseRunnerName(name) ?? {};
    const wantedJob = madeFor && 'id' in madeFor ? byId.get(madeFor.id) : undefined;
    const repository = wantedJob?.repository ?? runner.repository;
    return [{ gitea, group, repository, runId: wantedJob?.runId, ciMs: 0, runner, requests: [runner] }];
  });
}

function nameOf({ gitea, group, repository, runId }: Use, dimension: Dimension): string {
  if (dimension === 'group') return keyText(group);
  if (repository === undefined) return '(none)';
  const [organization = ''] = repository.split('/');
  const workflow = `${repository} ${gitea.workflows.get(runId ?? 0) ?? '(unknown)'}`;
  return { organization, repository, workflow }[dimension];
}

type RanJob = EndedJob & Required<Pick<EndedJob, 'ran'>>;

/** Removes copied rows: from 1.27 on a re-run copies those of jobs that are not re-run (services/actions/rerun.go). */
function withoutCopies(jobs: readonly EndedJob[]): readonly RanJob[] {
  const ran = jobs.filter((job): job is RanJob => job.ran !== undefined);
  const copies = groupBy(ran, (job) => `${job.runId} ${job.ran.runnerId} ${job.ran.startedAtMs}`);
  return [...copies.values()].flatMap(([first]) => first ?? []);
}

type GroupFinder = ReturnType<typeof groupFinder>;

function groupFinder({ groups, instance }: UsageEvidence) {
  const byPrefix = new Map(groups.map((group) => [`${namePrefix(group.name)} ${groupHash(instance, group)}`, group]));
  // A pod is made once for each group and size.
  const askedNow = memo((group: RunnerGroup): Asked => {
    return { ...askedIn(ownTemplate(group).spec), ...(group.size && { size: group.size.name }) };
  });
  return {
    byRunner: (gitea: string, name: string): RunnerGroup | undefined => {
      const parts = parseRunnerName(name);
      const group = parts && byPrefix.get(`${parts.prefix} ${parts.groupHash}`);
      return group?.giteaUrl === gitea ? group : undefined;
    },
    /** Undefined: no group covers the job, or several do. */
    byLabels: (gitea: string, { labels, repository }: RanJob): RunnerGroup | undefined => {
      const [only, another] = groups.filter(
        (group) =>
          group.giteaUrl === gitea &&
          hasJobsOf(group.scope, repository) &&
          (labels.length > 0 || group.acceptUnlabelledJobs) &&
          withSizes(group).some((each) => labels.every((label) => each.labels.some(({ name }) => name === label))),
      );
      return another ? undefined : only;
    },
    /**
     * Returns the possible requests of a runner that Kubernetes no longer shows, by its group as it is now.
     * @param madeFor labels of the job that the runner was made for. Undefined: not known
     */
    askedBy: (group: RunnerGroup, { labels }: RanJob, madeFor: readonly string[] | undefined): readonly Asked[] => {
      const sizes = withSizes(group);
      const sizeOfJob = sizes.find(({ size }) => size && [...labels, ...(madeFor ?? [])].includes(size.name));
      if (sizeOfJob) return [askedNow(sizeOfJob)];
      return madeFor ? [askedNow(group)] : sizes.map(askedNow);
    },
  };
}

/** Returns what the containers of a pod request. */
export function askedIn(podSpec: unknown): Asked {
  const requests = requestsOf(podSpec);
  return { cpu: requests.get('cpu') ?? 0, memoryGib: (requests.get('memory') ?? 0) / 1024 ** 3 };
}

function waitRangeOf(jobs: readonly EndedJob[], { fromMs }: Period): (job: RanJob) => Range {
  const lastFirst = jobs.toSorted((a, b) => b.completedAtMs - a.completedAtMs);
  const endsOf = groupBy(lastFirst, ({ runId }) => runId);
  return ({ createdAtMs, isRerunInPlace, ran: { startedAtMs }, runId }) => {
    const atMost = Math.max(0, startedAtMs - createdAtMs) / 1000;
    if (isRerunInPlace) return { atLeast: 0, atMost };
    const lastEndMs = endsOf.get(runId)?.find(({ completedAtMs }) => completedAtMs <= startedAtMs)?.completedAtMs ?? 0;
    // Jobs of its run that ended before the period are unknown.
    const unseenMs = createdAtMs < fromMs ? Math.min(fromMs, startedAtMs) : 0;
    const readyByMs = Math.max(createdAtMs, lastEndMs, unseenMs);
    return { atLeast: Math.max(0, startedAtMs - readyByMs) / 1000, atMost };
  };
}

function figuresOf(uses: readonly Use[], { priceOf, runners }: UsageEvidence) {
  const countOf = (isCounted: (use: Use) => unknown): number => uses.filter(isCounted).length;
  const sumOf = (amountOf: (use: Use) => number): number =>
    Math.round(uses.reduce((sum, use) => sum + amountOf(use), 0) * 100) / 100;
  const jobs = countOf(({ job }) => job);
  const runnersSeen = countOf(({ runner }) => runner);
  const waitsOfAll = uses.flatMap(({ wait }) => wait ?? []);
  const isExact = runnersSeen === uses.length;
  // If the runner's Job is gone, the time of its CI job counts.
  const hoursOf = ({ ciMs, runner }: Use): number => (runner ? runner.endedAtMs - runner.createdAtMs : ciMs) / HOUR_MS;
  /** Sums hours × rate. Where the size is not known, the lowest rate counts. */
  const overHours = (rateOf: (use: Use, request: Asked) => number): AtLeast => {
    const leastRate = (use: Use): number => Math.min(...use.requests.map((request) => rateOf(use, request)));
    return { atLeast: sumOf((use) => hoursOf(use) * leastRate(use)), isExact };
  };
  const hourlyCost = (price: Price, { cpu, memoryGib }: Asked): number =>
    price.runnerHour + cpu * price.cpuHour + memoryGib * price.memoryGibHour;
  return {
    /** CI jobs that a runner took, and that ended in the period. */
    jobs,
    failed: countOf(({ job }) => job?.result === 'failure'),
    /** CI jobs whose group was found by labels, not by the name of the runner. */
    byLabels: countOf(({ job }) => job && job.ran.runner === undefined),
    ...(waitsOfAll.length > 0 && { waitP50: percentile(waitsOfAll, 0.5), waitP95: percentile(waitsOfAll, 0.95) }),
    ciMinutes: sumOf(({ ciMs }) => ciMs / 60_000),
    runnerMinutes: overHours(() => 60),
    /** Runners whose Jobs Kubernetes shows, with or without a CI job. */
    runnersSeen,
    ...(runners && { needlessStarts: uses.length - jobs }),
    cpuHours: overHours((_, { cpu }) => cpu),
    memoryGibHours: overHours((_, { memoryGib }) => memoryGib),
    ...(priceOf && { cost: overHours(({ group }, request) => hourlyCost(priceOf(group, request.size), request)) }),
  };
}

/** Returns the percentile of the lower bounds, and that of the upper bounds. */
function percentile(ranges: readonly Range[], share: number): Range {
  const rank = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length) - 1)] ?? 0;
  return { atLeast: rank(ranges.map(({ atLeast }) => atLeast)), atMost: rank(ranges.map(({ atMost }) => atMost)) };
}
