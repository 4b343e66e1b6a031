/**
 * Everything in `install/` but the CRD, `monitoring/` and `chart/` (plain files), as texts by file name.
 *
 *   gitea-runners.yaml   our own objects beside Argo CD          ┐
 *   runners.yaml         a namespace for runners                 ├─ install.yaml, with the CRD: for a stock Argo CD
 *   argocd-*.yaml        what is added to Argo CD's own objects  ┘
 *   secrets-api.yaml     for those who set GITEA_RUNNERS_SECRETS=api
 *   registration-secrets.yaml  for those who set GITEA_RUNNERS_REGISTRATION_SECRETS
 *   runner-credentials.yaml  for those whose RunnerGroups have `registration: {by: serve}`
 *   slack-extend.yaml    for those who want the button in Slack
 *   page.yaml            for those who want the page for developers
 *   looks.yaml           for those who set GITEA_RUNNERS_LOOKS
 *   kustomization.yaml   a component: our own objects, and argocd-*.yaml as patches
 *   helm-values.yaml     the same additions as values of the chart argo-cd
 *   remove-from-argocd.yaml  takes the additions back
 *   cache.yaml           an option: a cache server for runners
 *   plugin.yaml          goes into the image
 *   examples/            what everybody writes for themselves
 *   chart/templates/crd.yaml  the CRD as a template of the Helm chart
 */
import { ApiObject } from 'cdk8s';
import { crdText } from '../src/config/runnergroup/json-schema.ts';
import { yamlText } from '../src/config/runnergroup/yaml-text.ts';
import { ARGOCD_NAMESPACE, PLUGIN } from '../src/shared/installed/installed-names.ts';
import { argoCdCmPatch, argoCdRbacPatch, helmValues, repoServerPatch } from './argocd-patches.ts';
import { crd } from './crd.ts';
import { exampleFiles } from './examples.ts';
import { comment, HEADER, ManifestFile } from './manifest-file.ts';
import { BUNDLE, GENERATE_FLAGS, NODE } from './names.ts';
import {
  cache,
  looks,
  ownObjects,
  page,
  registrationSecrets,
  runnerCredentials,
  runnersNamespace,
  secretsApi,
  slackExtend,
} from './objects.ts';

/** File name below `install/` -> text. */
export function installFiles(): Readonly<Record<string, string>> {
  const own = ownObjects().text();
  const runners = runnersNamespace().text();
  const patches = argoCdPatches();
  const all = [crdText(crd()).replace(/^#.*\n/, ''), own, runners, ...Object.values(patches)];
  return {
    'install.yaml': `${HEADER}${comment(HOW_TO_APPLY)}---\n${all.join('---\n')}`,
    'gitea-runners.yaml': `${HEADER}---\n${own}`,
    'runners.yaml': `${HEADER}---\n${runners}`,
    'secrets-api.yaml': `${HEADER}${comment(SECRETS_API)}---\n${secretsApi().text()}`,
    'registration-secrets.yaml': `${HEADER}${comment(REGISTRATION)}---\n${registrationSecrets().text()}`,
    'runner-credentials.yaml': `${HEADER}${comment(CREDENTIALS)}---\n${runnerCredentials().text()}`,
    'slack-extend.yaml': `${HEADER}${comment(SLACK_EXTEND)}---\n${slackExtend().text()}`,
    'page.yaml': `${HEADER}${comment(PAGE)}---\n${page().text()}`,
    'looks.yaml': `${HEADER}${comment(LOOKS)}---\n${looks().text()}`,
    ...mapValues(patches, (text) => `${HEADER}---\n${text}`),
    'cache.yaml': `${HEADER}${comment(CACHE)}---\n${cache().text()}`,
    'kustomization.yaml': `${HEADER}${comment(COMPONENT)}${yamlText(kustomization(PATCHES))}`,
    'helm-values.yaml': `${HEADER}${comment(HELM)}${yamlText(helmValues())}`,
    'plugin.yaml': `${HEADER}${comment(PLUGIN_NOTE)}${yamlText(plugin)}`,
    'remove-from-argocd.yaml': `${HEADER}${comment(REMOVAL)}---\n${removal()}`,
    ...exampleFiles(),
    'chart/templates/crd.yaml': crdTemplate(),
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

const REGISTRATION = `An option: serve keeps the registration token in a Secret as Gitea gives it (docs/install.md). With this it may write that one
Secret. Apply a copy for each namespace with runners. serve makes no Secret, so make an empty one first:

  kubectl create secret generic gitea-runner -n runners`;

const CREDENTIALS = `For RunnerGroups with registration: {by: serve} (docs/registration.md): serve creates the Secret with the credentials of each
runner. Apply a copy of Role and RoleBinding for each namespace with such runners. Before Kubernetes 1.30 there is no
ValidatingAdmissionPolicy: leave it and its binding out, or better, wait with by: serve.`;

const SLACK_EXTEND = `An option: the button "Keep 1 h longer" in Slack (docs/notifications.md). With it serve may change Jobs of this namespace. Apply a
copy for each namespace with runners.`;

const PAGE = `An option: the page for developers (docs/page.md). It is there once GITEA_RUNNERS_PAGE_LISTEN is :8082.`;

const LOOKS = `An option: one look at Gitea for many Applications (docs/serve.md). Then set in gitea-runners-settings GITEA_RUNNERS_LOOKS_LISTEN to
:8083 and GITEA_RUNNERS_LOOKS to http://gitea-runners-looks.argocd.svc:8083.`;

const CACHE = `An option: a cache server, so that actions/cache works between runners (docs/cache.md). It needs a Secret first:

  kubectl create secret generic gitea-runner-cache -n runners --from-literal=secret="$(openssl rand -hex 32)"`;

const REMOVAL = `Takes out of Argo CD what install.yaml added:

  kubectl apply --server-side --field-manager=gitea-runners -f remove-from-argocd.yaml`;

/**
 * `plugin.yaml`, which Argo CD's cmp-server reads from its image. It is a file, no object of the cluster.
 *
 * No shell and no wrapper: the program is started itself, and nothing in a repository becomes part of a command. No
 * `discover`: only an Application that names the plugin gets it, and the repository is sent once, not twice. No `version`:
 * it would become part of the name in every Application. No `init`, no git credentials, no executable files.
 */
const plugin = {
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'ConfigManagementPlugin',
  metadata: { name: PLUGIN },
  spec: {
    generate: { command: [NODE, ...GENERATE_FLAGS, BUNDLE, 'generate'] },
    preserveFileMode: false,
    provideGitCreds: false,
  },
} as const;

/**
 * The three patched objects of Argo CD with nothing of ours. Server-side apply removes the fields that a manager owned and does not
 * name any more. So, applied with our field manager, this takes out exactly what we have put in.
 */
function removal(): string {
  const file = new ManifestFile('removal');
  for (const { kind, name } of Object.values(PATCHES)) {
    const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1';
    new ApiObject(file, name, { apiVersion, kind, metadata: { name, namespace: ARGOCD_NAMESPACE } });
  }
  return file.text();
}

/** A template and no file of `crds/`: Helm upgrades a template (ADR 43). Uninstalled, it leaves the CRD and so all RunnerGroups. */
function crdTemplate(): string {
  const text = crdText(crd({ 'helm.sh/resource-policy': 'keep' })).replace(/^#.*\n/, '');
  return `${HEADER}{{- if $.Values.crds.enabled }}\n---\n${text}{{- end }}\n`;
}

function argoCdPatches(): Readonly<Record<keyof typeof PATCHES, string>> {
  const repoServer = new ManifestFile('repo-server');
  repoServer.note(repoServerPatch(repoServer), 'Part of an object: the sidecar of the repo-server.');
  const settings = new ManifestFile('settings');
  settings.note(argoCdCmPatch(settings), "Part of an object: serve's account, and how Argo CD shows a RunnerGroup.");
  const rbac = new ManifestFile('rbac');
  rbac.note(
    argoCdRbacPatch(rbac),
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
