/**
 * Refuses without any policy what the owner of the cluster decides, and not the authors of this repository:
 * - a group outside the destination namespace of its Application: it would use another team's Secrets and rights;
 * - a document that would start other pods (docs/adr/0024);
 * - a pod with a service account (an identity in the cluster), a priority class (it pushes others off their node) or
 *   privileges (it owns its node).
 */
import { Failure, joinFailures } from '../../shared/failure.ts';
import { groupBy } from '../../shared/keys.ts';
import { firstNames } from '../../shared/printable.ts';
import type { Asked } from '../pods/asks.ts';
import type { FieldPath, Mapping } from '../pods/pod-schema.ts';
import { type PassThrough, skippedTexts } from '../runnergroup/read.ts';
import type { FilePlace, RunnerGroup } from '../runnergroup/runner-group.ts';
import { baseOf, withSizes, writtenPath } from '../runnergroup/sizes.ts';
import type { Refusals } from './denial.ts';

function refusal(code: string, message: string): Failure {
  return new Failure(code, 3, message, 'policy');
}

const MOST_NAMED = 5;

/** Setting of the sidecar that lets workloads through. */
export const PASS_WORKLOADS = 'GITEA_RUNNERS_PASS_WORKLOADS';

/** Characters at which YAML readers disagree: line breaks of YAML 1.1, `---` before odd spaces, a byte order mark. */
const HIDING = /\r(?!\n)|[\u0085\u2028\u2029\ufeff]|^---/m;

/** Returns the documents that are not passed on. `workload`: the kind that starts pods. Absent: a part is hidden. */
export function refusedDocuments(documents: readonly PassThrough[]) {
  return documents.flatMap(({ place, text, objects }): readonly { place: FilePlace; workload?: string }[] => {
    if (HIDING.test(text)) return [{ place }];
    const workload = objects.findLast(({ startsPods }) => startsPods);
    return workload ? [{ place, workload: String(workload.kind) }] : [];
  });
}

/**
 * Returns the printed documents, and a warning if some are left out. Of one that would start pods,
 * only the names of its objects are printed: Argo CD then does not create, change or prune them (docs/adr/0020).
 * @throws Failure exit 3: the content of a document is not clear
 */
export function withoutWorkloads(documents: readonly PassThrough[]) {
  const hiding = 'with a line break, "---" or byte order mark that YAML readers disagree about';
  const refused = new Map(refusedDocuments(documents).map(({ place, workload = hiding }) => [place, workload]));
  if (refused.size === 0) return { printed: documents };
  const documentTexts = [...refused].map(([{ file, line }, what]) => `${file}:${line} (${what})`);
  const placeText = `the documents at ${firstNames(documentTexts, MOST_NAMED)}`;
  const why = `only RunnerGroups start pods here. Remove them, or let an Application without this plugin deploy them. To let workloads through, set ${PASS_WORKLOADS}=true for gitea-runners.`;
  if ([...refused.values()].includes(hiding)) throw refusal('GR-POLICY-02', `pass on ${placeText}: ${why}`);
  const printed = documents.flatMap((each) =>
    (refused.has(each.place) ? skippedTexts(each.objects) : [each.text]).map((text) => ({ text })),
  );
  return { printed, warning: `warning: GR-POLICY-02 not deployed: ${placeText}, because ${why}` };
}

const REFUSED: ReadonlySet<Asked['kind']> = new Set(['serviceAccount', 'priorityClass']);

/** Everything that groups ask for and that only a policy can allow, with its path from the document's root. */
export async function askedWithoutPolicy(groups: readonly RunnerGroup[]) {
  const withOwn = groups.flatMap(withSizes).filter(({ podTemplate }) => podTemplate !== undefined);
  if (withOwn.length === 0) return [];
  const { asksOf } = await import('../pods/asks.ts');
  return withOwn.flatMap((group) => {
    // The parsed template has only JSON values.
    const refusedAsks = asksOf(group.podTemplate as Mapping).filter(({ kind }) => REFUSED.has(kind));
    const paths: FieldPath[] = refusedAsks.map(({ path }) => ['spec', 'podTemplate', ...path]);
    if (group.securityProfile === 'privileged') paths.push(['spec', 'securityProfile']);
    return paths.map((path) => ({ group: baseOf(group), path: writtenPath(group, path) }));
  });
}

/** Refuses groups without a policy. @param destination ARGOCD_APP_NAMESPACE; undefined: any namespace will do */
export async function refusalsByDefault(groups: readonly RunnerGroup[], destination?: string): Promise<Refusals> {
  const asksOfGroup = groupBy(await askedWithoutPolicy(groups), ({ group }) => group);
  const refusals = groups.flatMap((group): readonly (readonly [RunnerGroup, Failure])[] => {
    const paths = asksOfGroup.get(group)?.map(({ path }) => path);
    if (destination !== undefined && group.namespace !== destination)
      return [[group, foreignNamespace(group, destination)]];
    return paths ? [[group, onlyByPolicy(group, paths)]] : [];
  });
  const [first, ...otherFailures] = refusals.map(([, failure]) => failure);
  return { byGroup: new Map(refusals), whole: first && joinFailures([first, ...otherFailures]) };
}

function foreignNamespace({ namespace, name, place }: RunnerGroup, destination: string): Failure {
  const group = `RunnerGroup ${namespace}/${name} (${place.file}:${place.line})`;
  const why = `the destination namespace of the Application is ${destination}, and its RunnerGroups live there`;
  const advice = `Remove metadata.namespace or set it to ${destination}. For another namespace, make another Application.`;
  return refusal('GR-POLICY-01', `serve ${group}: ${why}. ${advice}`);
}

function onlyByPolicy({ namespace, name, place }: RunnerGroup, paths: readonly FieldPath[]): Failure {
  const fieldTexts = paths.map((path) => {
    const value = path.at(-1) === 'securityProfile' ? ': privileged' : '';
    return `${path.join('.')}${value} (${namespace}/${name}, ${place.file}:${place.line})`;
  });
  const why =
    'only a policy can allow that, and there is none. Remove these fields, or ask for a policy that allows them.';
  return refusal('GR-POLICY-03', `start pods with ${firstNames(fieldTexts, MOST_NAMED)}: ${why}`);
}
