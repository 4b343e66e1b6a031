/**
 * A RunnerGroup with a known name that cannot be served. Its runners are kept while others are planned (docs/adr/0081).
 * Its object is printed with a spec that says nothing, and an annotation with the problem: the API server would refuse
 * the wrong spec, and Argo CD would then apply no other object of that sync.
 */
import type { Failure } from '../../shared/failure.ts';
import type { Texts } from '../../shared/marks.ts';
import { API_VERSION, KIND, SHARDS } from '../../shared/marks.ts';
import { cut, firstLines } from '../../shared/printable.ts';
import { Metadata } from './group-schema.ts';
import { isMapping } from './paths.ts';
import { formatProblem, type Problem } from './problems.ts';
import type { FilePlace, RunnerGroup } from './runner-group.ts';
import { DENIED } from './status.ts';

export interface BrokenGroup {
  readonly namespace: string;
  readonly name: string;
  readonly place: FilePlace;
  /** Labels and annotations as they are written. Only annotations that a RunnerGroup may have. */
  readonly labels?: Texts | undefined;
  readonly annotations?: Texts | undefined;
  /** At least one problem, or `failure`. */
  readonly problems: readonly Problem[];
  readonly failure?: Failure;
  /** Present if its spec is valid, but refused. Then its object may be printed as written: `serve` refuses it, too. */
  readonly group?: RunnerGroup;
}

/** Annotation with the problem of such an object. `serve` and the health script show it. */
export const PROBLEM = 'gitea.bpg.pw/problem';

/** Annotation beside it if the group is refused, and nothing is wrong with its spec: `PolicyDenied`. */
export const PROBLEM_REASON = 'gitea.bpg.pw/problem-reason';

/** Problems that the annotation names; `validate` names all. */
const SHOWN = 3;
const LONGEST = 1_000;

/** A problem at such a path leaves the group unknown. Other metadata does not: `brokenGroup` drops it. */
const OF_IDENTITY =
  /^(?:items\[\d+\]\.)?metadata(?!\.finalizers|\.ownerReferences|\.annotations\["(?:argocd|gitea|helm)\.)/;

/** Annotations that only this program writes, and into the cluster only. */
export const OWN_ANNOTATIONS: readonly string[] = [PROBLEM, PROBLEM_REASON, SHARDS];

/** Annotations by which Argo CD changes how and when it applies an object. It obeys those of Helm, too. */
const OF_SYNCS = /^(?:argocd\.argoproj\.io\/(?:hook|sync-)|helm\.sh\/)/;

/** True for an annotation that no file of a group may have. */
export function isForbiddenAnnotation(key: string): boolean {
  return OWN_ANNOTATIONS.includes(key) || OF_SYNCS.test(key);
}

/** Returns the group with these problems. Undefined if its metadata is wrong: nobody knows which group it is. */
export function brokenGroup(
  value: unknown,
  place: FilePlace,
  defaultNamespace: string,
  problems: readonly Problem[],
): BrokenGroup | undefined {
  const metadata = Metadata.safeParse(isMapping(value) ? value['metadata'] : undefined);
  if (!metadata.success || problems.some(({ path }) => OF_IDENTITY.test(path))) return undefined;
  const { name, namespace = defaultNamespace, labels, annotations: annotationTexts } = metadata.data;
  const allowed = Object.entries(annotationTexts ?? {}).filter(([key]) => !isForbiddenAnnotation(key));
  const annotations = annotationTexts && Object.fromEntries(allowed);
  return { namespace, name, place, labels, annotations, problems };
}

/** Smallest spec that the CRD admits. Its address does not exist. */
export const SILENT_SPEC = {
  authToken: { key: 'none', name: 'none' },
  gitea: { url: 'https://gitea.invalid' },
  maxActiveRunners: 0,
  registrationToken: { key: 'registration', name: 'none' },
  scope: 'global',
  suspend: true,
};

/** The object that is printed in place of such a group. */
export function standIn({ namespace, name, labels, annotations, problems, failure }: BrokenGroup) {
  const metadata = {
    annotations: {
      ...annotations,
      [PROBLEM]: failure
        ? cut(`${failure.code} ${failure.message.replaceAll('\n', ' ')}`, LONGEST)
        : problemText(problems),
      ...(failure && { [PROBLEM_REASON]: DENIED }),
    },
    ...(labels && { labels }),
    name,
    namespace,
  };
  return { apiVersion: API_VERSION, kind: KIND, metadata, spec: SILENT_SPEC };
}

/** Returns the first problems in one line, for the annotation. */
export function problemText(problems: readonly Problem[]): string {
  return cut(firstLines(problems.map(formatProblem), SHOWN, 'gitea-runners validate').join('; '), LONGEST);
}

export type Faults = Pick<BrokenGroup, 'problems' | 'failure'>;

export function problemsOf(broken: readonly Faults[]): readonly Problem[] {
  return broken.flatMap(({ problems }) => problems);
}
