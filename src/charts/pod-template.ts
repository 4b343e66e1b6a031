/** The template of a RunnerGroup's Jobs, for one group at a time. */
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { RunnersApp } from './app.ts';
import type { JobManifest } from './job-manifest.ts';
import { hashOf } from './template-hash.ts';

/** The group's Job with everything but what belongs to one runner. Same group, same bytes. Frozen. */
export function podTemplate(group: RunnerGroup): JobManifest {
  const [chart] = new RunnersApp([group]).groupCharts;
  if (!chart) throw new Error('an app without the chart of its group');
  return chart.template;
}

/** `hashOf` the group's template. */
export function templateHash(group: RunnerGroup): string {
  return hashOf(podTemplate(group));
}
