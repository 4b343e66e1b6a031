/** Readers of values that several flags have: text -> value. Each throws `Failure` (exit 2) that names the flag or its variable. */
import { isAbsolute } from 'node:path';
import type { ClusterMode } from '../../clients/kubernetes/config.ts';
import type { SecretsMode } from '../../clients/tokens/api-token.ts';
import { DNS_SUBDOMAIN, IMAGE_REFERENCE, LONGEST_IMAGE } from '../../config/runnergroup/words.ts';
import { LONGEST_KEEP_MS } from '../../planner/kept.ts';
import type { ListenAddress } from '../../serve/http/server.ts';
import { Failure } from '../../shared/failure.ts';
import { LARGEST_BUDGET } from '../../tasks/sweep/budget.ts';
import type { Source } from './flag.ts';

/** Argo CD ends a plugin after 60 s. Nobody waits ten minutes for an answer. */
const LONGEST_SECONDS = 600;

/** A positive number of seconds. */
export function readSeconds(text: string, { name }: Source): number {
  const value = /^[0-9]{1,4}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= LONGEST_SECONDS) return value;
  throw new Failure('GR-FLAG-02', 2, `read ${name}: it must be a number of seconds from 0.001 to ${LONGEST_SECONDS}.`);
}

/** `90s`, `30m`, `1h30m` in ms, up to 24 hours. */
export function readDuration(text: string, { name }: Source): number {
  const [, hours = '0', minutes = '0', seconds = '0'] =
    /^(?:(\d{1,2})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?$/.exec(text) ?? [];
  const ms = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  if (ms > 0 && ms <= LONGEST_KEEP_MS) return ms;
  throw new Failure('GR-FLAG-02', 2, `read ${name}: it must be a time from 1s to 24h, e.g. 90s, 30m or 1h30m.`);
}

/** A DNS label: it becomes a part of a path. */
export function readNamespace(text: string, { name }: Source): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw new Failure('GR-FLAG-02', 2, `read ${name}: it must be the name of a namespace.`);
}

export function readClusterMode(text: string, { name }: Source): ClusterMode {
  if (text === 'auto' || text === 'off') return text;
  throw new Failure('GR-FLAG-01', 2, `read ${name}: it must be auto or off.`);
}

export function readSecretsMode(text: string, { name }: Source): SecretsMode {
  if (text === 'files' || text === 'api') return text;
  throw new Failure('GR-FLAG-12', 2, `read ${name}: it must be files or api.`);
}

/**
 * Path of a kubeconfig or policy file. The variable must hold an absolute path: Argo CD starts us in the repository, and its author
 * could put a file there.
 */
export function readTrustedPath(text: string, { name, isVariable }: Source): string {
  if (!isVariable || isAbsolute(text)) return text;
  throw new Failure('GR-FLAG-09', 2, `read ${name}: it must be an absolute path.`);
}

/** A kind that has a schema. */
export function readKind(text: string, { name }: Source): 'RunnerGroup' | 'RunnerPolicy' {
  if (text === 'RunnerGroup' || text === 'RunnerPolicy') return text;
  throw new Failure('GR-FLAG-13', 2, `read ${name}: it must be RunnerGroup or RunnerPolicy.`);
}

/** `:8080`, `127.0.0.1:0`, `localhost:80` or `[::1]:80`. */
export function readAddress(text: string, { name }: Source): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]*)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3]);
  if (match !== null && port <= 65_535) return host === '' ? { port } : { host, port };
  throw new Failure('GR-FLAG-08', 2, `read ${name}: it must be an address like :8080 or 127.0.0.1:8080.`);
}

/** `NAMESPACE/NAME` of a Lease, or `off`. */
export function readLease(
  text: string,
  { name }: Source,
): 'off' | { readonly namespace: string; readonly name: string } {
  if (text === 'off') return text;
  const lease = /^(?<namespace>[a-z0-9-]+)\/(?<name>[a-z0-9.-]+)$/.exec(text)?.groups ?? {};
  if (lease['namespace'] !== undefined && lease['name'] !== undefined)
    return { namespace: lease['namespace'], name: lease['name'] };
  throw new Failure('GR-FLAG-07', 2, `read ${name}: it must be NAMESPACE/NAME or off.`);
}

/** Words between commas. */
export function readList(text: string): readonly string[] {
  return text.split(',').filter((word) => word !== '');
}

/** What one reads in a moment. Each costs a question to Gitea every five minutes. */
const MOST_SECRETS = 100;
/** Of Kubernetes. */
const LONGEST_NAME = 253;

/** Names of Secrets between commas: they become parts of paths. */
export function readSecretNames(text: string, { name }: Source): readonly string[] {
  const names = readList(text);
  if (names.length <= MOST_SECRETS && names.every((one) => one.length <= LONGEST_NAME && DNS_SUBDOMAIN.test(one)))
    return names;
  throw new Failure(
    'GR-FLAG-24',
    2,
    `read ${name}: it must be up to ${MOST_SECRETS} names of Secrets with commas between.`,
  );
}

/** Name of an image. */
export function readImage(text: string, { name }: Source): string {
  if (text.length <= LONGEST_IMAGE && IMAGE_REFERENCE.test(text)) return text;
  throw new Failure(
    'GR-FLAG-15',
    2,
    `read ${name}: it must be an image, e.g. registry.example.com/gitea/runner:1.0.8.`,
  );
}

/** Deletions per minute. */
export function readBudget(text: string, { name }: Source): number {
  const value = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (value > 0 && value <= LARGEST_BUDGET) return value;
  throw new Failure(
    'GR-SWEEP-02',
    2,
    `read ${name}: it must be a whole number of deletions per minute from 1 to ${LARGEST_BUDGET}.`,
  );
}

/** Makes the reader of a whole number within these bounds. */
export function readCount(from: number, to: number): (text: string, source: Source) => number {
  return (text, { name }) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : -1;
    if (value >= from && value <= to) return value;
    throw new Failure('GR-FLAG-21', 2, `read ${name}: it must be a whole number from ${from} to ${to}.`);
  };
}

/** The demo at 100 times its speed takes a fraction of a second; more would show nothing. */
const FASTEST = 100;

/** How many times faster than told: 0.1 to 100. */
export function readSpeed(text: string, { name }: Source): number {
  const value = /^[0-9]{1,3}(?:\.[0-9]{1,3})?$/.test(text) ? Number(text) : 0;
  if (value >= 0.1 && value <= FASTEST) return value;
  throw new Failure('GR-FLAG-10', 2, `read ${name}: it must be a number from 0.1 to ${FASTEST}.`);
}
