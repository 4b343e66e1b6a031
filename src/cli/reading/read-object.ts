/** Reads objects of the cluster, for commands that show what they may see. A missing object or a refusal is not an error here. */
import type * as z from 'zod';
import { type Deadline, type HttpAnswer, parseJson } from '../../clients/http/request.ts';
import type { KubeClient, KubeQuestion } from '../../clients/kubernetes/kube-client.ts';
import { Failure, orFailure } from '../../shared/failure.ts';

export interface ClusterReader {
  readonly client: KubeClient;
  readonly deadline: Deadline;
  readonly argocdNamespace: string;
  /** Returns the time of the API server's clock, as in its objects. Until its first answer: this machine's time. */
  readonly now: () => number;
}

/** What was read of an object, or why it is not known. */
export type SeenOrNot<T> = { readonly value: T } | ReturnType<typeof notKnown>;

/** Reads the JSON of an object. @param may what a 403 refuses, e.g. `read it` */
export async function readObject(
  { client, deadline }: Pick<ClusterReader, 'client' | 'deadline'>,
  question: Omit<KubeQuestion, 'what'>,
  may?: string,
): Promise<SeenOrNot<unknown>> {
  // `what` is for failures, and only the code of these is kept.
  const answer = await orFailure(client.send({ what: 'read an object', ...question }, deadline));
  return answer instanceof Failure ? notKnown(`the cluster did not answer (${answer.code})`) : jsonOf(answer, may);
}

/** Returns the JSON of an answer, or why there is none. @param may what a 403 refuses */
export function jsonOf({ status, text }: HttpAnswer, may = 'read it'): SeenOrNot<unknown> {
  if (status === 403) return notKnown(`you may not ${may} (403)`);
  if (status === 404) return notKnown('it does not exist (404)', true);
  if (status !== 200 && status !== 201) return notKnown(`the cluster answered ${status}`);
  const value = parseJson(text);
  return value === undefined ? notKnown('the answer is no JSON') : { value };
}

/** Returns what was read in the wanted form. */
export function shaped<T>(shape: z.ZodType<T>, read: SeenOrNot<unknown>): SeenOrNot<T> {
  if ('unread' in read) return read;
  const { data } = shape.safeParse(read.value);
  return data === undefined ? notKnown('the answer has another form') : { value: data };
}

function notKnown(unread: string, isMissing = false) {
  return { unread, isMissing };
}
