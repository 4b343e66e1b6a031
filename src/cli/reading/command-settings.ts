/** Flags and environment -> settings, paths, the policy, tracing. */
import { readFileSync } from 'node:fs';
import { type Asker, refusalsBy, unusablePolicy, warningLines } from '../../config/policy/denial.ts';
import { refusalsByDefault } from '../../config/policy/without-policy.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { InstallationPods } from '../../config/runnergroup/to-runner-group.ts';
import type { InstalledPolicy, Settings } from '../../plan/settings.ts';
import { Failure, systemReason } from '../../shared/failure.ts';
import type { Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { parseUrl } from '../../shared/url.ts';
import type { TracingSettings } from '../../telemetry/tracing/span.ts';
import { variableOf } from '../flags/flag.ts';
import { flagValue, type GivenFlags, PATH } from '../flags/flags.ts';

export type LookFlags = GivenFlags<
  'secrets' | 'secretsDir' | 'cluster' | 'kubeconfig' | 'timeout' | 'caFile' | 'verbose' | 'policy'
>;

export type ImageFlags = GivenFlags<'runnerImage' | 'runnerImageRootless' | 'dockerImage' | 'buildkitImage' | 'app'>;

/** Reads the settings of the installation. @throws Failure exit 2: a value is no image, or the app does not exist */
export async function installationFrom(flags: ImageFlags, io: Pick<Io, 'env' | 'cwd'>): Promise<InstallationPods> {
  const app = flagValue('app', flags, io);
  return {
    runner: flagValue('runnerImage', flags, io),
    rootless: flagValue('runnerImageRootless', flags, io),
    docker: flagValue('dockerImage', flags, io),
    buildkit: flagValue('buildkitImage', flags, io),
    platform: app === undefined ? undefined : await (await import('../../plan/platform-app.ts')).readPlatform(app, io),
  };
}

/** @throws Failure exit 2 for a bad flag or policy file, exit 1 when the CA file cannot be read. */
export async function settingsFrom(flags: LookFlags, io: Io): Promise<Settings> {
  const caFile = flagValue('caFile', flags, io);
  const policy = await policyFrom(flags, io);
  return {
    secrets: flagValue('secrets', flags, io),
    secretsDir: flagValue('secretsDir', flags, io),
    cluster: flagValue('cluster', flags, io),
    kubeconfig: flagValue('kubeconfig', flags, io),
    ...(policy && { policy, ...policy.bounds }),
    timeoutMs: flagValue('timeout', flags, io) * 1000,
    ...(caFile !== undefined && { ca: readCa(caFile) }),
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
export function pathsFrom(args: readonly string[], flags: GivenFlags<'recursive' | 'policy'>, io: Io) {
  const paths = args.length > 0 ? args : [io.env[PATH.variable] || PATH.default];
  return { paths, recursive: flagValue('recursive', flags, io), except: flagValue('policy', flags, io) };
}

/** The PEM in a file. @throws Failure exit 1 */
export function readCa(file: string, flag = '--ca-file'): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const message = `read the CA file ${file}: ${systemReason(error)}. Give a PEM file with ${flag}.`;
    throw new Failure('GR-FLAG-04', 1, message);
  }
}

/** Undefined: none is named. @throws Failure exit 2 when one is named and cannot be read. */
export async function policyFrom(flags: GivenFlags<'policy'>, io: Io): Promise<InstalledPolicy | undefined> {
  const file = flagValue('policy', flags, io);
  if (file === undefined) return undefined;
  const { defaultsOf, readPolicyFile, tokenBounds } = await import('../../config/policy/check.ts');
  const read = readPolicyFile(file);
  if ('problems' in read) throw unusablePolicy(file, read.problems);
  const { policy } = read;
  return { file, policy, bounds: tokenBounds(policy), defaults: defaultsOf(policy) };
}

/** Judges groups by the policy. `note`: rules that were skipped, because Argo CD does not ask. */
export async function judgeByPolicy({ policy }: InstalledPolicy, groups: readonly RunnerGroup[], asker: Asker) {
  const { judge, skippedRules } = await import('../../config/policy/check.ts');
  const skipped = skippedRules(policy, asker).join(', ');
  const note = skipped ? `not checked, because Argo CD does not ask: the policy's ${skipped}` : undefined;
  return { ...judge(policy, groups, asker), note };
}

/** Groups that are refused, by the policy or by what holds without one. */
export async function refusalsOf(policy: InstalledPolicy | undefined, groups: readonly RunnerGroup[], io: Io) {
  const asker = askerFrom(io);
  if (!policy) return await refusalsByDefault(groups, asker.destination);
  const { denials, warnings, note } = await judgeByPolicy(policy, groups, asker);
  if (note !== undefined) io.err(`${note}\n`);
  for (const line of warningLines(policy.file, warnings)) io.err(`${line}\n`);
  return refusalsBy(policy.file, groups, denials);
}

/** Refuses denied groups, for a command that does all or nothing. @throws Failure exit 3 with all denials */
export async function refuseDenied(settings: Settings, groups: readonly RunnerGroup[], io: Io): Promise<void> {
  const { whole } = settings.policy ? await refusalsOf(settings.policy, groups, io) : {};
  if (whole) throw whole;
}

/** Returns the caller, from variables that authors of repositories cannot set: theirs begin with ARGOCD_ENV_. */
export function askerFrom({ env, now }: Pick<Io, 'env' | 'now'>, isValidate = false): Asker {
  const appVariable = (name: string) => env[`ARGOCD_APP_${name}`] || undefined;
  const variables = ['NAMESPACE', 'PROJECT_NAME', 'SOURCE_REPO_URL', 'NAME'].map(appVariable);
  const [destination, project, repository] = variables;
  // Argo CD never calls `validate`.
  const isArgoCd = !isValidate && variables.some((text) => text !== undefined);
  return { isArgoCd, destination, project, repository, nowMs: now() };
}

const TRACES = '/v1/traces';
/** Headers may hold a token, and a process shows its environment to many. */
const HEADERS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];

/** Undefined: no endpoint is named, and nothing is traced. @throws Failure exit 2 */
export function tracingFrom(
  flags: GivenFlags<`tracing${'Endpoint' | 'Insecure' | 'Sampler' | 'SamplerArg' | 'ResourceAttributes'}`>,
  io: Pick<Io, 'env'>,
): TracingSettings | undefined {
  const endpoint = flagValue('tracingEndpoint', flags, io);
  if (endpoint === undefined) return undefined;
  const [headers] = HEADERS.filter((name) => io.env[name]);
  if (headers !== undefined) {
    const message = `read ${headers}: headers may hold a token, and the environment is no place for one. Remove the variable. Let the network protect the collector: a NetworkPolicy, mutual TLS of a mesh.`;
    throw new Failure('GR-FLAG-23', 2, message);
  }
  // In the standard variables, http alone says that the connection is plain.
  const isStandard = !flags.tracingEndpoint && !io.env[variableOf('tracingEndpoint')] && endpoint.startsWith('http:');
  return {
    url: urlOf(endpoint, isStandard || flagValue('tracingInsecure', flags, io)),
    sampler: flagValue('tracingSampler', flags, io),
    ratio: flagValue('tracingSamplerArg', flags, io),
    attributes: flagValue('tracingResourceAttributes', flags, io) ?? {},
  };
}

/** `https` unless it is said that the connection may be plain. */
function urlOf(endpoint: string, isInsecure: boolean): URL {
  const url = parseUrl(endpoint.includes('://') ? endpoint : `${isInsecure ? 'http' : 'https'}://${endpoint}`);
  const endpointFailure = (why: string): Failure => new Failure('GR-FLAG-22', 2, `read --tracing-endpoint: it ${why}.`);
  const example = 'e.g. https://otel-collector.observability:4318, without user and password';
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '' || url.search)
    throw endpointFailure(`must be the base URL of OTLP over HTTP, ${example}`);
  const readable = 'begins with http, so anybody on the way can read the spans';
  if (url.protocol === 'http:' && !isInsecure)
    throw endpointFailure(`${readable}. Use https, or add --tracing-insecure`);
  if (!url.pathname.endsWith(TRACES)) url.pathname = `${url.pathname.replace(/\/+$/, '')}${TRACES}`;
  return url;
}
