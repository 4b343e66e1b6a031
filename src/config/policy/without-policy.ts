/**
 * What is refused also without a policy:
 * - a group outside the destination namespace of its Application: it would run with Secrets and cluster rights of another team;
 * - a document that would start pods (docs/adr/0024): who commits RunnerGroups could run any pod where only runners should be;
 * - a pod with a service account (an identity in the cluster), a priority class (it pushes others off their node) or privileges (it owns
 *   its node): the owner of the cluster decides, not who commits here.
 */
import { Failure } from '../../shared/failure.ts';
import { firstNames } from '../../shared/printable.ts';
import type { Asked } from '../pods/asks.ts';
import type { FieldPath, Mapping } from '../pods/schema.ts';
import type { PassThrough } from '../runnergroup/read.ts';
import type { FilePlace, RunnerGroup } from '../runnergroup/runner-group.ts';
import { baseOf, withSizes, writtenPath } from '../runnergroup/sizes.ts';

function refusal(code: string, message: string): Failure {
  return new Failure(code, 3, message, 'policy');
}

/** What a message names; the others are counted. */
const MOST_NAMED = 5;

/** @param destination Argo CD's `ARGOCD_APP_NAMESPACE`; without it nothing is refused. @throws Failure exit 3: a group names another namespace. */
export function refuseForeignNamespaces(groups: readonly RunnerGroup[], destination: string | undefined): void {
  if (destination === undefined || destination === '') return;
  const foreign = groups.filter(({ namespace }) => namespace !== destination);
  if (foreign.length === 0) return;
  const named = foreign.map(({ namespace, name, place }) => `${namespace}/${name} (${place.file}:${place.line})`);
  throw refusal(
    'GR-POLICY-01',
    `serve RunnerGroup ${firstNames(named, MOST_NAMED)}: the destination namespace of the Application is ${destination}, and its RunnerGroups ` +
      `live there. Remove metadata.namespace or set it to ${destination}. For another namespace, make another Application.`,
  );
}

/** Setting of the sidecar that lets workloads through. */
export const PASS_WORKLOADS = 'GITEA_RUNNERS_PASS_WORKLOADS';

/** Kinds that start pods or hold a template for them, of any API group: other groups have a Job or Deployment of the same nature. */
const WORKLOADS: ReadonlySet<string> = new Set([
  'CronJob',
  'DaemonSet',
  'Deployment',
  'Job',
  'Pod',
  'PodTemplate',
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
]);
/**
 * What Argo CD's reader divides otherwise than ours. Line breaks of YAML 1.1: what follows one is a comment here and a field there. And
 * `---` at the start of a line, which ends a document there even when other than ASCII spaces follow. And a byte order mark: before a
 * key it is a part of the key here, and nothing there.
 */
const HIDING = /\r(?!\n)|[\u0085\u2028\u2029\ufeff]|^---/m;

interface RefusedDocument {
  readonly place: FilePlace;
  /** Its kind, if that is the reason. Absent: it hides a part of itself from some readers. */
  readonly workload?: string;
}

/** Those that `refuseWorkloads` refuses. */
export function refusedDocuments(documents: readonly PassThrough[]): readonly RefusedDocument[] {
  return documents.flatMap(({ place, text, kinds }) => {
    if (HIDING.test(text)) return [{ place }];
    const workload = [...kinds].find((kind) => WORKLOADS.has(kind));
    return workload === undefined ? [] : [{ place, workload }];
  });
}

/** @throws Failure exit 3: a document would start pods, or hides a part of itself from some readers. */
export function refuseWorkloads(documents: readonly PassThrough[]): void {
  const hiding = 'with a line break, "---" or byte order mark that YAML readers disagree about';
  const found = refusedDocuments(documents).map(
    ({ place, workload = hiding }) => `${place.file}:${place.line} (${workload})`,
  );
  if (found.length === 0) return;
  throw refusal(
    'GR-POLICY-02',
    `pass on the documents at ${firstNames(found, MOST_NAMED)}: only RunnerGroups start pods here. Remove them, or let ` +
      `an Application without this plugin deploy them. To let workloads through, set ${PASS_WORKLOADS}=true for gitea-runners.`,
  );
}

const REFUSED: ReadonlySet<Asked['kind']> = new Set(['serviceAccount', 'priorityClass']);

/** Everything that groups ask for and that only a policy can allow, with its path from the document's root. */
export async function askedWithoutPolicy(groups: readonly RunnerGroup[]) {
  const withOwn = groups.flatMap(withSizes).filter(({ podTemplate }) => podTemplate !== undefined);
  if (withOwn.length === 0) return [];
  const { asksOf } = await import('../pods/asks.ts');
  return withOwn.flatMap((group) => {
    // What the reader read is what JSON can say.
    const asked = asksOf(group.podTemplate as Mapping).filter(({ kind }) => REFUSED.has(kind));
    const paths: FieldPath[] = asked.map(({ path }) => ['spec', 'podTemplate', ...path]);
    if (group.securityProfile === 'privileged') paths.push(['spec', 'securityProfile']);
    return paths.map((path) => ({ group: baseOf(group), path: writtenPath(group, path) }));
  });
}

/** @throws Failure exit 3: a group asks for what only a policy can allow. */
export async function refuseByDefault(groups: readonly RunnerGroup[]): Promise<void> {
  const found = (await askedWithoutPolicy(groups)).map(({ group, path }) => {
    const field = path.at(-1) === 'securityProfile' ? `${path.join('.')}: privileged` : path.join('.');
    return `${field} (${group.namespace}/${group.name}, ${group.place.file}:${group.place.line})`;
  });
  if (found.length === 0) return;
  throw refusal(
    'GR-POLICY-03',
    `start pods with ${firstNames(found, MOST_NAMED)}: only a policy can allow that, and there is none. Remove these fields.`,
  );
}
