/**
 * Commands of people, runners and machines. A command picks its object by number among the existing ones; if there is
 * none, it is left out. The model decides that, and knows only the number of each; the world has the rest.
 */
import { scopeNow } from '../../simulator/gitea/renames.ts';
import { fc } from '../support/property.ts';
import { cancel, changeGroup, finish, nth, push, rename, rerun, take, takenDuringLook } from './acts.ts';
import { inStory, lookAndCheck, lookTwice } from './checked.ts';
import { FAULTS, type Fault } from './faults.ts';
import type { World } from './world.ts';

/** Numbers of objects that a command could pick. */
export interface Model {
  starting: number;
  idle: number;
  busy: number;
  /** Jobs in Gitea that are not over. */
  open: number;
  runs: number;
  rows: number;
}

export const EMPTY: Model = { starting: 0, idle: 0, busy: 0, open: 0, runs: 0, rows: 0 };

type Step = fc.AsyncCommand<Model, World>;

interface Doing {
  readonly name: string;
  /** The count of the model that must be above 0. */
  readonly needs?: keyof Model;
  /** Changes the world and says in words what it did. */
  readonly act: (world: World) => string;
  readonly during?: (world: World) => Fault;
}

function step({ name, needs, act, during }: Doing): Step {
  return {
    check: (model) => needs === undefined || model[needs] > 0,
    run: async (model, world) => {
      world.tell(`${name}: ${act(world)}`);
      await inStory(world, () => lookAndCheck(world, during?.(world)));
      Object.assign(model, countIn(world));
    },
    toString: () => name,
  };
}

function countIn(world: World): Model {
  const { gitea } = world;
  return {
    starting: world.starting().length,
    idle: world.living('idle').length,
    busy: world.living('busy').length,
    open: gitea.jobs().filter(({ stopped }) => stopped === 0).length,
    runs: gitea.state.runs.size,
    rows: gitea.runners().length,
  };
}

const looksTwice: Step = {
  check: () => true,
  run: async (_model, world) => {
    world.tell('LookTwice');
    await inStory(world, () => lookTwice(world));
  },
  toString: () => 'LookTwice',
};

const N = fc.nat(15);

/** A step that is the same each time. */
function always(name: string, act: Doing['act'], needs?: keyof Model): fc.Arbitrary<Step> {
  return fc.constant(step({ name, act, ...(needs && { needs }) }));
}

/** Steps that pick their object by number. */
function picking(what: string, needs: keyof Model, act: (world: World, n: number) => string): fc.Arbitrary<Step> {
  return N.map((n) => step({ name: `${what}(${n})`, needs, act: (world) => act(world, n) }));
}

const pushes = fc
  .tuple(N, fc.integer({ min: 1, max: 4 }))
  .map(([n, legs]) => step({ name: `JobsPushed(${n}, ${legs})`, act: (world) => push(world, n, legs, false) }));

const runsWithNeeds = fc
  .tuple(N, fc.integer({ min: 1, max: 2 }))
  .map(([n, legs]) => step({ name: `RunWithNeedsPushed(${n}, ${legs})`, act: (world) => push(world, n, legs, true) }));

const syncs = always('ArgoSyncs', (world) => {
  world.sync();
  return `${world.kubeJobs.size} Jobs`;
});

const starts = picking('RunnerStarts', 'starting', (world, n) => {
  const job = nth(world.starting(), n);
  world.register(job);
  return job.name;
});

const takes = picking('RunnerTakesJob', 'idle', (world, n) => take(world, nth(world.living('idle'), n)));

const polls = always(
  'AllPollTogether',
  (world) => {
    const rows = new Set(world.gitea.runners().map(({ id }) => id));
    const ids = world.living('idle').flatMap(({ runnerId }) => runnerId ?? []);
    const taken = world.gitea.pollTogether(ids.filter((id) => rows.has(id)));
    return `jobs ${taken.map((job) => job?.id ?? 'none').join(', ')}`;
  },
  'idle',
);

const ends = fc.tuple(N, fc.boolean()).map(([n, good]) =>
  step({
    name: `JobEnds(${n}, ${good ? 'well' : 'badly'})`,
    needs: 'busy',
    act: (world) => finish(world, nth(world.living('busy'), n), good),
  }),
);

const cancels = picking('JobCancelled', 'open', cancel);
const reruns = picking('Rerun', 'runs', rerun);

const renames = N.map((n) => step({ name: `RenamedInGitea(${n})`, act: (world) => rename(world, n) }));

const nights = always('NightlyCleanUp', (world) => {
  world.gitea.cleanUp();
  return 'names of used-up runners are gone';
});

const failedStarts = fc.tuple(N, fc.boolean()).map(([n, hangs]) =>
  step({
    name: `${hangs ? 'PodHangs' : 'PodFailsToStart'}(${n})`,
    needs: 'starting',
    act: (world) => {
      const job = nth(world.starting(), n);
      if (hangs) job.hangs = true;
      else world.end(job, 'failed');
      return job.name;
    },
  }),
);

const deaths = fc.tuple(N, fc.constantFrom<'busy' | 'idle'>('busy', 'idle')).map(([n, kind]) =>
  step({
    name: `RunnerDiesSilently(${n}, ${kind})`,
    needs: kind,
    act: (world) => {
      const job = nth(world.living(kind), n);
      world.end(job, 'failed');
      return job.name;
    },
  }),
);

const disabledRows = picking('RowDisabled', 'rows', ({ gitea }, n) => {
  const row = nth(gitea.runners(), n);
  if (!gitea.state.traits.disabledRunners) return 'this Gitea cannot';
  gitea.setDisabled(row.id, !row.disabled);
  return `${row.name} is ${row.disabled ? 'off' : 'on'}`;
});

const deletedRows = picking('RowDeleted', 'rows', ({ gitea }, n) => {
  const row = nth(gitea.runners(), n);
  gitea.deleteRunner(row.id);
  return row.name;
});

const strangers = always('StrangerTakesJob', ({ gitea }) => {
  const scope = scopeNow(gitea.state, { kind: 'owner', owner: 'acme' });
  const { id } = gitea.register({ name: 'build-host-1', scope, labels: ['linux'], ephemeral: false });
  return `job ${gitea.poll(id)?.id ?? 'none'}`;
});

const times = fc.constantFrom(5, 5, 30, 100, 301, 700).map((seconds) =>
  step({
    name: `TimePasses(${seconds} s)`,
    act: (world) => {
      world.pass(seconds * 1_000);
      return `${world.living('busy').length} runners are busy`;
    },
  }),
);

const groupChanges = fc
  .tuple(N, fc.nat(3), fc.constantFrom(['linux'], ['linux', 'gpu'], ['windows']))
  .chain(([n, cap, labels]) => {
    const changing = (name: string, change: Parameters<typeof changeGroup>[2]): Step =>
      step({ name, act: (world) => changeGroup(world, n, change) });
    return fc.constantFrom(
      changing(`CapChanged(${n}, ${cap})`, () => ({ maxActiveRunners: cap })),
      changing(`GroupSuspended(${n})`, ({ suspend }) => ({ suspend: !suspend })),
      changing(`LabelsChanged(${n}, ${labels.join('+')})`, () => ({ labels, templateHash: labels.join() })),
    );
  });

const faults = fc
  .constantFrom(...Object.entries(FAULTS))
  .map(([what, fault]) => step({ name: `GiteaFails(${what})`, act: () => 'for one look', during: () => fault }));

const takenDuringLooks = fc.tuple(N, fc.integer({ min: 1, max: 8 })).map(([n, after]) =>
  step({
    name: `JobTakenDuringLook(${n}, after ${after} requests)`,
    needs: 'idle',
    act: () => 'while somebody looks',
    during: (world) => takenDuringLook(world, n, after),
  }),
);

/** All commands. The everyday ones come more often, because trouble needs somebody to trouble. */
export const STEPS: fc.Arbitrary<Step>[] = [
  ...repeat(6, [syncs, starts]),
  ...repeat(4, [pushes, takes, ends]),
  ...repeat(2, [runsWithNeeds, polls, takenDuringLooks, times, deaths, cancels, reruns]),
  ...[
    nights,
    renames,
    failedStarts,
    disabledRows,
    deletedRows,
    strangers,
    groupChanges,
    faults,
    fc.constant(looksTwice),
  ],
];

function repeat<T>(times: number, list: readonly T[]): T[] {
  return Array.from({ length: times }, () => list).flat();
}
