/** Effects of commands on the world, with a sentence for each. Objects are picked by number among the existing ones. */
import { RerunRefused } from '../../simulator/gitea/reruns.ts';
import type { Intercept } from '../../simulator/gitea/simulator.ts';
import type { Fault } from './faults.ts';
import { type KubeJob, REPOS, type World } from './world.ts';

/** The nth of those there are. */
export function nth<T>(list: readonly T[], n: number): T {
  const item = list[n % Math.max(1, list.length)];
  if (item === undefined) throw new Error('nothing to pick');
  return item;
}

const LABELS = [['linux'], ['gpu'], ['linux', 'gpu'], ['windows']];

export function push(world: World, n: number, legs: number, needs: boolean): string {
  const runsOn = nth(LABELS, n < 12 ? 0 : n);
  const build = { key: 'build', runsOn, matrix: Array.from({ length: legs }, (_, i) => String(i)) };
  const jobs = needs ? [build, { key: 'deploy', runsOn: ['linux'], needs: ['build'], always: n % 2 === 0 }] : [build];
  const repo = world.nameOf(nth(REPOS, n));
  const run = world.gitea.push(repo, { jobs });
  return `run ${run.run.id} of ${repo}, jobs ${run.jobs.map(({ id }) => id).join(', ')} on ${runsOn.join('+')}`;
}

/** Somebody gives the organization or a repository another name. The groups keep the old one. */
export function rename(world: World, n: number): string {
  const repo = world.nameOf(nth(REPOS, n));
  const [owner = '', name = ''] = repo.split('/');
  if (n % 2 === 0) world.gitea.renameRepo(repo, `${name}-2`);
  else world.gitea.renameOwner(owner, `${owner}-2`);
  return `${repo} is now ${world.nameOf(nth(REPOS, n))}`;
}

export function take(world: World, job: KubeJob): string {
  const taken = world.call(job, (id) => world.gitea.poll(id));
  // The first log lines: for 10 s from now, its row shows busy.
  if (taken) world.call(job, (id) => world.gitea.report(id));
  return `${job.name} takes ${taken ? `job ${taken.id}` : 'nothing'}`;
}

export function finish(world: World, job: KubeJob, good: boolean): string {
  const ended = world.call(job, (id) => world.gitea.finish(id, good ? 'success' : 'failure'));
  if (ended) world.end(job, 'complete');
  return `${job.name} ends job ${ended?.id ?? '(its row is gone)'}`;
}

export function cancel(world: World, n: number): string {
  const job = nth(
    world.gitea.jobs().filter(({ stopped }) => stopped === 0),
    n,
  );
  const ran = world.living('busy').filter((of) => world.jobRunBy(of)?.id === job.id);
  world.gitea.cancelJob(job.id);
  // Up to 1.26 the row goes at once, and the runner with its next report.
  for (const of of ran) if (job.status === 'cancelled') world.end(of, 'failed');
  return `job ${job.id} is ${job.status}`;
}

export function rerun(world: World, n: number): string {
  const run = nth([...world.gitea.state.runs.keys()], n);
  try {
    return `run ${run} again: jobs ${world.gitea
      .rerun(run)
      .map(({ id }) => id)
      .join(', ')}`;
  } catch (error) {
    if (error instanceof RerunRefused) return `run ${run} is not done`;
    throw error;
  }
}

export function changeGroup(world: World, n: number, change: (group: World['groups'][number]) => object): string {
  const chosen = nth(world.groups, n);
  world.groups = world.groups.map((group) => (group === chosen ? { ...group, ...change(group) } : group));
  const { name, maxActiveRunners, suspend, labels } = nth(world.groups, n);
  return `${name} has cap ${maxActiveRunners}${suspend ? ', suspended' : ''}, labels ${labels.join('+')}`;
}

/** A runner takes a job after so many requests of the look. */
export function takenDuringLook(world: World, n: number, after: number): Fault {
  let requests = 0;
  const hook = (): Intercept => () => {
    requests += 1;
    const idle = world.living('idle');
    if (requests === after && idle.length > 0) world.tell(`   after ${after} requests ${take(world, nth(idle, n))}`);
    return false;
  };
  // A look that sees a list move may give up.
  return { mustFail: false, hook };
}
