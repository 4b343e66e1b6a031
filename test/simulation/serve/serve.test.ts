/**
 * `serve` as a whole in virtual time. `HISTORIES=1000` for more of them, `SEED=7` for one, `KINDS=killed,gitea-away`
 * for faults of these kinds; `npm run soak:serve` for many on all processors.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GiteaAccess } from '../../../src/clients/gitea/api.ts';
import { levelOf } from '../../../src/clients/gitea/endpoints.ts';
import { deleteRegistration, readRegistrations } from '../../../src/clients/gitea/registrations.ts';
import { endRun } from '../../../src/clients/gitea/runs.ts';
import type { LiveCluster } from '../../../src/serve/cluster/live-cluster.ts';
import type { Subscriber, Tell } from '../../../src/serve/planning/events.ts';
import type { TaskContext } from '../../../src/serve/task.ts';
import type { WakeTarget } from '../../../src/serve/waking/wake.ts';
import { Failure } from '../../../src/shared/failure.ts';
import { keyText } from '../../../src/shared/keys.ts';
import { registerRunners } from '../../../src/tasks/registration/registering.ts';
import { IS_LONG } from '../../support/long.ts';
import type { History } from './history.ts';
import type { Law } from './laws.ts';
import { chosenKinds, makeHistory } from './make-history.ts';
import type { Sabotage } from './process.ts';
import { describeBreach } from './report.ts';
import { type RunOptions, runHistory } from './run.ts';
import { SCENARIOS } from './scenarios.ts';
import { shrink } from './shrink.ts';

const SEED = process.env['SEED'];
const KINDS = chosenKinds();
/** 200 take a minute: `npm run test:long` plays them. */
const HISTORIES = Number(process.env['HISTORIES'] ?? (IS_LONG ? 200 : 3));

/** Warnings of Node, and rejections without a handler. */
const complaints: string[] = [];
const complain = (what: unknown): void => {
  complaints.push(String(what));
};
beforeAll(() => {
  process.on('warning', complain).on('unhandledRejection', complain);
});
afterAll(() => {
  process.off('warning', complain).off('unhandledRejection', complain);
});

/** Returns the broken law with the shrunk history. Undefined: all laws hold. */
async function judge(history: History, options: RunOptions = {}): Promise<string | undefined> {
  const { breaches } = await runHistory(history, options);
  const [breach] = breaches;
  if (!breach) return undefined;
  const small = await shrink(history, breach.law, options);
  const outcome = await runHistory(small, { ...options, withStory: true });
  const shown = outcome.breaches.find(({ law }) => law === breach.law) ?? breach;
  return describeBreach(small, shown, outcome, KINDS);
}

const seeds = SEED === undefined ? Array.from({ length: HISTORIES }, (_, index) => index + 1) : [Number(SEED)];
it(`the laws hold in ${seeds.length} histories`, { timeout: 3_600_000 }, async () => {
  for (const seed of seeds) expect(await judge(makeHistory(seed, KINDS)), `history ${seed}`).toBe(undefined);
  expect(complaints).toEqual([]);
});

it('the laws hold in a history with a conflict that no later reconcile would have mended', async () => {
  expect(await judge(makeHistory(58, ['status-conflicts']))).toBe(undefined);
});

// Fourteen faults of `serve`, and four times a law that asked for what nobody can know.
const FAULTS = [
  90927, 91819, 100153, 101152, 101823, 103968, 106941, 107519, 108278, 300089, 407616, 600010, 702484, 715325, 830071,
  830468, 843360, 845392,
];
it.each(IS_LONG ? FAULTS : FAULTS.slice(-1))('the laws hold in history %i, which broke one once', async (seed) => {
  expect(await judge(makeHistory(seed))).toBe(undefined);
});

it.each(Object.entries(SCENARIOS))('the laws hold in scenario %s', async (_, make) => {
  const found = await Promise.all((IS_LONG ? [1, 2] : [1]).map((seed) => judge(make(seed))));
  expect(found.filter(Boolean)).toEqual([]);
});

/** Each law, with a `serve` that is broken so that the law must notice it. */
const BROKEN: readonly (readonly [law: Law, what: string, sabotage: Sabotage, history: History])[] = [
  ['credentials', 'nobody registers', { without: 'registrations' }, SCENARIOS.registered(1)],
  ['left', 'nobody sweeps', { without: 'sweeps' }, SCENARIOS.registrationsLost(1)],
  ['two', 'rows are deleted once their credentials are handed over', { more: deletingRows }, SCENARIOS.registered(1)],
  [
    'two',
    'pods of earlier Jobs are not seen',
    { without: 'registrations', more: blindly },
    SCENARIOS.registeredTwice(12),
  ],
  ['silence', 'refreshes are eaten', { argocd: eatingRefreshes }, SCENARIOS.hungSync(1)],
  ['silence', 'syncs are eaten', { argocd: eatingSyncs }, SCENARIOS.hungSync(1)],
  ['silence', 'all Applications wait for one', { argocd: oneAtATime }, SCENARIOS.neighbours(1)],
  ['silence', 'a leader does not read which Jobs were printed', { argocd: blindToJobs }, SCENARIOS.leaderChange(2)],
  ['kept error', 'errors of Argo CD are not seen', { argocd: blindToErrors }, SCENARIOS.keptError(1)],
  ['one wake', 'each sync is asked for twice', { argocd: askingTwice }, SCENARIOS.hungSync(1)],
  ['wakes', 'syncs are eaten for minutes', { argocd: eatingSyncs }, SCENARIOS.quiet(1)],
  ['served', 'syncs are eaten for minutes', { argocd: eatingSyncs }, SCENARIOS.quiet(1)],
  ['status', 'statuses are not written', { without: 'statuses' }, SCENARIOS.quiet(1)],
  ['leader', 'nobody takes the Lease', { leads: 'never' }, SCENARIOS.quiet(1)],
  ['leader', 'two lead at a time', { leads: 'always' }, { ...SCENARIOS.quiet(1), replicas: 2 }],
  ['once', 'the notifier hears all twice', { hears: twice }, SCENARIOS.quiet(1)],
  ['re-run', 'lost CI jobs are not re-run', { without: 'reruns' }, SCENARIOS.eviction(1)],
  ['re-run', 'Gitea ends lost CI jobs, and they are not re-run', { more: forgetting }, SCENARIOS.evictionEnded(1)],
  ['ended', 'runs are ended that work', { more: endingAll }, { ...SCENARIOS.quiet(1), gitea: '28.0.0' }],
  ['rows', 'a task leaves keys in the queue', { more: littering }, SCENARIOS.quiet(1)],
  ['mistake', 'a task cannot begin', { more: failing }, SCENARIOS.quiet(1)],
];

it('a lost CI job is over within seconds, and nobody waits for Gitea to give it up', async () => {
  const { story } = await runHistory(SCENARIOS.evictionEnded(1), { withStory: true });
  const atS = (words: string): number => Number.parseFloat(story.find((line) => line.includes(words)) ?? 'NaN');

  expect(atS('Gitea ends run') - atS('is evicted')).toBeLessThan(6);
  expect(atS('Gitea re-runs run') - atS('is evicted')).toBeLessThan(12);
  expect(story.filter((line) => line.includes('gives up'))).toEqual([]);
});

it('two that lead at the same moment give no runner twice, and leave no row', async () => {
  const history = { ...SCENARIOS.registered(1), replicas: 2, lengthS: 460 };
  const { breaches } = await runHistory(history, { sabotage: { leads: 'always' } });

  const laws = breaches.map(({ law }) => law);
  expect(laws).toContain('leader');
  expect(['two', 'credentials', 'left', 'mistake'].filter((law) => laws.includes(law as Law))).toEqual([]);
});

// Each plays two histories or more.
if (IS_LONG) {
  it.each(BROKEN)('"%s": %s', async (law, _, sabotage, history) => {
    expect((await runHistory(history)).breaches).toEqual([]);
    const { breaches } = await runHistory(history, { sabotage });
    expect(breaches.map((breach) => breach.law)).toContain(law);
  });

  it('a history that breaks a law is shrunk to what is needed, and told with the command that repeats it', async () => {
    const history = makeHistory(5, ['clock-set', 'eviction', 'killed']);
    const options = { sabotage: { without: 'statuses' } } as const;
    const small = await shrink(history, 'status', options, 12);
    expect(small.faults).toEqual([]);
    expect(small.acts.length).toBeLessThan(history.acts.length);
    expect(await judge(history, options)).toContain('Repeat: SEED=5 npx vitest run test/simulation/serve');
  });
}

it('a history runs the same way each time', async () => {
  const run = async () => (await runHistory(makeHistory(3), { withStory: true })).story;
  expect(await run()).toEqual(await run());
});

function eatingRefreshes(argocd: WakeTarget): WakeTarget {
  return { ...argocd, refresh: () => new Promise(() => undefined) };
}

function eatingSyncs(argocd: WakeTarget): WakeTarget {
  return { ...argocd, sync: async () => 'started' };
}

function blindToErrors(argocd: WakeTarget): WakeTarget {
  return {
    ...argocd,
    read: async (app, deadline) => ({ ...(await argocd.read(app, deadline)), errors: [], sync: 'Synced' }),
  };
}

function blindToJobs(argocd: WakeTarget): WakeTarget {
  return { ...argocd, read: async (app, deadline) => ({ ...(await argocd.read(app, deadline)), jobs: [] }) };
}

function oneAtATime(argocd: WakeTarget): WakeTarget {
  let last: Promise<unknown> = Promise.resolve();
  const read: WakeTarget['read'] = (app, deadline) => {
    const next = last.then(() => argocd.read(app, deadline));
    last = next.catch(() => undefined);
    return next;
  };
  return { ...argocd, read };
}

function askingTwice(argocd: WakeTarget): WakeTarget {
  return {
    ...argocd,
    sync: async (app, deadline) => (await Promise.all([1, 2].map(() => argocd.sync(app, deadline))))[0] ?? 'busy',
  };
}

function twice(tell: Tell): Tell {
  return (event) => {
    tell(event);
    tell(event);
  };
}

function littering({ queue }: TaskContext): Subscriber {
  const line = queue.open('litter', { width: 1, deadlineMs: 1_000, run: async () => undefined });
  let keys = 0;
  return () => {
    keys += 1;
    line.add(`key ${keys}`, 3_600_000);
  };
}

/** Makes a subscriber that forgets jobs that Gitea has ended. */
function forgetting({ losses }: TaskContext): Subscriber {
  return (event) => {
    if (event.is === 'rerun' && event.outcome === 'ended') losses.settle(keyText(event.object.metadata), event.lost);
  };
}

/** Whatever works is ended. */
function endingAll({ giteas, targetOf }: TaskContext): Subscriber {
  return (event) => {
    if (event.is !== 'looked') return;
    const [target] = [...targetOf().values()];
    const job = event.look?.jobs.find(({ status }) => status === 'in_progress');
    if (!job || !target || target instanceof Failure) return;
    void giteas.ask(target, 5_000, (access) => endRun(access, job)).catch(() => undefined);
  };
}

/** Whatever has a row loses it. */
function deletingRows({ giteas, targetOf }: TaskContext): Subscriber {
  return (event) => {
    const [target] = [...targetOf().values()];
    if (event.is !== 'runner-registration' || event.result !== 'handed-over') return;
    if (!target || target instanceof Failure) return;
    const work = async (access: GiteaAccess) => {
      const level = levelOf(target.scope);
      const { runners } = await readRegistrations(access, level);
      await Promise.all(runners.map(({ id }) => deleteRegistration(access, level, id)));
    };
    void giteas.ask(target, 5_000, work).catch(() => undefined);
  };
}

/** Registers whatever pods there are. */
function blindly(context: TaskContext): Subscriber {
  const blind: Partial<LiveCluster> = { runners: () => context.cluster.runners(), hasOtherPod: () => false };
  return registerRunners(20_000)({ ...context, cluster: blind as LiveCluster });
}

function failing(): never {
  throw new Error('sabotage');
}
