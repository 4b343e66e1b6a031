/**
 * Sign-in with Gitea: OAuth 2.0 authorization code with PKCE (RFC 7636) and a client secret (oauth4webapi).
 *
 *     /sign-in ─► state and verifier into a cookie ─► Gitea ─► /signed-in?code&state ─► token ─► session
 *
 * Gitea's access token is valid for an hour, and so is the session. Its refresh token is dropped: after the hour Gitea is asked again, and
 * answers at once for somebody who is signed in there. Nothing of a request decides where a browser is sent, but a path of this page.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  customFetch,
  generateRandomCodeVerifier,
  generateRandomState,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { Deadline } from '../clients/http/request.ts';
import type { Clock } from '../shared/clock.ts';
import { Failure, systemCode } from '../shared/failure.ts';
import { parseUrl } from '../shared/url.ts';
import { GiteaIsDown, QUEUES, type Sends } from './rights.ts';
import type { SignIn } from './session.ts';

/** Scopes for reading: who the person is, the repositories and their Actions, and whether he owns an organization. */
const SCOPES = 'read:user read:repository read:organization';
/** Gitea's default, `ACCESS_TOKEN_EXPIRATION_TIME`. A session is never longer. */
const LONGEST_SESSION_S = 3_600;
/** Time limit of the exchange of a code for a token, ms. */
const EXCHANGE_MS = 10_000;

/** Base URLs of Gitea, as pods reach it (`gitea`) and as browsers do (`giteaPublic`). `url`: origin of the page, as browsers know it. */
export type SignInSettings = Readonly<{ gitea: string; giteaPublic: string; url: string; clientId: string }>;

export type OAuth = ReturnType<typeof oauthOf>;

/** Returns the two halves of a sign-in with Gitea. */
export function oauthOf(settings: SignInSettings, clientSecret: () => string, giteas: Sends, clock: Clock) {
  const { clientId, gitea, giteaPublic, url: page } = settings;
  const redirect = `${page}/signed-in`;
  const server = { issuer: giteaPublic, token_endpoint: `${gitea}/login/oauth/access_token` };
  const client = { client_id: clientId };

  const exchange = async (url: string, body: URLSearchParams): Promise<Response> => {
    const form = { body: body.toString(), contentType: 'application/x-www-form-urlencoded' };
    const request = { what: 'sign a person in', method: 'POST', url: new URL(url), ...form, once: true } as const;
    const { text, status, mediaType } = await giteas.send(request, QUEUES.signIn, new Deadline(EXCHANGE_MS, clock));
    if (status < 200 || status >= 500) throw new GiteaIsDown();
    // A Response of 204, 205 or 304 may have no text.
    const content = status === 200 || status >= 400 ? text : null;
    return new Response(content, { status, headers: { 'content-type': mediaType } });
  };

  return {
    /** Begins a sign-in. @param to target path; a value that is not a path of this page becomes `/` */
    begin: async (to: string): Promise<{ readonly signIn: SignIn; readonly location: string }> => {
      const signIn = { state: generateRandomState(), verifier: generateRandomCodeVerifier(), to: ownPath(to, page) };
      const query = new URLSearchParams({
        ...client,
        redirect_uri: redirect,
        response_type: 'code',
        scope: SCOPES,
        state: signIn.state,
        code_challenge: await calculatePKCECodeChallenge(signIn.verifier),
        code_challenge_method: 'S256',
      });
      return { signIn, location: `${giteaPublic}/login/oauth/authorize?${query}` };
    },

    /** Ends a sign-in with the query of Gitea's redirect. Undefined: refused, or not of this browser. @throws GiteaIsDown */
    end: async (answer: URLSearchParams, { state, verifier }: SignIn) => {
      try {
        const checked = validateAuthResponse(server, client, answer, state);
        const secret = ClientSecretPost(clientSecret());
        const response = await authorizationCodeGrantRequest(server, client, secret, checked, redirect, verifier, {
          [customFetch]: (url, { body }) => exchange(url, body),
          [allowInsecureRequests]: true,
        });
        const { access_token, expires_in } = await processAuthorizationCodeResponse(server, client, response);
        return { token: access_token, seconds: Math.min(expires_in ?? LONGEST_SESSION_S, LONGEST_SESSION_S) };
      } catch (error) {
        // oauth4webapi does not take the answer.
        if (systemCode(error).startsWith('OAUTH_')) return undefined;
        throw error instanceof Failure ? new GiteaIsDown() : error;
      }
    },
  };
}

/** Returns a path of this page: never another origin, and never a way back into a sign-in. */
function ownPath(to: string, page: string): string {
  const target = /^\/[^/\\]/.test(to) ? parseUrl(to, page) : undefined;
  if (!target || target.origin !== page || target.pathname.startsWith('/sign')) return '/';
  const path = `${target.pathname}${target.search}`;
  return path.length > 500 || path.startsWith('//') ? '/' : path;
}
