/** The objects of `install/`, file by file. A test holds the Helm chart to them. */
import { k8s } from 'cdk8s-plus-28';
import { KUBERNETES_VERSION } from '../src/config/pods/pod-schema.ts';
import type { SecurityLevel } from '../src/config/pods/pod-security.ts';
import { ARGOCD_NAMESPACE, NAME, SERVE_LABELS } from '../src/shared/installed/installed-names.ts';
import { binding, credentialsPolicy, role, serveRole, sidecarRole } from './access.ts';
import { cacheServer } from './cache.ts';
import { ManifestFile } from './manifest-file.ts';
import {
  CREDENTIALS_ROLE,
  EXTEND_ROLE,
  REGISTRATION_ROLE,
  REPO_SERVER_ACCOUNT,
  RUNNERS_NAMESPACE,
  SECRETS_ROLE,
  SERVE_ROLE,
  SIDECAR_ROLE,
} from './names.ts';
import { looksNetworkPolicy, pageNetworkPolicy, runnerNetworkPolicy, serveNetworkPolicy } from './network.ts';
import {
  looksService,
  metricsService,
  pageService,
  serveAccount,
  serveBudget,
  serveDefaults,
  serveDeployment,
  webhookService,
} from './serve.ts';

/** Our own objects beside Argo CD. */
export function ownObjects(): ManifestFile {
  const file = new ManifestFile('gitea-runners');
  file.note(sidecarRole(file), 'The sidecar looks at RunnerGroups, Jobs and pods, nothing else.');
  file.note(serveRole(file), 'serve looks, and writes the status of RunnerGroups. It creates and deletes nothing.');
  const lease = { role: SERVE_ROLE, namespace: ARGOCD_NAMESPACE, labels: SERVE_LABELS };
  role(file, 'lease-role', lease);
  binding(file, 'lease-binding', lease);
  serveAccount(file);
  file.note(
    serveDefaults(file),
    'Do not change these: write a ConfigMap gitea-runners-settings, which wins over them.',
  );
  serveDeployment(file);
  file.note(webhookService(file), "For Gitea's webhooks: http://gitea-runners.argocd.svc/webhook");
  metricsService(file);
  serveBudget(file);
  file.note(serveNetworkPolicy(file), 'Is Gitea on a port that is not listed? Add it under egress.');
  return file;
}

/** A namespace for runners, and the rights in it. */
export function runnersNamespace(): ManifestFile {
  const namespace = RUNNERS_NAMESPACE;
  const file = new ManifestFile('runners');
  file.note(
    new k8s.KubeNamespace(file, 'namespace', {
      metadata: { name: namespace, labels: podSecurity('privileged') },
    }),
    'Docker in a pod needs "privileged". When all RunnerGroups have containerMode: host, make all three "restricted": then no ' +
      'privileged pod runs here, whoever asks for it. With containerMode: buildkit and securityProfile: baseline, make them "baseline". The version is that of the checks in RunnerGroups (securityProfile).',
  );
  const kind = 'ClusterRole';
  binding(file, 'sidecar', { role: SIDECAR_ROLE, namespace, kind, to: [REPO_SERVER_ACCOUNT] });
  binding(file, 'serve', { role: SERVE_ROLE, namespace, kind });
  file.note(
    runnerNetworkPolicy(file),
    "CI jobs: nobody calls them, and they do not reach the cloud's metadata service.",
  );
  return file;
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

/** For those who set GITEA_RUNNERS_SECRETS=api. */
export function secretsApi(): ManifestFile {
  const at = { role: SECRETS_ROLE, namespace: RUNNERS_NAMESPACE };
  const file = new ManifestFile('secrets');
  file.note(
    role(file, 'role', at),
    'Add the names of the Secrets that RunnerGroups of this namespace name under authToken. With the name of the registration Secret ' +
      'a group of another Gitea is refused before its runner starts; without it the runner checks that.',
  );
  binding(file, 'binding', { ...at, to: [REPO_SERVER_ACCOUNT, NAME] });
  return file;
}

/** For those who set GITEA_RUNNERS_REGISTRATION_SECRETS. */
export function registrationSecrets(): ManifestFile {
  const at = { role: REGISTRATION_ROLE, namespace: RUNNERS_NAMESPACE };
  const file = new ManifestFile('registration');
  file.note(
    role(file, 'role', at),
    'The same names as in GITEA_RUNNERS_REGISTRATION_SECRETS. No Secret with another token may be among them.',
  );
  binding(file, 'binding', at);
  return file;
}

/** For those whose runners serve registers. */
export function runnerCredentials(): ManifestFile {
  const at = { role: CREDENTIALS_ROLE, namespace: RUNNERS_NAMESPACE };
  const file = new ManifestFile('credentials');
  file.note(
    credentialsPolicy(file),
    'Kubernetes cannot limit the right to create Secrets to a name. This limits what serve creates, in all namespaces.',
  );
  role(file, 'role', at);
  binding(file, 'binding', at);
  return file;
}

/** For those who want the button in Slack. */
export function slackExtend(): ManifestFile {
  const at = { role: EXTEND_ROLE, namespace: RUNNERS_NAMESPACE };
  const file = new ManifestFile('extend');
  role(file, 'role', at);
  binding(file, 'binding', at);
  return file;
}

/** An option: the page for developers. */
export function page(): ManifestFile {
  const file = new ManifestFile('page');
  pageService(file);
  pageNetworkPolicy(file);
  return file;
}

/** For those who set GITEA_RUNNERS_LOOKS. */
export function looks(): ManifestFile {
  const file = new ManifestFile('looks');
  looksService(file);
  looksNetworkPolicy(file);
  return file;
}

/** An option: a cache server for runners. */
export function cache(): ManifestFile {
  const file = new ManifestFile('cache');
  const { claim, deployment } = cacheServer(file);
  file.note(
    claim,
    'Room for the entries. The server deletes an entry 7 days after its last use, and in any case after 30 days.',
  );
  file.note(deployment, 'The runner image has the server. Keep its release near that of your runners.');
  return file;
}
