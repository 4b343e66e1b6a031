/**
 * The cdk8s app, the one way to a Job. `generate`, `cdk8s synth` and `serve` build it, at run time:
 *
 *   RunnersApp ─► a RunnerGroupChart per RunnerGroup ─► the group's Job (group-job.ts) ─► a stamp of it per runner (stamp.ts)
 *
 * `generate` writes the stamps as text (text.ts). `cdk8s synth` adds them to the charts and writes files. `serve` needs the hash only.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Chart } from 'cdk8s';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { FinishPod } from './finish-pod.ts';
import { Manifest } from './manifest.ts';
import type { Output } from './output.ts';
import { PassThroughDocument } from './pass-through.ts';
import { renderManifests } from './render.ts';
import { RunnerGroupChart } from './runner-group-chart.ts';

/**
 * Above this number V8 collects sooner what the constructs leave behind. 3,000 groups, the most that one run accepts, then take 130 MB
 * instead of 160, and a quarter more time.
 */
const MANY_GROUPS = 1_000;

export interface RunnersAppOptions {
  /** Where `synth` writes; default: what `cdk8s synth` asks for, else `dist`. */
  readonly outdir?: string;
  /** Needed when a group has a podTemplate. */
  readonly finish?: FinishPod | undefined;
}

/** The tree of constructs. */
export class RunnersApp extends App {
  /** By namespace and name. */
  readonly groupCharts: readonly RunnerGroupChart[];

  constructor(groups: readonly RunnerGroup[], { outdir, finish }: RunnersAppOptions = {}) {
    super(outdir === undefined ? {} : { outdir });
    // Not imported: loading node:v8 takes a start 1 ms.
    if (groups.length > MANY_GROUPS)
      process.getBuiltinModule('node:v8').setFlagsFromString('--heap-growing-percent=50');
    // A dot, which no namespace and no group name holds, keeps a-b/c and a/b-c apart.
    const named = groups.map((group) => ({ group, id: `${group.namespace}.${group.name}` }));
    named.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.groupCharts = named.map(({ group, id }) => new RunnerGroupChart(this, id, group, finish));
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
