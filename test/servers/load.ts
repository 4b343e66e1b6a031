/** The morning: what people do, in order, while the loop runs. */
import type { Account, ApiJob } from './account.ts';
import type { GiteaVersion } from './build.ts';
import type { RunnerRecord } from './cluster.ts';
import type { GroupPass, Loop, Pass } from './loop.ts';
import { groupOf, type RunnerJob } from './manifest.ts';
import type { Plan, Site } from './site.ts';
import { type Stay, Watcher } from './watcher.ts';
import { workflow } from './workflows.ts';

export interface LoadResult {
  /** All jobs, oldest first. */
  readonly jobs: readonly ApiJob[];
  /** How many jobs the dispatched workflows have, counted by hand. */
  readonly expectedJobs: number;
  readonly passes: readonly Pass[];
  readonly runners: readonly RunnerRecord[];
  readonly stays: readonly Stay[];
}

const REPOSITORIES = ['web', 'api', 'app'];
const CHAIN = workflow({
  first: { runsOn: 'linux' },
  second: { runsOn: 'linux', needs: 'first' },
  third: { runsOn: 'linux', needs: 'second' },
});
const MATRIX = workflow({ legs: { runsOn: 'linux', seconds: 2, matrix: 12 } });
const GPU = workflow({
  train: { runsOn: '[gpu, cuda]', seconds: 3, matrix: 4 },
  publish: { runsOn: 'linux', needs: 'train' },
});
const LONG = workflow({
  long: { runsOn: 'linux', seconds: 15 },
  'after-long': { runsOn: 'linux', needs: 'long' },
});
const VANISHING = workflow({ vanishing: { runsOn: 'slow' } });
const REPLACE = workflow({ replace: { runsOn: 'linux', seconds: 8, lastSeconds: 3 } }, 'replace');
const REPLACE_EARLY = workflow({ 'replace-early': { runsOn: 'gpu' } }, 'replace-early');

/** Where the morning takes place. */
export const PLAN: Omit<Plan, 'version'> = {
  groups: [
    { name: 'linux', labels: ['linux:host'], cap: 6 },
    { name: 'slow', labels: ['slow:host'], cap: 2 },
    { name: 'gpu', labels: ['gpu:host', 'cuda:host'], cap: 3 },
  ],
  repositories: {
    web: { 'chain.yml': CHAIN, 'matrix.yml': MATRIX },
    api: { 'chain.yml': CHAIN, 'gpu.yml': GPU, 'long.yml': LONG },
    app: { 'chain.yml': CHAIN, 'replace.yml': REPLACE, 'replace-early.yml': REPLACE_EARLY },
    gone: { 'vanishing.yml': VANISHING },
  },
};

/** @throws when a runner cannot be started, or something that must come does not come in time. */
export async function runLoad(site: Site): Promise<LoadResult> {
  const { admin } = site;
  const loop = await site.startLoop({ token: await admin.createToken(['read:organization']), startDelayMs });
  const watcher = new Watcher(admin);
  watcher.start();
  try {
    await live(admin, loop);
    await loop.untilIdle();
  } finally {
    await watcher.stop();
  }
  return {
    jobs: await admin.jobs('/admin', 'queued', 'in_progress', 'waiting', 'completed'),
    expectedJobs: expectedJobs(site.gitea.version),
    passes: loop.passes,
    runners: loop.cluster.records,
    stays: watcher.stays,
  };
}

/** Pods start after 0.2 to 1.4 s, the same for the same name; those of group `slow` only after a minute. */
function startDelayMs(manifest: RunnerJob): number {
  if (groupOf(manifest) === 'slow') return 60_000;
  return 200 + (Number.parseInt(manifest.metadata.name.slice(-4), 16) % 1200);
}

async function live(admin: Account, loop: Loop): Promise<void> {
  const inState = async (name: string, ...states: string[]): Promise<readonly ApiJob[]> =>
    (await admin.jobs('/orgs/acme', ...states)).filter((job) => job.name === name);
  const idle = async (): Promise<boolean> =>
    (await admin.jobs('/orgs/acme', 'queued', 'in_progress', 'waiting')).length === 0;

  // From zero: one chain; it is run again when it is done.
  await admin.dispatch('acme/web', 'chain.yml');
  await loop.until('the first chain ends', idle, 60_000);
  const [first] = await inState('first', 'completed');
  if (first === undefined) throw new Error('the first job of the chain is not there');
  await admin.rerun('acme/web', first);

  // Everything at once, more than the caps allow.
  await admin.dispatch('acme/api', 'gpu.yml');
  await admin.dispatch('acme/app', 'replace.yml');
  await admin.dispatch('acme/api', 'long.yml');
  await admin.dispatch('acme/web', 'matrix.yml');
  for (const repository of REPOSITORIES) await admin.dispatch(`acme/${repository}`, 'chain.yml');

  // Cancelled before any runner takes it: the four gpu jobs come first, and three runners are all there may be.
  await admin.dispatch('acme/app', 'replace-early.yml');
  await admin.dispatch('acme/app', 'replace-early.yml');

  // Queued, given a runner, then gone with its repository: the runner is not needed any more.
  await admin.dispatch('acme/gone', 'vanishing.yml');
  await loop.until('vanishing has a runner', ({ groups }) => emittedOf(groups, 'slow') === 1, 30_000);
  await admin.call('DELETE', '/repos/acme/gone');

  // Cancelled while it runs, and after a look has seen that.
  const replaceIsPinned = async ({ groups }: Pass): Promise<boolean> => {
    const pinned = groups.flatMap((group) => group.pinned);
    return (await inState('replace', 'in_progress')).some(({ runner_name }) => pinned.includes(runner_name ?? ''));
  };
  await loop.until('replace runs', replaceIsPinned, 60_000);
  await admin.dispatch('acme/app', 'replace.yml');
  await loop.until('all jobs end', idle, 240_000);

  // From zero once more.
  await loop.until('the output is empty', ({ generated }) => generated.stdout === '', 30_000);
  await admin.dispatch('acme/app', 'chain.yml');
  await loop.until('the last chain ends', idle, 60_000);
}

function emittedOf(groups: readonly GroupPass[], name: string): number {
  return groups.find(({ group }) => group === name)?.emitted ?? 0;
}

/** 5 chains, 12 legs, 4 + 1 gpu, 2 long, 2 + 2 replaced; from 1.27 a rerun makes new rows of the whole run, before none. */
function expectedJobs(version: GiteaVersion): number {
  const dispatched = 5 * 3 + 12 + 5 + 2 + 4;
  switch (version) {
    case '1.27.3':
      return dispatched + 3;
    case '1.26.0':
      return dispatched;
    default: {
      const never: never = version;
      throw new Error(`unknown version ${never}`);
    }
  }
}
