/** What the parts of `proxy` say together. */
import type { Path } from './documents.ts';
import type { PodProxy } from './runner-group.ts';
import type { WrittenSpec } from './schema.ts';

/** Of the spec around it: the Secrets with tokens of Gitea. */
type Tokens = Partial<Pick<WrittenSpec, 'registrationToken' | 'authToken'>>;

/** The normal form, or the first thing that is wrong: `path` is below `spec.proxy`. */
export function normalProxy(
  { http, https, noProxy, secretRef }: NonNullable<WrittenSpec['proxy']>,
  { registrationToken, authToken }: Tokens,
): PodProxy | { readonly path: Path; readonly message: string } {
  if (http === undefined && https === undefined)
    return {
      path: [],
      message: 'needs http or https: the URL of the proxy, e.g. "https: http://proxy.example.com:3128"',
    };
  const tokens = [registrationToken, authToken].flatMap((token) => [token?.secretRef?.name, token?.name]);
  if (secretRef !== undefined && tokens.includes(secretRef.name)) {
    const message = 'is a Secret with a token of Gitea; CI jobs can read the login of the proxy, so use another Secret';
    return { path: ['secretRef', 'name'], message };
  }
  return {
    ...(http !== undefined && { http: withoutSlash(http) }),
    ...(https !== undefined && { https: withoutSlash(https) }),
    direct: noProxy ?? [],
    ...(secretRef !== undefined && { secret: secretRef.name }),
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}
