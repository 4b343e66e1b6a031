/** The direction of imports (docs/adr/0001): arrows point down, and `src/planner` points nowhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

interface Rule {
  /** Allowed imports besides the room itself: rooms, packages, node modules. */
  readonly may: readonly string[];
  readonly instead: string;
}

/**
 * Any package, and Node's own modules. The rooms that `generate` needs name their packages: each takes time at a start.
 */
const PACKAGES = 'any package';

/** The rooms, from the top down: each imports only what stands below it. */
const ROOMS: Readonly<Record<string, Rule>> = {
  'src/cli': {
    may: [
      ...['tasks', 'telemetry', 'answers', 'plan', 'clients', 'config', 'planner', 'shared'].map(room),
      ...['demo', PACKAGES],
    ],
    instead: 'nothing stands above the commands',
  },
  'src/tasks': {
    may: [...['page', 'serve', 'answers', 'plan', 'clients', 'config', 'planner', 'shared'].map(room), PACKAGES],
    instead: 'a task gets what it needs in its context',
  },
  'src/page': {
    may: [...['serve', 'answers', 'plan', 'clients', 'planner', 'shared'].map(room), PACKAGES],
    instead: 'a task starts it, with what it needs',
  },
  'src/telemetry': {
    may: [...['serve', 'shared'].map(room), PACKAGES],
    instead: 'it hears events, and asks nobody: src/serve/planning/events.ts has their types',
  },
  'src/serve': {
    may: [...['answers', 'plan', 'clients', 'config', 'planner', 'shared'].map(room), PACKAGES],
    instead: 'features of the leader are tasks, and what happens is an event',
  },
  'src/answers': {
    may: [...['plan', 'clients', 'config', 'planner', 'shared'].map(room), 'node:*'],
    instead: 'it makes words of a plan, and asks nobody',
  },
  'src/plan': {
    may: [...['manifests', 'clients', 'config', 'planner', 'shared'].map(room), 'node:*'],
    instead: 'it goes from groups to evidence and to a plan',
  },
  'src/manifests': {
    may: [...['config', 'shared'].map(room), 'node:*', 'cdk8s', 'cdk8s-plus-28', 'constructs', 'yaml', 'zod'],
    instead: 'it renders finished decisions',
  },
  'src/clients': {
    may: [...['planner', 'shared'].map(room), 'node:*', 'undici', 'zod'],
    instead: 'return evidence and let src/plan join it',
  },
  'src/config': {
    may: [room('shared'), 'node:*', 'yaml', 'zod'],
    instead: 'reading RunnerGroups needs nothing but files',
  },
  'src/planner': { may: ['node:crypto'], instead: 'give it what it needs as evidence' },
  'src/shared': { may: ['package.json', 'node:*'], instead: 'it knows nobody' },
  demo: { may: [room('shared'), 'simulator', PACKAGES], instead: 'commands are handed to it' },
  packaging: {
    may: [...['cli/flags', 'manifests', 'clients', 'config', 'shared'].map(room), 'imports', PACKAGES],
    instead: 'it writes files from what the source says',
  },
  simulator: { may: ['node:*'], instead: 'it stands for a foreign server and must not share our view of it' },
};

/** Inside of rooms. */
const PARTS: Readonly<Record<string, Rule>> = {
  'src/clients/http': { may: [room('shared'), 'node:*', 'undici'], instead: 'it knows no server' },
  'src/clients/tokens': { may: [room('shared'), 'node:*'], instead: 'it knows where a token may go, and asks nobody' },
  'src/config/runnergroup': {
    may: [room('shared'), 'node:*', 'yaml', 'zod'],
    instead: 'what a policy says of it is for src/config/policy',
  },
  'src/config/pods': {
    may: ['node:net', 'node:path', room('config/runnergroup/words.ts')],
    instead: 'it judges and merges templates; give it what it needs',
  },
  'src/manifests/construct': {
    may: [room('shared/failure.ts'), room('shared/marks.ts'), room('config/runnergroup'), 'cdk8s', 'constructs', 'zod'],
    instead: 'it is a library: whatever it imports comes into the projects of others',
  },
};

function room(name: string): string {
  return `src/${name}`;
}

const files = ['src', 'demo', 'simulator', 'packaging'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file)),
);

function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^;'"]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g,
  );
  return [...found].map(([, fixed, lazy]) => {
    const target = fixed ?? lazy ?? '';
    return target.startsWith('.') ? normalize(join(dirname(file), target)) : target;
  });
}

function isAllowed(target: string, room: string, may: readonly string[]): boolean {
  return [`${room}/`, ...may].some((rule) => {
    if (rule === PACKAGES) return !/^(?:src|demo|simulator|packaging|imports|test)\//.test(target);
    if (rule.endsWith('*')) return target.startsWith(rule.slice(0, -1));
    return target === rule || target.startsWith(rule.endsWith('/') ? rule : `${rule}/`);
  });
}

it('every file is in a room, but the app of cdk8s', () => {
  const outside = files.filter((file) => !Object.keys(ROOMS).some((name) => file.startsWith(`${name}/`)));

  expect(outside).toEqual(['src/main.ts']);
});

describe.each(Object.entries({ ...ROOMS, ...PARTS }))('%s', (room, { may, instead }) => {
  const inRoom = files.filter((file) => file.startsWith(`${room}/`));

  it('exists', () => {
    expect(inRoom.length).toBeGreaterThan(0);
  });

  it('imports only what it may', () => {
    const wrong = inRoom.flatMap((file) =>
      importsOf(file)
        .filter((target) => !isAllowed(target, room, may))
        .map((target) => `${file} may not import ${target}; ${instead}`),
    );

    expect(wrong).toEqual([]);
  });
});

it('no two files have one name', () => {
  const names = files.filter((file) => file.startsWith('src/')).map((file) => basename(file));

  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it.each(Object.keys(ROOMS))('the folders of %s are floors: none imports one that imports it', (name) => {
  const below = new Map<string, Set<string>>();
  for (const file of files.filter((each) => each.startsWith(`${name}/`))) {
    const own = below.get(dirname(file)) ?? new Set();
    below.set(dirname(file), own);
    for (const target of importsOf(file))
      if (target.startsWith(`${name}/`) && dirname(target) !== dirname(file)) own.add(dirname(target));
  }
  // A floor that stands on none of those that are left is the lowest one.
  for (let before = -1; before !== below.size; ) {
    before = below.size;
    for (const [folder, others] of below) if (![...others].some((other) => below.has(other))) below.delete(folder);
  }

  expect([...below.keys()]).toEqual([]);
});

it('src/shared/marks.ts imports nothing, and no other file spells a label or annotation that two rooms know', () => {
  const marks = [
    ...readFileSync('src/shared/marks.ts', 'utf8').matchAll(/'((?:argocd\.argoproj\.io|gitea\.bpg\.pw)\/[^']+)'/g),
  ];
  const spelled = files.filter((file) => {
    if (!file.startsWith('src/')) return false;
    const text = readFileSync(file, 'utf8');
    return file !== 'src/shared/marks.ts' && marks.some(([quoted]) => text.includes(quoted));
  });

  expect(marks.length).toBeGreaterThan(10);
  expect(importsOf('src/shared/marks.ts')).toEqual([]);
  expect(spelled).toEqual([]);
});

it('src/planner reads no clock, chance or environment', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b|\bperformance\b|\bfetch\(|\bsetTimeout\b|\bconsole\b/;

  expect(files.filter((file) => file.startsWith('src/planner/') && impure.test(readFileSync(file, 'utf8')))).toEqual(
    [],
  );
});

/** Packages that have ended up in a built file; esbuild names each module in a comment. */
const packagesIn = (file: string) =>
  new Set(
    [...readFileSync(file, 'utf8').matchAll(/^\s*(?:\/\/|"?)\s*node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(
      ([, name]) => name,
    ),
  );

it('the path that Argo CD runs has of all packages those that read RunnerGroups, and cdk8s in a part of its own', () => {
  expect(packagesIn('lib/generate.cjs')).toEqual(new Set(['commander', 'zod']));
  expect(packagesIn('lib/validate.cjs')).toEqual(new Set(['commander', 'zod']));
  expect(packagesIn('lib/documents.cjs')).toEqual(new Set(['yaml']));
  expect(packagesIn('lib/policy.cjs')).toEqual(new Set(['yaml', 'zod']));
  expect(packagesIn('lib/charts.cjs')).toEqual(new Set(['cdk8s', 'cdk8s-plus-28', 'constructs']));
  expect(packagesIn('lib/pods.cjs')).toEqual(new Set());
  expect(packagesIn('lib/unseen.cjs')).toEqual(new Set());
  expect(packagesIn('lib/gitea-runners.cjs')).toEqual(new Set());
});

it('the path that Argo CD runs has what the planner makes up for an unseen cluster in a part of its own', () => {
  const having = ['generate', 'unseen'].filter((part) =>
    readFileSync(`lib/${part}.cjs`, 'utf8').includes('// src/planner/unseen/replay.ts'),
  );

  expect(having).toEqual(['unseen']);
});

it('the path that Argo CD runs would notice: the whole program has them all', () => {
  const all = [
    'cdk8s',
    'cdk8s-plus-28',
    'commander',
    'constructs',
    'lru-cache',
    'pino',
    'prom-client',
    'undici',
    'yaml',
    'zod',
  ];
  const found = new Set([...packagesIn('lib/cli.cjs'), ...packagesIn('lib/charts.cjs')]);

  expect(all.filter((name) => !found.has(name))).toEqual([]);
});

it('the whole program loads commands, serve and the demo only when they are called for', () => {
  const eager =
    /(?:^|\n)import (?!type)[^;]*from '(?:\.\/(?:commands\/)?(?:generate|explain|validate|schema|serve|sweep)\.ts|\.\.\/\.\.\/demo|\.\.\/serve\/|prom-client|pino|cdk8s|\.\.?\/manifests\/(?:app|pod-template|render|group-job|runner-group-chart)\.ts)/;

  expect(
    [
      'src/cli/cli.ts',
      'src/plan/look-and-plan.ts',
      'src/cli/reading/read-and-plan.ts',
      'src/cli/commands/generate.ts',
      'src/main.ts',
    ].filter((file) => eager.test(readFileSync(file, 'utf8'))),
  ).toEqual([]);
});

it('cdk8s and cdk8s-plus are imported by their names: what lies inside of them may move', () => {
  expect(files.filter((file) => /from 'cdk8s[\w-]*\//.test(readFileSync(file, 'utf8')))).toEqual([]);
  expect(readFileSync('src/manifests/group-job.ts', 'utf8')).toContain("from 'cdk8s-plus-28'");
});

it("a kubeconfig's program is started only by commands that people type", () => {
  const importing = (target: string): readonly string[] =>
    files.filter((file) => readFileSync(file, 'utf8').includes(`/${target}.ts'`)).sort();

  expect(importing('exec-login')).toEqual(['src/cli/reading/own-kubeconfig.ts']);
  expect(importing('own-kubeconfig')).toEqual([
    'src/cli/commands/doctor.ts',
    'src/cli/commands/extend.ts',
    'src/cli/commands/sweep.ts',
    'src/cli/commands/validate-against.ts',
    'src/cli/reading/cluster-source.ts',
  ]);
});
