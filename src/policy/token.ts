import { inspect } from 'node:util';

/** How a server wants its token: Gitea `token …`, Argo CD `Bearer …`. */
export type TokenScheme = 'token' | 'Bearer';

/**
 * An API token together with the one origin it may be sent to. It prints as `(token)` everywhere; only `headerFor`
 * gives it out, and only for its own origin (test/policy/api-token.test.ts).
 */
export class Token {
  readonly #secret: string;
  readonly #scheme: TokenScheme;
  /** `scheme://host:port` of the only server this token may be sent to. */
  readonly origin: string;

  constructor(secret: string, origin: string, scheme: TokenScheme = 'token') {
    this.#secret = secret;
    this.#scheme = scheme;
    this.origin = new URL(origin).origin;
  }

  /** Value of the `Authorization` header for a request to `url`. Throws when the URL is of another origin. */
  headerFor(url: URL): string {
    if (url.origin !== this.origin) throw new Error(`a token bound to ${this.origin} was asked for ${url.origin}`);
    return `${this.#scheme} ${this.#secret}`;
  }

  /** True when both hold the same secret for the same origin: such groups may share one look. */
  equals(other: Token): boolean {
    return this.origin === other.origin && this.#scheme === other.#scheme && this.#secret === other.#secret;
  }

  toString(): string {
    return '(token)';
  }

  toJSON(): string {
    return '(token)';
  }

  [inspect.custom](): string {
    return '(token)';
  }
}
