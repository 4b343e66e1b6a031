/** Sessions in encrypted cookies (JWE, A256GCM), each for one purpose. The first line of the key file encrypts, all decrypt. */
import { hkdfSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse } from 'hono/utils/cookie';
import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose';
import * as z from 'zod';
import type { Clock } from '../shared/clock.ts';

/** Session of a signed-in person: Gitea's token, and the login. */
const Session = z.object({ token: z.string().min(1), login: z.string() });
/** A sign-in under way. `to`: the path that follows it. */
const SignIn = z.object({ state: z.string(), verifier: z.string(), to: z.string() });
export type SignIn = z.output<typeof SignIn>;

/** Time limit of a sign-in at Gitea, seconds. */
export const SIGN_IN_S = 600;
/** Browsers keep 4096 bytes. */
const LONGEST_COOKIE = 3_800;
/** Characters of a line of the key's file. */
export const SHORTEST_KEY = 32;

export type Sessions = ReturnType<typeof sessionsOf>;

/** Returns the two kinds of cookies. @param isSecure the page has https: over plain HTTP a browser takes no `__Host-` cookie */
export function sessionsOf(keys: () => readonly string[], clock: Pick<Clock, 'now'>, isSecure: boolean) {
  const ownName = isSecure ? '__Host-gitea-runners' : 'gitea-runners';
  const attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const cookieFor = <T extends JWTPayload>(audience: string, name: string, claims: z.ZodType<T>) => ({
    /** Returns the cookie with this content. Undefined: it is too long. */
    begin: async (content: T, seconds: number): Promise<string | undefined> => {
      const [key = ''] = keys();
      const endS = Math.floor(clock.now() / 1000) + seconds;
      const sealed = await new EncryptJWT({ ...content })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(audience)
        .setExpirationTime(endS)
        .encrypt(keyFrom(key));
      const cookie = `${name}=${sealed}${attributes}; Max-Age=${seconds}`;
      return cookie.length > LONGEST_COOKIE ? undefined : cookie;
    },

    end: `${name}=${attributes}; Max-Age=0`,

    /** Reads the cookie. Undefined: there is none, or it is foreign or too old. */
    read: async ({ headers }: Pick<IncomingMessage, 'headers'>): Promise<T | undefined> => {
      const sealed = parse(headers.cookie ?? '', name)[name];
      if (!sealed) return undefined;
      for (const key of keys()) {
        const token = await jwtDecrypt(sealed, keyFrom(key), {
          audience,
          requiredClaims: ['exp'],
          keyManagementAlgorithms: ['dir'],
          contentEncryptionAlgorithms: ['A256GCM'],
          currentDate: new Date(clock.now()),
        }).catch(() => undefined);
        if (token) return claims.safeParse(token.payload).data;
      }
      return undefined;
    },
  });
  return {
    session: cookieFor('session', ownName, Session),
    signIn: cookieFor('sign-in', `${ownName}-sign-in`, SignIn),
  };
}

function keyFrom(line: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', line, '', 'gitea-runners page cookies', 32));
}
