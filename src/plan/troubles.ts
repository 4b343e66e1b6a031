/** Groups that cannot be planned while others can: their Jobs are kept, and it is said why (docs/adr/0036). */
import { type BrokenGroup, brokenGroup, type Faults, problemsOf, problemText } from '../config/runnergroup/broken.ts';
import { InputProblems } from '../config/runnergroup/problems.ts';
import type { RunnerGroup } from '../config/runnergroup/runner-group.ts';
import { Failure, joinFailures } from '../shared/failure.ts';
import { keyText } from '../shared/keys.ts';
import { count, shortLine } from '../shared/printable.ts';
import type { Pods } from './group-pods.ts';

export type Trouble = Readonly<{ namespace: string; name: string; failure: Failure }>;

/** True when it is this group's alone: its Gitea, its token, or that it is refused. An API server that does not answer stops all. */
export function isOwnTrouble({ exit, kind }: Failure): boolean {
  return exit === 3 || (exit === 1 && kind !== 'cluster' && kind !== 'cluster-forbidden');
}

export function troubleOfBroken({ namespace, name, problems, failure }: BrokenGroup): Trouble {
  const code = problems[0]?.code ?? 'GR-INPUT-05';
  return { namespace, name, failure: failure ?? new Failure(code, 2, problemText(problems)) };
}

/** Ends the run if each trouble concerns the whole run. @throws Failure if there is one */
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

/** Returns one line per group for the administrator. */
export function troubleLines(troubles: readonly Trouble[]): readonly string[] {
  const lines = troubles.slice(0, SHOWN).map(({ namespace, name, failure: { code, message } }) => {
    const line = shortLine(`RunnerGroup ${namespace}/${name} is left as it is: ${message.replaceAll('\n', ' ')}`);
    return `warning: ${code} ${line}`;
  });
  const hiddenCount = troubles.length - lines.length;
  return hiddenCount > 0 ? [...lines, `warning: ${count(hiddenCount, 'other RunnerGroup')} left as they are`] : lines;
}

/**
 * Fields that need sight of the Jobs in the cluster, whether a group has them, and the verb.
 *
 * `priorityTiers`: a runner keeps the PriorityClass that its Job was created with, and only Kubernetes knows it (docs/adr/0034).
 * `sizes` and `limits`: only Kubernetes knows what runners are starting, and what size they are of (docs/adr/0072).
 * `queue`: only Kubernetes knows whether a Job still waits, or Kueue has let it start (docs/adr/0100).
 * `registration`: only a Job that lives says whether `serve` registers its runner, and where (docs/adr/0083).
 * `keepFailedSeconds`: only Kubernetes knows whether the pod waits, and until when somebody wants it to (docs/adr/0037).
 */
const NEED_SIGHT: readonly (readonly [string, string, (group: RunnerGroup) => boolean])[] = [
  ['priorityTiers', 'need', ({ priorityTiers }) => priorityTiers.length > 0],
  ['keepFailedSeconds', 'needs', ({ keepFailedSeconds }) => keepFailedSeconds > 0],
  ['sizes', 'need', ({ sizes }) => sizes.length > 0],
  ['limits', 'need', ({ limits }) => limits.length > 0],
  ['queue', 'needs', ({ queue }) => queue !== undefined],
  ['registration by serve', 'needs', ({ registration }) => registration.by === 'serve'],
];

/** Checks groups whose Jobs nobody has seen. @throws Failure exit 2 if one has a field that requires them */
export function refuseUnseen(groups: readonly RunnerGroup[]): void {
  for (const [field, verb, isSet] of NEED_SIGHT) {
    const group = groups.find(isSet);
    if (!group) continue;
    const subject = `${group.place.file}:${group.place.line}: RunnerGroup ${keyText(group)} has ${field}`;
    const why = `which ${verb} sight of its Jobs in the cluster, and no cluster was looked at`;
    const remedy = `Mount the service account token of gitea-runners or name a kubeconfig, do not use --cluster off, or remove ${field}`;
    throw new Failure('GR-INPUT-92', 2, `${subject}, ${why}. ${remedy}.`);
  }
}
