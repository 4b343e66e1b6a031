/**
 * Writes keys into a Secret that exists. It makes no Secret: Kubernetes cannot limit the right to create one to a name.
 *
 * Bounds: an answer is at most 2 MiB (`secretsClient`). A Secret that has changed since it was read is not written. Failures name Secret
 * and namespace, never a value (test/clients/kubernetes/fill-secret.test.ts).
 */
import * as z from 'zod';
import type { Failure } from '../../shared/failure.ts';
import type { Deadline } from '../http/deadline.ts';
import type { HttpAnswer } from '../http/request.ts';
import { type KubeApi, type KubeQuestion, parseAnswer } from './client.ts';
import { failureOfSecret, type KeysOfSecret, keysOf, type SecretPlace, secretPath } from './secrets.ts';

type Texts = Readonly<Record<string, string>>;

/** The field manager of what is written. */
const FIELD_MANAGER = 'gitea-runners-serve';

const Versioned = z.object({
  metadata: z.object({
    resourceVersion: z.string().min(1),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
});

export interface ReadSecret {
  readonly keys: KeysOfSecret;
  readonly annotations: Texts;
  /** Changes with each write. */
  readonly version: string;
}

/** @throws Failure exit 1 for every answer but that Secret. */
export async function readSecret(client: KubeApi, place: SecretPlace, deadline: Deadline): Promise<ReadSecret> {
  const question = { what: `read ${nameOf(place)}`, path: secretPath(place) };
  const answer = await client.send(question, deadline);
  if (answer.status !== 200) throw failureOf(client, question, answer, place);
  const request = client.request(question);
  const keys = keysOf(request, answer);
  const { annotations, resourceVersion: version } = parseAnswer(request, Versioned, answer.text, 'Secret').metadata;
  return { keys, annotations: annotations ?? {}, version };
}

/**
 * Sets these keys and annotations, and leaves the others as they are. `changed`: somebody has written the Secret since `version`, so nothing was written.
 * @throws Failure exit 1 for every other answer.
 */
export async function fillSecret(
  client: KubeApi,
  place: SecretPlace,
  version: string,
  wanted: { readonly data: Texts; readonly annotations: Texts },
  deadline: Deadline,
): Promise<'written' | 'changed'> {
  const data = Object.entries(wanted.data).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const);
  const question: KubeQuestion = {
    what: `write ${nameOf(place)}`,
    method: 'PATCH',
    path: secretPath(place),
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/merge-patch+json',
    body: { metadata: { resourceVersion: version, annotations: wanted.annotations }, data: Object.fromEntries(data) },
  };
  const answer = await client.send(question, deadline);
  if (answer.status === 200) return 'written';
  if (answer.status === 409) return 'changed';
  throw failureOf(client, question, answer, place);
}

function failureOf(client: KubeApi, question: KubeQuestion, answer: HttpAnswer, place: SecretPlace): Failure {
  const { namespace, name } = place;
  return failureOfSecret(client.request(question), answer, place, {
    verbs: 'get,patch',
    role: `gitea-runners-fill-${name}`,
    create: `kubectl create secret generic ${name} --namespace ${namespace}`,
    instead: ', or take the Secret out of --registration-secrets',
  });
}

function nameOf({ namespace, name }: SecretPlace): string {
  return `Secret ${name} of namespace ${namespace}`;
}
