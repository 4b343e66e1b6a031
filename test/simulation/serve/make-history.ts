/** Histories by seed. */
import { Random } from '../random.ts';
import {
  type Act,
  type AppInGit,
  FAULTS,
  type Fault,
  type FaultKind,
  type GroupInGit,
  type History,
} from './history.ts';

const APPS = ['alpha', 'beta', 'gamma'] as const;
const FIRST_S = 22;

/** Kinds that are added to the others: so a seed still gives its former history. */
const OF_REGISTERING = ['registrations-refused', 'registrations-lost', 'secrets-lost'] as const;
const BESIDE: readonly FaultKind[] = ['refresh-overlooked', 'node-silent', ...OF_REGISTERING];
export const FAULT_KINDS = (Object.keys(FAULTS) as readonly FaultKind[]).filter((kind) => !BESIDE.includes(kind));

/** The kinds that the environment variable `KINDS` names; undefined: all. */
export function chosenKinds(): readonly FaultKind[] | undefined {
  const names = process.env['KINDS']?.split(',');
  return names && FAULT_KINDS.filter((kind) => names.includes(kind));
}

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
  const registering = new Random(seed, 'by-serve');
  const byServe = !kinds && registering.chance(0.4);
  const all = byServe ? apps.map(registered) : apps;
  if (byServe && registering.chance(0.6)) faults.push(makeFault(registering, registering.pick(OF_REGISTERING), busyS));
  const lastS = Math.max(busyS, ...faults.map((fault) => fault.atS + ('forS' in fault ? fault.forS : 0)));
  const lengthS = FIRST_S + lastS + restS(drawn);
  return {
    seed,
    apps: all,
    gitea: newer.chance(0.5) ? '28.0.0' : '1.27.3',
    replicas: random.pick([1, 2, 2]),
    wakes: random.pick([1, 4]),
    namesNamespaces: drawn.includes('namespace-refused') || random.chance(0.3),
    // The last ones meet what the faults have left.
    acts: [
      ...makeActs(random, all, FIRST_S, busyS, 14),
      ...makeActs(random, all, busyS, lengthS - 45, 25),
      ...(kinds ? [] : setClocks(seed, busyS)),
    ],
    faults,
    lengthS,
  };
}

function registered({ groups, name }: AppInGit): AppInGit {
  return { name, groups: groups.map((group) => ({ ...group, byServe: true })) };
}

/** Returns the time until the longest obstacle is over and the laws can be checked after it, seconds. */
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

/** Sets clocks in every fifth history, once or twice, by an hour to twelve. */
function setClocks(seed: number, busyS: number): readonly Act[] {
  const random = new Random(seed, 'serve-clocks');
  if (!random.chance(0.2)) return [];
  return Array.from({ length: random.whole(1, 2) }, () => {
    const byS = random.whole(1, 12) * 3_600 * random.pick([-1, 1]);
    return { atS: random.seconds(FIRST_S, busyS), is: 'set-clocks', byS };
  });
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
  const watch = () => ({ kind: random.pick(['runnergroups', 'jobs', 'pods']) });
  const details: Readonly<Record<(typeof FAULTS)[FaultKind], () => object>> = {
    nothing: () => ({}),
    watch,
    cut: () => ({ ...watch(), how: random.pick(['ended', 'broken', 'expired']) }),
    time: () => ({ forS }),
    app: () => ({ app }),
    'app and time': () => ({ app, forS }),
    back: () => ({ backAfterS: random.pick([random.seconds(0.1, 2), random.seconds(5, 20)]) }),
    clock: () => ({ byS: random.whole(-90, 90) }),
  };
  return { atS, is: kind, ...details[FAULTS[kind]]() } as Fault;
}
