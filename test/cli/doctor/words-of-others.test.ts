/** What Kubernetes and Argo CD say of their objects, in their words, and what doctor cannot see. */
import { expect, it } from 'vitest';
import {
  APPLICATION,
  APPLICATIONS,
  examine,
  type Json,
  PODS,
  PROJECTS,
  put,
  REPO_SERVER,
  repoServer,
  SERVE,
  serve,
  type World,
} from './world.ts';

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
    'serve: 0 of 2 ready, argocd-gitea-runners:0.2.0: CreateContainerConfigError: secret "gitea-runners-serve" not found\n    make Secret gitea-runners-serve',
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
    'Application runners: automated.prune must be true; ComparisonError: zzz\n',
  ],
])('doctor tells %s', async (_, change, told) => {
  const { run } = await examine(change);

  const { code, stdout } = await run();

  expect(code, stdout).toBe(1);
  expect(stdout).toContain(`✗ ${told}`);
});

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
