/** The template of a RunnerGroup's Jobs, for one group at a time. */
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { RunnersApp } from './app.ts';
import type { JobManifest } from './job-manifest.ts';
import type { RunnerGroupChart } from './runner-group-chart.ts';

/** The group's Job with everything but what belongs to one runner. Same group, same bytes. */
export function podTemplate(group: RunnerGroup): JobManifest {
  return chartOf(group).template;
}

/** `RunnerGroupChart.templateHash`. */
export function templateHash(group: RunnerGroup): string {
  return chartOf(group).templateHash;
}

function chartOf(group: RunnerGroup): RunnerGroupChart {
  const [chart] = new RunnersApp([group]).groupCharts;
  if (!chart) throw new Error('an app without the chart of its group');
  return chart;
}
