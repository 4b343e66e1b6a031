/**
 * Situations in a cluster, as an engineer meets them at 3 a.m.: each with the cause that `explain` must tell, and the
 * next step. Real program, real HTTPS, a simulated Gitea, answers of an API server as Kubernetes and Argo CD write
 * them.
 */
import { describe, expect, it } from 'vitest';
import { PROBLEM } from '../../src/config/runnergroup/broken.ts';
import { REGISTERED_AT, SIZE, TRIED_BEFORE, WEIGHT } from '../../src/shared/marks.ts';
import { kubeconfigFor, liveJob, newRunnerIn, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answering, groupList, groupObject, podOf, runsSince, secretObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { TOKEN as GITEA_TOKEN, startAcme } from '../support/start-acme.ts';

const LONG_AGO = '2026-01-01T00:00:00Z';
const now = (): string => new Date().toISOString();
const QUOTA =
  'Error creating: pods "ci-1-1-cab9f810-x2x9z" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5';

interface Situation {
  /** Cap of the RunnerGroup `ci`. Default 5. */
  readonly cap?: number;
  readonly groupStatus?: object;
  readonly lease?: object | number;
  readonly application?: object | number;
  /** Made from the name of the runner that is wanted first. */
  readonly jobs?: (runner: string) => readonly object[];
  readonly pods?: (runner: string) => readonly object[];
  /** Message of Kueue's Workload, or the whole Workload, or the status with which the API server refuses it. */
  readonly workload?: string | number | object;
  readonly events?: readonly object[] | number | ((runner: string) => readonly object[]);
  /** Data of the ConfigMap with the settings of `serve`. Absent: it may not be read. */
  readonly settings?: object;
  /** Further RunnerGroups. */
  readonly others?: (url: string) => readonly object[];
  readonly runsOn?: readonly string[];
  /** The runner registers and takes its job. */
  readonly isTaken?: true;
  /** True if Gitea has not heard of the runner since. */
  readonly isOffline?: true;
  /** Somebody switched it off in Gitea. */
  readonly isDisabled?: true;
  /** True if the runner only registers. */
  readonly isIdle?: true;
  /** True if the label names the Application, and no annotation does. */
  readonly tracksByLabel?: true;
  /** Tokens come from Secrets of the cluster. */
  readonly bySecrets?: true;
  /** Number of further CI jobs behind the first. */
  readonly behind?: number;
  /** Runs of acme/web, in place of that job and the jobs behind it. */
  readonly pushes?: readonly Parameters<Gitea['push']>[1][];
  /** Further lines of the RunnerGroup's spec. */
  readonly spec?: string;
  /** Age of the CI jobs, ms. Default 200 s. */
  readonly ageMs?: number;
}

type Gitea = Awaited<ReturnType<typeof startAcme>>['simulator']['gitea'];

function application(more: object = {}, automated: object | null = { prune: true }): object {
  return {
    metadata: { name: 'runners', namespace: 'argocd' },
    spec: { project: 'runners', ...(automated && { syncPolicy: { automated } }) },
    status: { sync: { status: 'OutOfSync' }, health: { status: 'Healthy' }, ...more },
  };
}

const wakeFailed = (message: string): object => ({
  ...{ type: 'Ready', status: 'False', reason: 'WakeFailed', lastTransitionTime: LONG_AGO },
  message,
});

/** Synced and Healthy. */
const synced = (source: object, more: object = {}, annotations: object = {}) => ({
  metadata: { name: 'runners', namespace: 'argocd', annotations },
  spec: { project: 'runners', source: { repoURL: 'https://git.acme/ci.git', path: 'groups', ...source } },
  status: { sync: { status: 'Synced' }, health: { status: 'Healthy' }, ...more },
});
const planDiffers = {
  conditions: [{ type: 'Ready', status: 'False', reason: 'PlanDiffers', message: 'no', lastTransitionTime: LONG_AGO }],
};
const ofKind = (kind: string, name: string, more: object = {}) => ({
  ...{ group: kind === 'Job' ? 'batch' : 'gitea.bpg.pw', kind, namespace: 'runners', name, status: 'Synced' },
  ...more,
});

/** An operation that began a minute ago, and has failed. */
const retrying = (why: string): object => ({
  ...application({
    operationState: {
      phase: 'Running',
      // When it is asked for: the rows before this one take minutes on a busy machine.
      get startedAt() {
        return agoText(60);
      },
      message: `${why}. Retrying attempt #3 at 3:12AM.`,
    },
  }),
  operation: { sync: {} },
});

/** 20 s old, and failed a second ago. */
function failedJob(runner: string): object {
  const lastTransitionTime = new Date(Date.now() - 1_000).toISOString();
  return liveJob(runner, Date.now() - 20_000, {
    failed: 1,
    conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', lastTransitionTime }],
  });
}

const oldJob = (runner: string): readonly object[] => [liveJob(runner, Date.now() - 400_000)];
const marked = (runner: string, ageMs: number, annotations: object): object => {
  const job = liveJob(runner, Date.now() - ageMs) as { readonly metadata: object };
  return { ...job, metadata: { ...job.metadata, annotations } };
};
const triedBefore = (runner: string): object => marked(runner, 5_000, { [TRIED_BEFORE]: '1' });
/** Status of the RunnerGroup as `serve` writes it after the last runner of the job failed to start. */
const stuckBefore = (runner: string, trouble: string): string =>
  `${runner.replace(/[0-9a-f]{8}$/, 'cab9f810')}: ${trouble}`;
/** A pod that is not as far as its containers, with more of its status. */
const pending = (more: object) => (runner: string) => [podOf(runner, { phase: 'Pending', ...more })];
/** Answers of a cluster whose pod has a node. */
const onNode = (more: () => object) => (runner: string) =>
  pending(more())(runner).map((pod) => ({ ...pod, spec: { nodeName: 'node-1' } }));
const scheduledFor = (seconds: number): object => ({
  type: 'PodScheduled',
  status: 'True',
  lastTransitionTime: new Date(Date.now() - seconds * 1000).toISOString(),
});
const waitingRunner = { containerStatuses: [{ name: 'runner', state: { waiting: { reason: 'PodInitializing' } } }] };
const suspendedStatus = {
  conditions: [{ type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }],
};
const inQueue = (runner: string): readonly object[] => {
  const { metadata, ...job } = liveJob(runner, Date.now() - 7_200_000, suspendedStatus) as {
    readonly metadata: object;
  };
  return [
    { ...job, metadata: { ...metadata, labels: { 'kueue.x-k8s.io/queue-name': 'team-a' } }, spec: { suspend: true } },
  ];
};
/** Let start by Kueue in another cluster two minutes ago. */
const elsewhere = (runner: string): readonly object[] => {
  const [job] = inQueue(runner);
  const startTime = new Date(Date.now() - 120_000).toISOString();
  const conditions = [{ type: 'Suspended', status: 'False', lastTransitionTime: startTime }];
  const spec = { suspend: false, managedBy: 'kueue.x-k8s.io/multikueue' };
  return [{ ...job, spec, status: { active: 1, startTime, conditions } }];
};
/** Kueue's objects of another Job and of this one. */
const workloadsOf = (runner: string, workload: string | number | object): object | number => {
  if (typeof workload === 'number') return workload;
  const waits = (message: string) => ({ conditions: [{ type: 'QuotaReserved', status: 'False', message }] });
  const statuses = [waits('of others'), typeof workload === 'string' ? waits(workload) : workload];
  return {
    items: ['ci-9-1-abcdabcd', runner].map((name, index) => ({
      metadata: { ownerReferences: [{ name }] },
      status: statuses[index],
    })),
  };
};
const RESERVED = { type: 'QuotaReserved', status: 'True', message: 'Quota reserved in ClusterQueue team-a' };
/** The pod of a runner whose native sidecar runs, and whose container `register` waits. */
const besideSidecar = (name: string, started: boolean) => (runner: string) =>
  pending({
    conditions: [scheduledFor(395), { type: 'PodReadyToStartContainers', status: 'True' }],
    initContainerStatuses: [
      { name, started, state: { running: { startedAt: LONG_AGO } } },
      { name: 'register', state: { waiting: { reason: 'PodInitializing' } } },
    ],
    ...waitingRunner,
  })(runner).map((pod) => ({
    ...pod,
    spec: { nodeName: 'node-1', initContainers: [{ name, restartPolicy: 'Always' }] },
  }));
const registering = (state: object) => ({ initContainerStatuses: [{ name: 'register', state }] });
/** A working runner whose pod is being deleted. */
const leaving = (runner: string, untilMs: number, conditions: readonly object[] = []): object => {
  const pod = podOf(runner, { ...runsSince(Date.now() - 390_000), conditions }) as { readonly metadata: object };
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(untilMs).toISOString() } };
};
/** A runner at work whose docker has ended, a minute ago if nothing else is said, and was started again. */
const withDocker = (
  runner: string,
  terminated: object,
  state: object = { running: { startedAt: agoText(55) } },
): readonly object[] => [
  {
    ...podOf(runner, {
      ...runsSince(Date.now() - 190_000),
      initContainerStatuses: [
        {
          ...{ name: 'docker', restartCount: 1, started: true, state },
          lastState: { terminated: { startedAt: agoText(200), finishedAt: agoText(60), ...terminated } },
        },
      ],
    }),
    spec: { nodeName: 'node-1', initContainers: [{ name: 'docker', restartPolicy: 'Always' }] },
  },
];
const failedPod = (more: object) => (runner: string) => [podOf(runner, { phase: 'Failed', ...more })];
const ended = (terminated: object) => ({ containerStatuses: [{ name: 'runner', state: { terminated } }] });
const unscheduled = (message: string) => ({
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
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

/** An event of the runner's pod, as the API server lists it. */
const podEvent = (
  runner: string,
  type: string,
  reason: string,
  message: string,
  secondsAgo: number,
  component?: string,
): object => ({
  type,
  reason,
  message,
  involvedObject: { kind: 'Pod', name: `${runner}-x7x9z` },
  // kube-scheduler writes Events of events.k8s.io.
  ...(component === 'default-scheduler'
    ? { lastTimestamp: null, eventTime: agoText(secondsAgo), reportingComponent: component, source: {} }
    : { lastTimestamp: agoText(secondsAgo), source: { component } }),
});
const agoText = (seconds: number): string => new Date(Date.now() - seconds * 1000).toISOString();
/** Gatekeeper's, Warden's or another webhook's refusal of the pod of a Job. */
const refusedPod = (message: string) => (runner: string) => [
  {
    ...{ reason: 'FailedCreate', message: `Error creating: ${message}`, lastTimestamp: now() },
    involvedObject: { kind: 'Job', name: runner },
  },
];
/** A pod whose image is being pulled. */
const pulling = () => ({
  conditions: [scheduledFor(400), { type: 'PodReadyToStartContainers', status: 'True' }],
  ...waitingRunner,
});
const NO_ROOM = '0/3 nodes are available: 3 Insufficient cpu.';

/** Returns the answer of `explain` about the last job. */
async function explained(situation: Situation) {
  let agoMs = situation.ageMs ?? 200_000;
  const { simulator, env } = await startAcme({ now: () => Date.now() - agoMs });
  const { gitea, url } = simulator;
  const keys = ['one', ...Array.from({ length: situation.behind ?? 0 }, (_, index) => `more-${index}`)];
  const usual = [{ jobs: keys.map((key) => ({ key, runsOn: situation.runsOn ?? ['linux'] })) }];
  const jobs = (situation.pushes ?? usual).flatMap((pushed) => gitea.push('acme/web', pushed).jobs);
  agoMs = 0;
  const written = groupYaml(url, situation.spec).replace(
    'maxActiveRunners: 5',
    `maxActiveRunners: ${situation.cap ?? 5}`,
  );
  const folder = folderWith({ 'ci.yaml': written });
  // Limits and sizes require a cluster that can be read.
  const sight = situation.spec ? ['--kubeconfig', kubeconfigFor(await startCluster())] : [];
  const { stdout: printed } = await runHere(['generate', ...sight, folder], env);
  const runner = newRunnerIn(printed);
  if (situation.isTaken || situation.isIdle) {
    const row = gitea.register({ name: runner, scope: { kind: 'owner', owner: 'acme' }, labels: ['linux'] });
    if (situation.isTaken) gitea.poll(row.id);
    Object.assign(row, situation.isOffline && { lastOnline: 0 }, situation.isDisabled && { disabled: true });
  }
  const { lease, application: app } = situation;
  const events = typeof situation.events === 'function' ? situation.events(runner) : situation.events;
  const groups = [
    groupObject(written, { lastCheckTime: now(), ...situation.groupStatus }, situation.tracksByLabel),
    ...(situation.others?.(url) ?? []),
  ];
  const answers = (fieldSelector: string | null, limit: number) =>
    answering({
      '/runnergroups': groupList(groups),
      '/leases/gitea-runners-serve': lease ?? { spec: { holderIdentity: 'serve-1', renewTime: now() } },
      '/applications/runners': app ?? application(),
      '/secrets/gitea-api': secretObject({ token: GITEA_TOKEN, url }),
      '/secrets/gitea-runner': { data: {} },
      '/configmaps/gitea-runners-settings': situation.settings ? { data: situation.settings } : 403,
      '/workloads': workloadsOf(runner, situation.workload ?? 404),
      '/events':
        typeof events === 'number'
          ? events
          : { kind: 'EventList', metadata: {}, items: selected(events ?? [], fieldSelector ?? '').slice(0, limit) },
    });
  const server = await startCluster({
    jobs: { runners: situation.jobs?.(runner) ?? [] },
    pods: { runners: situation.pods?.(runner) ?? [] },
    override: (asked, ...more) =>
      answers(asked.searchParams.get('fieldSelector'), Number(asked.searchParams.get('limit')))(asked, ...more),
  });
  const words = ['explain', '--kubeconfig', kubeconfigFor(server), '-n', 'runners', '--exit-code'];
  const seen = situation.bySecrets ? {} : env;
  const result = await runHere([...words, String(jobs.at(-1)?.id)], seen, folderWith({}));
  const table = async () => (await runHere(words, seen, folderWith({}))).stdout.replaceAll(/\s+/g, ' ');
  const ofRunner = async () => (await runHere([...words, `runner/${runner}`], seen, folderWith({}))).stdout;
  return {
    ...result,
    runner,
    table,
    ofRunner: async () => (await ofRunner()).replaceAll(/\s+/g, ' '),
    line: result.stdout.replaceAll(/\s+/g, ' '),
  };
}

interface Row extends Situation {
  readonly when: string;
  readonly code?: number;
  readonly cause: string;
  /** Text that another line has. `RUNNER`: the first wanted runner. */
  readonly says?: string;
  readonly next: string;
  /** Text that no line has. */
  readonly not?: string;
  /** Cause and next step of the first wanted runner, if `explain` says more about it than about the job. */
  readonly ofRunner?: readonly [cause: string, next: string];
}

const nextIn = (line: string): string | undefined => /Next: (.*?) Link: /.exec(line)?.[1];

/** The object that `generate` prints for a file that it cannot read. */
const conflicted = (url: string): object => {
  const object = groupObject(groupYaml(url, '', 'gpu')) as { readonly metadata: { readonly annotations?: object } };
  const problem = 'gpu.yaml:13:1: is no valid YAML: this is a conflict of Git: resolve it [GR-INPUT-02]';
  const annotations = { ...object.metadata.annotations, [PROBLEM]: problem };
  return { ...object, metadata: { ...object.metadata, annotations } };
};

const DISCONNECTED = { type: 'ComparisonError', message: 'error: GR-GITEA-01 list jobs of org acme' };

describe('explain, at 3 a.m., when', () => {
  it.each<Row>([
    {
      when: 'all is well, and Argo CD needs its seconds',
      cause: 'Argo CD has not created its Kubernetes Job yet',
      next: 'wait until 20',
    },
    {
      when: 'nobody says a word, and its Job does not come',
      ageMs: 12_000_000,
      code: 4,
      cause: 'Argo CD has not created its Kubernetes Job, and it is 3h15m late',
      next: 'gitea-runners doctor compares the Application and the settings with what they should be; kubectl -n argocd describe applications.argoproj.io runners has all that Argo CD says',
    },
    {
      when: 'serve leads and does not look',
      groupStatus: { lastCheckTime: new Date(Date.now() - 2_460_000).toISOString() },
      code: 4,
      cause: 'serve leads, and has not looked at RunnerGroup runners/ci for 41m',
      next: 'read its log: kubectl -n argocd logs',
    },
    {
      when: 'Argo CD is slow, and serve says what it waits for',
      groupStatus: {
        conditions: [
          {
            type: 'ArgoCDSynced',
            status: 'True',
            reason: 'Waiting',
            message:
              'The cluster does not show the plan yet. serve has been waking Argo CD since 2026-11-25T12:00:00Z.',
            lastTransitionTime: LONG_AGO,
          },
        ],
      },
      cause:
        'The cluster does not show the plan yet. serve has been waking Argo CD since 2026-11-25T12:00:00Z; Argo CD has not created its Kubernetes Job yet',
      next: 'After that, gitea-runners doctor compares the Application and the settings with what they should be',
    },
    {
      when: 'the plugin fails in Argo CD',
      application: application({ conditions: [DISCONNECTED] }),
      code: 4,
      cause:
        'Argo CD does not sync Application argocd/runners: ComparisonError: error: GR-GITEA-01 list jobs of org acme',
      next: 'do what it says (https://gitea.example.com/example/argocd-gitea-runners/src/branch/main/docs/errors.md has GR-GITEA-01), then argocd app get runners --hard-refresh',
      not: 'describe applications',
    },
    {
      when: 'the last sync failed, because the namespace is being deleted',
      application: application({
        operationState: {
          phase: 'Failed',
          message:
            'jobs.batch "ci-1" is forbidden: unable to create new content in namespace runners because it is being terminated',
          startedAt: LONG_AGO,
        },
      }),
      code: 4,
      cause:
        'its last sync has ended with Failed: jobs.batch "ci-1" is forbidden: unable to create new content in namespace runners',
      next: 'the namespace is being deleted. When it is gone, create it again',
    },
    {
      when: 'a sync window lets nothing through',
      application: {
        ...(application({
          operationState: { phase: 'Running', startedAt: LONG_AGO, message: 'Sync operation blocked by sync window' },
        }) as object),
        operation: { sync: {} },
      },
      code: 4,
      cause:
        'Argo CD says: an operation has been Running since 2026-01-01T00:00:00Z: Sync operation blocked by sync window.',
      next: 'wait for the end of that window, or write manualSync: true there (spec.syncWindows of the AppProject), and end this sync: argocd app terminate-op',
      not: 'end it',
    },
    {
      when: 'its project permits no Jobs, and Argo CD tries again',
      application: retrying('resource batch:Job is not permitted in project runners'),
      code: 4,
      cause: 'resource batch:Job is not permitted in project runners. Retrying',
      next: 'let its project allow what the message names',
    },
    {
      when: 'a webhook refuses its Job, and Argo CD tries again',
      application: retrying(
        'one or more objects failed to apply, reason: admission webhook "x" denied the request: zzz',
      ),
      code: 4,
      cause: 'denied the request: zzz. Retrying',
      next: 'ask who runs that admission webhook or policy',
    },
    {
      when: 'the API server has too much to do, and Argo CD tries again',
      application: retrying('the server has received too many requests and has asked us to try again later'),
      cause: 'too many requests',
      next: 'Argo CD tries again by itself. After ten minutes ask',
    },
    {
      when: 'the Job of a hook fails in each sync',
      application: application({
        operationState: { phase: 'Failed', message: 'reason: job notify has reached the specified backoff limit' },
      }),
      code: 4,
      cause: 'its last sync has ended with Failed: reason: job notify has reached the specified backoff limit',
      next: 'see the log of that Job, or take its hook out of the Application',
    },
    {
      when: 'Argo CD speaks of something else',
      application: application({
        conditions: [{ type: 'OrphanedResourceWarning', message: 'Application has 3 orphaned resources' }],
      }),
      cause: 'Argo CD has not created its Kubernetes Job yet',
      next: 'wait until 20',
      not: 'rphaned',
    },
    {
      when: 'somebody switched its runner off in Gitea',
      isIdle: true,
      isDisabled: true,
      jobs: (runner) => [liveJob(runner, Date.now() - 200_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 190_000))],
      cause: 'its last runner failed: Disabled: somebody switched it off in Gitea; Argo CD has not created',
      next: 'nothing: it gets another runner',
    },
    {
      when: 'a node refuses the pod, and its Job has not failed yet',
      jobs: oldJob,
      pods: failedPod({ reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to no healthy devices' }),
      cause: 'its last runner failed: UnexpectedAdmissionError: Allocate failed due to no healthy devices',
      next: 'nothing, if the next pod starts. Else look at its node: kubectl describe node NODE',
      not: 'logs job/',
    },
    {
      when: 'the Application is gone',
      application: 404,
      code: 4,
      cause: 'Application argocd/runners, which made the RunnerGroup, does not exist any more',
      next: 'create it again, or delete the RunnerGroup',
    },
    {
      when: 'the Application is being deleted, and serve has guesses',
      application: {
        ...(application() as object),
        metadata: { name: 'runners', namespace: 'argocd', deletionTimestamp: LONG_AGO, finalizers: ['zzz.io/x'] },
      },
      groupStatus: { conditions: [wakeFailed('GR-ARGOCD-12 sync of argocd/runners: 400')] },
      code: 4,
      cause:
        'Argo CD does not sync Application argocd/runners: Deleting: somebody deleted it at 2026-01-01T00:00:00Z, and finalizer zzz.io/x is left',
      next: 'see what holds its deletion: its status and its objects. Create it again when it is gone',
    },
    {
      when: 'the application controller does not work, and serve has waited in vain',
      application: {
        ...(application({ reconciledAt: LONG_AGO, operationState: { phase: 'Succeeded' } }) as object),
        operation: { sync: {} },
      },
      groupStatus: { conditions: [wakeFailed('GR-ARGOCD-14 refresh Application runners')] },
      code: 4,
      cause:
        'Application argocd/runners: an operation is asked for and has not begun. Argo CD last compared it at 2026-01-01T00:00:00Z',
      next: 'see whether argocd-application-controller runs: kubectl -n argocd get pods',
    },
    {
      when: 'serve has died',
      lease: { spec: { holderIdentity: 'serve-1', renewTime: LONG_AGO } },
      code: 4,
      cause: 'serve does not run, so nothing wakes Argo CD',
      next: 'kubectl -n argocd scale deployment/gitea-runners --replicas=2',
    },
    {
      when: 'serve was never installed, and automated sync is off',
      lease: 404,
      application: application({}, null),
      code: 4,
      cause: 'serve does not run, so nothing wakes Argo CD, and Application argocd/runners has no automated sync',
      next: 'start serve again',
    },
    {
      when: 'a sync has failed, and only the result of an object has the reason',
      application: application({
        conditions: [{ type: 'SyncError', message: 'Failed last sync attempt to [7c1e0b2]: tasks are not valid' }],
        operationState: {
          phase: 'Failed',
          message: 'one or more synchronization tasks are not valid',
          syncResult: {
            resources: [
              {
                status: 'SyncFailed',
                message: 'The Kubernetes API could not find version "v1beta2" of kueue.x-k8s.io/LocalQueue',
              },
            ],
          },
        },
      }),
      code: 4,
      cause: 'tasks are not valid: The Kubernetes API could not find version "v1beta2" of kueue.x-k8s.io/LocalQueue',
      next: 'install the CRD',
    },
    {
      when: 'somebody has ended the sync',
      application: application({
        conditions: [{ type: 'SyncError', message: 'Failed last sync attempt to [7c1e0b2]: Operation terminated' }],
        operationState: { phase: 'Failed', message: 'Operation terminated' },
      }),
      code: 4,
      cause: 'its last sync has ended with Failed: Operation terminated',
      next: 'sync it again: somebody has ended that sync',
    },
    {
      when: 'automated sync is switched off in place and no replica of serve leads',
      lease: { spec: { holderIdentity: '' } },
      application: application({}, { prune: true, enabled: false }),
      code: 4,
      cause: 'serve does not run, so nothing wakes Argo CD, and Application argocd/runners has no automated sync',
      next: 'start serve again',
    },
    {
      when: 'only the status tells, because the Application may not be read',
      application: 403,
      groupStatus: {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'SyncFailed', message: 'quota', lastTransitionTime: LONG_AGO },
        ],
      },
      code: 4,
      cause: 'RunnerGroup runners/ci is not ready: SyncFailed: quota',
      next: 'correct what Argo CD says: kubectl -n argocd describe applications.argoproj.io runners',
    },
    {
      when: 'only the status tells that Kyverno refuses the Job',
      application: 403,
      groupStatus: {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'SyncFailed',
            message:
              'Argo CD cannot apply all Jobs: one or more objects failed to apply, reason: admission webhook "validate.kyverno.svc-fail" denied the request: resource Job/runners/ci-1 was blocked due to the following policies',
            lastTransitionTime: LONG_AGO,
          },
        ],
      },
      code: 4,
      cause: 'denied the request: resource Job/runners/ci-1 was blocked',
      next: 'ask who runs that admission webhook or policy, or correct spec.podTemplate: kubectl -n argocd describe',
    },
    {
      when: 'another operation lasts, and Argo CD says more that nobody has heard before',
      application: {
        ...(application({
          conditions: [{ type: 'FrobnicatedNotice', message: 'zzz' }],
          operationState: { phase: 'Running', startedAt: LONG_AGO, message: 'waiting for completion of hook' },
        }) as object),
        operation: { sync: {} },
      },
      code: 4,
      cause:
        'Argo CD says: an operation has been Running since 2026-01-01T00:00:00Z: waiting for completion of hook; FrobnicatedNotice: zzz. For',
      next: 'correct what it waits for. If this sync does not end then, end it: argocd app terminate-op runners',
    },
    {
      when: 'the Application is left alone',
      application: {
        ...(application() as object),
        metadata: {
          name: 'runners',
          namespace: 'argocd',
          annotations: { 'argocd.argoproj.io/skip-reconcile': 'true' },
        },
      },
      code: 4,
      cause: 'Argo CD does not sync Application argocd/runners: Skipped: annotation argocd.argoproj.io/skip-reconcile',
      next: 'remove it: kubectl annotate applications.argoproj.io -n argocd runners argocd.argoproj.io/skip-reconcile-, then argocd app get runners --hard-refresh',
    },
    {
      when: 'Argo CD tracks by label, and the Application is in error',
      tracksByLabel: true,
      application: application({ conditions: [{ type: 'ComparisonError', message: 'zzz' }] }),
      code: 4,
      cause: 'Argo CD does not sync Application argocd/runners: ComparisonError: zzz',
      next: 'correct what it says',
    },
    {
      when: 'a quota refuses the pod',
      jobs: oldJob,
      events: (runner) => [
        { message: 'Error creating: an older one', lastTimestamp: LONG_AGO, involvedObject: { name: runner } },
        { message: QUOTA, lastTimestamp: now(), involvedObject: { name: runner } },
        { message: 'Error creating: of another', lastTimestamp: now(), involvedObject: { name: 'ci-9' } },
      ],
      code: 4,
      cause:
        'its pod cannot start: NoPod: forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5',
      next: 'kubectl -n runners describe job/',
    },
    {
      when: 'there is no pod, and Events may not be read',
      jobs: oldJob,
      events: 403,
      code: 4,
      cause: 'its pod cannot start: NoPod: no controller has looked at its Job, whose status is empty',
      next: 'see whether kube-controller-manager runs',
    },
    {
      when: 'there is no pod, a controller has looked at the Job, and Events may not be read',
      jobs: (runner) => [liveJob(runner, Date.now() - 400_000, { ready: 0, startTime: LONG_AGO })],
      events: 403,
      code: 4,
      cause: 'its pod cannot start: NoPod: Kubernetes has created no pod;',
      next: 'kubectl -n runners describe job/',
    },
    {
      when: 'a volume of the pod is not there',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(130)], ...waitingRunner })),
      events: (runner) => [
        { reason: 'Scheduled', message: 'assigned', involvedObject: { name: `${runner}-x7x9z` }, lastTimestamp: now() },
        { reason: 'FailedMount', message: 'of another', involvedObject: { name: 'ci-1-x7x9z' }, lastTimestamp: now() },
        {
          reason: 'FailedMount',
          message: 'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found',
          involvedObject: { name: `${runner}-x7x9z` },
          lastTimestamp: LONG_AGO,
        },
      ],
      cause: 'FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "settings" not found',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'its pod waits for the credentials that serve is to give it',
      jobs: oldJob,
      groupStatus: {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'RegistrationFailed',
            message: 'Jobs wait for the credentials of their runners: GR-GITEA-20 no',
            lastTransitionTime: LONG_AGO,
          },
        ],
      },
      pods: onNode(() => ({ conditions: [scheduledFor(130)], ...waitingRunner })),
      events: (runner) => [
        {
          reason: 'FailedMount',
          message: `MountVolume.SetUp failed for volume "credentials" : secret "${runner}" not found`,
          involvedObject: { name: `${runner}-x7x9z` },
          lastTimestamp: LONG_AGO,
        },
      ],
      cause: 'its pod has not started: FailedMount: MountVolume.SetUp failed for volume "credentials"',
      says: 'Status: RegistrationFailed: Jobs wait for the credentials of their runners: GR-GITEA-20 no',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'a webhook has an old certificate, whose verdict is at the end of a long message',
      jobs: oldJob,
      events: refusedPod(
        `Internal error occurred: failed calling webhook "pods.policy.acme.io": failed to call webhook: Post "https://policy.policy-system.svc:443/validate-pods?timeout=10s": tls: failed to verify certificate: ${'x509: '.repeat(30)}current time 2026-11-30T23:58:00Z is after 2026-11-30T21:58:00Z`,
      ),
      code: 4,
      cause: 'is after 2026-11-30T21:58:00Z',
      next: 'renew the certificate of the webhook of service policy',
    },
    {
      when: 'the Secret for the registry of its image is not there',
      jobs: oldJob,
      pods: onNode(() => ({
        conditions: [scheduledFor(395)],
        ...registering({ waiting: { reason: 'ImagePullBackOff', message: 'failed to authorize: 401 Unauthorized' } }),
      })),
      events: (runner) => [
        podEvent(
          runner,
          'Warning',
          'FailedToRetrieveImagePullSecret',
          'Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.',
          12,
        ),
        podEvent(runner, 'Normal', 'BackOff', 'Back-off pulling image', 5),
      ],
      code: 4,
      cause:
        'ImagePullBackOff: failed to authorize: 401 Unauthorized FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (regcred)',
      next: 'make Secret regcred in namespace runners, or correct imagePullSecrets in spec.podTemplate',
    },
    {
      when: 'a probe ends its sidecar again and again',
      jobs: oldJob,
      pods: onNode(() => ({
        conditions: [scheduledFor(395)],
        initContainerStatuses: [
          {
            name: 'docker',
            state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
            lastState: { terminated: { exitCode: 137 } },
          },
        ],
      })),
      events: (runner) => [podEvent(runner, 'Warning', 'Unhealthy', 'Liveness probe failed: connection refused', 12)],
      code: 4,
      cause: 'back-off 5m0s: Liveness probe failed: connection refused',
      next: 'logs job/',
    },
    ...[
      ['exceeded quota: storage, requested: requests.storage=50Gi', 'raise that quota (storage)'],
      ['zzz', 'look at its claim and StorageClass'],
    ].map(([words = '', next = '']): Situation & { when: string; code: number; cause: string; next: string } => ({
      when: `its ephemeral claim is refused: ${words}`,
      jobs: oldJob,
      pods: (runner) =>
        pending(unscheduled('0/5 nodes are available: waiting for ephemeral volume controller'))(runner).map((pod) => ({
          ...pod,
          spec: { volumes: [{ name: 'work', ephemeral: {} }] },
        })),
      events: (runner) => [
        podEvent(runner, 'Warning', 'FailedBinding', `ephemeral volume work: create PVC x: ${words}`, 15),
        podEvent(runner, 'Warning', 'FailedScheduling', 'waiting for ephemeral', 5, 'default-scheduler'),
      ],
      code: 4,
      cause: `waiting for ephemeral volume controller FailedBinding: ephemeral volume work: create PVC x: ${words}`,
      next,
    })),
    {
      when: 'no volume is made for its claim, and the claim says why',
      jobs: oldJob,
      pods: (runner) =>
        pending({
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'SchedulerError', message: 'binding volumes: deadline' },
          ],
        })(runner).map((pod) => ({
          ...pod,
          spec: { volumes: [{ name: 'cache', persistentVolumeClaim: { claimName: 'cache' } }] },
        })),
      events: [
        {
          ...{ type: 'Warning', reason: 'ProvisioningFailed', lastTimestamp: now() },
          message: 'failed to provision volume: code = ResourceExhausted',
          involvedObject: { kind: 'PersistentVolumeClaim', name: 'cache' },
        },
      ],
      code: 4,
      cause:
        'SchedulerError: binding volumes: deadline ProvisioningFailed: failed to provision volume: code = Resource',
      next: 'look at its claim and StorageClass',
    },
    {
      when: 'the image cannot be pulled',
      jobs: oldJob,
      pods: pending(registering({ waiting: { reason: 'ErrImagePull', message: 'no such image: runner:9' } })),
      code: 4,
      cause: 'its pod cannot start: ImagePullBackOff: no such image: runner:9',
      says: 'ago; its pod does not run yet',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'the key of the registration Secret is missing',
      jobs: oldJob,
      pods: pending(
        registering({
          waiting: {
            reason: 'CreateContainerConfigError',
            message: "couldn't find key token in Secret runners/gitea-runner",
          },
        }),
      ),
      code: 4,
      cause: "CreateContainerConfigError: couldn't find key token in Secret runners/gitea-runner",
      next: 'describe pods -l job-name=',
    },
    {
      when: 'its runner cannot register, and nobody says why',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        ...registering({ terminated: { exitCode: 1 } }),
        containerStatuses: [{ name: 'runner', state: { waiting: { reason: 'PodInitializing' } } }],
      }),
      cause: 'its last runner failed: RegistrationFailed: container register ended with exit code 1',
      next: 'read what register says before that: kubectl -n runners logs job/',
      not: 'token',
    },
    {
      when: 'the runner crashes',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod(ended({ exitCode: 2 })),
      cause: 'its last runner failed: RunnerFailed: container runner ended with exit code 2',
      next: 'see why it ended: kubectl -n runners logs job/',
    },
    {
      when: 'a runner at work was OOM-killed',
      isTaken: true,
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod(ended({ exitCode: 137, reason: 'OOMKilled' })),
      cause: 'is lost (OOMKilled: it needed more memory than its limit): Gitea fails it after 10 to 15 minutes',
      next: 'raise spec.resources.limits.memory',
    },
    {
      when: 'a runner at work was evicted',
      isTaken: true,
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({ reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      cause: 'is lost (Evicted: The node was low on resource: memory.)',
      next: 'give the pod requests for what its node ran out of',
    },
    {
      when: 'Gitea does not give the job to its runner, which is idle',
      isIdle: true,
      jobs: (runner) => [liveJob(runner, Date.now() - 200_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 190_000))],
      code: 4,
      cause: 'it is registered and idle for 3m',
      next: 'look whether Actions is switched on in the settings of acme/web',
    },
    {
      when: 'the runner that holds the last slot cannot start',
      cap: 1,
      behind: 1,
      jobs: oldJob,
      pods: pending(unscheduled('0/3 nodes are available')),
      code: 4,
      cause:
        'slots are held: job 1 has a pod that cannot start: Unschedulable: 0/3 nodes are available; held back by the cap of group runners/ci; 1st in line',
      says: 'Next: Unschedulable: see which rule of the scheduler',
      next: 'and 1 of its runners cannot start: mend that first',
    },
    {
      when: 'its pod has a node and no container has started',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(1_510)], ...waitingRunner })),
      code: 4,
      cause: 'its pod has not started: PodInitializing: no container has started (node node-1), for 25m',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'its pod has not started for half an hour, and another one is tried',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(1_870)], ...waitingRunner })),
      code: 4,
      cause: 'its last runner failed: PodInitializing: no container has started (node node-1)',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'the pod of the try before could not start, and its Job is gone',
      jobs: (runner) => [triedBefore(runner)],
      pods: (runner) => [podOf(runner, {}, Date.now() - 4_000)],
      events: (runner) => [
        {
          reason: 'WorkerPodStuckPending',
          message: stuckBefore(runner, 'FailedMount: older'),
          lastTimestamp: LONG_AGO,
        },
        {
          reason: 'WorkerPodStuckPending',
          message: stuckBefore(runner, 'ImagePullBackOff: not found: no such image: runner:9'),
          lastTimestamp: now(),
        },
        { reason: 'RunnerLost', message: stuckBefore(runner, 'Evicted: no'), lastTimestamp: now() },
        { reason: 'WorkerPodStuckPending', message: 'ci-999-1-cab9f810: Zzz: of another', lastTimestamp: now() },
      ],
      code: 4,
      cause: 'its last runner failed: ImagePullBackOff: not found: no such image: runner:9; its runner is there',
      next: 'correct the image (spec.image, or that of spec.podTemplate)',
    },
    {
      when: 'its runner is at work, and Gitea shows it offline',
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: (runner) => [podOf(runner, { phase: 'Running' })],
      events: (runner) => [
        {
          reason: 'NodeNotReady',
          message: 'Node is not ready',
          involvedObject: { name: `${runner}-x7x9z` },
          lastTimestamp: now(),
        },
      ],
      cause: 'offline; Kubernetes says: NodeNotReady: Node is not ready',
      next: 'see whether the pod and the node of RUNNER are well: kubectl -n runners get pods -l job-name=',
    },
    {
      when: 'the last slot is held by a job whose runner is offline',
      cap: 1,
      behind: 1,
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 190_000))],
      events: (runner) => [
        {
          reason: 'NodeNotReady',
          message: 'Node is not ready',
          involvedObject: { name: `${runner}-x7x9z` },
          lastTimestamp: now(),
        },
      ],
      cause:
        'slots are held: job 1 has a runner that is offline (NodeNotReady: Node is not ready); held back by the cap',
      says: 'and Gitea shows it offline',
      next: 'see whether the pod and the node of RUNNER are well: kubectl -n runners get pods -l job-name=RUNNER -o wide. A pod whose node stays away is deleted after some five minutes, and its job is lost. Or cancel job 1 in Gitea Next: group runners/ci has no free slot (1 busy), and 1 of its runners is offline: see to that first',
      not: 'raise',
    },
    {
      when: 'its pod cannot mount a volume, and only an Event says so',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(1_510)], ...waitingRunner })),
      events: (runner) => [
        {
          reason: 'FailedMount',
          message: 'timed out',
          involvedObject: { name: `${runner}-x7x9z` },
          lastTimestamp: now(),
        },
      ],
      code: 4,
      cause: 'its pod has not started: FailedMount: timed out (node node-1), for 25m',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'its runner tries to register for six minutes',
      jobs: oldJob,
      pods: onNode(() => ({
        conditions: [scheduledFor(375)],
        ...registering({ running: { startedAt: new Date(Date.now() - 370_000).toISOString() } }),
        containerStatuses: waitingRunner.containerStatuses,
      })),
      code: 4,
      cause:
        'its pod has not started: InitContainerRunning: init container register has not ended (node node-1), for 6m',
      next: 'see that pods reach Gitea: NetworkPolicy, DNS, proxy; kubectl -n runners logs job/',
    },
    {
      when: 'its pod has a node for two minutes',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(130)], ...waitingRunner })),
      cause: 'its pod has not started: PodInitializing: no container has started (node node-1), for 2m',
      next: 'describe pods -l job-name=',
    },
    {
      when: 'no scheduler has looked at its pod',
      jobs: oldJob,
      pods: (runner) => [{ ...podOf(runner, { phase: 'Pending' }), spec: { schedulerName: 'volcano' } }],
      code: 4,
      cause: 'its pod has not started: NoScheduler: no scheduler has looked at it (schedulerName volcano), for 6m',
      next: 'NoScheduler: see whether that scheduler runs, or correct schedulerName in spec.podTemplate; kubectl -n runners describe pods',
    },
    {
      when: 'the last slot was held by a pod that no scheduler has looked at',
      cap: 1,
      behind: 1,
      ageMs: 1_000_000,
      jobs: (runner) => [liveJob(runner, Date.now() - 960_000)],
      pods: (runner) => [podOf(runner, {}, Date.now() - 950_000)],
      code: 4,
      cause: '1 runner before this one got no job, or did not start; Argo CD has not created its Kubernetes Job yet',
      next: 'wait until 20',
    },
    {
      when: 'its pod names a ResourceClaimTemplate that is not there, so no scheduler looks at it',
      jobs: oldJob,
      pods: (runner) => [podOf(runner, {}, Date.now() - 90_000)],
      events: (runner) => [
        podEvent(
          runner,
          'Warning',
          'FailedResourceClaimCreation',
          'PodResourceClaim gpu: resource claim template "single-gpu": resourceclaimtemplate.resource.k8s.io "single-gpu" not found',
          20,
        ),
      ],
      cause: 'FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "single-gpu"',
      next: 'make ResourceClaimTemplate single-gpu: kubectl -n runners get resourceclaimtemplates',
    },
    {
      when: 'kube-scheduler is down',
      jobs: oldJob,
      pods: (runner) => [podOf(runner, {}, Date.now() - 90_000)],
      cause: 'NoScheduler: no scheduler has looked at it (schedulerName default-scheduler), for 1m',
      next: 'NoScheduler: see whether kube-scheduler runs',
    },
    {
      when: 'nothing says why its pod does not start, for longer than a runner may take',
      jobs: oldJob,
      pods: pending({ conditions: [{ type: 'PodScheduled', status: 'True' }] }),
      code: 4,
      cause: 'its runner is there, and has not taken it yet',
      next: 'see why RUNNER cannot start: kubectl -n runners describe pods',
      not: 'wait:',
    },
    {
      when: 'its image has been pulled for six minutes, among the events of many other pods',
      jobs: oldJob,
      pods: onNode(pulling),
      events: (runner) => [
        ...Array.from({ length: 700 }, (_, nth) => podEvent(`ci-0-${nth}`, 'Normal', 'Created', 'Created', 1)),
        podEvent(runner, 'Warning', 'FailedMount', 'timed out', 390),
        podEvent(runner, 'Normal', 'Pulling', 'Pulling image "r.acme/full:1"', 380),
      ],
      cause: 'its pod has not started: Pulling: image "r.acme/full:1" (node node-1), for 6m',
      next: 'Pulling: wait until 20',
      not: 'cordon',
    },
    {
      when: 'its image has been pulled for a quarter of an hour',
      jobs: oldJob,
      pods: onNode(pulling),
      events: (runner) => [podEvent(runner, 'Normal', 'Pulling', 'Pulling image "r.acme/full:1"', 910)],
      code: 4,
      cause: 'its pod has not started: Pulling: image "r.acme/full:1" (node node-1), for 6m',
      next: 'Pulling: see whether the image is large and the registry slow',
      not: 'cordon',
    },
    {
      when: 'its image has been pulled for half a minute',
      jobs: (runner) => [liveJob(runner, Date.now() - 40_000)],
      pods: onNode(() => ({ ...pulling(), conditions: [scheduledFor(39)] })),
      events: (runner) => [podEvent(runner, 'Normal', 'Pulling', 'Pulling image "r.acme/full:1"', 37)],
      cause: 'its pod has not started: Pulling: image "r.acme/full:1"; runner',
      next: 'Pulling: wait until 20',
      not: 'waits for a node',
    },
    {
      when: 'its volume has not come for half a minute',
      jobs: (runner) => [liveJob(runner, Date.now() - 40_000)],
      pods: onNode(() => ({ ...waitingRunner, conditions: [scheduledFor(39)] })),
      events: (runner) => [podEvent(runner, 'Warning', 'FailedMount', 'MountVolume.SetUp failed: x', 5)],
      cause: 'its pod has not started: FailedMount: MountVolume.SetUp failed: x; runner',
      next: 'FailedMount: look at that volume',
      not: 'cannot start',
    },
    {
      when: 'the registry did not answer its last runner, and the next one pulls',
      jobs: (runner) => [marked(runner, 40_000, { [TRIED_BEFORE]: '1' })],
      pods: onNode(() => ({ ...pulling(), conditions: [scheduledFor(39)] })),
      events: (runner) => [
        { reason: 'WorkerPodStuckPending', message: stuckBefore(runner, 'ImagePullBackOff: r.acme: i/o timeout') },
        podEvent(runner, 'Normal', 'Pulling', 'Pulling image "r.acme/full:1"', 37),
      ],
      code: 4,
      cause:
        'its last runner failed: ImagePullBackOff: r.acme: i/o timeout; now its pod has not started: Pulling: image "r.acme/full:1"',
      next: 'see whether its node reaches the registry: network, DNS, proxy Next: Pulling: wait until 20',
      not: 'node NODE',
    },
    {
      when: 'the registry does not answer the next runner either',
      jobs: (runner) => [marked(runner, 40_000, { [TRIED_BEFORE]: '1' })],
      pods: onNode(() => ({
        conditions: [scheduledFor(39)],
        ...registering({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off: r.acme: i/o timeout' } }),
      })),
      events: (runner) => [
        { reason: 'WorkerPodStuckPending', message: stuckBefore(runner, 'ImagePullBackOff: r.acme: i/o timeout') },
      ],
      code: 4,
      cause: 'its pod cannot start: ImagePullBackOff: ',
      next: 'ImagePullBackOff: see whether node node-1 reaches the registry',
      not: 'its last runner failed',
    },
    {
      when: 'its last runner could not register, and the next one has tried for five minutes',
      jobs: (runner) => [marked(runner, 310_000, { [TRIED_BEFORE]: '1' }), failedJob(`${runner.slice(0, -4)}0000`)],
      pods: (runner) => [
        ...onNode(() => ({
          conditions: [scheduledFor(305), { type: 'PodReadyToStartContainers', status: 'True' }],
          ...registering({ running: { startedAt: new Date(Date.now() - 300_000).toISOString() } }),
        }))(runner),
        ...failedPod(
          registering({
            terminated: { exitCode: 1, message: 'level=error msg="x" error="permission_denied: 403 Forbidden"' },
          }),
        )(`${runner.slice(0, -4)}0000`),
      ],
      code: 4,
      cause:
        'its last runner failed: RegistrationFailed: container register ended with exit code 1: permission_denied: 403 Forbidden; now its pod has not started: InitContainerRunning: init container register has not ended (node node-1), for 5m00s',
      next: 'see what stands before Gitea and refuses pods',
    },
    {
      when: 'its image was pulled, or Events may not be read, and its network is ready',
      jobs: oldJob,
      pods: onNode(pulling),
      events: (runner) => [
        podEvent(runner, 'Normal', 'Pulling', 'Pulling image "r.acme/full:1"', 380),
        podEvent(runner, 'Normal', 'Pulled', 'Successfully pulled image', 370),
      ],
      code: 4,
      cause: 'PodInitializing: no container has started, and its network is ready (node node-1), for 6m',
      next: 'see whether the image is large and the registry slow',
      not: 'cordon',
    },
    {
      when: 'the autoscaler adds a node for its pod',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [
        podEvent(runner, 'Normal', 'NotTriggerScaleUp', "pod didn't trigger scale-up: 1 x", 300),
        podEvent(runner, 'Normal', 'TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 70),
      ],
      cause: `its pod waits for a node: Unschedulable: ${NO_ROOM} TriggeredScaleUp: pod triggered scale-up: [{a 3->4 (max: 10)}];`,
      next: 'Unschedulable: wait until 20',
      not: 'which rule of the scheduler',
    },
    {
      when: 'the node that Karpenter has asked for has not come',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [podEvent(runner, 'Normal', 'Nominated', 'Pod should schedule on: nodeclaim/a', 910)],
      code: 4,
      cause: 'its pod cannot start: Unschedulable',
      next: 'Unschedulable: see in the log of the autoscaler why no node has come',
    },
    {
      when: 'the node group is at its maximum, and the list of Events is full',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [
        ...Array.from({ length: 700 }, (_, nth) => podEvent(`ci-0-${nth}`, 'Normal', 'Pulled', 'zzz', 1)),
        podEvent(
          runner,
          'Warning',
          'NotTriggerScaleUp',
          "pod didn't trigger scale-up: 1 max node group size reached",
          60,
        ),
      ],
      code: 4,
      cause: `Unschedulable: ${NO_ROOM} NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached`,
      next: 'Unschedulable: raise the maximum of that node group, or free a node',
    },
    {
      when: 'the cloud has no machine for the node that the autoscaler asked for',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [
        podEvent(runner, 'Normal', 'TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 90),
        podEvent(
          runner,
          'Warning',
          'FailedScaleUp',
          'Node scale up in zones us-west1-b associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.',
          60,
        ),
      ],
      code: 4,
      cause: `its pod cannot start: Unschedulable: ${NO_ROOM} FailedScaleUp: Node scale up in zones us-west1-b`,
      next: 'let the node group have other zones or types of machines: the cloud has none of these left',
      not: 'wait until',
    },
    {
      when: 'the autoscaler refuses one group of nodes and takes another one in the same second',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [
        podEvent(runner, 'Normal', 'TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 70),
        podEvent(runner, 'Normal', 'NotTriggerScaleUp', "pod didn't trigger scale-up: 1 x", 70),
      ],
      cause: 'its pod waits for a node: Unschedulable',
      next: 'Unschedulable: wait until 20',
    },
    {
      when: 'Karpenter has no machine for its pod',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) => [
        podEvent(
          runner,
          'Warning',
          'FailedScheduling',
          'Failed to schedule pod, incompatible with nodepool "spot", daemonset overhead={"cpu":"150m","pods":"2"}, no instance type has enough resources, requirements=kubernetes.io/os In [linux]',
          60,
          'karpenter',
        ),
        podEvent(runner, 'Warning', 'FailedScheduling', NO_ROOM, 5, 'default-scheduler'),
      ],
      code: 4,
      cause: `Unschedulable: ${NO_ROOM} FailedScheduling: Failed to schedule pod, incompatible with nodepool "spot", no instance type`,
      next: 'no node that the autoscaler may add would fit: let a NodePool have larger or other types of machines',
      not: 'add a node with room',
    },
    {
      when: 'Karpenter promises one machine after another, and the cloud refuses them',
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      events: (runner) =>
        Array.from({ length: 20 }, (_, nth) =>
          podEvent(
            runner,
            'Normal',
            'Nominated',
            `Pod should schedule on: nodeclaim/spot-${nth}`,
            1_000 - nth * 50,
            'eks-auto-mode/compute',
          ),
        ),
      code: 4,
      cause: 'its pod cannot start: Unschedulable',
      next: 'Unschedulable: see in the log of the autoscaler why no node has come',
    },
    {
      when: 'GKE Autopilot refuses its privileged pod',
      jobs: oldJob,
      events: refusedPod(
        'admission webhook "warden-validating.common-webhooks.networking.gke.io" denied the request: GKE Warden rejected the request because it violates one or more constraints.\nViolations details: {"[denied by autogke-disallow-privilege]":["container docker is privileged; not allowed in Autopilot"]}',
      ),
      code: 4,
      cause: 'NoPod: admission webhook "warden-validating.common-webhooks.networking.gke.io" denied the request',
      next: 'use a lower spec.securityProfile or another containerMode, or run them on a GKE cluster of mode Standard',
      not: 'Error creating',
    },
    {
      when: 'its pod runs, and somebody has deleted the row of its runner',
      jobs: (runner) => [liveJob(runner, Date.now() - 200_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 190_000))],
      cause: 'its pod runs, and Gitea has no runner of its name: the row was deleted, or is in another Gitea or scope;',
      next: 'then another runner is tried. Sooner: kubectl -n runners delete job RUNNER. If the next one has no row either, compare Secret runners/gitea-runner with',
      not: 'takes it as soon as it has registered',
    },
    {
      when: 'its pod runs, and a firewall lets its runner register, but not ask for jobs',
      isIdle: true,
      isOffline: true,
      jobs: (runner) => [liveJob(runner, Date.now() - 200_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 190_000))],
      cause: 'its pod runs, and Gitea shows its runner offline: its requests for jobs do not reach Gitea',
      next: 'then another runner is tried. See in its log what refuses it (Gitea, a proxy, a firewall): kubectl -n runners logs job/RUNNER -c runner',
      not: 'takes it as soon as it has registered',
    },
    {
      when: 'its last runner was offline until its time was over',
      isIdle: true,
      isOffline: true,
      ageMs: 600_000,
      jobs: (runner) => [liveJob(runner, Date.now() - 430_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 420_000))],
      code: 4,
      cause: 'its last runner was offline in Gitea: its requests for jobs did not reach Gitea; Argo CD has not created',
      next: 'see what keeps its runners from Gitea: kubectl -n runners logs -l gitea.bpg.pw/runnergroup-name=ci -c runner',
      not: 'switched on',
    },
    {
      when: 'serve is older than the RunnerGroup',
      groupStatus: {
        conditions: [
          {
            ...{ type: 'Ready', status: 'False', reason: 'InvalidSpec', lastTransitionTime: LONG_AGO },
            message: 'spec.labels: unknown field',
          },
        ],
      },
      code: 4,
      cause: 'RunnerGroup runners/ci is not ready: InvalidSpec: spec.labels: unknown field',
      next: 'this program accepts it, so serve is of another version: gitea-runners doctor shows the images',
    },
    {
      when: 'the plugin is older than the RunnerGroup',
      application: application({
        conditions: [
          {
            type: 'ComparisonError',
            message:
              'error: GR-INPUT-04 ci.yaml:6:3: spec.labels: unknown field; gitea-runners schema lists the known ones',
          },
        ],
      }),
      code: 4,
      cause: 'spec.labels: unknown field',
      next: 'this program knows spec.labels, so the sidecar gitea-runners of argocd-repo-server is older: repeat step 1',
    },
    {
      when: 'the plugin does not know a field that nobody knows',
      application: application({
        conditions: [{ type: 'ComparisonError', message: 'error: GR-INPUT-04 ci.yaml:6:3: spec.zzz: unknown field' }],
      }),
      code: 4,
      cause: 'spec.zzz: unknown field',
      next: 'do what it says',
    },
    {
      when: 'the label is in git, and the sync is switched off in place',
      runsOn: ['gpu'],
      application: application(
        { resources: [ofKind('RunnerGroup', 'ci', { status: 'OutOfSync' })] },
        { prune: true, enabled: false },
      ),
      code: 4,
      cause: 'labels not covered: gpu (nearest group: runners/ci); RunnerGroup runners/ci differs from git',
      next: 'see whether git has these labels: Application argocd/runners is OutOfSync, and its automated sync is off. Then: argocd app sync runners',
    },
    {
      when: 'the group of the label is in git only, and nothing syncs it',
      runsOn: ['gpu'],
      application: application({
        resources: [ofKind('RunnerGroup', 'ci'), ofKind('RunnerGroup', 'gpu', { status: 'OutOfSync' })],
      }),
      code: 4,
      cause: 'labels not covered: gpu (nearest group: runners/ci); RunnerGroup runners/gpu differs from git',
      next: 'Application argocd/runners is OutOfSync. Then: argocd app sync runners',
    },
    {
      when: 'Argo CD cannot compare the folder that may have the label',
      runsOn: ['gpu'],
      application: application({ conditions: [{ type: 'ComparisonError', message: 'app path does not exist' }] }),
      code: 4,
      cause:
        'labels not covered: gpu (nearest group: runners/ci); a change in git does not come: Argo CD does not sync Application argocd/runners',
      next: 'correct spec.source.path',
    },
    {
      when: 'this program is older than serve',
      runsOn: ['gpu'],
      others: (url) => [groupObject(groupYaml(url, '  newField: 7\n', 'gpu'))],
      code: 4,
      cause: 'labels not covered: gpu',
      says: 'serve accepts it, so this program is of another version: use that of serve',
      next: 'gpu asks for other machines',
    },
    {
      when: 'serve looks at other namespaces',
      groupStatus: { lastCheckTime: undefined },
      settings: { GITEA_RUNNERS_NAMESPACES: 'team-a,team-b' },
      code: 4,
      cause: 'serve does not look at namespace runners, only at team-a, team-b',
      next: 'S_NAMESPACES in ConfigMap gitea-runners-settings of namespace argocd, as https',
    },
    {
      when: 'serve leads and has never looked, although the namespace is its own',
      ageMs: 12_000_000,
      groupStatus: { lastCheckTime: undefined },
      settings: { GITEA_RUNNERS_NAMESPACES: 'runners' },
      code: 4,
      cause: 'serve leads, and has never looked at RunnerGroup runners/ci',
      next: 'gitea-runners doctor says which rights it lacks in namespace runners; kubectl -n argocd logs',
      not: 'see that GITEA_RUNNERS_NAMESPACES',
    },
    {
      when: 'nobody has ever looked, and neither the Lease nor the settings may be read',
      ageMs: 12_000_000,
      groupStatus: { lastCheckTime: undefined },
      lease: 403,
      code: 4,
      cause:
        'nothing tells whether serve runs (you may not read it (403)), and it has never looked at RunnerGroup runners/ci',
      next: 'S_NAMESPACES in ConfigMap gitea-runners-settings of namespace argocd names runners; gitea-runners doctor',
    },
    {
      when: 'its Job is suspended by Kueue',
      jobs: (runner) => [{ ...liveJob(runner, Date.now() - 7_200_000, suspendedStatus), spec: { suspend: true } }],
      cause: 'it is held, and whoever does that (Kueue, for example) lets it start: Suspended: Job suspended',
      next: 'describe job/',
    },
    {
      when: 'its Job waits in a queue of Kueue, which says why',
      jobs: inQueue,
      workload:
        "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor default, 1 more needed",
      cause:
        "it waits in queue team-a of Kueue: couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor default, 1 more needed",
      next: 'wait until Jobs of that queue end, or raise nominalQuota of flavor default',
    },
    {
      when: 'its Job asks for more than its queue ever has',
      jobs: inQueue,
      workload:
        "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)",
      code: 4,
      cause: 'it waits in queue team-a of Kueue: ',
      next: 'or raise nominalQuota of flavor default in the ClusterQueue: it can never start',
    },
    {
      when: 'its Job has quota, and waits for a cluster that takes it',
      jobs: inQueue,
      workload: { conditions: [RESERVED], admissionChecks: [{ name: 'workers', state: 'Pending', message: '' }] },
      cause: 'it waits in queue team-a of Kueue: admission check workers is Pending',
      next: 'ask who runs admission check workers',
    },
    {
      when: 'its Job has quota, and a check of Kueue has refused it with words',
      jobs: inQueue,
      workload: {
        conditions: [RESERVED],
        admissionChecks: [{ name: 'workers', state: 'Rejected', message: 'The owner is not managed by Kueue' }],
      },
      cause:
        'it waits in queue team-a of Kueue: admission check workers is Rejected: The owner is not managed by Kueue',
      next: 'ask who runs admission check workers',
    },
    {
      when: 'its pod in another cluster is not ready',
      jobs: elsewhere,
      workload: { conditions: [RESERVED], clusterName: 'east' },
      cause:
        'StartsElsewhere: its pod in the other cluster is not ready (kueue.x-k8s.io/multikueue), cluster east, for 2m',
      next: 'look at its Workload, which names the cluster, and at the pods there',
    },
    {
      when: 'its Job waits in a queue of Kueue, whose objects may not be read',
      jobs: inQueue,
      workload: 403,
      cause: 'it waits in queue team-a of Kueue: Job suspended',
      next: 'kubectl get localqueues,workloads -A shows the queues of Kueue',
    },
    {
      when: 'its runner was idle until it was given up, and Gitea still gives nothing',
      isIdle: true,
      ageMs: 600_000,
      jobs: (runner) => [liveJob(runner, Date.now() - 430_000)],
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 420_000))],
      code: 4,
      cause: 'its last runner was idle: Gitea did not give it the job; Argo CD has not created its Kubernetes Job yet',
      next: 'look whether Actions is switched on in the settings of acme/web',
    },
    {
      when: 'runners before it were given up, and nobody tells why',
      jobs: (runner) => [triedBefore(runner)],
      pods: (runner) => [podOf(runner, {}, Date.now() - 4_000)],
      code: 4,
      cause: '1 runner before this one got no job, or did not start; its runner is there',
      next: 'see which pods did not start: kubectl -n runners describe runnergroup ci. If all did, look whether Actions',
    },
    {
      when: 'the pod of its runner could not start, its Job is gone, and the new one is not made',
      ageMs: 1_200_000,
      events: (runner) => [
        {
          reason: 'WorkerPodStuckPending',
          message: stuckBefore(runner, 'ImagePullBackOff: not found: no such image: runner:9'),
          lastTimestamp: now(),
        },
      ],
      code: 4,
      cause: 'its last runner failed: ImagePullBackOff: not found: no such image: runner:9; Argo CD has not created',
      next: 'correct the image (spec.image, or that of spec.podTemplate)',
    },
    {
      when: 'the sidecar of docker crashes again and again',
      jobs: oldJob,
      pods: onNode(() => ({
        conditions: [scheduledFor(300)],
        initContainerStatuses: [
          { name: 'docker', state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } } },
        ],
        ...waitingRunner,
      })),
      code: 4,
      cause: 'its pod cannot start: CrashLoopBackOff: back-off 40s',
      next: 'CrashLoopBackOff: see why that container ends, by its log; kubectl -n runners logs job/',
    },
    {
      when: 'setupCommand fails, and its last line says why',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        initContainerStatuses: [
          {
            name: 'setup',
            state: {
              terminated: { exitCode: 100, message: 'Reading package lists...\nE: Unable to locate package jqq\n' },
            },
          },
        ],
        ...waitingRunner,
      }),
      cause: 'container setup ended with exit code 100: E: Unable to locate package jqq',
      next: 'see why that container, or spec.setupCommand, fails, by its log',
    },
    {
      when: 'a node has refused the pod, in words that nobody has heard before',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({ reason: 'OutOfzzz', message: "Node didn't have enough resource: zzz" }),
      cause: "its last runner failed: OutOfzzz: Node didn't have enough resource: zzz",
      next: 'nothing, if the next pod starts. Else look at its node',
      not: 'logs job/',
    },
    {
      when: 'its node ran out of disk before its runner started',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({ reason: 'Evicted', message: 'The node was low on resource: ephemeral-storage.' }),
      cause: 'its last runner failed: Evicted: The node was low on resource: ephemeral-storage.',
      next: 'give the pod requests for what its node ran out of',
      not: 'logs job/',
    },
    {
      when: 'its node shuts down',
      jobs: (runner) => [failedJob(runner)],
      pods: (runner) =>
        failedPod({
          reason: 'NodeShutdown',
          message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
        })(runner).map((pod) => ({ ...pod, spec: { nodeName: 'spot-3' } })),
      cause:
        'its last runner failed: NodeShutdown: Pod was rejected: Pod was rejected as the node is shutting down. (node spot-3)',
      next: 'nothing: node spot-3 shuts down, and the next pod goes to another one',
      not: 'logs job/',
    },
    {
      when: 'its claims are not bound',
      jobs: oldJob,
      pods: (runner) =>
        pending(unscheduled('0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.'))(runner).map(
          (pod) => ({
            ...pod,
            spec: {
              volumes: [
                { name: 'token', secret: { secretName: 'x' } },
                { name: 'work', ephemeral: { volumeClaimTemplate: {} } },
                { name: 'cache', persistentVolumeClaim: { claimName: 'cache-web' } },
              ],
            },
          }),
        ),
      code: 4,
      cause: 'pod has unbound immediate PersistentVolumeClaims.',
      says: 'kubectl -n runners describe pvc RUNNER-x7x9z-work cache-web; kubectl get storageclass,csidrivers',
      next: 'look at its claim and StorageClass',
    },
    {
      when: 'a sidecar of a mesh runs and is not ready',
      jobs: oldJob,
      pods: besideSidecar('istio-proxy', false),
      events: (runner) => [
        podEvent(runner, 'Normal', 'Pulled', 'Container image "proxyv2" already present on machine', 390),
        podEvent(runner, 'Warning', 'Unhealthy', 'Startup probe failed: HTTP probe failed with statuscode: 503', 3),
        {
          ...podEvent(runner, 'Warning', 'Unhealthy', 'Liveness probe failed: of another container', 2),
          involvedObject: { kind: 'Pod', name: `${runner}-x7x9z`, fieldPath: 'spec.initContainers{docker}' },
        },
      ],
      code: 4,
      cause:
        'its pod has not started: InitContainerRunning: sidecar istio-proxy runs and has not started yet, and register waits for it: Startup probe failed: HTTP probe failed with statuscode: 503 (node node-1), for 6m',
      says: 'kubectl -n runners logs job/RUNNER -c istio-proxy',
      next: 'see whether the control plane of the mesh runs',
    },
    {
      when: 'its sidecar has started, and register has not',
      jobs: oldJob,
      pods: besideSidecar('docker', true),
      code: 4,
      cause: 'PodInitializing: container register has not started (node node-1), for 6m',
      next: 'look at node node-1: kubectl describe node node-1. If no other has this: kubectl cordon node-1, then kubectl -n runners delete pods -l job-name=',
    },
    {
      when: 'its container needs a profile that its node does not have',
      jobs: oldJob,
      pods: onNode(() => ({
        conditions: [scheduledFor(300)],
        ...registering({
          waiting: { reason: 'CreateContainerError', message: 'apparmor profile not found ci-runner' },
        }),
      })),
      code: 4,
      cause: 'its pod cannot start: CreateContainerError: apparmor profile not found ci-runner (node node-1)',
      next: 'load AppArmor profile ci-runner on node node-1, or correct appArmorProfile in spec.podTemplate',
    },
    {
      when: 'a new token was made in Gitea, and the Secret has the old one',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        ...registering({
          terminated: {
            exitCode: 1,
            message: 'Error: runner registration token has been invalidated, please use the latest one',
          },
        }),
        ...waitingRunner,
      }),
      cause: 'runner registration token has been invalidated, please use the latest one',
      next: 'write a new registration token of this scope into Secret runners/gitea-runner: step 2',
    },
    {
      when: 'its proxy asks for a login',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        ...registering({ terminated: { exitCode: 1, message: 'Error: unavailable: Proxy Authentication Required' } }),
        ...waitingRunner,
      }),
      cause: 'container register ended with exit code 1: Error: unavailable: Proxy Authentication Required',
      next: 'give the proxy a login: spec.proxy.secretRef of RunnerGroup runners/ci',
      not: 'token',
    },
    {
      when: 'a sync waits for an object that is not healthy',
      application: {
        ...(application({
          operationState: {
            phase: 'Running',
            startedAt: LONG_AGO,
            message: 'waiting for healthy state of apps/Deployment/registry-mirror and 2 more resources',
          },
        }) as object),
        operation: { sync: {} },
      },
      code: 4,
      cause: 'waiting for healthy state of apps/Deployment/registry-mirror and 2 more resources. For',
      next: 'see why Deployment registry-mirror is not ready, and mend it: kubectl get Deployment -A --field-selector metadata.name=registry-mirror -o yaml. If this sync does not end then, end it: argocd app terminate-op runners',
    },
    {
      when: 'a sync waits for a Job that does not go',
      application: {
        ...(application({
          operationState: {
            phase: 'Running',
            startedAt: LONG_AGO,
            message: 'waiting for deletion of batch/Job/ci-0-1-deadbeef',
          },
        }) as object),
        operation: { sync: {} },
      },
      code: 4,
      cause: 'waiting for deletion of batch/Job/ci-0-1-deadbeef. For',
      next: 'see what holds the deletion of Job ci-0-1-deadbeef, finalizers as a rule: kubectl get Job -A --field-selector metadata.name=ci-0-1-deadbeef -o yaml. If',
    },
    {
      when: 'a conversion webhook is down, and Argo CD cannot read the cluster',
      application: application({
        conditions: [
          {
            type: 'ComparisonError',
            message:
              'Failed to load live state: failed to get cluster info for "https://kubernetes.default.svc": error synchronizing cache state : failed to sync cluster https://10.96.0.1:443: failed to load initial state of resource Certificate.cert-manager.io: conversion webhook for cert-manager.io/v1alpha2, Kind=Certificate failed: Post "https://cert-manager-webhook.cert-manager.svc:443/convert?timeout=30s": no endpoints available for service "cert-manager-webhook"',
          },
        ],
      }),
      code: 4,
      cause:
        'Argo CD does not sync Application argocd/runners: ComparisonError: failed to load initial state of resource Certificate.cert-manager.io: conversion webhook for',
      next: 'mend the webhook of service cert-manager-webhook, or ask who runs it: kubectl -n cert-manager get service,endpointslices,pods',
      not: 'credentials',
    },
    {
      when: 'two Applications print its RunnerGroup',
      application: application({
        conditions: [
          {
            type: 'SharedResourceWarning',
            message: 'RunnerGroup/ci is part of applications argocd/runners and argocd/team-b',
          },
        ],
      }),
      code: 4,
      cause: 'SharedResourceWarning: RunnerGroup/ci is part of applications argocd/runners and argocd/team-b',
      next: 'take RunnerGroup ci out of the source of one of the Applications argocd/runners and argocd/team-b',
    },
    {
      when: 'its volume is in another zone',
      jobs: oldJob,
      pods: pending(unscheduled('0/3 nodes are available: 3 node(s) had volume node affinity conflict.')),
      code: 4,
      cause: 'Unschedulable: 0/3 nodes are available: 3 node(s) had volume node affinity conflict.',
      next: 'add a node where the volume of its claim is: kubectl -n runners describe pvc; kubectl',
    },
    {
      when: 'the registry knows no anonymous pulls',
      jobs: oldJob,
      pods: pending(
        registering({
          waiting: { reason: 'ErrImagePull', message: 'failed to authorize: https://ghcr.io/token: 401 Unauthorized' },
        }),
      ),
      code: 4,
      cause: 'ImagePullBackOff: failed to authorize: https://ghcr.io/token: 401 Unauthorized',
      next: 'ImagePullBackOff: give its registry a login: imagePullSecrets',
    },
    {
      when: 'its queue of Kueue does not exist',
      jobs: inQueue,
      workload: "LocalQueue team-a doesn't exist",
      code: 4,
      cause: "it waits in queue team-a of Kueue: LocalQueue team-a doesn't exist",
      next: 'make that queue of Kueue, or correct spec.queue',
    },
    {
      when: 'its queue of Kueue is stopped',
      jobs: inQueue,
      workload: 'ClusterQueue team-a is stopped',
      code: 4,
      cause: 'it waits in queue team-a of Kueue: ClusterQueue team-a is stopped',
      next: 'let that queue of Kueue go on (spec.stopPolicy: None), or ask its owner',
    },
    {
      when: 'registration fails, because the clock of one node is wrong',
      jobs: (runner) => [failedJob(runner)],
      pods: (runner) =>
        failedPod(
          registering({
            terminated: {
              exitCode: 1,
              message: `level=error msg="x" error="unavailable: tls: x509: certificate has expired or is not yet valid: current time 2026-11-30T21:50:01Z is before 2026-11-30T22:40:00Z"`,
            },
          }),
        )(runner).map((pod) => ({ ...pod, spec: { nodeName: 'edge-2' } })),
      cause: 'is before 2026-11-30T22:40:00Z (node edge-2);',
      next: 'see whether the clock of node edge-2 is right',
    },
    {
      when: 'registration fails, and its container said why',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        ...registering({
          terminated: { exitCode: 1, message: 'level=error msg="x" error="unimplemented: 404 Not Found"' },
        }),
        ...waitingRunner,
      }),
      cause: 'RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found;',
      next: 'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea, and that Actions is switched on in app.ini',
      not: 'logs job/',
    },
    {
      when: 'serve may not register runners',
      jobs: (runner) => {
        const job = liveJob(runner, Date.now() - 200_000) as { readonly metadata: object };
        return [{ ...job, metadata: { ...job.metadata, annotations: { [REGISTERED_AT]: 'org:acme' } } }];
      },
      groupStatus: {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'RegistrationFailed',
            message: 'Jobs wait for the credentials of their runners: GR-GITEA-02 no',
            lastTransitionTime: LONG_AGO,
          },
        ],
        unregistered: [
          { at: 'repo:acme/other', message: 'GR-GITEA-01 of another one' },
          { at: 'org:acme', message: 'GR-GITEA-02 no' },
        ],
      },
      pods: onNode(() => ({ conditions: [scheduledFor(190)], ...waitingRunner })),
      code: 4,
      cause: 'serve cannot register its runner at org:acme: GR-GITEA-02 no;',
      next: 'serve tries again every 10 s',
      not: 'describe pods',
    },
    {
      when: 'Argo CD has just left out its Job',
      application: application({
        conditions: [{ type: 'ExcludedResourceWarning', message: 'Resource batch/Job zzz' }],
      }),
      code: 4,
      cause: 'Argo CD says: ExcludedResourceWarning: Resource batch/Job zzz; Argo CD has not created',
      next: 'allow Jobs and RunnerGroups in argocd-cm',
    },
    {
      when: 'serve may not wake Argo CD, by a code',
      groupStatus: { conditions: [wakeFailed('GR-ARGOCD-03 sync of argocd/runners: 401')] },
      code: 4,
      cause: 'RunnerGroup runners/ci is not ready: WakeFailed: GR-ARGOCD-03 sync of argocd/runners: 401',
      next: 'errors.md has GR-ARGOCD-03); serve tries again by itself',
      not: 'describe runnergroup',
    },
    ...[
      ['namespaces "runners" not found', 'create that namespace again'],
      ['RunnerGroup.gitea.bpg.pw "ci" is invalid: spec.zzz', 'install the CRD of this version'],
      ['groups: app path does not exist', 'correct spec.source.path of the Application'],
      ['failed to list refs: dial tcp: lookup git: no such host', 'see that argocd-repo-server reaches that host'],
      ['failed to list refs: authentication required: Unauthorized', 'give Argo CD access to that repository'],
      ['failed to list refs: ssh: handshake failed: knownhosts: key mismatch', 'give Argo CD the key of that host'],
      ['failed to list refs: x509: certificate signed by zzz', 'give Argo CD the CA of that host'],
      ["unable to resolve 'main' to a commit SHA", 'correct spec.source.targetRevision'],
      ['the server has asked for the client to provide credentials', 'argocd cluster list'],
      ['error calculating server side diff: zzz', 'annotate the Application as'],
      ['Job.batch "ci-1" is invalid: spec.template: field is immutable', 'match CREATE only'],
      ['etcdserver: mvcc: database space exceeded', 'its etcd is full or ill'],
      ['jobs.batch is forbidden: User "system:serviceaccount:argocd:x" cannot create resource "jobs"', 'this right'],
      ['Target revision main in Git is not signed, but a signature is required', 'sign that commit'],
      ['grpc: received message larger than max (1 vs. 0)', 'a smaller repository'],
      ['Apply failed with 1 conflict: conflict with "kubectl" using batch/v1: .spec.suspend', 'who else does'],
      ['context deadline exceeded', 'see how busy argocd-repo-server is'],
      [
        '`gitea-runners generate .` failed signal: killed:',
        'give the sidecar gitea-runners of argocd-repo-server more',
      ],
      ['`gitea-runners generate .` failed timeout after 1m30s', 'see why generate takes so long'],
      ['error reading from server: EOF', 'see why argocd-repo-server ended'],
      ['application references project zzz which does not exist', 'make that AppProject'],
      ['cluster https://10.0.0.1 not found', 'correct spec.destination'],
      ['"transport: Error while dialing: dial tcp 10.0.0.5:8081: refused"', 'start argocd-repo-server again'],
    ].map(
      ([message = '', next = '']): Row => ({
        when: `Argo CD says: ${message}`,
        application: application({
          conditions: [
            { type: 'ComparisonError', message: `Failed to load target state: rpc error: desc = ${message}` },
          ],
        }),
        code: 4,
        cause: `Argo CD does not sync Application argocd/runners: ComparisonError: ${message}`,
        next,
      }),
    ),
    {
      when: 'the node under its runner is lost, and its pod is being deleted',
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: (runner) => [
        leaving(runner, Date.now() - 60_000, [
          { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' },
        ]),
      ],
      cause: 'is lost (NodeLost: its node is gone, or shuts down): Gitea fails it after 10 to 15 minutes',
      next: 'see why its node went: kubectl get nodes; kubectl events -A --for node/NODE',
    },
    {
      when: 'its runner is at work on a node that is drained',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) => [leaving(runner, Date.parse('2099-01-01T00:00:00Z'))],
      cause: 'it is on a pod that is being deleted, and may finish until 2099-01-01T00:00:00Z',
      next: 'wait until then, or cancel the job in Gitea',
    },
    {
      when: 'its runner failed a second ago, hours after the job came',
      ageMs: 12_000_000,
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod(ended({ exitCode: 2 })),
      cause: 'container runner ended with exit code 2; Argo CD has not created its Kubernetes Job yet',
      next: 'see why it ended: kubectl -n runners logs job/',
    },
    {
      when: 'Argo CD excludes Jobs, and the status only says that the plan differs',
      application: application({
        conditions: [{ type: 'ExcludedResourceWarning', message: 'Resource batch/Job zzz' }],
      }),
      groupStatus: planDiffers,
      code: 4,
      cause:
        'Argo CD says: ExcludedResourceWarning: Resource batch/Job zzz (RunnerGroup runners/ci is not ready: PlanDiffers)',
      next: 'allow Jobs and RunnerGroups in argocd-cm',
    },
    {
      when: 'somebody took the plugin out of the Application, and Argo CD is healthy',
      application: synced({}, { sourceType: 'Directory', resources: [ofKind('RunnerGroup', 'ci')] }),
      groupStatus: planDiffers,
      code: 4,
      cause: 'Application argocd/runners does not use the plugin (it has source type Directory)',
      next: `kubectl -n argocd patch applications.argoproj.io runners --type=merge -p '{"spec":{"source":{"plugin":{"name":"gitea-runners"}}}}'`,
      not: 'PlanDiffers: no',
    },
    {
      when: 'the parent of the Application took the plugin out',
      application: synced(
        {},
        { sourceType: 'Directory' },
        { 'argocd.argoproj.io/tracking-id': 'root:argoproj.io/Application:argocd/runners' },
      ),
      code: 4,
      cause: 'does not use the plugin (it has source type Directory)',
      next: 'put plugin: {name: gitea-runners} into spec.source of Application argocd/runners in the repository of Application argocd/root, which makes it',
      not: 'kubectl -n argocd patch',
    },
    {
      when: 'the Application has another plugin',
      application: synced({ plugin: { name: 'vault' } }, { sourceType: 'Plugin' }),
      code: 4,
      cause: 'does not use the plugin (it has plugin vault)',
      next: 'put plugin: {name: gitea-runners} into spec.source',
    },
    {
      when: 'no source of several has the plugin',
      application: {
        ...synced({}, { sourceTypes: ['Directory', 'Helm'] }),
        spec: { sources: [{ repoURL: 'a' }, { repoURL: 'b' }] },
      },
      code: 4,
      cause: 'does not use the plugin (it has source type Directory, source type Helm)',
      next: 'put plugin: {name: gitea-runners}',
    },
    {
      when: 'the Application reads another folder, and is Synced',
      application: synced(
        { path: 'old', plugin: { name: 'gitea-runners' } },
        { sourceType: 'Plugin', resources: [ofKind('RunnerGroup', 'other'), ofKind('Job', 'ci-9-1-abcdabcd')] },
      ),
      code: 4,
      cause:
        'Application argocd/runners made RunnerGroup runners/ci and does not print it any more: it is not in folder old of https://git.acme/ci.git',
      next: 'correct path and targetRevision in spec.source of Application argocd/runners, or delete the RunnerGroup: kubectl -n runners delete runnergroup ci',
    },
    {
      when: 'the RunnerGroup waits to be pruned',
      application: synced(
        { plugin: { name: 'gitea-runners' } },
        { resources: [ofKind('RunnerGroup', 'ci', { status: 'OutOfSync', requiresPruning: true })] },
      ),
      code: 4,
      cause: 'made RunnerGroup runners/ci and does not print it any more',
      next: 'or delete the RunnerGroup',
    },
    {
      when: 'the status says that the plan differs, and Argo CD says nothing',
      application: synced({ plugin: { name: 'gitea-runners' } }, { resources: [ofKind('RunnerGroup', 'ci')] }),
      groupStatus: planDiffers,
      code: 4,
      cause: 'RunnerGroup runners/ci is not ready: PlanDiffers: no',
      next: 'gitea-runners doctor compares the Application and the settings with what they should be',
      not: 'correct what Argo CD says',
    },
    {
      when: 'a sync is being ended for long',
      application: {
        ...(application({ operationState: { phase: 'Terminating', startedAt: LONG_AGO, message: 'zzz' } }) as object),
        operation: { sync: {} },
      },
      code: 4,
      cause: 'Argo CD says: an operation has been Terminating since 2026-01-01T00:00:00Z: zzz',
      next: 'it is being ended: kubectl -n argocd describe applications.argoproj.io runners shows what holds it',
    },
    {
      when: 'the job that it needs has labels of no group',
      pushes: [
        {
          jobs: [
            { key: 'build', runsOn: ['gpu-a100'] },
            { key: 'deploy', runsOn: ['linux'], needs: ['build'] },
          ],
        },
      ],
      code: 4,
      cause: 'blocked: probably needs build (queued) of its run; build: labels not covered: gpu-a100',
      next: 'for job 1 "build": gpu-a100 asks for other machines',
      not: 'see what build waits for',
    },
    {
      when: 'the pod of the job that it needs cannot start',
      pushes: [
        {
          jobs: [
            { key: 'build', runsOn: ['linux'] },
            { key: 'deploy', runsOn: ['linux'], needs: ['build'] },
          ],
        },
      ],
      jobs: oldJob,
      pods: pending(unscheduled(NO_ROOM)),
      code: 4,
      cause: `probably needs build (queued) of its run; build: its pod cannot start: Unschedulable: ${NO_ROOM}`,
      next: 'for job 1 "build": Unschedulable: add a node with room',
    },
    {
      when: 'its concurrency group is held by a run whose runner and Job are gone',
      pushes: [
        { jobs: [{ key: 'release', runsOn: ['linux'] }] },
        { jobs: [{ key: 'release', runsOn: ['linux'] }], needsApproval: true },
      ],
      isTaken: true,
      isOffline: true,
      cause:
        'probably held by the run of release (in progress); release: Gitea shows its runner RUNNER offline, and its Kubernetes Job is gone: Gitea fails it after 10 to 15 minutes',
      next: 'wait for the other run, or cancel it: gitea-runners explain 1 has its link',
      ofRunner: [
        'stays: it runs job 1 "release" of acme/web; Gitea shows its runner RUNNER offline, and its Kubernetes Job is gone',
        're-run the job when Gitea has failed it. Sooner: cancel its run first',
      ],
      not: 'get pods -l job-name',
    },
    {
      when: 'the only slot of its limit is held by a runner whose node is not ready',
      spec: '  limits: [{name: deploy, max: 1}]\n',
      behind: 1,
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: (runner) => [podOf(runner, runsSince(Date.now() - 390_000))],
      events: (runner) => [podEvent(runner, 'Warning', 'NodeNotReady', 'Node is not ready', 200)],
      cause:
        'slots are held: job 1 has a runner that is offline (NodeNotReady: Node is not ready); held back by limit deploy (1) of group runners/ci',
      says: 'Slot: RUNNER stays: it runs job 1 "one" of acme/web for',
      next: 'kubectl -n runners get pods -l job-name=RUNNER',
      ofRunner: ['Kubernetes says: NodeNotReady: Node is not ready', 'kubectl -n runners get pods -l job-name=RUNNER'],
    },
    {
      when: 'a large size takes all slots, and fits no node',
      spec: '  sizes: [{name: large, weight: 4}]\n',
      cap: 4,
      pushes: [
        {
          jobs: [
            { key: 'big', runsOn: ['linux', 'large'] },
            { key: 'small', runsOn: ['linux'] },
          ],
        },
      ],
      jobs: (runner) => [marked(runner, 190_000, { [SIZE]: 'large', [WEIGHT]: '4' })],
      pods: pending(unscheduled(NO_ROOM)),
      cause: 'held back by the cap of group runners/ci; 1st in line',
      says: 'Group: runners/ci: 1 runner in 4 of 4 slots (1 starting), 1 job held back',
      next: 'Unschedulable: add a node with room',
    },
    {
      when: 'it needs more slots than are free',
      spec: '  sizes: [{name: large, weight: 4}]\n',
      cap: 4,
      pushes: [
        {
          jobs: [
            { key: 'small', runsOn: ['linux'] },
            { key: 'big', runsOn: ['linux', 'large'] },
          ],
        },
      ],
      cause: 'held back by the cap of group runners/ci; 1st in line',
      next: 'group runners/ci has 3 of 4 slots free (1 starting), and this job takes 4: wait, or raise',
    },
    {
      when: 'its node was started again under its runner',
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: (runner) =>
        failedPod(ended({ exitCode: 255, reason: 'Unknown' }))(runner).map((pod) => ({
          ...pod,
          spec: { nodeName: 'node-9' },
        })),
      cause: 'is lost (Unknown: container runner ended with exit code 255 (node node-9)): Gitea fails it',
      next: 'see why its node lost its containers',
      ofRunner: ['is lost (Unknown: container runner ended', 'see why its node lost its containers'],
    },
    {
      when: 'its runner is being preempted',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) => [
        leaving(runner, Date.parse('2099-01-01T00:00:00Z'), [
          {
            ...{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' },
            message: 'default-scheduler: preempting to accommodate a higher priority pod',
          },
        ]),
      ],
      cause:
        'is being deleted (PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod), and may finish until 2099-01-01T00:00:00Z',
      next: 'give the group a higher priority',
      not: 'as when a node is drained',
    },
    {
      when: 'its runner was drained, and the status of the Job is slow',
      isTaken: true,
      isOffline: true,
      jobs: oldJob,
      pods: failedPod({
        conditions: [
          {
            ...{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' },
            message: 'Eviction API: evicting',
          },
        ],
      }),
      cause: 'is lost (Evicted: Eviction API: evicting): Gitea fails it after 10 to 15 minutes',
      next: 'ask who drains that node or evicts pods here',
      ofRunner: ['is lost (Evicted: Eviction API: evicting)', 'ask who drains that node or evicts pods here'],
    },
    {
      when: 'its node is gone, and its pod with it: only Events tell',
      isTaken: true,
      isOffline: true,
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [
        podEvent(runner, 'Normal', 'Scheduled', `Successfully assigned runners/${runner}-x7x9z to node-7`, 900),
        podEvent(runner, 'Normal', 'Pulled', 'Container image "x" already present on machine', 890),
        podEvent(runner, 'Warning', 'NodeNotReady', 'Node is not ready', 500),
        podEvent(runner, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod runners/${runner}-x7x9z`, 200),
      ],
      cause: 'is lost (NodeLost: at 20',
      says: 'Z Node is not ready (node node-7)): Gitea fails it after 10 to 15 minutes',
      next: 'see why node node-7 went: kubectl get nodes; kubectl events -A --for node/node-7',
      ofRunner: ['is lost (NodeLost: at', 'see why node node-7 went'],
    },
    {
      when: 'an autoscaler took the node away, and Argo CD has pruned the Job',
      isTaken: true,
      isOffline: true,
      events: (runner) => [
        podEvent(runner, 'Normal', 'ScaleDown', 'deleting pod for node scale down', 200),
        podEvent('ci-9', 'Warning', 'NodeNotReady', 'Node is not ready', 100),
      ],
      cause: 'is lost (ScaleDown: deleting pod for node scale down): Gitea fails it',
      next: 'have the autoscaler spare nodes with runners',
    },
    {
      when: 'somebody put a taint on its node, which is well',
      isTaken: true,
      isOffline: true,
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [
        podEvent(runner, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod runners/${runner}-x7x9z`, 200),
      ],
      cause: 'is lost (TaintManagerEviction: Marking for deletion Pod runners/RUNNER-x7x9z)',
      next: 'see which taint its node has',
    },
    {
      when: 'nothing but its deletion is known of its pod',
      isTaken: true,
      isOffline: true,
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [podEvent(runner, 'Warning', 'Unhealthy', 'zzz', 200)],
      cause: 'is lost (PodDeleted: its pod was deleted)',
      next: 're-run the job when Gitea has failed it',
    },
    {
      when: 'docker was OOM-killed beside its runner',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) => withDocker(runner, { exitCode: 137, reason: 'OOMKilled' }),
      cause: 'runs on RUNNER, whose container docker ended with exit code 137 (OOMKilled) at 20',
      next: 'give container docker a higher memory limit in spec.podTemplate Next: re-run the job if it fails',
      ofRunner: [
        'whose container docker ended with exit code 137 (OOMKilled)',
        'give container docker a higher memory',
      ],
    },
    {
      when: 'docker ended beside its runner, and nobody says why',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) => withDocker(runner, { exitCode: 1, reason: 'Error' }),
      cause: 'whose container docker ended with exit code 1 at 20',
      next: 'see why that container ended: kubectl -n runners logs job/RUNNER -c docker --previous',
    },
    {
      when: 'docker was started twice before its runner began',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) => withDocker(runner, { exitCode: 1, reason: 'Error', finishedAt: LONG_AGO }),
      cause: 'runs on RUNNER',
      next: 'nothing: it runs',
      not: 'docker',
    },
    ...[
      [
        'its cluster has no DNS that answers',
        'unavailable: dial tcp: lookup git.acme on 10.96.0.10:53: read udp 10.0.0.9:3->10.96.0.10:53: i/o timeout',
        'see that pods reach the DNS of the cluster (port 53)',
      ],
      ['its network drops large packets', 'unavailable: net/http: TLS handshake timeout', 'correct the MTU'],
      [
        'a login page stands before Gitea',
        'unknown: invalid content-type: \\"text/html; charset=utf-8\\"; expecting \\"application/proto\\"',
        'let what stands before spec.gitea.url of RunnerGroup runners/ci pass requests of runners',
      ],
      [
        'Gitea leads it from http to https',
        'unknown: 405 Method Not Allowed',
        'see whether spec.gitea.url of RunnerGroup runners/ci must begin with https://',
      ],
    ].map(
      ([when = '', message = '', next = '']): Row => ({
        when,
        jobs: (runner) => [failedJob(runner)],
        pods: failedPod({
          ...registering({ terminated: { exitCode: 1, message: `level=error msg="x" error="${message}"` } }),
          ...waitingRunner,
        }),
        cause: 'its last runner failed: RegistrationFailed: container register ended with exit code 1: un',
        next,
      }),
    ),
    {
      when: 'its node died before a container started',
      jobs: oldJob,
      pods: onNode(() => ({ conditions: [scheduledFor(390)], ...waitingRunner })),
      events: (runner) => [podEvent(runner, 'Warning', 'NodeNotReady', 'Node is not ready', 200)],
      code: 4,
      cause: 'its pod has not started: NodeNotReady: Node is not ready (node node-1), for 6m',
      next: 'NodeNotReady: look at node node-1: kubectl describe node node-1',
    },
    {
      when: 'the registry wants a login in the words of a cloud',
      jobs: oldJob,
      pods: pending(
        registering({
          waiting: {
            reason: 'ImagePullBackOff',
            message: 'Back-off pulling image "r.acme/x:1": no basic auth credentials',
          },
        }),
      ),
      code: 4,
      cause: 'ImagePullBackOff: r.acme/x:1: no basic auth credentials',
      next: 'give its registry a login: imagePullSecrets',
    },
    {
      when: 'another pod took its place, and its pod is gone',
      isTaken: true,
      isOffline: true,
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [podEvent(runner, 'Normal', 'Preempted', 'Preempted by pod 7c on node node-2', 60)],
      cause: 'is lost (Preempted: Preempted by pod 7c on node node-2)',
      next: 'give the group a higher priority',
    },
    {
      when: 'Karpenter emptied its node',
      isTaken: true,
      isOffline: true,
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [
        podEvent(runner, 'Normal', 'Evicted', 'Evicted pod: Underutilized', 60, 'karpenter'),
        podEvent(runner, 'Normal', 'TaintManagerEviction', 'Cancelling deletion of Pod', 10),
      ],
      cause: 'is lost (Evicted: Evicted pod: Underutilized)',
      next: 'ask who drains that node or evicts pods here',
      not: 'requests',
    },
    {
      when: 'docker crashes again and again beside its runner',
      isTaken: true,
      jobs: oldJob,
      pods: (runner) =>
        withDocker(runner, { exitCode: 1, reason: 'Error' }, { waiting: { reason: 'CrashLoopBackOff' } }),
      cause: 'whose container docker ended with exit code 1 at 20',
      next: 'kubectl -n runners logs job/RUNNER -c docker --previous Next: re-run the job if it fails, or cancel it now',
    },
    {
      when: 'a quota of Jobs refuses the sync',
      application: application({
        operationState: {
          phase: 'Failed',
          message:
            'one or more objects failed to apply, reason: jobs.batch "ci-1" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=20, limited: count/jobs.batch=20',
          startedAt: LONG_AGO,
        },
      }),
      code: 4,
      cause: 'exceeded quota: jobs, requested: count/jobs.batch=1',
      next: 'raise that quota (jobs), or let fewer runners run',
    },
    {
      when: 'its last runner was lost with its node before it got the job, and the next one is wanted',
      jobs: (runner) => [failedJob(runner)],
      events: (runner) => [podEvent(runner, 'Warning', 'NodeNotReady', 'Node is not ready', 200)],
      cause: 'its last runner failed: NodeLost: at 20',
      next: 'see why its node went',
    },
    {
      when: 'its last runner could not register, and somebody asks about that one',
      jobs: (runner) => [failedJob(runner)],
      pods: failedPod({
        ...registering({
          terminated: { exitCode: 1, message: 'level=error msg="x" error="unimplemented: 404 Not Found"' },
        }),
        ...waitingRunner,
      }),
      cause: 'RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found;',
      next: 'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea',
      ofRunner: [
        'its Job ended without a CI job, it holds no slot; RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found',
        'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea',
      ],
    },
    {
      when: 'the group that would have its labels is broken',
      runsOn: ['gpu'],
      others: (url) => [groupObject(groupYaml(url, '  maxWorkers: 7\n', 'gpu').replace('linux:', 'gpu:'))],
      code: 4,
      cause: 'RunnerGroup runners/gpu has its labels, and cannot be served: spec.maxWorkers differs',
      next: 'mend RunnerGroup runners/gpu: correct what it says',
      not: 'for other machines',
    },
    {
      when: 'a broken group of its scope has other labels',
      runsOn: ['gpu'],
      others: (url) => [groupObject(groupYaml(url, '  maxWorkers: 7\n', 'arm'))],
      code: 4,
      cause: 'labels not covered: gpu',
      says: 'But: RunnerGroup runners/arm cannot be served, so it does not count: spec.maxWorkers differs',
      next: 'gpu asks for other machines: write a RunnerGroup for it',
    },
    {
      when: 'a conflict of Git stands in the file of a group, whose labels nobody can read',
      runsOn: ['gpu'],
      others: (url) => [conflicted(url)],
      code: 4,
      cause:
        'RunnerGroup runners/gpu may have its labels (gpu), and cannot be served: gpu.yaml:13:1: is no valid YAML: this is a conflict of Git: resolve it [GR-INPUT-02]',
      next: 'mend RunnerGroup runners/gpu: do what it says (https://gitea.example.com/example/argocd-gitea-runners/src/branch/main/docs/errors.md has GR-INPUT-02)',
    },
    {
      when: 'its label is a typing mistake, and nobody can read the labels of a broken group',
      runsOn: ['lunix'],
      others: (url) => [conflicted(url)],
      code: 4,
      cause: 'labels not covered: lunix (did you mean linux (runners/ci)?)',
      next: 'Correct it in the workflow',
    },
    {
      when: 'the token of the group with its labels is missing',
      bySecrets: true,
      runsOn: ['gpu'],
      others: (url) => [
        groupObject(groupYaml(url, '', 'gpu').replace('linux:', 'gpu:').replace('name: gitea-api', 'name: lost')),
      ],
      code: 4,
      cause: 'RunnerGroup runners/gpu has its labels, and cannot be served: GR-TOKEN-10',
      next: 'mend RunnerGroup runners/gpu: do what it says',
    },
    {
      when: 'a sync waits for the health of a group that serve cannot serve',
      application: {
        ...(application({
          operationState: {
            phase: 'Running',
            startedAt: LONG_AGO,
            message: 'waiting for healthy state of gitea.bpg.pw/RunnerGroup/gpu',
          },
        }) as object),
        operation: { sync: {} },
      },
      others: (url) => [conflicted(url)],
      code: 4,
      cause: 'RunnerGroup gpu cannot be served: gpu.yaml:13:1: is no valid YAML: this is a conflict of Git',
      next: 'see why RunnerGroup gpu is not ready, and mend it',
    },
    {
      when: 'the token of another group is missing',
      bySecrets: true,
      others: (url) => [groupObject(groupYaml(url, '', 'other').replace('name: gitea-api', 'name: lost'))],
      cause: 'Argo CD has not created its Kubernetes Job yet',
      next: 'wait until 20',
    },
  ])('$when', async ({ code = 0, cause, next, says = '', not = '<none>', ofRunner, ...situation }) => {
    const answer = await explained(situation);

    expect({ code: answer.code, stderr: answer.stderr }, answer.stdout).toEqual({ code, stderr: '' });
    expect(/Cause: (.*?) Since: /.exec(answer.line)?.[1]).toContain(cause.replaceAll('RUNNER', answer.runner));
    expect(/Next: (.*?) Link: /.exec(answer.line)?.[1]).toContain(next.replaceAll('RUNNER', answer.runner));
    expect(answer.line).toContain(says.replace('RUNNER', answer.runner));
    expect(answer.line).not.toContain(not);
    const told = await answer.ofRunner();
    if (ofRunner) {
      expect(/Cause: (.*?) (?:Pod|CI job|Next): /.exec(told)?.[1]).toContain(
        ofRunner[0].replaceAll('RUNNER', answer.runner),
      );
      expect(/Next: (.*?)$/.exec(told)?.[1]).toContain(ofRunner[1].replaceAll('RUNNER', answer.runner));
    }
    // The job and its runner are asked about in turns: one cause, and the same steps.
    const isOfJob = new RegExp(`CI job: ${/^Job (\d+)/.exec(answer.stdout)?.[1]} `).test(told);
    if (isOfJob) expect(nextIn(told)).toBe(nextIn(answer.line));
  });

  it('explain prints a remedy that is known in the table, too, before all is late', async () => {
    const busy = await explained({ application: retrying('client rate limiter Wait returned an error') });

    expect(await busy.table()).toContain('Next: Argo CD tries again by itself. After ten minutes ask');
  });

  it('the table has one piece of advice for all runners of a job that could not register', async () => {
    const twins = (runner: string) => ['0000', '1111'].map((end) => runner.slice(0, -4) + end);
    const several = await explained({
      jobs: (runner) => [marked(runner, 5_000, { [TRIED_BEFORE]: '2' }), ...twins(runner).map(failedJob)],
      pods: (runner) =>
        twins(runner).flatMap(
          failedPod(registering({ terminated: { exitCode: 1, message: 'error="unimplemented: 404 Not Found"' } })),
        ),
    });

    expect((await several.table()).match(/Next: /g)).toHaveLength(1);
  });

  it('explain tells beside a pod without a node that serve is down, too', async () => {
    const both = await explained({
      lease: { spec: { holderIdentity: 'serve-1', renewTime: LONG_AGO } },
      jobs: oldJob,
      pods: pending(unscheduled('0/3 nodes are available: 3 Insufficient memory.')),
    });

    expect(both.line).toContain('But: serve does not run, so nothing wakes Argo CD');
    for (const text of [both.line, await both.table()])
      expect(text.match(/start serve again: kubectl -n argocd get deployment,pods/g)).toHaveLength(1);
  });

  it('explain names in the table what an Application has in the place of the plugin, and does not repeat what serve guesses', async () => {
    const sourceType = 'Directory';
    const table = await (
      await explained({ application: synced({}, { sourceType }), groupStatus: planDiffers })
    ).table();

    expect(table).toContain('Application argocd/runners: Synced, Healthy, source type Directory RunnerGroup');
    expect(table).toContain('RunnerGroup runners/ci is not ready: PlanDiffers (see below)');
  });

  it('explain tells what Argo CD says once, in the row of the job', async () => {
    const conditions = [{ type: 'ComparisonError', message: 'zzz of zzz' }];
    const table = await (await explained({ application: application({ conditions }) })).table();

    expect(table).toContain('Application argocd/runners: OutOfSync, Healthy, ComparisonError (see below)');
    expect(table.match(/zzz of zzz/g)).toHaveLength(1);
  });

  it('explain says that its runners fail again and again, and when the next one is tried', async () => {
    const { code, line } = await explained({
      jobs: (runner) => [failedJob(runner), failedJob(`${runner.slice(0, -4)}0000`)],
      pods: failedPod(registering({ terminated: { exitCode: 1 } })),
    });

    expect(code).toBe(4);
    expect(line).toContain('Cause: held back: its last runner failed:');
  });

  it('the only group is refused: a job, and the table, say why they know nothing', async () => {
    const message = 'GR-POLICY-04 spec.image: comes from evil.example.com';
    const status = { type: 'Ready', status: 'False', reason: 'PolicyDenied', message, lastTransitionTime: LONG_AGO };
    const cluster = await startCluster({
      override: answering({
        '/runnergroups': groupList([groupObject(groupYaml('http://127.0.0.1:1'), { conditions: [status] })]),
      }),
    });
    const words = ['explain', '--kubeconfig', kubeconfigFor(cluster), '-n', 'runners'];

    const job = await runHere([...words, '7'], {}, folderWith({}));
    const table = await runHere(words, {}, folderWith({}));

    expect(job.stderr).toContain(
      `RunnerGroup runners/ci cannot be served, so its jobs are not seen: PolicyDenied: ${message}`,
    );
    expect(table.stdout).toContain('No RunnerGroup can be served, so Gitea was not asked for jobs.');
    expect(table.stdout.match(/PolicyDenied/g)).toHaveLength(1);
  });

  it('explain prints the sentences of the text in its JSON', async () => {
    const { simulator, env, folder } = await startAcme();
    const { jobs } = simulator.gitea.push('acme/web', {
      jobs: [
        { key: 'one', runsOn: ['linux'] },
        { key: 'two', runsOn: ['lunix'] },
      ],
    });
    const cluster = ['--kubeconfig', kubeconfigFor(await startCluster())];

    for (const { id } of jobs) {
      const text = (await runHere(['explain', folder, ...cluster, String(id)], { ...env, COLUMNS: '1000' })).stdout;
      const one = await runHere(['explain', folder, ...cluster, '-o', 'json', String(id)], env);
      const all = await runHere(['explain', folder, ...cluster, '-o', 'json'], env);

      const [job] = JSON.parse(one.stdout).jobs;
      expect(text).toContain(`Cause:    ${job.cause}\n`);
      expect(job.nextSteps.length).toBeGreaterThan(0);
      for (const step of job.nextSteps) expect(text).toContain(`Next:     ${step}\n`);
      expect(job.until === undefined).toBe(job.state !== 'starting');
      const same = JSON.parse(all.stdout).jobs.find((each: { job: { id: number } }) => each.job.id === id);
      expect(same.cause).toBe(job.cause);
    }
  });
});
