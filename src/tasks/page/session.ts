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

export type Sessions = ReturnType<typeof sessionsOf>;

export function sessionsOf({ clock, isSecure, keys }: SessionsOptions) {
  const name = isSecure ? '__Host-gitea-runners' : 'gitea-runners';
  const attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const nameOf = (kind: Kind): string => (kind === 'session' ? name : `${name}-${kind}`);
  return {
    /** Undefined: it is too long for a cookie. */
    cookie: async <K extends Kind>(kind: K, claims: Claims[K], seconds: number): Promise<string | undefined> => {
      const [key = ''] = keys();
      const endS = Math.floor(clock.now() / 1000) + seconds;
      const sealed = await new EncryptJWT({ ...claims })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(kind)
        .setExpirationTime(endS)
        .encrypt(keyFrom(key));
      const cookie = `${nameOf(kind)}=${sealed}${attributes}; Max-Age=${seconds}`;
      return cookie.length > LONGEST_COOKIE ? undefined : cookie;
    },

    endCookie: (kind: Kind): string => `${nameOf(kind)}=${attributes}; Max-Age=0`,

    /** What a cookie of this kind says. Undefined: there is none, or it is not of ours, or too old. */
    read: async <K extends Kind>(kind: K, { headers }: Pick<IncomingMessage, 'headers'>) => {
      const sealed = parse(headers.cookie ?? '', nameOf(kind))[nameOf(kind)];
      if (!sealed) return undefined;
      for (const key of keys()) {
        const opened = await jwtDecrypt(sealed, keyFrom(key), {
          audience: kind,
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
          currentDate: new Date(clock.now()),
        }).catch(() => undefined);
        if (opened) return CLAIMS[kind].safeParse(opened.payload).data;
      }
      return undefined;
    },
  };
}

function keyFrom(line: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', line, '', 'gitea-runners page cookies', 32));
}
