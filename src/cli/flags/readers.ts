/** Readers of flags: text -> value. Each throws `Failure` (exit 2) that names the flag or its variable. */
import { isAbsolute } from 'node:path';
import { JOB_STATES, type JobState } from '../../answers/job-state.ts';
import type { Dimension } from '../../answers/usage.ts';
import { readShards } from '../../clients/argocd/application.ts';
import { DNS_SUBDOMAIN, IMAGE_REFERENCE, LONGEST_IMAGE } from '../../config/runnergroup/words.ts';
import type { Shard } from '../../plan/settings.ts';
import { LONGEST_KEEP_MS } from '../../planner/debugging.ts';
import { normalBase } from '../../shared/url.ts';
import { LARGEST_BUDGET } from '../../tasks/sweep/choose.ts';
import { SAMPLERS } from '../../telemetry/tracing/span.ts';
import { flagFailure, type Source } from './flag.ts';

type Reader<T> = (text: string, source: Source) => T;

/** Makes a reader. @param parse undefined for a text that is wrong @param must the end of "it must be …" */
function reader<T>(code: string, must: string, parse: (text: string) => T | undefined): Reader<T> {
  return (text, source) => {
    const value = parse(text);
    if (value !== undefined) return value;
    throw flagFailure(code, source, must, text);
  };
}

function oneOf<const W extends string>(code: string, choices: readonly W[], must: string): Reader<W> {
  return reader(code, must, (text) => choices.find((each) => each === text));
}

function matching(code: string, form: RegExp, must: string): Reader<string> {
  return reader(code, must, (text) => (form.test(text) ? text : undefined));
}

function numberOf(code: string, form: RegExp, [least, most]: readonly [number, number], must: string): Reader<number> {
  const isInRange = (value: number) => value >= least && value <= most;
  return reader(code, must, (text) => (form.test(text) && isInRange(Number(text)) ? Number(text) : undefined));
}

const DECIMAL = /^[0-9]{1,4}(?:\.[0-9]{1,3})?$/;
const RATIO = /^(?:0|1|0?\.[0-9]{1,9}|1\.0{1,9})$/;
const DELETIONS = `a whole number of deletions per minute from 1 to ${LARGEST_BUDGET}`;

/** Argo CD ends a plugin after 60 s. Nobody waits ten minutes for an answer. */
export const readSeconds = numberOf('GR-FLAG-02', DECIMAL, [0.001, 600], 'a number of seconds from 0.001 to 600');
/** The demo at 100 times its speed takes a fraction of a second; more would show nothing. */
export const readSpeed = numberOf('GR-FLAG-10', DECIMAL, [0.1, 100], 'a number from 0.1 to 100');
export const readRatio = numberOf('GR-FLAG-22', RATIO, [0, 1], 'a number from 0 to 1, e.g. 0.1');
export const readBudget = numberOf('GR-SWEEP-02', /^[1-9][0-9]{0,2}$/, [1, LARGEST_BUDGET], DELETIONS);
export const readCount = (minimum: number, maximum: number): Reader<number> =>
  numberOf('GR-FLAG-21', /^[0-9]{1,9}$/, [minimum, maximum], `a whole number from ${minimum} to ${maximum}`);

const SHARD = 'K/N, N from 1 to 100 and K from 0 to N - 1, e.g. 2/7';
/** `7/7` is none: shards are counted from 0. */
export const readShard = reader('GR-FLAG-27', SHARD, (text): Shard | undefined => {
  const [, index, shards = ''] = /^(0|[1-9]\d?)\/(\d+)$/.exec(text) ?? [];
  const shard = { index: Number(index), of: readShards(shards) ?? 0 };
  return shard.index < shard.of ? shard : undefined;
});

/** A value that becomes a part of a path. */
const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
export const readNamespace = matching('GR-FLAG-02', DNS_LABEL, 'the name of a namespace, e.g. gitea-runners');
export const readRepository = matching('GR-FLAG-17', /^[\w.-]+\/[\w.-]+$/, 'a repository, written OWNER/NAME');

export const readClusterMode = oneOf('GR-FLAG-01', ['auto', 'off'], 'auto or off');
export const readSecretsMode = oneOf('GR-FLAG-12', ['files', 'api'], 'files or api');
export const readKind = oneOf('GR-FLAG-13', ['RunnerGroup', 'RunnerPolicy'], 'RunnerGroup or RunnerPolicy');
export const readSampler = oneOf('GR-FLAG-22', SAMPLERS, `one of ${SAMPLERS.join(', ')}`);

export const SECRET_TOOLS = ['kubectl', 'external-secrets', 'sealed-secrets'] as const;
export type SecretTool = (typeof SECRET_TOOLS)[number];
export const readSecretTool = oneOf('GR-INIT-05', SECRET_TOOLS, 'kubectl, external-secrets or sealed-secrets');

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Returns the sum of a duration such as `1h30m`, in ms. Parts that are not a number with a unit do not count. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/([0-9.]+)([smhd])/g)];
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS], 0);
}

function timeUpTo(mostMs: number, form: RegExp, must: string): Reader<number> {
  const isInRange = (ms: number) => ms > 0 && ms <= mostMs;
  return reader('GR-FLAG-02', must, (text) =>
    form.test(text) && isInRange(durationMs(text)) ? durationMs(text) : undefined,
  );
}

const DURATION = /^(?:\d{1,2}h)?(?:\d{1,4}m)?(?:\d{1,5}s)?$/;
export const readDuration = timeUpTo(LONGEST_KEEP_MS, DURATION, 'a time from 1s to 24h, e.g. 90s, 30m or 1h30m');
export const readSince = timeUpTo(90 * UNITS_MS.d, /^\d{1,6}[mhd]$/, 'a time from 1m to 90d, e.g. 90m, 24h or 7d');

export const DIMENSIONS = ['group', 'organization', 'repository', 'workflow'] as const satisfies readonly Dimension[];
export const readDimension = oneOf('GR-FLAG-02', DIMENSIONS, 'group, organization, repository or workflow');

/** An absolute path if it is in a variable: Argo CD starts us in the repository, and its author could put a file there. */
export function readTrustedPath(text: string, source: Source): string {
  if (!source.isVariable || isAbsolute(text)) return text;
  throw flagFailure('GR-FLAG-09', source, 'an absolute path, as a sync starts in the repository', text);
}

/** `:8080`, `127.0.0.1:0`, `localhost:80` or `[::1]:80`. */
export const readAddress = reader('GR-FLAG-08', 'an address like :8080 or 127.0.0.1:8080', (text) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) return undefined;
  return host === '' ? { port } : { host, port };
});

export const readLogUrl = matching('GR-FLAG-25', /^https?:\/\/\S+$/, 'a URL of http or https');

const BASE_URL = 'a base URL of http or https, without login, query and fragment';
export const readBaseUrl = reader('GR-FLAG-25', BASE_URL, normalBase);

/** Reads the URL of the page. https, or this machine: only there browsers keep its cookies safe. */
export function readPageUrl(text: string, source: Source): string {
  const base = readBaseUrl(text, source);
  const { hostname, origin, protocol } = new URL(base);
  const isSafe = protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (isSafe && base === origin) return base;
  throw flagFailure('GR-FLAG-25', source, 'https, or http on localhost, and have no path', text);
}

/** Reads the URL of looks. http only: the body is encrypted, and no certificate names the address of a pod. */
export function readLooksUrl(text: string, source: Source): string {
  const base = readBaseUrl(text, source);
  const { origin, protocol } = new URL(base);
  if (protocol === 'http:' && base === origin) return base;
  throw flagFailure('GR-FLAG-25', source, 'http, without a path', text);
}

/** `NAMESPACE/NAME` of a Lease, or `off`. */
export const readLease = reader('GR-FLAG-07', 'NAMESPACE/NAME or off', (text) => {
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(text) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  return text === 'off' ? text : undefined;
});

/** Words between commas, without spaces around them. */
export function readList(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
}

/** Most registration Secrets: each is a request to Gitea every five minutes. Most namespaces: each is watched. */
const [MOST_SECRETS, MOST_NAMESPACES] = [100, 1_000];

/** Names between commas: they become parts of paths. */
const namesOf = (
  code: string,
  form: RegExp,
  [longest, most]: readonly [number, number],
  must: string,
): Reader<readonly string[]> =>
  reader(code, must, (text) => {
    const names = readList(text);
    const areGood = names.every((name) => name.length <= longest && form.test(name));
    return areGood && names.length > 0 && names.length <= most ? names : undefined;
  });
const SECRETS = `up to ${MOST_SECRETS} names of Secrets with commas between`;
const NAMESPACES = `up to ${MOST_NAMESPACES} names of namespaces with commas between`;
export const readNamespaces = namesOf('GR-FLAG-02', DNS_LABEL, [63, MOST_NAMESPACES], NAMESPACES);
export const readSecretNames = namesOf('GR-FLAG-24', DNS_SUBDOMAIN, [253, MOST_SECRETS], SECRETS);

const IMAGE = 'an image, e.g. registry.example.com/gitea/runner:1.0.8';
export const readImage = reader('GR-FLAG-15', IMAGE, (text) =>
  text.length <= LONGEST_IMAGE && IMAGE_REFERENCE.test(text) ? text : undefined,
);

const STATES = `one or more of ${JOB_STATES.join(', ')}, with commas between`;
export const readStates = reader('GR-FLAG-18', STATES, (text): readonly JobState[] | undefined => {
  // `stuck`: the word before, to go after 0.2.
  const listedStates = readList(text).map((word) => (word === 'stuck' ? 'unserved' : word));
  const states = JOB_STATES.filter((state) => listedStates.includes(state));
  return listedStates.length > 0 && states.length === new Set(listedStates).size ? states : undefined;
});

export const MOST_ATTRIBUTES = 32;
const LONGEST_ATTRIBUTE = 255;

const ATTRIBUTES = `KEY=VALUE, comma-separated, at most ${MOST_ATTRIBUTES} of them with at most ${LONGEST_ATTRIBUTE} characters each. Write other characters as %2C`;
/** Reads attributes in the form of `OTEL_RESOURCE_ATTRIBUTES`: values are percent-encoded. */
export const readAttributes = reader('GR-FLAG-22', ATTRIBUTES, (text): Readonly<Record<string, string>> | undefined => {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const read = pairs.flatMap((pair) => {
    const [, key = '', value = ''] = /^\s*([A-Za-z][\w.\-/]*)\s*=\s*([\x21-\x7e]*)\s*$/.exec(pair) ?? [];
    const decoded = decode(value);
    const isGood = key !== '' && decoded !== undefined && Math.max(key.length, decoded.length) <= LONGEST_ATTRIBUTE;
    return isGood ? [[key, decoded] as const] : [];
  });
  return read.length === pairs.length && read.length <= MOST_ATTRIBUTES ? Object.fromEntries(read) : undefined;
});

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
