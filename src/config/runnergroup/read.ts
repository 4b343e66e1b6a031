/**
 * From PATHs to RunnerGroups and everything else that was in the same files.
 *
 *     group-files.ts ─► plain-yaml.ts ─► RunnerGroups, all good? ─ yes ─► groups
 *                                      │ no, or not plain
 *                                      ▼
 *                 documents.ts ─► what is it? ─┬─ RunnerGroup ─► group-schema.ts, group-rules.ts ─► groups
 *                                              ├─ other kind  ─► passes through
 *                                              ├─ no manifest ─► skipped, and named
 *                                              └─ neither     ─► problem
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { groupBy, keyText } from '../../shared/keys.ts';
import { API_GROUP, API_VERSION, HOOK, KIND, SKIP } from '../../shared/marks.ts';
import { jsonText } from '../../shared/printable.ts';
import { type BrokenGroup, brokenGroup, problemsOf } from './broken.ts';
import { Budget, MOST_PROBLEMS } from './budget.ts';
import type { Read, SourceDocument } from './documents.ts';
import { fileProblem, readFiles, type Where } from './group-files.ts';
import { isMapping, valueAt } from './paths.ts';
import { readPlainYaml } from './plain-yaml.ts';
import { InputProblems, type Problem, quoted } from './problems.ts';
import type { FilePlace, RunnerGroup, SourceFile } from './runner-group.ts';
import { type GroupDefaults, podOnly, type SourceObject, toRunnerGroup } from './to-runner-group.ts';
import { nearestName } from './words.ts';
import { startsPods } from './workloads.ts';

interface NamedObject extends Readonly<Record<'apiVersion' | 'kind' | 'name' | 'namespace', unknown>> {
  readonly startsPods: boolean;
}

/** A document of another kind. */
export interface PassThrough {
  readonly place: FilePlace;
  /** The document's own text without `---`, valid as one document of a YAML stream. */
  readonly text: string;
  /** The document's object and all objects below `items`, in place of the parsed document, which is large. */
  readonly objects: readonly NamedObject[];
}

/** Selects the files. Has the namespace and the defaults for groups without their own. */
export interface ReadOptions extends Where {
  readonly defaultNamespace: string;
  readonly defaults?: GroupDefaults | undefined;
  /** True if a wrong group or file does not stop the reading. `ReadResult.broken` and `hidden` report it. */
  readonly isolate?: boolean;
}

export interface ReadResult {
  readonly groups: readonly RunnerGroup[];
  readonly others: readonly PassThrough[];
  /** Groups with problems. Only with `isolate`. */
  readonly broken: readonly BrokenGroup[];
  /** Problems of files that hold RunnerGroups alone, if it is not known how many and which. Only with `isolate`. */
  readonly hidden: readonly Problem[];
  readonly files: number;
  /** Files that hold no manifests, and documents that are no manifests (`file:line`). Each caller must print their names. */
  readonly skipped: readonly string[];
  /** Files with groups, by name. Later findings about a group get their place from them (placed.ts). */
  readonly sources: ReadonlyMap<string, SourceFile>;
}

/** Reads all RunnerGroups. @throws InputProblems (exit 2) with the problems of all files, at most `MOST_PROBLEMS`. */
export async function readRunnerGroups(options: ReadOptions): Promise<ReadResult> {
  const { files, problems: unread, skipped: skippedFiles } = readFiles(options);
  if (files.reduce((sum, { text }) => sum + text.length, 0) > LARGE_INPUT) saveMemory();
  const reader = new GroupReader(options, unread);
  for (const file of files) {
    if (reader.isDone) break;
    if (reader.readQuickly(file)) continue;
    // Loaded when a file needs it: the package `yaml` takes as long as all the rest of reading.
    const { readDocuments } = await import('./documents.ts');
    // Not earlier: V8 accepts no code cache that was made with other flags.
    saveMemory();
    readDocuments(file, reader.budget, (read) => reader.take(read, file));
  }
  return resultOf(reader, files, [...skippedFiles, ...reader.skipped], options);
}

/** Puts together what was read. @throws InputProblems for a problem that cannot be isolated */
function resultOf(
  reader: GroupReader,
  files: readonly SourceFile[],
  skipped: readonly string[],
  options: ReadOptions,
): ReadResult {
  const { groups, others, broken, sources, pods, problems: hidden } = reader;
  const duplicates = findDuplicates([...groups, ...broken]);
  const problems = [...hidden, ...[...duplicates.values()].flat()];
  const unreadable = groupBy(hidden, ({ place, isUnreadable }) => (isUnreadable ? place.file : undefined));
  const text = (name: string) => files.find((file) => file.name === name)?.text ?? '';
  const canIsolate =
    options.isolate &&
    hidden.every(({ place }) => holdsGroupsAlone(text(place.file), unreadable.has(place.file), options));
  // The unread rest of a file may contain anything.
  if ((problems.length > 0 && !canIsolate) || reader.isDone) {
    const faulty = reader.faulty + broken.length;
    const allProblems = [...problems, ...problemsOf(broken)].slice(0, MOST_PROBLEMS);
    throw new InputProblems(allProblems, { count: groups.length + faulty, files: files.length, groups, pods, sources });
  }
  const isolated = isolate(groups, broken, (group) => [
    ...(duplicates.get(keyText(group)) ?? []),
    ...(unreadable.get(group.place.file) ?? []),
  ]);
  return { ...isolated, hidden, others, files: files.length, skipped, sources };
}

/** Marks groups as broken if two have one name, or if their file could not be read to its end. */
function isolate(
  groups: readonly RunnerGroup[],
  broken: readonly BrokenGroup[],
  otherProblemsOf: (group: RunnerGroup | BrokenGroup) => readonly Problem[],
): Pick<ReadResult, 'groups' | 'broken'> {
  // Their names are valid, so `brokenGroup` returns a group.
  const moved = groups
    .filter((group) => otherProblemsOf(group).length > 0)
    .flatMap(({ manifest, place, namespace }) => brokenGroup(manifest, place, namespace, []) ?? []);
  const byName = groupBy([...broken, ...moved], keyText);
  const merged = [...byName.values()].flatMap((all) =>
    all.slice(0, 1).map((first) => ({ ...first, problems: [...otherProblemsOf(first), ...problemsOf(all)] })),
  );
  return { groups: groups.filter((group) => !byName.has(keyText(group))), broken: merged };
}

/** Finds `kind: X`, `namespace: X` and the API group of `apiVersion: X/v1` in a text that cannot be parsed. */
const NAMED = /\b(kind|apiVersion|namespace)["']?[ \t]*:[ \t]*["']?([^\s"',}/]*)/g;

/** True if the text names only RunnerGroups of this namespace. Then no other object can go missing and be pruned. */
function holdsGroupsAlone(text: string, isTextFaulty: boolean, { defaultNamespace }: ReadOptions): boolean {
  const meant = new Map(Object.entries({ kind: KIND, apiVersion: API_GROUP, namespace: defaultNamespace }));
  const matches = [...text.matchAll(NAMED)];
  const isMeant = matches.every(([, field = '', word]) => word === meant.get(field));
  return isMeant && (!isTextFaulty || matches.some(([, field]) => field === 'kind'));
}

/** Characters from which on memory is saved. Shorter input is read quickly and takes some MB. */
const LARGE_INPUT = 65_536;

/** V8 keeps garbage up to some 200 MB, and many processes of the sidecar share one limit. Both flags halve the peak. */
function saveMemory(): void {
  // Not imported: loading node:v8 takes 1 ms of a start.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  // The space for young objects does not grow. Old objects are collected each time they have grown by a fifth.
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=20');
}

class GroupReader {
  readonly budget = new Budget();
  readonly groups: RunnerGroup[] = [];
  readonly others: PassThrough[] = [];
  readonly broken: BrokenGroup[] = [];
  readonly problems: Problem[];
  readonly skipped: string[] = [];
  /** The pods of broken groups, which are judged all the same. */
  readonly pods: RunnerGroup[] = [];
  /** RunnerGroups with problems that are not in `broken`. */
  faulty = 0;
  readonly sources = new Map<string, SourceFile>();
  readonly #options: ReadOptions;

  constructor(options: ReadOptions, unread: readonly Problem[]) {
    this.#options = options;
    this.problems = [...unread];
  }

  get isDone(): boolean {
    return this.budget.isSpent || this.#hasEnough;
  }

  get #hasEnough(): boolean {
    return this.problems.length + problemsOf(this.broken).length >= MOST_PROBLEMS;
  }

  /** Takes the groups of a file without others or problems. False: it must be read again, with places. */
  readQuickly(file: SourceFile): boolean {
    const quick = quickGroups(file, this.#options);
    if (!quick) return false;
    this.groups.push(...quick);
    if (quick.length > 0) this.sources.set(file.name, file);
    const excess = this.budget.addDocuments(quick.length);
    if (excess !== undefined) this.problems.push(fileProblem(file.name, excess, 'GR-INPUT-08'));
    return true;
  }

  /** Takes a document. Problems beyond `MOST_PROBLEMS` are dropped. */
  take(read: Read, file: SourceFile): void {
    if (this.#hasEnough) return;
    const sorted = 'problem' in read ? read : sortOut(read.document);
    if ('problem' in sorted) this.#refuse(sorted);
    else if ('skipped' in sorted) this.skipped.push(`${sorted.skipped.file}:${sorted.skipped.line}`);
    else if ('other' in sorted) this.others.push(sorted.other);
    else for (const object of sorted.objects) this.#takeGroup(object, file);
  }

  /** Refuses a document for the groups that it names (docs/adr/0081). Without a name it may be any group. */
  #refuse({ problem, holds = [] }: Refused): void {
    const { place } = problem;
    const { defaultNamespace, isolate = false } = this.#options;
    const ours = holds.filter(claimsToBeGroup);
    const otherObjects = holds.filter((value) => !claimsToBeGroup(value));
    const groups = ours.filter((value) => valueAt(value, ['kind']) !== 'RunnerPolicy');
    const brokenGroups = groups.flatMap((value) => brokenGroup(value, place, defaultNamespace, [problem]) ?? []);
    const kept = skippedTexts(otherObjects.map(nameOf));
    if (!isolate || ours.length === 0 || brokenGroups.length + kept.length < groups.length + otherObjects.length) {
      this.problems.push(problem);
      return;
    }
    this.broken.push(...brokenGroups);
    this.others.push(...kept.map((text) => ({ place, text, objects: [] })));
    if (groups.length === 0) this.skipped.push(`${place.file}:${place.line} (a RunnerPolicy)`);
  }

  #takeGroup(object: SourceObject, file: SourceFile): void {
    if (this.#hasEnough) return;
    const { defaultNamespace, defaults, isolate = false } = this.#options;
    const result = toRunnerGroup(object, defaultNamespace, defaults);
    if ('group' in result) {
      this.groups.push(result.group);
      this.sources.set(file.name, file);
      return;
    }
    const place = object.document.placeOf(object.base);
    const problems = isPatch(object.value, resolve(this.#options.cwd, file.name)) ? [patchAt(place)] : result.problems;
    const broken = isolate && brokenGroup(object.value, place, defaultNamespace, problems);
    if (broken) {
      this.broken.push(broken);
      return;
    }
    this.faulty += 1;
    this.problems.push(...problems);
    const pod = podOnly(object, result, `faulty-${this.faulty}`);
    if (!pod) return;
    this.pods.push(pod);
    this.sources.set(file.name, file);
  }
}

/** True for a RunnerGroup that names nothing it must have, beside a file of kustomize. */
function isPatch(group: unknown, file: string): boolean {
  const isWhole = ['scope', 'authToken'].some((field) => valueAt(group, ['spec', field]) !== undefined);
  return !isWhole && KUSTOMIZATIONS.some((name) => existsSync(join(dirname(file), name)));
}

const KUSTOMIZATIONS = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'];
const PATCH =
  'is a patch for kustomize, which does not run here: commit what it makes, and check that with "kustomize build FOLDER | gitea-runners validate -"';

function patchAt(place: FilePlace): Problem {
  return { place, path: '', message: PATCH, code: 'GR-INPUT-03' };
}

function quickGroups(file: SourceFile, options: ReadOptions): readonly RunnerGroup[] | undefined {
  const documents = readPlainYaml(file);
  if (!documents) return undefined;
  const groups: RunnerGroup[] = [];
  for (const { value, placeOf } of documents) {
    if (!isMapping(value) || value['apiVersion'] !== API_VERSION || value['kind'] !== KIND) return undefined;
    const document = { placeOf, writtenAt: () => undefined };
    const result = toRunnerGroup({ document, base: [], value }, options.defaultNamespace, options.defaults);
    if ('problems' in result) return undefined;
    groups.push(result.group);
  }
  return groups;
}

/** A document with a problem. `holds`: all objects in it. */
type Refused = { readonly problem: Problem; readonly holds?: readonly unknown[] };

type Sorted =
  | { readonly objects: readonly SourceObject[] }
  | { readonly other: PassThrough }
  | { readonly skipped: FilePlace }
  | Refused;

/** Sorts a document by kind. A `List` is opened if it holds RunnerGroups (`kubectl get -o yaml` prints one). */
function sortOut(document: SourceDocument): Sorted {
  const { value, place } = document;
  const problemAt = (message: string, path = ''): Sorted => ({
    problem: { place: path === '' ? place : document.placeOf([path]), path, message, code: 'GR-INPUT-03' },
    holds: objectsBelow(value).filter((each) => !Array.isArray(valueAt(each, ['items']))),
  });
  const isJsonPatch = Array.isArray(value) && value.length > 0 && value.every((each) => valueAt(each, ['op']));
  if (!isMapping(value))
    return problemAt(
      isJsonPatch ? PATCH : 'is not a Kubernetes object, but a list or a single value: keep it out of these files',
    );
  if (!Object.keys(value).some((key) => FIELDS_OF_OBJECTS.has(key.toLowerCase()))) return { skipped: place };
  const { apiVersion, kind } = value;
  for (const [name, field] of Object.entries({ apiVersion, kind })) {
    if (typeof field === 'string' && field !== '') continue;
    const message = `is not a Kubernetes object: ${name} is missing or not a string. Keep other YAML and JSON out of this folder, or name the files to read`;
    return problemAt(lackingLine(value) ?? message);
  }
  if (apiVersion === API_VERSION && kind === KIND) return { objects: [{ document, base: [], value }] };
  const claims = claim(apiVersion, kind);
  if (claims) return problemAt(claims.message, claims.path);
  const { items } = value;
  if (Array.isArray(items) && items.some(holdsGroup)) {
    if (kind === 'List' && apiVersion === 'v1' && items.every(claimsToBeGroup)) {
      return { objects: items.map((item, index) => ({ document, base: ['items', index], value: item })) };
    }
    return problemAt('holds RunnerGroups beside or below other things: put each into a document of its own', 'items');
  }
  return { other: { place, text: documentText(document), objects: objectsBelow(value).filter(isMapping).map(nameOf) } };
}

/** Fields of every Kubernetes object, as they may be misspelt: a RunnerGroup must not vanish because of its capitals. */
const FIELDS_OF_OBJECTS: ReadonlySet<string> = new Set(['apiversion', 'kind', 'metadata', 'spec']);

/** All objects in a value: Argo CD and kubectl open `items` of any kind. Items of a JobList need no type. */
export function objectsBelow(value: unknown): readonly unknown[] {
  const items = valueAt(value, ['items']);
  if (!Array.isArray(items)) return [value];
  const { apiVersion, kind } = value as Readonly<Record<string, unknown>>;
  const ofItems = { apiVersion, kind: String(kind).replace(/List$/, '') };
  return [
    value,
    ...items.flatMap((item) => objectsBelow(isMapping(item) && !item['kind'] ? { ...item, ...ofItems } : item)),
  ];
}

function nameOf(value: unknown): NamedObject {
  const { apiVersion, kind, metadata } = isMapping(value) ? value : {};
  const { name, namespace } = isMapping(metadata) ? metadata : {};
  return { apiVersion, kind, name, namespace, startsPods: isMapping(value) && startsPods(value) };
}

/** Returns documents with names of objects alone, which Argo CD neither makes, changes nor prunes (docs/adr/0020). */
export function skippedTexts(objects: readonly NamedObject[]): readonly string[] {
  const annotations = { [HOOK]: SKIP };
  const namedObjects = objects.filter(({ name, kind, apiVersion }) => name && kind && apiVersion);
  return namedObjects.map(({ apiVersion, kind, name, namespace }) =>
    jsonText({ apiVersion, kind, metadata: { name, namespace, annotations } }),
  );
}

function claimsToBeGroup(value: unknown): boolean {
  return isMapping(value) && (value['kind'] === KIND || claim(value['apiVersion'], value['kind']) !== undefined);
}

/** Argo CD opens any object with `items` (`IsList`), so a RunnerGroup in there is one, too. */
function holdsGroup(value: unknown): boolean {
  if (claimsToBeGroup(value)) return true;
  return isMapping(value) && Array.isArray(value['items']) && value['items'].some(holdsGroup);
}

/** JSON may be indented with tabs, which YAML readers refuse. In JSON a raw tab is never part of a string. */
function documentText({ text }: SourceDocument): string {
  if (!text.includes('\t') || !text.trimStart().startsWith('{')) return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return text.replaceAll('\t', ' ');
}

/** Two groups of one name would fight for the same runner names. */
function findDuplicates(groups: readonly (RunnerGroup | BrokenGroup)[]): ReadonlyMap<string, readonly Problem[]> {
  const duplicates = [...groupBy(groups, keyText)].filter(([, { length }]) => length > 1);
  return new Map(
    duplicates.map(([key, [first, ...others]]) => {
      const message = `RunnerGroup ${key} is already in ${first?.place.file}:${first?.place.line}: rename or remove one of them`;
      return [key, others.map(({ place }) => ({ place, path: 'metadata.name', message, code: 'GR-INPUT-07' }))];
    }),
  );
}

/** Finds what looks like a RunnerGroup and is none. Passed through, its runners would be pruned silently. */
function claim(apiVersion: unknown, kind: unknown): { readonly path: string; readonly message: string } | undefined {
  const [group = ''] = String(apiVersion).split('/');
  if (kind === KIND) {
    const message = `must be ${API_VERSION} for a RunnerGroup, not ${quoted(String(apiVersion))}`;
    return { path: 'apiVersion', message };
  }
  if (group !== API_GROUP) return undefined;
  const near = nearestName(String(kind), [KIND]);
  const message =
    kind === 'RunnerPolicy'
      ? 'a RunnerPolicy is no manifest: keep it out of these files, and give it with --policy'
      : `must be ${KIND}, not ${quoted(String(kind))}${near ? `; did you mean "${near}"?` : ''}${kind === 'List' ? '. A List has "apiVersion: v1"' : ''}`;
  return { path: 'kind', message };
}

/** The line that a document lacks to be a RunnerGroup. Undefined: it lacks none, or it does not say that it is one. */
function lackingLine(document: Readonly<Record<string, unknown>>): string | undefined {
  const { apiVersion, kind } = document;
  // Also finds a field in other capitals, or with an invisible character.
  const hasField = (field: string) => Object.keys(document).some((key) => key.toLowerCase().includes(field));
  if (kind === KIND && !hasField('apiversion'))
    return `is a RunnerGroup without apiVersion: add "apiVersion: ${API_VERSION}"`;
  if (apiVersion === API_VERSION && !hasField('kind')) return `has no kind: add "kind: ${KIND}"`;
  if (Object.keys(document).some((key) => key.startsWith('//'))) return 'JSON has no comments: remove each "//"';
  const right = kind === KIND ? 'apiVersion' : 'kind';
  const misspelt = Object.keys(document).find((key) => key !== right && key.toLowerCase() === right.toLowerCase());
  const isMeant = kind === KIND || apiVersion === API_VERSION;
  if (isMeant && misspelt !== undefined) return `has a field ${misspelt}: write ${right}`;
  return undefined;
}
