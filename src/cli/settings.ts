/** Flags and environment -> `Settings` and paths. */
import { readFileSync } from 'node:fs';
import type { InstallationImages } from '../config/runnergroup/installation.ts';
import type { Settings } from '../observe/settings.ts';
import { Failure, systemReason } from '../shared/failure.ts';
import type { Io } from '../shared/io.ts';
import { printable } from '../shared/printable.ts';
import { flagValue, type GivenFlags, PATH } from './flags/flags.ts';
import { type InstalledPolicy, policyFrom } from './policy.ts';

export type LookFlags = GivenFlags<
  'secrets' | 'secretsDir' | 'cluster' | 'kubeconfig' | 'timeout' | 'caFile' | 'verbose' | 'policy'
>;

export type PathFlags = GivenFlags<'recursive'>;

export type ImageFlags = GivenFlags<'runnerImage' | 'runnerImageRootless' | 'dockerImage'>;

/** @throws Failure exit 2 for a value that is no image */
export function imagesFrom(flags: ImageFlags, io: Pick<Io, 'env'>): InstallationImages {
  return {
    runner: flagValue('runnerImage', flags, io),
    rootless: flagValue('runnerImageRootless', flags, io),
    docker: flagValue('dockerImage', flags, io),
  };
}

export interface CommandSettings extends Settings {
  /** Absent: none is named. Then the rules under "Without a policy file" in docs/policy.md hold. */
  readonly policy?: InstalledPolicy;
}

/** @throws Failure exit 2 for a bad flag or policy file, exit 1 when the CA file cannot be read. */
export async function settingsFrom(flags: LookFlags, io: Io): Promise<CommandSettings> {
  const caFile = flagValue('caFile', flags, io);
  const kubeconfig = flagValue('kubeconfig', flags, io);
  const policy = await policyFrom(flags, io);
  return {
    secrets: flagValue('secrets', flags, io),
    secretsDir: flagValue('secretsDir', flags, io),
    cluster: flagValue('cluster', flags, io),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(policy && { policy, boundTo: policy.boundTo }),
    timeoutMs: flagValue('timeout', flags, io) * 1000,
    ...(caFile !== undefined && { ca: await readCa(caFile) }),
    instance: io.env['GITEA_RUNNERS_INSTANCE'] ?? '',
    env: io.env,
    now: io.now,
    onWarning: (text) => io.err(`${printable(text)}\n`),
    ...(flagValue('verbose', flags, io) && {
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
  const paths = args.length > 0 ? args : [io.env[PATH.variable] || PATH.default];
  return { paths, recursive: flagValue('recursive', flags, io) };
}

/** Where groups without a namespace go: Argo CD's destination namespace. */
export function defaultNamespace(io: Io): string {
  return io.env['ARGOCD_APP_NAMESPACE'] || 'default';
}

/** The PEM in a file. @throws Failure exit 1 */
export async function readCa(file: string, flag = '--ca-file'): Promise<string> {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const message = `read the CA file ${file}: ${systemReason(error)}. Give a PEM file with ${flag}.`;
    throw new Failure('GR-FLAG-04', 1, message);
  }
}
