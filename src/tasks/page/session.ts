/**
 * Sessions in encrypted cookies (JWE, `dir` with A256GCM), so that every replica reads them and none keeps any. A cookie says what it is
 * for: one of a sign-in under way is never a session. The keys follow from the lines of a Secret's file: the first one encrypts, all decrypt.
 */
import { hkdfSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse } from 'hono/utils/cookie';
import { EncryptJWT, jwtDecrypt } from 'jose';
import * as z from 'zod';
import type { Clock } from '../../shared/clock.ts';

/** What a cookie says. */
const SHAPES = {
  /** Who is signed in: the token is Gitea's, for this person. */
  session: z.object({ token: z.string().min(1), login: z.string() }),
  /** A sign-in under way. `to`: the path that follows it. */
  'sign-in': z.object({ state: z.string(), verifier: z.string(), to: z.string() }),
};
type Kind = keyof typeof SHAPES;
type Claims = { readonly [K in Kind]: z.output<(typeof SHAPES)[K]> };
const CLAIMS: { readonly [K in Kind]: z.ZodType<Claims[K]> } = SHAPES;
export type SignIn = Claims['sign-in'];

/** A person has so long to sign in at Gitea. */
export const SIGN_IN_S = 600;
/** Browsers keep 4096 bytes. */
const LONGEST_COOKIE = 3_800;
/** Of a line of the key's file. */
export const SHORTEST_KEY = 32;

interface SessionsOptions {
  readonly keys: () => readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  /** Of the page's URL: over plain HTTP a browser takes no `__Host-` cookie. */
  readonly isSecure: boolean;
}

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #name: string;
  readonly #attributes: string;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#name = options.isSecure ? '__Host-gitea-runners' : 'gitea-runners';
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${options.isSecure ? '; Secure' : ''}`;
  }

  /** Undefined: it is too long for a cookie. */
  async cookie<K extends Kind>(of: K, claims: Claims[K], seconds: number): Promise<string | undefined> {
    const [key = ''] = this.#options.keys();
    const endS = Math.floor(this.#options.clock.now() / 1000) + seconds;
    const sealed = await new EncryptJWT({ ...claims })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .setAudience(of)
      .setExpirationTime(endS)
      .encrypt(keyFrom(key));
    const cookie = `${this.#nameOf(of)}=${sealed}${this.#attributes}; Max-Age=${seconds}`;
    return cookie.length > LONGEST_COOKIE ? undefined : cookie;
  }

  endCookie(of: Kind): string {
    return `${this.#nameOf(of)}=${this.#attributes}; Max-Age=0`;
  }

  /** What a cookie of this kind says. Undefined: there is none, or it is not of ours, or too old. */
  async read<K extends Kind>(of: K, { headers }: Pick<IncomingMessage, 'headers'>): Promise<Claims[K] | undefined> {
    const name = this.#nameOf(of);
    const sealed = parse(headers.cookie ?? '', name)[name];
    if (!sealed) return undefined;
    for (const key of this.#options.keys()) {
      const opened = await jwtDecrypt(sealed, keyFrom(key), {
        audience: of,
        requiredClaims: ['exp'],
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        currentDate: new Date(this.#options.clock.now()),
      }).catch(() => undefined);
      if (opened) return CLAIMS[of].safeParse(opened.payload).data;
    }
    return undefined;
  }

  #nameOf(of: Kind): string {
    return of === 'session' ? this.#name : `${this.#name}-${of}`;
  }
}

function keyFrom(line: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', line, '', 'gitea-runners page cookies', 32));
}
