/**
 * Runs a platform's own cdk8s app around ours (docs/platform.md, docs/adr/0095). The entry of lib/platform.cjs, which is loaded only then.
 * It answers with data and throws nothing: a `Failure` of that part would be none to the rest of the program.
 *
 *   our charts ─► the platform's function changes them ─► each Job is compared with ours ─► templates, and objects beside them
 */
import { Console } from 'node:console';
import { readFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import * as cdk8s from 'cdk8s';
import * as constructs from 'constructs';
import { madeJob } from '../config/pods/made-job.ts';
import { pathText, tokenSecrets } from '../config/runnergroup/paths.ts';
import { quoted } from '../config/runnergroup/problems.ts';
import type { Platform } from '../config/runnergroup/runner-group.ts';
import { nearestName } from '../config/runnergroup/words.ts';
import type { RunnerGroupChart, RunnersApp } from './app.ts';
import { type JobManifest, sorted } from './job-manifest.ts';
import type { ObjectManifest } from './stamp.ts';

export { RunnersApp } from './app.ts';

type Configure = (app: RunnersApp) => unknown;

/** There is one copy of these, ours: the module need not bring any. */
const PROVIDED: Readonly<Record<string, unknown>> = { cdk8s, constructs };

/** As Node's own, but what it says, also later, is on stderr: stdout is for manifests alone. */
const NAMES = ['exports', 'require', 'module', 'console'];

/** @param file CommonJS, at an absolute path. `problem`: why there is no app */
export function loadPlatform(file: string): { readonly platform: Platform } | { readonly problem: string } {
  const loaded = guarded(() => {
    const module: { exports: { platform?: unknown } } = { exports: {} };
    const requireOf = createRequire(file);
    const code = compileFunction(readFileSync(file, 'utf8'), NAMES, { filename: file });
    code(module.exports, (name: string) => PROVIDED[name] ?? requireOf(name), module, new Console(process.stderr));
    return module.exports.platform;
  });
  if ('problem' in loaded) return loaded;
  const { value: configure } = loaded;
  if (typeof configure !== 'function') return { problem: 'it exports no function "platform"' };
  return { platform: { apply: (app) => apply(app as RunnersApp, configure as Configure) } };
}

function apply(app: RunnersApp, configure: Configure): readonly string[] {
  const charts = [...app.groupCharts];
  const known = new Set(app.node.findAll());
  const made = guarded(() => {
    if (configure(app) !== undefined) return ['it must answer nothing: what it does later is not seen'];
    if (app.groupCharts.length !== charts.length) return ['groupCharts has changed; leave it as it is'];
    const all = app.node.findAll();
    const invalid = all.flatMap((each) => each.node.validate().map((text) => `${each.node.path}: ${text}`));
    const added = all.filter((each) => !known.has(each) && cdk8s.ApiObject.isApiObject(each)) as cdk8s.ApiObject[];
    return [...invalid, ...charts.flatMap((chart) => jobProblems(chart, charts)), ...addedProblems(app, added)];
  });
  return 'problem' in made ? [made.problem] : made.value;
}

/** Takes over the Job, if nothing is wrong with it. */
function jobProblems(chart: RunnerGroupChart, charts: readonly RunnerGroupChart[]): readonly string[] {
  const { group, own, node } = chart;
  const made = plain<JobManifest>(own?.job.toJson());
  const secrets = charts.flatMap(({ group: each }) => (each.namespace === group.namespace ? tokenSecrets(each) : []));
  const context = { secrets, level: group.securityProfile ?? 'privileged', suggest: nearestName } as const;
  const { faults, pod } = madeJob(plain(own?.ours), made, context);
  if (faults.length === 0) chart.takeOver(sorted({ ...made, spec: { ...made.spec, template: pod } }) as JobManifest);
  return faults.map(({ path, message, came }) => {
    const shown = typeof came === 'object' || came === undefined ? '' : ` (${quoted(String(came))})`;
    return `${node.path}/job: ${pathText(path)}${shown} ${message}`;
  });
}

/** Kinds that it may not make, with why. */
const REFUSED: Readonly<Record<string, string>> = {
  Job: 'Jobs are runners here; let another Application have it',
  RunnerGroup: 'RunnerGroups come from Git, where a policy judges them',
  Secret: 'Argo CD keeps manifests in its cache; name a Secret that is there',
};
/** Of runners, and of Argo CD's tracking. */
const OUR_KEY = /^(?:gitea\.bpg\.pw\/|app\.kubernetes\.io\/instance$)/;

/** Takes over the objects beside the Jobs. Each is made once: it says the same in every output. */
function addedProblems(app: RunnersApp, added: readonly cdk8s.ApiObject[]): readonly string[] {
  const seen = new Set<string>();
  return added.flatMap((construct) => {
    const manifest: ObjectManifest = plain(construct.toJson());
    const { apiVersion, kind, metadata } = manifest;
    const { labels, annotations } = metadata as { readonly labels?: object; readonly annotations?: object };
    const key = JSON.stringify([apiVersion.split('/')[0], kind, metadata.namespace, metadata.name]);
    const ours = Object.keys({ ...labels, ...annotations }).find((text) => OUR_KEY.test(text));
    const problems = [
      REFUSED[kind] === undefined ? [] : `is a ${kind}: ${REFUSED[kind]}`,
      seen.has(key) ? `is a second ${kind} ${metadata.name}` : [],
      ours === undefined ? [] : `has ${ours}, by which runners are found; use a name of your own`,
    ].flat();
    seen.add(key);
    Object.defineProperty(construct, 'toJson', { value: () => manifest });
    const chart = app.groupCharts.find((each) => construct.node.scopes.includes(each)) ?? app;
    chart.added = [...chart.added, manifest];
    return problems.map((text) => `${construct.node.path} ${text}`);
  });
}

/** As JSON has it, with keys in order. */
function plain<T>(value: T): T {
  return sorted(JSON.parse(JSON.stringify(value))) as T;
}

/** Nothing of it reaches stdout, and a process that it ends does not look like one that had nothing to print. */
function guarded<T>(work: () => T): { readonly value: T } | { readonly problem: string } {
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
    return { problem: `it has thrown ${error instanceof Error ? `${error.name}: ${error.message}` : typeof error}` };
  } finally {
    process.stdout.write = write;
    process.off('exit', onExit);
  }
}
