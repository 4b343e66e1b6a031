/** Runs one history of `serve` in virtual time. */
import { Application } from './application.ts';
import { beginFault, EMPTY_NAMESPACE, type Stage } from './faults.ts';
import { GiteaServer } from './gitea.ts';
import type { Act, History } from './history.ts';
import { Kubernetes } from './kubernetes.ts';
import { type Breach, Laws } from './laws.ts';
import { NAMESPACE, Pods } from './pods.ts';
import { type Sabotage, ServeProcess } from './process.ts';
import { World } from './world.ts';

export interface Outcome {
  readonly breaches: readonly Breach[];
  readonly wakes: number;
  readonly changes: number;
  readonly longestSilenceS: number;
  /** CI jobs, and those that ended. */
  readonly jobs: number;
  readonly done: number;
  readonly story: readonly string[];
}

export interface RunOptions {
  readonly sabotage?: Sabotage;
  readonly withStory?: boolean;
}

/**
 * Further wakes in the 150 s of a silent watch: Argo CD says in vain that all is well. Each new change begins with
 * short pauses again, so up to twenty wakes are added.
 */
const BLIND = 7;
/** A CI job without a push: a re-run. */
const RERUN = { takesMs: 4_000, fails: false };

export async function runHistory(
  history: History,
  { sabotage = {}, withStory = false }: RunOptions = {},
): Promise<Outcome> {
  const world = new World(history.seed, withStory);
  const orgs = new Set(history.apps.flatMap(({ groups }) => groups.map(({ org }) => org)));
  for (const act of history.acts) if (act.is === 'commit') orgs.add(act.group.org);
  const server = new GiteaServer(world, [...orgs], history.gitea);
  const kubernetes = new Kubernetes(world);
  const ci = new Map<number, { readonly takesMs: number; readonly fails: boolean }>();
  const pods = new Pods(world, kubernetes, server, (jobId) => ci.get(jobId) ?? RERUN);
  const around = { world, kubernetes, server, pods };
  const apps = history.apps.map((app) => new Application(app, around));
  const byName = new Map(apps.map((app) => [app.name, app]));
  let processes: readonly ServeProcess[] = [];
  let started = 0;
  let aheadMs = 0;
  const start = (): void => {
    started += 1;
    const process = new ServeProcess({
      around,
      apps: byName,
      name: `serve-${started}`,
      wakes: history.wakes,
      namespaces: history.namesNamespaces ? [NAMESPACE, EMPTY_NAMESPACE] : [],
      aheadMs: () => aheadMs,
      sabotage,
      onEvent: (event) => {
        if (event.is === 'leading' || event.is === 'not-leading') world.tell(`${process.name} is ${event.is}`);
        if (event.is === 'leading') world.obstacle('a new leader', 6_000);
        laws.heard(event);
      },
      onMistake: (error) => laws.mistake(error),
    });
    processes = [...processes, process];
  };
  const stage: Stage = {
    ...around,
    apps,
    places: history.wakes,
    setClock: (byMs) => {
      aheadMs += byMs;
    },
    stopLeader: (how, backAfterMs) => {
      const process = processes.find(({ leader }) => leader !== undefined) ?? processes[0];
      if (!process) return;
      world.tell(`${process.name} is ${how}`);
      if (how === 'killed') process.kill();
      else process.stop();
      processes = processes.filter((each) => each !== process);
      world.later(backAfterMs, start);
    },
  };
  const laws = new Laws(stage, () => processes);
  server.onWebhook = (event) => {
    for (const process of processes) process.announced(event);
  };
  for (let count = 0; count < history.replicas; count += 1) start();
  for (const act of history.acts) world.later(act.atS * 1000, () => play(act, stage, ci));
  for (const fault of history.faults) world.later(fault.atS * 1000, () => beginFault(fault, stage));
  // Argo CD applies git, and `serve` begins to lead.
  world.obstacle('the beginning', 20_000);
  try {
    for (let second = 0; second < history.lengthS; second += 1) {
      await world.clock.pass(1_000);
      laws.check();
    }
  } catch (error) {
    laws.mistake(error);
  }
  const changesOf = (app: Application): number => changes(history, apps.indexOf(app));
  laws.conclude(changesOf);
  for (const process of processes) process.stop();
  if (!laws.breaches.some(({ law }) => law === 'mistake')) await world.clock.pass(5_000);
  const jobs = server.gitea.jobs();
  return {
    breaches: laws.breaches,
    wakes: [...laws.wakes.values()].reduce((sum, each) => sum + each, 0),
    changes: apps.reduce((sum, app) => sum + changesOf(app), 0),
    longestSilenceS: laws.longestSilenceMs / 1000,
    jobs: jobs.length,
    done: jobs.filter(({ status }) => status === 'success' || status === 'failure').length,
    story: world.story ?? [],
  };
}

function play(
  act: Act,
  { apps, kubernetes, server, setClock, world }: Stage,
  ci: Map<number, { takesMs: number; fails: boolean }>,
): void {
  world.tell(`act: ${JSON.stringify(act)}`);
  switch (act.is) {
    case 'push': {
      const { id } = server.push(act.org);
      ci.set(id, { takesMs: act.takesS * 1000, fails: act.fails });
      return;
    }
    case 'commit':
      apps[act.app]?.commit(act.group);
      return;
    case 'user-refresh':
      apps[act.app]?.refreshByPeople('hard');
      return;
    case 'user-sync':
      apps[act.app]?.syncByPeople();
      return;
    case 'delete-secrets':
      for (const { metadata } of kubernetes.objects.all('secrets'))
        kubernetes.objects.remove('secrets', metadata.namespace, metadata.name);
      world.obstacle(act.is, 10_000);
      return;
    case 'set-clocks':
      setClock(act.byS * 1000);
      world.obstacle(act.is, 10_000);
      return;
    default:
      act satisfies never;
  }
}

/** Counts the reasons to wake an Application: its CI jobs and commits, each fault, and the beginning. */
function changes({ acts, apps, faults }: History, index: number): number {
  const orgs = new Set(apps[index]?.groups.map(({ org }) => org));
  for (const act of acts) if (act.is === 'commit' && act.app === index) orgs.add(act.group.org);
  const own = acts.filter((act) => (act.is === 'push' ? orgs.has(act.org) : !('app' in act) || act.app === index));
  const concerned = faults.filter((fault) => !('app' in fault) || fault.app % apps.length === index);
  return 1 + own.length + concerned.reduce((sum, { is }) => sum + (is === 'watch-silent' ? BLIND : 1), 0);
}
