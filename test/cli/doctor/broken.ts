/** Installations where one thing is missing or broken. */
import {
  API_TOKEN,
  APPLICATION,
  APPLICATIONS,
  at,
  CM,
  COMPARED,
  CONTAINER,
  CRD,
  condition,
  DEPLOYMENTS,
  GROUP,
  GROUPS,
  HOOKS,
  type Json,
  LEASE,
  METRICS,
  manifest,
  metrics,
  NAMESPACE,
  NODES,
  PROJECTS,
  put,
  RBAC,
  REGISTRATION,
  REPO_SERVER,
  REPOSITORIES,
  REVIEWS,
  repoServer,
  SERVE,
  SERVE_SECRET,
  SERVICE,
  SPEC,
  secret,
  serve,
  type World,
  without,
} from './world.ts';

/** Change that adds a RunnerGroup to the Application. */
const WITH_GROUP = { resources: [{ group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci' }] };
const LONG_AGO = '2026-01-01T00:00:00Z';
const CM_DATA = [CM, 'data'];
const ENFORCE = [NAMESPACE, 'metadata', 'labels', 'pod-security.kubernetes.io/enforce'];
const PROJECT = [PROJECTS, 'items', 0, 'spec'];
const SYNC_POLICY = [...APPLICATION, 'spec', 'syncPolicy'];
const FIELDS = ['spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties'];

const all =
  (...changes: readonly ((world: World) => World)[]) =>
  (world: World): World =>
    changes.reduce((changed, change) => change(changed), world);

/** A token that Gitea does not know, for the right one. */
export function wrongToken(world: World): World {
  const { url } = at(world[GROUPS], 'items', 0, 'spec', 'gitea');
  return put([API_TOKEN], secret({ token: 'wrong', url: String(url) }))(world);
}

const withoutMount =
  (isIt: (mount: Json) => boolean) =>
  (world: World): World => {
    const container = at(world[REPO_SERVER], 'spec', 'template', 'spec', 'containers', 0);
    const mounts = container['volumeMounts'] as readonly Json[];
    return put(
      [...CONTAINER, 'volumeMounts'],
      mounts.filter((mount) => !isIt(mount)),
    )(world);
  };

/** Each row: the fault, its change of the world, the message after the cross, and a word of the advice. */
export const BROKEN: readonly (readonly [string, (world: World) => World, string, string])[] = [
  ['no CRD', without(CRD), 'CustomResourceDefinition: it does not exist', 'install/crd.yaml'],
  [
    'an older CRD',
    put([CRD, ...FIELDS, 'podTemplate'], undefined),
    'CustomResourceDefinition: is older than this program: it lacks podTemplate',
    'install/crd.yaml',
  ],
  [
    'a CRD that is being deleted',
    put([CRD, 'metadata', 'deletionTimestamp'], LONG_AGO),
    'CustomResourceDefinition: it is being deleted, and all RunnerGroups with it',
    'install/crd.yaml',
  ],
  [
    'a CRD that serves another version only',
    put([CRD, 'spec', 'versions', 0, 'served'], false),
    'CustomResourceDefinition: it is of another product: it serves no gitea.bpg.pw/v1alpha1',
    'install/crd.yaml',
  ],
  [
    'a CRD with the webhook of another product',
    put([CRD, 'spec', 'conversion'], { strategy: 'Webhook' }),
    'CustomResourceDefinition: it is of another product: a conversion webhook stands before it',
    'install/crd.yaml',
  ],
  [
    'Argo CD by the names of a Helm release',
    all(
      put([DEPLOYMENTS], {
        items: [
          {
            ...repoServer(),
            metadata: { name: 'cd-repo-server', labels: { 'app.kubernetes.io/component': 'repo-server' } },
          },
        ],
      }),
      without(REPO_SERVER),
    ),
    'sidecar in argocd-repo-server: it does not exist',
    'it has the name cd-repo-server',
  ],
  ['no Argo CD', without(REPO_SERVER), 'sidecar in argocd-repo-server: it does not exist', 'Argo CD'],
  [
    'no sidecar',
    put([REPO_SERVER, 'spec', 'template', 'spec', 'containers'], []),
    'sidecar in argocd-repo-server: there is no container gitea-runners',
    'step 1',
  ],
  [
    'a sidecar that does not start',
    put([REPO_SERVER], repoServer(0)),
    'sidecar in argocd-repo-server: 0 of 1 ready',
    'describe pods',
  ],
  [
    'a roll-out of the sidecar that is stuck while older pods are ready',
    all(
      put([REPO_SERVER, 'metadata', 'generation'], 3),
      put([REPO_SERVER, 'status'], {
        ...{ observedGeneration: 3, readyReplicas: 2, updatedReplicas: 0 },
        conditions: [{ type: 'Progressing', status: 'False', message: 'ReplicaSet "r" has timed out progressing.' }],
      }),
    ),
    'sidecar in argocd-repo-server: 0 of 1 pods are of the newest template: ReplicaSet "r" has timed out progressing.',
    'describe pods',
  ],
  ['no serve', without(SERVE), 'serve: it does not exist', 'step 1'],
  ['serve that does not start', put([SERVE], serve(0)), 'serve: 0 of 2 ready', 'describe pods'],
  [
    'a leader that is dead',
    put([LEASE, 'spec', 'renewTime'], '2026-01-01T00:00:00Z'),
    'leader of serve: gitea-runners-1 does not renew its Lease',
    'logs',
  ],
  [
    'no account',
    put([CM, 'data', 'accounts.gitea-runners'], undefined),
    'account in Argo CD: argocd-cm has no accounts.gitea-runners',
    'install/argocd-cm.yaml',
  ],
  [
    'an account that can have no token',
    put([CM, 'data', 'accounts.gitea-runners'], 'login'),
    'account in Argo CD: accounts.gitea-runners is login',
    'install/argocd-cm.yaml',
  ],
  [
    'an account that is switched off',
    put([CM, 'data', 'accounts.gitea-runners.enabled'], 'false'),
    'account in Argo CD: argocd-cm has accounts.gitea-runners.enabled: false, so Argo CD refuses its token',
    'Remove that line',
  ],
  [
    'a line that denies the account what it needs',
    put([RBAC, 'data', 'policy.csv'], 'p, gitea-runners, applications, sync, */*, deny\n'),
    'rights in Argo CD: the line "p, gitea-runners, applications, sync, */*, deny" denies what it needs',
    'Remove this line',
  ],
  [
    'a line that denies a role of the account what it needs',
    put([RBAC, 'data', 'policy.csv'], 'g, gitea-runners, role:ci\np, role:ci, applications, *, runners/*, deny\n'),
    'rights in Argo CD: the line "p, role:ci, applications, *, runners/*, deny" denies what it needs',
    'Remove this line',
  ],
  [
    'everybody an administrator of Argo CD',
    put([RBAC, 'data', 'policy.default'], 'role:admin'),
    'rights in Argo CD: gitea-runners may do more than it needs: policy.default: role:admin',
    'Remove these lines',
  ],
  [
    'a project without Jobs',
    put([...PROJECT, 'namespaceResourceWhitelist'], [{ group: 'gitea.bpg.pw', kind: 'RunnerGroup' }]),
    'projects in Argo CD: project runners: it does not allow batch/Job (GROUP/KIND) in namespaces',
    'edit appproject runners',
  ],
  [
    'a project that denies Jobs',
    put([...PROJECT, 'namespaceResourceBlacklist'], [{ group: 'batch', kind: '*' }]),
    'projects in Argo CD: project runners: it does not allow batch/Job (GROUP/KIND) in namespaces',
    'edit appproject runners',
  ],
  [
    'a project of another repository',
    put([...PROJECT, 'sourceRepos'], ['https://gitea.example.com/*', '!https://gitea.example.com/ops/*']),
    'projects in Argo CD: project runners: its sourceRepos do not allow https://gitea.example.com/ops/runners.git',
    'edit appproject runners',
  ],
  [
    'a project without the account that Argo CD is to be',
    all(
      put([...CM_DATA, 'application.sync.impersonation.enabled'], 'true'),
      put([...PROJECT, 'destinationServiceAccounts'], [{ server: '*', namespace: 'web', defaultServiceAccount: 'x' }]),
    ),
    'projects in Argo CD: project runners: it has no destinationServiceAccounts for namespace runners, which application',
    'edit appproject runners',
  ],
  [
    'a project of another destination',
    put([...PROJECT, 'destinations', 0, 'namespace'], 'ci'),
    'projects in Argo CD: project runners: it lacks the destination runners',
    'edit appproject runners',
  ],
  [
    'no project',
    put([PROJECTS, 'items'], []),
    'projects in Argo CD: project runners: it does not exist, and an Application is of it',
    'install/examples/project.yaml',
  ],
  [
    'an account without the right to sync',
    put([RBAC, 'data', 'policy.gitea-runners.csv'], 'p, gitea-runners, applications, get, runners/*, allow\n'),
    'rights in Argo CD: gitea-runners may not sync Applications',
    'install/argocd-rbac-cm.yaml',
  ],
  [
    'an account that may do more',
    put([RBAC, 'data', 'policy.csv'], 'g, gitea-runners, role:admin\n'),
    'rights in Argo CD: gitea-runners may do more than it needs: g, gitea-runners, role:admin',
    'argocd-rbac-cm',
  ],
  [
    'an Argo CD that tracks by a label that nobody has told us',
    all(
      put([...CM_DATA, 'application.resourceTrackingMethod'], 'label'),
      put([...CM_DATA, 'application.instanceLabelKey'], 'a/b'),
    ),
    'tracking in Argo CD: by label a/b, but we read app.kubernetes.io/instance',
    'GITEA_RUNNERS_TRACKING_LABEL: a/b',
  ],
  [
    'an Argo CD that does not see Jobs',
    put([CM, 'data', 'resource.exclusions'], '- apiGroups: ["batch*"]\n  kinds: [Job]\n  clusters: ["*"]\n'),
    'what Argo CD watches: resource.exclusions or resource.inclusions of argocd-cm leave out batch/Job',
    'edit configmap argocd-cm',
  ],
  [
    'an Argo CD that sees few kinds',
    put([CM, 'data', 'resource.inclusions'], '- kinds: [Job]\n'),
    'what Argo CD watches: resource.exclusions or resource.inclusions of argocd-cm leave out gitea.bpg.pw/RunnerGroup',
    'edit configmap argocd-cm',
  ],
  ...['PruneLast=true', 'Replace=true', 'Force=true', 'Prune=false', 'Prune=confirm'].map((option) => {
    const options = manifest('examples/application.yaml')['spec'] as { readonly syncPolicy: { syncOptions: string[] } };
    const more = put([...SYNC_POLICY, 'syncOptions'], [option, ...options.syncPolicy.syncOptions]);
    return [
      `an option of a template: ${option}`,
      more,
      `Application runners: ${option} must go: `,
      '--type=merge',
    ] as const;
  }),
  [
    'an Application whose sync is switched off in place',
    all(
      put([...SYNC_POLICY, 'automated', 'enabled'], false),
      put([...APPLICATION, 'status'], {
        resources: [
          { group: 'gitea.bpg.pw', kind: 'RunnerGroup', namespace: 'runners', name: 'ci', status: 'OutOfSync' },
        ],
      }),
    ),
    'Application runners: its automated sync is off: automated.enabled must not be false; RunnerGroup runners/ci differs from git',
    '"enabled":null',
  ],
  [
    'an Application that is left alone',
    put([...APPLICATION, 'metadata', 'annotations', 'argocd.argoproj.io/skip-reconcile'], 'true'),
    'Application runners: annotation argocd.argoproj.io/skip-reconcile must go',
    '"argocd.argoproj.io/skip-reconcile":null',
  ],
  [
    'an Application that keeps the output of an older commit',
    put([...APPLICATION, 'metadata', 'annotations', 'argocd.argoproj.io/manifest-generate-paths'], '.'),
    'Application runners: annotation argocd.argoproj.io/manifest-generate-paths must go',
    '"argocd.argoproj.io/manifest-generate-paths":null',
  ],
  [
    'a source hydrator',
    all(
      put([...APPLICATION, 'spec', 'source'], undefined),
      put([...APPLICATION, 'spec', 'sourceHydrator'], { drySource: { plugin: { name: 'gitea-runners' } } }),
    ),
    'Application runners: its source hydrator commits what is printed',
    '/docs/beside-argo-cd.md#sources',
  ],
  [
    'a sync that has failed',
    put([...APPLICATION, 'status'], {
      operationState: {
        phase: 'Failed',
        message: 'jobs.batch is forbidden: exceeded quota: jobs',
        startedAt: LONG_AGO,
      },
    }),
    'Application runners: Argo CD does not sync Application argocd/runners: its last sync has ended with Failed: jobs.batch is forbidden: exceeded quota: jobs',
    'raise that quota',
  ],
  [
    'an Application that is being deleted',
    put([...APPLICATION, 'metadata', 'deletionTimestamp'], LONG_AGO),
    'Application runners: Argo CD does not sync Application argocd/runners: Deleting: somebody deleted it at 2026-01-01T00:00:00Z',
    'Create it again when it is gone',
  ],
  [
    'a controller that takes up no operation',
    all(put([...APPLICATION, 'operation'], { sync: {} }), put([...APPLICATION, 'status'], { reconciledAt: LONG_AGO })),
    'Application runners: Application argocd/runners: an operation is asked for and has not begun. Argo CD last compared it',
    'see whether argocd-application-controller runs',
  ],
  [
    'a sync that does not end',
    all(
      put([...APPLICATION, 'operation'], { sync: {} }),
      put([...APPLICATION, 'status'], { operationState: { phase: 'Running', message: 'zzz', startedAt: LONG_AGO } }),
    ),
    'Application runners: Argo CD says: an operation has been Running since 2026-01-01T00:00:00Z: zzz. For ',
    'argocd app terminate-op runners',
  ],
  [
    'no namespace',
    without(NAMESPACE),
    'RunnerGroup runners/ci: namespace runners does not exist',
    'kubectl create namespace runners',
  ],
  [
    'a RunnerGroup that serve does not know, and this program does',
    put([...GROUP, 'status', 'conditions'], [{ ...condition('False'), reason: 'InvalidSpec', message: 'spec.zzz' }]),
    'RunnerGroup runners/ci, as serve sees it: InvalidSpec: spec.zzz',
    'so serve is of another version',
  ],
  [
    'an Application of RunnerGroups without the plugin',
    all(put([...APPLICATION, 'spec', 'source'], { path: '.' }), put([...APPLICATION, 'status'], WITH_GROUP)),
    'Application runners: it has RunnerGroups, and no source with the plugin gitea-runners',
    '/docs/beside-argo-cd.md#sources',
  ],
  [
    'two sources with the plugin',
    (world) => {
      const { source } = at(world[APPLICATIONS], 'items', 0, 'spec');
      return put([...APPLICATION, 'spec', 'sources'], [source, source])(world);
    },
    'Application runners: 2 of its sources have the plugin',
    '/docs/beside-argo-cd.md#sources',
  ],
  [
    'two Applications with one RunnerGroup',
    (world) => {
      const [one] = at(world[APPLICATIONS], 'items') as unknown as readonly [Json];
      const two = { ...one, metadata: { ...(one['metadata'] as object), name: 'more' } };
      return put([APPLICATIONS], { items: [one, two].map((each) => ({ ...each, status: WITH_GROUP })) })(world);
    },
    'Application: runners and more both have RunnerGroup runners/ci',
    'one of them',
  ],
  [
    'no Application',
    put([APPLICATIONS], { items: [] }),
    'Application: no Application of namespace argocd has the plugin',
    'step 3',
  ],
  [
    'an Application without automated sync',
    put([...SYNC_POLICY, 'automated'], undefined),
    'Application runners: its automated sync is off: syncPolicy.automated is missing',
    'kubectl -n argocd patch application runners --type=merge',
  ],
  [
    'an Application that does not prune',
    put([...SYNC_POLICY, 'automated', 'prune'], undefined),
    'Application runners: automated.prune must be true',
    'kubectl -n argocd patch application runners --type=merge',
  ],
  [
    'an Application that heals itself, and prunes in the foreground',
    all(
      put([...SYNC_POLICY, 'automated', 'selfHeal'], true),
      put([...SYNC_POLICY, 'syncOptions', 0], 'PrunePropagationPolicy=foreground'),
    ),
    'Application runners: automated.selfHeal must not be true; PrunePropagationPolicy=background is missing',
    '"selfHeal":null',
  ],
  [
    'an Application that Argo CD 3.6 would stop, with an option of its own',
    put([...APPLICATION, 'metadata', 'annotations'], {
      'argocd.argoproj.io/compare-options': 'IncludeMutationWebhook=true,ServerSideDiff=true',
    }),
    'Application runners: annotation argocd.argoproj.io/compare-options: ServerSideDiff=false is missing',
    '"IncludeMutationWebhook=true,ServerSideDiff=false"',
  ],
  [
    'an Application with an error',
    put([...APPLICATION, 'status'], { conditions: [{ type: 'ComparisonError', message: 'GR-TOKEN-01' }] }),
    'Application runners: ComparisonError: GR-TOKEN-01',
    'docs/errors.md',
  ],
  [
    'an Application for another namespace',
    all(
      put([...APPLICATION, 'spec', 'destination', 'namespace'], 'other'),
      put([...PROJECT, 'destinations', 0, 'namespace'], '*'),
    ),
    'Application: none has the destination namespace runners',
    'Make an Application',
  ],
  [
    'a sidecar whose plugin Argo CD cannot see',
    all(
      withoutMount(({ mountPath }) => mountPath === '/home/argocd/cmp-server/plugins'),
      put([...CONTAINER, 'command'], ['/usr/bin/tini', '--', 'sh']),
    ),
    'sidecar in argocd-repo-server: Argo CD cannot know the plugin: no /home/argocd/cmp-server/plugins; its command is not ',
    'step 1',
  ],
  [
    'serve of another image than the sidecar',
    put([SERVE, 'spec', 'template', 'spec', 'containers', 0, 'image'], 'argocd-gitea-runners:0.0.9'),
    'serve: its image is argocd-gitea-runners:0.0.9, and that of the sidecar ',
    'step 1',
  ],
  [
    'serve with 0 replicas',
    put([SERVE, 'spec', 'replicas'], 0),
    'serve: it has 0 replicas',
    'kubectl -n argocd scale deployment/gitea-runners --replicas=2',
  ],
  ['no Secret of serve', without(SERVE_SECRET), 'Secret of serve: it does not exist', 'step 2'],
  [
    "no value for Argo CD's token",
    put([SERVE_SECRET], secret({ 'argocd-token': '\n', 'webhook-secret': 'x' })),
    'Secret of serve: has no value at argocd-token',
    'step 2',
  ],
  ['no Service', without(SERVICE), 'Service for webhooks: it does not exist', 'install/gitea-runners.yaml'],
  [
    'a sidecar that may not list pods, and serve neither',
    put([REVIEWS], 'list pods'),
    'rights in Kubernetes: sidecar in namespace runners may not list pods',
    'install/runners.yaml',
  ],
  [
    'serve that registers runners and may not create their Secrets',
    all(put([REVIEWS], 'create secrets'), put([...SPEC, 'registration'], { by: 'serve' })),
    'rights in Kubernetes: serve in namespace runners may not create secrets, but registers runners there',
    'install/runner-credentials.yaml',
  ],
  [
    'accounts that may make Jobs',
    put([REVIEWS], 'create jobs'),
    'rights in Kubernetes: sidecar in namespace runners may create jobs.batch, which it never needs',
    'Remove the binding',
  ],
  [
    'an Application of another project',
    all(
      put([...APPLICATION, 'spec', 'project'], 'default'),
      put([PROJECTS, 'items', 0, 'metadata', 'name'], 'default'),
    ),
    'rights in Argo CD: gitea-runners may not get and sync default/runners',
    'kubectl -n argocd edit configmap argocd-rbac-cm',
  ],
  [
    'a RunnerGroup that is not valid',
    put([...SPEC, 'org'], undefined),
    'RunnerGroup runners/ci: ',
    'gitea-runners validate',
  ],
  [
    'a namespace that admits no privileged pods',
    all(put([...SPEC, 'containerMode'], 'dind'), put([...SPEC, 'labels'], ['linux']), put(ENFORCE, 'restricted')),
    'RunnerGroup runners/ci: namespace runners enforces restricted, and its pods need privileged',
    'kubectl label --overwrite namespace runners pod-security.kubernetes.io/enforce=privileged',
  ],
  [
    'a namespace that admits no unconfined BuildKit',
    all(put([...SPEC, 'containerMode'], 'buildkit'), put(ENFORCE, 'baseline')),
    'RunnerGroup runners/ci: namespace runners enforces baseline, and its pods need privileged',
    'or use securityProfile: baseline',
  ],
  [
    'nodes without user namespaces',
    put([...SPEC, 'podTemplate'], { spec: { hostUsers: false } }),
    'RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with no user namespaces',
    'correct podTemplate in git, or label, untaint',
  ],
  [
    'nodes that are ill',
    put([NODES, 'items', 0, 'spec', 'taints'], [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }]),
    'RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with taint node.kubernetes.io/disk-pressure:NoSchedule',
    'mend those nodes',
  ],
  [
    'nodes whose network agent is not ready',
    put([NODES, 'items', 0, 'spec', 'taints'], [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' }]),
    'RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with taint node.cilium.io/agent-not-ready:NoSchedule',
    'a toleration does not help',
  ],
  [
    'a device plugin that offers nothing',
    all(
      put([...SPEC, 'resources'], { limits: { 'nvidia.com/gpu': 1 } }),
      put([NODES, 'items', 0, 'status', 'capacity'], { 'nvidia.com/gpu': '4' }),
      put([NODES, 'items', 0, 'status', 'allocatable', 'nvidia.com/gpu'], '0'),
    ),
    'RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with nvidia.com/gpu: 0 of 4 offered, too little',
    'device plugin',
  ],
  [
    'nodes that are too small for a size',
    put(
      [...SPEC, 'sizes'],
      [{ name: 'small' }, { name: 'large', weight: 2, resources: { requests: { cpu: '1000' } } }],
    ),
    'RunnerGroup runners/ci, size large, nodes: none of 1 can take its pod: 1 with cpu',
    'correct podTemplate in git',
  ],
  [
    'a namespace that is being deleted',
    put([NAMESPACE, 'metadata', 'deletionTimestamp'], '2026-01-01T00:00:00Z'),
    'RunnerGroup runners/ci: namespace runners is being deleted: it takes no Jobs',
    'kubectl create namespace runners',
  ],
  [
    'no registration Secret',
    without(REGISTRATION),
    'RunnerGroup runners/ci: Secret gitea-runner: it does not exist',
    'step 2',
  ],
  [
    'an empty registration Secret',
    put([REGISTRATION], secret({ 'registration-token': ' ', token: '' })),
    'RunnerGroup runners/ci: Secret gitea-runner has no value at',
    'step 2',
  ],
  [
    'a line break behind the registration token',
    put([REGISTRATION, 'data', 'token'], Buffer.from('registration\n').toString('base64')),
    'RunnerGroup runners/ci: Secret gitea-runner has a line break at the end of token, and Gitea refuses',
    'printf %s',
  ],
  [
    'a registration Secret of another Gitea',
    put([REGISTRATION], secret({ token: 'x', 'registration-token': 'x', url: 'https://other.example.com' })),
    'RunnerGroup runners/ci: Secret gitea-runner is for another Gitea than',
    'gitea.url',
  ],
  ['a token that Gitea refuses', wrongToken, 'Gitea, org acme: GR-GITEA-01 ', 'docs/errors.md'],
  [
    'a Secret without the key of the API token',
    put([API_TOKEN], secret({ other: 'x' })),
    'RunnerGroup runners/ci: API token: GR-TOKEN-08 find the API token of RunnerGroup runners/ci: Secret gitea-api of namespace argocd has no key token',
    'step 1',
  ],
  [
    'no Secret with the API token',
    without(API_TOKEN),
    'RunnerGroup runners/ci: API token: GR-TOKEN-10 ',
    '/docs/install.md#install-three-steps',
  ],
  [
    'a Secret with the API token that is not mounted',
    withoutMount(({ name }) => name === 'gitea-runners-api'),
    'RunnerGroup runners/ci: API token: GR-DOCTOR-02 ',
    'Correct authToken in git.',
  ],
  [
    'a registration token of another scope',
    put([COMPARED], { token: 'that-of-acme' }),
    'RunnerGroup runners/ci: Secret gitea-runner has not the registration token of its scope',
    'step 2',
  ],
  [
    'Actions that are off everywhere',
    put([REPOSITORIES], [{ full_name: 'acme/web', has_actions: false }]),
    'Actions of org acme: they are off in acme/web',
    'Units',
  ],
  [
    'a group that serve cannot serve',
    put([...GROUP, 'status', 'conditions'], [condition('False')]),
    'RunnerGroup runners/ci, as serve sees it: GiteaFailed: GR-HTTP-01 no answer',
    'see GR-HTTP-01 in https://gitea.example.com/example/argocd-gitea-runners/src/branch/main/docs/errors.md',
  ],
  [
    'a group that serve cannot serve, without a code',
    put([...GROUP, 'status', 'conditions'], [{ ...condition('False'), message: 'zzz' }]),
    'RunnerGroup runners/ci, as serve sees it: GiteaFailed: zzz',
    'docs/serve.md',
  ],
  [
    'a group that serve never looked at',
    put([...GROUP, 'status'], undefined),
    'RunnerGroup runners/ci, as serve sees it: it was never looked at',
    'GITEA_RUNNERS_NAMESPACES must name runners',
  ],
  [
    'a group that serve has not looked at for long',
    put([...GROUP, 'status', 'lastCheckTime'], '2026-01-01T00:00:00Z'),
    'RunnerGroup runners/ci, as serve sees it: Gitea was last looked at 2026-01-01T00:00:00Z',
    'docs/serve.md',
  ],
  [
    'no webhook',
    all(put([HOOKS], []), put([METRICS], metrics(1_700_000_000, {}))),
    'webhook of org acme: there is none',
    'docs/install.md',
  ],
];
