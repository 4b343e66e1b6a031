/** Failures: the errors that users see. */
import { firstLines } from './printable.ts';

/**
 * The error that ends a run. Three words are used for what can go wrong:
 * - a *failure* ends a run, or one part of a reconcile of `serve` (this class);
 * - a *problem* is one finding in an input file (runnergroup/problems.ts); a run has one failure for all of them;
 * - an *error* is JavaScript's, or another program's. It never reaches a user: a failure takes its place.
 *
 * `exit` is the exit code: 1 the world (Gitea, cluster, missing file), 2 the input (files, flags), 3 refused (a token's
 * binding, policy). `message` is complete and safe to show: operation, object, what came, what to do. `code` is permanent
 * and for people. The program itself goes by `kind`.
 */
export class Failure extends Error {
  readonly code: string;
  readonly exit: 1 | 2 | 3;
  readonly kind: FailureKind;

  constructor(code: string, exit: 1 | 2 | 3, message: string, kind: FailureKind = 'other') {
    super(message);
    this.name = 'Failure';
    this.code = code;
    this.exit = exit;
    this.kind = kind;
  }
}

/** Kinds of failures that the program itself distinguishes. */
export type FailureKind =
  /** No connection, or the answer is not usable HTTP. */
  | 'unreachable'
  /** No TLS connection, because of the certificate or otherwise. */
  | 'untrusted'
  /** To another address, or from one to the next. It is not followed. */
  | 'redirected'
  | 'timeout'
  | 'too-long'
  /** The server asks to be left alone. */
  | 'rate-limited'
  /** The server wants to be left alone for longer than the request may take. */
  | 'told-to-wait'
  | 'server-error'
  | 'unauthorized'
  | 'forbidden'
  /** The token is good, and its user may do nothing. */
  | 'user-refused'
  | 'not-found'
  /** The Secret of a token cannot be seen from here. */
  | 'token-unseen'
  | 'token-unusable'
  /** The Kubernetes API, or the way to it. */
  | 'cluster'
  | 'cluster-forbidden'
  | 'policy'
  | 'other';

/** True when no server gave a usable answer. */
export function isOfConnection({ kind }: Failure): boolean {
  return ['unreachable', 'untrusted', 'redirected', 'timeout', 'too-long', 'told-to-wait'].includes(kind);
}

/** True if the server asks for fewer requests. */
export function isRateLimit({ kind }: Failure): boolean {
  return kind === 'rate-limited' || kind === 'told-to-wait';
}

/** Causes that `joinFailures` tells: more would not fit into Argo CD's message. The others are counted. */
const MOST_CAUSES = 5;

/** Joins all causes to one failure, each message once, with the codes of the first. @param after lines that follow */
export function joinFailures(failures: readonly [Failure, ...Failure[]], after: readonly string[] = []): Failure {
  const [first] = failures;
  const causes = [...new Map(failures.map(({ code, message }) => [message, code]))];
  const lines = causes.map(([message, code], index) => (index === 0 ? message : `${code} ${message}`));
  return new Failure(first.code, first.exit, [...firstLines(lines, MOST_CAUSES), ...after].join('\n'), first.kind);
}

export async function orFailure<T>(promise: Promise<T>): Promise<T | Failure> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

export function successes<K, V>(results: ReadonlyMap<K, V | Failure>): ReadonlyMap<K, V> {
  return new Map([...results].flatMap(([key, value]) => (value instanceof Failure ? [] : [[key, value] as const])));
}

/** `ENOENT`: why the operating system has refused something. `failed`: it does not say. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'failed';
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EADDRINUSE: 'the address is in use',
  EADDRNOTAVAIL: 'it is no address of this machine',
};

/** Returns the system's error in words for people: `no such file (ENOENT)`. */
export function systemReason(error: unknown): string {
  const code = systemCode(error);
  const reason = REASONS[code];
  return reason === undefined ? code : `${reason} (${code})`;
}
