/**
 * Makes a history of the wider kind from a seed: the afternoon of `makeHistory`, and in a share of all histories what else real clusters do.
 * Same seed, same history.
 */
import type { JobSpec } from '../../simulator/gitea/queue.ts';
import type { Act, GroupSpec, History, PodFate, Push, Trouble, Wake } from './history.ts';
import { DRAIN_S } from './history.ts';
import { lasting, makeHistory } from './make-history.ts';
import { Random, type Stream } from './random.ts';

/** 300 jobs, 6 at a time, each in a pod that takes 10 minutes to start: 9 hours of work for any policy. */
const BUSY_EXTRA_S = 57_600;

export function makeWideHistory(seed: number): History {
  const random = new Random(seed, 'wide');
  const busy = random.chance(0.05);
  const base = busy ? makeBusyHistory(seed, random) : makeHistory(seed);
  const graceS = random.pick([0, 30, 540, 10_800]);
  return {
    ...base,
    groups: base.groups.map((group): GroupSpec => ({ ...group, gracefulStopS: graceS })),
    acts: withChanges(withTransfer(base, seed), base, seed),
    pods: slowStarts(base.pods, random),
    troubles: [...base.troubles, ...makeTroubles(random, base.patienceS - DRAIN_S)],
    wakes: base.wakes.map((wake) => aged(wake, random)),
    pollTogether: random.pick([0, 0, 0.05, 0.1]),
    clockSkewS: random.chance(0.4) ? random.whole(-60, 60) : 0,
    patienceS: base.patienceS + (busy ? BUSY_EXTRA_S : DRAIN_S),
  };
}

/**
 * Adds a transfer in a tenth of all histories: a repository without a group of its own goes to another organization.
 */
function withTransfer({ acts, groups, pushes, patienceS }: History, seed: number): readonly Act[] {
  const random = new Random(seed, 'transfer');
  const repos = [...new Set(pushes.map(({ repo }) => repo))].filter((repo) => !isScope(repo, groups));
  if (repos.length === 0 || !random.chance(0.1)) return acts;
  const transfer: Act = { atS: random.seconds(0, patienceS - DRAIN_S), kind: 'transfer', repo: random.pick(repos) };
  return [...acts, transfer].sort((a, b) => a.atS - b.atS);
}

/** Adds changes of repositories and of Gitea, and commits: each in a tenth of all histories. */
function withChanges(acts: readonly Act[], { groups, pushes, patienceS }: History, seed: number): readonly Act[] {
  const arrivalsS = patienceS - DRAIN_S;
  const changes: Act[] = [];
  const sometimes = (stream: Stream, make: (random: Random, atS: number) => readonly Act[]): void => {
    const random = new Random(seed, stream);
    if (random.chance(0.1)) changes.push(...make(random, random.seconds(0, arrivalsS)));
  };
  const group = (random: Random): string => (random.pick(groups) as GroupSpec).name;
  sometimes('rename-owner', (_, atS) => [{ atS, kind: 'rename-org', name: 'acme' }]);
  sometimes('rename-repo', (random, atS) => [
    { atS, kind: 'rename-repo', repo: random.pick(['acme/web', ...pushes.map(({ repo }) => repo)]) },
  ]);
  sometimes('rename', (random, atS) => [{ atS, kind: 'rename', group: group(random) }]);
  sometimes('rollback', (random, atS) => [
    random.chance(0.5) ? { atS, kind: 'new-template' } : { atS, kind: 'rename', group: group(random) },
    { atS: atS + random.whole(10, 600), kind: 'rollback' },
  ]);
  sometimes('restore', (random, atS) => [{ atS, kind: 'restore', backupS: Math.max(0, atS - random.whole(10, 900)) }]);
  const repos = [...new Set(pushes.map(({ repo }) => repo))].filter((repo) => !isScope(repo, groups));
  if (repos.length > 0)
    sometimes('delete-repo', (random, atS) => [{ atS, kind: 'delete-repo', repo: random.pick(repos) }]);
  return [...acts, ...changes].sort((a, b) => a.atS - b.atS);
}

function isScope(repo: string, groups: readonly GroupSpec[]): boolean {
  return groups.some(({ scope }) => scope.kind === 'repo' && scope.repo === repo);
}

/**
 * Makes several afternoons at once, with caps up to 50: more jobs than the 150 completed ones that a look with live
 * Jobs reads.
 */
function makeBusyHistory(seed: number, random: Random): History {
  const base = makeHistory(seed);
  const parts = Array.from({ length: random.whole(3, 7) }, (_, nth) => makeHistory(seed + 1_000_000 * (nth + 1)));
  const more = parts.flatMap(({ pushes }) => pushes.flatMap((push) => withoutCallers(push)));
  const times = random.whole(3, 8);
  return {
    ...base,
    groups: base.groups.map((group) => ({ ...group, cap: Math.min(50, group.cap * times) })),
    pushes: [...base.pushes, ...more],
    pods: [...base.pods, ...parts.flatMap(({ pods }) => pods)],
  };
}

/** Gitea up to 1.26 knows no jobs that call workflows, and nobody would approve these runs. */
function withoutCallers(push: Push): readonly Push[] {
  const jobs = push.run.jobs.filter((job: JobSpec) => job.calls === undefined);
  return jobs.length === 0 ? [] : [{ ...push, run: { jobs } }];
}

/** Nodes that are added, images that are pulled for the first time: up to half an hour. */
function slowStarts(pods: readonly PodFate[], random: Random): readonly PodFate[] {
  const kind = random.chance(0.1) ? random.pick(['some', 'all'] as const) : 'none';
  switch (kind) {
    case 'none':
      return pods;
    case 'some':
      return pods.map((pod) => (random.chance(0.1) ? { ...pod, startS: random.seconds(185, 1800) } : pod));
    case 'all': {
      // Each pod gets a node of its own.
      const moreS = random.whole(60, 600);
      return pods.map((pod) => ({ ...pod, startS: pod.startS + moreS }));
    }
    default:
      return kind satisfies never;
  }
}

/** Lets some syncs without a refresh apply manifests that are minutes old. */
function aged(wake: Wake, random: Random): Wake {
  if (wake.fault !== 'stale-sync') return wake;
  return random.chance(0.04) ? { ...wake, staleS: random.whole(20, 600) } : wake;
}

function makeTroubles(random: Random, arrivalsS: number): readonly Trouble[] {
  const troubles: Trouble[] = [];
  if (random.chance(0.1)) troubles.push({ kind: 'quota', ...lasting(random, arrivalsS, 240, 1800) });
  if (random.chance(0.15)) troubles.push({ kind: 'outage', ...lasting(random, arrivalsS, 20, 600) });
  return troubles;
}
