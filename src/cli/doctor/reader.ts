/** Reads single objects of the cluster. */
import type * as z from 'zod';
import type { Deadline } from '../../clients/http/deadline.ts';
import type { KubeClient } from '../../clients/kubernetes/client.ts';
import { readObject, type Unread } from '../read-object.ts';
import { listOf, type WithData } from './shapes.ts';

/** An object as it stands in the cluster, or why it is not known. */
export type SeenOrNot<T> = { readonly value: T } | Unread;

const ROOTS: Readonly<Record<string, string>> = {
  deployments: '/apis/apps/v1',
  networkpolicies: '/apis/networking.k8s.io/v1',
};

export class Reader {
  readonly #client: KubeClient;
  readonly #deadline: Deadline;
  readonly #argocd: string;

  constructor(client: KubeClient, deadline: Deadline, argocdNamespace: string) {
    this.#client = client;
    this.#deadline = deadline;
    this.#argocd = argocdNamespace;
  }

  async read<T>(path: string, shape: z.ZodType<T>): Promise<SeenOrNot<T>> {
    const answer = await readObject(this.#client, `read ${path}`, path, this.#deadline);
    return 'unread' in answer ? answer : shaped(shape, answer.json);
  }

  async list<T extends z.ZodType>(path: string, item: T): Promise<SeenOrNot<readonly z.output<T>[]>> {
    return await this.read(path, listOf(item));
  }

  /** An object of Argo CD's namespace. */
  async inArgo<T>(kind: string, name: string, shape: z.ZodType<T>): Promise<SeenOrNot<T>> {
    return await this.read(
      `${ROOTS[kind] ?? '/api/v1'}/namespaces/${encodeURIComponent(this.#argocd)}/${kind}/${name}`,
      shape,
    );
  }
}

/** A key of a Secret as text, without white space around it; empty when there is none. */
export function valueAt({ data }: WithData, key: string): string {
  return Buffer.from(data[key] ?? '', 'base64')
    .toString()
    .trim();
}

export function shaped<T>(shape: z.ZodType<T>, json: unknown): SeenOrNot<T> {
  const { data } = shape.safeParse(json);
  return data === undefined ? { unread: 'the answer has another form', isMissing: false } : { value: data };
}
