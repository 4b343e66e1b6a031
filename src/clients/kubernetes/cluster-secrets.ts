/**
 * Reads Secrets by name, and writes keys into one that exists. Never lists them, so that a Role can name each Secret.
 * Creates only those of one runner, of a type of their own, which a Job owns; an admission policy limits that right
 * (packaging/access.ts). Each Secret is one GET, eight at a time, in one time limit, of 2 MiB at most. Failures name
 * Secret and namespace, never a value.
 */
import * as z from 'zod';
import { Failure } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { CREDENTIALS_KEY, CREDENTIALS_TYPE, groupLabels, type Texts } from '../../shared/marks.ts';
import { type Deadline, failure, type HttpAnswer, type HttpRequest, type RequestLine } from '../http/request.ts';
import type { SecretKeys } from '../tokens/api-token.ts';
import type { ClusterConfig } from './config.ts';
import {
  admissionFailure,
  type KubeApi,
  KubeClient,
  type KubeQuestion,
  parseAnswer,
  unexpectedStatus,
  unreadable,
} from './kube-client.ts';

/** Kubernetes limits a Secret to 1 MiB, which Base64 makes 1.4 MiB; metadata may add a quarter of a MiB. */
const BODY_LIMIT = 2 * 1024 * 1024;
const FIELD_MANAGER = 'gitea-runners-serve';

const texts = z.record(z.string(), z.string());
const Secret = z.object({ data: z.record(z.string(), z.string().regex(/^[A-Za-z0-9+/]*={0,2}$/)).nullish() });
const Versioned = z.object({
  metadata: z.object({ resourceVersion: z.string().min(1), annotations: texts.nullish() }),
});

export type SecretPlace = Readonly<Record<'namespace' | 'name', string>>;

/** Returns a client for Secrets. The caller closes it. */
export function secretsClient(config: ClusterConfig, onRequest?: (line: RequestLine) => void): KubeClient {
  return new KubeClient(config, { bodyLimit: BODY_LIMIT, onRequest });
}

export type ClusterSecrets = ReturnType<typeof openClusterSecrets>;

/** Reads the Secrets of one look, each once. @param deadline for all Secrets together */
export function openClusterSecrets(client: KubeClient, deadline: Deadline) {
  const answers = new Map<string, Promise<HttpAnswer>>();

  const answerOf = async (place: SecretPlace): Promise<HttpAnswer> => {
    const answer = answers.get(keyText(place)) ?? client.send(questionFor('read', place), deadline);
    answers.set(keyText(place), answer);
    return await answer;
  };

  const keysIn = (answer: HttpAnswer, place: SecretPlace): SecretKeys => {
    const { namespace, name } = place;
    const request = client.request(questionFor('read', place));
    if (answer.status === 200) return keysOf(request, answer);
    throw failureOf(request, answer, place, {
      verbs: 'get',
      role: `gitea-runners-${name}`,
      create: `kubectl create secret generic ${name} --namespace ${namespace} --from-file=token=FILE --from-literal=url=GITEA-URL`,
      instead: ', or use --secrets files and mount the Secret',
    });
  };

  return {
    /** Returns a Secret that must be there. @throws Failure exit 1 for any other answer */
    read: async (namespace: string, name: string): Promise<SecretKeys> =>
      keysIn(await answerOf({ namespace, name }), { namespace, name }),
    /** Returns key `url` only. Undefined: no such key or Secret, or no right to read it. @throws Failure exit 1 */
    readUrl: async (namespace: string, name: string): Promise<string | undefined> => {
      const answer = await answerOf({ namespace, name });
      return answer.status === 403 || answer.status === 404 ? undefined : keysIn(answer, { namespace, name })('url');
    },
  };
}

/** Reads a Secret that may be written; each write changes `version`. @throws Failure exit 1: no such Secret */
export async function readSecret(client: KubeApi, place: SecretPlace, deadline: Deadline) {
  const question = questionFor('read', place);
  const request = client.request(question);
  const answer = await client.send(question, deadline);
  if (answer.status !== 200) throw failureOf(request, answer, place, remediesOfFilling(place));
  const keys = keysOf(request, answer);
  const { annotations, resourceVersion: version } = parseAnswer(request, Versioned, answer.text, 'Secret').metadata;
  return { keys, annotations: annotations ?? {}, version };
}

/** Sets these keys and annotations only. `changed`: somebody wrote it since `version`. @throws Failure exit 1 */
export async function fillSecret(
  client: KubeApi,
  place: SecretPlace,
  version: string,
  content: { readonly data: Texts; readonly annotations: Texts },
  deadline: Deadline,
): Promise<'written' | 'changed'> {
  const data = Object.entries(content.data).map(
    ([key, value]) => [key, Buffer.from(value).toString('base64')] as const,
  );
  const question: KubeQuestion = {
    ...questionFor('write', place),
    method: 'PATCH',
    query: { fieldManager: FIELD_MANAGER },
    body: { metadata: { resourceVersion: version, annotations: content.annotations }, data: Object.fromEntries(data) },
  };
  const answer = await client.send(question, deadline);
  if (answer.status === 200) return 'written';
  if (answer.status === 409) return 'changed';
  throw failureOf(client.request(question), answer, place, remediesOfFilling(place));
}

/** Creates the Secret of one runner, owned by its Job. @param file undefined: a dry run @throws Failure */
export async function createCredentials(
  client: KubeApi,
  { group, name, namespace, uid }: SecretPlace & Readonly<Record<'group' | 'uid', string>>,
  file: string | undefined,
  deadline: Deadline,
): Promise<'created' | 'there'> {
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid };
  const question: KubeQuestion = {
    what: `create the Secret with the credentials of runner ${name} of namespace ${namespace}`,
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`,
    query: { fieldManager: FIELD_MANAGER, ...(file === undefined && { dryRun: 'All' }) },
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: groupLabels(group), ownerReferences: [owner] },
      type: CREDENTIALS_TYPE,
      immutable: true,
      data: { [CREDENTIALS_KEY]: Buffer.from(file ?? '').toString('base64') },
    },
  };
  const answer = await client.send(question, deadline);
  const { status } = answer;
  if (status === 201) return 'created';
  if (status === 409) return 'there';
  const request = client.request(question);
  const refused = admissionFailure(request, answer);
  if (refused) throw refused;
  if (status !== 403 && status !== 422) throw unexpectedStatus(request, status, '');
  const remedy = `Apply install/runner-credentials.yaml for namespace ${namespace}, and look for a quota of Secrets there`;
  throw failure(request, 'GR-REG-01', `the cluster refused (${status})`, remedy, 'cluster-forbidden');
}

function questionFor(verb: 'read' | 'write', { namespace, name }: SecretPlace): KubeQuestion {
  return {
    what: `${verb} Secret ${name} of namespace ${namespace}`,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`,
  };
}

/** Returns the keys of a Secret. @throws Failure that names none of its keys */
function keysOf(request: HttpRequest, { text }: HttpAnswer): SecretKeys {
  let data: Texts;
  try {
    data = parseAnswer(request, Secret, text, 'Secret').data ?? {};
  } catch {
    // The message does not tell the place: that would name keys of the Secret.
    throw unreadable(request, 'no Secret');
  }
  return (key) => (Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString('utf8') : undefined);
}

/** Words of a remedy: needed verbs, proposed Role, command that makes the Secret, and another way, after a comma. */
type SecretRemedies = Readonly<Record<'verbs' | 'role' | 'create' | 'instead', string>>;

function remediesOfFilling({ namespace, name }: SecretPlace): SecretRemedies {
  return {
    verbs: 'get,patch',
    role: `gitea-runners-fill-${name}`,
    create: `kubectl create secret generic ${name} --namespace ${namespace}`,
    instead: ', or take the Secret out of --registration-secrets',
  };
}

/** The API server's 403 names who asked. Nothing else of its text is used, and this only when it is a name. */
const WHO = /User "system:serviceaccount:([a-z0-9-]{1,63}:[a-z0-9.-]{1,253})"/;

function failureOf(
  request: HttpRequest,
  answer: HttpAnswer,
  { namespace, name }: SecretPlace,
  { create, instead, role, verbs }: SecretRemedies,
): Failure {
  const { status, text } = answer;
  if (status === 404)
    return failure(request, 'GR-TOKEN-10', 'there is no such Secret (404)', `Create it: ${create}`, 'token-unusable');
  const refused = admissionFailure(request, answer);
  if (refused) return refused;
  if (status !== 403) return unexpectedStatus(request, status, instead);
  // The text is JSON, so its quotes are escaped.
  const account = WHO.exec(text.slice(0, 2_000).replaceAll('\\"', '"'))?.[1] ?? 'NAMESPACE:SERVICEACCOUNT';
  const remedy =
    `Grant it: kubectl create role ${role} --namespace ${namespace} --verb=${verbs} --resource=secrets --resource-name=${name} && ` +
    `kubectl create rolebinding ${role} --namespace ${namespace} --role=${role} --serviceaccount=${account}`;
  return failure(request, 'GR-TOKEN-09', 'the cluster refused (403)', remedy, 'token-unseen');
}

/** Returns the cluster's configuration. @throws Failure exit 2: there is none */
export function needCluster(config: ClusterConfig | undefined): ClusterConfig {
  if (config) return config;
  const message =
    'read --secrets: api needs a cluster, but this process has no service account. ' +
    'Run it in the cluster, give --kubeconfig, or use --secrets files.';
  throw new Failure('GR-FLAG-11', 2, message);
}
