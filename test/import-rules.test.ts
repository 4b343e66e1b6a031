/** The direction of imports (docs/adr/0001): arrows point towards `src/planner`, which points nowhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** What a room may import besides itself: other rooms (`src/…`), packages, node modules. Rooms not named may import all. */
const RULES: Readonly<Record<string, { readonly may: readonly string[]; readonly instead: string }>> = {
  'src/planner': { may: ['node:crypto'], instead: 'give it what it needs as evidence' },
  'src/config/runnergroup': {
    may: [
      'src/shared/base-url.ts',
      'src/shared/failure.ts',
      'src/shared/parse-url.ts',
      'src/shared/printable.ts',
      'node:*',
      'yaml',
      'zod',
    ],
    instead: 'reading RunnerGroups needs nothing but files',
  },
  'src/clients/http': {
    may: ['src/shared/clock.ts', 'src/shared/failure.ts', 'src/shared/parse-url.ts', 'node:*', 'undici'],
    instead: 'it knows no server',
  },
  'src/clients/gitea': {
    may: [
      'src/shared/clock.ts',
      'src/shared/base-url.ts',
      'src/shared/failure.ts',
      'src/shared/group-by.ts',
      'src/clients/http',
      'src/shared/parse-url.ts',
      'src/planner/evidence.ts',
      'src/clients/tokens/token.ts',
      'src/config/runnergroup/runner-group.ts',
      'node:*',
      'undici',
      'zod',
    ],
    instead: 'return evidence and let src/observe/look-and-plan.ts join it',
  },
  'src/clients/kubernetes': {
    may: [
      'src/shared/clock.ts',
      'src/shared/marks.ts',
      'src/shared/failure.ts',
      'src/shared/group-by.ts',
      'src/clients/http',
      'src/shared/parse-url.ts',
      'src/planner/evidence.ts',
      'src/shared/printable.ts',
      'src/config/runnergroup/documents.ts',
      'node:*',
      'undici',
      'zod',
    ],
    instead: 'return evidence and let src/observe/look-and-plan.ts join it',
  },
  'src/clients/argocd': {
    may: [
      'src/shared/clock.ts',
      'src/shared/marks.ts',
      'src/shared/failure.ts',
      'src/clients/http',
      'src/shared/parse-url.ts',
      'src/clients/tokens/token.ts',
      'src/shared/printable.ts',
      'node:*',
      'zod',
    ],
    instead: 'it knows Applications, and src/serve knows why they are woken',
  },
  'src/clients/tokens': {
    may: [
      'src/shared/base-url.ts',
      'src/shared/failure.ts',
      'src/shared/printable.ts',
      'src/config/runnergroup/runner-group.ts',
      'src/config/runnergroup/scope.ts',
      'node:*',
    ],
    instead: 'it knows where a token may go, and asks nobody',
  },
  'src/telemetry/tracing': {
    may: ['src/shared/clock.ts', 'src/planner/decisions.ts', 'package.json', 'node:*', '@opentelemetry/*'],
    instead: 'it writes spans; what they tell is for src/telemetry',
  },
  'src/config/policy': {
    may: [
      'src/shared/base-url.ts',
      'src/shared/failure.ts',
      'src/shared/printable.ts',
      'src/config/pods',
      'src/config/runnergroup',
      'node:fs',
      'zod',
    ],
    instead: 'it judges RunnerGroups by a file, and asks nobody',
  },
  'src/manifests': {
    may: [
      'src/planner/decisions.ts',
      'src/planner/evidence.ts',
      'src/planner/names.ts',
      'src/config/runnergroup/runner-group.ts',
      'src/shared/failure.ts',
      'src/shared/group-by.ts',
      'src/shared/key-text.ts',
      'node:*',
      'cdk8s',
      'cdk8s-plus-28',
      'constructs',
      'yaml',
    ],
    instead: 'charts render finished decisions',
  },
  'src/manifests/construct': {
    may: ['src/shared/failure.ts', 'src/config/runnergroup', 'cdk8s', 'constructs', 'zod'],
    instead: 'it is a library: whatever it imports comes into the projects of others',
  },
  'src/config/pods': {
    may: ['node:path'],
    instead: 'it judges and merges templates; give it what it needs as arguments',
  },
  'model/gitea': { may: ['node:*'], instead: 'it stands for a foreign server and must not share our view of it' },
};

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join('src', file));

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
    if (rule.endsWith('*')) return target.startsWith(rule.slice(0, -1));
    return target === rule || target.startsWith(rule.endsWith('/') ? rule : `${rule}/`);
  });
}

describe.each(Object.entries(RULES))('%s', (room, { may, instead }) => {
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

describe('src/shared/marks.ts', () => {
  it('imports nothing, and no other file spells a label or annotation that two rooms know', () => {
    const marks = [
      ...readFileSync('src/shared/marks.ts', 'utf8').matchAll(/'((?:argocd\.argoproj\.io|gitea\.bpg\.pw)\/[^']+)'/g),
    ];
    const spelled = files.filter((file) => {
      const text = readFileSync(file, 'utf8');
      return file !== 'src/shared/marks.ts' && marks.some(([quoted]) => text.includes(quoted));
    });

    expect(marks.length).toBeGreaterThan(10);
    expect(importsOf('src/shared/marks.ts')).toEqual([]);
    expect(spelled).toEqual([]);
  });
});

describe('src/planner', () => {
  it('reads no clock, chance or environment', () => {
    const impure =
      /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b|\bperformance\b|\bfetch\(|\bsetTimeout\b|\bconsole\b/;

    expect(files.filter((file) => file.startsWith('src/planner/') && impure.test(readFileSync(file, 'utf8')))).toEqual(
      [],
    );
  });
});

describe('the path that Argo CD runs', () => {
  /** Packages that have ended up in a built file; esbuild names each module in a comment. */
  const packagesIn = (file: string) =>
    new Set(
      [...readFileSync(file, 'utf8').matchAll(/^\s*(?:\/\/|"?)\s*node_modules\/((?:@[^/]+\/)?[^/]+)/gm)].map(
        ([, name]) => name,
      ),
    );

  it('has of all packages those that read RunnerGroups, and cdk8s in a part of its own', () => {
    expect(packagesIn('lib/generate.cjs')).toEqual(new Set(['commander', 'zod']));
    expect(packagesIn('lib/validate.cjs')).toEqual(new Set(['commander', 'zod']));
    expect(packagesIn('lib/documents.cjs')).toEqual(new Set(['yaml']));
    expect(packagesIn('lib/policy.cjs')).toEqual(new Set(['yaml', 'zod']));
    expect(packagesIn('lib/charts.cjs')).toEqual(new Set(['cdk8s', 'cdk8s-plus-28', 'constructs']));
    expect(packagesIn('lib/pods.cjs')).toEqual(new Set());
    expect(packagesIn('lib/gitea-runners.cjs')).toEqual(new Set());
  });

  it('would notice: the whole program has them all', () => {
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
});

describe('the whole program', () => {
  it('loads commands, serve and the demo only when they are called for', () => {
    const eager =
      /(?:^|\n)import (?!type)[^;]*from '(?:\.\/cli\/(?:generate|explain|demo|validate|schema|serve|sweep)|\.\/serve\/|prom-client|pino|cdk8s|\.\.?\/(?:cli\/)?charts\/(?:app|pod-template|render|group-job|runner-group-chart)\.ts)/;

    expect(
      [
        'src/cli/cli.ts',
        'src/observe/look-and-plan.ts',
        'src/cli/read-and-plan.ts',
        'src/cli/generate.ts',
        'src/main.ts',
      ].filter((file) => eager.test(readFileSync(file, 'utf8'))),
    ).toEqual([]);
  });
});

it('only commands that people type can start the program of a kubeconfig', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join('src', file));
  const importing = (target: string): readonly string[] =>
    files.filter((file) => readFileSync(file, 'utf8').includes(`/${target}.ts'`)).sort();

  expect(importing('exec-login')).toEqual(['src/cli/own-kubeconfig.ts']);
  expect(importing('own-kubeconfig')).toEqual([
    'src/cli/doctor.ts',
    'src/cli/explain.ts',
    'src/cli/explain/cluster-source.ts',
    'src/cli/extend.ts',
    'src/cli/sweep.ts',
  ]);
});
