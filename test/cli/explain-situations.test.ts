/** Situations in a cluster, as an engineer meets them at 3 a.m.: each with the cause that `explain` must tell, and the next step. */
import { describe, expect, it } from 'vitest';
import { PROBLEM } from '../../src/config/runnergroup/broken.ts';
import { REGISTERED_AT, SIZE, WEIGHT } from '../../src/shared/marks.ts';
import { kubeconfigFor, startCluster } from '../clients/kubernetes/through-cli.ts';
import { answering, groupList, groupObject } from '../support/kube-objects.ts';
import { folderWith, groupYaml, runHere } from '../support/run-cli.ts';
import { startAcme } from '../support/start-acme.ts';
import {
  ago,
  application,
  besideSidecar,
  cannotStart,
  complaining,
  disruption,
  elsewhere,
  explained,
  failed,
  failedJob,
  failedPod,
  failedSync,
  initContainer,
  inQueue,
  job,
  LONG_AGO,
  leaving,
  normal,
  notReady,
  ofOtherPods,
  onNode,
  pending,
  pod,
  pulling,
  refusedPod,
  resource,
  retrying,
  runnerEnded,
  running,
  SERVE_LOOKED,
  type Situation,
  stuckBefore,
  suspended,
  synced,
  syncing,
  triedBefore,
  unregistered,
  unscheduled,
  warning,
  withDocker,
} from './situation.ts';

/** Texts may have the names that `situation.ts` tells. */
interface Row extends Situation {
  readonly when: string;
  /** Cause of a job that is served, or will be by itself: exit code 0. */
  readonly cause?: string;
  /** Cause of an unserved job: exit code 4. */
  readonly unserved?: string;
  /** Text that another line has. */
  readonly says?: string;
  readonly next: string;
  /** Text that no line has. */
  readonly not?: string;
  /** Cause and next step of the runner, if `explain` says more about it than about the job. */
  readonly ofRunner?: readonly [cause: string, next: string];
}

const QUOTA =
  'pods "ci-1-1-cab9f810-x2x9z" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5';
const NO_ROOM = '0/3 nodes are available: 3 Insufficient cpu.';

/** Another RunnerGroup. */
const group = (name: string, { label = 'linux', spec = '', secret = 'gitea-api' } = {}) => {
  const written = groupYaml('<gitea>', spec, name).replace('linux:', `${label}:`);
  return groupObject(written.replace('name: gitea-api', `name: ${secret}`));
};

/** The object that `generate` prints for a file that it cannot read. */
const conflicted = () => {
  const { metadata, ...object } = group('gpu') as { readonly metadata: { readonly annotations?: object } };
  const problem = 'gpu.yaml:13:1: is no valid YAML: this is a conflict of Git: resolve it [GR-INPUT-02]';
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, [PROBLEM]: problem } } };
};

const RESERVED = { type: 'QuotaReserved', status: 'True', message: 'Quota reserved in ClusterQueue team-a' };

const buildAndDeploy = (label: string) => ({
  jobs: [
    { key: 'build', runsOn: [label] },
    { key: 'deploy', runsOn: ['linux'], needs: ['build'] },
  ],
});

const REFRESHING = synced(
  { plugin: { name: 'gitea-runners' } },
  { reconciledAt: LONG_AGO, resources: [resource('RunnerGroup', 'ci')] },
  { 'argocd.argoproj.io/refresh': 'hard' },
);

/** Argo CD does not sync, or says so. */
const ARGO: readonly Row[] = [
  {
    when: 'a refresh is asked for, and Argo CD has not compared the Application for a day',
    application: REFRESHING,
    cause: 'Application argocd/runners: a refresh is asked for. Argo CD last compared it at 2026-01-01T00:00:00Z',
    next: 'see whether argocd-application-controller runs: kubectl -n argocd get pods',
  },
  {
    when: 'a refresh is asked for, Argo CD has not done it, and the runner is late',
    ageS: 18_000,
    application: REFRESHING,
    groupStatus: notReady('WakeFailed', 'GR-ARGOCD-14 refresh Application runners'),
    unserved: 'Application argocd/runners: a refresh is asked for. Argo CD last compared it at 2026-',
    next: 'see whether argocd-application-controller runs: kubectl -n argocd get pods',
  },
  {
    when: 'the plugin fails in Argo CD',
    application: complaining('ComparisonError', 'error: GR-GITEA-01 list jobs of org acme'),
    unserved:
      'Argo CD does not sync Application argocd/runners: ComparisonError: error: GR-GITEA-01 list jobs of org acme',
    next: 'see GR-GITEA-01 in https://gitea.example.com/example/argocd-gitea-runners/src/branch/main/docs/errors.md, then argocd app get runners --hard-refresh',
    not: 'describe applications',
  },
  {
    when: 'the last sync failed, because the namespace is being deleted',
    application: failedSync(
      'jobs.batch "ci-1" is forbidden: unable to create new content in namespace runners because it is being terminated',
    ),
    unserved:
      'its last sync has ended with Failed: jobs.batch "ci-1" is forbidden: unable to create new content in namespace runners',
    next: 'the namespace is being deleted. When it is gone, create it again',
  },
  {
    when: 'a sync window lets nothing through',
    application: syncing('Sync operation blocked by sync window'),
    unserved:
      'Argo CD says: an operation has been Running since 2026-01-01T00:00:00Z: Sync operation blocked by sync window.',
    next: 'wait for the end of that window, or write manualSync: true there (spec.syncWindows of the AppProject), and end this sync: argocd app terminate-op',
    not: 'end it',
  },
  {
    when: 'its project permits no Jobs, and Argo CD tries again',
    application: retrying('resource batch:Job is not permitted in project runners'),
    unserved: 'resource batch:Job is not permitted in project runners. Retrying',
    next: "argocd proj allow-namespace-resource runners 'batch' Job",
  },
  {
    when: 'a webhook refuses its Job, and Argo CD tries again',
    application: retrying('one or more objects failed to apply, reason: admission webhook "x" denied the request: zzz'),
    unserved: 'denied the request: zzz. Retrying',
    next: 'ask who runs admission webhook x, or correct',
  },
  {
    when: 'the API server has too much to do, and Argo CD tries again',
    application: retrying('the server has received too many requests and has asked us to try again later'),
    cause: 'too many requests',
    next: 'Argo CD tries again by itself. After ten minutes ask',
  },
  {
    when: 'Argo CD speaks of something else',
    application: complaining('OrphanedResourceWarning', 'Application has 3 orphaned resources'),
    cause: 'Argo CD has not created its Kubernetes Job yet',
    next: 'wait until 20',
    not: 'rphaned',
  },
  {
    when: 'the Application is gone',
    application: 404,
    unserved: 'Application argocd/runners, which made the RunnerGroup, does not exist any more',
    next: 'create it again, or delete the RunnerGroup',
  },
  {
    when: 'the Application is being deleted, and serve has guesses',
    application: {
      ...application(),
      metadata: { name: 'runners', namespace: 'argocd', deletionTimestamp: LONG_AGO, finalizers: ['zzz.io/x'] },
    },
    groupStatus: notReady('WakeFailed', 'GR-ARGOCD-12 sync of argocd/runners: 400'),
    unserved:
      'Argo CD does not sync Application argocd/runners: Deleting: somebody deleted it at 2026-01-01T00:00:00Z, and finalizer zzz.io/x is left',
    next: 'see what holds its deletion: its status and its objects. Create it again when it is gone',
  },
  {
    when: 'the application controller does not work, and serve has waited in vain',
    application: {
      ...application({ reconciledAt: LONG_AGO, operationState: { phase: 'Succeeded' } }),
      operation: { sync: {} },
    },
    groupStatus: notReady('WakeFailed', 'GR-ARGOCD-14 refresh Application runners'),
    unserved:
      'Application argocd/runners: an operation is asked for and has not begun. Argo CD last compared it at 2026-01-01T00:00:00Z',
    next: 'see whether argocd-application-controller runs: kubectl -n argocd get pods',
  },
  {
    when: 'serve was never installed, and automated sync is off',
    lease: 404,
    application: application({}, null),
    unserved: 'serve does not run, so nothing wakes Argo CD, and Application argocd/runners has no automated sync',
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
              ...{ kind: 'LocalQueue', name: 'ci', namespace: 'runners', status: 'SyncFailed' },
              message: 'The Kubernetes API could not find version "v1beta2" of kueue.x-k8s.io/LocalQueue',
            },
          ],
        },
      },
    }),
    unserved:
      'tasks are not valid: LocalQueue/ci of namespace runners is refused: The Kubernetes API could not find version "v1beta2" of kueue.x-k8s.io/LocalQueue',
    next: 'install the CRD',
  },
  ...(
    [
      [
        'hook PreSync Job/warm-cache of namespace runners failed: Job has reached the specified backoff limit',
        {
          kind: 'Job',
          name: 'warm-cache',
          hookType: 'PreSync',
          message: 'Job has reached the specified backoff limit',
        },
        'see why Job warm-cache fails, or take it out of the Application: kubectl -n runners logs job/warm-cache',
      ],
      [
        'Deployment/mirror of namespace runners failed: Deployment "mirror" exceeded its progress deadline',
        { kind: 'Deployment', name: 'mirror', message: 'Deployment "mirror" exceeded its progress deadline' },
        'see why Deployment mirror is not ready, and mend it: kubectl get Deployment -A --field-selector metadata.name=mirror -o yaml',
      ],
      [
        'hook Sync Workflow/build of namespace runners failed: no message',
        { kind: 'Workflow', name: 'build', hookType: 'Sync', hookPhase: 'Error' },
        'kubectl get Workflow -A --field-selector metadata.name=build -o yaml',
      ],
      [
        'ClusterIssuer/acme failed: zzz',
        { kind: 'ClusterIssuer', name: 'acme', namespace: '', message: 'zzz' },
        'kubectl get ClusterIssuer -A --field-selector metadata.name=acme -o yaml',
      ],
    ] as const
  ).flatMap(([told, result, next]): readonly Row[] => {
    const ofAnother = { kind: 'ConfigMap', name: 'x', hookPhase: 'Succeeded', status: 'Synced', message: 'created' };
    const failure = { namespace: 'runners', status: 'Synced', hookPhase: 'Failed', ...result };
    const syncResult = { resources: [ofAnother, failure] };
    const message = 'one or more synchronization tasks completed unsuccessfully';
    const again = `${message}. Retrying attempt #2 at 3:12AM.`;
    return [
      {
        when: `an object of a sync has failed, and only its result says so: ${told}`,
        application: application({ operationState: { phase: 'Failed', message, startedAt: LONG_AGO, syncResult } }),
        unserved: `${message}: ${told}`,
        next: `${next}, then argocd app sync runners`,
      },
      {
        when: `Argo CD tries a sync again, in which an object has failed: ${told}`,
        application: {
          ...application({ operationState: { phase: 'Running', message: again, startedAt: ago(60), syncResult } }),
          operation: { sync: {} },
        },
        cause: `Retrying attempt #2 at 3:12AM: ${told}`,
        next,
        not: 'wait until',
      },
    ];
  }),
  {
    when: 'somebody has ended the sync',
    application: failedSync('Operation terminated', {
      conditions: [{ type: 'SyncError', message: 'Failed last sync attempt to [7c1e0b2]: Operation terminated' }],
    }),
    unserved: 'its last sync has ended with Failed: Operation terminated',
    next: 'sync it again: somebody has ended that sync, then argocd app sync runners',
  },
  {
    when: 'automated sync is switched off in place and no replica of serve leads',
    lease: { spec: { holderIdentity: '' } },
    application: application({}, { prune: true, enabled: false }),
    unserved: 'serve does not run, so nothing wakes Argo CD, and Application argocd/runners has no automated sync',
    next: 'start serve again',
  },
  {
    when: 'only the status tells, because the Application may not be read',
    application: 403,
    groupStatus: notReady('SyncFailed', 'quota'),
    unserved: 'RunnerGroup runners/ci is not ready: SyncFailed: quota',
    next: 'correct what Argo CD says: kubectl -n argocd describe applications.argoproj.io runners',
  },
  {
    when: 'only the status tells that Kyverno refuses the Job',
    application: 403,
    groupStatus: notReady(
      'SyncFailed',
      'Argo CD cannot apply all Jobs: one or more objects failed to apply, reason: admission webhook "validate.kyverno.svc-fail" denied the request: resource Job/runners/ci-1 was blocked due to the following policies',
    ),
    unserved: 'denied the request: resource Job/runners/ci-1 was blocked',
    next: 'ask who runs admission webhook validate.kyverno.svc-fail, or correct spec.podTemplate: kubectl -n argocd describe',
  },
  {
    when: 'another operation lasts, and Argo CD says more that nobody has heard before',
    application: syncing(
      'waiting for completion of hook',
      {},
      { conditions: [{ type: 'FrobnicatedNotice', message: 'zzz' }] },
    ),
    unserved:
      'Argo CD says: an operation has been Running since 2026-01-01T00:00:00Z: waiting for completion of hook; FrobnicatedNotice: zzz. For',
    next: 'correct what it waits for. If this sync does not end then, end it: argocd app terminate-op runners',
  },
  {
    when: 'the Application is left alone',
    application: {
      ...application(),
      metadata: {
        name: 'runners',
        namespace: 'argocd',
        annotations: { 'argocd.argoproj.io/skip-reconcile': 'true' },
      },
    },
    unserved: 'Argo CD does not sync Application argocd/runners: Skipped: annotation argocd.argoproj.io/skip-reconcile',
    next: 'remove it: kubectl annotate applications.argoproj.io -n argocd runners argocd.argoproj.io/skip-reconcile-, then argocd app get runners --hard-refresh',
  },
  {
    when: 'Argo CD tracks by label, and the Application is in error',
    tracksByLabel: true,
    application: complaining('ComparisonError', 'zzz'),
    unserved: 'Argo CD does not sync Application argocd/runners: ComparisonError: zzz',
    next: 'correct what it says',
  },
  {
    when: 'the plugin is older than the RunnerGroup',
    application: complaining(
      'ComparisonError',
      'error: GR-INPUT-04 ci.yaml:6:3: spec.labels: unknown field; gitea-runners schema lists the known ones',
    ),
    unserved: 'spec.labels: unknown field',
    next: 'this program knows spec.labels, so the sidecar gitea-runners of argocd-repo-server is older: repeat step 1',
  },
  {
    when: 'the plugin does not know a field that nobody knows',
    application: complaining('ComparisonError', 'error: GR-INPUT-04 ci.yaml:6:3: spec.zzz: unknown field'),
    unserved: 'spec.zzz: unknown field',
    next: 'see GR-INPUT-04 in https',
  },
  {
    when: 'a sync waits for an object that is not healthy',
    application: syncing('waiting for healthy state of apps/Deployment/registry-mirror and 2 more resources'),
    unserved: 'waiting for healthy state of apps/Deployment/registry-mirror and 2 more resources. For',
    next: 'see why Deployment registry-mirror is not ready, and mend it: kubectl get Deployment -A --field-selector metadata.name=registry-mirror -o yaml. If this sync does not end then, end it: argocd app terminate-op runners',
  },
  {
    when: 'a sync waits for a Job that does not go',
    application: syncing('waiting for deletion of batch/Job/ci-0-1-deadbeef'),
    unserved: 'waiting for deletion of batch/Job/ci-0-1-deadbeef. For',
    next: 'see what holds the deletion of Job ci-0-1-deadbeef, finalizers as a rule: kubectl get Job -A --field-selector metadata.name=ci-0-1-deadbeef -o yaml. If',
  },
  {
    when: 'two Applications print its RunnerGroup',
    application: complaining(
      'SharedResourceWarning',
      'RunnerGroup/ci is part of applications argocd/runners and argocd/team-b',
    ),
    unserved: 'SharedResourceWarning: RunnerGroup/ci is part of applications argocd/runners and argocd/team-b',
    next: 'take RunnerGroup ci out of the source of one of the Applications argocd/runners and argocd/team-b',
  },
  {
    when: 'Argo CD has just left out its Job',
    application: complaining('ExcludedResourceWarning', 'Resource batch/Job zzz'),
    unserved: 'Argo CD says: ExcludedResourceWarning: Resource batch/Job zzz; Argo CD has not created',
    next: 'allow Jobs and RunnerGroups in argocd-cm',
  },
  {
    when: 'Argo CD excludes Jobs, and the status only says that the plan differs',
    application: complaining('ExcludedResourceWarning', 'Resource batch/Job zzz'),
    groupStatus: notReady('PlanDiffers', 'no'),
    unserved:
      'Argo CD says: ExcludedResourceWarning: Resource batch/Job zzz (RunnerGroup runners/ci is not ready: PlanDiffers)',
    next: 'allow Jobs and RunnerGroups in argocd-cm',
  },
  {
    when: 'somebody took the plugin out of the Application, and Argo CD is healthy',
    application: synced({}, { sourceType: 'Directory', resources: [resource('RunnerGroup', 'ci')] }),
    groupStatus: notReady('PlanDiffers', 'no'),
    unserved: 'Application argocd/runners does not use the plugin (it has source type Directory)',
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
    unserved: 'does not use the plugin (it has source type Directory)',
    next: 'put plugin: {name: gitea-runners} into spec.source of Application argocd/runners in the repository of Application argocd/root, which makes it',
    not: 'kubectl -n argocd patch',
  },
  {
    when: 'the Application has another plugin',
    application: synced({ plugin: { name: 'vault' } }, { sourceType: 'Plugin' }),
    unserved: 'does not use the plugin (it has plugin vault)',
    next: 'put plugin: {name: gitea-runners} into spec.source',
  },
  {
    when: 'no source of several has the plugin',
    application: {
      ...synced({}, { sourceTypes: ['Directory', 'Helm'] }),
      spec: { sources: [{ repoURL: 'a' }, { repoURL: 'b' }] },
    },
    unserved: 'does not use the plugin (it has source type Directory, source type Helm)',
    next: 'put plugin: {name: gitea-runners}',
  },
  {
    when: 'the Application reads another folder, and is Synced',
    application: synced(
      { path: 'old', plugin: { name: 'gitea-runners' } },
      { sourceType: 'Plugin', resources: [resource('RunnerGroup', 'other'), resource('Job', 'ci-9-1-abcdabcd')] },
    ),
    unserved:
      'Application argocd/runners made RunnerGroup runners/ci and does not print it any more: it is not in folder old of https://git.acme/ci.git',
    next: 'correct path and targetRevision in spec.source of Application argocd/runners, or delete the RunnerGroup: kubectl -n runners delete runnergroup ci',
  },
  {
    when: 'the RunnerGroup waits to be pruned',
    application: synced(
      { plugin: { name: 'gitea-runners' } },
      { resources: [resource('RunnerGroup', 'ci', { status: 'OutOfSync', requiresPruning: true })] },
    ),
    unserved: 'made RunnerGroup runners/ci and does not print it any more',
    next: 'or delete the RunnerGroup',
  },
  {
    when: 'the status says that the plan differs, and Argo CD says nothing',
    application: synced({ plugin: { name: 'gitea-runners' } }, { resources: [resource('RunnerGroup', 'ci')] }),
    groupStatus: notReady('PlanDiffers', 'no'),
    unserved: 'RunnerGroup runners/ci is not ready: PlanDiffers: no',
    next: 'gitea-runners doctor compares the Application and the settings with what they should be',
    not: 'correct what Argo CD says',
  },
  {
    when: 'a sync is being ended for long',
    application: syncing('zzz', { phase: 'Terminating' }),
    unserved: 'Argo CD says: an operation has been Terminating since 2026-01-01T00:00:00Z: zzz',
    next: 'it is being ended: kubectl -n argocd describe applications.argoproj.io runners shows what holds it',
  },
];

/** `serve`: dead, blind or slow. */
const SERVE: readonly Row[] = [
  {
    when: 'all is well, and Argo CD needs its seconds',
    cause: 'Argo CD has not created its Kubernetes Job yet',
    next: 'wait until 20',
  },
  {
    when: 'nobody says a word, and its Job does not come',
    ageS: 12_000,
    unserved: 'Argo CD has not created its Kubernetes Job, and it is 3h15m late',
    next: 'gitea-runners doctor compares the Application and the settings with what they should be; kubectl -n argocd describe applications.argoproj.io runners has all that Argo CD says',
  },
  {
    when: 'serve leads and does not look',
    groupStatus: { lastCheckTime: ago(2_460) },
    unserved: 'serve leads, and has not looked at RunnerGroup runners/ci for 41m',
    next: 'read its log: kubectl -n argocd logs',
  },
  {
    when: 'Argo CD is slow, and serve says what it waits for',
    groupStatus: {
      ...SERVE_LOOKED,
      conditions: [
        {
          type: 'ArgoCDSynced',
          status: 'True',
          reason: 'Waiting',
          message: 'The cluster does not show the plan yet. serve has been waking Argo CD since 2026-11-25T12:00:00Z.',
          lastTransitionTime: LONG_AGO,
        },
      ],
    },
    cause:
      'The cluster does not show the plan yet. serve has been waking Argo CD since 2026-11-25T12:00:00Z; Argo CD has not created its Kubernetes Job yet',
    next: 'After that, gitea-runners doctor compares the Application and the settings with what they should be',
  },
  {
    when: 'serve has died',
    lease: { spec: { holderIdentity: 'serve-1', renewTime: LONG_AGO } },
    unserved: 'serve does not run, so nothing wakes Argo CD',
    next: 'kubectl -n argocd scale deployment/gitea-runners --replicas=2',
  },
  {
    when: 'serve is older than the RunnerGroup',
    groupStatus: notReady('InvalidSpec', 'spec.labels: unknown field'),
    unserved: 'RunnerGroup runners/ci is not ready: InvalidSpec: spec.labels: unknown field',
    next: 'this program accepts it, so serve is of another version: gitea-runners doctor shows the images',
  },
  {
    when: 'serve looks at other namespaces',
    groupStatus: {},
    settings: { GITEA_RUNNERS_NAMESPACES: 'team-a,team-b' },
    unserved: 'serve does not look at namespace runners, only at team-a, team-b',
    next: 'S_NAMESPACES in ConfigMap gitea-runners-settings of namespace argocd, as https',
  },
  {
    when: 'serve leads and has never looked, although the namespace is its own',
    ageS: 12_000,
    groupStatus: {},
    settings: { GITEA_RUNNERS_NAMESPACES: 'runners' },
    unserved: 'serve leads, and has never looked at RunnerGroup runners/ci',
    next: 'gitea-runners doctor says which rights it lacks in namespace runners; kubectl -n argocd logs',
    not: 'see that GITEA_RUNNERS_NAMESPACES',
  },
  {
    when: 'nobody has ever looked, and neither the Lease nor the settings may be read',
    ageS: 12_000,
    groupStatus: {},
    lease: 403,
    unserved:
      'nothing tells whether serve runs (you may not read it (403)), and it has never looked at RunnerGroup runners/ci',
    next: 'S_NAMESPACES in ConfigMap gitea-runners-settings of namespace argocd names runners; gitea-runners doctor',
  },
  {
    when: 'serve may not wake Argo CD, by a code',
    groupStatus: notReady('WakeFailed', 'GR-ARGOCD-03 sync of argocd/runners: 401'),
    unserved: 'RunnerGroup runners/ci is not ready: WakeFailed: GR-ARGOCD-03 sync of argocd/runners: 401',
    next: 'errors.md; serve tries again by itself',
    not: 'describe runnergroup',
  },
];

/** Somebody changed the RunnerGroup in the cluster, and the automated sync does not heal it. */
const DRIFTED = application({ resources: [resource('RunnerGroup', 'ci', { status: 'OutOfSync' })] });

/** Labels, groups, slots and other jobs decide. */
const GROUP: readonly Row[] = [
  {
    when: 'the label is in git, and the sync is switched off in place',
    runsOn: ['gpu'],
    application: application(
      { resources: [resource('RunnerGroup', 'ci', { status: 'OutOfSync' })] },
      { prune: true, enabled: false },
    ),
    unserved: 'labels not covered: gpu (nearest group: runners/ci); RunnerGroup runners/ci differs from git',
    next: 'see whether git has these labels: Application argocd/runners is OutOfSync, and its automated sync is off. Then: argocd app sync runners',
  },
  {
    when: 'its group has the cap 0 in the cluster, and another one in git',
    cap: 0,
    application: DRIFTED,
    unserved:
      'held back: group runners/ci starts no runners, because its cap is 0; RunnerGroup runners/ci differs from git',
    next: 'argocd app diff runners shows what git has; then argocd app sync runners. If git has the same: raise spec.maxActiveRunners of RunnerGroup runners/ci: it is 0',
  },
  {
    when: 'its group is suspended in the cluster, and not in git',
    spec: '  suspend: true\n',
    application: DRIFTED,
    unserved: 'held back: group runners/ci is suspended; RunnerGroup runners/ci differs from git',
    next: 'argocd app sync runners. If git has the same: remove spec.suspend of RunnerGroup runners/ci',
  },
  {
    when: 'a limit is in the cluster, and another one in git',
    spec: '  limits: [{name: deploy, max: 1}]\n',
    behind: 1,
    pod: running(190),
    inGitea: 'busy',
    application: DRIFTED,
    cause: 'held back by limit deploy (1) of group runners/ci; RunnerGroup runners/ci differs from git',
    next: 'argocd app sync runners. If git has the same: wait for a runner under limit deploy',
  },
  {
    when: 'a group is full in the cluster, and the sync that would raise its cap fails',
    cap: 1,
    behind: 1,
    pod: running(190),
    inGitea: 'busy',
    application: {
      ...DRIFTED,
      status: { ...DRIFTED.status, conditions: [{ type: 'ComparisonError', message: 'app path does not exist' }] },
    },
    cause: 'held back by the cap of group runners/ci; 1st in line; RunnerGroup runners/ci differs from git',
    next: 'correct spec.source.path of the Application',
  },
  {
    when: 'its Job does not come, and the RunnerGroup differs from git',
    ageS: 12_000,
    application: DRIFTED,
    unserved:
      'RunnerGroup runners/ci differs from git; Argo CD has not created its Kubernetes Job, and it is 3h15m late',
    next: 'argocd app diff runners shows what git has; then argocd app sync runners',
  },
  {
    when: 'serve says that the plan differs, and the RunnerGroup differs from git',
    application: DRIFTED,
    groupStatus: notReady('PlanDiffers', 'no'),
    unserved: 'RunnerGroup runners/ci is not ready: PlanDiffers: no; RunnerGroup runners/ci differs from git',
    next: 'argocd app diff runners',
  },
  {
    when: 'the group of the label is in git only, and nothing syncs it',
    runsOn: ['gpu'],
    application: application({
      resources: [resource('RunnerGroup', 'ci'), resource('RunnerGroup', 'gpu', { status: 'OutOfSync' })],
    }),
    unserved: 'labels not covered: gpu (nearest group: runners/ci); RunnerGroup runners/gpu differs from git',
    next: 'Application argocd/runners is OutOfSync. Then: argocd app sync runners',
  },
  {
    when: 'Argo CD cannot compare the folder that may have the label',
    runsOn: ['gpu'],
    application: complaining('ComparisonError', 'app path does not exist'),
    unserved:
      'labels not covered: gpu (nearest group: runners/ci); a change in git does not come: Argo CD does not sync Application argocd/runners',
    next: 'correct spec.source.path',
  },
  {
    when: 'this program is older than serve',
    runsOn: ['gpu'],
    others: [group('gpu', { spec: '  newField: 7\n' })],
    unserved: 'labels not covered: gpu',
    says: 'serve accepts it, so this program is of another version: use that of serve',
    next: 'gpu asks for other machines',
  },
  {
    when: 'the job that it needs has labels of no group',
    pushes: [buildAndDeploy('gpu-a100')],
    unserved: 'blocked: probably needs build (queued) of its run; build: labels not covered: gpu-a100',
    next: 'for job 1 "build": gpu-a100 asks for other machines',
    not: 'see what build waits for',
  },
  {
    when: 'the pod of the job that it needs cannot start',
    pushes: [buildAndDeploy('linux')],
    pod: unscheduled(NO_ROOM),
    unserved: `probably needs build (queued) of its run; build: its pod cannot start: Unschedulable: ${NO_ROOM}`,
    next: 'for job 1 "build": Unschedulable: add a node with room',
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
    jobs: [job(190, {}, { [SIZE]: 'large', [WEIGHT]: '4' })],
    pod: unscheduled(NO_ROOM),
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
    when: 'its run is of a pull request, and another run of its repository goes on',
    pushes: [
      { jobs: [{ key: 'build', runsOn: ['linux'] }] },
      { event: 'pull_request', jobs: [{ key: 'lint', runsOn: ['linux'] }], needsApproval: true },
    ],
    cause: 'it waits for an approval, because its run is of a pull request, or for its concurrency group',
    next: 'open the page of the run: it has a button when an approval is missing Next: wait for the other run: gitea-runners explain 1 has its link',
    not: 'cancel it',
  },
  {
    when: 'the message of serve has the remedy at its end',
    groupStatus: notReady(
      'GiteaFailed',
      'GR-HTTP-03 list jobs: git.acme cannot be reached. Check the URL, and the proxy.',
    ),
    unserved: 'RunnerGroup runners/ci is not ready: GiteaFailed: GR-HTTP-03 list jobs: git.acme cannot be reached.',
    next: 'check the URL, and the proxy; serve tries again by itself',
  },
  {
    when: 'the group that would have its labels is broken',
    runsOn: ['gpu'],
    others: [group('gpu', { label: 'gpu', spec: '  maxWorkers: 7\n' })],
    unserved: 'RunnerGroup runners/gpu has its labels, and cannot be served: spec.maxWorkers differs',
    next: 'mend RunnerGroup runners/gpu: correct what it says',
    not: 'for other machines',
  },
  {
    when: 'a broken group of its scope has other labels',
    runsOn: ['gpu'],
    others: [group('arm', { spec: '  maxWorkers: 7\n' })],
    unserved: 'labels not covered: gpu',
    says: 'But: RunnerGroup runners/arm cannot be served, so it does not count: spec.maxWorkers differs',
    next: 'gpu asks for other machines: write a RunnerGroup for it',
  },
  {
    when: 'a conflict of Git stands in the file of a group, whose labels nobody can read',
    runsOn: ['gpu'],
    others: [conflicted()],
    unserved:
      'RunnerGroup runners/gpu may have its labels (gpu), and cannot be served: gpu.yaml:13:1: is no valid YAML: this is a conflict of Git: resolve it [GR-INPUT-02]',
    next: 'mend RunnerGroup runners/gpu: see GR-INPUT-02 in https://gitea.example.com/example/argocd-gitea-runners/src/branch/main/docs/errors.md',
  },
  {
    when: 'its label is a typing mistake, and nobody can read the labels of a broken group',
    runsOn: ['lunix'],
    others: [conflicted()],
    unserved: 'labels not covered: lunix (did you mean linux (runners/ci)?)',
    next: 'Correct it in the workflow',
  },
  {
    when: 'the token of the group with its labels is missing',
    bySecrets: true,
    runsOn: ['gpu'],
    others: [group('gpu', { label: 'gpu', secret: 'lost' })],
    unserved: 'RunnerGroup runners/gpu has its labels, and cannot be served: GR-TOKEN-10',
    next: 'mend RunnerGroup runners/gpu: create it: kubectl create secret generic lost --namespace argocd',
  },
  {
    when: 'a sync waits for the health of a group that serve cannot serve',
    application: syncing('waiting for healthy state of gitea.bpg.pw/RunnerGroup/gpu'),
    others: [conflicted()],
    unserved: 'RunnerGroup gpu cannot be served: gpu.yaml:13:1: is no valid YAML: this is a conflict of Git',
    next: 'see why RunnerGroup gpu is not ready, and mend it',
  },
  {
    when: 'the token of another group is missing',
    bySecrets: true,
    others: [group('other', { secret: 'lost' })],
    cause: 'Argo CD has not created its Kubernetes Job yet',
    next: 'wait until 20',
  },
];

/** Kueue holds the Job. */
const KUEUE: readonly Row[] = [
  {
    when: 'its Job is suspended by Kueue',
    jobs: [suspended()],
    cause: 'it is held, and whoever does that (Kueue, for example) lets it start: Suspended: Job suspended',
    next: 'describe job/',
  },
  {
    when: 'its Job waits in a queue of Kueue, which says why',
    jobs: [inQueue()],
    workload:
      "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor default, 1 more needed",
    cause:
      "it waits in queue team-a of Kueue: couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor default, 1 more needed",
    next: 'wait until Jobs of that queue end, or raise nominalQuota of flavor default',
  },
  {
    when: 'its Job asks for more than its queue ever has',
    jobs: [inQueue()],
    workload:
      "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (16) > maximum capacity (8)",
    unserved: 'it waits in queue team-a of Kueue: ',
    next: 'or raise nominalQuota of flavor default in the ClusterQueue: it can never start',
  },
  {
    when: 'its Job has quota, and waits for a cluster that takes it',
    jobs: [inQueue()],
    workload: { conditions: [RESERVED], admissionChecks: [{ name: 'workers', state: 'Pending', message: '' }] },
    cause: 'it waits in queue team-a of Kueue: admission check workers is Pending',
    next: 'ask who runs admission check workers',
  },
  {
    when: 'its Job has quota, and a check of Kueue has refused it with words',
    jobs: [inQueue()],
    workload: {
      conditions: [RESERVED],
      admissionChecks: [{ name: 'workers', state: 'Rejected', message: 'The owner is not managed by Kueue' }],
    },
    cause: 'it waits in queue team-a of Kueue: admission check workers is Rejected: The owner is not managed by Kueue',
    next: 'ask who runs admission check workers',
  },
  {
    when: 'its pod in another cluster is not ready',
    jobs: [elsewhere()],
    workload: { conditions: [RESERVED], clusterName: 'east' },
    cause:
      'StartsElsewhere: its pod in the other cluster is not ready (kueue.x-k8s.io/multikueue), cluster east, for 2m',
    next: 'look at its Workload, which names the cluster, and at the pods there',
  },
  {
    when: 'its Job waits in a queue of Kueue, whose objects may not be read',
    jobs: [inQueue()],
    workload: 403,
    cause: 'it waits in queue team-a of Kueue: Job suspended',
    next: 'kubectl get localqueues,workloads -A shows the queues of Kueue',
  },
  {
    when: 'Kueue has given it up, because its pods were never ready in time',
    jobs: [inQueue()],
    workload: 'The workload is deactivated due to exceeding the maximum number of re-queuing retries',
    unserved: 'it waits in queue team-a of Kueue: The workload is deactivated due to exceeding the maximum',
    next: 'see why its pods were not ready, or ran too long, and have another made: kubectl -n runners delete job <runner>;',
    not: 'Suspended: ',
  },
  {
    when: 'its queue of Kueue does not exist',
    jobs: [inQueue()],
    workload: "LocalQueue team-a doesn't exist",
    unserved: "it waits in queue team-a of Kueue: LocalQueue team-a doesn't exist",
    next: 'make that queue of Kueue, or correct spec.queue',
  },
  {
    when: 'its queue of Kueue is stopped',
    jobs: [inQueue()],
    workload: 'ClusterQueue team-a is stopped',
    unserved: 'it waits in queue team-a of Kueue: ClusterQueue team-a is stopped',
    next: 'let that queue of Kueue go on (spec.stopPolicy: None), or ask its owner',
  },
  ...[
    'flavor a100 not found',
    'no topology domains at level: rack',
    'Flavor "x" supports only TopologyAwareScheduling',
    "resources didn't satisfy LimitRange constraints: requests must not be above the limitRange max",
    'resources validation failed: requests must not exceed its limits',
  ].map((words) => ({
    when: `Kueue says what no end of another Job changes: ${words}`,
    jobs: [inQueue()],
    workload: `couldn't assign flavors to pod set main: ${words}`,
    unserved: words,
    next: '',
  })),
];

/** The runner's pod does not come, or does not start. */
const START: readonly Row[] = [
  {
    when: 'a node refuses the pod, and its Job has not failed yet',
    pod: failedPod({ reason: 'UnexpectedAdmissionError', message: 'Allocate failed due to no healthy devices' }),
    cause: 'its last runner failed: UnexpectedAdmissionError: Allocate failed due to no healthy devices',
    next: 'nothing, if the next pod starts. Else look at its node: kubectl describe node NODE',
    not: 'logs job/',
  },
  {
    when: 'a quota refuses the pod',
    jobs: [job(400)],
    events: [refusedPod('an older one', 9_000), refusedPod(QUOTA), refusedPod('of another', 0, 'ci-9')],
    unserved:
      'its pod cannot start: NoPod: forbidden: exceeded quota: pods, requested: pods=1, used: pods=5, limited: pods=5',
    next: 'kubectl -n runners describe job/',
  },
  {
    when: 'there is no pod, and Events may not be read',
    jobs: [job(400)],
    events: 403,
    unserved: 'its pod cannot start: NoPod: no controller has looked at its Job, whose status is empty',
    next: 'see whether kube-controller-manager runs',
  },
  {
    when: 'there is no pod, a controller has looked at the Job, and Events may not be read',
    jobs: [job(400, { ready: 0, startTime: LONG_AGO })],
    events: 403,
    unserved: 'its pod cannot start: NoPod: Kubernetes has created no pod;',
    next: 'kubectl -n runners describe job/',
  },
  {
    when: 'a volume of the pod is not there',
    pod: onNode(130),
    events: [
      normal('Scheduled', 'assigned', 0),
      ...ofOtherPods(1, 'Warning', 'FailedMount', 'of another'),
      warning('FailedMount', 'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found', 0),
    ],
    cause: 'FailedMount: MountVolume.SetUp failed for volume "settings" : configmap "settings" not found',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'a webhook has an old certificate, whose verdict is at the end of a long message',
    jobs: [job(400)],
    events: [
      refusedPod(
        `Internal error occurred: failed calling webhook "pods.policy.acme.io": failed to call webhook: Post "https://policy.policy-system.svc:443/validate-pods?timeout=10s": tls: failed to verify certificate: ${'x509: '.repeat(30)}current time 2026-11-30T23:58:00Z is after 2026-11-30T21:58:00Z`,
      ),
    ],
    unserved: 'is after 2026-11-30T21:58:00Z',
    next: 'renew the certificate of the webhook of service policy',
  },
  {
    when: 'the Secret for the registry of its image is not there',
    pod: onNode(395, cannotStart('ImagePullBackOff', 'failed to authorize: 401 Unauthorized')),
    events: [
      warning(
        'FailedToRetrieveImagePullSecret',
        'Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed.',
        12,
      ),
      normal('BackOff', 'Back-off pulling image', 5),
    ],
    unserved:
      'ImagePullBackOff: failed to authorize: 401 Unauthorized FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets (regcred)',
    next: 'make Secret regcred in namespace runners, or correct imagePullSecrets in spec.podTemplate',
  },
  {
    when: 'a probe ends its sidecar again and again',
    pod: onNode(
      395,
      initContainer(
        'docker',
        { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
        { lastState: { terminated: { exitCode: 137 } } },
      ),
    ),
    events: [warning('Unhealthy', 'Liveness probe failed: connection refused', 12)],
    unserved: 'back-off 5m0s: Liveness probe failed: connection refused',
    next: 'logs job/',
  },
  ...[
    ['exceeded quota: storage, requested: requests.storage=50Gi', 'raise that quota (storage)'],
    ['zzz', 'look at its claim and StorageClass'],
  ].map(
    ([words = '', next = '']): Row => ({
      when: `its ephemeral claim is refused: ${words}`,
      pod: unscheduled('0/5 nodes are available: waiting for ephemeral volume controller', {
        volumes: [{ name: 'work', ephemeral: {} }],
      }),
      events: [
        warning('FailedBinding', `ephemeral volume work: create PVC x: ${words}`, 15),
        warning('FailedScheduling', 'waiting for ephemeral', 5, 'default-scheduler'),
      ],
      unserved: `waiting for ephemeral volume controller FailedBinding: ephemeral volume work: create PVC x: ${words}`,
      next,
    }),
  ),
  {
    when: 'no volume is made for its claim, and the claim says why',
    pod: unscheduled(
      'binding volumes: deadline',
      { volumes: [{ name: 'cache', persistentVolumeClaim: { claimName: 'cache' } }] },
      'SchedulerError',
    ),
    events: [
      {
        ...warning('ProvisioningFailed', 'failed to provision volume: code = ResourceExhausted', 0),
        involvedObject: { kind: 'PersistentVolumeClaim', name: 'cache' },
      },
    ],
    unserved:
      'SchedulerError: binding volumes: deadline ProvisioningFailed: failed to provision volume: code = Resource',
    next: 'look at its claim and StorageClass',
  },
  {
    when: 'the image cannot be pulled',
    pod: pending(cannotStart('ErrImagePull', 'no such image: runner:9')),
    unserved: 'its pod cannot start: ImagePullBackOff: no such image: runner:9',
    says: 'ago; its pod does not run yet',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'the key of the registration Secret is missing',
    pod: pending(cannotStart('CreateContainerConfigError', "couldn't find key token in Secret runners/gitea-runner")),
    unserved: "CreateContainerConfigError: couldn't find key token in Secret runners/gitea-runner",
    next: 'describe pods -l job-name=',
  },
  {
    when: 'the runner crashes',
    ...failed(runnerEnded({ exitCode: 2 })),
    cause: 'its last runner failed: RunnerFailed: container runner ended with exit code 2',
    next: 'see why it ended: kubectl -n runners logs job/',
  },
  {
    when: 'the runner that holds the last slot cannot start',
    cap: 1,
    behind: 1,
    pod: unscheduled('0/3 nodes are available'),
    unserved:
      'slots are held: job 1 has a pod that cannot start: Unschedulable: 0/3 nodes are available; held back by the cap of group runners/ci; 1st in line',
    says: 'Next: Unschedulable: see which rule of the scheduler',
    next: 'and 1 of its runners cannot start: mend that first',
  },
  {
    when: 'its pod has a node and no container has started',
    pod: onNode(1510),
    unserved: 'its pod has not started: PodInitializing: no container has started (node node-1), for 25m',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'its pod has not started for half an hour, and another one is tried',
    pod: onNode(1870),
    unserved: 'its last runner failed: PodInitializing: no container has started (node node-1)',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'the pod of the try before could not start, and its Job is gone',
    jobs: [triedBefore(5)],
    pod: pod({}, { ageS: 4 }),
    events: [
      stuckBefore('FailedMount: older', 9_000),
      stuckBefore('ImagePullBackOff: not found: no such image: runner:9'),
      { ...stuckBefore('Evicted: no'), reason: 'RunnerLost' },
      { ...stuckBefore(''), message: 'ci-999-1-cab9f810: Zzz: of another' },
    ],
    unserved: 'its last runner failed: ImagePullBackOff: not found: no such image: runner:9; its runner is there',
    next: 'correct the image (spec.image, or that of spec.podTemplate)',
  },
  {
    when: 'its pod cannot mount a volume, and only an Event says so',
    pod: onNode(1510),
    events: [warning('FailedMount', 'timed out', 0)],
    unserved: 'its pod has not started: FailedMount: timed out (node node-1), for 25m',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'the network of its node is not ready, and only an Event says so',
    pod: onNode(130),
    events: [warning('NetworkNotReady', 'network is not ready: cni plugin not initialized', 5)],
    cause: 'its pod has not started: NetworkNotReady: network is not ready: cni plugin not initialized (node node-1)',
    next: 'NetworkNotReady: see whether the pod of the network plugin works on node node-1',
  },
  {
    when: 'its pod has a node for two minutes',
    pod: onNode(130),
    cause: 'its pod has not started: PodInitializing: no container has started (node node-1), for 2m',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'the memory limit of setup is too low to start it',
    ...failed(
      initContainer('setup', {
        terminated: {
          exitCode: 128,
          reason: 'StartError',
          message:
            'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?): unknown',
        },
      }),
      { nodeName: 'node-7' },
    ),
    cause:
      'its last runner failed: StartError: container setup did not start: container init was OOM-killed (memory limit too low?) (node node-7); Argo CD',
    next: 'raise spec.resources.limits.memory, or that of this container in spec.podTemplate: it is too low to start',
    not: ' logs ',
  },
  {
    when: 'docker cannot be started, again and again',
    pod: onNode(
      300,
      initContainer(
        'docker',
        { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
        {
          lastState: {
            terminated: {
              exitCode: 128,
              reason: 'StartError',
              message: 'failed to start container "x": Error response from daemon: exec: "dockerd": not found',
            },
          },
        },
      ),
    ),
    unserved: 'CrashLoopBackOff: container docker did not start: exec: "dockerd": not found: back-off 40s',
    next: 'CrashLoopBackOff: correct command, args, runAsUser and mounts, or the image; kubectl -n runners describe pods',
  },
  {
    when: 'its kubelet has pulled too many images in this minute',
    pod: onNode(95, cannotStart('ErrImagePull', 'pull QPS exceeded')),
    cause: 'its pod has not started: ImagePullBackOff: pull QPS exceeded, for 1m',
    next: 'ImagePullBackOff: wait: node node-1 pulls few at once. Often: raise registryPullQPS of its kubelet',
  },
  {
    when: 'its node cannot mount NFS, in the words of mount',
    pod: onNode(395),
    events: [
      warning(
        'FailedMount',
        'MountVolume.SetUp failed for volume "cache" : mount failed: exit status 32\nMounting command: mount\nMounting arguments: -t nfs nas:/ci /var/lib/x\nOutput: mount: /var/lib/x: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.',
        8,
      ),
    ],
    unserved: 'FailedMount: MountVolume.SetUp failed for volume "cache" : mount: /var/lib/x: bad option; for several',
    next: 'FailedMount: put the program that mounts it on node node-1 (nfs-common or nfs-utils',
  },
  {
    when: 'its node has no memory for a sandbox, in the words of containerd and runc',
    pod: onNode(395),
    events: [
      warning(
        'FailedCreatePodSandBox',
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox "3f0c": failed to create containerd task: failed to create shim task: mkdir /sys/fs/cgroup/x: cannot allocate memory: unknown',
        8,
      ),
    ],
    unserved: 'FailedCreatePodSandBox: mkdir /sys/fs/cgroup/x: cannot allocate memory (node node-1), for 6m',
    next: 'FailedCreatePodSandBox: node node-1 is short of memory, processes or files',
  },
  ...[
    [
      'FailedMount',
      'Could not mount "fs-1:/" at "/var/lib/kubelet/pods/aa09/volumes/x/mount": Failed to resolve "fs-1.efs.amazonaws.com"',
      'Could not mount "fs-1:/": Failed to resolve "fs-1.efs.amazonaws.com"',
    ],
    [
      'FailedCreatePodSandBox',
      `failed to setup network for sandbox "${'0a'.repeat(32)}": plugin type="cilium-cni" failed (add): zzz`,
      'failed to setup network for sandbox: plugin type="cilium-cni" failed (add): zzz',
    ],
    [
      'FailedCreatePodSandBox',
      'error running prestart hook #0: exit status 1, stdout: , stderr: nvidia-container-cli: nvml error: zzz',
      'FailedCreatePodSandBox: nvidia-container-cli: nvml error: zzz',
    ],
  ].map(([reason = '', words = '', unserved = '']) => ({
    when: `its pod has not started, without the paths and numbers of ${words}`,
    pod: onNode(395),
    events: [warning(reason, words, 8)],
    unserved,
    next: reason,
  })),
  {
    when: 'no scheduler has looked at its pod',
    pod: pending({}, { schedulerName: 'volcano' }),
    unserved: 'its pod has not started: NoScheduler: no scheduler has looked at it (schedulerName volcano), for 6m',
    next: 'NoScheduler: see whether that scheduler runs, or correct schedulerName in spec.podTemplate; kubectl -n runners describe pods',
  },
  {
    when: 'the last slot was held by a pod that no scheduler has looked at',
    cap: 1,
    behind: 1,
    ageS: 1_000,
    jobs: [job(960)],
    pod: pod({}, { ageS: 950 }),
    unserved: '1 runner before this one got no job, or did not start; Argo CD has not created its Kubernetes Job yet',
    next: 'wait until 20',
  },
  {
    when: 'its pod names a ResourceClaimTemplate that is not there, so no scheduler looks at it',
    pod: pod({}, { ageS: 90 }),
    events: [
      warning(
        'FailedResourceClaimCreation',
        'PodResourceClaim gpu: resource claim template "single-gpu": resourceclaimtemplate.resource.k8s.io "single-gpu" not found',
        20,
      ),
    ],
    cause: 'FailedResourceClaimCreation: PodResourceClaim gpu: resource claim template "single-gpu"',
    next: 'make resourceclaimtemplate single-gpu in namespace runners, or correct spec.podTemplate',
  },
  {
    when: 'kube-scheduler is down',
    pod: pod({}, { ageS: 90 }),
    cause: 'NoScheduler: no scheduler has looked at it (schedulerName default-scheduler), for 1m',
    next: 'NoScheduler: see whether kube-scheduler runs',
  },
  {
    when: 'nothing says why its pod does not start, for longer than a runner may take',
    pod: pending({ conditions: [{ type: 'PodScheduled', status: 'True' }] }),
    unserved: 'its runner is there, and has not taken it yet',
    next: 'see why <runner> cannot start: kubectl -n runners describe pods',
    not: 'wait:',
  },
  {
    when: 'its image has been pulled for six minutes, among the events of many other pods',
    pod: pulling(),
    events: [
      ...ofOtherPods(700, 'Normal', 'Created', 'Created'),
      warning('FailedMount', 'timed out', 390),
      normal('Pulling', 'Pulling image "r.acme/full:1"', 380),
    ],
    cause: 'its pod has not started: Pulling: image "r.acme/full:1" (node node-1), for 6m',
    next: 'Pulling: wait until 20',
    not: 'cordon',
  },
  {
    when: 'its image has been pulled for a quarter of an hour',
    pod: pulling(),
    events: [normal('Pulling', 'Pulling image "r.acme/full:1"', 910)],
    unserved: 'its pod has not started: Pulling: image "r.acme/full:1" (node node-1), for 6m',
    next: 'Pulling: see whether the image is large and the registry slow',
    not: 'cordon',
  },
  {
    when: 'its image has been pulled for half a minute',
    jobs: [job(40)],
    pod: pulling(39),
    events: [normal('Pulling', 'Pulling image "r.acme/full:1"', 37)],
    cause: 'its pod has not started: Pulling: image "r.acme/full:1"; runner',
    next: 'Pulling: wait until 20',
    not: 'waits for a node',
  },
  {
    when: 'its volume has not come for half a minute',
    jobs: [job(40)],
    pod: onNode(39),
    events: [warning('FailedMount', 'MountVolume.SetUp failed: x', 5)],
    cause: 'its pod has not started: FailedMount: MountVolume.SetUp failed: x; runner',
    next: 'FailedMount: look at that volume',
    not: 'cannot start',
  },
  {
    when: 'the registry did not answer its last runner, and the next one pulls',
    jobs: [triedBefore(40)],
    pod: pulling(39),
    events: [
      stuckBefore('ImagePullBackOff: r.acme: i/o timeout'),
      normal('Pulling', 'Pulling image "r.acme/full:1"', 37),
    ],
    unserved:
      'its last runner failed: ImagePullBackOff: r.acme: i/o timeout; now its pod has not started: Pulling: image "r.acme/full:1"',
    next: 'see whether its node reaches the registry: network, DNS, proxy Next: Pulling: wait until 20',
    not: 'node NODE',
  },
  {
    when: 'the registry does not answer the next runner either',
    jobs: [triedBefore(40)],
    pod: onNode(39, cannotStart('ImagePullBackOff', 'Back-off: r.acme: i/o timeout')),
    events: [stuckBefore('ImagePullBackOff: r.acme: i/o timeout')],
    unserved: 'its pod cannot start: ImagePullBackOff: ',
    next: 'ImagePullBackOff: see whether node node-1 reaches the registry',
    not: 'its last runner failed',
  },
  {
    when: 'its image was pulled, or Events may not be read, and its network is ready',
    pod: pulling(),
    events: [
      normal('Pulling', 'Pulling image "r.acme/full:1"', 380),
      normal('Pulled', 'Successfully pulled image', 370),
    ],
    unserved: 'PodInitializing: no container has started, and its network is ready (node node-1), for 6m',
    next: 'see whether the image is large and the registry slow',
    not: 'cordon',
  },
  {
    when: 'the autoscaler adds a node for its pod',
    pod: unscheduled(NO_ROOM),
    events: [
      normal('NotTriggerScaleUp', "pod didn't trigger scale-up: 1 x", 300),
      normal('TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 70),
    ],
    cause: `its pod waits for a node: Unschedulable: ${NO_ROOM} TriggeredScaleUp: pod triggered scale-up: [{a 3->4 (max: 10)}];`,
    next: 'Unschedulable: wait until 20',
    not: 'which rule of the scheduler',
  },
  {
    when: 'the node that Karpenter has asked for has not come',
    pod: unscheduled(NO_ROOM),
    events: [normal('Nominated', 'Pod should schedule on: nodeclaim/a', 910)],
    unserved: 'its pod cannot start: Unschedulable',
    next: 'Unschedulable: see in the log of the autoscaler why no node has come',
  },
  {
    when: 'the node group is at its maximum, and the list of Events is full',
    pod: unscheduled(NO_ROOM),
    events: [
      ...ofOtherPods(700, 'Normal', 'Pulled', 'zzz'),
      warning('NotTriggerScaleUp', "pod didn't trigger scale-up: 1 max node group size reached", 60),
    ],
    unserved: `Unschedulable: ${NO_ROOM} NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached`,
    next: 'Unschedulable: raise the maximum of that node group, or free a node',
  },
  {
    when: 'the cloud has no machine for the node that the autoscaler asked for',
    pod: unscheduled(NO_ROOM),
    events: [
      normal('TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 90),
      warning(
        'FailedScaleUp',
        'Node scale up in zones us-west1-b associated with this pod failed: GCE out of resources. Pod is at risk of not being scheduled.',
        60,
      ),
    ],
    unserved: `its pod cannot start: Unschedulable: ${NO_ROOM} FailedScaleUp: Node scale up in zones us-west1-b`,
    next: 'let the node group have other zones or types of machines: the cloud has none of these left',
    not: 'wait until',
  },
  {
    when: 'the autoscaler refuses one group of nodes and takes another one in the same second',
    pod: unscheduled(NO_ROOM),
    events: [
      normal('TriggeredScaleUp', 'pod triggered scale-up: [{a 3->4 (max: 10)}]', 70),
      normal('NotTriggerScaleUp', "pod didn't trigger scale-up: 1 x", 70),
    ],
    cause: 'its pod waits for a node: Unschedulable',
    next: 'Unschedulable: wait until 20',
  },
  {
    when: 'Karpenter has no machine for its pod',
    pod: unscheduled(NO_ROOM),
    events: [
      warning(
        'FailedScheduling',
        'Failed to schedule pod, incompatible with nodepool "spot", daemonset overhead={"cpu":"150m","pods":"2"}, no instance type has enough resources, requirements=kubernetes.io/os In [linux]',
        60,
        'karpenter',
      ),
      warning('FailedScheduling', NO_ROOM, 5, 'default-scheduler'),
    ],
    unserved: `Unschedulable: ${NO_ROOM} FailedScheduling: Failed to schedule pod, incompatible with nodepool "spot", no instance type`,
    next: 'no node that the autoscaler may add would fit: let a NodePool have larger or other types of machines',
    not: 'add a node with room',
  },
  {
    when: 'Karpenter promises one machine after another, and the cloud refuses them',
    pod: unscheduled(NO_ROOM),
    events: Array.from({ length: 20 }, (_, nth) =>
      normal('Nominated', `Pod should schedule on: nodeclaim/spot-${nth}`, 1_000 - nth * 50, 'eks-auto-mode/compute'),
    ),
    unserved: 'its pod cannot start: Unschedulable',
    next: 'Unschedulable: see in the log of the autoscaler why no node has come',
  },
  {
    when: 'GKE Autopilot refuses its privileged pod',
    jobs: [job(400)],
    events: [
      refusedPod(
        'admission webhook "warden-validating.common-webhooks.networking.gke.io" denied the request: GKE Warden rejected the request because it violates one or more constraints.\nViolations details: {"[denied by autogke-disallow-privilege]":["container docker is privileged; not allowed in Autopilot"]}',
      ),
    ],
    unserved: 'NoPod: admission webhook "warden-validating.common-webhooks.networking.gke.io" denied the request',
    next: 'use a lower spec.securityProfile or another containerMode, or run them on a GKE cluster of mode Standard',
    not: 'Error creating',
  },
  {
    when: 'runners before it were given up, and nobody tells why',
    jobs: [triedBefore(5)],
    pod: pod({}, { ageS: 4 }),
    unserved: '1 runner before this one got no job, or did not start; its runner is there',
    next: 'see which pods did not start: kubectl -n runners describe runnergroup ci. If all did, look whether Actions',
  },
  {
    when: 'the pod of its runner could not start, its Job is gone, and the new one is not made',
    ageS: 1_200,
    events: [stuckBefore('ImagePullBackOff: not found: no such image: runner:9')],
    unserved: 'its last runner failed: ImagePullBackOff: not found: no such image: runner:9; Argo CD has not created',
    next: 'correct the image (spec.image, or that of spec.podTemplate)',
  },
  {
    when: 'the sidecar of docker crashes again and again',
    pod: onNode(300, initContainer('docker', { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } })),
    unserved: 'its pod cannot start: CrashLoopBackOff: back-off 40s',
    next: 'CrashLoopBackOff: see why that container ends, by its log; kubectl -n runners logs job/',
  },
  {
    when: 'setupCommand fails, and its last line says why',
    ...failed(
      initContainer('setup', {
        terminated: { exitCode: 100, message: 'Reading package lists...\nE: Unable to locate package jqq\n' },
      }),
    ),
    cause: 'container setup ended with exit code 100: E: Unable to locate package jqq',
    next: 'see why that container, or spec.setupCommand, fails, by its log',
  },
  {
    when: 'a node has refused the pod, in words that nobody has heard before',
    ...failed({ reason: 'OutOfzzz', message: "Node didn't have enough resource: zzz" }),
    cause: "its last runner failed: OutOfzzz: Node didn't have enough resource: zzz",
    next: 'nothing, if the next pod starts. Else look at its node',
    not: 'logs job/',
  },
  {
    when: 'its node shuts down',
    ...failed(
      { reason: 'NodeShutdown', message: 'Pod was rejected: Pod was rejected as the node is shutting down.' },
      { nodeName: 'spot-3' },
    ),
    cause:
      'its last runner failed: NodeShutdown: Pod was rejected: Pod was rejected as the node is shutting down. (node spot-3)',
    next: 'nothing: node spot-3 shuts down, and the next pod goes to another one',
    not: 'logs job/',
  },
  {
    when: 'its claims are not bound',
    pod: unscheduled('0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.', {
      volumes: [
        { name: 'token', secret: { secretName: 'x' } },
        { name: 'work', ephemeral: { volumeClaimTemplate: {} } },
        { name: 'cache', persistentVolumeClaim: { claimName: 'cache-web' } },
      ],
    }),
    unserved: 'pod has unbound immediate PersistentVolumeClaims; runner',
    says: 'kubectl -n runners describe pvc <runner>-x7x9z-work cache-web; kubectl get storageclass,csidrivers',
    next: 'look at its claim and StorageClass',
  },
  {
    when: 'a sidecar of a mesh runs and is not ready',
    pod: besideSidecar('istio-proxy', false),
    events: [
      normal('Pulled', 'Container image "proxyv2" already present on machine', 390),
      warning('Unhealthy', 'Startup probe failed: HTTP probe failed with statuscode: 503', 3),
      {
        ...warning('Unhealthy', 'Liveness probe failed: of another container', 2),
        involvedObject: { kind: 'Pod', name: `<runner>-x7x9z`, fieldPath: 'spec.initContainers{docker}' },
      },
    ],
    unserved:
      'its pod has not started: InitContainerRunning: sidecar istio-proxy runs and has not started yet, and register waits for it: Startup probe failed: HTTP probe failed with statuscode: 503 (node node-1), for 6m',
    says: 'kubectl -n runners logs job/<runner> -c istio-proxy',
    next: 'see whether the control plane of the mesh runs',
  },
  {
    when: 'its sidecar has started, and register has not',
    pod: besideSidecar('docker', true),
    unserved: 'PodInitializing: container register has not started (node node-1), for 6m',
    next: 'look at node node-1: kubectl describe node node-1. If no other has this: kubectl cordon node-1, then kubectl -n runners delete pods -l job-name=',
  },
  {
    when: 'its runner failed a second ago, hours after the job came',
    ageS: 12_000,
    ...failed(runnerEnded({ exitCode: 2 })),
    cause: 'container runner ended with exit code 2; Argo CD has not created its Kubernetes Job yet',
    next: 'see why it ended: kubectl -n runners logs job/',
  },
  {
    when: 'its node died before a container started',
    pod: onNode(390),
    events: [warning('NodeNotReady', 'Node is not ready', 200)],
    unserved: 'its pod has not started: NodeNotReady: Node is not ready (node node-1), for 6m',
    next: 'NodeNotReady: look at node node-1: kubectl describe node node-1',
  },
  {
    when: 'the registry wants a login in the words of a cloud',
    pod: pending(cannotStart('ImagePullBackOff', 'Back-off pulling image "r.acme/x:1": no basic auth credentials')),
    unserved: 'ImagePullBackOff: r.acme/x:1: no basic auth credentials',
    next: 'give its registry a login: imagePullSecrets',
  },
  {
    when: 'its last runner was lost with its node before it got the job, and the next one is wanted',
    jobs: [failedJob()],
    events: [warning('NodeNotReady', 'Node is not ready', 200)],
    cause: 'its last runner failed: NodeLost: at 20',
    next: 'see why its node went',
  },
];

/** The runner does not register, or gets no job. */
const REGISTER: readonly Row[] = [
  {
    when: 'somebody switched its runner off in Gitea',
    inGitea: 'idle, disabled',
    jobs: [job(200)],
    pod: running(190),
    cause: 'its last runner failed: Disabled: somebody switched it off in Gitea; Argo CD has not created',
    next: 'nothing: it gets another runner',
  },
  {
    when: 'its pod waits for the credentials that serve is to give it',
    jobs: [job(400)],
    groupStatus: notReady('RegistrationFailed', 'Jobs wait for the credentials of their runners: GR-GITEA-20 no'),
    pod: onNode(130),
    events: [
      warning('FailedMount', `MountVolume.SetUp failed for volume "credentials" : secret "<runner>" not found`, 0),
    ],
    cause: 'its pod has not started: FailedMount: MountVolume.SetUp failed for volume "credentials"',
    says: 'Status: RegistrationFailed: Jobs wait for the credentials of their runners: GR-GITEA-20 no',
    next: 'describe pods -l job-name=',
  },
  {
    when: 'its runner cannot register, and nobody says why',
    ...failed(unregistered()),
    cause: 'its last runner failed: RegistrationFailed: container register ended with exit code 1',
    next: 'read what register says before that: kubectl -n runners logs job/',
    not: 'token',
  },
  {
    when: 'Gitea does not give the job to its runner, which is idle',
    inGitea: 'idle',
    jobs: [job(200)],
    pod: running(190),
    unserved: 'it is registered and idle for 3m',
    next: 'look whether Actions is switched on in the settings of acme/web',
  },
  {
    when: 'its runner tries to register for six minutes',
    pod: onNode(375, initContainer('register', { running: { startedAt: ago(370) } })),
    unserved:
      'its pod has not started: InitContainerRunning: init container register has not ended (node node-1), for 6m',
    next: 'see that pods reach Gitea: NetworkPolicy, DNS, proxy; kubectl -n runners logs job/',
  },
  {
    when: 'its last runner could not register, and the next one has tried for five minutes',
    jobs: [triedBefore(310), failedJob('<tried>0000')],
    pods: [
      onNode(305, initContainer('register', { running: { startedAt: ago(300) } }), { isNetworkReady: true }),
      failedPod(unregistered('level=error msg="x" error="permission_denied: 403 Forbidden"'), {}, '<tried>0000'),
    ],
    unserved:
      'its last runner failed: RegistrationFailed: container register ended with exit code 1: permission_denied: 403 Forbidden; now its pod has not started: InitContainerRunning: init container register has not ended (node node-1), for 5m00s',
    next: 'see what stands before Gitea and refuses pods',
  },
  {
    when: 'its pod runs, and somebody has deleted the row of its runner',
    jobs: [job(200)],
    pod: running(190),
    cause: 'its pod runs, and Gitea has no runner of its name: the row was deleted, or is in another Gitea or scope;',
    next: 'then another runner is tried. Sooner: kubectl -n runners delete job <runner>. If the next one has no row either, compare Secret runners/gitea-runner with',
    not: 'takes it as soon as it has registered',
  },
  {
    when: 'its pod runs, and a firewall lets its runner register, but not ask for jobs',
    inGitea: 'idle, offline',
    jobs: [job(200)],
    pod: running(190),
    cause: 'its pod runs, and Gitea shows its runner offline: its requests for jobs do not reach Gitea',
    next: 'then another runner is tried. See in its log what refuses it (Gitea, a proxy, a firewall): kubectl -n runners logs job/<runner> -c runner',
    not: 'takes it as soon as it has registered',
  },
  {
    when: 'its last runner was offline until its time was over',
    inGitea: 'idle, offline',
    ageS: 600,
    jobs: [job(430)],
    pod: running(420),
    unserved:
      'its last runner was offline in Gitea: its requests for jobs did not reach Gitea; Argo CD has not created',
    next: 'see what keeps its runners from Gitea: kubectl -n runners logs -l gitea.bpg.pw/runnergroup-name=ci -c runner',
    not: 'switched on',
  },
  {
    when: 'its runner was idle until it was given up, and Gitea still gives nothing',
    inGitea: 'idle',
    ageS: 600,
    jobs: [job(430)],
    pod: running(420),
    unserved: 'its last runner was idle: Gitea did not give it the job; Argo CD has not created its Kubernetes Job yet',
    next: 'look whether Actions is switched on in the settings of acme/web',
  },
  {
    when: 'its proxy asks for a login',
    ...failed(unregistered('Error: unavailable: Proxy Authentication Required')),
    cause: 'container register ended with exit code 1: Error: unavailable: Proxy Authentication Required',
    next: 'give the proxy a login: spec.proxy.secretRef of RunnerGroup runners/ci',
    not: 'token',
  },
  {
    when: 'registration fails, because the clock of one node is wrong',
    ...failed(
      unregistered(
        'level=error msg="x" error="unavailable: tls: x509: certificate has expired or is not yet valid: current time 2026-11-30T21:50:01Z is before 2026-11-30T22:40:00Z"',
      ),
      { nodeName: 'edge-2' },
    ),
    cause: 'is before 2026-11-30T22:40:00Z (node edge-2);',
    next: 'see whether the clock of node edge-2 is right',
  },
  {
    when: 'registration fails, and its container said why',
    ...failed(unregistered('level=error msg="x" error="unimplemented: 404 Not Found"')),
    cause: 'RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found;',
    next: 'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea, and that Actions is switched on in app.ini',
    not: 'logs job/',
  },
  {
    when: 'serve may not register runners',
    jobs: [job(200, {}, { [REGISTERED_AT]: 'org:acme' })],
    groupStatus: {
      ...notReady('RegistrationFailed', 'Jobs wait for the credentials of their runners: GR-GITEA-02 no'),
      unregistered: [
        { at: 'repo:acme/other', message: 'GR-GITEA-01 of another one' },
        { at: 'org:acme', message: 'GR-GITEA-02 no' },
      ],
    },
    pod: onNode(190),
    unserved: 'serve cannot register its runner at org:acme: GR-GITEA-02 no;',
    next: 'serve tries again every 10 s',
    not: 'describe pods',
  },
  {
    when: 'a login page stands before Gitea',
    ...failed(
      unregistered(
        'level=error msg="x" error="unknown: invalid content-type: \\"text/html; charset=utf-8\\"; expecting \\"application/proto\\""',
      ),
    ),
    cause: 'its last runner failed: RegistrationFailed: container register ended with exit code 1: un',
    next: 'let what stands before spec.gitea.url of RunnerGroup runners/ci pass requests of runners',
  },
  {
    when: 'its last runner could not register, and somebody asks about that one',
    ...failed(unregistered('level=error msg="x" error="unimplemented: 404 Not Found"')),
    cause: 'RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found;',
    next: 'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea',
    ofRunner: [
      'its Job ended without a CI job, it holds no slot; RegistrationFailed: container register ended with exit code 1: unimplemented: 404 Not Found',
      'see that spec.gitea.url of RunnerGroup runners/ci is the base address of Gitea',
    ],
  },
];

/** The runner is at work, or was when it was lost. */
const WORK: readonly Row[] = [
  {
    when: 'a runner at work was OOM-killed',
    inGitea: 'busy',
    ...failed(runnerEnded({ exitCode: 137, reason: 'OOMKilled' })),
    cause: 'is lost (OOMKilled: it needed more memory than its limit): Gitea fails it after 10 to 15 minutes',
    next: 'raise spec.resources.limits.memory',
  },
  {
    when: 'a runner at work was evicted',
    inGitea: 'busy',
    ...failed({ reason: 'Evicted', message: 'The node was low on resource: memory.' }),
    cause: 'is lost (Evicted: The node was low on resource: memory.)',
    next: 'give the pod requests for what its node ran out of',
  },
  {
    when: 'its runner is at work, and Gitea shows it offline',
    inGitea: 'busy, offline',
    pod: pod({ phase: 'Running' }),
    events: [warning('NodeNotReady', 'Node is not ready', 0)],
    cause: 'offline; Kubernetes says: NodeNotReady: Node is not ready',
    next: 'see whether the pod and the node of <runner> are well: kubectl -n runners get pods -l job-name=',
  },
  {
    when: 'the last slot is held by a job whose runner is offline',
    cap: 1,
    behind: 1,
    inGitea: 'busy, offline',
    pod: running(190),
    events: [warning('NodeNotReady', 'Node is not ready', 0)],
    cause: 'slots are held: job 1 has a runner that is offline (NodeNotReady: Node is not ready); held back by the cap',
    says: 'and Gitea shows it offline',
    next: 'see whether the pod and the node of <runner> are well: kubectl -n runners get pods -l job-name=<runner> -o wide. A pod whose node stays away is deleted after some five minutes, and its job is lost. Or cancel job 1 in Gitea Next: group runners/ci has no free slot (1 busy), and 1 of its runners is offline: see to that first',
    not: 'raise',
  },
  {
    when: 'the node under its runner is lost, and its pod is being deleted',
    inGitea: 'busy, offline',
    pod: leaving(ago(60), 'DeletionByTaintManager'),
    cause: 'is lost (NodeLost: its node is gone, or shuts down): Gitea fails it after 10 to 15 minutes',
    next: 'see why its node went: kubectl get nodes; kubectl events -A --for node/NODE',
  },
  {
    when: 'its runner is at work on a node that is drained',
    inGitea: 'busy',
    pod: leaving('2099-01-01T00:00:00Z'),
    cause: 'it is on a pod that is being deleted, and may finish until 2099-01-01T00:00:00Z',
    next: 'wait until then, or cancel the job in Gitea',
  },
  {
    when: 'its concurrency group is held by a run whose runner and Job are gone',
    pushes: [
      { jobs: [{ key: 'release', runsOn: ['linux'] }] },
      { jobs: [{ key: 'release', runsOn: ['linux'] }], needsApproval: true },
    ],
    inGitea: 'busy, offline',
    cause:
      'probably held by the run of release (in progress); release: Gitea shows its runner <runner> offline, and its Kubernetes Job is gone: Gitea fails it after 10 to 15 minutes',
    next: 'wait for the other run, or cancel it: gitea-runners explain 1 has its link',
    ofRunner: [
      'stays as a record: its pod is lost while Gitea still shows a CI job on it, it holds no slot; Gitea shows its runner <runner> offline, and its Kubernetes Job is gone',
      're-run the job when Gitea has failed it. Sooner: cancel its run first',
    ],
    not: 'get pods -l job-name',
  },
  {
    when: 'the only slot of its limit is held by a runner whose node is not ready',
    spec: '  limits: [{name: deploy, max: 1}]\n',
    behind: 1,
    inGitea: 'busy, offline',
    pod: running(390),
    events: [warning('NodeNotReady', 'Node is not ready', 200)],
    cause:
      'slots are held: job 1 has a runner that is offline (NodeNotReady: Node is not ready); held back by limit deploy (1) of group runners/ci',
    says: 'Slot: <runner> stays: it runs job 1 "one" of acme/web for',
    next: 'kubectl -n runners get pods -l job-name=<runner>',
    ofRunner: ['Kubernetes says: NodeNotReady: Node is not ready', 'kubectl -n runners get pods -l job-name=<runner>'],
  },
  {
    when: 'its node was started again under its runner',
    inGitea: 'busy, offline',
    pod: failedPod(runnerEnded({ exitCode: 255, reason: 'Unknown' }), { nodeName: 'node-9' }),
    cause: 'is lost (Unknown: container runner ended with exit code 255 (node node-9)): Gitea fails it',
    next: 'see why its node lost its containers',
    ofRunner: ['is lost (Unknown: container runner ended', 'see why its node lost its containers'],
  },
  {
    when: 'its runner is being preempted',
    inGitea: 'busy',
    pod: leaving(
      '2099-01-01T00:00:00Z',
      'PreemptionByScheduler',
      'default-scheduler: preempting to accommodate a higher priority pod',
    ),
    cause:
      'is being deleted (PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod), and may finish until 2099-01-01T00:00:00Z',
    next: 'give the group a higher priority',
    not: 'as when a node is drained',
  },
  {
    when: 'its runner was drained, and the status of the Job is slow',
    inGitea: 'busy, offline',
    pod: failedPod({ conditions: [disruption('EvictionByEvictionAPI', 'Eviction API: evicting')] }),
    cause: 'is lost (Evicted: Eviction API: evicting): Gitea fails it after 10 to 15 minutes',
    next: 'ask who drains that node or evicts pods here',
    ofRunner: ['is lost (Evicted: Eviction API: evicting)', 'ask who drains that node or evicts pods here'],
  },
  {
    when: 'its node is gone, and its pod with it: only Events tell',
    inGitea: 'busy, offline',
    jobs: [failedJob()],
    events: [
      normal('Scheduled', 'Successfully assigned runners/<runner>-x7x9z to node-7', 900),
      normal('Pulled', 'Container image "x" already present on machine', 890),
      warning('NodeNotReady', 'Node is not ready', 500),
      normal('TaintManagerEviction', 'Marking for deletion Pod runners/<runner>-x7x9z', 200),
    ],
    cause: 'is lost (NodeLost: at 20',
    says: 'Z Node is not ready (node node-7)): Gitea fails it after 10 to 15 minutes',
    next: 'see why node node-7 went: kubectl get nodes; kubectl events -A --for node/node-7',
    ofRunner: ['is lost (NodeLost: at', 'see why node node-7 went'],
  },
  {
    when: 'an autoscaler took the node away, and Argo CD has pruned the Job',
    inGitea: 'busy, offline',
    events: [
      normal('ScaleDown', 'deleting pod for node scale down', 200),
      ...ofOtherPods(1, 'Warning', 'NodeNotReady', 'Node is not ready'),
    ],
    cause: 'is lost (ScaleDown: deleting pod for node scale down): Gitea fails it',
    next: 'have the autoscaler spare nodes with runners',
  },
  {
    when: 'somebody put a taint on its node, which is well',
    inGitea: 'busy, offline',
    jobs: [failedJob()],
    events: [normal('TaintManagerEviction', 'Marking for deletion Pod runners/<runner>-x7x9z', 200)],
    cause: 'is lost (TaintManagerEviction: Marking for deletion Pod runners/<runner>-x7x9z)',
    next: 'see which taint its node has',
  },
  {
    when: 'nothing but its deletion is known of its pod',
    inGitea: 'busy, offline',
    jobs: [failedJob()],
    events: [warning('Unhealthy', 'zzz', 200)],
    cause: 'is lost (PodDeleted: its pod was deleted)',
    next: 're-run the job when Gitea has failed it',
  },
  {
    when: 'docker was OOM-killed beside its runner',
    inGitea: 'busy',
    pod: withDocker({ exitCode: 137, reason: 'OOMKilled' }),
    cause: 'runs on <runner>, whose container docker ended with exit code 137 (OOMKilled) at 20',
    next: 'give container docker a higher memory limit in spec.podTemplate Next: re-run the job if it fails',
    ofRunner: ['whose container docker ended with exit code 137 (OOMKilled)', 'give container docker a higher memory'],
  },
  {
    when: 'docker ended beside its runner, and nobody says why',
    inGitea: 'busy',
    pod: withDocker({ exitCode: 1, reason: 'Error' }),
    cause: 'whose container docker ended with exit code 1 at 20',
    next: 'see why that container ended: kubectl -n runners logs job/<runner> -c docker --previous',
  },
  {
    when: 'docker was started twice before its runner began',
    inGitea: 'busy',
    pod: withDocker({ exitCode: 1, reason: 'Error', finishedAt: LONG_AGO }),
    cause: 'runs on <runner>',
    next: 'nothing: it runs',
    not: 'docker',
  },
  {
    when: 'another pod took its place, and its pod is gone',
    inGitea: 'busy, offline',
    jobs: [failedJob()],
    events: [normal('Preempted', 'Preempted by pod 7c on node node-2', 60)],
    cause: 'is lost (Preempted: Preempted by pod 7c on node node-2)',
    next: 'give the group a higher priority',
  },
  {
    when: 'Karpenter emptied its node',
    inGitea: 'busy, offline',
    jobs: [failedJob()],
    events: [
      normal('Evicted', 'Evicted pod: Underutilized', 60, 'karpenter'),
      normal('TaintManagerEviction', 'Cancelling deletion of Pod', 10),
    ],
    cause: 'is lost (Evicted: Evicted pod: Underutilized)',
    next: 'ask who drains that node or evicts pods here',
    not: 'requests',
  },
  {
    when: 'docker crashes again and again beside its runner',
    inGitea: 'busy',
    pod: withDocker({ exitCode: 1, reason: 'Error' }, { waiting: { reason: 'CrashLoopBackOff' } }),
    cause: 'whose container docker ended with exit code 1 at 20',
    next: 'kubectl -n runners logs job/<runner> -c docker --previous Next: re-run the job if it fails, or cancel it now',
  },
];

const nextIn = (line: string): string | undefined => /Next: (.*?) Link: /.exec(line)?.[1];

describe.each([
  ['Argo CD', ARGO],
  ['serve', SERVE],
  ['groups and slots', GROUP],
  ['Kueue', KUEUE],
  ['the start of a runner', START],
  ['the registration of a runner', REGISTER],
  ['a runner at work', WORK],
])('explain at 3 a.m., about %s:', (_, rows) => {
  it.each(rows.map((row) => [row.when, row] as const))('%s', async (_when, row) => {
    const { cause, unserved = '', says = '', next, not = '<none>', ofRunner, ...situation } = row;
    const { code, stdout, stderr, line, named, ...answer } = await explained(situation);

    expect({ code, stderr }, stdout).toEqual({ code: cause === undefined ? 4 : 0, stderr: '' });
    expect(/Cause: (.*?) Since: /.exec(line)?.[1]).toContain(named(cause ?? unserved));
    expect(nextIn(line)).toContain(named(next));
    expect(line).toContain(named(says));
    expect(line).not.toContain(not);
    const told = await answer.ofRunner();
    if (ofRunner) {
      expect(/Cause: (.*?) (?:Pod|CI job|Next): /.exec(told)?.[1]).toContain(named(ofRunner[0]));
      expect(/Next: (.*?)$/.exec(told)?.[1]).toContain(named(ofRunner[1]));
    }
    // The job and its runner are asked about in turns: one cause, and the same steps.
    const isOfJob = new RegExp(`CI job: ${/^Job (\d+)/.exec(stdout)?.[1]} `).test(told);
    if (isOfJob) expect(nextIn(told)).toBe(nextIn(line));
  });
});

describe('explain', () => {
  it('explain prints a remedy that is known in the table, too, before all is late', async () => {
    const busy = await explained({ application: retrying('client rate limiter Wait returned an error') });

    expect(await busy.table()).toContain('Next: Argo CD tries again by itself. After ten minutes ask');
  });

  it('the table has one piece of advice for all runners of a job that could not register', async () => {
    const twins = ['<tried>0000', '<tried>1111'];
    const several = await explained({
      jobs: [triedBefore(5, 2), ...twins.map(failedJob)],
      pods: twins.map((twin) => failedPod(unregistered('error="unimplemented: 404 Not Found"'), {}, twin)),
    });

    expect((await several.table()).match(/Next: /g)).toHaveLength(1);
  });

  it('explain tells beside a pod without a node that serve is down, too', async () => {
    const both = await explained({
      lease: { spec: { holderIdentity: 'serve-1', renewTime: LONG_AGO } },
      pod: unscheduled('0/3 nodes are available: 3 Insufficient memory.'),
    });

    expect(both.line).toContain('But: serve does not run, so nothing wakes Argo CD');
    for (const text of [both.line, await both.table()])
      expect(text.match(/start serve again: kubectl -n argocd get deployment,pods/g)).toHaveLength(1);
  });

  it('explain names in the table what an Application has in the place of the plugin, and does not repeat what serve guesses', async () => {
    const application = synced({}, { sourceType: 'Directory' });
    const table = await (await explained({ application, groupStatus: notReady('PlanDiffers', 'no') })).table();

    expect(table).toContain('Application argocd/runners: Synced, Healthy, source type Directory RunnerGroup');
    expect(table).toContain('RunnerGroup runners/ci is not ready: PlanDiffers (see below)');
  });

  it('explain tells what Argo CD says once, in the row of the job', async () => {
    const table = await (await explained({ application: complaining('ComparisonError', 'zzz of zzz') })).table();

    expect(table).toContain('Application argocd/runners: OutOfSync, Healthy, ComparisonError (see below)');
    expect(table.match(/zzz of zzz/g)).toHaveLength(1);
  });

  it('explain says that its runners fail again and again, and when the next one is tried', async () => {
    const { code, line } = await explained({
      jobs: [failedJob(), failedJob('<tried>0000')],
      pod: failedPod(unregistered()),
    });

    expect(code).toBe(4);
    expect(line).toContain('Cause: held back: its last runner failed:');
  });

  it('the only group is refused: a job, and the table, say why they know nothing', async () => {
    const message = 'GR-POLICY-04 spec.image: comes from evil.example.com';
    const refused = groupObject(groupYaml('http://127.0.0.1:1'), notReady('PolicyDenied', message));
    const cluster = await startCluster({ override: answering({ '/runnergroups': groupList([refused]) }) });
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
