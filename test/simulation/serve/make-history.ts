/** Histories by seed. */
import { Random } from '../random.ts';
import type { Act, AppInGit, Fault, FaultKind, GroupInGit, History } from './history.ts';

const APPS = ['alpha', 'beta', 'gamma'] as const;
const FIRST_S = 22;

/** All but `refresh-overlooked` and `node-silent`, which come beside them: so a seed gives the history that it always gave. */
export const FAULT_KINDS: readonly FaultKind[] = [
  'watch-cut',
  'watch-silent',
  'events-late',
  'events-repeated',
  'kubernetes-away',
  'old-lists',
  'status-conflicts',
  'namespace-refused',
  'eviction',
  'refresh-lost',
  'refresh-hangs',
  'read-lost',
  'sync-lost',
  'answers-late',
  'comparison-slow',
  'kept-error',
  'operation',
  'old-sync',
  'argocd-away',
  'apply-fails',
  'others-out-of-sync',
  'gitea-away',
  'looks-fail',
  'webhooks-lost',
  'webhooks-late',
  'webhooks-twice',
  'killed',
  'stopped',
  'lease-away',
  'clock-set',
];

/** @param kinds faults that it draws from; none: all is well. Default: one to four kinds of all. */
export function makeHistory(seed: number, kinds?: readonly FaultKind[]): History {
  const random = new Random(seed, 'serve');
  const drawn = kinds ?? Array.from({ length: random.whole(1, 4) }, () => random.pick(FAULT_KINDS));
  const apps = APPS.slice(0, random.pick([1, 1, 1, 2, 3])).map((name) => makeApp(random, name));
  const busyS = random.whole(60, 120);
  const faults = drawn.map((kind) => makeFault(random, kind, busyS));
  const beside = new Random(seed, 'overlooked');
  if (!kinds && beside.chance(0.1)) faults.push(makeFault(beside, 'refresh-overlooked', busyS));
  const newer = new Random(seed, 'gitea-28');
  if (!kinds && newer.chance(0.15)) faults.push(makeFault(newer, 'node-silent', busyS));
  const lastS = Math.max(busyS, ...faults.map((fault) => fault.atS + ('forS' in fault ? fault.forS : 0)));
  const lengthS = FIRST_S + lastS + restS(drawn);
  return {
    seed,
    apps,
    gitea: newer.chance(0.5) ? '28.0.0' : '1.27.3',
    replicas: random.pick([1, 2, 2]),
    wakes: random.pick([1, 4]),
    namesNamespaces: drawn.includes('namespace-refused') || random.chance(0.3),
    // The last ones meet what the faults have left.
    acts: [...makeActs(random, apps, FIRST_S, busyS, 14), ...makeActs(random, apps, busyS, lengthS - 45, 25)],
    faults,
    lengthS,
  };
}

/** Until the longest obstacle is over, and the laws can be held against what follows. */
function restS(kinds: readonly FaultKind[]): number {
  if (kinds.includes('watch-silent')) return 190;
  if (kinds.includes('eviction')) return 130;
  return kinds.some((kind) => LONG.has(kind)) ? 130 : 60;
}

const LONG: ReadonlySet<FaultKind> = new Set([
  'kubernetes-away',
  'gitea-away',
  'webhooks-lost',
  'read-lost',
  'apply-fails',
  'kept-error',
  'killed',
  'lease-away',
]);

function makeApp(random: Random, name: string): AppInGit {
  const groups = [makeGroup(random, `${name}-ci`, `${name}-org`)];
  return {
    name,
    groups: random.chance(0.3) ? [...groups, makeGroup(random, `${name}-more`, `${name}-more-org`)] : groups,
  };
}

function makeGroup(random: Random, name: string, org: string): GroupInGit {
  return {
    name,
    org,
    maxActiveRunners: random.pick([1, 3, 5]),
    minIdleRunners: random.chance(0.3) ? 1 : 0,
    maxEvictionRetries: 3,
  };
}

function makeActs(
  random: Random,
  apps: readonly AppInGit[],
  fromS: number,
  untilS: number,
  gapS: number,
): readonly Act[] {
  const acts: Act[] = [];
  for (let atS = fromS; atS < untilS; atS += 1 + random.gap(gapS)) {
    const index = random.whole(0, apps.length - 1);
    const group = random.pick(apps[index]?.groups ?? []);
    const chance = random.unit();
    if (chance < 0.75) {
      const takesS = random.pick([random.seconds(1, 3), random.seconds(4, 15), random.seconds(15, 60)]);
      const push = { atS, is: 'push', org: group.org, takesS, fails: random.chance(0.15) } as const;
      acts.push(...Array.from({ length: random.chance(0.15) ? random.whole(2, 4) : 1 }, () => push));
    } else if (chance < 0.88) acts.push({ atS, is: 'commit', app: index, group: changed(random, group) });
    else acts.push({ atS, is: random.pick(['user-refresh', 'user-sync']), app: index });
  }
  return acts;
}

function changed(random: Random, group: GroupInGit): GroupInGit {
  switch (random.whole(0, 2)) {
    case 0:
      return { ...group, minIdleRunners: group.minIdleRunners === 0 ? 1 : 0 };
    case 1:
      return { ...group, maxActiveRunners: random.whole(1, 5) };
    default:
      return { ...group, org: `${group.org}-b` };
  }
}

function makeFault(random: Random, kind: FaultKind, busyS: number): Fault {
  const atS = random.seconds(FIRST_S, busyS);
  const app = random.whole(0, 2);
  const forS = random.chance(0.7) ? random.seconds(2, 20) : random.seconds(20, 70);
  switch (kind) {
    case 'watch-cut':
      return { atS, is: kind, kind: watched(random), how: random.pick(['ended', 'broken', 'expired']) };
    case 'watch-silent':
      return { atS, is: kind, kind: watched(random) };
    case 'eviction':
      return { atS, is: kind };
    case 'read-lost':
    case 'sync-lost':
    case 'kept-error':
    case 'old-sync':
    case 'refresh-overlooked':
      return { atS, is: kind, app };
    case 'refresh-lost':
    case 'refresh-hangs':
    case 'comparison-slow':
    case 'operation':
    case 'apply-fails':
    case 'others-out-of-sync':
      return { atS, is: kind, app, forS };
    case 'killed':
    case 'stopped':
      return { atS, is: kind, backAfterS: random.pick([random.seconds(0.1, 2), random.seconds(5, 20)]) };
    case 'clock-set':
      return { atS, is: kind, byS: random.whole(-90, 90) };
    case 'events-late':
    case 'events-repeated':
    case 'node-silent':
    case 'kubernetes-away':
    case 'old-lists':
    case 'status-conflicts':
    case 'namespace-refused':
    case 'answers-late':
    case 'argocd-away':
    case 'gitea-away':
    case 'looks-fail':
    case 'webhooks-lost':
    case 'webhooks-late':
    case 'webhooks-twice':
    case 'lease-away':
      return { atS, is: kind, forS };
    default:
      return kind satisfies never;
  }
}

function watched(random: Random): 'runnergroups' | 'jobs' | 'pods' {
  return random.pick(['runnergroups', 'jobs', 'pods']);
}
