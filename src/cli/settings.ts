/** Flags and environment -> `Settings`. A flag comes before its environment variable, that before the default. */
import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Failure } from '../failure.ts';
import type { ClusterMode } from '../kubernetes/config.ts';
import type { Settings } from '../look/look-and-plan.ts';
import { printable } from '../printable.ts';
import { SECRETS_DIR } from '../tokens/api-token.ts';
import type { Io } from './io.ts';

/** The flags that every command that looks at Gitea has, as commander gives them. */
export interface LookFlags {
  readonly secretsDir?: string;
  readonly cluster?: string;
  readonly kubeconfig?: string;
  readonly timeout?: string;
  readonly caFile?: string;
  readonly verbose?: boolean;
}

/** The flags that say which files are read. */
export interface PathFlags {
  readonly recursive?: boolean;
}

/** Longest `--timeout`: Argo CD ends a plugin after 60 s by itself. */
const LONGEST_TIMEOUT_SECONDS = 600;
const DEFAULT_TIMEOUT_SECONDS = 20;

/** @throws Failure exit 2 for a bad flag, exit 1 when the CA file cannot be read. */
export async function settingsFrom(flags: LookFlags, io: Io): Promise<Settings> {
  const caFile = flags.caFile ?? fromEnv(io, 'CA_FILE');
  const kubeconfig = flags.kubeconfig ?? kubeconfigFromEnv(io);
  return {
    secretsDir: flags.secretsDir ?? fromEnv(io, 'SECRETS_DIR') ?? SECRETS_DIR,
    cluster: clusterMode(flags.cluster ?? fromEnv(io, 'CLUSTER') ?? 'auto'),
    ...(kubeconfig !== undefined && { kubeconfig }),
    timeoutMs: seconds('--timeout', flags.timeout ?? fromEnv(io, 'TIMEOUT') ?? String(DEFAULT_TIMEOUT_SECONDS)) * 1000,
    ...(caFile !== undefined && { ca: await readCa(caFile) }),
    instance: fromEnv(io, 'INSTANCE') ?? '',
    env: io.env,
    now: io.now,
    onWarning: (text) => io.err(`${printable(text)}\n`),
    ...(isVerbose(flags, io) && {
      onRequest: ({ method, url, status, ms }) =>
        io.err(`${printable(`${method} ${url} ${status} ${ms.toFixed(0)} ms`)}\n`),
    }),
  };
}

/** PATHs of a command: its arguments, else `GITEA_RUNNERS_PATH`, else the current folder. */
export function pathsFrom(
  args: readonly string[],
  flags: PathFlags,
  io: Io,
): { paths: readonly string[]; recursive: boolean } {
  const paths = args.length > 0 ? args : [fromEnv(io, 'PATH') ?? '.'];
  return { paths, recursive: flags.recursive ?? isOn(fromEnv(io, 'RECURSIVE'), 'GITEA_RUNNERS_RECURSIVE') };
}

/** Where groups without a namespace go: Argo CD's destination namespace. */
export function defaultNamespace(io: Io): string {
  return io.env['ARGOCD_APP_NAMESPACE'] || 'default';
}

/** True with `-v`: requests and, for internal errors, the stack go to stderr. */
export function isVerbose(flags: Pick<LookFlags, 'verbose'>, io: Io): boolean {
  return flags.verbose ?? isOn(fromEnv(io, 'VERBOSE'), 'GITEA_RUNNERS_VERBOSE');
}

/** `GITEA_RUNNERS_<name>`; an empty one counts as not set. */
export function fromEnv(io: Io, name: string): string | undefined {
  return io.env[`GITEA_RUNNERS_${name}`] || undefined;
}

/** A switch in the environment. @throws Failure exit 2 when it is neither true nor false. */
export function isOn(text: string | undefined, variable: string): boolean {
  if (text === undefined || text === 'false' || text === '0') return false;
  if (text === 'true' || text === '1') return true;
  throw new Failure('GR-FLAG-03', 2, `read ${variable}: it must be true or false.`);
}

function clusterMode(text: string): ClusterMode {
  if (text === 'auto' || text === 'off') return text;
  throw new Failure('GR-FLAG-01', 2, 'read --cluster: it must be auto or off.');
}

/** @throws Failure exit 2 for a relative path: Argo CD starts us in the repository, whose author could put the file there. */
function kubeconfigFromEnv(io: Io): string | undefined {
  const file = fromEnv(io, 'KUBECONFIG');
  if (file === undefined || isAbsolute(file)) return file;
  throw new Failure('GR-FLAG-09', 2, 'read GITEA_RUNNERS_KUBECONFIG: it must be an absolute path.');
}

/** Seconds from a flag. @throws Failure exit 2 */
export function seconds(flag: string, text: string): number {
  const value = /^[0-9]{1,4}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= LONGEST_TIMEOUT_SECONDS) return value;
  throw new Failure(
    'GR-FLAG-02',
    2,
    `read ${flag}: it must be a number of seconds from 0.001 to ${LONGEST_TIMEOUT_SECONDS}.`,
  );
}

/** The PEM in a file. @throws Failure exit 1 */
export async function readCa(file: string, flag = '--ca-file'): Promise<string> {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed';
    throw new Failure('GR-FLAG-04', 1, `read the CA file ${file}: ${code}. Give a PEM file with ${flag}.`);
  }
}
