/** The manifests that `init` writes. */

import { API_VERSION, KIND } from '../../config/runnergroup/schema.ts';
import { yamlText } from '../../config/runnergroup/yaml-text.ts';
import { applicationManifest, projectManifest } from '../../shared/installed/application.ts';
import { API_SECRET, ARGOCD_NAMESPACE, REGISTRATION_SECRET, SERVE_SECRET } from '../../shared/installed/names.ts';
import type { Answers } from './answers.ts';

/** The RunnerGroup as an object. */
export function manifestFrom({ group, namespace, gitea, scope, cap, mode }: Answers) {
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    metadata: { name: group, namespace },
    spec: {
      ...scope,
      gitea: { url: gitea },
      maxActiveRunners: cap,
      containerMode: mode,
      // A pod without requests is the first to go when its node is short of memory.
      resources: { requests: { cpu: '500m', memory: '1Gi' } },
      // Without docker a group has no labels by itself.
      ...(mode === 'host' && { labels: ['linux:host'] }),
      registrationToken: { secretRef: { name: REGISTRATION_SECRET, key: 'registration-token' } },
      authToken: { secretRef: { name: API_SECRET, key: 'token' } },
    },
  };
}

export function groupText(answers: Answers): string {
  return `# Goes into the repository of the Application. All fields: docs/runnergroup.md\n${yamlText(manifestFrom(answers))}`;
}

export function applicationText({ git, path, namespace }: Answers): string {
  const source = { repository: git, path, namespace };
  return [
    '# Applied once: kubectl apply -f argocd/application.yaml',
    yamlText(projectManifest(source)).trimEnd(),
    '---',
    yamlText(applicationManifest(source)),
  ].join('\n');
}

/** The Secrets as External Secrets: the values lie in a store, below `gitea-runners/`. */
export function externalSecretsText({ namespace, gitea, secretStore }: Answers): string {
  const secrets = [
    externalSecret(secretStore, ARGOCD_NAMESPACE, API_SECRET, { token: 'api-token' }, gitea),
    externalSecret(secretStore, namespace, REGISTRATION_SECRET, { 'registration-token': 'registration-token' }, gitea),
    externalSecret(secretStore, ARGOCD_NAMESPACE, SERVE_SECRET, {
      'argocd-token': 'argocd-token',
      'webhook-secret': 'webhook-secret',
    }),
  ];
  return `# Applied once. The store ${secretStore} holds the values: setup.sh says how to get them.\n${secrets.map(yamlText).join('---\n')}`;
}

/** @param url the one Gitea that the token may be sent to */
function externalSecret(
  store: string,
  namespace: string,
  name: string,
  keys: Readonly<Record<string, string>>,
  url?: string,
) {
  const data = Object.fromEntries(Object.keys(keys).map((key) => [key, `{{ index . ${JSON.stringify(key)} }}`]));
  return {
    apiVersion: 'external-secrets.io/v1',
    kind: 'ExternalSecret',
    metadata: { name, namespace },
    spec: {
      refreshInterval: '1h',
      secretStoreRef: { kind: 'ClusterSecretStore', name: store },
      target: { name, template: { data: { ...data, ...(url !== undefined && { url }) } } },
      data: Object.entries(keys).map(([secretKey, key]) => ({ secretKey, remoteRef: { key: `gitea-runners/${key}` } })),
    },
  };
}
