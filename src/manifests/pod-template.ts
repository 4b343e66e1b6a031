/** The template of a RunnerGroup's Jobs, for one group at a time. */
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { RunnersApp } from './app.ts';
import type { FinishPod } from './finish-pod.ts';
import type { JobManifest } from './job-manifest.ts';
import type { RunnerGroupChart } from './runner-group-chart.ts';

/** The group's Job with everything but what belongs to one runner. Same group, same bytes. */
export function podTemplate(group: RunnerGroup, finish?: FinishPod): JobManifest {
  return chartOf(group, finish).template;
}

/** `RunnerGroupChart.templateHash`. */
export function templateHash(group: RunnerGroup, finish?: FinishPod): string {
  return chartOf(group, finish).templateHash;
}

function chartOf(group: RunnerGroup, finish: FinishPod | undefined): RunnerGroupChart {
  const [chart] = new RunnersApp([group], { finish }).groupCharts;
  if (!chart) throw new Error('an app without the chart of its group');
  return chart;
}
