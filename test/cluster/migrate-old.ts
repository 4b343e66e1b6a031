/** Runners as others start them: a pod that stays, the operator's Jobs, and KEDA itself. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { writeImage } from '../../scripts/oci-image.mjs';
import { buildKeda } from '../servers/build.ts';
import { sleep } from '../servers/process.ts';
import { ORG } from './install.ts';
import { RUNNER_IMAGE, USERS } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

export async function apply({ kubernetes }: Pick<Stack, 'kubernetes'>, ...items: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items };
  await kubernetes.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list));
}

/** Makes the container of a runner with the token of Secret gitea-runner. */
function container({ gitea }: Stack, label: string, ephemeral: boolean): object {
  return {
    name: 'runner',
    image: RUNNER_IMAGE,
    env: [
      { name: 'GITEA_INSTANCE_URL', value: gitea.url },
      { name: 'GITEA_RUNNER_LABELS', value: `${label}:host` },
      { name: 'GITEA_RUNNER_EPHEMERAL', value: ephemeral ? 'true' : '' },
      {
        name: 'GITEA_RUNNER_REGISTRATION_TOKEN',
        valueFrom: { secretKeyRef: { name: 'gitea-runner', key: 'registration-token' } },
      },
    ],
  };
}

/** A runner that always runs, as its project's manual has it, twice. */
export function staticRunners(stack: Stack, label: string): object {
  const labels = { app: 'act-runner' };
  const spec = { containers: [container(stack, label, false)], terminationGracePeriodSeconds: 1 };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'act-runner', namespace: 'ci' },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

export const OPERATOR_NAMESPACE = 'gitea-runner-operator-system';
const GROUP = 'operated';
const CAP = 3;

/**
 * Makes the operator's object, and its Jobs as its `constructJobForRunnerGroup` does (bapung/gitea-runner-operator
 * 776a3fb): random names, owned by the object, deleted ten minutes after their end. The operator itself is not a Go
 * module that a proxy has.
 */
export async function startOperator(stack: Stack, label: string): Promise<{ readonly stop: () => Promise<void> }> {
  const { admin, url } = stack.gitea;
  const kubectl = (words: string): Promise<string> => stack.kubernetes.kubectl(words.split(' '));
  const names = { kind: 'RunnerGroup', listKind: 'RunnerGroupList', plural: 'runnergroups', singular: 'runnergroup' };
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = [{ name: 'v1alpha1', served: true, storage: true, schema, subresources: { status: {} } }];
  await apply(stack, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'runnergroups.gitea.bpg.pw' },
    spec: { group: 'gitea.bpg.pw', names, scope: 'Namespaced', versions },
  });
  await kubectl('wait --for=condition=Established crd/runnergroups.gitea.bpg.pw');
  await kubectl(`create namespace ${OPERATOR_NAMESPACE}`);
  const token = await admin.registrationToken(`/orgs/${ORG}`);
  const kind = { apiVersion: 'gitea.bpg.pw/v1alpha1', kind: 'RunnerGroup' };
  const secret = (key: string): object => ({ name: 'gitea-runner-secret', key });
  await apply(stack, {
    ...kind,
    metadata: { name: GROUP, namespace: OPERATOR_NAMESPACE },
    spec: {
      scope: 'org',
      org: ORG,
      giteaURL: url,
      labels: [`${label}:host`],
      maxActiveRunners: CAP,
      registrationToken: secret('registrationToken'),
      authToken: secret('authToken'),
    },
  });
  const uid = await kubectl(`get runnergroup ${GROUP} -n ${OPERATOR_NAMESPACE} -o jsonpath={.metadata.uid}`);
  const owner = { ...kind, name: GROUP, uid, controller: true };
  const served = new Set<number>();
  const look = async (): Promise<void> => {
    const active = await kubectl(`get jobs -n ${OPERATOR_NAMESPACE} -o jsonpath={.items[?(@.status.active)].kind}`);
    const queued = await admin.jobs(`/orgs/${ORG}`, 'queued', 'waiting', 'pending');
    const own = queued.filter(({ id, labels }) => labels?.includes(label) && !served.has(id));
    for (const { id } of own.slice(0, Math.max(0, CAP - active.split(' ').filter(Boolean).length))) {
      served.add(id);
      await apply(stack, operatorsJob(`${GROUP}-${randomBytes(4).toString('hex')}`, { token, url, label, owner }));
    }
  };
  let isStopped = false;
  const loop = (async () => {
    for (; !isStopped; await sleep(1_000)) await look();
  })();
  const stop = async (): Promise<void> => {
    isStopped = true;
    await loop;
  };
  return { stop };
}

function operatorsJob(
  name: string,
  { token, url, label, owner }: Readonly<Record<'token' | 'url' | 'label', string>> & { readonly owner: object },
): object {
  const labels = {
    app: GROUP,
    'gitea.bpg.pw/runnergroup-name': GROUP,
    'gitea.bpg.pw/managed-by': 'gitea-runner-operator',
  };
  const env = {
    GITEA_INSTANCE_URL: url,
    GITEA_RUNNER_REGISTRATION_TOKEN: token,
    GITEA_RUNNER_EPHEMERAL: 'true',
    GITEA_RUNNER_NAME: name,
    GITEA_RUNNER_LABELS: `${label}:host`,
  };
  const runner = {
    name: 'runner',
    image: RUNNER_IMAGE,
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    volumeMounts: [{ name: 'runner-data', mountPath: '/data' }],
  };
  const spec = { restartPolicy: 'OnFailure', containers: [runner], volumes: [{ name: 'runner-data', emptyDir: {} }] };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: OPERATOR_NAMESPACE, labels, ownerReferences: [owner] },
    spec: { ttlSecondsAfterFinished: 600, template: { spec } },
  };
}

/** KEDA's operator with its own manifests, but for its server of metrics: a ScaledJob needs none. Then a ScaledJob as people have it. */
export async function startKeda(stack: Stack, label: string): Promise<void> {
  const { gitea, kubernetes, machine } = stack;
  const build = buildKeda((line) => process.stdout.write(`servers: ${line}\n`));
  const image = 'local/keda:2.21.0';
  const tar = join(machine.folder, 'images', 'keda.tar');
  const files = [...USERS, { path: '/keda', source: join(build, 'keda'), mode: 0o755 }];
  await writeImage({ out: tar, name: image, layers: [{ files }], config: { User: '1000' } });
  await kubernetes.importImage(tar);
  const all = parseAllDocuments(await kubernetes.kubectl(['kustomize', join(build, 'config', 'minimal')])).map(
    (document) => document.toJS(),
  );
  for (const object of all.filter(
    ({ kind, metadata }) => kind !== 'APIService' && !/metrics-apiserver/.test(metadata.name),
  )) {
    const [operator] = object.kind === 'Deployment' ? object.spec.template.spec.containers : [];
    if (operator) {
      Object.assign(operator, { image, imagePullPolicy: 'IfNotPresent' });
      operator.args.push('--enable-webhook-patching=false', '--enable-apiservice-patching=false');
    }
    await apply(stack, object);
  }
  await kubernetes.rolledOut('keda', 'deployment/keda-operator');
  const token = await gitea.admin.createToken(['read:organization', 'read:repository', 'read:user']);
  await kubernetes.putSecret('ci', 'keda-gitea', { token });
  const authentication = {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'TriggerAuthentication',
    metadata: { name: 'gitea', namespace: 'ci' },
    spec: { secretTargetRef: [{ parameter: 'personalAccessToken', name: 'keda-gitea', key: 'token' }] },
  };
  const trigger = {
    type: 'github-runner',
    metadata: {
      githubApiURL: `${gitea.url}/api/v1`,
      owner: ORG,
      runnerScope: 'org',
      labels: label,
      noDefaultLabels: 'true',
    },
    authenticationRef: { name: 'gitea' },
  };
  const scaled = {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledJob',
    metadata: { name: label, namespace: 'ci' },
    spec: {
      pollingInterval: 3,
      maxReplicaCount: CAP,
      jobTargetRef: { template: { spec: { restartPolicy: 'Never', containers: [container(stack, label, true)] } } },
      triggers: [trigger],
    },
  };
  await apply(stack, authentication, scaled);
}
