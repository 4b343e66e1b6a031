/**
 * Runs a platform's own cdk8s app around ours (docs/adr/0095). Entry of lib/platform.cjs. Returns data, throws nothing.
 *
 *   our charts ─► the platform's function changes them ─► each Job is compared with ours ─► templates, and other objects
 */
import { Console } from 'node:console';
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import * as cdk8s from 'cdk8s';
import * as constructs from 'constructs';
import type { Platform, RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { tokenSecrets } from '../config/runnergroup/secrets.ts';
import type { RunnersApp } from './app.ts';
import { type JobManifest, sorted } from './job-manifest.ts';
import type { ObjectManifest } from './output.ts';

export { RunnersApp } from './app.ts';

/** Compares the Job of the app with ours. @param secrets names of the namespace's Secrets with tokens of Gitea */
export type JudgeJob = (
  ...[group, ours, made, secrets]: readonly [RunnerGroup, object, object, readonly string[]]
) => { readonly job: object } | { readonly problems: readonly string[] };

/** Our own copies of these packages, which `require` of the platform's module returns: there is only one of each. */
const PROVIDED: Readonly<Record<string, unknown>> = { cdk8s, constructs };

/** Names that Node gives a CommonJS module. Its `console` writes to stderr, also later: stdout is for manifests alone. */
const NAMES = ['exports', 'require', 'module', 'console'];

/** Loads the platform's app. @param file CommonJS, at an absolute path. `problem`: why there is no app */
export function loadPlatform(file: string, judge: JudgeJob): Result<'platform', Platform> {
  const loaded = guarded(() => {
    const module: { exports: { platform?: unknown } } = { exports: {} };
    const requireOf = createRequire(file);
    const code = compileFunction(readFileSync(file, 'utf8'), NAMES, { filename: file });
    code(module.exports, (name: string) => PROVIDED[name] ?? requireOf(name), module, new Console(process.stderr));
    return module.exports.platform;
  });
  if ('problem' in loaded) return loaded;
  if (typeof loaded.value !== 'function') return { problem: 'it exports no function "platform"' };
  const apply = (app: object): readonly string[] => {
    const applied = guarded(() => problemsOf(app as RunnersApp, loaded.value as (app: RunnersApp) => unknown, judge));
    return 'problem' in applied ? [applied.problem] : applied.value;
  };
  return { platform: { apply } };
}

function problemsOf(app: RunnersApp, configure: (app: RunnersApp) => unknown, judge: JudgeJob): readonly string[] {
  const charts = [...app.groupCharts];
  const knownNodes = new Set(app.node.findAll());
  if (configure(app) !== undefined) return ['it must answer nothing: what it does later is not seen'];
  if (app.groupCharts.length !== charts.length) return ['groupCharts has changed; leave it as it is'];
  const all = app.node.findAll();
  const invalid = all.flatMap((each) => each.node.validate().map((text) => `${each.node.path}: ${text}`));
  const jobs = charts.flatMap((chart) => {
    const { group, ours = {}, job, node } = chart;
    const namesakes = charts.filter((each) => each.group.namespace === group.namespace);
    const secrets = namesakes.flatMap((each) => tokenSecrets(each.group));
    const judgement = judge(group, plain(ours), plain(job?.toJson()), secrets);
    if ('problems' in judgement) return judgement.problems.map((text) => `${node.path}/job: ${text}`);
    chart.setJob(sorted(judgement.job) as JobManifest);
    node.tryRemoveChild('job');
    return [];
  });
  const added = all.filter((each) => !knownNodes.has(each) && cdk8s.ApiObject.isApiObject(each)) as cdk8s.ApiObject[];
  app.added = added.map((each) => plain<ObjectManifest>(each.toJson()));
  // Each added object is rendered once, so that it is the same in every output.
  for (const [index, each] of added.entries()) Object.defineProperty(each, 'toJson', { value: () => app.added[index] });
  return [...invalid, ...jobs, ...addedProblems(app.added)];
}

/** Kinds that it may not make, with why. */
const REFUSED: Readonly<Record<string, string>> = {
  Job: 'Jobs are runners here; let another Application have it',
  RunnerGroup: 'RunnerGroups come from Git, where a policy judges them',
  Secret: 'Argo CD keeps manifests in its cache; name a Secret that is there',
};
/** Keys of labels and annotations that are ours, and of Argo CD's tracking. */
const OUR_KEY = /^(?:gitea\.bpg\.pw\/|app\.kubernetes\.io\/instance$)/;

function addedProblems(added: readonly ObjectManifest[]): readonly string[] {
  const known = new Set<string>();
  return added.flatMap(({ apiVersion, kind, metadata: { name, namespace, ...texts } }) => {
    const key = JSON.stringify([apiVersion.split('/')[0], kind, namespace, name]);
    const isTwice = known.has(key);
    known.add(key);
    const ours = Object.values(texts).flatMap((each) =>
      Object.keys(each as object).filter((text) => OUR_KEY.test(text)),
    );
    const problems = [
      ...(REFUSED[kind] === undefined ? [] : [`is a ${kind}: ${REFUSED[kind]}`]),
      ...(isTwice ? ['is there twice'] : []),
      ...ours.slice(0, 1).map((text) => `has ${text}, by which runners are found; use a name of your own`),
    ];
    return problems.map((text) => `${kind} ${namespace ?? ''}/${name} ${text}`);
  });
}

/** Returns the value as JSON would store it, with keys in order. */
function plain<T>(value: T): T {
  return sorted(JSON.parse(JSON.stringify(value))) as T;
}

type Result<K extends string, T> = { readonly [key in K]: T } | { readonly problem: string };

/** Runs the app so that it writes nothing to stdout, and so that its `process.exit` does not look like empty output. */
function guarded<T>(work: () => T): Result<'value', T> {
  const { write } = process.stdout;
  const onExit = () => {
    process.exitCode = 1;
    writeSync(2, "error: GR-APP-02 run the platform's app: it has ended the process. Remove process.exit from it.\n");
  };
  process.on('exit', onExit);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return { value: work() };
  } catch (error) {
    const errorText = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
    return { problem: `it threw ${errorText}. Correct it: nothing is rendered until then` };
  } finally {
    process.stdout.write = write;
    process.off('exit', onExit);
  }
}
