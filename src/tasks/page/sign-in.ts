/**
 * Sign-in with Gitea: OAuth 2.0 authorization code with PKCE (RFC 7636) and a client secret (oauth4webapi).
 *
 *     /sign-in ─► state and verifier into a cookie ─► Gitea ─► /signed-in?code&state ─► token ─► session
 *
 * Gitea's access token is valid for an hour, and so is the session. Its refresh token is dropped: after the hour Gitea is asked again, and
 * answers at once for somebody who is signed in there. Nothing of a request decides where a browser is sent, but a path of this page.
 */
import {
  type AuthorizationServer,
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
import type { HttpClient } from '../../clients/http/client.ts';
import { Deadline } from '../../clients/http/request.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure, systemCode } from '../../shared/failure.ts';
import { parseUrl } from '../../shared/url.ts';
import type { SignIn } from './session.ts';

/** To read: who it is, the repositories and their Actions, and whether he owns an organization. */
const SCOPES = 'read:user read:repository read:organization';
/** Gitea's default, `ACCESS_TOKEN_EXPIRATION_TIME`. A session is never longer. */
const LONGEST_SESSION_S = 3_600;
const EXCHANGE_MS = 10_000;

export interface SignInSettings {
  /** Base URL of Gitea, as pods reach it, and as browsers reach it. */
  readonly gitea: string;
  readonly giteaPublic: string;
  /** Of the page, as browsers know it: an origin. */
  readonly url: string;
  readonly clientId: string;
}

interface OAuthOptions extends SignInSettings {
  readonly clientSecret: () => string;
  readonly http: HttpClient;
  readonly clock: Clock;
}

export class OAuth {
  readonly #options: OAuthOptions;
  readonly #server: AuthorizationServer;
  readonly #redirect: string;

  constructor(options: OAuthOptions) {
    this.#options = options;
    const { gitea, giteaPublic, url } = options;
    this.#redirect = `${url}/signed-in`;
    this.#server = {
      issuer: giteaPublic,
      authorization_endpoint: `${giteaPublic}/login/oauth/authorize`,
      token_endpoint: `${gitea}/login/oauth/access_token`,
    };
  }

  /** @param to where the browser wants to go; what is no path of this page becomes `/` */
  async begin(to: string): Promise<{ readonly signIn: SignIn; readonly location: string }> {
    const signIn = { state: generateRandomState(), verifier: generateRandomCodeVerifier(), to: this.#ownPath(to) };
    const location = new URL(this.#server.authorization_endpoint ?? '');
    const query = {
      client_id: this.#options.clientId,
      redirect_uri: this.#redirect,
      response_type: 'code',
      scope: SCOPES,
      state: signIn.state,
      code_challenge: await calculatePKCECodeChallenge(signIn.verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(query)) location.searchParams.set(name, value);
    return { signIn, location: location.href };
  }

  /**
   * @param answer the query with which Gitea sends the browser back
   * @returns the token and how long it is valid. `refused`: the person said no, the state is not that of the cookie, or Gitea does not take
   *   the code. `down`: Gitea does not answer
   */
  async end(answer: URLSearchParams, { state, verifier }: SignIn) {
    const client = { client_id: this.#options.clientId };
    try {
      const checked = validateAuthResponse(this.#server, client, answer, state);
      const secret = ClientSecretPost(this.#options.clientSecret());
      const response = await authorizationCodeGrantRequest(
        this.#server,
        client,
        secret,
        checked,
        this.#redirect,
        verifier,
        { [customFetch]: (url, { body }) => this.#exchange(url, body), [allowInsecureRequests]: true },
      );
      if (response.status >= 500) return 'down';
      const { access_token, expires_in } = await processAuthorizationCodeResponse(this.#server, client, response);
      return { token: access_token, seconds: Math.min(expires_in ?? LONGEST_SESSION_S, LONGEST_SESSION_S) };
    } catch (error) {
      if (error instanceof Failure) return 'down';
      // oauth4webapi does not take the answer.
      if (systemCode(error).startsWith('OAUTH_')) return 'refused';
      throw error;
    }
  }

  async #exchange(url: string, body: URLSearchParams): Promise<Response> {
    const { clock, http } = this.#options;
    const { text, status, mediaType } = await http.send(
      {
        what: 'sign a person in',
        method: 'POST',
        url: new URL(url),
        body: body.toString(),
        contentType: 'application/x-www-form-urlencoded',
        once: true,
      },
      new Deadline(EXCHANGE_MS, clock),
    );
    return new Response(text, { status, headers: { 'content-type': mediaType } });
  }

  /** Never another origin, and never back into a sign-in. */
  #ownPath(to: string): string {
    const { url: page } = this.#options;
    const target = /^\/[^/\\]/.test(to) ? parseUrl(to, page) : undefined;
    if (!target || target.origin !== page || target.pathname.startsWith('/sign')) return '/';
    const path = `${target.pathname}${target.search}`;
    return path.length > 500 || path.startsWith('//') ? '/' : path;
  }
}
