/** What Kubernetes and Argo CD say of their objects, in their words, and what doctor cannot see. */
import { expect, it } from 'vitest';
import { ago } from '../../support/kube-objects.ts';
import {
  API_TOKEN,
  APPLICATION,
  APPLICATIONS,
  examine,
  GROUP,
  type Json,
  OWN_REVIEW,
  PODS,
  PROJECTS,
  put,
  RBAC,
  REPO_SERVER,
  condition as ready,
  repoServer,
  SERVE,
  SETTINGS,
  SPEC,
  secret,
  serve,
  type World,
} from './world.ts';

const PROJECT = [PROJECTS, 'items', 0, 'spec'];
const PARAMS = '/api/v1/namespaces/argocd/configmaps/argocd-cmd-params-cm';
const all =
  (...changes: readonly ((world: World) => World)[]) =>
  (world: World): World =>
    changes.reduce((changed, change) => change(changed), world);
const condition = (type: string, status: string, message: string): Json => ({ type, status, message });
const waiting = (name: string, reason: string, message: string): Json => ({
  metadata: { name, namespace: 'argocd', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { nodeName: 'n1' },
  status: {
    phase: 'Pending',
    conditions: [condition('PodScheduled', 'True', '')],
    containerStatuses: [{ name: 'serve', state: { waiting: { reason, message } } }],
  },
});
const killed = (name: string): Json => {
  const terminated = { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T00:00:00Z' };
  const containerStatuses = [{ name: 'serve', state: { running: {} }, lastState: { terminated } }];
  const status = { phase: 'Running', conditions: [condition('Ready', 'True', '')], containerStatuses };
  return { ...waiting(name, '', ''), status };
};
const EVENTS = '/api/v1/namespaces/argocd/events';
const SETS = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applicationsets';
const warning = (name: string, reason: string, message: string, secondsAgo: number): Json => ({
  ...{ reason, message, lastTimestamp: ago(secondsAgo), involvedObject: { kind: 'Pod', name } },
});
const QUOTA =
  'pods "gitea-runners-1" is forbidden: exceeded quota: argocd, requested: pods=1, used: pods=9, limited: pods=9';
const elsewhere = put([PARAMS], { data: { 'application.namespaces': 'team-*' } });

it.each<readonly [string, (world: World) => World, string]>([
  [
    'why a pod of serve does not start',
    all(
      put([SERVE], serve(0)),
      put(
        [PODS, 'items'],
        [waiting('gitea-runners-1', 'CreateContainerConfigError', 'secret "gitea-runners-serve" not found')],
      ),
    ),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: CreateContainerConfigError: secret "gitea-runners-serve" not found\n    make Secret gitea-runners-serve in namespace argocd, or correct the name',
  ],
  [
    'where to raise the memory of a serve that was OOM-killed',
    put([PODS, 'items'], [killed('gitea-runners-1'), killed('gitea-runners-2')]),
    'serve: 1 of 2 ready, argocd-gitea-runners:0.2.0: OOMKilled: container serve ended with exit code 137 (OOMKilled) at 2026-01-01T00:00:00Z\n    give container serve a higher memory limit in install/gitea-runners.yaml (with Helm: serve in the values)\n',
  ],
  [
    'where the requests of a serve stand that fits on no node',
    all(
      put([SERVE], serve(0)),
      put(
        [PODS, 'items'],
        [
          put(['status'], {
            phase: 'Pending',
            conditions: [
              {
                ...condition('PodScheduled', 'False', '0/3 nodes are available: 3 Insufficient cpu.'),
                reason: 'Unschedulable',
              },
            ],
          })(waiting('gitea-runners-1', '', '') as World),
        ],
      ),
    ),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.\n    add a node with room, or lower requests in install/gitea-runners.yaml (with Helm: serve in the values): kubectl describe nodes says what each node lacks',
  ],
  [
    'a container of argocd-repo-server that is not the sidecar',
    all(
      put([REPO_SERVER], repoServer(0)),
      put(
        [PODS, 'items'],
        [
          put(
            ['status', 'initContainerStatuses'],
            [
              {
                name: 'copyutil',
                state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
                lastState: { terminated: { exitCode: 1, reason: 'Error', finishedAt: '2026-01-01T00:00:00Z' } },
              },
            ],
          )(waiting('argocd-repo-server-1', 'PodInitializing', '') as World),
        ],
      ),
    ),
    'sidecar in argocd-repo-server: 0 of 1 ready, for container copyutil and not for the sidecar: CrashLoopBackOff: container copyutil',
  ],
  [
    'which setting a serve may end for',
    all(
      put([SERVE], serve(0)),
      put([SETTINGS], { data: { GITEA_RUNNERS_ARGOCD_URL: 'https://a', GITEA_RUNNERS_POLL: 'often' } }),
      put([PODS, 'items'], [waiting('gitea-runners-1', 'CrashLoopBackOff', 'back-off 10s')]),
    ),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: CrashLoopBackOff: back-off 10s (node n1)\n    First mend environment of both, which is bad above. If it stays so: Its log says why: kubectl -n argocd logs deployment/gitea-runners -c serve --previous\n',
  ],
  [
    'the log of a serve that ends by itself',
    all(put([SERVE], serve(0)), put([PODS, 'items'], [waiting('gitea-runners-1', 'CrashLoopBackOff', 'back-off 10s')])),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: CrashLoopBackOff: back-off 10s (node n1)\n    Its log says why: kubectl -n argocd logs deployment/gitea-runners -c serve --previous\n',
  ],
  [
    'one cause once, whose words name each pod',
    all(
      put([SERVE], serve(0)),
      put(
        [PODS, 'items'],
        [waiting('gitea-runners-1', 'ContainerCreating', ''), waiting('gitea-runners-2', 'ContainerCreating', '')],
      ),
      put([EVENTS], {
        items: ['gitea-runners-1', 'gitea-runners-2'].map((pod) =>
          warning(pod, 'FailedMount', `no volume for "${pod}"`, 5),
        ),
      }),
    ),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: FailedMount: no volume for "gitea-runners-1"\n',
  ],
  [
    'that the plugin fails with the sidecar',
    all(
      put([REPO_SERVER], repoServer(0)),
      put([...APPLICATION, 'status'], {
        conditions: [{ type: 'ComparisonError', message: 'plugin sidecar failed. could not find cmp-server plugin' }],
      }),
    ),
    'Application runners: ComparisonError: plugin sidecar: could not find cmp-server plugin\n    It follows from sidecar in argocd-repo-server, which is bad above: mend that first\n',
  ],
  [
    'why Kubernetes creates no pod of serve',
    put([SERVE, 'status'], { readyReplicas: 1, conditions: [condition('ReplicaFailure', 'True', QUOTA)] }),
    `serve: 1 of 2 ready, argocd-gitea-runners:0.2.0: ${QUOTA}\n`,
  ],
  [
    'why a pod of the repo-server does not start',
    all(
      put([REPO_SERVER], repoServer(0)),
      put(
        [PODS, 'items'],
        [waiting('argocd-repo-server-1', 'ImagePullBackOff', 'Back-off pulling image "x:1": not found')],
      ),
    ),
    'sidecar in argocd-repo-server: 0 of 1 ready, argocd-gitea-runners:0.2.0: ImagePullBackOff: ',
  ],
  [
    'an error of an Application that also lacks an option',
    all(
      put([...APPLICATION, 'spec', 'syncPolicy', 'automated', 'prune'], undefined),
      put([...APPLICATION, 'status'], { conditions: [{ type: 'ComparisonError', message: 'zzz' }] }),
    ),
    'Application runners: ComparisonError: zzz\n    correct what it says, then argocd app get runners --hard-refresh\n✗ Application runners: automated.prune must be true\n    kubectl -n argocd patch',
  ],
  [
    'a fault of Argo CD that serve only guesses at, once',
    all(
      put([...APPLICATION, 'status'], { conditions: [{ type: 'ComparisonError', message: 'zzz' }] }),
      put([...GROUP, 'status', 'conditions'], [{ ...ready('False'), reason: 'PlanDiffers', message: 'no' }]),
    ),
    'RunnerGroup runners/ci, as serve sees it: PlanDiffers: no\n    It follows from Application runners, which is bad above: mend that first\n',
  ],
  [
    'which right of the account makes wakes fail',
    all(
      put([RBAC, 'data', 'policy.gitea-runners.csv'], 'p, gitea-runners, applications, get, runners/*, allow\n'),
      put(
        [...GROUP, 'status', 'conditions'],
        [{ ...ready('False'), reason: 'WakeFailed', message: 'GR-ARGOCD-04 no' }],
      ),
    ),
    'RunnerGroup runners/ci, as serve sees it: WakeFailed: GR-ARGOCD-04 no\n    It follows from rights in Argo CD, which is bad above: mend that first\n',
  ],
  [
    'why an ApplicationSet makes no Applications',
    put([SETS], {
      items: [
        {
          metadata: { name: 'runners' },
          spec: { template: { metadata: {}, spec: { source: { plugin: { name: 'gitea-runners' } } } } },
          status: { conditions: [condition('ErrorOccurred', 'True', 'error listing folders: zzz')] },
        },
        { metadata: { name: 'web' }, spec: { template: { spec: {} } }, status: {} },
      ],
    }),
    'ApplicationSet runners: makes no Applications now: error listing folders: zzz\n    Correct what it says: kubectl -n argocd describe applicationsets runners\n',
  ],
  [
    'what the events of a pod of serve say, where its status says nothing',
    all(
      put([SERVE], serve(0)),
      put([PODS, 'items'], [waiting('gitea-runners-1', 'ContainerCreating', '')]),
      put([EVENTS], {
        items: [
          warning(
            'gitea-runners-1',
            'FailedMount',
            'MountVolume.SetUp failed for volume "x" : secret "gitea-api" not found',
            5,
          ),
          warning('gitea-runners-1', 'FailedMount', 'an older one', 900),
          warning('argocd-server-1', 'Unhealthy', 'of another pod', 1),
        ],
      }),
    ),
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: FailedMount: MountVolume.SetUp failed for volume "x" : secret "gitea-api" not found\n    make the Secret',
  ],
  [
    'that a bound token needs no other token',
    put([API_TOKEN], secret({ token: 'x', url: 'https://other.example.com' })),
    'RunnerGroup runners/ci: API token: GR-TOKEN-05 ',
  ],
])('doctor tells %s', async (_, change, told) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  expect(stdout).toContain(`✗ ${told}`);
  expect(stdout).not.toContain('Make a token');
});

const DRIFTED = {
  resources: [{ group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci', status: 'OutOfSync' }],
};

const TOLD = ['SharedResourceWarning', 'ExcludedResourceWarning'].map((type) => ({ type, message: `zzz ${type}` }));

it.each<readonly [string, (world: World) => World, readonly string[]]>([
  [
    'each warning of an Application',
    put([...APPLICATION, 'status'], { conditions: TOLD }),
    [
      'Application runners: Argo CD says SharedResourceWarning: zzz SharedResourceWarning; ExcludedResourceWarning: zzz ExcludedResourceWarning',
    ],
  ],
  [
    'an Application that nothing compares',
    all(
      put([...APPLICATION, 'status'], { reconciledAt: '2026-01-01T00:00:00Z' }),
      put([...APPLICATION, 'metadata', 'annotations', 'argocd.argoproj.io/refresh'], 'hard'),
    ),
    [
      'Application runners: Application argocd/runners: a refresh is asked for. Argo CD last compared it at 2026-01-01T00:00:00Z\n    see whether argocd-application-controller runs',
    ],
  ],
  [
    'an Application that may be in another namespace',
    all(elsewhere, put([APPLICATIONS], { items: [] })),
    [
      'Application: no Application of namespace argocd has the plugin gitea-runners; namespaces team-* (application.namespaces) are not looked at',
    ],
  ],
  [
    'an Application of a namespace with RunnerGroups that may be in another namespace',
    all(
      elsewhere,
      put([...APPLICATION, 'spec', 'destination', 'namespace'], 'other'),
      put([PROJECTS, 'items', 0, 'spec', 'destinations', 0, 'namespace'], '*'),
    ),
    [
      'Application: none has the destination namespace runners, which has RunnerGroups; namespaces team-* (application.namespaces)',
    ],
  ],
  [
    'a RunnerGroup that git has in another way, and that starts no runners here',
    all(put([...APPLICATION, 'status'], DRIFTED), put([...SPEC, 'maxActiveRunners'], 0)),
    [
      'Application runners: RunnerGroup runners/ci differs from git\n    argocd app diff runners shows how. If it stays so: argocd app sync runners\n',
      'RunnerGroup runners/ci: it starts no runners: spec.maxActiveRunners is 0\n    If it should start some: correct it in git. If git has another value, sync its Application\n',
    ],
  ],
  [
    'sync windows of its project, which serve obeys unless they have manualSync',
    put(
      [...PROJECT, 'syncWindows'],
      [
        { kind: 'deny', schedule: '* * * * *', duration: '24h', applications: ['*'] },
        { kind: 'deny', schedule: '0 1 * * *', duration: '2h', applications: ['*'], manualSync: true },
        { kind: 'deny', schedule: '0 2 * * *', duration: '2h', applications: ['web'], namespaces: ['web-*'] },
        { kind: 'deny', schedule: '0 3 * * *', duration: '2h', clusters: ['*'], namespaces: ['x'], andOperator: true },
        { kind: 'allow', schedule: '0 3 1 1 *', duration: '1h', timeZone: 'Europe/Zurich', namespaces: ['run*'] },
      ],
    ),
    [
      'projects in Argo CD: project runners: in its deny windows (* * * * * UTC for 24h) no sync goes through, not even by hand: no runner starts then\n    argocd proj windows list runners shows',
      'projects in Argo CD: project runners: outside of its allow windows (0 3 1 1 * Europe/Zurich for 1h) no sync goes',
    ],
  ],
  [
    'signed commits, before a comparison has proven them',
    put([...PROJECT, 'signatureKeys'], [{ keyID: '4AEE18F83AFDEB23' }]),
    ['projects in Argo CD: project runners: Argo CD syncs signed commits only (signatureKeys, sourceIntegrity)\n'],
  ],
  [
    'a suspended RunnerGroup',
    put([...SPEC, 'suspend'], true),
    ['RunnerGroup runners/ci: it starts no runners: spec.suspend is set\n'],
  ],
  [
    'an Application for another cluster',
    put([...APPLICATION, 'spec', 'destination'], { name: 'prod', namespace: 'runners' }),
    ['Application runners: it deploys to cluster prod, which is not looked at'],
  ],
])('doctor cannot judge %s, says so, and does not call that bad', async (_, change, told) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(0);
  for (const each of told) expect(stdout).toContain(`? ${each}`);
});

it.each([true, false])('doctor says whom to ask for commands that you may not run (you may: %s)', async (allowed) => {
  const change = all(put([SERVE, 'spec', 'replicas'], 0), put([OWN_REVIEW], { status: { allowed } }));
  const { run } = await examine(change);

  const { stdout } = await run();

  expect(stdout).toContain('kubectl -n argocd scale deployment/gitea-runners --replicas=2');
  expect(stdout.endsWith('ask one to run the commands that change it.\n')).toBe(!allowed);
});
