/** Why the runner of a CI job does not come, by what stands in the cluster besides Jobs and pods. Pure. */
import { UNREGISTERED } from '../../config/runnergroup/status.ts';
import type { GroupKey } from '../../planner/decisions.ts';
import type { LiveJob } from '../../planner/evidence.ts';
import { ARGOCD_NAMESPACE, manual, NAME, serveLogs } from '../../shared/installed/names.ts';
import { keyText } from '../../shared/keys.ts';
import { timeText } from '../../shared/marks.ts';
import { duration } from '../../shared/printable.ts';
import type { NotCreated } from './model.ts';
import type { ApplicationSeen, StatusSeen, WhereIAm } from './where.ts';

const NO_JOB = 'Argo CD has not created its Kubernetes Job';
export const USUAL: NotCreated = { why: `${NO_JOB} yet`, next: 'wait a few seconds', isUnserved: false };

/** A CI job whose runner is wanted. */
interface Waiting {
  readonly group: GroupKey;
  /** Until then its runner may take its time. */
  readonly waitUntilMs?: number;
}

/** The first that fits. */
export function whyNotCreated(where: WhereIAm | undefined, job: Waiting, nowMs: number): NotCreated {
  const group = keyText(job.group);
  const status = where?.statuses.find((each) => each.group === group);
  const application = where?.applications.find(({ name }) => name === status?.application);
  const found =
    (application && failureOf(application)) ?? (where && downOf(where, application)) ?? (status && unready(status));
  if (found) return found;
  const silentMs = nowMs - Date.parse(status?.lastCheckTime ?? '');
  if (silentMs > LOOK_LATE_MS)
    return {
      why: `serve leads, and has not looked at RunnerGroup ${group} for ${duration(silentMs)}`,
      next: `read its log: ${serveLogs(namespaceOf(application))}`,
      isUnserved: true,
    };
  const says = application?.says === undefined ? [] : `Argo CD says: ${application.says}`;
  const told = [status?.waits?.replace(/\.$/, '') ?? [], says].flat().join('; ');
  const of = told && `${told}; `;
  const look = application ? `: ${describe(application)}` : ': its last sync, and its conditions';
  const shows = `the Application in Argo CD shows why${look}`;
  const { waitUntilMs = nowMs } = job;
  if (nowMs <= waitUntilMs)
    return { ...USUAL, why: of + USUAL.why, next: `wait until ${timeText(waitUntilMs)}. After that, ${shows}` };
  const lateMs = nowMs - waitUntilMs;
  return { why: `${of}${NO_JOB}, and it is ${duration(lateMs)} late`, next: shows, isUnserved: true };
}

/** `serve` renews the time of its last look once a minute. */
export const LOOK_LATE_MS = 180_000;

function namespaceOf(application: ApplicationSeen | undefined): string {
  return application?.name.split('/')[0] ?? ARGOCD_NAMESPACE;
}

function describe({ name }: ApplicationSeen): string {
  const [namespace, application] = name.split('/');
  return `kubectl -n ${namespace} describe applications.argoproj.io ${application}`;
}

function downOf({ serve }: WhereIAm, application: ApplicationSeen | undefined): NotCreated | undefined {
  const isDown = !('unread' in serve) ? serve.isLate : serve.isMissing === true;
  if (!isDown) return undefined;
  const isByHand = application?.isAutomated === false;
  const kubectl = `kubectl -n ${namespaceOf(application)}`;
  return {
    why: `serve does not run, so nothing wakes Argo CD${isByHand ? `, and Application ${application.name} has no automated sync` : ''}`,
    next: `start serve again: ${kubectl} get deployment,pods -l app.kubernetes.io/name=${NAME}. If it has 0 replicas: ${kubectl} scale deployment/${NAME} --replicas=2; else ${serveLogs(namespaceOf(application))}`,
    isUnserved: true,
  };
}

function unready({ application, group, notReady, reason = '' }: StatusSeen): NotCreated | undefined {
  if (notReady === undefined) return undefined;
  const [namespace, name] = group.split('/');
  const next = OF_ARGOCD.has(reason) && application !== undefined ? describe({ name: application }) : undefined;
  const all = `kubectl -n ${namespace} describe runnergroup ${name}`;
  return {
    why: `RunnerGroup ${group} is not ready: ${notReady}`,
    next: next ? `correct what Argo CD says: ${next}` : `correct it; serve tries again by itself: ${all}`,
    isUnserved: true,
  };
}

/** Reasons of `Ready` that end in Argo CD. */
const OF_ARGOCD: ReadonlySet<string> = new Set(['ComparisonError', 'PlanDiffers', 'SyncFailed', 'ForeignApplication']);

/** Its pod waits for credentials, and `serve` says why it cannot hand them over. */
export function unregistered({ statuses }: WhereIAm, job: Waiting, live: LiveJob): NotCreated | undefined {
  const status = statuses.find((each) => each.group === keyText(job.group));
  const { registeredAt, state, stillSinceMs, trouble } = live;
  const isWaiting = state === 'starting' && registeredAt !== undefined && (!trouble || stillSinceMs !== undefined);
  if (!isWaiting || status?.notReady === undefined || status.reason !== UNREGISTERED) return undefined;
  const next = `serve tries again every 10 s. What its code asks for: ${manual('symptoms.md#a-pod-waits-for-its-credentials')}`;
  return { why: status.notReady, next, isUnserved: true };
}

function failureOf(application: ApplicationSeen): NotCreated | undefined {
  const { name, end, error, isMissing, lastsMs, says } = application;
  const [, short] = name.split('/');
  if (isMissing) {
    const why = `Application ${name}, which made the RunnerGroup, does not exist any more`;
    return { why, next: 'create it again, or delete the RunnerGroup', isUnserved: true };
  }
  if (error !== undefined) {
    const next = `${afterError(error, short)}; all of it: ${describe(application)}`;
    return { why: `Argo CD does not sync Application ${name}: ${error}`, next, isUnserved: true };
  }
  if (end === undefined || lastsMs === undefined) return undefined;
  const why = `the sync of Application ${name} has lasted for ${duration(lastsMs)}, and no other can begin. Argo CD says: ${says}`;
  return { why, next: `end it: ${end}; then correct what it waits for`, isUnserved: true };
}

/** What helps against an error of Argo CD. */
export function afterError(error: string, application = ''): string {
  const again = `argocd app get ${application} --hard-refresh`;
  return /could(?: not|n't) find cmp-server plugin/.test(error)
    ? `the sidecar ${NAME} of argocd-repo-server is not there or not ready: repeat step 1 of ${manual('install.md#install-three-steps')}, then ${again}`
    : `correct what it says (a code GR-… is in ${manual('errors.md')}), then ${again}`;
}
