/** `gitea-runners import`: makes RunnerGroups from the files of other tools. It asks no server and changes none. */
import { readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { MOST_BYTES } from '../../config/runnergroup/budget.ts';
import { AS_KUBECTL, readAll } from '../../config/runnergroup/documents.ts';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { pathText, valueAt } from '../../config/runnergroup/paths.ts';
import type { SourceFile } from '../../config/runnergroup/runner-group.ts';
import { dnsLabelOf } from '../../config/runnergroup/words.ts';
import { yamlText } from '../../config/runnergroup/yaml-text.ts';
import { faultsOfPods } from '../../plan/own-pod.ts';
import { Failure, systemCode } from '../../shared/failure.ts';
import { API_SECRET, manual, REGISTRATION_SECRET } from '../../shared/installed/installed-names.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { groupBy, keyText } from '../../shared/keys.ts';
import { API_VERSION, KIND } from '../../shared/marks.ts';
import { count, firstNames, printable } from '../../shared/printable.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { readList } from '../flags/readers.ts';
import { asksForge } from '../import/import-fates.ts';
import {
  aroundThePod,
  HELM,
  INIT,
  Metadata,
  nameOf,
  type OldRunners,
  runnersOf,
  saidByOthers,
  strangerNote,
} from '../import/import-objects.ts';
import { fromPod, ofDefaultRunner, otherForge } from '../import/import-pod.ts';
import { fromRunnerFile } from '../import/import-runner-file.ts';
import { authOf, capOf, isStopped, minimumOf, saidIn, triggersOf } from '../import/import-scaling.ts';
import { filled, fittingTemplate, lostNote, withoutNulls } from '../import/import-template.ts';
import { KIND_OF_PLAIN_CONFIG } from '../import/import-variables.ts';
import { toScope, type WhoseJobs } from '../init/answers.ts';

/** Prints a RunnerGroup for each object that starts Gitea runners, with notes above it. @throws Failure exit 2 */
export async function importGroups(files: readonly string[], flags: FlagsOf<'import'>, io: Io): Promise<ExitCode> {
  const owner = flagValue('owner', flags, io);
  const word = flagValue('scope', flags, io);
  const isSaid = owner !== undefined || word === 'global';
  const scope = isSaid ? toScope('import', word, owner ?? '') : undefined;
  const flagSettings: GivenSettings = { scope, gitea: flagValue('gitea', flags, io) };
  const namespace = flagValue('groupNamespace', flags, io);
  const objects = files.flatMap((file) => read(file, io));
  const imported = (each: readonly unknown[]) => each.map((object) => fromObject(object, flagSettings, objects));
  const ofObjects = imported(objects);
  const isGroup = (each: ReturnType<typeof fromObject>) => typeof each === 'object';
  const results = ofObjects.some(isGroup) ? ofObjects : [...ofObjects, ...imported(objects.flatMap(ofFileAlone))];
  const importedGroups = results.filter(isGroup);
  const foreign = results.filter((each) => typeof each === 'string');
  if (importedGroups.length === 0) {
    const why = `no Gitea runner was found in ${files.join(', ')}. What import reads: RunnerGroups of the operator, KEDA's ScaledJobs, all objects with a pod template, and the config.yaml of a runner. A runner is known by its image (act_runner, gitea/runner) or by GITEA_INSTANCE_URL. For any other, start with 'gitea-runners init'.`;
    throw new Failure('GR-IMPORT-02', 2, `import: ${[...new Set(foreign)].join(' ') || why}`);
  }
  const missing = new Set(importedGroups.flatMap((each) => each.missing));
  const lacking = `import: ${[...missing].join(', ')} must be given: import finds it in no file.`;
  if (missing.size > 0) throw new Failure('GR-IMPORT-03', 2, lacking);
  const made = await Promise.all(importedGroups.map((each) => withTemplate(inNamespace(namespace, each))));
  const twins = [...groupBy(made, ({ metadata }) => keyText(metadata)).values()].flatMap(([, ...others]) => others);
  const texts = made.map((each) => textOf(each, twins.includes(each)));
  const bad = texts.flatMap(({ problem }) => problem ?? []);
  const noneIsValid = `import: no RunnerGroup from ${files.join(', ')} would be valid. Correct there what becomes:`;
  if (bad.length === importedGroups.length) throw new Failure('GR-IMPORT-04', 2, [noneIsValid, ...bad].join('\n'));
  io.out(texts.map(({ text }) => text).join('---\n'));
  const printed = count(importedGroups.length - bad.length, 'RunnerGroup');
  io.err(`${printed}. What was not carried over stands above each as a comment.\n`);
  const isUnread = (object: unknown, offset: number) =>
    typeof results[offset] !== 'string' && !importedGroups.some((group) => group.read.includes(object));
  const names = objects.filter(isUnread).flatMap((object) => nameOf(object) || []);
  if (names.length > 0) io.err(`Not read: ${firstNames(names, MOST_NAMED)}.\n`);
  for (const sentence of new Set(foreign)) io.err(`warning: ${sentence}\n`);
  for (const problem of bad) io.err(`warning: ${problem} It is printed as a comment.\n`);
  return 0;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EISDIR', 'it is a folder. Name the files in it, or write: kustomize build FOLDER | gitea-runners import -'],
]);

/** Most other objects that are named. The rest is counted. */
const MOST_NAMED = 20;

const List = z.looseObject({ items: z.array(z.unknown()) });

/** Matches a Helm template before it is rendered. Docker Swarm has `{{.Node.Hostname}}` in compose files. */
const TEMPLATED = /\{\{-?\s*(?:\.(?!(?:Node|Service|Task)\.)|include|if|range|with|template|define|toYaml)/;

/** Patterns of files that are no YAML of Kubernetes, with what to do instead. */
const OTHER_FORMS: readonly (readonly [RegExp, string])[] = [
  [/\{%-?\s/, 'it is a template of Jinja: name the file that Ansible or Salt makes of it'],
  [
    /^\[Container\]\s*$/m,
    `it is a Quadlet of podman, and no pod: ${INIT}. Its variable GITEA_RUNNER_LABELS holds the labels`,
  ],
  [
    /^\[(?:Unit|Service)\]\s*$/m,
    `it is a unit of systemd: name the config.yaml behind --config of its ExecStart. Without one, ${INIT}`,
  ],
  [/^\[\[?[\w.-]+\]\]?\s*$/m, `it is TOML, of another tool: ${INIT}`],
  [/^(?:[ \t]*(?:#.*)?\n)*(?:export )?[A-Z][A-Z0-9_]*=/, `it holds variables: ${INIT}`],
];

/** Reads the objects of a file, and of a `List` in it. A config.yaml counts as one object, like a ConfigMap with it. */
function read(file: string, io: Io): readonly unknown[] {
  const path = file === '-' ? 0 : resolve(io.cwd, file);
  try {
    if (typeof path === 'string' && statSync(path).size > MOST_BYTES) throw new Error('is longer than 4 MiB');
    const bytes = readFileSync(path);
    if (bytes.length > MOST_BYTES) throw new Error('is longer than 4 MiB');
    return objectsIn({ name: file, text: bytes.toString('utf8') });
  } catch (error) {
    const why = WORDS.get(systemCode(error)) ?? (error instanceof Error ? error.message : 'it cannot be read');
    throw new Failure('GR-IMPORT-01', 2, `import ${file}: ${printable(why)}.`);
  }
}

/** @throws Error with a message for the user */
function objectsIn(source: SourceFile): readonly unknown[] {
  const { name: file, text } = source;
  if (TEMPLATED.test(text)) throw new Error(`it is a template. Render it first: ${HELM}`);
  const [, otherForm] = OTHER_FORMS.find(([form]) => form.test(text)) ?? [];
  return parseAllDocuments(text, { ...AS_KUBECTL, logLevel: 'silent' }).flatMap((document) => {
    const [error] = document.errors;
    const object: unknown = error ? undefined : document.toJS({ maxAliasCount: 100 });
    if (otherForm !== undefined && typeof object !== 'object') throw new Error(otherForm);
    if (error) {
      // `validate` may have a better message and place for this error.
      const [problem] = readAll(source).flatMap((each) => ('problem' in each ? each.problem : []));
      throw new Error(problem ? `line ${problem.place.line} ${problem.message}` : error.message);
    }
    const data = fromRunnerFile(object) && { [KIND_OF_PLAIN_CONFIG]: JSON.stringify(object) };
    if (data) return [{ kind: KIND_OF_PLAIN_CONFIG, metadata: { name: basename(file) }, data }];
    return (List.safeParse(object).data?.items ?? [object]).map(withoutNulls);
  });
}

/** Returns the objects of a runner of which only the config.yaml is known, e.g. on a machine of its own. */
function ofFileAlone(object: unknown): readonly unknown[] {
  const file =
    valueAt(object, ['kind']) === KIND_OF_PLAIN_CONFIG ? String(valueAt(object, ['metadata', 'name'])) : undefined;
  if (file === undefined) return [];
  const env = [{ name: 'CONFIG_FILE', value: file }, { name: 'GITEA_INSTANCE_URL' }];
  const template = { spec: { containers: [{ name: 'runner', env }] } };
  return [{ kind: 'runner', metadata: { name: file.replace(/\.ya?ml$/, '') }, spec: { template } }];
}

/** Adds the allowed part of the old pod as podTemplate. Notes name the rest. */
async function withTemplate(group: ImportedGroup): Promise<ImportedGroup> {
  const { metadata, spec, notes, isMoved, tokenSecrets = [] } = group;
  if (!spec['podTemplate'] && !spec['caBundle']) return group;
  const { podTemplate, notes: lost } = await fittingTemplate(metadata, spec, tokenSecrets);
  const namedObjects = isMoved ? [...new Set(namedIn([podTemplate, spec['caBundle']]))].join(', ') : '';
  const note = `Namespace ${metadata.namespace} must have what the pods name: ${namedObjects}.`;
  return {
    ...group,
    spec: filled({ ...spec, podTemplate }),
    notes: [...notes, ...lost, ...(namedObjects ? [note] : [])],
  };
}

/** `Secret pull`, `ConfigMap ca`: what a pod takes from its own namespace. */
function namedIn(value: unknown, key = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const name = valueAt(value, ['secretName']) ?? valueAt(value, ['name']);
  const kind = /^(?:secret|imagePullSecrets)/.test(key) ? 'Secret' : key.startsWith('configMap') && 'ConfigMap';
  const below = Object.entries(value).flatMap(([field, each]) => namedIn(each, Array.isArray(value) ? key : field));
  return kind && typeof name === 'string' ? [`${kind} ${name}`] : below;
}

/** Puts a group without a namespace into ours. Its own Secrets cannot be read from there, so it gets the installation's. */
function inNamespace(byDefault: string, group: ImportedGroup): ImportedGroup {
  if (group.metadata.namespace !== '') return group;
  const secretNames = [group.spec['registrationToken'], group.spec['authToken']].flatMap(
    (token) => SecretRef.safeParse(token).data?.secretRef.name ?? [],
  );
  const lost = secretNames.filter((name) => name !== REGISTRATION_SECRET && name !== API_SECRET);
  const note = `The file names no namespace, so the group is in ${byDefault}, with the Secrets that ${manual('install.md')} makes there: ${REGISTRATION_SECRET} and ${API_SECRET}. If ${byDefault} has ${[...new Set(lost)].join(', ')}, too, write that name.`;
  return {
    ...group,
    isMoved: true,
    metadata: { ...group.metadata, namespace: byDefault },
    spec: { ...group.spec, registrationToken: REGISTRATION_TOKEN, authToken: AUTH_TOKEN },
    notes: lost.length > 0 ? [...group.notes.filter((each) => each !== URL_NOTE), note] : group.notes,
  };
}

/** Formats a group. One that `validate` would refuse becomes a comment, so the other groups still work. */
function textOf({ metadata, spec, notes }: ImportedGroup, isTwin: boolean) {
  const result = runnerGroupFromObject({ ...metadata, spec });
  const faults = 'group' in result ? faultsOfPods(result.group) : [];
  const faultTexts = faults.map(({ path, message }) => `${pathText(path)} ${message}`);
  const all = [...(isTwin ? ['another one above has its name: change one'] : []), ...faultTexts];
  const why = 'problem' in result ? result.problem : all.join('; ');
  const comments = notes.map((note) => `# ${printable(note)}\n`).join('');
  const text = `${comments}${yamlText({ apiVersion: API_VERSION, kind: KIND, metadata, spec })}`;
  if (why === '') return { text };
  const problem = `import ${metadata.namespace}/${metadata.name}: the RunnerGroup would not be valid: ${printable(why)}.`;
  return { text: `# ${problem}\n${text.replace(/^(?!#)(?=.)/gm, '# ')}`, problem };
}

/** Values from the command line that no file tells. A registration token does not show its scope. */
type GivenSettings = Readonly<{ scope: WhoseJobs | undefined; gitea: string | undefined }>;

interface ImportedGroup {
  /** The namespace is empty where no file names it. */
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: Readonly<Record<string, unknown>>;
  /** One sentence for each value that was left out or made up, with what to do. */
  readonly notes: readonly string[];
  readonly isMoved?: boolean;
  /** Secrets with tokens of the old runner: no pod may have them. */
  readonly tokenSecrets?: readonly string[];
  /** The objects that it was made of. */
  readonly read: readonly unknown[];
  /** Flags without which the group is not whole. */
  readonly missing: readonly string[];
}

/** Reference to the Secret with the API token: the tokens of other tools do not have its rights. */
const AUTH_TOKEN = { secretRef: { name: API_SECRET, key: 'token' } };
const REGISTRATION_TOKEN = { secretRef: { name: REGISTRATION_SECRET, key: 'registration-token' } };
const SecretRef = z.looseObject({ secretRef: z.looseObject({ name: z.string() }) });
const AUTH_TOKEN_NOTE = `authToken names the Secret ${API_SECRET}, which ${manual('install.md')} makes: no usable API token was found.`;

const URL_NOTE = `The Secret of authToken must have the key url, with the URL of Gitea: the token is sent nowhere else (${manual('install.md')}).`;

const OF_FORGEJO = `Trigger forgejo-runner asks a Forgejo, which is not supported. gitea.url must be a Gitea (${manual('compatibility.md')}).`;
const SEVERAL_REPOSITORIES = 'The trigger names several repositories: make a group for each, or one for their owner.';

const placeOf = ({ name, namespace = '' }: z.output<typeof Metadata>) => ({ name: dnsLabelOf(name), namespace });

const OperatorGroup = z.looseObject({
  apiVersion: z.string().regex(/^gitea\.bpg\.pw\//),
  kind: z.literal(KIND),
  metadata: Metadata,
  spec: z.record(z.string(), z.unknown()),
});

/** A sentence: its runners are another forge's, or it cannot be read. Undefined: it starts none. */
function fromObject(
  object: unknown,
  flagSettings: GivenSettings,
  otherObjects: readonly unknown[],
): ImportedGroup | string | undefined {
  const runners = runnersOf(object, otherObjects);
  if (typeof runners === 'string') return runners;
  if (runners) return fromRunners(runners, flagSettings, otherObjects);
  const group = OperatorGroup.safeParse(object);
  return group.success ? fromOperator(group.data, flagSettings, object) : strangerNote(object, otherObjects);
}

function ofOtherForge({ kind, metadata, template, read }: OldRunners): string | undefined {
  const whose = otherForge(template.spec);
  const subject = `${kind} ${printable(metadata.name)} starts ${whose} runner`;
  return whose && `${subject}, which does not register at Gitea. For Gitea, ${INIT}.${saidByOthers(read)}`;
}

function fromRunners(
  runners: OldRunners,
  flagSettings: GivenSettings,
  otherObjects: readonly unknown[],
): ImportedGroup | string | undefined {
  const { kind, metadata, template, scaler } = runners;
  const ofTrigger = scaler?.spec.triggers.find(asksForge)?.metadata['labels'] ?? '';
  const pod = fromPod(template, otherObjects, [...(runners.labels ?? []), ...readList(ofTrigger)]);
  if (!pod) return ofOtherForge(runners);
  const { trigger, triggerSettings, others } = triggersOf(runners, pod.variableOf);
  const said = saidIn(triggerSettings, runners);
  const scope = flagSettings.scope ?? said.scope;
  const gitea = flagSettings.gitea ?? pod.gitea ?? said.gitea;
  const { auth, object, secret } = authOf(trigger, otherObjects);
  const ofOperator = ofDefaultRunner(runners.labels ?? []);
  const labels = triggerSettings['labels'] === undefined ? ofOperator.kept : readList(triggerSettings['labels']);
  const { cap, note: capNote } = capOf(runners, pod.capacity);
  const read = [...runners.read, ...pod.read, object];
  const longest = [runners, pod.spec].flatMap(({ activeDeadlineSeconds }) => activeDeadlineSeconds ?? []);
  return {
    metadata: placeOf(metadata),
    read: [...read, secret],
    tokenSecrets: pod.tokenSecrets,
    spec: filled({
      ...scope,
      gitea: gitea && { url: gitea },
      suspend: isStopped(runners) || undefined,
      maxActiveRunners: cap,
      minIdleRunners: minimumOf(runners),
      ...(labels.length > 0 && { labels, defaultLabels: false }),
      ttlSecondsAfterFinished: runners.ttlSecondsAfterFinished,
      ...pod.spec,
      activeDeadlineSeconds: longest.length > 0 ? Math.min(...longest.map(Number)) : undefined,
      authToken: auth ? { secretRef: { name: auth.name, key: auth.key } } : AUTH_TOKEN,
    }),
    notes: [
      ...(trigger?.type === 'forgejo-runner' ? [OF_FORGEJO] : []),
      ...[capNote, ofOperator.note].flatMap((note) => note ?? []),
      ...pod.notes,
      ...aroundThePod(read),
      ...others,
      ...(triggerSettings['repos']?.includes(',') ? [SEVERAL_REPOSITORIES] : []),
      ...(triggerSettings['token'] === undefined ? [] : ['A token stood in the trigger: revoke it.']),
      auth ? `authToken names KEDA's Secret ${auth.name}. ${URL_NOTE}` : AUTH_TOKEN_NOTE,
      `The ${kind} goes on: delete it when the new runners work.`,
    ],
    missing: [...(scope ? [] : ['--scope', '--owner']), ...(gitea === undefined ? [pod.missingGitea] : [])],
  };
}

function fromOperator(
  { metadata, spec }: z.output<typeof OperatorGroup>,
  flagSettings: GivenSettings,
  object: unknown,
): ImportedGroup {
  const { giteaURL, registrationToken, authToken, ...commonFields } = spec;
  const { kept, note } = ofDefaultRunner(z.array(z.string()).safeParse(commonFields['labels']).data ?? []);
  const lost = commonFields['image'] === undefined && note !== undefined;
  const { scope, org, user, repo, ...otherFields } = commonFields;
  const ownScope = filled({ scope, org, user, repo });
  const url = flagSettings.gitea ?? giteaURL;
  const differs = flagSettings.scope && JSON.stringify(flagSettings.scope) !== JSON.stringify(ownScope);
  return {
    metadata: placeOf(metadata),
    read: [object],
    spec: filled({
      ...(flagSettings.scope ?? ownScope),
      ...otherFields,
      ...(lost && { labels: kept }),
      gitea: (flagSettings.gitea === undefined && commonFields['gitea']) || (url === undefined ? undefined : { url }),
      registrationToken: selector(registrationToken),
      authToken: selector(authToken),
    }),
    notes: [
      ...(lost ? [note] : []),
      ...(differs ? [lostNote('spec', ownScope, '--scope and --owner say otherwise')] : []),
      ...aroundThePod([{ ...Object(object), spec: undefined }]),
      URL_NOTE,
      'Stop the operator first: both would start runners for the same jobs.',
    ],
    missing: [],
  };
}

/** Converts both spellings of a reference to `secretRef`. */
function selector(value: unknown): unknown {
  const flat = z.strictObject({ name: z.string(), key: z.string() }).safeParse(value);
  return flat.success ? { secretRef: flat.data } : value;
}
