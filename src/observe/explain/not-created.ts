/** Why the Kubernetes Job of a runner that is wanted is not there. Pure. */
import { serveLogs } from '../../shared/installed/names.ts';
import { keyText } from '../../shared/keys.ts';
import { byState, type ExplainedJob, type Explanation, type NotCreated } from './explanation.ts';
import type { ApplicationSeen, WhereIAm } from './where.ts';

const USUAL: NotCreated = {
  why: 'Argo CD has not created its Kubernetes Job yet',
  next: 'wait a few seconds; if it stays so, the Application in Argo CD shows why: its last sync, and its conditions',
  isUnserved: false,
};

/** The same explanation; jobs whose runner is wanted and has no Job in the cluster say why. */
export function withNotCreated(explanation: Explanation): Explanation {
  const { liveJobs, where } = explanation;
  // Nobody looked: a Job that is not seen may be there.
  if (!liveJobs) return explanation;
  const seen = new Set(liveJobs.map(({ name }) => name));
  const jobs = explanation.jobs.map((job): ExplainedJob => {
    if (job.verdict !== 'served' || job.by !== 'new-runner' || seen.has(job.runner)) return job;
    const notCreated = where ? (causeIn(where, keyText(job.group)) ?? USUAL) : USUAL;
    return { ...job, notCreated, ...(notCreated.isUnserved && { state: 'unserved' as const }) };
  });
  jobs.sort(byState);
  return { ...explanation, jobs };
}

/** The first that fits. Undefined: nothing is wrong. */
function causeIn({ applications, serve, statuses }: WhereIAm, group: string): NotCreated | undefined {
  const status = statuses.find((each) => each.group === group);
  const application = applications.find(({ name }) => name === status?.application);
  const failed = application && failureOf(application);
  if (failed) return failed;
  if (status?.notReady !== undefined) {
    const [namespace, name] = group.split('/');
    const next = `correct it; serve tries again by itself: kubectl -n ${namespace} describe runnergroup ${name}`;
    return { why: `RunnerGroup ${group} is not ready: ${status.notReady}`, next, isUnserved: true };
  }
  const isDown = !('unread' in serve) ? serve.isLate : serve.isMissing === true;
  if (!isDown) return status?.waits === undefined ? undefined : { ...USUAL, why: `${USUAL.why}: ${status.waits}` };
  const isByHand = application?.isAutomated === false;
  const namespace = application?.name.split('/')[0] ?? 'argocd';
  return {
    why: `serve does not run, so nothing wakes Argo CD${isByHand ? `, and Application ${application.name} has no automated sync` : ''}`,
    next: `start serve again: kubectl -n ${namespace} get pods; ${serveLogs(namespace)}`,
    isUnserved: isByHand,
  };
}

function failureOf({ name, error, isMissing }: ApplicationSeen): NotCreated | undefined {
  const [namespace, application] = name.split('/');
  if (isMissing) {
    const why = `Application ${name}, which made the RunnerGroup, does not exist any more`;
    return { why, next: 'create it again, or delete the RunnerGroup', isUnserved: true };
  }
  if (error === undefined) return undefined;
  const next = `correct what it says; all of it: kubectl -n ${namespace} describe applications.argoproj.io ${application}`;
  return { why: `Argo CD does not sync Application ${name}: ${error}`, next, isUnserved: true };
}
