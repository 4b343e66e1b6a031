/**
 * A situation in a cluster: what Gitea, Kubernetes and Argo CD show, and what `explain` says to it. Real program, real HTTPS,
 * a simulated Gitea, answers of an API server as Kubernetes and Argo CD write them. Time stands still at `NOW_MS`, so that rows are right however late they run.
 *
 * A situation is data. In its texts `<runner>` is the runner that is wanted first, `<tried>` and four digits a runner before it, and `<gitea>` the URL of Gitea.
 */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest';
import { TRIED_BEFORE } from '../../src/shared/marks.ts';
import { kubeconfigFor, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answering, groupList, groupObject, secretObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme } from '../support/start-acme.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 3);
export const LONG_AGO = '2026-01-01T00:00:00Z';
export const ago = (seconds: number): string => new Date(NOW_MS - seconds * 1000).toISOString();

type Gitea = Awaited<ReturnType<typeof startAcme>>['simulator']['gitea'];

export interface Situation {
  /** Cap of the RunnerGroup `ci`. Default 5. */
  readonly cap?: number;
  /** Further lines of its spec. */
  readonly spec?: string;
  /** Default: `serve` has just looked. */
  readonly groupStatus?: object;
  /** Default: a replica of `serve` leads. */
  readonly lease?: object | number;
  /** Default: OutOfSync and Healthy. */
  readonly application?: object | number;
  /** Default: one of 400 s if there are pods, else none. */
  readonly jobs?: readonly object[];
  readonly pods?: readonly object[];
  /** If there is one. */
  readonly pod?: object;
  /** Message of Kueue's Workload, or the whole Workload, or the status with which the API server refuses it. */
  readonly workload?: string | number | object;
  readonly events?: readonly object[] | number;
  /** Data of the ConfigMap with the settings of `serve`. Absent: it may not be read. */
  readonly settings?: object;
  /** Further RunnerGroups. */
  readonly others?: readonly object[];
  readonly runsOn?: readonly string[];
  /** The runner that is wanted first, as Gitea shows it. Absent: Gitea has no such runner. */
  readonly inGitea?: 'busy' | 'busy, offline' | 'idle' | 'idle, offline' | 'idle, disabled';
  /** True if the label names the Application, and no annotation does. */
  readonly tracksByLabel?: true;
  /** Tokens come from Secrets of the cluster. */
  readonly bySecrets?: true;
  /** Number of further CI jobs behind the first. */
  readonly behind?: number;
  /** Runs of acme/web, in place of that job and the jobs behind it. */
  readonly pushes?: readonly Parameters<Gitea['push']>[1][];
  /** Age of the CI jobs. Default 200 s. */
  readonly ageS?: number;
}

export const SERVE_LOOKED = { lastCheckTime: ago(0) };

export const notReady = (reason: string, message: string) => ({
  ...SERVE_LOOKED,
  conditions: [{ type: 'Ready', status: 'False', reason, message, lastTransitionTime: LONG_AGO }],
});

export function application(more: object = {}, automated: object | null = { prune: true }) {
  return {
    metadata: { name: 'runners', namespace: 'argocd' },
    spec: { project: 'runners', ...(automated && { syncPolicy: { automated } }) },
    status: { sync: { status: 'OutOfSync' }, health: { status: 'Healthy' }, ...more },
  };
}
export const complaining = (type: string, message: string) => application({ conditions: [{ type, message }] });
export const failedSync = (message: string, more: object = {}) =>
  application({ operationState: { phase: 'Failed', startedAt: LONG_AGO, message }, ...more });
/** Its operation goes on. */
export const syncing = (message: string, { phase = 'Running', startedAt = LONG_AGO } = {}, more = {}) => ({
  ...application({ operationState: { phase, startedAt, message }, ...more }),
  operation: { sync: {} },
});
/** An operation that began a minute ago, and has failed. */
export const retrying = (why: string) => syncing(`${why}. Retrying attempt #3 at 3:12AM.`, { startedAt: ago(60) });
/** Synced and Healthy. */
export const synced = (source: object, more: object = {}, annotations: object = {}) => ({
  metadata: { name: 'runners', namespace: 'argocd', annotations },
  spec: { project: 'runners', source: { repoURL: 'https://git.acme/ci.git', path: 'groups', ...source } },
  status: { sync: { status: 'Synced' }, health: { status: 'Healthy' }, ...more },
});
export const resource = (kind: string, name: string, more: object = {}) => ({
  ...{ group: kind === 'Job' ? 'batch' : 'gitea.bpg.pw', kind, namespace: 'runners', name, status: 'Synced' },
  ...more,
});

/** The Job of the runner. */
export function job(ageS: number, status: object = {}, annotations: object = {}, runner = '<runner>') {
  const metadata = { name: runner, namespace: 'runners', uid: `uid-${runner}`, creationTimestamp: ago(ageS) };
  return { metadata: { ...metadata, annotations, labels: {} }, status };
}
export const triedBefore = (ageS: number, times = 1) => job(ageS, {}, { [TRIED_BEFORE]: String(times) });
/** 20 s old, and failed a second ago. */
export function failedJob(runner?: string) {
  const failed = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime: ago(1) };
  return job(20, { failed: 1, conditions: [failed] }, {}, runner);
}
const SUSPENDED = { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' };
export const suspended = () => ({ ...job(7_200, { conditions: [SUSPENDED] }), spec: { suspend: true } });
export function inQueue() {
  const { metadata, ...rest } = suspended();
  return { ...rest, metadata: { ...metadata, labels: { 'kueue.x-k8s.io/queue-name': 'team-a' } } };
}
/** Let start by Kueue in another cluster two minutes ago. */
export const elsewhere = () => ({
  ...inQueue(),
  spec: { suspend: false, managedBy: 'kueue.x-k8s.io/multikueue' },
  status: {
    ...{ active: 1, startTime: ago(120) },
    conditions: [{ type: 'Suspended', status: 'False', lastTransitionTime: ago(120) }],
  },
});

/** The pod of the runner. */
export function pod(status: object, { ageS = 400, spec = {}, runner = '<runner>' } = {}) {
  const metadata = { name: `${runner}-x7x9z`, namespace: 'runners', uid: `uid-pod-${runner}` };
  const ownerReferences = [{ kind: 'Job', uid: `uid-${runner}` }];
  return { metadata: { ...metadata, creationTimestamp: ago(ageS), ownerReferences }, spec, status };
}
const WAITING_RUNNER = { containerStatuses: [{ name: 'runner', state: { waiting: { reason: 'PodInitializing' } } }] };
/** A pod that is not as far as its containers. */
export const pending = (status: object, spec = {}) => pod({ phase: 'Pending', ...status }, { spec });
export const unscheduled = (message: string, spec = {}, reason = 'Unschedulable') =>
  pending({ conditions: [{ type: 'PodScheduled', status: 'False', reason, message }] }, spec);
/** It has had a node for this long, and `started` as far as this. */
export function onNode(seconds: number, status: object = {}, { isNetworkReady = false, spec = {} } = {}) {
  const conditions = [
    { type: 'PodScheduled', status: 'True', lastTransitionTime: ago(seconds) },
    ...(isNetworkReady ? [{ type: 'PodReadyToStartContainers', status: 'True' }] : []),
  ];
  return pending({ conditions, ...WAITING_RUNNER, ...status }, { nodeName: 'node-1', ...spec });
}
/** Its image is being pulled, as far as its status tells. */
export const pulling = (seconds = 400) => onNode(seconds, {}, { isNetworkReady: true });
/** Its native sidecar runs, and its container `register` waits. */
export const besideSidecar = (name: string, started: boolean) =>
  onNode(
    395,
    {
      initContainerStatuses: [
        { name, started, state: { running: { startedAt: LONG_AGO } } },
        { name: 'register', state: { waiting: { reason: 'PodInitializing' } } },
      ],
    },
    { isNetworkReady: true, spec: { initContainers: [{ name, restartPolicy: 'Always' }] } },
  );
const runsFor = (seconds: number) => ({
  phase: 'Running',
  containerStatuses: [{ name: 'runner', state: { running: { startedAt: ago(seconds) } } }],
});
export const running = (seconds: number) => pod(runsFor(seconds));
/** A condition of a pod. */
export const disruption = (reason: string, message?: string) => ({
  ...{ type: 'DisruptionTarget', status: 'True' },
  ...{ reason, message },
});
/** At work, and being deleted. */
export function leaving(deletionTimestamp: string, reason?: string, message?: string) {
  const conditions = reason ? [disruption(reason, message)] : [];
  const { metadata, ...rest } = pod({ ...runsFor(390), conditions });
  return { ...rest, metadata: { ...metadata, deletionTimestamp } };
}
/** At work beside a docker that has ended, a minute ago if nothing else is said, and was started again. */
export function withDocker(terminated: object, state: object = { running: { startedAt: ago(55) } }) {
  const lastState = { terminated: { startedAt: ago(200), finishedAt: ago(60), ...terminated } };
  const docker = { name: 'docker', restartCount: 1, started: true, state, lastState };
  const spec = { nodeName: 'node-1', initContainers: [{ name: 'docker', restartPolicy: 'Always' }] };
  return pod({ ...runsFor(190), initContainerStatuses: [docker] }, { spec });
}
export const failedPod = (status: object, spec = {}, runner?: string) =>
  pod({ phase: 'Failed', ...status }, { spec, ...(runner && { runner }) });
/** The Job has failed with its pod. */
export const failed = (status: object, spec = {}) => ({ jobs: [failedJob()], pods: [failedPod(status, spec)] });
export const runnerEnded = (terminated: object) => ({ containerStatuses: [{ name: 'runner', state: { terminated } }] });
export const initContainer = (name: string, state: object, more: object = {}) => ({
  ...WAITING_RUNNER,
  initContainerStatuses: [{ name, state, ...more }],
});
export const cannotStart = (reason: string, message: string) =>
  initContainer('register', { waiting: { reason, message } });
export const unregistered = (message?: string) => initContainer('register', { terminated: { exitCode: 1, message } });

/** An event of the runner's pod, as the API server lists it. `component`: who reports it. */
function podEvent(type: string, reason: string, message: string, seconds: number, component?: string, of = '<runner>') {
  return {
    ...{ type, reason, message, involvedObject: { kind: 'Pod', name: `${of}-x7x9z` } },
    // kube-scheduler writes Events of events.k8s.io.
    ...(component === 'default-scheduler'
      ? { lastTimestamp: null, eventTime: ago(seconds), reportingComponent: component, source: {} }
      : { lastTimestamp: ago(seconds), source: { component } }),
  };
}
export const warning = (reason: string, message: string, seconds: number, component?: string) =>
  podEvent('Warning', reason, message, seconds, component);
export const normal = (reason: string, message: string, seconds: number, component?: string) =>
  podEvent('Normal', reason, message, seconds, component);
export const ofOtherPods = (count: number, type: string, reason: string, message: string) =>
  Array.from({ length: count }, (_, nth) => podEvent(type, reason, message, 1, undefined, `ci-0-${nth}`));
/** Why Kubernetes makes no pod of a Job. */
export const refusedPod = (message: string, seconds = 0, of = '<runner>') => ({
  ...{ reason: 'FailedCreate', message: `Error creating: ${message}`, lastTimestamp: ago(seconds) },
  involvedObject: { kind: 'Job', name: of },
});
/** As `serve` wrote it when the last runner of the job failed to start. */
export const stuckBefore = (trouble: string, seconds = 0) => ({
  ...{ reason: 'WorkerPodStuckPending', message: `ci-1-1-cab9f810: ${trouble}`, lastTimestamp: ago(seconds) },
});

/** Filters events by the field selector, as the API server does. A field that an event of the test lacks matches. */
function selected(events: readonly object[], fieldSelector: string): readonly object[] {
  const wanted = fieldSelector.split(',').map((each) => /^([\w.]+?)(!?=)(.*)$/.exec(each) ?? []);
  return events.filter((event) =>
    wanted.every(([, path = '', sign, value]) => {
      const found = path
        .split('.')
        .reduce<unknown>((of, key) => (of as Record<string, unknown> | undefined)?.[key], event);
      return found === undefined || (found === value) === (sign === '=');
    }),
  );
}

/** Kueue's objects of another Job and of this one. */
function workloadsOf(runner: string, workload: string | number | object = 404): object | number {
  if (typeof workload === 'number') return workload;
  const waits = (message: string) => ({ conditions: [{ type: 'QuotaReserved', status: 'False', message }] });
  const statuses = [waits('of others'), typeof workload === 'string' ? waits(workload) : workload];
  return {
    items: ['ci-9-1-abcdabcd', runner].map((name, index) => ({
      metadata: { ownerReferences: [{ name }] },
      status: statuses[index],
    })),
  };
}

/** The API server of all situations of a file: a new one for each takes most of the time. */
const shown: { jobs: { runners: readonly object[] }; pods: { runners: readonly object[] } } = {
  jobs: { runners: [] },
  pods: { runners: [] },
};
let answers: (fieldSelector: string, limit: number) => Readonly<Record<string, object | number>> = () => ({});
let kubeconfig = '';
let emptyFolder = '';
beforeAll(async () => {
  const server = await startCluster({
    ...shown,
    override: (asked, response, ...more) => {
      const { searchParams: query } = asked;
      tellTime(response);
      return answering(answers(query.get('fieldSelector') ?? '', Number(query.get('limit'))))(asked, response, ...more);
    },
    atEnd: afterAll,
  });
  kubeconfig = kubeconfigFor(server, undefined, folderWith({}, afterAll));
  emptyFolder = folderWith({}, afterAll);
});

/** Node.js would send its own time. */
function tellTime(response: ServerResponse): false {
  response.setHeader('date', new Date(NOW_MS).toUTCString());
  return false;
}

/** Returns the answer of `explain` about the last job. Blanks are one space. */
export async function explained(wanted: Situation = {}) {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS });
  onTestFinished(() => void vi.useRealTimers());
  let agoMs = (wanted.ageS ?? 200) * 1000;
  const spec = `  maxActiveRunners: ${wanted.cap ?? 5}\n${wanted.spec ?? ''}`;
  const { simulator, env, folder } = await startAcme({ now: () => NOW_MS - agoMs }, spec);
  const { gitea, url } = simulator;
  simulator.intercept((_request, response) => tellTime(response));
  const keys = ['one', ...Array.from({ length: wanted.behind ?? 0 }, (_, index) => `more-${index}`)];
  const usual = [{ jobs: keys.map((key) => ({ key, runsOn: wanted.runsOn ?? ['linux'] })) }];
  const jobs = (wanted.pushes ?? usual).flatMap((pushed) => gitea.push('acme/web', pushed).jobs);
  agoMs = 0;
  const run = async (...args: readonly string[]) =>
    await runHere(args, wanted.bySecrets && args[0] === 'explain' ? {} : env, emptyFolder);

  shown.jobs.runners = shown.pods.runners = [];
  // Limits and sizes require a cluster that can be read.
  const sight = wanted.spec ? ['--kubeconfig', kubeconfig] : [];
  const { stdout: printed } = await run('generate', ...sight, folder);
  const runner = newRunnerIn(printed);
  const named = (text: string) =>
    text.replaceAll('<runner>', runner).replaceAll('<tried>', runner.slice(0, -4)).replaceAll('<gitea>', url);
  const situation = JSON.parse(named(JSON.stringify(wanted))) as Situation;

  const { inGitea = '', pod: only, pods = only ? [only] : [], events = [], settings } = situation;
  if (inGitea) {
    const row = gitea.register({ name: runner, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'] });
    if (inGitea.startsWith('busy')) gitea.poll(row.id);
    Object.assign(
      row,
      inGitea.endsWith('offline') && { lastOnline: 0 },
      inGitea.endsWith('disabled') && { disabled: true },
    );
  }
  shown.jobs.runners = situation.jobs ?? pods.map(() => job(400, {}, {}, runner));
  shown.pods.runners = pods;
  const groups = [
    groupObject(groupYaml(url, spec), situation.groupStatus ?? SERVE_LOOKED, situation.tracksByLabel),
    ...(situation.others ?? []),
  ];
  answers = (fieldSelector, limit) => ({
    '/runnergroups': groupList(groups),
    '/leases/gitea-runners-serve': situation.lease ?? { spec: { holderIdentity: 'serve-1', renewTime: ago(0) } },
    '/applications/runners': situation.application ?? application(),
    '/secrets/gitea-api': secretObject({ token: GITEA_TOKEN, url }),
    '/secrets/gitea-runner': { data: {} },
    '/configmaps/gitea-runners-settings': settings ? { data: settings } : 403,
    '/workloads': workloadsOf(runner, situation.workload),
    '/events':
      typeof events === 'number'
        ? events
        : { kind: 'EventList', metadata: {}, items: selected(events, fieldSelector).slice(0, limit) },
  });
  const explain = async (...asked: readonly string[]) => {
    const answer = await run('explain', '--kubeconfig', kubeconfig, '-n', 'runners', '--exit-code', ...asked);
    return { ...answer, line: answer.stdout.replaceAll(/\s+/g, ' ') };
  };
  return {
    ...(await explain(String(jobs.at(-1)?.id))),
    named,
    table: async () => (await explain()).line,
    ofRunner: async () => (await explain(`runner/${runner}`)).line,
  };
}
