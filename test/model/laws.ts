/** Laws of every plan, judged by the true state of Gitea and Kubernetes, not by the planner's evidence. */

import type { GiteaJob } from '../../simulator/gitea/gitea.ts';
import type { HeldBecause, JobDecision, Plan, RunnerDecision } from '../../src/planner/decisions.ts';
import { parseRunnerName } from '../../src/planner/names.ts';
import { emitted } from '../support/scenario.ts';
import type { World } from './world.ts';

type Emitted = RunnerDecision & { readonly emit: true };

/** The broken law as an error. */
function broken(law: string, what: string): Error {
  return new Error(`${law}: ${what}`);
}

/** Name of the runner in Gitea that this job's task belongs to, while Gitea still knows it. */
function runnerOf(world: World, job: GiteaJob): string | undefined {
  const { tasks, runners } = world.gitea.state;
  return runners.get(tasks.get(job.taskId)?.runnerId ?? 0)?.name;
}

/** Names of our runners with a job in progress. */
export function busyNow(world: World): readonly string[] {
  const names = world.gitea.jobs().flatMap((job) => (job.status === 'running' ? (runnerOf(world, job) ?? []) : []));
  return names.filter((name) => world.kubeJobs.has(name));
}

const isWorking = ({ because }: Emitted): boolean => because === 'busy' || because === 'finishing';

/** P1: busy runners, `busy` being those that were so before and after the look, are emitted and pinned. */
export function checkBusy(world: World, plan: Plan, busy: readonly string[]): void {
  const decisions = new Map(plan.runners.map((of) => [of.runner, of]));
  for (const name of busy) {
    const job = world.kubeJobs.get(name);
    const seenEnded = world.setting.seesCluster && (job?.state === 'complete' || job?.state === 'failed');
    const decision = decisions.get(name);
    if (seenEnded) continue;
    if (!decision?.emit) throw broken('P1', `${name} is busy and dropped as ${decision?.because ?? 'unknown'}`);
    if (!decision.pinned) throw broken('P1', `${name} is busy and not pinned`);
  }
}

/** P2 and P3: one runner for one job, and no more than the cap. */
export function checkCounts(world: World, plan: Plan): void {
  // Foreign runners take no slot (P19).
  const runners = emitted(plan).filter(({ because }) => because !== 'foreign');
  const served = plan.jobs.filter(({ verdict }) => verdict === 'served');
  const wanted = runners.filter((of) => !isWorking(of));
  if (wanted.length !== served.length) throw broken('P2', `${wanted.length} runners for ${served.length} jobs`);
  for (const { name, maxActiveRunners, suspend } of world.groups) {
    const ofGroup = runners.filter(({ group }) => group.name === name);
    const working = ofGroup.filter(isWorking).length;
    const most = Math.max(working, suspend ? 0 : maxActiveRunners);
    if (ofGroup.length > most)
      throw broken('P3', `group ${name} has ${ofGroup.length} runners, at most ${most} may be`);
  }
}

/** P4: a name that visibly is used up is not wanted again. */
export function checkUsedUp(world: World, plan: Plan): void {
  const alive = new Set(world.gitea.runners().map(({ name }) => name));
  const usedUp = new Map<string, string>();
  // Three pages of completed jobs are read; before 1.27 the last one may hold a single row.
  const done = world.gitea.jobs().filter(({ status }) => status === 'success');
  const newest = done.sort((a, b) => b.id - a.id).slice(0, world.setting.pageSize + 1);
  for (const job of newest) usedUp.set(runnerOf(world, job) ?? '', `it ran job ${job.id}`);
  if (world.setting.seesCluster) {
    for (const { name, state } of world.kubeJobs.values()) {
      if (state === 'complete' || state === 'failed') usedUp.set(name, `its Job is ${state}`);
    }
  }
  for (const { runner, because } of emitted(plan)) {
    const why = usedUp.get(runner);
    if (why === undefined || because === 'busy') continue;
    // A row means life again, unless Kubernetes shows the end.
    if (alive.has(runner) && !why.startsWith('its Job')) continue;
    throw broken('P4', `${runner} is wanted (${because}) but ${why}`);
  }
}

/** P5 to P7 and P9: every ready job that a group covers has a runner, or is held for a reason that is true. */
export function checkReady(world: World, plan: Plan): void {
  const decisions = new Map(plan.jobs.map((of) => [of.job.id, of]));
  for (const job of world.gitea.jobs()) {
    const ready = job.status === 'waiting' && !job.caller;
    const decision = decisions.get(job.id);
    if (!ready) {
      if (decision?.verdict === 'served') throw broken('P5', `job ${job.id} is served and ${job.status}`);
      continue;
    }
    const wrong = decision ? falseIn(world, plan, job, decision) : 'is not in the plan';
    if (wrong) throw broken('P9', `ready job ${job.id} ${wrong}`);
  }
}

/** Returns the false part of a decision about a ready job. */
function falseIn(world: World, plan: Plan, job: GiteaJob, decision: JobDecision): string | undefined {
  const runners = emitted(plan);
  const covering = groupsFor(world, job);
  if (decision.verdict === 'served') {
    const { runner, group } = decision;
    if (!covering.some(({ name }) => name === group.name)) return `is served by ${group.name}, which does not cover it`;
    return runners.some((of) => of.runner === runner) ? undefined : `has runner ${runner}, which is not emitted`;
  }
  if (decision.verdict !== 'held') return `is ${decision.verdict}`;
  const working = covering.filter(({ suspend }) => !suspend);
  const withRoom = working.filter(
    ({ name, maxActiveRunners }) => runners.filter(({ group }) => group.name === name).length < maxActiveRunners,
  );
  const { id } = decision.job;
  const failed = world.liveJobs().some(({ name, state }) => {
    const madeFor = parseRunnerName(name)?.madeFor;
    return madeFor && 'id' in madeFor && madeFor.id === id && (state === 'failed' || state === 'complete');
  });
  const reasons: Readonly<Partial<Record<HeldBecause, boolean>>> = {
    cap: working.length > 0 && withRoom.length === 0,
    suspended: covering.length > 0 && working.length === 0,
    'backing-off': failed,
    'labels-not-covered': covering.length === 0,
  };
  return reasons[decision.because] ? undefined : `is held: ${decision.because}, which is not true`;
}

function groupsFor(world: World, job: GiteaJob): World['groups'] {
  const repo = [...world.gitea.state.repos.values()].find(({ id }) => id === job.repoId)?.fullName;
  return world.groups.filter(
    ({ look, labels }) =>
      (look === 'org' || repo === world.nameOf('acme/web')) &&
      (job.labels ?? []).every((label) => labels.includes(label)),
  );
}

/** P10: a runner that cleans up after a cancel keeps its Job while Gitea shows it busy (1.27) and anything else goes on. */
export function checkCancelling(world: World, plan: Plan): void {
  const { gitea } = world;
  // Only lists that were read can tell: without a job in a scope, its runners are not read
  // (src/clients/gitea/observe-gitea.ts).
  const active = gitea.jobs().some(({ status }) => status === 'running' || status === 'waiting');
  if (!active || world.setting.twoGroups) return;
  const kept = new Set(emitted(plan).map(({ runner }) => runner));
  for (const job of world.kubeJobs.values()) {
    if (world.jobRunBy(job)?.status !== 'cancelling') continue;
    const row = gitea.runners().find(({ id }) => id === job.runnerId);
    if (row && gitea.isBusy(row) && !kept.has(job.name)) throw broken('P10', `${job.name} cleans up and is dropped`);
  }
}
