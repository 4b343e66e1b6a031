/** Reads one object of the cluster, for commands that show what they may see. Nothing that is missing or refused is an error here. */

import type { Deadline } from '../clients/http/deadline.ts';
import { parseJson } from '../clients/http/request.ts';
import type { KubeClient } from '../clients/kubernetes/client.ts';
import { Failure } from '../shared/failure.ts';

/** Why an object is not known, and whether it is known that there is none. */
export interface Unread {
  readonly unread: string;
  readonly isMissing: boolean;
}

/** An object, or why it cannot be read. */
export async function readObject(
  client: KubeClient,
  what: string,
  path: string,
  deadline: Deadline,
  query?: Readonly<Record<string, string>>,
): Promise<{ readonly json: unknown } | Unread> {
  try {
    const { status, text } = await client.send({ what, path, ...(query && { query }) }, deadline);
    if (status === 403) return unread('you may not read it (403)');
    if (status === 404) return { unread: 'it does not exist (404)', isMissing: true };
    if (status !== 200) return unread(`the cluster answered ${status}`);
    const json = parseJson(text);
    return json === undefined ? unread('the answer is no JSON') : { json };
  } catch (error) {
    if (error instanceof Failure) return unread(`the cluster did not answer (${error.code})`);
    throw error;
  }
}

function unread(why: string): Unread {
  return { unread: why, isMissing: false };
}
