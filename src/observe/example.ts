/** A made-up look: what a newcomer's `cdk8s synth` shows when no Gitea is named. Never used by `generate` or `serve`. */

import { coverOf, type RunnerGroup, type Scope } from '../config/runnergroup/runner-group.ts';
import type { RunnersApp } from '../manifests/app.ts';
import type { Plan } from '../planner/decisions.ts';
import type { Job } from '../planner/evidence.ts';
import { planOrRefuse, toPlanned } from './plan-groups.ts';

/** Any time will do; a fixed one gives the same output each time. */
const NOW_MS = Date.UTC(2026, 0, 1);
const CI_JOBS = ['build', 'test'];

/** The plan for two queued CI jobs per group, each with the group's first label. Same groups, same plan. */
export function planOfExample({ groupCharts }: RunnersApp): Plan {
  const jobs = groupCharts.map(({ group }, index) => queuedJobs(group, 1 + index * CI_JOBS.length));
  const looks = new Map(jobs.map((list, index) => [String(index), { jobs: list, runners: [] }]));
  const planned = groupCharts.map(({ group, templateHash }, index) => toPlanned(group, String(index), templateHash));
  return planOrRefuse(planned, { instance: '', looks, cluster: { is: 'unseen' }, nowMs: NOW_MS });
}

function queuedJobs(group: RunnerGroup, firstId: number): readonly Job[] {
  const repository = repositoryOf(group.scope);
  return CI_JOBS.map((name, index) => ({
    id: firstId + index,
    attempt: 1,
    runId: firstId,
    repository,
    name,
    url: `${group.giteaUrl}/${repository}/actions/runs/${firstId}/jobs/${index}`,
    labels: group.labels.slice(0, 1).map((label) => label.name),
    status: 'queued',
    createdAtMs: NOW_MS,
  }));
}

function repositoryOf(scope: Scope): string {
  const cover = coverOf(scope) ?? 'acme';
  return scope.kind === 'repo' ? cover : `${cover}/web`;
}
