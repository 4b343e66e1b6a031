/** What `import` makes of one object of another tool. */

import { parseLabel } from '../../config/runnergroup/label.ts';
import { API_SECRET } from '../../shared/installed/names.ts';
import type { WhoseJobs } from '../init/answers.ts';

/** What no file says: a registration token does not tell whose jobs it is for. From the command line. */
export interface Known {
  readonly scope: WhoseJobs | undefined;
  readonly gitea: string | undefined;
}

export interface ImportedGroup {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly spec: Readonly<Record<string, unknown>>;
  /** What was left out or made up, and what to do: one sentence each. */
  readonly notes: readonly string[];
  /** Flags without which the group is not whole. */
  readonly missing: readonly string[];
}

/** The Secret with the API token: no other tool has one that is good for it. */
export const AUTH_TOKEN = { secretRef: { name: API_SECRET, key: 'token' } };
export const AUTH_TOKEN_NOTE = `authToken names the Secret ${API_SECRET}, which docs/install.md makes: the other tool had no API token, or one of another form.`;

export const URL_NOTE =
  'The Secret of authToken must have the key url, with the URL of Gitea: the token is sent nowhere else (docs/install.md).';

/** The labels that the default runner takes, and what to say of the others. */
export function ofDefaultRunner(labels: readonly string[]): { readonly kept: string[]; readonly note?: string } {
  const isTaken = (label: string): boolean => {
    const parsed = parseLabel(label);
    return !('wrong' in parsed) && parsed.schema !== 'foreign';
  };
  const lost = labels.filter((label) => !isTaken(label));
  const kept = labels.filter(isTaken);
  if (lost.length === 0) return { kept };
  return {
    kept,
    note: `These labels are not carried over, for they are neither name:host nor name:docker://image: ${lost.join(', ')}. Add them in one of these forms, and change runs-on if the name changes.`,
  };
}

/** Spec without what is undefined, an empty list or an empty mapping. */
export function filled(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
