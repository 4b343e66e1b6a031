/**
 * Histories of former faults, and of requests by a review. Their events are exact; random parts of a run still follow
 * from the seed.
 */
import type { Act, Fault, GroupInGit, History } from './history.ts';

const GROUP: GroupInGit = {
  name: 'alpha-ci',
  org: 'alpha-org',
  maxActiveRunners: 5,
  minIdleRunners: 0,
  maxEvictionRetries: 3,
};

function push(atS: number, takesS: number, org = GROUP.org): Act {
  return { atS, is: 'push', org, takesS, fails: false };
}

function history(seed: number, acts: readonly Act[], faults: readonly Fault[], lengthS: number): History {
  const apps = [{ name: 'alpha', groups: [GROUP] }];
  return { seed, apps, gitea: '1.27.3', replicas: 2, wakes: 4, namesNamespaces: false, acts, faults, lengthS };
}

/** A commit moves the group while one runner is busy and one is idle. Then a CI job comes at the new place. */
function move(seed: number, faults: readonly Fault[]): History {
  const pool: GroupInGit = { ...GROUP, minIdleRunners: 1 };
  const moved: GroupInGit = { ...GROUP, org: 'alpha-org-b' };
  const acts: readonly Act[] = [
    { atS: 21, is: 'commit', app: 0, group: pool },
    push(35, 65),
    { atS: 50, is: 'commit', app: 0, group: moved },
    push(70, 1, moved.org),
  ];
  return history(seed, acts, faults, 220);
}

function evicted(seed: number): History {
  return history(seed, [push(30, 60)], [{ atS: 50, is: 'eviction' }], 220);
}

const BY_SERVE: GroupInGit = { ...GROUP, byServe: true };

/** Makes a history in which `serve` registers the runners of two CI jobs, one of them during faults. */
function registered(seed: number, faults: readonly Fault[], more: readonly Act[] = [], lengthS = 200): History {
  const made = history(seed, [push(30, 8), push(50 + (seed % 9) / 3, 8), ...more], faults, lengthS);
  return { ...made, apps: [{ name: 'alpha', groups: [BY_SERVE] }] };
}

export const SCENARIOS = {
  /** A history without faults. */
  quiet: (seed) => history(seed, [push(30, 5)], [], 300),
  /** Argo CD has met an error by itself, and nobody needs a runner. */
  keptError: (seed) => history(seed, [], [{ atS: 30, is: 'kept-error', app: 0 }], 200),
  /** A request about one Application is swallowed while another one waits, and one wake is made at a time. */
  neighbours: (seed) => {
    const other = { name: 'beta', groups: [{ ...GROUP, name: 'beta-ci', org: 'beta-org' }] };
    const acts = [push(30, 5), push(60, 5), push(60.5, 5, 'beta-org')];
    const alone = history(seed, acts, [{ atS: 58, is: 'read-lost', app: 0 }], 200);
    return { ...alone, apps: [...alone.apps, other], wakes: 1 };
  },
  /** Somebody writes the status at the same time, while a CI job ends. Then nothing happens. */
  statusConflict: (seed) =>
    history(seed, [push(30, 5)], [{ atS: 34, is: 'status-conflicts', forS: 6 + (seed % 4) }], 110),
  /** A runner is evicted at work. */
  eviction: evicted,
  /**
   * An eviction while Gitea is away. The clocks of `serve` are set back by an hour before the look that shows the
   * eviction.
   */
  evictionClockBack: (seed) => {
    const away = { atS: 49, is: 'gitea-away', forS: 6 } as const;
    const before = evicted(seed + 1);
    const acts: readonly Act[] = [...before.acts, { atS: 52, is: 'set-clocks', byS: -3_600 }];
    return { ...before, acts, faults: [...before.faults, away], lengthS: 300 };
  },
  /** An eviction with a Gitea that can end the run. */
  evictionEnded: (seed) => ({ ...evicted(seed), gitea: '28.0.0' }),
  /** A leader dies as Gitea is to end a run, or has ended it. */
  endingLeaderDies: (seed) => {
    const killed = { atS: 50.5 + (seed % 40) / 5, is: 'killed', backAfterS: 2 } as const;
    const before = evicted(seed);
    return { ...before, faults: [...before.faults, killed], gitea: '28.0.0' };
  },
  /** The node of a runner does not answer for a time, and the runner goes on. */
  nodeSilent: (seed) => ({
    ...history(seed, [push(30, 100)], [{ atS: 50, is: 'node-silent', forS: 30 }], 220),
    gitea: '28.0.0',
  }),
  /** The leader dies while the output holds the Job of a short CI job that is pinned. Nothing else happens. */
  leaderChange: (seed) =>
    history(seed, [push(30, 8)], [{ atS: 36 + (seed % 12), is: 'killed', backAfterS: seed % 2 === 0 ? 1 : 30 }], 150),
  /** The leader dies, and then the follower that has waited for its Lease. The last process begins to wait. */
  killedWhileWaiting: (seed) => {
    const faults = [25, 37.5].map((atS) => ({ atS, is: 'killed', backAfterS: 12 }) as const);
    return history(seed, [push(30, 5)], faults, 130);
  },
  moveLeader: (seed) => move(seed, [{ atS: 25 + ((seed * 7) % 90), is: 'stopped', backAfterS: 5 }]),
  /** A request is swallowed by a dead connection. */
  hungRead: (seed) => history(seed, [push(30, 5), push(60, 5)], [{ atS: 29, is: 'read-lost', app: 0 }], 230),
  hungSync: (seed) => history(seed, [push(30, 5), push(60, 5)], [{ atS: 29, is: 'sync-lost', app: 0 }], 160),
  /** Argo CD overlooks a refresh, while everybody waits for it. */
  overlookedRefresh: (seed) =>
    history(seed, [push(30, 5), push(60, 5)], [{ atS: 29, is: 'refresh-overlooked', app: 0 }], 160),
  argoAway: (seed) =>
    history(seed, [push(30, 5)], [{ atS: 25, is: 'argocd-away', forS: 60 + ((seed * 13) % 120) }], 270),
  /** Looks fail now and then, for minutes. */
  flapping: (seed) => {
    const acts = Array.from({ length: 20 }, (_, index) => push(25 + 9 * index, 3));
    return history(seed, acts, [{ atS: 25, is: 'looks-fail', forS: 180 }], 520);
  },
  /** A wake goes on while its leader ends: the rest of it must not be sent to Argo CD. */
  stoppedInWake: (seed) =>
    history(
      seed,
      [push(30, 20)],
      [
        { atS: 25, is: 'comparison-slow', app: 0, forS: 30 },
        { atS: 30.2 + (seed % 20) / 10, is: 'stopped', backAfterS: 5 },
      ],
      130,
    ),
  /** This machine's clock is ahead of all others: runners at work are pinned all the same. */
  clockAhead: (seed) => history(seed, [push(60, 40)], [{ atS: 25, is: 'clock-set', byS: 37 }], 140),
  /** `serve` registers runners, and all is well. */
  registered: (seed) => registered(seed, []),
  /** The leader dies between two steps of a registration. */
  registeringLeaderDies: (seed) =>
    registered(seed, [{ atS: 50 + ((seed * 7) % 40) / 10, is: 'killed', backAfterS: 2 }], [], 420),
  registeringLeaderStops: (seed) =>
    registered(seed, [{ atS: 50 + ((seed * 7) % 40) / 10, is: 'stopped', backAfterS: 2 }], [], 420),
  /** Gitea refuses, or its answers or those of Kubernetes are lost. */
  registrationsRefused: (seed) => registered(seed, [{ atS: 45, is: 'registrations-refused', forS: 20 }], [], 420),
  registrationsLost: (seed) => registered(seed, [{ atS: 45, is: 'registrations-lost', forS: 20 }], [], 420),
  secretsLost: (seed) => registered(seed, [{ atS: 45, is: 'secrets-lost', forS: 20 }], [], 420),
  /** Somebody deletes Secrets while pods start. */
  secretsDeleted: (seed) =>
    registered(
      seed,
      [],
      [51, 52, 53].map((atS) => ({ atS: atS + (seed % 7) / 7, is: 'delete-secrets' })),
    ),
  /** Argo CD makes Jobs that nobody has planned: it syncs an old output. Nobody leads for ten minutes. */
  registeredOld: (seed) => registered(seed, [{ atS: 62, is: 'old-sync', app: 0 }], [], 460),
  /** An old sync prunes the Job of an idle runner and that of one at work. Both are re-created while their pods end. */
  registeredTwice: (seed) => {
    const pool: GroupInGit = { ...BY_SERVE, minIdleRunners: 1 };
    const more: GroupInGit = { ...BY_SERVE, name: 'alpha-more', org: 'alpha-more-org' };
    const acts = [push(22, 37), push(34.5, 9, more.org)];
    const faults = [28.5, 41.3].map((atS) => ({ atS, is: 'old-sync', app: 0 }) as const);
    const apps = [{ name: 'alpha', groups: [pool, more] }];
    return { ...history(seed, acts, faults, 220), apps, replicas: 1, wakes: 1 };
  },
  registeringAlone: (seed) => {
    const alone = registered(seed, [{ atS: 50.5, is: 'killed', backAfterS: 600 }], [push(200, 5), push(640, 5)], 960);
    return { ...alone, replicas: 1 };
  },
  /** A group changes to `by: serve` and back while runners work. */
  registeredByTurns: (seed) => {
    const acts: readonly Act[] = [
      push(30, 60),
      { atS: 45, is: 'commit', app: 0, group: BY_SERVE },
      push(60, 60),
      { atS: 80, is: 'commit', app: 0, group: GROUP },
      push(100, 5),
    ];
    return history(seed, acts, [], 420);
  },
} satisfies Readonly<Record<string, (seed: number) => History>>;
