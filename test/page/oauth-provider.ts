/** Gitea's side of a sign-in, put before a simulator: it knows one client, asks for PKCE, and gives a code away once. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Simulator } from '../../simulator/gitea/simulator.ts';

export const CLIENT = { id: 'client-of-the-page', secret: 'client-secret-that-nobody-may-see' } as const;

export function startProvider(simulator: Simulator, user: string) {
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string; readonly user: string }>();
  const tokens: string[] = [];
  const exchanges: URLSearchParams[] = [];
  const provider = {
    /** Person who is signed in at Gitea. */
    user,
    /** The person says no. */
    refuses: false,
    /** Answers the exchange of a code with this status instead. */
    exchangeFails: undefined as number | undefined,
    /** Answers every question of the API so, when it returns true. */
    bend: (_: IncomingMessage, __: ServerResponse): boolean => false,
    /** Tokens that were given, the oldest first. */
    tokens,
    /** Forms of exchanges. */
    exchanges,
  };
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const redirect = query.get('redirect_uri') ?? '';
    const back = new URL(redirect);
    back.searchParams.set('state', query.get('state') ?? '');
    const isGood = query.get('client_id') === CLIENT.id && query.get('code_challenge_method') === 'S256';
    if (provider.refuses || !isGood) back.searchParams.set('error', 'access_denied');
    else {
      const code = randomBytes(16).toString('hex');
      codes.set(code, { challenge: query.get('code_challenge') ?? '', redirect, user: provider.user });
      back.searchParams.set('code', code);
    }
    response.writeHead(303, { location: back.href }).end();
  };
  const exchange = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    exchanges.push(form);
    const known = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isGood =
      known?.challenge === challenge &&
      known.redirect === form.get('redirect_uri') &&
      form.get('client_secret') === CLIENT.secret;
    response.writeHead(provider.exchangeFails ?? (isGood ? 200 : 400), { 'content-type': 'application/json' });
    if (!known || !isGood) return void response.end(JSON.stringify({ error: 'invalid_grant' }));
    const token = randomBytes(200).toString('hex');
    tokens.push(token);
    simulator.gitea.addToken(known.user, ['read:user', 'read:repository', 'read:organization'], token);
    response.end(JSON.stringify({ access_token: token, token_type: 'bearer', expires_in: 3600, refresh_token: 'r' }));
  };
  simulator.intercept(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://gitea');
    if (url.pathname === '/login/oauth/authorize') authorize(url.searchParams, response);
    else if (url.pathname === '/login/oauth/access_token') await exchange(request, response);
    else return provider.bend(request, response);
    return true;
  });
  return provider;
}
