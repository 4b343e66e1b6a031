/** Converts a document with a RunnerGroup to its normal form, or returns all its faults. */
import * as z from 'zod';
import { isForbiddenAnnotation, OWN_ANNOTATIONS, SILENT_SPEC } from './broken.ts';
import type { Path, SourceDocument } from './documents.ts';
import {
  type FieldProblem,
  MOST_FIELD_PROBLEMS,
  placeholdersIn,
  problemsOfIssue,
  type Surroundings,
} from './field-problem.ts';
import { applyRules, type Draft } from './group-rules.ts';
import {
  DEFAULT_IMAGES,
  Metadata,
  OF_THE_SERVER,
  RunnerGroupDocument,
  Spec,
  type WrittenSpec,
} from './group-schema.ts';
import { isMapping, pathText, valueAt } from './paths.ts';
import type { Problem } from './problems.ts';
import {
  type Images,
  type Platform,
  POD_FIELDS,
  type RunnerGroup,
  SPELLINGS,
  type SpellingField,
} from './runner-group.ts';
import { imageInTemplate } from './sizes.ts';

export interface SourceObject {
  readonly document: Pick<SourceDocument, 'placeOf' | 'writtenAt'>;
  /** Path of the object from the document's root: empty, or `items[n]` in a List. */
  readonly base: Path;
  readonly value: unknown;
}

interface NoRunnerGroup {
  readonly problems: readonly Problem[];
  /** Paths of the problems in the object, and of the fields that misspelled ones probably mean. */
  readonly wrong: readonly Path[];
}

/** The default comes from Argo CD's environment, and it becomes a part of file paths. */
const NO_NAMESPACE = 'has no namespace, and ARGOCD_APP_NAMESPACE is none: add "namespace: …"';

const OF_OURS = 'is written by gitea-runners into the cluster only: remove it';

const NO_FINALIZERS = 'would keep Argo CD from deleting the group, and every later sync would wait for that: remove it';
const NO_OWNER = 'would have Kubernetes delete the group again and again, if there is no such owner: remove it';
const NO_HOOK = 'would make every sync of the Application wait, for this group or for its prune: remove it';

/** Returns the policy's values for a group without its own: the spec as if they stood there, and its images. */
export type GroupDefaults = (group: RunnerGroup) => { readonly spec: object; readonly images: Images | undefined };

/** Reads one RunnerGroup. `defaultNamespace`: for groups that name none. `manifest` stays as it is written. */
export function toRunnerGroup(
  source: SourceObject,
  defaultNamespace: string,
  defaults?: GroupDefaults,
): { readonly group: RunnerGroup } | NoRunnerGroup {
  const writtenGroup = readWritten(source, defaultNamespace);
  if (!defaults || !('group' in writtenGroup)) return writtenGroup;
  const { manifest } = writtenGroup.group;
  const { spec, images } = defaults(writtenGroup.group);
  const full = readWritten({ ...source, value: { ...(source.value as object), spec } }, defaultNamespace);
  if ('group' in full) return { group: withImages({ ...full.group, manifest, ...(images && { images }) }, {}) };
  const told = (text: string) => `${text} (with the defaults of the policy)`;
  return { ...full, problems: full.problems.map(({ message, ...where }) => ({ ...where, message: told(message) })) };
}

function readWritten(source: SourceObject, defaultNamespace: string): { readonly group: RunnerGroup } | NoRunnerGroup {
  const { document, base, value } = source;
  const around: Surroundings = {
    schema: RunnerGroupDocument,
    value,
    writtenAt: (path) => document.writtenAt([...base, ...path]),
  };
  const parsed = RunnerGroupDocument.safeParse(value);
  const problems = [
    ...strayTexts(value),
    ...forbiddenMetadata(value),
    ...(parsed.error?.issues ?? []).slice(0, MOST_FIELD_PROBLEMS).flatMap((issue) => problemsOfIssue(issue, around)),
  ];
  const hasNone = (valueAt(value, ['metadata', 'namespace']) ?? undefined) === undefined;
  if (hasNone && !Metadata.shape.namespace.safeParse(defaultNamespace).success) {
    problems.push({ path: ['metadata'], message: NO_NAMESPACE, code: 'GR-INPUT-05' });
  }
  const ruled = isMapping(valueAt(value, ['spec'])) ? applyRules(draftOf(value, parsed, problems)) : undefined;
  problems.push(...(ruled?.problems ?? []));
  if (problems.length > 0 || !parsed.success || !ruled) {
    return {
      problems: withoutRepeats(problems)
        .slice(0, MOST_FIELD_PROBLEMS)
        .map(({ path, message, code }) => {
          const full = [...base, ...path];
          return { place: document.placeOf(full), path: pathText(full), message, code };
        }),
      wrong: problems.flatMap(({ path, meant = [] }) => [path, meant]),
    };
  }
  const { metadata, spec } = parsed.data;
  const { name, namespace = defaultNamespace } = metadata;
  const own = { place: document.placeOf(base), namespace, name, manifest: manifestOf(value) };
  return { group: { ...sameFields(spec), ...ruled.normal, ...own } };
}

/** The fields that are in the model as they were written. `NormalFields` take the place of the others. */
function sameFields(spec: WrittenSpec): Omit<WrittenSpec, SpellingField> {
  const commonFields = Object.entries(spec).filter(([name]) => !(SPELLINGS as readonly string[]).includes(name));
  return Object.fromEntries(commonFields) as Omit<WrittenSpec, SpellingField>;
}

/** Finds metadata that would stop or delay every sync of the group's Application (ADR 58), or that is ours (law V214). */
function forbiddenMetadata(value: unknown): readonly FieldProblem[] {
  const metadata = valueAt(value, ['metadata']);
  if (!isMapping(metadata)) return [];
  const { annotations, finalizers, ownerReferences } = metadata;
  const isSet = (list: unknown = []) => list !== null && !(Array.isArray(list) && list.length === 0);
  const notes = isMapping(annotations) ? Object.keys(annotations).filter(isForbiddenAnnotation) : [];
  return [
    ...(isSet(finalizers) ? [{ path: ['finalizers'], message: NO_FINALIZERS }] : []),
    ...(isSet(ownerReferences) ? [{ path: ['ownerReferences'], message: NO_OWNER }] : []),
    ...notes.map((key) => ({ path: ['annotations', key], message: OWN_ANNOTATIONS.includes(key) ? OF_OURS : NO_HOOK })),
  ].map(({ path, message }) => ({ path: ['metadata', ...path], message, code: 'GR-INPUT-05' }));
}

type Parsed = ReturnType<typeof RunnerGroupDocument.safeParse>;

/** Returns the fields of the spec that have no problem of their own, even if others have one. */
function draftOf(value: unknown, parsed: Parsed, problems: readonly FieldProblem[]): Draft {
  const unclear = (...path: Path) => {
    const full = ['spec', ...path];
    return problems.some((problem) => startsWith(problem.path, full) || startsWith(problem.meant ?? [], full));
  };
  const nameResult = Metadata.shape.name.safeParse(valueAt(value, ['metadata', 'name']));
  const groupName = nameResult.success ? nameResult.data : undefined;
  if (parsed.success) return { spec: parsed.data.spec, groupName, unclear };
  const good = Object.entries(Spec.shape).flatMap(([name, field]): [string, unknown][] => {
    const result = z.safeParse(field, valueAt(value, ['spec', name]));
    return result.success && result.data !== undefined ? [[name, result.data]] : [];
  });
  return { spec: Object.fromEntries(good), groupName, unclear };
}

/** Finds keys `__proto__`, which would vanish in a copy, and placeholders. Searches an aliased object once. */
function strayTexts(value: unknown): readonly FieldProblem[] {
  const visited = new Set<object>();
  const search = (inner: unknown, path: Path): readonly FieldProblem[] => {
    if (typeof inner === 'string') return placeholdersIn(inner, path);
    if (typeof inner !== 'object' || inner === null || visited.has(inner)) return [];
    visited.add(inner);
    if (Array.isArray(inner)) return inner.flatMap((item, index) => search(item, [...path, index]));
    return Object.entries(inner).flatMap(([key, item]): readonly FieldProblem[] =>
      key === '__proto__'
        ? [{ path: [...path, key], message: 'unknown field: remove it', code: 'GR-INPUT-04' }]
        : search(item, [...path, key]),
    );
  };
  return search(value, []);
}

function startsWith(path: Path, start: Path): boolean {
  return start.every((step, index) => path[index] === step);
}

/** Removes repeated problems: a field is told once, and none is missing whose misspelled name was found. */
function withoutRepeats(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  const paths = new Set<string>();
  const meant = new Set(problems.map(({ meant }) => JSON.stringify(meant)));
  return problems.filter(({ path, message, missing, together }) => {
    const pathKey = JSON.stringify(path);
    const key = together ? pathKey + message : pathKey;
    if (paths.has(key) || (missing && meant.has(pathKey))) return false;
    paths.add(key);
    return true;
  });
}

function manifestOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isMapping(value)) return {};
  const { status: _status, metadata, spec, ...otherFields } = value;
  const { generateName: _generateName, ...metadataFields } = isMapping(metadata) ? metadata : {};
  const kept = Object.entries(metadataFields).filter(([name]) => !OF_THE_SERVER.has(name));
  return { ...otherFields, metadata: Object.fromEntries(kept), spec };
}

/** A group with this one's pod, to check it despite mistakes elsewhere. Undefined: what decides about the pod is wrong. */
export function podOnly({ document, base, value }: SourceObject, { wrong }: NoRunnerGroup, name: string) {
  const spec = valueAt(value, ['spec']);
  if (!isMapping(value) || !isMapping(spec)) return undefined;
  // A misspelled field is as wrong as the intended one: its default may not be the wanted value.
  const bad = new Set(wrong.map(([root, field]) => (root === 'spec' ? field : undefined)));
  const deciding = ['podTemplate', 'securityProfile', 'containerMode'];
  if (deciding.some((field) => bad.has(field))) return undefined;
  const kept = [...deciding, ...POD_FIELDS].filter((field) => Object.hasOwn(spec, field) && !bad.has(field));
  const { data: namespace = 'default' } = Metadata.shape.namespace.safeParse(valueAt(value, ['metadata', 'namespace']));
  const metadata = { name, namespace };
  // A spec without any label would be wrong.
  const silent = { ...SILENT_SPEC, groupLabel: true, ...Object.fromEntries(kept.map((field) => [field, spec[field]])) };
  const { apiVersion, kind } = value;
  const result = toRunnerGroup({ document, base, value: { apiVersion, kind, metadata, spec: silent } }, 'default');
  return 'group' in result ? result.group : undefined;
}

/** Values that an installation sets for the pods of all groups. */
export interface InstallationPods extends Images {
  readonly platform?: Platform | undefined;
}

/** The group with its policy's images, else the installation's, and its app. The same object if nothing changes. */
export function withImages(group: RunnerGroup, installation: InstallationPods): RunnerGroup {
  const { runner, rootless, docker, buildkit, platform } = { ...installation, ...group.images };
  const isNamed = valueAt(group.manifest, ['spec', 'image']) !== undefined || imageInTemplate(group.podTemplate);
  const ofMode = DEFAULT_IMAGES[group.containerMode] === DEFAULT_IMAGES.host ? runner : rootless;
  const images = {
    ...(!isNamed && ofMode !== undefined && { image: ofMode }),
    ...(group.containerMode === 'dind' && docker !== undefined && { dockerImage: docker }),
    ...(group.containerMode === 'buildkit' && buildkit !== undefined && { buildkitImage: buildkit }),
    ...(platform && { platform }),
  };
  return Object.keys(images).length === 0 ? group : { ...group, ...images };
}
