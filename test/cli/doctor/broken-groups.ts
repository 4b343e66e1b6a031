/** Installations where one thing is wrong with a RunnerGroup or its Gitea. */
import {
  API_TOKEN,
  at,
  COMPARED,
  condition,
  edit,
  GROUPS,
  HOOKS,
  type Json,
  METRICS,
  metrics,
  NAMESPACE,
  NODES,
  node,
  REGISTRATION,
  REPO_SERVER,
  REPOSITORIES,
  secret,
  type World,
  without,
} from './world.ts';

/** What is broken, what the cross says, and a word of the advice. */
export const BROKEN_GROUPS: readonly (readonly [string, (world: World) => World, string, string])[] = [
  [
    'a RunnerGroup that is not valid',
    edit(GROUPS, (list) => delete at(list, 'items', 0, 'spec')['org']),
    '✗ RunnerGroup runners/ci: ',
    'gitea-runners validate',
  ],
  [
    'a namespace that admits no privileged pods',
    (world) =>
      edit(GROUPS, (list) => {
        const spec = at(list, 'items', 0, 'spec');
        spec['containerMode'] = 'dind';
        spec['labels'] = ['linux'];
      })(
        edit(NAMESPACE, (space) => {
          at(space, 'metadata', 'labels')['pod-security.kubernetes.io/enforce'] = 'restricted';
        })(world),
      ),
    '✗ RunnerGroup runners/ci: namespace runners enforces restricted, and its pods need privileged',
    'kubectl label --overwrite namespace runners pod-security.kubernetes.io/enforce=privileged',
  ],
  [
    'a namespace that admits no unconfined BuildKit',
    (world) =>
      edit(GROUPS, (list) => {
        at(list, 'items', 0, 'spec')['containerMode'] = 'buildkit';
      })(
        edit(NAMESPACE, (space) => {
          at(space, 'metadata', 'labels')['pod-security.kubernetes.io/enforce'] = 'baseline';
        })(world),
      ),
    '✗ RunnerGroup runners/ci: namespace runners enforces baseline, and its pods need privileged',
    'or use securityProfile: baseline',
  ],
  [
    'nodes without user namespaces',
    edit(GROUPS, (list) => {
      at(list, 'items', 0, 'spec')['podTemplate'] = { spec: { hostUsers: false } };
    }),
    '✗ RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with no user namespaces',
    'Correct podTemplate in git',
  ],
  [
    'nodes that are too small for a size',
    edit(GROUPS, (list) => {
      const resources = { requests: { cpu: '1000' } };
      at(list, 'items', 0, 'spec')['sizes'] = [{ name: 'small' }, { name: 'large', weight: 2, resources }];
    }),
    '✗ RunnerGroup runners/ci, size large, nodes: none of 1 can take its pod: 1 with cpu',
    'Correct podTemplate in git',
  ],
  [
    'a namespace that is being deleted',
    edit(NAMESPACE, (space) => {
      at(space, 'metadata')['deletionTimestamp'] = '2026-01-01T00:00:00Z';
    }),
    '✗ RunnerGroup runners/ci: namespace runners is being deleted: it takes no Jobs',
    'kubectl create namespace runners',
  ],
  [
    'no registration Secret',
    without(REGISTRATION),
    '✗ RunnerGroup runners/ci: Secret gitea-runner: it does not exist',
    'step 2',
  ],
  [
    'an empty registration Secret',
    (world) => ({ ...world, [REGISTRATION]: secret({ 'registration-token': ' ', token: '' }) }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner has no value at',
    'step 2',
  ],
  [
    'a registration Secret of another Gitea',
    (world) => ({
      ...world,
      [REGISTRATION]: secret({ token: 'x', 'registration-token': 'x', url: 'https://other.example.com' }),
    }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner is for another Gitea than',
    'gitea.url',
  ],
  [
    'a token that Gitea refuses',
    (world) => ({
      ...world,
      [API_TOKEN]: secret({ token: 'wrong', url: String(at(world[GROUPS], 'items', 0, 'spec', 'gitea')['url']) }),
    }),
    '✗ Gitea, org acme: GR-GITEA-01 ',
    'docs/errors.md',
  ],
  [
    'a Secret without the key of the API token',
    (world) => ({ ...world, [API_TOKEN]: secret({ other: 'x' }) }),
    '✗ RunnerGroup runners/ci: API token: GR-TOKEN-08 find the API token of RunnerGroup runners/ci: Secret gitea-api of namespace argocd has no key token',
    'step 1',
  ],
  [
    'no Secret with the API token',
    without(API_TOKEN),
    '✗ RunnerGroup runners/ci: API token: GR-TOKEN-10 ',
    'step 1 of docs/install.md',
  ],
  [
    'a Secret with the API token that is not mounted',
    edit(REPO_SERVER, (found) => {
      const container = at(found, 'spec', 'template', 'spec', 'containers', 0);
      const mounts = container['volumeMounts'] as readonly Json[];
      container['volumeMounts'] = mounts.filter(({ name }) => name !== 'gitea-runners-api');
    }),
    '✗ RunnerGroup runners/ci: API token: GR-DOCTOR-02 ',
    'Correct authToken in git.',
  ],
  [
    'a registration token of another scope',
    (world) => ({ ...world, [COMPARED]: { token: 'that of acme' } }),
    '✗ RunnerGroup runners/ci: Secret gitea-runner has not the registration token of its scope',
    'step 2',
  ],
  [
    'Actions that are off everywhere',
    (world) => ({ ...world, [REPOSITORIES]: [{ full_name: 'acme/web', has_actions: false }] }),
    '✗ Actions of org acme: they are off in acme/web',
    'Units',
  ],
  [
    'a group that serve cannot serve',
    edit(GROUPS, (list) => {
      at(list, 'items', 0, 'status')['conditions'] = [condition('False')];
    }),
    '✗ RunnerGroup runners/ci, as serve sees it: GiteaFailed: GR-HTTP-01 no answer',
    'docs/serve.md',
  ],
  [
    'a group that serve never looked at',
    edit(GROUPS, (list) => delete at(list, 'items', 0)['status']),
    '✗ RunnerGroup runners/ci, as serve sees it: it was never looked at',
    'GITEA_RUNNERS_NAMESPACES must name runners',
  ],
  [
    'a group that serve has not looked at for long',
    edit(GROUPS, (list) => {
      at(list, 'items', 0, 'status')['lastCheckTime'] = '2026-01-01T00:00:00Z';
    }),
    '✗ RunnerGroup runners/ci, as serve sees it: Gitea was last looked at 2026-01-01T00:00:00Z',
    'docs/serve.md',
  ],
  [
    'a node that keeps its pods away',
    (world) => ({ ...world, [NODES]: { items: [node({}, [{ key: 'ci', effect: 'NoSchedule' }])] } }),
    '✗ RunnerGroup runners/ci, nodes: none of 1 can take its pod: 1 with taint ci:NoSchedule',
    'untaint',
  ],
  [
    'no webhook',
    (world) => ({ ...world, [HOOKS]: [], [METRICS]: metrics(1_700_000_000, {}) }),
    '✗ webhook of org acme: there is none',
    'docs/install.md',
  ],
];
