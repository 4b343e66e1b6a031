/** Asks the API server who may do what. */
import * as z from 'zod';
import { type ClusterReader, readObject, shaped } from './read-object.ts';

const Review = z
  .looseObject({ status: z.looseObject({ allowed: z.boolean() }) })
  .transform(({ status }) => status.allowed);

export async function askReview(
  reader: ClusterReader,
  kind: 'SubjectAccessReview' | 'SelfSubjectAccessReview',
  spec: object,
) {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec };
  const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`;
  return shaped(Review, await readObject(reader, { method: 'POST', path, body }, 'ask that'));
}

/** What only administrators of the cluster may do. */
export const EVERYTHING = { verb: '*', group: '*', resource: '*' };

export async function askOwnRight(reader: ClusterReader, resourceAttributes: Readonly<Record<string, string>>) {
  return await askReview(reader, 'SelfSubjectAccessReview', { resourceAttributes });
}

const MOST_NAMESPACES = 3;

/** Returns the namespaces where the person who asks can see runners and may not start one. */
export async function readOnlyOf(reader: ClusterReader, namespaces: readonly string[]): Promise<readonly string[]> {
  const asked = [...new Set(namespaces)].slice(0, MOST_NAMESPACES);
  const rights = asked.map((namespace) => askOwnRight(reader, { verb: 'create', resource: 'pods', namespace }));
  const answers = await Promise.all(rights);
  return asked.filter((_, at) => {
    const read = answers[at];
    return read && 'value' in read && !read.value;
  });
}
