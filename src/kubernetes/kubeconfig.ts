/** A kubeconfig file, for who looks at another cluster than its own. Its current context only; no program in it is started. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import * as z from 'zod';
import { Failure, systemReason } from '../failure.ts';
import { isHeaderText } from '../http/request.ts';
import type { ClusterConfig } from './config.ts';

const text = z.string().min(1);
const File = z.object({
  'current-context': text,
  contexts: z.array(
    z.object({ name: text, context: z.object({ cluster: text, user: text, namespace: z.string().nullish() }) }),
  ),
  clusters: z.array(
    z.object({
      name: text,
      cluster: z.looseObject({
        server: z.url({ protocol: /^https$/ }),
        'certificate-authority': text.optional(),
        'certificate-authority-data': text.optional(),
      }),
    }),
  ),
  users: z.array(
    z.object({
      name: text,
      user: z.looseObject({
        token: text.optional(),
        tokenFile: text.optional(),
        'client-certificate': text.optional(),
        'client-certificate-data': text.optional(),
        'client-key': text.optional(),
        'client-key-data': text.optional(),
      }),
    }),
  ),
});

/** What would weaken the connection, or needs a program or provider that we do not have. */
const REFUSED = {
  cluster: ['insecure-skip-tls-verify', 'proxy-url', 'tls-server-name'],
  user: ['exec', 'auth-provider', 'username', 'password', 'as', 'as-groups', 'as-uid', 'as-user-extra'],
} as const;

/** Hundreds of contexts. */
const LONGEST_TEXT = 1_048_576;

/** @throws Failure exit 1 when it cannot be read, exit 2 when it is no usable kubeconfig. */
export async function readKubeconfig(file: string): Promise<ClusterConfig> {
  const parsed = File.safeParse(await parseYaml(file, await read(file)));
  if (!parsed.success) throw wrong(file, `without a usable ${parsed.error.issues[0]?.path.join('.') || 'object'}`);
  const config = parsed.data;
  const context = config.contexts.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  if (!cluster || !user) throw wrong(file, 'and the current context, or its cluster or user, is not in it');
  for (const [part, fields] of [[cluster, REFUSED.cluster] as const, [user, REFUSED.user] as const]) {
    const found = fields.find((field) => part[field] !== undefined && part[field] !== false);
    if (found !== undefined) {
      const way = found === 'exec' ? ' (docs/commands.md, "When kubectl logs in with a program")' : '';
      throw wrong(file, `with ${found}, which is not supported; use a token or a client certificate${way}`);
    }
  }
  const pem = async (source: Readonly<Record<string, unknown>>, field: string): Promise<string | undefined> => {
    const data = source[`${field}-data`];
    if (typeof data === 'string') return Buffer.from(data, 'base64').toString('utf8');
    const path = source[field];
    return typeof path === 'string' ? await read(resolve(dirname(file), path)) : undefined;
  };
  const [ca, cert, key] = await Promise.all([
    pem(cluster, 'certificate-authority'),
    pem(user, 'client-certificate'),
    pem(user, 'client-key'),
  ]);
  if ((cert === undefined) !== (key === undefined)) throw wrong(file, 'with a client certificate or key, but not both');
  const token = tokenOf(file, user);
  if (token === undefined && cert === undefined) throw wrong(file, 'without a token or client certificate');
  return {
    url: cluster.server.replace(/\/+$/, ''),
    context: { name: config['current-context'], namespace: context?.namespace || 'default' },
    ...(ca !== undefined && { ca }),
    ...(token && { token }),
    ...(cert !== undefined && key !== undefined && { clientCertificate: { cert, key } }),
  };
}

function tokenOf(
  file: string,
  user: { readonly token?: string | undefined; readonly tokenFile?: string | undefined },
): (() => Promise<string>) | undefined {
  const { token, tokenFile } = user;
  if (tokenFile === undefined && token === undefined) return undefined;
  return async () => {
    const found = (tokenFile === undefined ? token : await read(resolve(dirname(file), tokenFile)))?.trim() ?? '';
    if (isHeaderText(found)) return found;
    throw wrong(file, 'with a token that is empty or no token');
  };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new Failure(
      'GR-CLUSTER-11',
      1,
      `read the kubeconfig: ${file}: ${systemReason(error)}. Give a readable file.`,
    );
  }
}

/** The one document of the file; undefined when it is not exactly one. Loaded late: `generate` mostly does without it. */
async function parseYaml(name: string, text: string): Promise<unknown> {
  if (text.length > LONGEST_TEXT)
    throw wrong(name, `of more than ${LONGEST_TEXT} characters: leave only one context in it`);
  const { readOneDocument } = await import('../runnergroup/documents.ts');
  return readOneDocument({ name, text });
}

function wrong(file: string, what: string): Failure {
  return new Failure('GR-CLUSTER-12', 2, `read the kubeconfig: ${file} is a kubeconfig ${what}.`);
}
