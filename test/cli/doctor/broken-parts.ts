/** Installations whose parts in the cluster lack or break one thing. */
import {
  APPLICATIONS,
  at,
  CM,
  CRD,
  edit,
  LEASE,
  RBAC,
  REPO_SERVER,
  REVIEWS,
  repoServer,
  SERVE,
  SERVE_SECRET,
  SERVICE,
  secret,
  serve,
  type World,
  without,
} from './world.ts';

/** What is broken, what the cross says, and a word of the advice. */
export const BROKEN_PARTS: readonly (readonly [string, (world: World) => World, string, string])[] = [
  ['no CRD', without(CRD), '✗ CustomResourceDefinition: it does not exist', 'install/crd.yaml'],
  [
    'an older CRD',
    edit(
      CRD,
      (crd) =>
        delete at(crd, 'spec', 'versions', 0, 'schema', 'openAPIV3Schema', 'properties', 'spec', 'properties')[
          'podTemplate'
        ],
    ),
    '✗ CustomResourceDefinition: is older than this program: it lacks podTemplate',
    'install/crd.yaml',
  ],
  ['no Argo CD', without(REPO_SERVER), '✗ sidecar in argocd-repo-server: it does not exist', 'Argo CD'],
  [
    'no sidecar',
    edit(REPO_SERVER, (found) => {
      at(found, 'spec', 'template', 'spec')['containers'] = [];
    }),
    '✗ sidecar in argocd-repo-server: there is no container gitea-runners',
    'step 1',
  ],
  [
    'a sidecar that does not start',
    (world) => ({ ...world, [REPO_SERVER]: repoServer(0) }),
    '✗ sidecar in argocd-repo-server: 0 of 1 ready',
    'describe pods',
  ],
  ['no serve', without(SERVE), '✗ serve: it does not exist', 'step 1'],
  ['serve that does not start', (world) => ({ ...world, [SERVE]: serve(0) }), '✗ serve: 0 of 2 ready', 'describe pods'],
  [
    'a leader that is dead',
    (world) => ({
      ...world,
      [LEASE]: { spec: { holderIdentity: 'gitea-runners-1', renewTime: '2026-01-01T00:00:00Z' } },
    }),
    '✗ leader of serve: gitea-runners-1 does not renew its Lease',
    'logs',
  ],
  [
    'no account',
    edit(CM, (cm) => delete at(cm, 'data')['accounts.gitea-runners']),
    '✗ account in Argo CD: argocd-cm has no accounts.gitea-runners',
    'install/argocd-cm.yaml',
  ],
  [
    'an account that can have no token',
    edit(CM, (cm) => {
      at(cm, 'data')['accounts.gitea-runners'] = 'login';
    }),
    '✗ account in Argo CD: accounts.gitea-runners is login',
    'install/argocd-cm.yaml',
  ],
  [
    'an account without the right to sync',
    edit(RBAC, (cm) => {
      at(cm, 'data')['policy.gitea-runners.csv'] = 'p, gitea-runners, applications, get, runners/*, allow\n';
    }),
    '✗ rights in Argo CD: gitea-runners may not sync Applications',
    'install/argocd-rbac-cm.yaml',
  ],
  [
    'an account that may do more',
    edit(RBAC, (cm) => {
      at(cm, 'data')['policy.csv'] = 'g, gitea-runners, role:admin\n';
    }),
    '✗ rights in Argo CD: gitea-runners may do more than it needs: g, gitea-runners, role:admin',
    'argocd-rbac-cm',
  ],
  [
    'no Application',
    (world) => ({ ...world, [APPLICATIONS]: { items: [] } }),
    '✗ Application: no Application has the plugin',
    'step 3',
  ],
  [
    'an Application that does not prune',
    edit(APPLICATIONS, (list) => delete at(list, 'items', 0, 'spec', 'syncPolicy', 'automated')['prune']),
    '✗ Application runners: automated.prune must be true',
    'kubectl -n argocd patch application runners --type=merge',
  ],
  [
    'an Application that heals itself, and prunes in the foreground',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec', 'syncPolicy', 'automated')['selfHeal'] = true;
      at(list, 'items', 0, 'spec', 'syncPolicy')['syncOptions'] = [
        'ServerSideApply=true',
        'ApplyOutOfSyncOnly=true',
        'RespectIgnoreDifferences=true',
      ];
    }),
    '✗ Application runners: automated.selfHeal must not be true; PrunePropagationPolicy=background is missing',
    '"selfHeal":null',
  ],
  [
    'an Application that Argo CD 3.6 would stop, with an option of its own',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'metadata')['annotations'] = {
        'argocd.argoproj.io/compare-options': 'IncludeMutationWebhook=true,ServerSideDiff=true',
      };
    }),
    '✗ Application runners: annotation argocd.argoproj.io/compare-options: ServerSideDiff=false is missing',
    '"IncludeMutationWebhook=true,ServerSideDiff=false"',
  ],
  [
    'an Application with an error',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0)['status'] = { conditions: [{ type: 'ComparisonError', message: 'GR-TOKEN-01' }] };
    }),
    '✗ Application runners: ComparisonError: GR-TOKEN-01',
    'docs/errors.md',
  ],
  [
    'an Application for another namespace',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec', 'destination')['namespace'] = 'other';
    }),
    '✗ Application: none has the destination namespace runners',
    'Make an Application',
  ],
  [
    'a sidecar whose plugin Argo CD cannot see',
    edit(REPO_SERVER, (found) => {
      const container = at(found, 'spec', 'template', 'spec', 'containers', 0);
      container['volumeMounts'] = [{ name: 'var-files', mountPath: '/var/run/argocd/' }];
      container['command'] = ['/usr/bin/tini', '--', 'sh'];
    }),
    '✗ sidecar in argocd-repo-server: Argo CD cannot know the plugin: no /home/argocd/cmp-server/plugins; its command is not ',
    'step 1',
  ],
  [
    'serve of another image than the sidecar',
    edit(SERVE, (found) => {
      at(found, 'spec', 'template', 'spec', 'containers', 0)['image'] = 'argocd-gitea-runners:0.0.9';
    }),
    '✗ serve: its image is argocd-gitea-runners:0.0.9, and that of the sidecar ',
    'step 1',
  ],
  [
    'serve with 0 replicas',
    edit(SERVE, (found) => {
      at(found, 'spec')['replicas'] = 0;
    }),
    '✗ serve: it has 0 replicas',
    'kubectl -n argocd scale deployment/gitea-runners --replicas=2',
  ],
  ['no Secret of serve', without(SERVE_SECRET), '✗ Secret of serve: it does not exist', 'step 2'],
  [
    "no value for Argo CD's token",
    (world) => ({ ...world, [SERVE_SECRET]: secret({ 'argocd-token': '\n', 'webhook-secret': 'x' }) }),
    '✗ Secret of serve: has no value at argocd-token',
    'step 2',
  ],
  ['no Service', without(SERVICE), '✗ Service for webhooks: it does not exist', 'install/gitea-runners.yaml'],
  [
    'a sidecar that may not list pods, and serve neither',
    (world) => ({ ...world, [REVIEWS]: 'list pods' }),
    '✗ rights in Kubernetes: sidecar in namespace runners may not list pods',
    'install/runners.yaml',
  ],
  [
    'accounts that may make Jobs',
    (world) => ({ ...world, [REVIEWS]: 'create jobs' }),
    '✗ rights in Kubernetes: sidecar in namespace runners may create jobs.batch, which it never needs',
    'Remove the binding',
  ],
  [
    'an Application of another project',
    edit(APPLICATIONS, (list) => {
      at(list, 'items', 0, 'spec')['project'] = 'default';
    }),
    '✗ rights in Argo CD: gitea-runners may not get and sync default/runners',
    'kubectl -n argocd edit configmap argocd-rbac-cm',
  ],
];
