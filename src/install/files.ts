/**
 * Everything in `install/` but the CRD, as texts by file name.
 *
 *   gitea-runners.yaml   our own objects beside Argo CD          ┐
 *   runners.yaml         a namespace for runners                 ├─ install.yaml, with the CRD: for a stock Argo CD
 *   argocd-*.yaml        what is added to Argo CD's own objects  ┘
 *   secrets-api.yaml     for those who set GITEA_RUNNERS_SECRETS=api
 *   slack-extend.yaml    for those who want the button in Slack
 *   kustomization.yaml   a component: our own objects, and argocd-*.yaml as patches
 *   helm-values.yaml     the same additions as values of the chart argo-cd
 *   remove-from-argocd.yaml  takes the additions back
 *   cache.yaml           an option: a cache server for runners
 *   plugin.yaml          goes into the image
 *   examples/            what everybody writes for themselves
 *   monitoring/          an option: alerts, a dashboard, what Prometheus scrapes
 */
import * as k8s from 'cdk8s-plus-28/lib/imports/k8s.js';
import type { SecurityLevel } from '../pods/pod-security.ts';
import { KUBERNETES_VERSION } from '../pods/schema.ts';
import { crdText } from '../runnergroup/crd.ts';
import {
  ExtendBinding,
  ExtendRole,
  LeaseBinding,
  LeaseRole,
  NamespaceBinding,
  SecretsBinding,
  SecretsRole,
  ServeRole,
  SidecarRole,
} from './access.ts';
import { ArgoCdCmPatch, ArgoCdRbacPatch, RepoServerPatch } from './argocd-patches.ts';
import { cacheServer } from './cache.ts';
import { exampleFiles } from './examples.ts';
import { helmValues } from './helm.ts';
import { comment, HEADER, ManifestFile, yaml } from './manifest-file.ts';
import { monitoringFiles } from './monitoring/files.ts';
import { RUNNERS_NAMESPACE } from './names.ts';
import { RunnerNetworkPolicy, ServeNetworkPolicy } from './network.ts';
import { plugin } from './plugin.ts';
import { Removal } from './removal.ts';
import { MetricsService, ServeAccount, ServeBudget, ServeDefaults, ServeDeployment, WebhookService } from './serve.ts';

/** File name below `install/` -> text. */
export function installFiles(): Readonly<Record<string, string>> {
  const own = ownObjects();
  const runners = runnersNamespace();
  const patches = argoCdPatches();
  const all = [crdText().replace(/^#.*\n/, ''), own, runners, ...Object.values(patches)];
  return {
    'install.yaml': `${HEADER}${comment(HOW_TO_APPLY)}---\n${all.join('---\n')}`,
    'gitea-runners.yaml': `${HEADER}---\n${own}`,
    'runners.yaml': `${HEADER}---\n${runners}`,
    'secrets-api.yaml': `${HEADER}${comment(SECRETS_API)}---\n${secretsApi()}`,
    'slack-extend.yaml': `${HEADER}${comment(SLACK_EXTEND)}---\n${slackExtend()}`,
    ...mapValues(patches, (text) => `${HEADER}---\n${text}`),
    'cache.yaml': `${HEADER}${comment(CACHE)}---\n${cache()}`,
    'kustomization.yaml': `${HEADER}${comment(COMPONENT)}${yaml(kustomization(PATCHES))}`,
    'helm-values.yaml': `${HEADER}${comment(HELM)}${yaml(helmValues())}`,
    'plugin.yaml': `${HEADER}${comment(PLUGIN_NOTE)}${yaml(plugin)}`,
    'remove-from-argocd.yaml': `${HEADER}${comment(REMOVAL)}---\n${removal()}`,
    ...exampleFiles(),
    ...monitoringFiles(),
  };
}

/** Argo CD's own objects that we add to, by file. */
const PATCHES = {
  'argocd-repo-server.yaml': { kind: 'Deployment', name: 'argocd-repo-server' },
  'argocd-cm.yaml': { kind: 'ConfigMap', name: 'argocd-cm' },
  'argocd-rbac-cm.yaml': { kind: 'ConfigMap', name: 'argocd-rbac-cm' },
} as const;

const HOW_TO_APPLY = `Everything for a stock Argo CD in the namespace argocd: see docs/install.md.

Some objects here are parts of Argo CD's own (Deployment argocd-repo-server, ConfigMaps argocd-cm and argocd-rbac-cm). Apply
with a field manager of its own, which adds to them; without one, kubectl would take away what Argo CD's manifests put there:

  kubectl apply --server-side --field-manager=gitea-runners -f install.yaml`;

const COMPONENT =
  'For those who install Argo CD with kustomize: name this folder under "components" (docs/install.md).';
const HELM = `Values of the chart argo-cd: the same additions as argocd-*.yaml. The rest is in crd.yaml, gitea-runners.yaml and
runners.yaml (docs/install.md).`;
const PLUGIN_NOTE =
  'In the image as /home/argocd/cmp-server/config/plugin.yaml. A file for cmp-server, no object of the cluster.';

const SECRETS_API = `With GITEA_RUNNERS_SECRETS=api the token for Gitea lies in the namespace of its RunnerGroup, and this lets the sidecar and serve
read it there (docs/install.md). Apply a copy for each namespace with RunnerGroups.`;

const SLACK_EXTEND = `An option: the button "Keep 1 h longer" in Slack (docs/notifications.md). With it serve may change Jobs of this namespace. Apply a
copy for each namespace with runners.`;

const CACHE = `An option: a cache server, so that actions/cache works between runners (docs/cache.md). It needs a Secret first:

  kubectl create secret generic gitea-runner-cache -n runners --from-literal=secret="$(openssl rand -hex 32)"`;

const REMOVAL = `Takes out of Argo CD what install.yaml added:

  kubectl apply --server-side --field-manager=gitea-runners -f remove-from-argocd.yaml`;

function removal(): string {
  const file = new ManifestFile('removal');
  for (const { kind, name } of Object.values(PATCHES)) new Removal(file, name, { kind, name });
  return file.text();
}

function ownObjects(): string {
  const file = new ManifestFile('gitea-runners');
  file.note(new SidecarRole(file, 'sidecar-role'), 'The sidecar looks at Jobs and pods, nothing else.');
  file.note(
    new ServeRole(file, 'serve-role'),
    'serve looks, and writes the status of RunnerGroups. It creates and deletes nothing.',
  );
  new LeaseRole(file, 'lease-role');
  new LeaseBinding(file, 'lease-binding');
  new ServeAccount(file, 'account');
  file.note(
    new ServeDefaults(file, 'defaults'),
    'Do not change these: write a ConfigMap gitea-runners-settings, which wins over them.',
  );
  new ServeDeployment(file, 'deployment');
  file.note(new WebhookService(file, 'webhook'), "For Gitea's webhooks: http://gitea-runners.argocd.svc/webhook");
  new MetricsService(file, 'metrics');
  new ServeBudget(file, 'budget');
  file.note(new ServeNetworkPolicy(file, 'network'), 'Is Gitea on a port that is not listed? Add it under egress.');
  return file.text();
}

function runnersNamespace(): string {
  const namespace = RUNNERS_NAMESPACE;
  const file = new ManifestFile('runners');
  file.note(
    new k8s.KubeNamespace(file, 'namespace', {
      metadata: { name: namespace, labels: podSecurity('privileged') },
    }),
    'Docker in a pod needs "privileged". When all RunnerGroups have containerMode: host, make all three "restricted": then no ' +
      'privileged pod runs here, whoever asks for it. The version is that of the checks in RunnerGroups (securityProfile).',
  );
  new NamespaceBinding(file, 'sidecar', { namespace, to: 'sidecar' });
  new NamespaceBinding(file, 'serve', { namespace, to: 'serve' });
  file.note(
    new RunnerNetworkPolicy(file, 'network', { namespace }),
    "CI jobs: nobody calls them, and they do not reach the cloud's metadata service.",
  );
  return file.text();
}

/** Labels of a namespace for Pod Security admission. An older API server takes its own newest version. */
function podSecurity(level: SecurityLevel): Readonly<Record<string, string>> {
  const version = `v${KUBERNETES_VERSION.split('.').slice(0, 2).join('.')}`;
  const modes = ['enforce', 'warn', 'audit'].flatMap((mode) => [
    [`pod-security.kubernetes.io/${mode}`, level],
    [`pod-security.kubernetes.io/${mode}-version`, version],
  ]);
  return Object.fromEntries(modes);
}

function secretsApi(): string {
  const namespace = RUNNERS_NAMESPACE;
  const file = new ManifestFile('secrets');
  file.note(
    new SecretsRole(file, 'role', { namespace }),
    'Add the names of the Secrets that RunnerGroups of this namespace name under authToken. With the name of the registration Secret ' +
      'a group of another Gitea is refused before its runner starts; without it the runner checks that.',
  );
  new SecretsBinding(file, 'binding', { namespace });
  return file.text();
}

function slackExtend(): string {
  const namespace = RUNNERS_NAMESPACE;
  const file = new ManifestFile('extend');
  new ExtendRole(file, 'role', { namespace });
  new ExtendBinding(file, 'binding', { namespace });
  return file.text();
}

function cache(): string {
  const file = new ManifestFile('cache');
  const { claim, deployment } = cacheServer(file);
  file.note(
    claim,
    'Room for the entries. The server deletes an entry 7 days after its last use, and in any case after 30 days.',
  );
  file.note(deployment, 'The runner image has the server. Keep its release near that of your runners.');
  return file.text();
}

function argoCdPatches(): Readonly<Record<keyof typeof PATCHES, string>> {
  const repoServer = new ManifestFile('repo-server');
  repoServer.note(new RepoServerPatch(repoServer, 'patch'), 'Part of an object: the sidecar of the repo-server.');
  const settings = new ManifestFile('settings');
  settings.note(
    new ArgoCdCmPatch(settings, 'patch'),
    "Part of an object: serve's account, and how Argo CD shows a RunnerGroup.",
  );
  const rbac = new ManifestFile('rbac');
  rbac.note(
    new ArgoCdRbacPatch(rbac, 'patch'),
    'Part of an object: the account may refresh and sync the Applications of one project.',
  );
  return {
    'argocd-repo-server.yaml': repoServer.text(),
    'argocd-cm.yaml': settings.text(),
    'argocd-rbac-cm.yaml': rbac.text(),
  };
}

function kustomization(patches: typeof PATCHES): unknown {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    resources: ['crd.yaml', 'gitea-runners.yaml'],
    // By name and kind: whether Argo CD's own objects have a namespace yet depends on who names this component.
    patches: Object.entries(patches).map(([path, { kind, name }]) => ({ path, target: { kind, name } })),
  };
}

function mapValues<A, B>(values: Readonly<Record<string, A>>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
