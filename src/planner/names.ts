/**
 * Runner names: the memory of a program that remembers nothing.
 *
 *     ci-4711-1-9c31e0aa
 *     │  │    │ │   └─ runner: Gitea, job id, attempt, ordinal, pod template, in a pool the scope (4 hex digits)
 *     │  │    │ └───── group: instance, namespace, RunnerGroup (4 hex digits), the same for all its runners
 *     │  │    └─────── attempt: which stay of the job in the queue; in a pool its index
 *     │  └──────────── id of the Gitea job that the runner was made for; in a pool 0
 *     └─────────────── RunnerGroup, shortened with a hash when longer than 31 characters
 *
 * A name has at most 63 characters, because it is a Kubernetes label value, too. The same inputs give the same name, so a name that is
 * printed twice asks for one Job. A runner is ours only if prefix, form and group hash all fit.
 */
import { hash as digest } from 'node:crypto';
import type { GroupKey } from './decisions.ts';
import type { Group, Job } from './evidence.ts';

/** 63 less 16 digits of id, 5 of attempt, 8 of hash and 3 dashes. */
const PREFIX_LIMIT = 31;
/** Prefix, id, attempt, hash of the group, and the runner's own digits. Named groups would make an object for each match, which takes longer than the match. */
const NAME = /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)-(0|[1-9][0-9]{0,15})-(0|[1-9][0-9]{0,4})-([0-9a-f]{4})([0-9a-f]{4})$/;

/** Age at which an idle runner is exchanged, 7 days in ms. Its Job may live so much longer than others, so that its last CI job has all its time. */
export const POOL_LIFE_MS = 7 * 86_400_000;

/** One stay of a job in the queue: its id and attempt. */
export type Stay = Pick<Job, 'id' | 'attempt'>;

/** The job or the pool for which a runner was made. Runners of a pool are numbered from 1. */
export type MadeFor = Stay | { readonly poolIndex: number };

export type RunnerName = Readonly<{ prefix: string; madeFor: MadeFor; groupHash: string }>;

/** The first `digits` hex digits of SHA-256 over the parts. A NUL between parts keeps `a`,`bc` and `ab`,`c` apart. */
function hash(digits: number, ...parts: readonly (string | number)[]): string {
  // One call of `digest`: a hash object for each runner takes ten times as long.
  return digest('sha256', parts.join('\0')).slice(0, digits);
}

/** The RunnerGroup's name as it starts a runner's name: itself up to 31 characters, else 22 and a hash. */
export function namePrefix(groupName: string): string {
  if (groupName.length <= PREFIX_LIMIT) return groupName;
  return `${groupName.slice(0, 22).replace(/-+$/, '')}-${hash(8, groupName)}`;
}

/** The four digits that tell this group's runners from every other group's. */
export function groupHash(instance: string, group: GroupKey): string {
  return hash(4, instance, group.namespace, group.name);
}

/** The part of a group that its runners' names are made of. */
export type NamedGroup = Pick<Group, 'namespace' | 'name' | 'origin' | 'covers' | 'templateHash'>;

/**
 * More ordinals than any job can have missed: each has twice the patience of the one before (`patienceMs`). And more
 * than an index of a pool uses up while Gitea's newest jobs (150) are seen. Names that are used up are not counted.
 */
export const ORDINALS_SEARCHED = 128;

/** Names the runners of one group. @param ordinal 0 at first; the next when a name is used up or never came */
export type RunnerNamer = (madeFor: MadeFor, ordinal: number) => string;

/** Returns the function that names the runners of this group. The common part is calculated once. */
export function runnerNamer(instance: string, group: NamedGroup): RunnerNamer {
  const prefix = namePrefix(group.name);
  const ofGroup = groupHash(instance, group);
  return (madeFor, ordinal) => {
    const [id, attempt] = numbersOf(madeFor);
    // The CI job in a name is of one scope. A pool is not: its runners carry where they are registered (docs/adr/0055).
    const scope = 'poolIndex' in madeFor ? [group.covers ?? ''] : [];
    const jobHash = hash(4, group.origin, id, attempt, ordinal, group.templateHash, ...scope);
    return `${prefix}-${id}-${attempt}-${ofGroup}${jobHash}`;
  };
}

/** Returns the numbers in a name. The id of a pool's runner is 0: ids of Gitea's jobs begin with 1. */
function numbersOf(madeFor: MadeFor): readonly [id: number, attempt: number] {
  return 'poolIndex' in madeFor ? [0, madeFor.poolIndex] : [madeFor.id, madeFor.attempt];
}

export function runnerName(instance: string, group: NamedGroup, madeFor: MadeFor, ordinal: number): string {
  return runnerNamer(instance, group)(madeFor, ordinal);
}

/** Parses a runner name. Undefined: not of our form. It proves nothing: compare prefix and group hash. */
export function parseRunnerName(name: string): RunnerName | undefined {
  if (name.length > 63) return undefined;
  const parts = NAME.exec(name);
  if (!parts) return undefined;
  const [, prefix = '', id = '', attempt = '', hashOfGroup = ''] = parts;
  const madeFor = id === '0' ? { poolIndex: Number(attempt) } : { id: Number(id), attempt: Number(attempt) };
  return { prefix, madeFor, groupHash: hashOfGroup };
}

/** True if two runners were made for the same job or the same index of a pool. */
export function isMadeForSame(a: MadeFor, b: MadeFor): boolean {
  const [id, attempt] = numbersOf(a);
  const [otherId, otherAttempt] = numbersOf(b);
  return id === otherId && attempt === otherAttempt;
}

/** Returns the index of a pool's runner, or undefined for a runner that was made for a job. */
export function poolIndexOf(madeFor: MadeFor | undefined): number | undefined {
  return madeFor && 'poolIndex' in madeFor ? madeFor.poolIndex : undefined;
}
