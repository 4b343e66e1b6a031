/** Reads the current context of a kubeconfig. The caller starts the login program that it may name. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { defined } from '../../shared/defined.ts';
import { Failure, systemReason } from '../../shared/failure.ts';
import { firstNames, printable } from '../../shared/printable.ts';
import { isHeaderText, placeOf } from '../http/request.ts';
import type { ClientCertificate } from '../http/wire.ts';
import type { ClusterConfig } from './config.ts';

/** The answer of a login program: a token, a certificate, or both. */
export type Login = Readonly<{ token?: string | undefined; clientCertificate?: ClientCertificate | undefined }>;

export interface NamedProgram {
  readonly file: string;
  /** The entry `exec` as it is in the file. */
  readonly exec: unknown;
  /** The cluster, for a program that requires it. */
  readonly cluster: Readonly<Record<string, unknown>>;
}

/** Starts the program, or remembers what it has answered. */
export type LogIn = (program: NamedProgram) => Promise<Login>;

const text = z.string().min(1);
const optional = z.string().optional();
/** Entries of other contexts may be unusable: only those of the current context are checked. */
const namedEntries = z.preprocess((list) => list ?? [], z.array(z.looseObject({})));
const File = z.object({ 'current-context': text, contexts: namedEntries, clusters: namedEntries, users: namedEntries });

const Context = z.object({ cluster: text, user: text, namespace: z.string().nullish() });
const Cluster = z.looseObject({
  server: z.url({ protocol: /^https$/ }),
  'certificate-authority': optional,
  'certificate-authority-data': optional,
  extensions: namedEntries,
});
const User = z.looseObject({
  token: optional,
  tokenFile: optional,
  'client-certificate': optional,
  'client-certificate-data': optional,
  'client-key': optional,
  'client-key-data': optional,
});

/** Fields that would weaken the connection, or that need a program or provider that is not here. */
const REFUSED = {
  cluster: ['insecure-skip-tls-verify', 'proxy-url', 'tls-server-name'],
  user: ['exec', 'auth-provider', 'username', 'password', 'as', 'as-groups', 'as-uid', 'as-user-extra'],
} as const;

const ADVICE: Readonly<Record<string, string>> = {
  'insecure-skip-tls-verify': 'put the CA into certificate-authority-data',
  'proxy-url': 'give a kubeconfig without it',
  'tls-server-name': 'give a kubeconfig without it',
  exec: 'use a token or a client certificate: only commands that people type start a program',
};

/** The missing part may be in another file of `KUBECONFIG`. */
const ONE_FILE = 'if kubectl finds it, this writes a whole one: kubectl config view --minify --flatten --raw';

/** Hundreds of contexts. */
const LONGEST_TEXT = 1_048_576;

/**
 * Reads the current context. Without `logIn`, a kubeconfig with a login program is refused.
 * @param readYaml returns undefined unless the file has exactly one document
 * @throws Failure exit 1: unreadable, or no login; exit 2: no usable kubeconfig
 */
export async function readKubeconfig(
  file: string,
  readYaml: (file: { readonly name: string; readonly text: string }) => unknown,
  logIn?: LogIn,
): Promise<ClusterConfig> {
  const content = await read(file);
  if (content.length > LONGEST_TEXT)
    throw wrongKubeconfig(file, `of more than ${LONGEST_TEXT} characters: leave only one context in it`);
  const parsed = File.safeParse(readYaml({ name: file, text: content }));
  if (!parsed.success) throw wrongKubeconfig(file, problemOfField(placeOf(parsed.error)));
  const kubeconfig = parsed.data;
  const name = kubeconfig['current-context'];
  const context = partOf(Context, kubeconfig.contexts, 'context', name, file, 'current context');
  const cluster = partOf(Cluster, kubeconfig.clusters, 'cluster', context.cluster, file, 'cluster');
  const user = partOf(User, kubeconfig.users, 'user', context.user, file, 'user');
  for (const [part, fields] of [[cluster, REFUSED.cluster] as const, [user, REFUSED.user] as const]) {
    const isSet = (field: string) => part[field] !== undefined && part[field] !== false;
    const refusedField = fields.find((field) => isSet(field) && !(logIn && field === 'exec'));
    if (refusedField === undefined) continue;
    const advice = ADVICE[refusedField] ?? 'use a token or a client certificate';
    throw wrongKubeconfig(file, `with ${refusedField}, which is not supported; ${advice}`);
  }
  const pem = async (source: Readonly<Record<string, unknown>>, field: string): Promise<string | undefined> => {
    const data = source[`${field}-data`];
    if (typeof data === 'string' && data !== '') return Buffer.from(data, 'base64').toString('utf8');
    const path = source[field];
    return typeof path === 'string' && path !== '' ? await read(resolve(dirname(file), path)) : undefined;
  };
  const [ca, cert, key] = await Promise.all([
    pem(cluster, 'certificate-authority'),
    pem(user, 'client-certificate'),
    pem(user, 'client-key'),
  ]);
  const url = cluster.server.replace(/\/+$/, '');
  const config = { url, ca, context: { name, namespace: context.namespace || 'default' } };
  if (logIn && user['exec'] !== undefined) {
    const program = { file, exec: user['exec'], cluster: clusterInfoOf(cluster, ca) };
    const { token, clientCertificate } = await logIn(program);
    const freshToken = async () => (await logIn(program)).token ?? '';
    return { ...config, token: token === undefined ? undefined : freshToken, clientCertificate };
  }
  if ((cert === undefined) !== (key === undefined))
    throw wrongKubeconfig(file, 'with a client certificate or key, but not both');
  const token = tokenOf(file, user);
  if (token === undefined && cert === undefined) throw wrongKubeconfig(file, 'without a token or client certificate');
  return { ...config, token, clientCertificate: certificateOf(cert, key) };
}

export function certificateOf(cert: string | undefined, key: string | undefined): ClientCertificate | undefined {
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** A cluster as KUBERNETES_EXEC_INFO has it. */
function clusterInfoOf({ server, extensions }: z.output<typeof Cluster>, ca: string | undefined) {
  const config = extensions.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.['extension'];
  return defined({ server, 'certificate-authority-data': ca && Buffer.from(ca).toString('base64'), config });
}

/** Says what is wrong with a field. @param field empty: the whole file */
function problemOfField(field: string): string {
  if (field === '') return 'that cannot be read: it is empty or no YAML; give another one';
  if (field !== 'current-context') return `without usable ${field}`;
  return 'without a current-context; choose one with: kubectl config use-context NAME';
}

function partOf<T extends z.ZodType>(
  shape: T,
  list: readonly Readonly<Record<string, unknown>>[],
  key: string,
  name: string,
  file: string,
  role: string,
): z.output<T> {
  const entry = list.find((each) => each['name'] === name);
  const whose = `whose ${role} "${printable(name)}"`;
  const names = firstNames(
    list.map((each) => printable(String(each['name']))),
    5,
  );
  if (!entry) throw wrongKubeconfig(file, `${whose} is not in it, but ${names || 'none'}; ${ONE_FILE}`);
  const parsed = shape.safeParse(entry[key] ?? {});
  if (parsed.success) return parsed.data;
  const lacking = placeOf(parsed.error);
  throw wrongKubeconfig(file, `${whose} has no ${lacking === 'server' ? 'https server' : `usable ${lacking || key}`}`);
}

function tokenOf(file: string, { token, tokenFile }: z.output<typeof User>): (() => Promise<string>) | undefined {
  if (!tokenFile && token === undefined) return undefined;
  return async () => {
    const tokenText = (!tokenFile ? token : await read(resolve(dirname(file), tokenFile)))?.trim() ?? '';
    if (isHeaderText(tokenText)) return tokenText;
    throw wrongKubeconfig(file, 'with a token that is empty or no token');
  };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const message = `read the kubeconfig: ${file}: ${systemReason(error)}. Give a readable file.`;
    throw new Failure('GR-CLUSTER-11', 1, message, 'cluster');
  }
}

/** Makes the Failure for a kubeconfig that cannot be used. @param problem follows "is a kubeconfig" */
export function wrongKubeconfig(file: string, problem: string): Failure {
  return new Failure('GR-CLUSTER-12', 2, `read the kubeconfig: ${file} is a kubeconfig ${problem}.`, 'cluster');
}
