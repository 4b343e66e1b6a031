import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Chart } from 'cdk8s';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { PassThroughDocument } from './pass-through.ts';
import { renderManifests } from './render.ts';
import { RunnerGroupChart } from './runner-group-chart.ts';
import type { EmittedRunner } from './runner-job.ts';

/** What becomes constructs. */
export interface AppProps {
  readonly groups: readonly { readonly group: RunnerGroup; readonly runners: readonly EmittedRunner[] }[];
  /** Texts of documents of other kinds, for `cdk8s synth`; `generate` hands them to `renderManifests` instead. */
  readonly others?: readonly string[];
  /** Emit the RunnerGroup objects too (`knowsRunnerGroups`). */
  readonly emitGroups: boolean;
  /** Where `synth` writes; default: what `cdk8s synth` asks for, else `dist`. */
  readonly outdir?: string;
}

/** The cdk8s app: one chart per RunnerGroup, one for all other documents. Groups come sorted by namespace and name. */
export function buildApp(props: AppProps): App {
  const app = new RunnersApp(props.outdir === undefined ? {} : { outdir: props.outdir });
  // A dot, which no namespace and no group name holds, keeps a-b/c and a/b-c apart.
  const charts = props.groups.map((item) => ({ ...item, id: `${item.group.namespace}.${item.group.name}` }));
  for (const { id, group, runners } of charts.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    new RunnerGroupChart(app, id, { group, runners, emitGroup: props.emitGroups });
  }
  if (props.others && props.others.length > 0) {
    const chart = new Chart(app, 'other-documents');
    for (const [index, text] of props.others.entries()) {
      new PassThroughDocument(chart, `document-${index}`, text);
    }
  }
  return app;
}

/** Writes each chart with our own emitter: cdk8s' leaves strings plain that other readers take for numbers. */
class RunnersApp extends App {
  override synth(): void {
    mkdirSync(this.outdir, { recursive: true });
    for (const chart of this.node.children) {
      const text = renderManifests(chart);
      const file = `${chart.node.id.replace(/[^A-Za-z0-9.-]/g, '-')}${this.outputFileExtension}`;
      if (text !== '') writeFileSync(join(this.outdir, file), text);
    }
  }
}
