/** Groups that cannot be planned while others can: their Jobs are kept, and it is said why (docs/adr/0036). */

import { collectLooks } from '../clients/gitea/observe.ts';
import { type BrokenGroup, brokenGroup, type Faults, problemsOf, problemText } from '../config/runnergroup/broken.ts';
import { InputProblems } from '../config/runnergroup/problems.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import type { Look } from '../planner/evidence.ts';
import { Failure, joinFailures, successes } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { count, shortLine } from '../shared/printable.ts';
import type { Pods } from './pods.ts';

export interface Trouble {
  readonly namespace: string;
  readonly name: string;
  readonly failure: Failure;
}

/** True when it is this group's alone: its Gitea, its token, or that it is refused. An API server that does not answer stops all. */
export function isOwnTrouble({ exit, kind }: Failure): boolean {
  return exit === 3 || (exit === 1 && kind !== 'cluster' && kind !== 'cluster-forbidden');
}

/** A group's own trouble stops that group, any other all groups of its namespace. @param seenOf a `Failure`, or what was seen of a group. */
export function troublesOf(
  groups: readonly RunnerGroup[],
  seenOf: (group: RunnerGroup) => unknown,
): { readonly troubles: ReadonlyMap<RunnerGroup, Failure>; readonly stopping: readonly Failure[] } {
  const stopped = new Map<string, Failure>();
  for (const group of groups) {
    const seen = seenOf(group);
    if (seen instanceof Failure && !isOwnTrouble(seen) && !stopped.has(group.namespace))
      stopped.set(group.namespace, seen);
  }
  const troubles = new Map<RunnerGroup, Failure>();
  for (const group of groups) {
    const seen = seenOf(group);
    const failure = seen instanceof Failure ? seen : stopped.get(group.namespace);
    if (failure) troubles.set(group, failure);
  }
  return { troubles, stopping: [...stopped.values()] };
}

interface Seen {
  /** By key of the look. */
  readonly answers: ReadonlyMap<string, Look | Failure>;
  /** Groups without a token. */
  readonly failed: ReadonlyMap<RunnerGroup, Failure>;
  readonly lookOf: (group: RunnerGroup) => string;
}

/** @throws Failure when nothing is left to plan, or for a trouble that is not one group's alone. */
export function sortOut(
  groups: readonly RunnerGroup[],
  broken: readonly BrokenGroup[],
  { answers, failed, lookOf }: Seen,
) {
  const looks = successes(answers);
  if (looks.size === answers.size && failed.size + broken.length === 0) {
    return { looks, troubles: [], isPlanned: () => true };
  }
  const troubles = new Map(broken.map((group) => [keyText(group), troubleOfBroken(group)]));
  const found = troublesOf(groups, (group) => failed.get(group) ?? answers.get(lookOf(group)));
  for (const failure of found.stopping) throw failure;
  for (const [group, failure] of found.troubles) {
    const { namespace, name } = group;
    if (!troubles.has(keyText(group))) troubles.set(keyText(group), { namespace, name, failure });
  }
  const isPlanned = (group: RunnerGroup): boolean => !troubles.has(keyText(group));
  if (!groups.some(isPlanned)) {
    collectLooks(answers);
    refuseAll(broken, failed);
  }
  return { looks, troubles: [...troubles.values()], isPlanned };
}

function troubleOfBroken({ namespace, name, problems, failure }: BrokenGroup): Trouble {
  const code = problems[0]?.code ?? 'GR-INPUT-05';
  return { namespace, name, failure: failure ?? new Failure(code, 2, problemText(problems)) };
}

/** Where no trouble is one group's own. @throws Failure when there is one. */
export function refuseAll(broken: readonly Faults[], failed: ReadonlyMap<RunnerGroup, Failure> = new Map()): void {
  const problems = problemsOf(broken);
  if (problems.length > 0) throw new InputProblems(problems);
  const [first, ...others] = [...broken.flatMap(({ failure }) => failure ?? []), ...failed.values()];
  if (first) throw joinFailures([first, ...others]);
}

/** Groups whose pods have a fault. The templates must have been made before. */
export async function faultyPods(pods: Pods | undefined): Promise<readonly BrokenGroup[]> {
  const faulty = [...((await pods?.faulty()) ?? [])];
  return faulty.flatMap(([{ manifest, place, namespace }, problems]) => {
    return brokenGroup(manifest, place, namespace, problems) ?? [];
  });
}

/** Groups that are named; the others are counted. */
const SHOWN = 10;

/** One line per group for the administrator. */
export function troubleLines(troubles: readonly Trouble[]): readonly string[] {
  const lines = troubles.slice(0, SHOWN).map(({ namespace, name, failure: { code, message } }) => {
    const line = shortLine(`RunnerGroup ${namespace}/${name} is left as it is: ${message.replaceAll('\n', ' ')}`);
    return `warning: ${code} ${line}`;
  });
  const more = troubles.length - lines.length;
  return more > 0 ? [...lines, `warning: ${count(more, 'other RunnerGroup')} left as they are`] : lines;
}

/**
 * Fields that need sight of the Jobs in the cluster, whether a group has them, and the verb.
 *
 * `priorityTiers`: a runner keeps the PriorityClass that its Job was created with, and only Kubernetes knows it (docs/adr/0034).
 * `sizes` and `limits`: only Kubernetes knows what runners are starting, and what size they are of (docs/adr/0072).
 * `registration`: only a Job that lives says whether `serve` registers its runner, and where (docs/adr/0083).
 * `keepFailedSeconds`: only Kubernetes knows whether the pod waits, and until when somebody wants it to (docs/adr/0037).
 */
const NEED_SIGHT: readonly (readonly [string, string, (group: RunnerGroup) => boolean])[] = [
  ['priorityTiers', 'need', ({ priorityTiers }) => priorityTiers.length > 0],
  ['keepFailedSeconds', 'needs', ({ keepFailedSeconds }) => keepFailedSeconds > 0],
  ['sizes', 'need', ({ sizes }) => sizes.length > 0],
  ['limits', 'need', ({ limits }) => limits.length > 0],
  ['registration by serve', 'needs', ({ registration }) => registration.by === 'serve'],
];

/** For groups whose Jobs nobody has seen. @throws Failure exit 2: one has a field that needs sight of them */
export function refuseUnseen(groups: readonly RunnerGroup[]): void {
  for (const [field, verb, isSet] of NEED_SIGHT) {
    const group = groups.find(isSet);
    if (!group) continue;
    const { file, line } = group.place;
    throw new Failure(
      'GR-INPUT-92',
      2,
      `${file}:${line}: RunnerGroup ${keyText(group)} has ${field}, which ${verb} sight of its Jobs in the cluster, and no ` +
        `cluster was looked at. Mount the service account token of gitea-runners or name a kubeconfig, do not use --cluster off, or remove ${field}.`,
    );
  }
}
