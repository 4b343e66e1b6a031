/**
 * The cdk8s app: writes what `generate` prints as files under `dist/`. Settings come from the environment.
 *
 *   node main.cjs                     reads `GITEA_RUNNERS_PATH`, else the current folder, and asks Gitea
 *   node main.cjs --examples FOLDER   reads FOLDER if `GITEA_RUNNERS_PATH` is not set. If no Gitea is named either, it makes up two CI
 *                                     jobs per group, and says so. For a fresh clone: `cdk8s.yaml` of this repository
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { FLAGS } from './cli/flags/flags.ts';
import { mainIo, reportFailure } from './cli/process.ts';
import { readAndPlan } from './cli/reading/read-and-plan.ts';
import type { RunnerGroup } from './config/runnergroup/runner-group.ts';
import type { RunnersApp } from './manifests/app.ts';
import type { lookAndPlan, PlanOfNow } from './plan/look-and-plan.ts';
import { outputOf } from './plan/output-of-plan.ts';
import { planOrRefuse, toPlanned } from './plan/plan-groups.ts';
import { appOf } from './plan/platform-app.ts';
import { refuseAll } from './plan/troubles.ts';
import type { Plan } from './planner/decisions.ts';
import type { Job } from './planner/evidence.ts';
import { withPast } from './planner/unseen/unseen.ts';
import type { Io } from './shared/io.ts';
import { coverOf, type Scope } from './shared/scope.ts';

async function synth(io: Io): Promise<void> {
  const { values } = parseArgs({ options: { examples: { type: 'string' } } });
  const examples = !io.env['GITEA_RUNNERS_PATH'] ? values.examples : undefined;
  const isMadeUp = examples !== undefined && !isGiteaNamed(io);
  const options = { includeBlocked: false, isolate: true, ...(isMadeUp && { plan: planExample }) };
  const planned = await readAndPlan([examples ?? []].flat(), {}, io, options);
  if (isMadeUp) io.err(madeUp(examples));
  const written = planned.app ?? new (await import('./manifests/app.ts')).RunnersApp([]);
  written.emit(outputOf(planned, { others: planned.others, env: io.env }));
  written.synth();
}

/** True if a variable names a Gitea, or if Argo CD runs this program. An empty variable counts as not set. */
function isGiteaNamed(io: Io): boolean {
  const named = [
    io.env['GITEA_URL'],
    io.env['GITEA_TOKEN'],
    io.env['ARGOCD_APP_NAME'],
    io.env['GITEA_RUNNERS_SECRETS_DIR'],
  ];
  return named.some((text) => text) || existsSync(FLAGS.secretsDir.default);
}

const madeUp = (folder: string): string =>
  `Example: no Gitea is named, so no Gitea was asked. The CI jobs are made up: two per RunnerGroup in ${folder}/.\n` +
  'For your own RunnerGroups set GITEA_RUNNERS_PATH, GITEA_URL and GITEA_TOKEN.\n';

/** Plans examples in place of a look. */
async function planExample(...[groups, , { pods, isolate = [] }]: Parameters<typeof lookAndPlan>): Promise<PlanOfNow> {
  refuseAll(isolate);
  const app = await appOf(groups, pods?.finish);
  await pods?.check();
  return { plan: planOfExample(app), nowMs: NOW_MS, app, troubles: [], broken: [] };
}

/** Any fixed time: so the output is the same each time. */
const NOW_MS = Date.UTC(2026, 0, 1);
const CI_JOBS = ['build', 'test'];

/** The plan for two queued CI jobs per group, each with the group's first label. Same groups, same plan. */
function planOfExample({ groupCharts }: RunnersApp): Plan {
  const jobs = groupCharts.map(({ group }, index) => queuedJobs(group, 1 + index * CI_JOBS.length));
  const looks = new Map(jobs.map((list, index) => [String(index), { jobs: list, runners: [] }]));
  const planned = groupCharts.map(({ group, templateHash }, index) => toPlanned(group, String(index), templateHash));
  return planOrRefuse(planned, { instance: '', looks, cluster: { is: 'unseen' }, nowMs: NOW_MS }, withPast);
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

synth(mainIo()).catch((error: unknown) => {
  process.exitCode = reportFailure(error, mainIo(), false);
});
