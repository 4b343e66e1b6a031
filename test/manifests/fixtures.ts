import type { RunnerGroup } from '../../src/config/runnergroup/runner-group.ts';
import { RunnersApp, renderManifests } from '../../src/manifests/app.ts';
import type { Output } from '../../src/manifests/output.ts';
import { manifestPieces } from '../../src/manifests/text.ts';
import { partsOf } from '../../src/plan/output-of-plan.ts';
import type { EmittedRunner } from '../../src/planner/decisions.ts';
import type { Job } from '../../src/planner/evidence.ts';
import { runnerGroup } from '../support/runner-group.ts';

/** A RunnerGroup with small, recognisable values. */
export function group(change: Partial<RunnerGroup> = {}): RunnerGroup {
  return runnerGroup({
    labels: [
      { name: 'gpu', text: 'gpu' },
      { name: 'ubuntu-latest', text: 'ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest' },
    ],
    image: 'docker.gitea.com/runner:1.0.8-dind-rootless',
    containerMode: 'dind-rootless',
    activeDeadlineSeconds: 10_800,
    gracefulStopSeconds: 120,
    manifest: {
      apiVersion: 'gitea.bpg.pw/v1alpha1',
      kind: 'RunnerGroup',
      metadata: { name: 'ci', labels: { team: 'on' } },
      spec: { scope: 'org', org: 'acme', maxActiveRunners: 10 },
    },
    ...change,
  });
}

/** A queued Gitea job. */
export function job(change: Partial<Job> = {}): Job {
  return {
    id: 4711,
    attempt: 1,
    runId: 12,
    repository: 'acme/web',
    name: 'build',
    url: 'https://gitea.example.com/acme/web/actions/runs/12/jobs/0',
    labels: ['ubuntu-latest'],
    status: 'queued',
    createdAtMs: 0,
    ...change,
  };
}

/** A decision to emit the runner made for job 4711. */
export function runner(change: Partial<EmittedRunner> = {}): EmittedRunner {
  return {
    emit: true,
    runner: 'ci-4711-1-9c31e0aa',
    group: { namespace: 'runners', name: 'ci' },
    because: 'new-runner',
    pinned: false,
    job: job(),
    ...change,
  };
}

/** A group and its runners in the output. */
export interface GroupOutput {
  readonly group: RunnerGroup;
  readonly runners: readonly EmittedRunner[];
}

type More = Partial<Omit<Output, 'runnersOf'>> & {
  readonly liveSpecOf?: (runner: EmittedRunner) => object | undefined;
};

export function outputOf(items: readonly GroupOutput[], { liveSpecOf, ...more }: More): Output {
  return {
    runnersOf: (of) =>
      (items.find((item) => item.group === of)?.runners ?? []).map((each) => partsOf(each, liveSpecOf?.(each))),
    emitGroups: false,
    isLeftOut: () => false,
    kept: [],
    others: [],
    ...more,
  };
}

/** The app that `cdk8s synth` writes. */
export function appOf(items: readonly GroupOutput[], more: More & { readonly outdir?: string } = {}): RunnersApp {
  const app = new RunnersApp(
    items.map((item) => item.group),
    undefined,
    more.outdir,
  );
  app.emit(outputOf(items, more));
  return app;
}

/** Returns the output of `cdk8s synth`, all files in one. */
export function synthesized(items: readonly GroupOutput[], more: More = {}): string {
  return renderManifests(appOf(items, more));
}

/** Returns the output of `generate`. */
export function generated(items: readonly GroupOutput[], more: More = {}): string {
  const app = new RunnersApp(items.map((item) => item.group));
  return manifestPieces(app.groupCharts, outputOf(items, more)).join('');
}
