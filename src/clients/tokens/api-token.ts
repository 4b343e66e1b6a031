/**
 * Finds the API token of a RunnerGroup and the one server it may be sent to.
 *
 * The maker of the Secret binds the token to its Gitea (scheme, host, port and path). A RunnerGroup never does. So an
 * author of the repository who changes `gitea.url` cannot have it sent elsewhere. Names of Secrets and keys are checked
 * again, because they become a path.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, systemCode, systemReason } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { normalBase } from '../../shared/url.ts';
import { type Reach, Token } from './token.ts';

/** A name without a slash, without a dot at the start, and no longer than a file name of Kubernetes. */
const PATH_PART = /^[A-Za-z0-9_][-._A-Za-z0-9]{0,252}$/;
/** Allowed characters of a token: visible ASCII, as in an HTTP header. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

/** The key of a Secret that names the Gitea to which its tokens are bound. */
export const URL_KEY = 'url';

export type SecretsMode = 'files' | 'api';
/** Name of a binding that is in the policy and in no Secret. */
const POLICY = 'the policy (tokenBindings)';

export interface TokenSources {
  readonly secretsDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Secrets of the cluster. Only with `--secrets api`: then no file is read. */
  readonly clusterSecrets?: SecretReader;
  /** The Gitea that the policy file binds the tokens of a Secret to; undefined: it does not say. */
  readonly boundTo?: (namespace: string, secret: string) => string | undefined;
  /** The repositories that it opens to groups of a namespace; undefined: it does not say. */
  readonly reachOf?: (namespace: string) => Reach | undefined;
}

/** Reads whole Secrets, each once per look (src/clients/kubernetes/cluster-secrets.ts). */
export interface SecretReader {
  /** @throws Failure exit 1 when the API server does not answer with that Secret. */
  readonly read: (namespace: string, name: string) => Promise<SecretKeys>;
  /** Reads key `url` only. Undefined: there is no such key or Secret, or this process may not read it. */
  readonly readUrl: (namespace: string, name: string) => Promise<string | undefined>;
  /** Returns the Secret that is read in place of this one. Absent: each Secret is read itself. */
  readonly placeOf?: (namespace: string, name: string) => Record<'namespace' | 'name', string>;
}

/** Value of a key as text; undefined when the Secret has no such key. */
export type SecretKeys = (key: string) => string | undefined;

/** A RunnerGroup, as far as it says which Secrets it uses and for which Gitea. */
interface TokenOwner {
  readonly namespace: string;
  readonly name: string;
  readonly giteaUrl: string;
  readonly authToken: { readonly name: string; readonly key: string };
  readonly registrationToken: { readonly name: string } | undefined;
}

/** A token, as messages call it, and where a person finds it. */
type Named = Readonly<Record<'what' | 'source', string>>;

/** Finds the token of a group. @throws Failure exit 1: no usable token; exit 3: it is bound to another Gitea or to none */
export async function findToken(group: TokenOwner, sources: TokenSources): Promise<Token> {
  const { env, clusterSecrets, secretsDir } = sources;
  await refuseForeignRegistration(group, sources);
  const byHand = env['GITEA_TOKEN'];
  if (byHand !== undefined && byHand !== '') {
    const bound = bindingOf(env['GITEA_URL'], 'the environment variable GITEA_URL', group);
    const source = 'the environment variable GITEA_TOKEN';
    return bind(byHand, bound, { what: source, source }, group, sources);
  }
  const secretContent = clusterSecrets
    ? await secretInCluster(group, clusterSecrets)
    : secretInFiles(group, secretsDir);
  const { token, url, called, source } = secretContent;
  const origin = { what: `key ${group.authToken.key} of ${called}`, source };
  const urlInSecret = url || undefined;
  const byPolicy = sources.boundTo?.(group.namespace, group.authToken.name);
  // If both exist, the token must fit both: neither may loosen the other.
  if (urlInSecret !== undefined && byPolicy !== undefined)
    bind(token, bindingOf(byPolicy, POLICY, group), origin, group, sources);
  const urlSource = urlInSecret === undefined && byPolicy ? POLICY : `key url of ${called}`;
  return bind(token, bindingOf(urlInSecret ?? byPolicy, urlSource, group), origin, group, sources);
}

/** Reads a Secret: its keys, its name in messages, and where a person finds the token. */
function secretInFiles(group: TokenOwner, secretsDir: string) {
  const { name, key } = group.authToken;
  const isPath = [group.namespace, name, key].every((part) => PATH_PART.test(part));
  // Folders at which a Secret may be mounted. The first one with the key counts.
  for (const folder of isPath ? [join(group.namespace, name), name] : []) {
    const token = readKey(join(secretsDir, folder), key);
    if (token === undefined) continue;
    const source = `key ${key} of Secret ${name}, mounted as ${folder}`;
    return { token, url: readKey(join(secretsDir, folder), URL_KEY), called: `Secret ${name}`, source };
  }
  throw missing(group, secretsDir);
}

/** The Secret of the group's own namespace, and no other: it is the tenant's. */
async function secretInCluster(group: TokenOwner, secrets: SecretReader) {
  const { namespace, authToken } = group;
  const { name, key } = authToken;
  const nameOf = (place: Record<'namespace' | 'name', string>) =>
    `Secret ${place.name} of namespace ${place.namespace}`;
  for (const part of [namespace, name, key])
    if (!PATH_PART.test(part)) throw missingKey(group, nameOf({ namespace, name }));
  const keys = await secrets.read(namespace, name);
  const token = keys(key)?.trim();
  const secretName = nameOf(secrets.placeOf?.(namespace, name) ?? { namespace, name });
  if (token === undefined) throw missingKey(group, secretName);
  return { token, url: keys(URL_KEY)?.trim(), called: secretName, source: `key ${key} of ${secretName}` };
}

function missingKey(group: TokenOwner, secretName: string): Failure {
  const why = `${secretName} has no key ${group.authToken.key}. Add the key to the Secret, or correct authToken.`;
  const message = `find the API token of RunnerGroup ${keyText(group)}: ${why}`;
  return new Failure('GR-TOKEN-08', 1, message, 'token-unusable');
}

/** Refuses a registration Secret of another Gitea. One that is unreadable here is checked in the runner's pod. */
async function refuseForeignRegistration(
  { namespace, name: group, giteaUrl, registrationToken: { name } = { name: '' } }: TokenOwner,
  { boundTo, clusterSecrets, secretsDir }: TokenSources,
): Promise<void> {
  const isForeign = (base: string | undefined) => base !== undefined && normalBase(base) !== normalBase(giteaUrl);
  const read = () => clusterSecrets?.readUrl(namespace, name) ?? readKey(join(secretsDir, namespace, name), URL_KEY);
  const url = PATH_PART.test(namespace) && PATH_PART.test(name) ? (await read())?.trim() : undefined;
  const isByPolicy = isForeign(boundTo?.(namespace, name));
  if (!isForeign(url) && !isByPolicy) return;
  const message =
    `use the registration token of RunnerGroup ${namespace}/${group}: ${isByPolicy ? `${POLICY}, for` : 'key url of'} Secret ${name} ` +
    `names another Gitea than the group's, ${giteaUrl}. Correct gitea.url, or name the registration Secret of that Gitea.`;
  throw new Failure('GR-TOKEN-07', 3, message, 'token-unusable');
}

/** Returns a key's content without the line end that kubectl keeps. Undefined: no such file. */
function readKey(folder: string, key: string): string | undefined {
  try {
    return readFileSync(join(folder, key), 'utf8').trim();
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR') return undefined;
    const message = `read ${join(folder, key)}: ${systemReason(error)}. Make the file readable for the user that runs gitea-runners.`;
    throw new Failure('GR-TOKEN-02', 1, message, 'token-unusable');
  }
}

function missing(group: TokenOwner, secretsDir: string): Failure {
  const { name, key } = group.authToken;
  const message =
    `find the API token of RunnerGroup ${keyText(group)}: no file ${group.namespace}/${name}/${key} or ${name}/${key} ` +
    `in ${secretsDir}, so Gitea was not asked. In a cluster, mount Secret ${name} there. By hand, set GITEA_TOKEN and GITEA_URL, or give --secrets-dir.`;
  return new Failure('GR-TOKEN-01', 1, message, 'token-unseen');
}

/** The Gitea that a token may be sent to, and what says so. */
type Binding = Readonly<Record<'base' | 'where', string>>;

function bindingOf(url: string | undefined, source: string, group: TokenOwner): Binding {
  if (url === undefined || url === '') {
    const why = `${source} does not say to which Gitea it may be sent. Set it to the base URL, e.g. ${group.giteaUrl}.`;
    throw unusable(group, 'GR-TOKEN-03', 3, why);
  }
  const base = normalBase(url);
  if (base === undefined) {
    const why = `${source} is no http or https URL, or has credentials, a query or a fragment. Set it to Gitea's base URL.`;
    throw unusable(group, 'GR-TOKEN-04', 3, why);
  }
  return { base, where: source };
}

function bind(
  secret: string,
  { base, where }: Binding,
  { what, source }: Named,
  group: TokenOwner,
  { reachOf }: TokenSources,
): Token {
  if (base !== normalBase(group.giteaUrl)) {
    const why =
      `it is bound to ${base}, as ${where} says, but the group's Gitea is ${group.giteaUrl}. It was not sent. ` +
      'Correct gitea.url or the binding, or use a token of that Gitea.';
    throw unusable(group, 'GR-TOKEN-05', 3, why);
  }
  if (!TOKEN.test(secret)) {
    const why = `${what} is empty or holds characters that no token has. Put the token alone into it.`;
    throw unusable(group, 'GR-TOKEN-06', 1, why);
  }
  return new Token(secret, base, 'token', source, reachOf?.(group.namespace));
}

function unusable(group: TokenOwner, code: string, exit: 1 | 3, why: string): Failure {
  return new Failure(code, exit, `use the API token of RunnerGroup ${keyText(group)}: ${why}`, 'token-unusable');
}
