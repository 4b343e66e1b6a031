/**
 * What a podTemplate may not ask for while no policy says otherwise. A service account is an identity in the cluster. A priority class
 * lets a pod push others off their node. A privileged pod owns its node. So the owner of the cluster decides, not who commits here.
 */
import { Failure } from '../../shared/failure.ts';
import { firstNames } from '../../shared/printable.ts';
import type { Asked } from '../pods/asks.ts';
import type { FieldPath, Mapping } from '../pods/value.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';

/** Fields that the message names; the others are counted. */
const MOST_NAMED = 5;
const REFUSED: ReadonlySet<Asked['kind']> = new Set(['serviceAccount', 'priorityClass']);

/** A field that only a policy can allow. */
export interface AskedWithoutPolicy {
  readonly group: RunnerGroup;
  /** From the document's root. */
  readonly path: FieldPath;
}

/** Everything that groups ask for and that only a policy can allow. */
export async function askedWithoutPolicy(groups: readonly RunnerGroup[]): Promise<readonly AskedWithoutPolicy[]> {
  if (groups.every(({ podTemplate }) => podTemplate === undefined)) return [];
  const { asksOf } = await import('../pods/asks.ts');
  return groups.flatMap((group) => {
    if (group.podTemplate === undefined) return [];
    // What the reader read is what JSON can say.
    const asked = asksOf(group.podTemplate as Mapping).filter(({ kind }) => REFUSED.has(kind));
    const paths: FieldPath[] = asked.map(({ path }) => ['spec', 'podTemplate', ...path]);
    if (group.securityProfile === 'privileged') paths.push(['spec', 'securityProfile']);
    return paths.map((path) => ({ group, path }));
  });
}

/** @throws Failure exit 3: a group asks for what only a policy can allow. */
export async function refuseByDefault(groups: readonly RunnerGroup[]): Promise<void> {
  const found = (await askedWithoutPolicy(groups)).map(({ group, path }) => {
    const field = path.at(-1) === 'securityProfile' ? `${path.join('.')}: privileged` : path.join('.');
    return `${field} (${group.namespace}/${group.name}, ${group.place.file}:${group.place.line})`;
  });
  if (found.length === 0) return;
  throw new Failure(
    'GR-POLICY-03',
    3,
    `start pods with ${firstNames(found, MOST_NAMED)}: only a policy can allow that, and there is none. Remove these fields.`,
    'policy',
  );
}
