/**
 * Days of CI on a simulated Gitea, with all that really happened: when each job could run, which runner ran it, when each pod came and went.
 * Runners take whichever job comes first, as with Gitea; some find none. Times are milliseconds, so that whole seconds of Gitea show.
 */
import type { GiteaJob } from '../../../simulator/gitea/gitea.ts';
import { RerunRefused } from '../../../simulator/gitea/reruns.ts';
import { type Simulator, startSimulator } from '../../../simulator/gitea/simulator.ts';
import type { GiteaVersion } from '../../../simulator/gitea/versions.ts';
import { runnerName } from '../../../src/planner/names.ts';
import { Random } from '../../simulation/random.ts';
import { TOKEN } from '../../support/start-acme.ts';

export interface PlayedGroup {
  readonly name: string;
  readonly org: string;
  readonly label: string;
  readonly cpu: number;
  /** Size of the job. A job chooses it by this label, beside the label of the group. */
  readonly size?: { readonly name: string; readonly cpu: number };
}

export interface PlayedRunner {
  readonly name: string;
  readonly group: PlayedGroup;
  /** CPUs of the runner's size. */
  readonly cpu: number;
  /** The job that the runner was made for. */
  readonly wanted: { readonly id: number; readonly repository: string; readonly workflow: string };
  readonly createdMs: number;
  endedMs?: number;
  /** Absent: it found no work. */
  ran?: PlayedJob;
}

/** A stay of a CI job that a runner took, as it was. */
export interface PlayedJob {
  readonly id: number;
  readonly repository: string;
  readonly workflow: string;
  /** The size that it asks for. */
  readonly size: string | undefined;
  readonly readyMs: number;
  readonly startedMs: number;
  readonly endedMs?: number;
  readonly failed?: boolean;
  /** Up to 1.26 a re-run takes its row: Gitea shows this stay no more. */
  readonly isHidden?: true;
}

export interface Played {
  readonly simulator: Simulator;
  readonly nowMs: number;
  readonly runners: readonly PlayedRunner[];
}

export const GROUPS: readonly PlayedGroup[] = [
  { name: 'linux', org: 'acme', label: 'linux', cpu: 2, size: { name: 'small', cpu: 0.5 } },
  { name: 'large', org: 'acme', label: 'large', cpu: 8 },
  { name: 'beta', org: 'beta', label: 'linux', cpu: 1, size: { name: 'big', cpu: 6 } },
];
const REPOSITORIES = ['acme/web', 'acme/api', 'beta/site'];
const WORKFLOWS = ['ci.yaml', 'nightly.yaml'];
export const BEGIN_MS = Date.parse('2026-03-02T00:00:00Z');
const HOUR_MS = 3_600_000;

interface Plan {
  readonly seed: number;
  readonly version: GiteaVersion;
  readonly hours: number;
  readonly reruns: boolean;
  /** Gitea's nightly `cleanup_actions`, at 3 o'clock. */
  readonly cleansUp: boolean;
}

export async function play({ cleansUp, hours, reruns, seed, version }: Plan): Promise<Played> {
  const random = new Random(seed, 'history');
  let nowMs = BEGIN_MS;
  const simulator = await startSimulator({ version, now: () => nowMs });
  const { gitea, url } = simulator;
  gitea.addUser('anna');
  for (const org of ['acme', 'beta']) gitea.addOrg(org, { owners: ['anna'] });
  for (const repository of REPOSITORIES) gitea.addRepo(repository);
  gitea.addToken('anna', ['read:organization'], TOKEN);

  const runners: PlayedRunner[] = [];
  const due: { readonly atMs: number; readonly act: () => void }[] = [];
  const after = (ms: number, act: () => void): void =>
    void due.push({ atMs: nowMs + Math.max(1, Math.round(ms)), act });
  const readyAt = new Map<string, number>();
  const stayOf = (job: GiteaJob): string =>
    `${job.id} ${job.status === 'running' && version !== '1.27.3' ? job.attempt - 1 : job.attempt}`;

  const groupOf = (job: GiteaJob): PlayedGroup | undefined => {
    const owner = repositoryOf(simulator, job).split('/')[0];
    return GROUPS.find((group) => group.org === owner && job.labels?.includes(group.label));
  };

  /** Notes which jobs can run since this moment, and gives each a runner. */
  const notice = (): void => {
    for (const job of gitea.state.openJobs.values()) {
      const key = stayOf(job);
      if (job.status !== 'waiting' || readyAt.has(key)) continue;
      readyAt.set(key, nowMs);
      const group = groupOf(job);
      if (!group) throw new Error(`no group for job ${job.id}`);
      const copies = random.chance(0.08) ? 2 : 1;
      for (let copy = 0; copy < copies; copy += 1) after(random.seconds(0.5, 90) * 1000, () => start(group, job));
    }
  };

  const start = (group: PlayedGroup, wanted: GiteaJob): void => {
    const named = { namespace: 'runners', name: group.name, origin: url, templateHash: '' };
    const stay = { id: wanted.id, attempt: Number(stayOf(wanted).split(' ')[1]) };
    let ordinal = 0;
    while (runners.some(({ name }) => name === runnerName('', named, stay, ordinal))) ordinal += 1;
    const size = sizeOf(group, wanted);
    const runner: PlayedRunner = {
      name: runnerName('', named, stay, ordinal),
      group,
      cpu: size?.cpu ?? group.cpu,
      wanted: jobFacts(wanted),
      createdMs: nowMs,
    };
    runners.push(runner);
    after(random.seconds(2, 60) * 1000, () => {
      const scope = { kind: 'owner', owner: group.org } as const;
      const { id } = gitea.register({ name: runner.name, scope, labels: [group.label, ...(size ? [size.name] : [])] });
      ask(runner, id, 30);
    });
  };

  const ask = (runner: PlayedRunner, id: number, tries: number): void => {
    const job = gitea.poll(id);
    if (job) {
      const played: PlayedJob = { ...jobFacts(job), startedMs: nowMs };
      runner.ran = played;
      after(random.seconds(1, 1500) * 1000, () => {
        // Up to 1.26 a job that is cancelled has ended at once.
        if (runner.ran?.endedMs === undefined) {
          const { status } = gitea.finish(id, random.chance(0.2) ? 'failure' : 'success');
          runner.ran = { ...played, endedMs: nowMs, failed: status === 'failure' };
        }
        after(random.seconds(1, 6) * 1000, () => {
          runner.endedMs = nowMs;
        });
      });
    } else if (tries > 0) after(10_000, () => ask(runner, id, tries - 1));
    else {
      runner.endedMs = nowMs;
      gitea.deleteRunner(id);
    }
  };

  const sizeOf = ({ size }: PlayedGroup, { labels }: GiteaJob): PlayedGroup['size'] =>
    size && labels?.includes(size.name) ? size : undefined;

  const jobFacts = (job: GiteaJob) => ({
    id: job.id,
    size: GROUPS.find(({ size }) => size && job.labels?.includes(size.name))?.size?.name,
    repository: repositoryOf(simulator, job),
    workflow: gitea.state.runs.get(job.runId)?.workflow ?? '',
    readyMs: readyAt.get(stayOf(job)) ?? Number.NaN,
  });

  const push = (): void => {
    const repository = random.pick(REPOSITORIES);
    const runsOn = (): string[] => {
      const isOfAcme = repository.startsWith('acme');
      if (isOfAcme && random.chance(0.3)) return ['large'];
      return ['linux', ...(random.chance(0.4) ? [isOfAcme ? 'small' : 'big'] : [])];
    };
    const { run } = gitea.push(repository, {
      workflow: random.pick(WORKFLOWS),
      jobs: [
        { key: 'build', runsOn: runsOn() },
        { key: 'test', runsOn: runsOn(), matrix: ['a', 'b'].slice(0, random.whole(1, 2)) },
        { key: 'deploy', runsOn: runsOn(), needs: ['build', 'test'] },
      ],
    });
    if (reruns && random.chance(0.15)) after(random.seconds(600, 9000) * 1000, () => rerun(run.id));
    if (random.chance(0.05)) after(random.seconds(1, 300) * 1000, () => cancel(run.id));
    if (random.chance(0.1)) takeByStaticRunner(repository);
    after(random.gap(20 * 60) * 1000, push);
  };

  const cancel = (runId: number): void => {
    gitea.cancelRun(runId);
    for (const runner of runners) {
      const { ran } = runner;
      const isCancelled = ran && !ran.endedMs && gitea.job(ran.id).status === 'cancelled';
      if (isCancelled) runner.ran = { ...ran, endedMs: nowMs, failed: false };
    }
  };

  /** Re-runs all jobs, or one with those that need it: then Gitea 1.27 copies the rows of the others. */
  const rerun = (runId: number): void => {
    const [first] = gitea.jobsOfRun(runId);
    try {
      gitea.rerun(runId, random.chance(0.5) ? first?.id : undefined);
    } catch (error) {
      if (error instanceof RerunRefused) return;
      throw error;
    }
    if (version === '1.27.3') return;
    const reset = new Set(gitea.jobsOfRun(runId).flatMap(({ id, taskId }) => (taskId === 0 ? [id] : [])));
    for (const runner of runners)
      if (runner.ran && reset.has(runner.ran.id)) runner.ran = { ...runner.ran, isHidden: true };
  };

  const takeByStaticRunner = (repository: string): void => {
    const scope = { kind: 'repo', repo: repository } as const;
    const { id } = gitea.register({
      name: 'vm-1',
      scope,
      labels: ['linux', 'large', 'small', 'big'],
      ephemeral: false,
    });
    if (!gitea.poll(id)) return;
    after(random.seconds(1, 300) * 1000, () => {
      if (gitea.jobOfRunner(id)) gitea.finish(id);
    });
  };

  push();
  for (let hour = 3; cleansUp && hour < hours; hour += 24) after(hour * HOUR_MS, () => gitea.cleanUp());
  const endMs = BEGIN_MS + hours * HOUR_MS;
  while (due.length > 0) {
    due.sort((a, b) => a.atMs - b.atMs);
    const [next] = due.splice(0, 1);
    if (!next || next.atMs > endMs) break;
    nowMs = next.atMs;
    next.act();
    notice();
  }
  nowMs = endMs;
  return { simulator, nowMs, runners };
}

function repositoryOf({ gitea }: Simulator, { repoId }: GiteaJob): string {
  for (const { fullName, id } of gitea.state.repos.values()) if (id === repoId) return fullName;
  throw new Error(`no repository ${repoId}`);
}
