/**
 * Finds the API token of a RunnerGroup and the one server it may be sent to (interface.md §3).
 *
 * A token is bound to its Gitea (scheme, host, port and path) by whoever made the Secret, never by the RunnerGroup: a repository author
 * who changes `gitea.url` cannot have the token sent elsewhere, not even to another application of the same server. The RunnerGroup's Secret name and key are DNS names by its schema, and
 * are checked here again because they become a path.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normalBase } from '../base-url.ts';
import { Failure } from '../failure.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { Token } from './token.ts';

/** No slash, no dot at the start, no longer than a file name of Kubernetes. */
const PATH_PART = /^[A-Za-z0-9_][-._A-Za-z0-9]{0,252}$/;
/** What may stand in an HTTP header: visible ASCII. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

/** Where a binding stands that no Secret holds. */
const POLICY = 'the policy (tokenBindings)';

export interface TokenSources {
  readonly secretsDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The Gitea that the policy file binds the tokens of a Secret to; undefined: it does not say. */
  readonly boundTo?: (namespace: string, secret: string) => string | undefined;
}

/**
 * @throws Failure exit 1: no such file, or an empty or malformed token; exit 3: the token is bound to another Gitea or to none.
 */
export async function findToken(group: RunnerGroup, sources: TokenSources): Promise<Token> {
  refuseForeignRegistration(group, sources);
  const byHand = sources.env['GITEA_TOKEN'];
  if (byHand !== undefined && byHand !== '') {
    const bound = bindingOf(sources.env['GITEA_URL'], 'the environment variable GITEA_URL', group);
    return bind(byHand, bound, 'the environment variable GITEA_TOKEN', group);
  }
  const { name, key } = group.authToken;
  const folder = secretFolder(group, sources.secretsDir);
  const token = readKey(folder, key);
  const what = `key ${key} of Secret ${name}`;
  if (token === undefined) throw missing(group, sources.secretsDir);
  const written = readKey(folder, 'url') || undefined;
  const byPolicy = sources.boundTo?.(group.namespace, name);
  // Where both are there, both hold: neither may loosen the other.
  if (written !== undefined && byPolicy !== undefined) bind(token, bindingOf(byPolicy, POLICY, group), what, group);
  const bound = bindingOf(
    written ?? byPolicy,
    written === undefined && byPolicy ? POLICY : `key url of Secret ${name}`,
    group,
  );
  return bind(token, bound, what, group);
}

/**
 * The registration Secret may be bound as well. Its token is never read here, and its Secret need not be mounted: the runner's pod checks
 * the same before it registers. Where the key `url` is mounted, or the policy binds the Secret, the group is refused before a runner is
 * made.
 */
function refuseForeignRegistration(
  { namespace, name: group, giteaUrl, registrationToken }: RunnerGroup,
  { secretsDir, boundTo }: TokenSources,
): void {
  const { name } = registrationToken;
  if (!PATH_PART.test(namespace) || !PATH_PART.test(name)) return;
  const url = readKey(join(secretsDir, namespace, name), 'url');
  const isForeign = (base: string | undefined) => base !== undefined && normalBase(base) !== normalBase(giteaUrl);
  const isByPolicy = isForeign(boundTo?.(namespace, name));
  if (!isForeign(url) && !isByPolicy) return;
  throw new Failure(
    'GR-TOKEN-07',
    3,
    `use the registration token of RunnerGroup ${namespace}/${group}: ${isByPolicy ? `${POLICY}, for` : 'key url of'} Secret ${name} ` +
      `names another Gitea than the group's, ${giteaUrl}. Correct gitea.url, or name the registration Secret of that Gitea.`,
  );
}

/** Of the two places a Secret may be mounted at, the first that has the key. */
function secretFolder(group: RunnerGroup, secretsDir: string): string {
  const { name, key } = group.authToken;
  for (const part of [group.namespace, name, key]) if (!PATH_PART.test(part)) throw missing(group, secretsDir);
  const own = join(secretsDir, group.namespace, name);
  return readKey(own, key) === undefined ? join(secretsDir, name) : own;
}

/** Content of a key, without the line end that `kubectl create secret --from-file` keeps; undefined when there is no such file. */
function readKey(folder: string, key: string): string | undefined {
  try {
    return readFileSync(join(folder, key), 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
    throw new Failure(
      'GR-TOKEN-02',
      1,
      `read ${join(folder, key)}: ${String(code ?? 'failed')}. Make the file readable for the user that runs gitea-runners.`,
    );
  }
}

function missing(group: RunnerGroup, secretsDir: string): Failure {
  const { name, key } = group.authToken;
  return new Failure(
    'GR-TOKEN-01',
    1,
    `find the API token of RunnerGroup ${group.namespace}/${group.name}: no file ${group.namespace}/${name}/${key} or ${name}/${key} ` +
      `in ${secretsDir}. Mount the Secret there, give --secrets-dir, or set GITEA_TOKEN and GITEA_URL when you run it by hand.`,
  );
}

function bindingOf(url: string | undefined, where: string, group: RunnerGroup): string {
  const of = `the API token of RunnerGroup ${group.namespace}/${group.name}`;
  if (url === undefined || url === '') {
    throw new Failure(
      'GR-TOKEN-03',
      3,
      `use ${of}: ${where} does not say to which Gitea it may be sent. Set it to the base URL, e.g. ${group.giteaUrl}.`,
    );
  }
  const base = normalBase(url);
  if (base === undefined) {
    throw new Failure(
      'GR-TOKEN-04',
      3,
      `use ${of}: ${where} is no http or https URL, or has credentials, a query or a fragment. Set it to Gitea's base URL.`,
    );
  }
  return base;
}

function bind(secret: string, base: string, what: string, group: RunnerGroup): Token {
  const of = `the API token of RunnerGroup ${group.namespace}/${group.name}`;
  if (base !== normalBase(group.giteaUrl)) {
    throw new Failure(
      'GR-TOKEN-05',
      3,
      `use ${of}: it is bound to ${base}, but the group's Gitea is ${group.giteaUrl}. It was not sent. Correct gitea.url, or bind a token of that Gitea.`,
    );
  }
  if (!TOKEN.test(secret)) {
    throw new Failure(
      'GR-TOKEN-06',
      1,
      `use ${of}: ${what} is empty or holds characters that no token has. Put the token alone into it.`,
    );
  }
  return new Token(secret, base);
}
