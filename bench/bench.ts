/**
 * `npm run bench`: what a start costs, as ratios to `node -e 0`, to the straightforward cdk8s program and to `helm template`.
 *
 *   npm run bench               prints the table
 *   npm run bench -- --write    also bench/results.json, docs/img/cost.svg and the table in docs/performance.md
 *   npm run bench:guard         compares the CPU time of starts with bench/results.json, and ends with 1 when one has become slower
 *   npm run bench:against       compares it with an earlier version, by turns, and ends with 1 when a start has become slower
 *
 * ROUNDS=31 for more rounds; HELM=… names the helm to compare with (default: the one in PATH, else none).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Comparison, regressions } from './guard-rule.ts';
import { BASE, type Case, cpuTime, type Measured, measure, median, peaksMiB } from './measure.ts';
import { drawCost } from './picture.ts';
import { POD_TEMPLATE } from './pod-template.ts';
import { Scene } from './scene.ts';
import type { StandIn } from './stand-in.ts';

const RESULTS = 'bench/results.json';
const PICTURE = 'docs/img/cost.svg';
const MANUAL = 'docs/performance.md';
const ROUNDS = Number(process.env['ROUNDS'] ?? 15);
/** Rounds of programs that take seconds. */
const FEW = 3;
const SIZES = [1, 10, 50, 100, 1000, 10_000];

const ours = (jobs: number) => `generate, ${jobs} jobs`;
const plain = (jobs: number) => `plain cdk8s, ${jobs} jobs`;
const helm = (jobs: number) => `helm template, ${jobs} jobs`;
const MANY = 'generate, 100 groups of 5 scopes';
const VALIDATE = 'validate, 100 files';
const WITH_TEMPLATE = 'generate, 50 jobs, full podTemplate';
const WITH_APP = 'generate, 50 jobs, app of examples/platform';
const NEAR = 'generate, 50 jobs, near';
const FAR = 'generate, 50 jobs, 20 ms away';
/** With one job less than a full page, no further page is read. */
const NEAR_49 = 'generate, 49 jobs, near';
const FAR_49 = 'generate, 49 jobs, 20 ms away';
/**
 * Programs of the guard, and their comparisons besides `node -e 0`: both quotients change with the processor or with
 * Node.
 */
const WATCHED = [ours(50), ours(1000), VALIDATE];
const WITNESS = plain(50);

/** A line of the table. `must`: target of issue and design. */
interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly must?: number;
}

async function main(): Promise<void> {
  const scene = new Scene();
  try {
    if (process.argv.includes('--guard')) return await guard(scene);
    const [, program] = process.argv.slice(process.argv.indexOf('--against'));
    if (process.argv.includes('--against')) return await against(scene, program ?? '');
    await bench(scene);
  } finally {
    scene.close();
  }
}

async function bench(scene: Scene): Promise<void> {
  const giteas = new Map(await Promise.all(SIZES.map(async (jobs) => [jobs, await scene.gitea(jobs)] as const)));
  const many = await scene.gitea(10);
  const cases: Case[] = [scene.generateMany(MANY, many), scene.validate(VALIDATE)];
  cases.push(scene.generate(WITH_TEMPLATE, await scene.gitea(50), POD_TEMPLATE));
  cases.push(scene.withApp(WITH_APP, await scene.gitea(50)));
  cases.push(scene.generate(NEAR, await scene.gitea(50)), scene.generate(FAR, await scene.gitea(50, 20)));
  cases.push(scene.generate(NEAR_49, await scene.gitea(49)), scene.generate(FAR_49, await scene.gitea(49, 20)));
  for (const [jobs, gitea] of giteas) {
    const rounds = jobs > 1000 ? FEW : ROUNDS;
    cases.push(scene.generate(ours(jobs), gitea), scene.plain(plain(jobs), gitea, rounds));
    const helmed = await scene.helm(helm(jobs), jobs, gitea, rounds);
    if (helmed) cases.push(helmed);
  }
  const measured = await measure(cases, ROUNDS);
  const peaks = new Map<number, number>();
  for (const jobs of [50, 1000, 10_000]) {
    const each = cases.find(({ name }) => name === ours(jobs));
    if (each) peaks.set(jobs, median(await peaksMiB(each, 5)));
  }
  const { first, further } = many.requests();
  // One further round warms up.
  const requests = { first: first / (ROUNDS + 1), further: further / (ROUNDS + 1) };
  const rows = rowsOf(measured, peaks, requests);
  const about = `Node ${process.version.slice(1)}, medians of ${ROUNDS} interleaved rounds; node -e 0 took ${of(measured, BASE.name).ms.toFixed(1)} ms and ${median(await peaksMiB(BASE, 5)).toFixed(0)} MiB`;
  console.log(`${about}\n\n${tableOf(rows)}\n\n${costTable(measured)}`);
  if (!process.argv.includes('--write')) return;
  const ratios = Object.fromEntries([...measured].map(([name, { ms, ratio }]) => [name, round({ ms, ratio })]));
  const used = await measure(guardCases(scene, giteas), Math.min(ROUNDS, 11), cpuTime);
  const cpu = round(Object.fromEntries([...used].map(([name, { ratio }]) => [name, ratio])));
  const results = { node: process.version, rounds: ROUNDS, rows: rows.map(round), ratios, cpu };
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(PICTURE, pictureOf(measured));
  const text = readFileSync(MANUAL, 'utf8');
  const block = `<!-- npm run bench -- --write -->\n${about}.\n\n${tableOf(rows)}\n\n${costTable(measured)}\n<!-- end -->`;
  writeFileSync(
    MANUAL,
    text.replace(/<!-- npm run bench -- --write -->[\s\S]*?<!-- end -->/, () => block),
  );
}

function rowsOf(
  measured: ReadonlyMap<string, Measured>,
  peaks: ReadonlyMap<number, number>,
  requests: { readonly first: number; readonly further: number },
): readonly Row[] {
  const many = of(measured, ours(10_000));
  const slopes = differences(many.ratios, of(measured, ours(1000)).ratios).map((ratio) => ratio / 9);
  const plainTimes = of(measured, NEAR).times;
  const withTemplate = median(of(measured, WITH_TEMPLATE).times.map((ms, at) => ms / (plainTimes[at] ?? Number.NaN)));
  const delay = (far: string, near: string) => median(differences(of(measured, far).times, of(measured, near).times));
  return [
    { what: '`generate`, 50 Jobs', value: of(measured, ours(50)).ratio, unit: '× node -e 0', must: 3.3 },
    {
      what: '`generate`, 50 Jobs, with the app of `examples/platform`',
      value: of(measured, WITH_APP).ratio,
      unit: '× node -e 0',
      must: 4,
    },
    // 25 ms where node -e 0 takes 17.
    { what: '`generate`, each further 1000 Jobs', value: median(slopes), unit: '× node -e 0', must: 1.5 },
    { what: 'peak memory, 50 Jobs', value: peaks.get(50) ?? Number.NaN, unit: 'MiB', must: 65 },
    { what: 'peak memory, 1000 Jobs', value: peaks.get(1000) ?? Number.NaN, unit: 'MiB', must: 75 },
    { what: 'peak memory, 10,000 Jobs', value: peaks.get(10_000) ?? Number.NaN, unit: 'MiB', must: 150 },
    { what: '`generate`, 50 Jobs with a full podTemplate', value: withTemplate, unit: '× without', must: 1.15 },
    { what: 'extra time with 20 ms to Gitea, 49 Jobs', value: delay(FAR_49, NEAR_49), unit: 'ms', must: 25 },
    { what: 'extra time with 20 ms to Gitea, 50 Jobs', value: delay(FAR, NEAR), unit: 'ms', must: 50 },
    { what: '100 groups of 5 scopes: requests per scope', value: requests.first / 5, unit: '', must: 4 },
    { what: '100 groups of 5 scopes: further pages per scope', value: requests.further / 5, unit: '' },
    { what: '`generate`, 100 groups of 5 scopes', value: of(measured, MANY).ratio, unit: '× node -e 0' },
    { what: '`validate`, 100 files', value: of(measured, VALIDATE).ratio, unit: '× node -e 0', must: 4 },
  ];
}

/** Round by round: what slows a whole round down is in both. */
function differences(more: readonly number[], less: readonly number[]): readonly number[] {
  return more.map((value, at) => value - (less[at] ?? Number.NaN));
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ what, value, unit, must }) =>
      `| ${what} | **${number(value)}** ${unit} | ${must === undefined ? '' : `≤ ${must}`} |`,
  );
  return ['| case | measured | bound |', '|---|---|---|', ...lines].join('\n');
}

/** Ratios to `node -e 0` by number of Jobs, and how many times quicker ours is. */
function costTable(measured: ReadonlyMap<string, Measured>): string {
  const cell = (name: string) => (measured.has(name) ? number(of(measured, name).ratio) : 'not run');
  const times = (name: string, jobs: number) =>
    measured.has(name) ? number(of(measured, name).ms / of(measured, ours(jobs)).ms) : 'not run';
  const lines = SIZES.map(
    (jobs) =>
      `| ${jobs} | ${cell(ours(jobs))} | ${cell(plain(jobs))} | ${cell(helm(jobs))} | ${times(plain(jobs), jobs)} | ${times(helm(jobs), jobs)} |`,
  );
  return [
    '| Jobs | `generate`, × node -e 0 | plain cdk8s, × node -e 0 | `helm template`, × node -e 0 | plain ÷ `generate` | helm ÷ `generate` |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

function pictureOf(measured: ReadonlyMap<string, Measured>): string {
  const points = (nameOf: (jobs: number) => string) =>
    SIZES.flatMap((jobs) => {
      const ratio = measured.get(nameOf(jobs))?.ratio;
      return ratio === undefined ? [] : [{ jobs, ratio }];
    });
  return drawCost(
    [
      { name: 'generate', colour: '#2f7d32', points: points(ours) },
      { name: 'plain cdk8s program', colour: '#c0392b', points: points(plain) },
      { name: 'helm template (asks nobody)', colour: '#2c5f9e', points: points(helm) },
    ],
    'How long a start takes: 2 × is twice as long as Node.js alone (node -e 0)',
  );
}

function guardCases(scene: Scene, giteas: ReadonlyMap<number, StandIn>): Case[] {
  const [fifty, thousand] = [giteas.get(50), giteas.get(1000)];
  if (!fifty || !thousand) throw new Error('no Gitea of 50 or 1000 jobs');
  return [
    scene.generate(ours(50), fifty),
    scene.generate(ours(1000), thousand),
    scene.validate(VALIDATE),
    scene.plain(WITNESS, fifty),
  ];
}

/** Compares with the committed figures. A second, longer measurement follows before a failure is reported. */
async function guard(scene: Scene): Promise<void> {
  const { cpu: known } = JSON.parse(readFileSync(RESULTS, 'utf8')) as {
    readonly cpu: Readonly<Record<string, number>>;
  };
  const cases = guardCases(
    scene,
    new Map([
      [50, await scene.gitea(50)],
      [1000, await scene.gitea(1000)],
    ]),
  );
  for (const rounds of [5, 11]) {
    const measured = await measure(cases, rounds, cpuTime);
    const found = WATCHED.flatMap((name) => slower(name, measured, known));
    for (const name of [...WATCHED, WITNESS]) {
      const { ratio } = of(measured, name);
      console.log(`${name}: ${number(ratio)} × node -e 0 of CPU time, committed ${number(known[name] ?? Number.NaN)}`);
    }
    if (found.length === 0) return console.log('no start has become slower');
    console.log(found.join('\n'));
  }
  process.exitCode = 1;
}

/** Compares with an earlier version by turns, so that a slow machine slows both. Both get the flags of this version. */
async function against(scene: Scene, earlier: string): Promise<void> {
  const cases = await Promise.all(
    [50, 1000, 10_000].map(async (jobs) => scene.generate(ours(jobs), await scene.gitea(jobs))),
  );
  const before = (each: Case): Case => ({
    ...each,
    name: `${each.name}, earlier`,
    args: each.args.map((word) => (word.endsWith('gitea-runners.cjs') ? earlier : word)),
  });
  const measured = await measure([...cases, ...cases.map(before)], ROUNDS, cpuTime);
  const compared = cases.map((each) => {
    const theirs = of(measured, before(each).name).times;
    const ratios = of(measured, each.name).times.map((ms, at) => ms / (theirs[at] ?? Number.NaN));
    console.log(`${each.name}: ${number(median(ratios))} × the CPU time of the earlier version`);
    return { name: each.name, ratios, committed: 1 };
  });
  const found = regressions(compared);
  console.log(found.length === 0 ? 'no start has become slower' : found.join('\n'));
  process.exitCode = found.length === 0 ? 0 : 1;
}

/** Returns the fault of one start: a regression changes both quotients, another processor or Node only one. */
function slower(
  name: string,
  measured: ReadonlyMap<string, Measured>,
  known: Readonly<Record<string, number>>,
): readonly string[] {
  const { ratios } = of(measured, name);
  const committed = known[name] ?? Number.NaN;
  const witness = of(measured, WITNESS).ratios;
  const toBase: Comparison = { name: `${name} / ${BASE.name}`, ratios, committed };
  const toWitness: Comparison = {
    name: `${name} / ${WITNESS}`,
    ratios: ratios.map((ratio, at) => ratio / (witness[at] ?? median(witness))),
    committed: committed / (known[WITNESS] ?? Number.NaN),
  };
  const wrong = regressions([toBase, toWitness]);
  return wrong.length === 2 ? wrong : [];
}

function of(measured: ReadonlyMap<string, Measured>, name: string): Measured {
  const found = measured.get(name);
  if (!found) throw new Error(`${name} was not measured`);
  return found;
}

function number(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 20 ? 1 : 2);
}

function round<T extends object>(values: T): T {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, typeof value === 'number' ? Number(value.toFixed(2)) : value]),
  ) as T;
}

void main();
