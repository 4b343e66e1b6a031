/**
 * A small morning of CI on a real Gitea with real runners: only the output of `generate` starts and stops runners. One
 * minute per version.
 */
import { describe, expect, it } from 'vitest';
import type { Account, ApiJob } from './account.ts';
import { GITEA_VERSIONS } from './build.ts';
import type { Loop, Pass } from './loop.ts';
import { groupOf, type RunnerJob } from './manifest.ts';
import { sleep } from './process.ts';
import { type Plan, type Site, useSite } from './site.ts';
import { workflow } from './workflows.ts';

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
const LONG = workflow({ long: { runsOn: 'linux', seconds: 15 }, 'after-long': { runsOn: 'linux', needs: 'long' } });
const VANISHING = workflow({ vanishing: { runsOn: 'slow' } });
const REPLACE = workflow({ replace: { runsOn: 'linux', seconds: 8, lastSeconds: 3 } }, 'replace');
const REPLACE_EARLY = workflow({ 'replace-early': { runsOn: 'gpu' } }, 'replace-early');

/** Place and settings of the morning. */
const PLAN: Omit<Plan, 'version'> = {
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

/** Returns the delay of a pod's start: 0.2 to 1.4 s, the same for the same name; a minute for group `slow`. */
function startDelayMs(manifest: RunnerJob): number {
  if (groupOf(manifest) === 'slow') return 60_000;
  return 200 + (Number.parseInt(manifest.metadata.name.slice(-4), 16) % 1200);
}

/** 5 chains, 12 legs, 4 + 1 gpu, 2 long, 2 + 2 replaced. */
const DISPATCHED = 5 * 3 + 12 + 5 + 2 + 4;
/** From 1.27 on, a rerun makes new rows of the whole run. Before, it makes none. */
const EXPECTED_JOBS = { '1.27.3': DISPATCHED + 3, '1.26.0': DISPATCHED };

/** Does what people do, in order, while the loop runs. @throws if an expected event does not come in time */
async function live(site: Site, loop: Loop): Promise<void> {
  const { admin } = site;
  const idle = async (): Promise<boolean> =>
    (await admin.jobs('/orgs/acme', 'queued', 'in_progress', 'waiting')).length === 0;

  // From zero: one chain. It is re-run when it is done.
  await admin.dispatch('acme/web', 'chain.yml');
  await loop.until('the first chain ends', idle, 60_000);
  await admin.rerun('acme/web', await site.job('first', 'completed'));

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
  await loop.until(
    'vanishing has a runner',
    ({ groups }) => groups.some(({ group, emitted }) => group === 'slow' && emitted === 1),
    30_000,
  );
  await admin.call('DELETE', '/repos/acme/gone');

  // Cancelled while it runs, and after a look has seen that.
  const replaceIsPinned = async ({ groups }: Pass): Promise<boolean> => {
    const pinned = groups.flatMap((group) => group.pinned);
    return (await site.jobsNamed('replace', 'in_progress')).some(({ runner_name }) =>
      pinned.includes(runner_name ?? ''),
    );
  };
  await loop.until('replace runs', replaceIsPinned, 60_000);
  await admin.dispatch('acme/app', 'replace.yml');
  await loop.until('all jobs end', idle, 240_000);

  // Once more from zero.
  await loop.until('the output is empty', ({ generated }) => generated.stdout === '', 30_000);
  await admin.dispatch('acme/app', 'chain.yml');
  await loop.until('the last chain ends', idle, 60_000);
}

/**
 * Time at work of a runner: its begin at the latest, and its end at the earliest. An answer of a busy machine takes
 * long.
 */
interface Shift {
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * Looks every 200 ms which runners are at work, because Gitea's own times are whole seconds.
 * @returns the shifts by runner, and a function that stops it
 */
function watch(admin: Account): { readonly shifts: ReadonlyMap<string, Shift>; readonly stop: () => Promise<void> } {
  const shifts = new Map<string, Shift>();
  let stopped = false;
  const look = async (): Promise<void> => {
    while (!stopped) {
      const lastMs = Date.now();
      const jobs = await admin.jobs('/admin', 'in_progress');
      const firstMs = Date.now();
      for (const { runner_name: runner = '' } of jobs)
        shifts.set(runner, { firstMs: shifts.get(runner)?.firstMs ?? firstMs, lastMs });
      await sleep(200);
    }
  };
  const ended = look();
  const stop = (): Promise<void> => {
    stopped = true;
    return ended;
  };
  return { shifts, stop };
}

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  /** All jobs, oldest first. */
  let jobs: readonly ApiJob[];
  let loop: Loop;
  let shifts: ReadonlyMap<string, Shift>;

  useSite('load', { version, ...PLAN }, async (site) => {
    const { admin } = site;
    loop = await site.startLoop({ token: await admin.createToken(['read:organization']), startDelayMs });
    const watching = watch(admin);
    shifts = watching.shifts;
    await live(site, loop)
      .then(() => loop.untilIdle())
      .finally(watching.stop);
    jobs = await admin.jobs('/admin', 'queued', 'in_progress', 'waiting', 'completed');
  });
  const runners = () => loop.cluster.records;

  it('knows every job that was dispatched, and all of them have ended', () => {
    expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => 'completed'));
    expect(jobs.length).toBe(EXPECTED_JOBS[version]);
  });

  it('ends every CI job with success but the two that were cancelled by a newer run', () => {
    const others = jobs.filter(({ conclusion }) => conclusion !== 'success');

    expect(others.map(({ name, conclusion }) => `${name} ${conclusion}`).sort()).toEqual([
      'replace cancelled',
      'replace-early cancelled',
    ]);
  });

  it('generate starts no runner for a job that still waits for another', () => {
    const long = jobs.find(({ name }) => name === 'long');
    const after = jobs.find(({ name }) => name === 'after-long');
    const longEndedAtMs = Date.parse(long?.completed_at ?? '');
    const early = runners().filter(({ jobId, createdAtMs }) => jobId === after?.id && createdAtMs < longEndedAtMs);

    expect(after?.conclusion).toBe('success');
    expect(early).toEqual([]);
  });

  it('generate stops no runner that was at work all through a look at Gitea', () => {
    const stopped = runners().filter(({ name, prunedAfterLook: look }) => {
      const shift = shifts.get(name);
      return look && shift && shift.firstMs < look.beganAtMs && look.endedAtMs < shift.lastMs;
    });

    expect(shifts.size).toBeGreaterThan(0);
    expect(stopped).toEqual([]);
  });

  it('lets the runner of a cancelled job come to its own end, also when it is stopped meanwhile', () => {
    const cancelled = jobs.find(({ name, conclusion }) => name === 'replace' && conclusion === 'cancelled');
    const runner = runners().find(({ name }) => name === cancelled?.runner_name);

    // With Gitea alone, no pin exists, so its Job is pruned as soon as Gitea calls the job cancelled (docs/adr/0020).
    expect(runner).toMatchObject({ exit: 0 });
  });

  it('generate takes back the runner of a job that is gone, and starts no other for it', () => {
    const slow = runners().filter(({ group }) => group === 'slow');

    expect(slow.map(({ prunedAfterLook }) => prunedAfterLook !== undefined)).toEqual([true]);
  });

  it('generate never emits more Jobs than the cap, nor are there more runner processes', () => {
    const over = loop.passes
      .flatMap(({ groups }) => groups)
      .filter(({ cap, emitted, pinned, active }) => emitted > Math.max(cap, pinned.length) || active > cap);

    expect(over).toEqual([]);
  });

  it('generate prints manifests and exit code 0 in every pass, and nothing at the end', () => {
    const failed = loop.passes.filter(({ generated }) => generated.code !== 0);

    expect(failed.map(({ generated }) => generated.stderr)).toEqual([]);
    expect(loop.passes.at(-1)?.generated.stdout).toBe('');
  });

  it('generate leaves no runner process behind', () => {
    expect(runners().filter(({ endedAtMs }) => endedAtMs === undefined)).toEqual([]);
  });
});
