/** Shorthands for looking at a fake Gitea. */
import { onTestFinished } from 'vitest';
import type { GiteaAccess } from '../../src/clients/gitea/api.ts';
import { type GiteaTarget, giteaClient, type ObserveOptions, observe } from '../../src/clients/gitea/observe-gitea.ts';
import { Deadline } from '../../src/clients/http/request.ts';
import { Token } from '../../src/clients/tokens/token.ts';
import type { Look } from '../../src/planner/evidence.ts';
import type { Scope } from '../../src/shared/scope.ts';

export const SECRET = 's3cret-t0ken';
export const ACME: Scope = { kind: 'org', org: 'acme' };
/** A busy machine needs more time than a look has; tests of time give their own. */
export const OPTIONS: ObserveOptions = { deadlineMs: 600_000, includeBlocked: false, env: {} };

export function targetOf(url: string, scope: Scope = ACME, key = 'look'): GiteaTarget {
  return { key, url, scope, token: new Token(SECRET, url) };
}

/** Access to this Gitea. Its connections are closed with the test. */
export function accessTo(url: string, token = new Token(SECRET, url)): GiteaAccess {
  const http = giteaClient({ deadlineMs: 600_000, env: {} });
  onTestFinished(() => http.close());
  return { http, url, token, deadline: new Deadline(600_000), versions: new Map() };
}

export async function lookAt(url: string, scope: Scope = ACME, options: Partial<ObserveOptions> = {}): Promise<Look> {
  const found = (await observe([targetOf(url, scope)], { ...OPTIONS, ...options })).get('look');
  if (found === undefined) throw new Error('no look');
  return found;
}

/** Each look may keep so many bytes. */
export function memoryOf(bytes: number): NonNullable<ObserveOptions['memory']> {
  const nothing = (): undefined => undefined;
  return { begin: () => ({ most: () => bytes, keeps: nothing, end: nothing, sharers: '' }) };
}

export const idsOf = ({ jobs }: Record<'jobs', readonly { readonly id: number }[]>): readonly number[] =>
  jobs.map(({ id }) => id).sort((a, b) => a - b);

export const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);
