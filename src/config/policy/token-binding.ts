/** Which Gitea a policy binds the tokens of a Secret to. */
import { matchesGlob } from './glob.ts';
import type { Policy } from './schema.ts';

/** The base URL as it is written; undefined: no entry fits. The first entry that fits counts. */
export function boundTo({ tokenBindings = [] }: Policy, namespace: string, secret: string): string | undefined {
  return tokenBindings.find((entry) => entry.secret === secret && matchesGlob(entry.namespace, namespace))?.url;
}
