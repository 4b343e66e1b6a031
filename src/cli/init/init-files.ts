/** The files that `init` writes: manifests, and a script that makes the Secrets and the webhook. */
import { hasDocker } from '../../config/runnergroup/runner-group.ts';
import { yamlText } from '../../config/runnergroup/yaml-text.ts';
import { applicationManifest, projectManifest } from '../../shared/installed/installed-application.ts';
import {
  ACCOUNT,
  API_SECRET,
  ARGOCD_NAMESPACE,
  manual,
  REGISTRATION_SECRET,
  SERVE_SECRET,
} from '../../shared/installed/installed-names.ts';
import { API_VERSION, KIND } from '../../shared/marks.ts';
import type { Answers, WhoseJobs } from './answers.ts';

/** Returns the value only for groups whose pods register their runners. */
function ifByPod<T>({ registration }: Pick<Answers, 'registration'>, value: T): readonly T[] {
  return registration === 'pod' ? [value] : [];
}

/** Returns the RunnerGroup that the answers describe. It may be invalid. */
export function manifestFrom({ group, namespace, gitea, scope, cap, mode, registration }: Answers) {
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
      // Without docker a group has no default labels.
      ...(!hasDocker(mode) && { labels: ['linux:host'] }),
      ...(registration === 'pod'
        ? { registrationToken: { secretRef: { name: REGISTRATION_SECRET, key: 'registration-token' } } }
        : { registration: { by: 'serve', ...(registration === 'bound' && { for: 'repository' }) } }),
      authToken: { secretRef: { name: API_SECRET, key: 'token' } },
    },
  };
}

export function groupText(answers: Answers): string {
  return `# Goes into the repository of the Application. All fields: ${manual('runnergroup.md')}\n# Who registers the runners: ${manual('registration.md')}\n${yamlText(manifestFrom(answers))}`;
}

/** The file with the Application and its AppProject. */
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
export function externalSecretsText(answers: Answers): string {
  const { namespace, gitea, secretStore } = answers;
  const key = 'registration-token';
  const secrets = [
    externalSecret(secretStore, ARGOCD_NAMESPACE, API_SECRET, { token: 'api-token' }, gitea),
    ...ifByPod(answers, externalSecret(secretStore, namespace, REGISTRATION_SECRET, { [key]: key }, gitea)),
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

/** Returns the path in Gitea's API of the registration token and the webhooks of a scope. */
function levelOf(scope: WhoseJobs): string {
  if (scope.scope === 'org') return `/orgs/${scope.org}`;
  if (scope.scope === 'repo') return `/repos/${scope.repo}`;
  return scope.scope === 'user' ? '/user' : '/admin';
}

/** Rights of the two tokens: of Gitea's API, and as owner. */
const RIGHTS: Readonly<Record<WhoseJobs['scope'], readonly [api: string, owner: string]>> = {
  global: ['read:admin, of a site administrator', 'write:admin, of a site administrator'],
  org: ['read:organization, of an owner of the organization', 'write:organization, of an owner of it'],
  user: ['read:user, of that user', 'write:user, of that user'],
  repo: ['read:repository, of an owner of the repository', 'write:repository, of an owner of it'],
};

/** Makes `setup.sh`. It holds no secret, can be run again, and stops at the first failure. */
export function setupScript(answers: Answers): string {
  return [head(answers), fetched(answers), SECRETS[answers.secretTool](answers), webhook(answers)].join('\n');
}

function head({ gitea, registration, scope }: Answers): string {
  const [reads, owner] = RIGHTS[scope.scope];
  const readsAndWrites = scope.scope === 'repo' ? owner : reads.replace(',', ' and write:repository,');
  const writes = registration === 'serve' ? owner : readsAndWrites;
  const api = registration === 'pod' ? reads : writes;
  return `#!/bin/sh
# Makes the Secrets and the webhook of the runners. Run it after the installation (step 1 of ${manual('install.md#install-three-steps')}). It can be run again.
set -eu
# GITEA_API_TOKEN stays in the cluster: ${api}.
# GITEA_OWNER_TOKEN is used here only: ${owner}.
: "\${GITEA_API_TOKEN:?set it: ${api}}" "\${GITEA_OWNER_TOKEN:?set it: ${owner}}"
GITEA_URL=${quoted(gitea.replace(/\/+$/, ''))}
`;
}

function fetched(answers: Answers): string {
  const token = `answer=$(gitea -X POST "$GITEA_URL/api/v1${levelOf(answers.scope)}/actions/runners/registration-token")
registration=$(printf %s "$answer" | sed -n 's/.*"token": *"\\([^"]*\\)".*/\\1/p')
: "\${registration:?Gitea gave none}"
`;
  return `# Everybody on this machine can see the arguments of a program, so the token is none.
gitea() {
  curl -fsS -H @/dev/fd/3 -H 'Content-Type: application/json' "$@" 3<< HEADER
Authorization: token $GITEA_OWNER_TOKEN
HEADER
}
${ifByPod(answers, token).join('')}webhook=$(kubectl -n ${ARGOCD_NAMESPACE} get secret ${SERVE_SECRET} --ignore-not-found -o jsonpath='{.data.webhook-secret}' | base64 -d | sed -n 1p)
argocd=$(kubectl -n ${ARGOCD_NAMESPACE} get secret ${SERVE_SECRET} --ignore-not-found -o jsonpath='{.data.argocd-token}' | base64 -d)
test -n "$webhook" || webhook=$(openssl rand -hex 32)
test -n "$argocd" || argocd=$(argocd account generate-token --account ${ACCOUNT})
: "\${argocd:?Argo CD gave no token}" "\${webhook:?openssl gave none}"
`;
}

/** \`secret NAMESPACE NAME KEY=VALUE…\` prints a Secret. Values are handed on as base64, so they stand in no list of processes. */
const PRINT_SECRET = `secret() {
  printf 'apiVersion: v1\\nkind: Secret\\nmetadata: {name: %s, namespace: %s}\\ndata:\\n' "$2" "$1"
  shift 2
  for pair; do printf '  %s: %s\\n' "\${pair%%=*}" "$(printf %s "\${pair#*=}" | base64 | tr -d '\\n')"; done
}
`;

const SECRETS: Readonly<Record<Answers['secretTool'], (answers: Answers) => string>> = {
  kubectl: (answers) =>
    PRINT_SECRET +
    secretsOf(answers)
      .map((words) => `secret ${words} | kubectl apply --server-side --force-conflicts -f -\n`)
      .join(''),
  'sealed-secrets': (answers) =>
    `${PRINT_SECRET}# The sealed files hold no secret: commit them.\n` +
    secretsOf(answers)
      .map((words) => {
        const [, name = ''] = words.split(' ');
        return `secret ${words} | kubeseal --format yaml > sealed-${name}.yaml\nkubectl apply -f sealed-${name}.yaml\n`;
      })
      .join(''),
  'external-secrets': (
    answers,
  ) => `# Put these values into your store, below gitea-runners/: they are written to this folder, for nobody else to read.
umask 077
mkdir -p for-the-store
printf %s "$GITEA_API_TOKEN" > for-the-store/api-token
${ifByPod(answers, 'printf %s "$registration" > for-the-store/registration-token\n').join('')}printf %s "$argocd" > for-the-store/argocd-token
printf %s "$webhook" > for-the-store/webhook-secret
kubectl apply -f argocd/external-secrets.yaml
`,
};

function secretsOf(answers: Answers): readonly string[] {
  const registration = `${answers.namespace} ${REGISTRATION_SECRET} registration-token="$registration" url="$GITEA_URL"`;
  return [
    `${ARGOCD_NAMESPACE} ${API_SECRET} token="$GITEA_API_TOKEN" url="$GITEA_URL"`,
    ...ifByPod(answers, registration),
    `${ARGOCD_NAMESPACE} ${SERVE_SECRET} argocd-token="$argocd" webhook-secret="$webhook"`,
  ];
}

function webhook({ scope, webhook: url }: Answers): string {
  const system = scope.scope === 'global' ? ', "is_system_webhook": "true"' : '';
  return `
# Gitea tells serve of each job at once. Without a webhook serve looks every 5 s.
WEBHOOK_URL=${quoted(url)}
hooks="$GITEA_URL/api/v1${levelOf(scope)}/hooks"
case $(gitea "$hooks?limit=50") in
  *"\\"$WEBHOOK_URL\\""*) echo "There is a webhook to $WEBHOOK_URL." ;;
  *) gitea -o /dev/null "$hooks" -d @- << END ;;
{"type": "gitea", "active": true, "events": ["workflow_job"],
 "config": {"url": "$WEBHOOK_URL", "content_type": "json", "secret": "$webhook"${system}}}
END
esac
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
