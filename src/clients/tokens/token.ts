/** A token, which knows where it may be sent. */
import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { isBelow, normalBase } from '../../shared/url.ts';

/** 40 hexadecimal digits, or a JWT. */
const FORMS = /^(?:[0-9a-f]{40}|[\w-]+\.[\w-]+\.[\w-]+)$/;

/** How a server expects its token: Gitea `token …`, Argo CD `Bearer …`. */
type TokenScheme = 'token' | 'Bearer';

/** The repositories that a policy opens: a token may see more. Equal ids: the same ones. */
export type Reach = Readonly<{ id: string; covers: (owner: string, repo: string) => boolean }>;

/** An API token with the one place it may be sent to. Prints as `(token)`; only `headerFor` returns it. */
export class Token {
  readonly #secret: string;
  readonly #scheme: TokenScheme;
  /** Normal form of the base URL (`normalBase`) of the only server this token may be sent to. */
  readonly base: string;
  /** Where a person finds the token, for messages: `key token of Secret gitea-api …`. */
  readonly source: string;
  /** Absent: all that it sees. */
  readonly reach: Reach | undefined;

  /** Throws if `base` is not a URL. */
  constructor(
    secret: string,
    base: string,
    scheme: TokenScheme = 'token',
    source = scheme === 'token' ? 'the Secret of authToken' : 'its file',
    reach?: Reach,
  ) {
    const normal = normalBase(base);
    if (normal === undefined) throw new Error('a token must be bound to an http or https URL');
    this.#secret = secret;
    this.#scheme = scheme;
    this.base = normal;
    this.source = source;
    this.reach = reach;
  }

  /** True when the token may be sent to this URL. */
  covers(url: URL): boolean {
    return isBelow(url, this.base);
  }

  /** Returns the `Authorization` header for `url`. Throws if the URL does not lie below the token's base. */
  headerFor(url: URL): string {
    if (!this.covers(url)) throw new Error(`a token bound to ${this.base} was asked for ${url.origin}${url.pathname}`);
    return `${this.#scheme} ${this.#secret}`;
  }

  /** Derives a key that only owners of this token can make, another one for each purpose. It does not tell the token. */
  keyFor(purpose: string): Buffer {
    return createHmac('sha256', this.#secret).update(purpose).digest();
  }

  /** True when both hold the same secret for the same place and reach: such groups may share one look. */
  equals(otherToken: Token): boolean {
    const isSamePlace = this.base === otherToken.base && this.reach?.id === otherToken.reach?.id;
    return isSamePlace && this.#scheme === otherToken.#scheme && this.#secret === otherToken.#secret;
  }

  /** Says what is wrong with its form. Undefined: it has that of a token of Gitea, or of OAuth. Shows nothing of it. */
  get fault(): string | undefined {
    const secret = this.#secret;
    if (FORMS.test(secret)) return undefined;
    if (/^(["'`]).*\1$/.test(secret)) return 'It has quotes around it';
    if (FORMS.test(Buffer.from(secret, 'base64').toString('latin1').trim())) return 'It is encoded in base64 once more';
    if (/^[<$%{]|[}>]$/.test(secret)) return 'It is a placeholder';
    return secret.length === 40 ? undefined : `It has ${secret.length} characters, and tokens of Gitea have 40`;
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
