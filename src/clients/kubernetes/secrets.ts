/**
 * Reads Secrets by name, for `--secrets api`. It never lists them, so a Role can name each Secret that may be read (`resourceNames`).
 *
 * Bounds: one GET per distinct Secret, eight at a time, all within one time limit; an answer is at most 2 MiB. Failures name Secret and
 * namespace, never a key's value (test/clients/kubernetes/secrets.test.ts).
 */
import * as z from 'zod';
import { Failure } from '../../shared/failure.ts';
import type { Deadline } from '../http/deadline.ts';
import { failure, type HttpAnswer, type HttpRequest, type RequestLine } from '../http/request.ts';
import { KubeClient, type KubeQuestion, parseAnswer, unexpectedStatus, unreadable } from './client.ts';
import type { ClusterConfig } from './config.ts';

/** Kubernetes limits a Secret to 1 MiB, which Base64 makes 1.4 MiB; metadata may add a quarter of a MiB. */
const BODY_LIMIT = 2 * 1024 * 1024;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const Secret = z.object({ data: z.record(z.string(), z.string().regex(BASE64)).nullish() });

/** Value of a key as text; undefined when the Secret has no such key. */
export type KeysOfSecret = (key: string) => string | undefined;

/** A connection that only ever reads Secrets. To be closed by the caller. */
export function secretsClient(config: ClusterConfig, onRequest?: (line: RequestLine) => void): KubeClient {
  return new KubeClient(config, { bodyLimit: BODY_LIMIT, ...(onRequest && { onRequest }) });
}

/** The Secrets of one look: each is asked for once, and what was read is forgotten with this object. */
export class ClusterSecrets {
  readonly #client: KubeClient;
  readonly #deadline: Deadline;
  readonly #answers = new Map<string, Promise<HttpAnswer>>();

  /** @param deadline for all Secrets together. */
  constructor(client: KubeClient, deadline: Deadline) {
    this.#client = client;
    this.#deadline = deadline;
  }

  /** A Secret that must be there. @throws Failure exit 1 for every answer but that Secret. */
  async read(namespace: string, name: string): Promise<KeysOfSecret> {
    const answer = await this.#answerOf(namespace, name);
    if (answer.status !== 200) throw this.#failureOf(answer, namespace, name);
    return keysOf(this.#client.request(questionFor(namespace, name)), answer);
  }

  /**
   * Key `url` of a Secret that need not be there and that this process need not be allowed to read (403, 404): undefined then. No
   * other key is looked at. @throws Failure exit 1 for any other answer.
   */
  async readUrl(namespace: string, name: string): Promise<string | undefined> {
    const answer = await this.#answerOf(namespace, name);
    if (answer.status === 403 || answer.status === 404) return undefined;
    if (answer.status !== 200) throw this.#failureOf(answer, namespace, name);
    return keysOf(this.#client.request(questionFor(namespace, name)), answer)('url');
  }

  async #answerOf(namespace: string, name: string): Promise<HttpAnswer> {
    const key = `${namespace}/${name}`;
    const known = this.#answers.get(key);
    if (known) return await known;
    const asked = this.#client.send(questionFor(namespace, name), this.#deadline);
    this.#answers.set(key, asked);
    return await asked;
  }

  #failureOf(answer: HttpAnswer, namespace: string, name: string): Failure {
    return failureOfSecret(
      this.#client.request(questionFor(namespace, name)),
      answer,
      { namespace, name },
      {
        verbs: 'get',
        role: `gitea-runners-${name}`,
        create: `kubectl create secret generic ${name} --namespace ${namespace} --from-file=token=FILE --from-literal=url=GITEA-URL`,
        instead: ', or use --secrets files and mount the Secret',
      },
    );
  }
}

/** What a Secret holds. @throws Failure that names no key of it. */
export function keysOf(request: HttpRequest, { text }: HttpAnswer): KeysOfSecret {
  let data: Readonly<Record<string, string>>;
  try {
    data = parseAnswer(request, Secret, text, 'Secret').data ?? {};
  } catch {
    // Not where it is wrong: that names keys of the Secret.
    throw unreadable(request, 'no Secret');
  }
  return (key) => (Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString('utf8') : undefined);
}

/** Name and namespace of a Secret. */
export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

/** What to do where the API server does not answer with a Secret. */
export interface SecretRemedies {
  /** Rights that are needed, e.g. `get`. */
  readonly verbs: string;
  /** Name of the Role that is proposed. */
  readonly role: string;
  /** For 404: the command that makes the Secret. */
  readonly create: string;
  /** Another way than this one, with a comma before it. */
  readonly instead: string;
}

/** The Failure for an answer other than 200. */
export function failureOfSecret(
  request: HttpRequest,
  { status, text }: HttpAnswer,
  place: SecretPlace,
  { create, instead, role, verbs }: SecretRemedies,
): Failure {
  switch (status) {
    case 403:
      return failure(
        request,
        'GR-TOKEN-09',
        'the cluster refused (403)',
        `Grant it: ${grant(place, role, verbs, text)}`,
      );
    case 404:
      return failure(request, 'GR-TOKEN-10', 'there is no such Secret (404)', `Create it: ${create}`);
    default:
      return unexpectedStatus(request, status, 'a Secret', instead);
  }
}

/** The path of a Secret, for a question. */
export function secretPath({ namespace, name }: SecretPlace): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
}

function questionFor(namespace: string, name: string): KubeQuestion {
  return { what: `read Secret ${name} of namespace ${namespace}`, path: secretPath({ namespace, name }) };
}

/** The API server's 403 names who asked. Nothing else of its text is used, and this only when it is a name. */
const WHO = /User "system:serviceaccount:([a-z0-9-]{1,63}:[a-z0-9.-]{1,253})"/;

/** The commands that give this process rights to one Secret. */
function grant({ namespace, name }: SecretPlace, role: string, verbs: string, text: string): string {
  // The text is JSON, so its quotes are escaped.
  const who = WHO.exec(text.slice(0, 2_000).replaceAll('\\"', '"'))?.[1] ?? 'NAMESPACE:SERVICEACCOUNT';
  return (
    `kubectl create role ${role} --namespace ${namespace} --verb=${verbs} --resource=secrets --resource-name=${name} && ` +
    `kubectl create rolebinding ${role} --namespace ${namespace} --role=${role} --serviceaccount=${who}`
  );
}

/** The cluster to ask. @throws Failure exit 2: there is no cluster to ask. */
export function needCluster(config: ClusterConfig | undefined): ClusterConfig {
  if (config) return config;
  throw new Failure(
    'GR-FLAG-11',
    2,
    'read --secrets: api needs a cluster, but this process has no service account. ' +
      'Run it in the cluster, give --kubeconfig, or use --secrets files.',
  );
}
