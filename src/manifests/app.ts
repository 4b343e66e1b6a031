/**
 * The cdk8s app, the one way to a Job:
 *
 *   RunnersApp ─► a RunnerGroupChart per RunnerGroup and size ─► its Job (group-job.ts) ─► a stamp per runner (stamp.ts)
 *
 * `generate` writes the stamps as text (text.ts), `cdk8s synth` writes charts as files, and `serve` needs the hash only.
 */
import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiObject, App, Chart } from 'cdk8s';
import { Construct, type IConstruct } from 'constructs';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { withSizes } from '../config/runnergroup/sizes.ts';
import { REGISTER } from '../shared/marks.ts';
import { groupJob } from './group-job.ts';
import { type Container, type FinishPod, type JobManifest, sorted } from './job-manifest.ts';
import { groupManifest, type ObjectManifest, type Output } from './output.ts';
import { printsJobLogs } from './runner-config-file.ts';
import { sortedByKey, stamp } from './stamp.ts';
import { document, withFinalNewline } from './yaml.ts';

/** Groups from which V8 collects garbage sooner: 3,000 of them take 130 MB instead of 160, and a quarter more time. */
const MANY_GROUPS = 1_000;

/** All RunnerGroups of a run, with a chart for each and for each of its sizes. */
export class RunnersApp extends App {
  /** Sorted by namespace and name, with the sizes of a group after it. */
  readonly groupCharts: readonly RunnerGroupChart[];
  /** Changes of a platform's app that are forbidden. Empty: the app may be used. */
  readonly problems: readonly string[];
  /** Further objects of that app (platform.ts). */
  added: readonly ObjectManifest[] = [];

  /** @param finish is needed if a group has a podTemplate. @param outdir folder of `synth`. Default: that of `cdk8s synth`, else `dist` */
  constructor(groups: readonly RunnerGroup[], finish?: FinishPod, outdir?: string) {
    super(outdir === undefined ? {} : { outdir });
    // It is not imported, because loading node:v8 takes 1 ms of a start.
    if (groups.length > MANY_GROUPS)
      process.getBuiltinModule('node:v8').setFlagsFromString('--heap-growing-percent=50');
    // A dot, which no namespace and no group name holds, keeps a-b/c and a/b-c apart.
    const namedGroups = groups
      .flatMap(withSizes)
      .map((group) => ({ group, id: [group.namespace, group.name, group.size?.name ?? []].flat().join('.') }));
    namedGroups.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.groupCharts = namedGroups.map(({ group, id }) => new RunnerGroupChart(this, id, group, finish));
    this.problems = groups.find(({ platform }) => platform)?.platform?.apply(this) ?? [];
  }

  /** Adds the objects of the output to the tree. Called once, before `synth`. */
  emit(output: Output): void {
    for (const chart of this.groupCharts) if (!output.isLeftOut(chart.group)) chart.emit(output);
    if (output.kept.length > 0) {
      const kept = new Chart(this, 'kept');
      for (const [index, object] of output.kept.entries()) new Manifest(kept, `object-${index}`, object);
    }
    if (output.others.length === 0) return;
    const chart = new Chart(this, 'other-documents');
    for (const [index, text] of output.others.entries()) new PassThroughDocument(chart, `document-${index}`, text);
  }

  /** Writes a file per chart with our own emitter: cdk8s' leaves strings plain that other readers take for numbers. */
  override synth(): void {
    mkdirSync(this.outdir, { recursive: true });
    for (const chart of this.node.children) {
      const text = renderManifests(chart);
      const file = `${chart.node.id.replace(/[^A-Za-z0-9.-]/g, '-')}${this.outputFileExtension}`;
      if (text !== '') writeFileSync(join(this.outdir, file), text);
    }
  }
}

/** One RunnerGroup or one size of it: the template of its Jobs, and after `emit` its object and a Job per runner. */
export class RunnerGroupChart extends Chart {
  readonly group: RunnerGroup;
  /** 16 hex digits over the template, in the name of each new runner: one name never stands for two specs. */
  templateHash = '';
  /** The group's Job without the parts of one runner. As JSON, in a tenth of the memory: most groups print no Job. */
  templateJson = '';
  /** The group's Job, for a platform's app to change. It is not printed. */
  readonly job: ApiObject | undefined;
  /** The Job before that app has changed it. */
  readonly ours: JobManifest | undefined;

  /** @param finish merges podTemplate and profile into our pod. Absent: our pod is the final one. */
  constructor(scope: Construct, id: string, group: RunnerGroup, finish?: FinishPod) {
    super(scope, id, { namespace: group.namespace });
    this.group = group;
    const job = groupJob(group);
    const made = finish ? withTemplate(job, group, finish) : job;
    this.setJob(made);
    if (!group.platform) return;
    this.ours = made;
    this.job = new ApiObject(this, 'job', JSON.parse(JSON.stringify(made)));
  }

  setJob(job: JobManifest): void {
    this.templateHash = hash('sha256', JSON.stringify(job)).slice(0, 16);
    this.templateJson = JSON.stringify(withUnhashedParts(job, this.group));
  }

  get template(): JobManifest {
    return JSON.parse(this.templateJson) as JobManifest;
  }

  emit({ runnersOf, emitGroups, shards }: Output): void {
    if (emitGroups && !this.group.size) new Manifest(this, 'runner-group', groupManifest(this.group, shards));
    const runners = runnersOf(this.group);
    if (runners.length === 0) return;
    const { template } = this;
    for (const parts of runners) {
      // Without the prefix, constructs would sort ids that look like numbers.
      new Manifest(this, `job-${parts.name}`, stamp(template, parts));
    }
  }
}

/** Finishes the pod, with its keys in order: the order in a podTemplate must not change the hash. */
function withTemplate(job: JobManifest, group: RunnerGroup, finish: FinishPod): JobManifest {
  const template = finish(group, job.spec.template);
  return template === job.spec.template ? job : (sorted({ ...job, spec: { ...job.spec, template } }) as JobManifest);
}

/**
 * Adds parts that are not in the hash: 0.2.0 did not have them, and its runners keep their names. Templates win.
 * - Our images are for Linux: on other nodes the pods would fail.
 * - The last lines of each container of ours stand in the status of its pod when it fails (docs/adr/0120).
 * - A runner that is stopped while it starts hears of it (docs/adr/0125).
 */
function withUnhashedParts(job: JobManifest, group: RunnerGroup): JobManifest {
  const { template } = job.spec;
  const { containers, initContainers, nodeSelector } = template.spec;
  // What a CI job prints is not for all who may read pods.
  const speaking = printsJobLogs(group) ? SPEAKING.filter((name) => name !== 'runner') : SPEAKING;
  const withLastWords = (container: Container): Container =>
    speaking.includes(container.name)
      ? fieldsInOrder({ terminationMessagePolicy: 'FallbackToLogsOnError', ...container })
      : container;
  const spec = {
    ...template.spec,
    containers: containers.map(withPreStop).map(withLastWords),
    ...(initContainers && { initContainers: initContainers.map(withLastWords) }),
    nodeSelector: { 'kubernetes.io/os': 'linux', ...nodeSelector },
  };
  return { ...job, spec: { ...job.spec, template: { ...template, spec } } };
}

/** Our containers. `setup` has the field by itself. */
const SPEAKING: readonly string[] = [REGISTER, 'runner', 'docker', 'buildkit'];

function fieldsInOrder(container: Container): Container {
  return sortedByKey<unknown>({ ...container }) as unknown as Container;
}

/** A pod that is deleted as its container starts gets SIGTERM before process 1 handles it (containerd 2.4, 40 ms). */
function withPreStop(container: Container): Container {
  if (container.name !== 'runner') return container;
  const stop = container.lifecycle?.preStop?.exec.command;
  // While s6 starts, the command of dind-rootless fails.
  const command = stop ? ['sh', '-c', '"$@" || sleep 1', 'sh', ...stop] : ['sleep', '1'];
  const lifecycle = { ...container.lifecycle, preStop: { exec: { command } } };
  return fieldsInOrder({ ...container, lifecycle });
}

/** An object that is rendered unchanged: cdk8s would drop nulls, sort keys and walk the template once per runner. Patches have no effect. */
class Manifest extends ApiObject {
  readonly #manifest: ObjectManifest;

  constructor(scope: Construct, id: string, manifest: ObjectManifest) {
    const { name, namespace } = manifest.metadata;
    super(scope, id, {
      apiVersion: manifest.apiVersion,
      kind: manifest.kind,
      metadata: { name, ...(namespace !== undefined && { namespace }) },
    });
    this.#manifest = manifest;
  }

  override toJson(): ObjectManifest {
    return this.#manifest;
  }
}

/** A document of another kind, as text. To parse and write it could change words of YAML 1.1: `on`, dates, `0777`. */
class PassThroughDocument extends Construct {
  readonly text: string;

  constructor(scope: Construct, id: string, text: string) {
    super(scope, id);
    this.text = text;
  }
}

/** Everything below `root` as YAML, in the order of the tree. The first `---` keeps a `{` from being read as JSON. */
export function renderManifests(root: IConstruct): string {
  const texts = root.node.findAll().flatMap((construct) => {
    if (construct instanceof PassThroughDocument) return [withFinalNewline(construct.text)];
    return ApiObject.isApiObject(construct) ? [document(construct.toJson())] : [];
  });
  return texts.map((text) => `---\n${text}`).join('');
}

/** Returns the template of one group's Jobs. The same group always gives the same bytes. */
export function podTemplate(group: RunnerGroup, finish?: FinishPod): JobManifest {
  return chartOf(group, finish).template;
}

/** Returns the hash of a group's template, which is in the names of its runners. */
export function templateHash(group: RunnerGroup, finish?: FinishPod): string {
  return chartOf(group, finish).templateHash;
}

function chartOf(group: RunnerGroup, finish: FinishPod | undefined): RunnerGroupChart {
  return new RunnersApp([group], finish).groupCharts.find((chart) => chart.group === group) as RunnerGroupChart;
}
