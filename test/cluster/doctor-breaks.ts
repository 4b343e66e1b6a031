/** Ways in which people break an installation, and what `doctor` has to say about each. */
import { join } from 'node:path';
import {
  apiToken,
  type Break,
  type Cross,
  deleted,
  groupWith,
  hookWith,
  type Json,
  kept,
  lateJob,
  patched,
  removeHook,
  tokenOfMember,
} from './doctor-breaking.ts';
import { ORG } from './install.ts';
import { oneJobSucceeds } from './one-job.ts';

const GROUP = 'RunnerGroup runners/ci';

const cross = (check: string, says: string, fix: string): readonly Cross[] => [{ check, says, fix }];
const ofGroup = (says: string, fix: string): readonly Cross[] => cross(GROUP, says, fix);

export const BREAKS: readonly Break[] = [
  {
    name: 'an older CRD',
    make: async (patient) => {
      const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/setupCommand';
      const patch = JSON.stringify([{ op: 'remove', path }]);
      await patient.kubectl('patch', 'crd', 'runnergroups.gitea.bpg.pw', '--type=json', '-p', patch);
      return () =>
        patient.kubectl(
          ...['apply', '--server-side', '--force-conflicts', '--field-manager=gitea-runners'],
          ...['-f', join(process.cwd(), 'install/crd.yaml')],
        );
    },
    crosses: cross('CustomResourceDefinition', 'it lacks setupCommand', '-f install/crd.yaml'),
  },
  {
    name: 'serve is scaled to 0',
    make: patched('argocd', 'deployment/gitea-runners', { spec: { replicas: 0 } }, 'advice'),
    crosses: cross('serve', 'it has 0 replicas', 'scale deployment/gitea-runners --replicas=2'),
  },
  {
    name: 'serve has no rights in the namespace',
    make: deleted('runners', 'rolebinding/gitea-runners-serve'),
    crosses: cross(
      'rights in Kubernetes',
      'serve in namespace runners may not list runnergroups',
      'install/runners.yaml',
    ),
  },
  {
    name: 'the sidecar has no rights in the namespace',
    make: deleted('runners', 'rolebinding/gitea-runners-sidecar'),
    crosses: cross(
      'rights in Kubernetes',
      'sidecar in namespace runners may not list runnergroups.gitea.bpg.pw, list jobs.batch, list pods',
      'install/runners.yaml',
    ),
  },
  {
    name: 'the sidecar may make Jobs',
    make: async (patient) => {
      const account = '--serviceaccount=argocd:argocd-repo-server';
      await patient.kubectl('create', 'rolebinding', 'too-much', '-n', 'runners', '--clusterrole=edit', account);
      return () => patient.kubectl('delete', 'rolebinding', 'too-much', '-n', 'runners');
    },
    crosses: cross('rights in Kubernetes', 'sidecar in namespace runners may create jobs.batch', 'Remove the binding'),
  },
  {
    name: 'the account is gone from argocd-cm',
    make: patched('argocd', 'configmap/argocd-cm', { data: { 'accounts.gitea-runners': null } }, 'advice'),
    crosses: cross('account in Argo CD', 'no accounts.gitea-runners', 'install/argocd-cm.yaml'),
  },
  {
    name: 'the account has no rights in Argo CD',
    make: patched('argocd', 'configmap/argocd-rbac-cm', { data: { 'policy.gitea-runners.csv': null } }, 'advice'),
    crosses: cross('rights in Argo CD', 'may not get and sync Applications', 'install/argocd-rbac-cm.yaml'),
  },
  {
    name: 'the Application does not prune',
    make: patched('argocd', 'application/runners', { spec: { syncPolicy: { automated: { prune: false } } } }, 'advice'),
    crosses: cross('Application runners', 'automated.prune must be true', 'patch application runners --type=merge'),
  },
  {
    name: 'the Application heals itself and prunes in the foreground',
    make: patched(
      'argocd',
      'application/runners',
      { spec: { syncPolicy: { automated: { selfHeal: true }, syncOptions: ['PrunePropagationPolicy=foreground'] } } },
      'advice',
    ),
    crosses: cross(
      'Application runners',
      'selfHeal must not be true; PrunePropagationPolicy=background',
      'patch application',
    ),
  },
  {
    name: 'the API token is another one',
    make: apiToken(async () => 'a'.repeat(40)),
    crosses: cross(`Gitea, org ${ORG}`, 'GR-GITEA-01', 'step 1'),
  },
  {
    name: 'the API token has another scope',
    make: apiToken(({ stack }) => stack.gitea.admin.createToken(['read:repository'])),
    crosses: cross(`Gitea, org ${ORG}`, 'the token lacks scope read:organization', 'step 1'),
  },
  {
    name: 'the API token is that of a mere member',
    make: apiToken(tokenOfMember),
    crosses: cross(`Gitea, org ${ORG}`, "the token's user is not an owner of the org", 'step 1'),
  },
  {
    name: 'the API token is bound to another Gitea',
    make: patched('argocd', 'secret/gitea-api', { stringData: { url: 'https://other.example.com' } }),
    crosses: ofGroup('API token: GR-TOKEN-05', 'step 1'),
  },
  {
    name: 'the RunnerGroup names another Gitea',
    make: groupWith({ gitea: { url: 'https://other.example.com' } }),
    crosses: [
      { check: GROUP, says: 'API token: GR-TOKEN-05', fix: 'step 1' },
      { check: GROUP, says: 'is for another Gitea than https://other.example.com', fix: 'gitea.url' },
    ],
  },
  {
    name: 'the registration token is that of another org',
    make: async (patient) => {
      const path = '/orgs/ops/actions/runners/registration-token';
      const { token } = (await patient.stack.gitea.admin.call('POST', path)) as { readonly token: string };
      return await patched('runners', 'secret/gitea-runner', { stringData: { 'registration-token': token } })(patient);
    },
    crosses: ofGroup('has not the registration token of its scope', 'step 2'),
    env: async ({ stack }) => ({
      GITEA_TOKEN: await stack.gitea.admin.createToken(['write:organization']),
      GITEA_URL: stack.gitea.url,
    }),
  },
  {
    name: 'the namespace admits no privileged pods',
    make: async (patient) => {
      const back = await groupWith({ containerMode: 'dind' })(patient);
      const label = 'pod-security.kubernetes.io/enforce';
      await patient.kubectl('label', '--overwrite', 'namespace', 'runners', `${label}=restricted`);
      return async () => {
        await patient.kubectl('label', '--overwrite', 'namespace', 'runners', `${label}=privileged`);
        await back?.();
      };
    },
    crosses: ofGroup(
      'enforces restricted, and its pods need privileged',
      'kubectl label --overwrite namespace runners',
    ),
  },
  {
    name: 'no node has the label of the node selector',
    make: groupWith({ podTemplate: { spec: { nodeSelector: { gpu: 'yes' } } } }),
    crosses: cross(`${GROUP}, nodes`, 'none of 1 can take its pod: 1 with no label gpu=yes', 'kubectl get nodes'),
  },
  {
    name: 'the pod asks for more memory than any node has',
    make: groupWith({
      podTemplate: { spec: { containers: [{ name: 'runner', resources: { requests: { memory: '9Ti' } } }] } },
    }),
    crosses: cross(`${GROUP}, nodes`, 'none of 1 can take its pod: 1 with memory', 'kubectl get nodes'),
  },
  {
    name: 'the only node is cordoned',
    make: async (patient) => {
      await patient.kubectl('cordon', 'node1');
      return () => patient.kubectl('uncordon', 'node1');
    },
    crosses: cross(`${GROUP}, nodes`, 'taint node.kubernetes.io/unschedulable:NoSchedule', 'untaint'),
  },
  {
    name: 'Actions are off in the only repository',
    make: async ({ stack }) => {
      const set = (has_actions: boolean) => stack.gitea.admin.call('PATCH', `/repos/${ORG}/web`, { has_actions });
      await set(false);
      return () => set(true);
    },
    crosses: cross(`Actions of org ${ORG}`, `off in ${ORG}/web`, 'Units'),
  },
  {
    name: 'the webhook is gone',
    make: async (patient) => {
      await removeHook(patient);
      await lateJob(patient);
      return async () => {
        await patient.installation.webhook();
        await oneJobSucceeds(patient.stack);
      };
    },
    crosses: cross(`webhook of org ${ORG}`, 'there is none', 'docs/install.md'),
  },
  {
    name: 'the webhook leads elsewhere',
    make: hookWith({ url: 'http://10.1.2.3/elsewhere' }, { after: lateJob }),
    crosses: cross(
      `webhook of org ${ORG}`,
      'none here leads to serve: those for CI jobs go to http://10.1.2.3/elsewhere',
      'docs/install.md',
    ),
  },
  {
    name: 'the webhook leads to another host, and nothing arrives',
    make: hookWith({ url: 'http://127.0.0.9:9/webhook' }, { after: lateJob }),
    crosses: cross(`webhook of org ${ORG}`, 'the last delivery came at', 'Settings → Webhooks'),
  },
  {
    name: 'the webhook is switched off',
    make: hookWith({}, { active: false }),
    crosses: cross(`webhook of org ${ORG}`, 'it is switched off', 'docs/install.md'),
  },
  {
    name: 'the webhook has another secret',
    make: hookWith({}, { after: ({ stack }) => oneJobSucceeds(stack) }),
    crosses: cross(`webhook of org ${ORG}`, 'its secret is another one than that of serve', 'Delete it in Gitea'),
  },
  {
    name: 'the sidecar does not share the folder of plugins',
    make: async (patient) => {
      const deployment = ['-n', 'argocd', 'deployment/argocd-repo-server'];
      const { spec } = JSON.parse(await patient.kubectl('get', ...deployment, '-o', 'json'));
      const containers: readonly Json[] = spec.template.spec.containers;
      const at = containers.findIndex(({ name }) => name === 'gitea-runners');
      const volumes = `/spec/template/spec/containers/${at}/volumeMounts`;
      const mounts = containers[at]?.['volumeMounts'] as readonly Json[];
      const index = mounts.findIndex(({ mountPath }) => mountPath === '/home/argocd/cmp-server/plugins');
      const back = await kept(patient, 'argocd', 'deployment/argocd-repo-server');
      const patch = JSON.stringify([{ op: 'remove', path: `${volumes}/${index}` }]);
      await patient.kubectl('patch', ...deployment, '--type=json', '-p', patch);
      return async () => {
        await back();
        await patient.stack.kubernetes.rolledOut('argocd', 'deployment/argocd-repo-server');
      };
    },
    crosses: cross(
      'sidecar in argocd-repo-server',
      'Argo CD cannot know the plugin: no /home/argocd/cmp-server/plugins',
      'step 1',
    ),
  },
];
