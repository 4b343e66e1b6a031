/** Turns zod's issues into problems in the words of people: the received value and the expected one. */
import type * as z from 'zod';
import { wordSet } from '../../shared/keys.ts';
import type { Path } from './documents.ts';
import { homeOf, isMapping, namesAt, pathText, schemaAt, valueAt } from './paths.ts';
import { type ProblemCode, quoted } from './problems.ts';
import { ownedKey } from './runner-config.ts';
import { OF_REPOSITORY } from './runner-group.ts';
import {
  dnsLabelOf,
  LONGEST_MISTYPED,
  likeness,
  MOST_NAMES,
  nearestName,
  notWhole,
  ONLY_DATA,
  OUTSIDE_DATA,
  resourceInstead,
  scalarInstead,
  shellLine,
} from './words.ts';

/** A problem of a field, by its path. `toRunnerGroup` makes a `Problem` with a place in a file of it. */
export interface FieldProblem {
  readonly path: Path;
  readonly message: string;
  readonly code: ProblemCode;
  /** The field that was probably meant: told here, it is not also reported as missing. */
  readonly meant?: Path;
  readonly missing?: boolean;
  /** True if several fields contradict each other. */
  readonly together?: boolean;
}

/** Fields in which somebody may write a secret by mistake. What stands there is never repeated. */
const NEVER_SHOWN =
  /^spec\.(?:registrationToken|authToken|gitea|giteaURL|proxy(?!\.noProxy)|cache|runnerConfig\.runner\.envs)(?:\.|$)/;

/** Matches tokens, not names: of Gitea (40 hex digits), GitHub, GitLab, or a long string without dots and dashes. */
export const TOKEN =
  /^(?:[0-9a-f]{40}|gh[opsur]_\w{8,}|github_pat_\w+|glpat-[\w-]{8,}|gtr_\w+|(?=\w*\d)(?=\w*[A-Za-z])\w{32,})$/;
/** Matches the path of a URL: that of a webhook is a secret. */
const LONG_WAY = /(https?:\/\/[^/\s]+\/)\S{12,}/;
const NEVER_IN_GIT =
  'holds what looks like a token: never put a token into git. Revoke it, put a new one into a Secret, and name the Secret';

/** Most problems of one document. Nobody reads more; a hostile file could ask for a million. */
export const MOST_FIELD_PROBLEMS = 1000;

export interface Surroundings {
  readonly schema: z.ZodType;
  readonly value: unknown;
  /** Command that prints the schema. Default: the one for a RunnerGroup. */
  readonly schemaCommand?: string;
  /** A scalar as it is written in the file. */
  readonly writtenAt: (path: Path) => string | undefined;
}

/** Returns one problem per field. An issue about several unknown fields becomes one problem for each. */
export function problemsOfIssue(issue: z.core.$ZodIssue, around: Surroundings): readonly FieldProblem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const missing = valueAt(around.value, path) === undefined;
  const problemOf = (message: string): readonly FieldProblem[] => [
    { path, message: isTokenAt(path, around) ? NEVER_IN_GIT + exampleOf(path) : message, code: 'GR-INPUT-05', missing },
  ];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, MOST_FIELD_PROBLEMS).map((key) => unknownField(path, key, around));
    case 'invalid_type':
      return problemOf(wrongType(path, WANTED[issue.expected] ?? issue.expected, around));
    case 'invalid_value':
      return problemOf(wrongChoice(path, issue.values, around));
    case 'invalid_union':
      return problemOf(wrongUnion(path, issue, around));
    case 'too_small':
    case 'too_big':
      return problemOf(wrongSize(path, issue, around));
    case 'invalid_key':
      return problemOf(`has the key ${quoted(String(path.at(-1)))}, which is too long`);
    case 'custom':
    case 'invalid_format':
      if (issue.code === 'custom' && issue.params?.['ofKey'] === true) return problemOf(issue.message);
      return problemOf(`${issue.message}${received(path, around)}${formInstead(path, around)}`);
    case 'not_multiple_of':
    case 'invalid_element':
      return problemOf(issue.message);
    default:
      return issue satisfies never;
  }
}

/** Returns the first problem of a value that is no RunnerGroup, e.g. of a file of prices, with its path. */
export function problemOf(error: z.ZodError, schema: z.ZodType, value: unknown): string {
  const around = { schema, value, schemaCommand: 'the manual', writtenAt: () => undefined };
  const [first] = error.issues.flatMap((issue) => problemsOfIssue(issue, around));
  return [pathText(first?.path ?? []), first?.message].filter(Boolean).join(' ');
}

const WANTED: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

const adviceForNames = (advice: string, names: string) =>
  Object.fromEntries(names.split(' ').map((name) => [name, advice]));

const adviceForSpec = (advice: string, names: string) => adviceForNames(advice, names.replace(/\w+/g, 'spec.$&'));

/** Our fields by their other names, also those of KEDA, ARC, GARM and GitLab. YAML reads a bare `no` as `false`. */
export const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{ no: 'noProxy', false: 'noProxy', repository: 'repo', username: 'user', template: 'podTemplate' },
  ...adviceForNames('org', 'organization organisation owner githubScopeRef'),
  ...{ token: 'authToken', executor: 'containerMode', tags: 'labels', start: 'from', end: 'to' },
  ...adviceForNames('maxActiveRunners', 'maxRunners maxReplicas replicas maxReplicaCount capacity concurrent limit'),
  ...adviceForNames('minIdleRunners', 'minReplicas minRunners minReplicaCount idleReplicaCount'),
  desiredReplicas: 'runners',
  ...adviceForNames('secretRef', 'valueFrom existingSecret existingSecretKey secretName secretKey'),
};

const NO_CRON = 'there is no cron here: write from, to and days';
const OWN_SECRET = "Secrets of the RunnerGroup's own namespace are read: remove it";

/** Fields of other tools that have no counterpart here, by path without indices. */
const FOREIGN_FIELDS: Readonly<Record<string, string>> = {
  'spec.githubConfigUrl': "ARC's: write gitea.url, and scope with org, user or repo",
  'spec.githubConfigSecret': "ARC's: write registrationToken and authToken",
  'spec.runnerScaleSetName':
    "ARC's: jobs find runners by labels. To make the group's name a label, write groupLabel: true",
  ...adviceForSpec(
    'serve knows when Gitea is to be asked. Remove it',
    'pollingInterval check_interval triggers metrics',
  ),
  ...adviceForSpec('write containerMode: dind-rootless', 'dockerdWithinRunnerContainer dockerEnabled privileged'),
  ...adviceForSpec('write ttlSecondsAfterFinished', 'successfulJobsHistoryLimit failedJobsHistoryLimit'),
  ...adviceForSpec('write idleSchedule', 'scheduledOverrides schedule'),
  ...adviceForSpec('runners always are. Remove it', 'ephemeral'),
  ...adviceForSpec('write containerMode: dind, or dind-rootless', 'docker dind'),
  ...adviceForSpec('write activeDeadlineSeconds', 'timeout timeoutSeconds jobTimeout'),
  ...adviceForSpec('it stands in the image, e.g. "image: gitea/runner:1.0.8"', 'version tag imageTag runnerVersion'),
  ...adviceForSpec('Gitea has no groups of runners. Remove it', 'group runnerGroup runnergroup'),
  ...adviceForSpec(
    'runners work in /data. Remove it, or make volume data another disk in podTemplate',
    'workDir workVolumeClaimTemplate',
  ),
  ...adviceForNames(
    'write webhook: {url: …}, and let a program of yours pass it on',
    'spec.notify.teams spec.notify.discord spec.notify.email spec.notify.mattermost',
  ),
  'spec.caBundle.secretRef':
    'certificates are no secret: put them into a ConfigMap, and write "configMapRef: {name: …, key: …}"',
  ...adviceForSpec('a group is enabled unless "suspend: true" stands here', 'enabled'),
  'spec.idleSchedule.cron': NO_CRON,
  'spec.idleSchedule.schedule': NO_CRON,
  'spec.authToken.secretRef.namespace': OWN_SECRET,
  'spec.registrationToken.secretRef.namespace': OWN_SECRET,
  'spec.cache.enabled':
    'spec.cache names a shared cache server; cache.enabled of the runner is runnerConfig.cache.enabled',
};

const OTHER_VALUES: Readonly<Record<string, string>> = {
  ...adviceForNames('host', 'kubernetes kubernetes-novolume shell none'),
  ...{ organization: 'org', organisation: 'org', repository: 'repo', docker: 'dind' },
  ...adviceForNames('global', 'instance site admin system'),
};

/** True for what may be a token, where a token may be written by mistake. */
function isTokenAt(path: Path, around: Surroundings): boolean {
  const value = valueAt(around.value, path);
  return (
    typeof value === 'string' && TOKEN.test(value) && (!isShown(path) || /token|secret|password/i.test(path.join('.')))
  );
}

/** Returns the advice for a field of a pod, of a container or of another tool. */
function ofOthers(path: Path, key: string): string | undefined {
  const isInSpec = path.join('.') === 'spec';
  const place = isInSpec ? placeInPod(key) : undefined;
  if (place !== undefined) return `write it below podTemplate: "${place}"`;
  const name = key.replace(/^storage$/, 'ephemeral-storage');
  if (resourceInstead(name) === undefined && isInSpec) return `write "resources: {requests: {${name}: …}}"`;
  if (resourceInstead(name) === undefined && path.at(-1) === 'resources') return `write "requests: {${name}: …}"`;
  const fieldName = [...path, key].filter((step) => typeof step === 'string').join('.');
  return Object.hasOwn(FOREIGN_FIELDS, fieldName) ? FOREIGN_FIELDS[fieldName] : undefined;
}

function unknownField(path: Path, key: string, around: Surroundings): FieldProblem {
  const here = [...path, key];
  const problem = (message: string): FieldProblem => ({ path: here, message, code: 'GR-INPUT-04' });
  const owned = ownedKey(here);
  if (owned !== undefined) return problem(`is not yours to set: ${owned}`);
  if (key.startsWith('//')) return problem('JSON has no comments: remove it');
  if (isTokenAt(here, around)) return problem(`unknown field; it ${NEVER_IN_GIT}`);
  // A policy has other fields.
  const foreign = around.schemaCommand === undefined ? ofOthers(path, key) : undefined;
  if (foreign !== undefined) return problem(`unknown field; ${foreign}`);
  const knownNames = namesAt(around.schema, path);
  const meantName = meantBy(key, OTHER_NAMES, knownNames);
  const isPlural = knownNames.some((name) => key === `${name}s`);
  const home = meantName === undefined && !isPlural ? homeOf(around.schema, key, path) : undefined;
  if (home) {
    const ofRoot = `beside ${path[0]}: ${path.length === 1 ? 'take two spaces away' : 'move it there'}`;
    const placeText = home.length > 0 ? `below ${pathText(home)}: move it there` : ofRoot;
    return { ...problem(`unknown field; it belongs ${placeText}`), meant: [...home, key] };
  }
  const [meant, inner] = meantName === undefined ? likelyField(path, key, around) : [meantName];
  if (meant !== undefined && inner !== undefined)
    return { ...problem(`unknown field; write "${meant}: {${inner}: …}"`), meant: [...path, meant, inner] };
  if (meant !== undefined) {
    const meantPath = [...path, meant];
    const form = formOfReference(namesAt(around.schema, meantPath), meant);
    return { ...problem(`unknown field; did you mean "${meant}${form}"?`), meant: meantPath };
  }
  if (knownNames.length <= MOST_NAMES) return problem(`unknown field; known here: ${knownNames.join(', ')}`);
  return problem(`unknown field; ${around.schemaCommand ?? 'gitea-runners schema'} lists the known ones`);
}

/** Names that may share half of their words with another one. */
const LEAST_LIKENESS = 0.5;
/** Fields that are never advised: they have a newer name. */
const OLDER_NAMES = wordSet('maxWorkers giteaURL');

/**
 * Returns the field that was probably meant, here or one level below: nearly the same letters, or common words. One that
 * takes the written value comes first, then one that is not written. Empty: there is none.
 */
function likelyField(path: Path, key: string, around: Surroundings): readonly string[] {
  if (key.length > LONGEST_MISTYPED) return [];
  const names = namesAt(around.schema, path);
  const [typed, value] = [nearestName(key, names), valueAt(around.value, [...path, key])];
  const below = names.flatMap((name) => namesAt(around.schema, [...path, name]).map((inner) => [name, inner]));
  const rated = [...names.map((name) => [name]), ...below].flatMap((steps) => {
    const [first = ''] = steps;
    // A word of the outer field tells `cacheUrl` from `url` and `name`, which many fields have.
    const isOther = steps.length > 1 && (first === 'runnerConfig' || likeness(key, first) === 0);
    const alike = steps.length === 1 && first === typed ? 1 : likeness(key, steps.join('_'));
    if (isOther || alike < LEAST_LIKENESS || (first !== typed && OLDER_NAMES.has(first))) return [];
    const takes = schemaAt(around.schema, [...path, ...steps])?.safeParse(value).success ? 1 : 0;
    const isThere = valueAt(around.value, [...path, ...steps]) === undefined ? 0 : 1;
    return [{ steps, rate: takes + alike - isThere / 10 }];
  });
  return rated.sort((a, b) => b.rate - a.rate)[0]?.steps ?? [];
}

/** `: {name: …, key: …}`. The names that somebody wrote are not repeated: one may be a secret by mistake. */
function formOfReference(fields: readonly string[], name: string): string {
  return name.endsWith('Ref') ? `: {${fields.map((field) => `${field}: …`).join(', ')}}` : '';
}

function wrongType(path: Path, expected: string, around: Surroundings): string {
  const value = valueAt(around.value, path);
  if (value === undefined) return `is required: ${expected}${exampleOf(path)}`;
  const writtenText = isShown(path) ? around.writtenAt(path) : undefined;
  const [inQuotes] = schemaAt(around.schema, path)?.safeParse(String(value)).error?.issues ?? [];
  if (expected === 'a string' && typeof value === 'number' && inQuotes)
    return `${inQuotes.message}, not ${describe(path, value)}${formInstead(path, around)}`;
  if (
    expected === 'a string' &&
    writtenText !== undefined &&
    (typeof value === 'number' || typeof value === 'boolean')
  ) {
    return `must be a string, but YAML reads ${writtenText} as ${describe(path, value)}: quote it: "${writtenText}"`;
  }
  if (/^spec\.(?:labels|defaultLabels)\./.test(path.join('.')) && value === null && writtenText)
    return `must be a string, but YAML reads ${writtenText} as nothing: quote it: "${writtenText}"`;
  const label = expected === 'a string' ? labelOf(path, value) : undefined;
  if (label !== undefined) return `must be a string, not a mapping: quote it, without a space: ${quoted(label)}`;
  const misplaced = ofOtherPlace(path, value, around);
  if (misplaced !== undefined) return `must be ${expected}, not ${misplaced}`;
  const byField = expected === 'a mapping' && typeof value === 'string' ? fieldFor(path, value, around) : '';
  const example = expected === 'a mapping' && path.length > 1 ? exampleOf(path) || byField : '';
  return `must be ${expected}, not ${describe(path, value)}${example}${asWanted(path, expected, value)}`;
}

/** Returns the mapping that a string stands for: one with a field that takes it, or with its only field. */
function fieldFor(path: Path, value: string, { schema }: Surroundings): string {
  const names = namesAt(schema, path);
  const takes = (name: string) => names.length === 1 || schemaAt(schema, path)?.safeParse({ [name]: value }).success;
  const [field, last] = [names.findLast(takes), path.at(-1)];
  const key = typeof last === 'number' ? '' : `${last}: `;
  return field === undefined ? '' : `; write "${key}{${field}: …}"`;
}

/** Returns what came and where it belongs: several owners, a container's limits, or a certificate. */
function ofOtherPlace(path: Path, value: unknown, { schema }: Surroundings): string | undefined {
  const pathName = path.join('.');
  const [first = ''] = isMapping(value) ? Object.keys(value) : [];
  const image = isMapping(value) && path.at(-1) === 'image' ? (value['repository'] ?? value['name']) : undefined;
  if (image !== undefined) return `a mapping; write "image: ${image}:${valueAt(value, ['tag']) ?? 'TAG'}"`;
  if (path.at(-1) === 'channel' && value === null) return 'empty: "#" begins a comment. Quote it: channel: "#…"';
  if (namesAt(schema, [...path, 0]).includes(first)) return `a mapping; write "${path.at(-1)}: [{${first}: …}]"`;
  if (/^spec\.(?:org|user)$/.test(pathName) && Array.isArray(value) && value.length > 1)
    return 'a list: write one RunnerGroup for each';
  if (pathName === 'spec.limits' && isMapping(value) && ('cpu' in value || 'memory' in value))
    return 'a mapping: limits of a container belong below spec.resources: write "resources: {limits: {…}}"';
  if (pathName === 'spec.caBundle' && String(value).startsWith('-----BEGIN CERTIFICATE'))
    return 'a certificate: put it into a ConfigMap, and write "caBundle: {configMapRef: {name: …, key: …}}"';
  return undefined;
}

/** Returns the right spelling of a string that means the right value. */
function asWanted(path: Path, expected: string, value: unknown): string {
  const [only, another] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (expected === 'a string' && typeof only === 'string' && another === undefined && isShown(path))
    return `; write ${quoted(`${path.at(-1)}: ${only}`)}`;
  if (typeof value !== 'string' || !isShown(path)) return '';
  if (expected === 'a list') {
    if (path.at(-1) === 'setupCommand' && OUTSIDE_DATA.test(value)) return `. It ${ONLY_DATA}`;
    if (path.at(-1) === 'setupCommand' && /[&|;<>$`"'\\*?~(){}#\n]/.test(value.trim()))
      return `; write ${shellLine(value)}`;
    const items = value.split(/[\s,]+/).filter((item) => !/^(?:|none)$/i.test(item));
    const isYaml = !items.some((item) => item.startsWith('*')) && value.trim() !== '';
    return isYaml ? `; write ${quoted(`${path.at(-1)}: [${items.join(', ')}]`)}` : '';
  }
  return scalarInstead(String(path.at(-1)), expected, value);
}

const GITEA = /^spec\.gitea(?:\.url|URL)$/;
/** Values in another form: their places, the form, and what was meant. */
const FORMS: readonly (readonly [places: RegExp, form: RegExp, meant: string])[] = [
  [GITEA, /^(https?:\/\/[^/:@]+:\d+):.*$/, '$1'],
  [
    GITEA,
    /^(?:(?:ssh:\/\/)?git@|https?:\/?(?!\/)|(?!https?:)[a-z]+:\/\/)?((?=[^/:]*\.)[\w.-]+(?::\d+)?)(?:[:/][\w./-]*)?$/,
    'https://$1',
  ],
  [/^spec\.idleSchedule\./, /^(?=\d:\d\d$)/, '0'],
  [/\.timeZone$/, /^[A-Z]*\+0?(\d{1,2})(?::?00)?$/, 'Etc/GMT-$1'],
  [/\.timeZone$/, /^[A-Z]*-0?(\d{1,2})(?::?00)?$/, 'Etc/GMT+$1'],
  [/^spec\.proxy\.https?$/, /^(?=[\w.-]+:\d+$)/, 'http://'],
  [/^spec\.proxy\.noProxy\./, /^\*(?=\.[\w.-]+$)|^https?:\/\//, ''],
  [/\.scopes?(?:\.\d+)?$/, /^(?:org:)?([\w.*-]+)(?:\/\**)?$/, 'org:$1'],
  [/\.scopes?(?:\.\d+)?$/, /^(?:\w+:)?([\w.-]+\/[\w.*-]+)$/, 'repo:$1'],
  [/\.giteas\.\d+$|tokenBindings\.\d+\.url$/, /^([\w-]+(?:\.[\w-]+)+(?::\d+)?)\/?$/, 'https://$1'],
  [/\.registries\.\d+$/, /^(?:\w+:\/\/)?([\w.*-]+(?::\d+)?)(?:\/.*)?$/, '$1'],
  [/\.images\.\d+$/, /^\w+:\/\/(?=[^/]+[.:])/, ''],
  [/\.images\.\d+$/, /^(?:\w+:\/\/)?(?=[a-z0-9-]+(?:\/|$|:))/, 'docker.io/'],
  [/\.(?:secrets|queues|projects|serviceAccounts)\.\d+$|\.secret$/, /^.+[/:](?=[a-z0-9.*-]+$)/, ''],
  [/\.podTemplateFields\.\d+$/, /^\.?(?:podTemplate\.)?(?:spec\.)?(?=\w)/, 'spec.'],
  [/^spec\.exceptions\.\d+\.groups\./, /^(?=[a-z0-9.*-]+$)/, '*/'],
  [/^spec\.runnerConfig\./, /^(\d+)$/, '$1s'],
  [/\.until$/, /^(\d\d)\.(\d\d)\.(\d{4})$/, '$3-$2-$1'],
];

/** Returns the likely meaning of a string of another form, if there is one. It repeats nothing that may hold a password. */
function formInstead(path: Path, around: Surroundings): string {
  const written = valueAt(around.value, path);
  const [value, pathName] = [String(written), path.join('.')];
  if (typeof written !== 'string' && typeof written !== 'number') return '';
  const isGood = (text: string) => schemaAt(around.schema, path)?.safeParse(text).success === true;
  if (/^ | $/.test(value) && isGood(value.trim())) return '; remove the spaces around it';
  const [, form, meant] = FORMS.find(([places, each]) => places.test(pathName) && each.test(value)) ?? [];
  const text = form === undefined || meant === undefined ? value : value.replace(form, meant);
  if (text !== value && isGood(text)) return `; write ${quoted(text)}`;
  if (typeof path.at(-1) === 'number' && value.includes(' - '))
    return '. If " - " begins an item of its own, align its dash with the others';
  if (GITEA.test(pathName) && value.includes('@')) return '. If a password of it is real, revoke it';
  if (/\.(?:requests|limits)\.[^.]+$/.test(pathName)) return asWanted(path, 'a quantity', value);
  return nameInstead(path, around);
}

/** An owner, perhaps with a repository, in the notation of a browser, of git, of a mention or of a policy. */
const OWNED =
  /^(?:https?:\/\/[^/]+\/|(?:ssh:\/\/)?git@[^/:]+[:/]|(?:org|user|repo):|@)?([\w.-]+)(?:\/([\w.-]+?)(?:\.git)?)?\/?(?:\*)?$/;

const NO_NAME = '; write the name that stands in the address of its page';

/** Returns the right form of an owner or a repository in another notation. */
function ownerInstead(kind: string, text: string, { schema }: Surroundings): string {
  const [, owner, repo] = OWNED.exec(text) ?? [];
  if (owner === undefined) return text.includes('/') ? '' : NO_NAME;
  if (repo !== undefined && kind !== 'repo')
    return `; for one repository write "scope: repo" and "repo: ${owner}/${repo}"`;
  const name = repo === undefined ? owner : `${owner}/${repo}`;
  const isBetter = name !== text && schemaAt(schema, ['spec', kind])?.safeParse(name).success;
  return isBetter ? `; write "${kind}: ${name}"` : '';
}

/** A name in capitals or with underscores, as Kubernetes takes it. An owner or a repository in another notation. */
function nameInstead(path: Path, around: Surroundings): string {
  const value = String(valueAt(around.value, path));
  const [, kind] = /^spec\.(org|user|repo)$/.exec(path.join('.')) ?? [];
  if (kind !== undefined) return ownerInstead(kind, value, around);
  if (/Ref\.name$/.test(path.join('.')) && /^[a-z-]+\/[a-z][a-z0-9.-]*$/.test(value))
    return '; write the name only, without its namespace';
  const isName = /^metadata\.(?:name|namespace)$/.test(path.join('.')) && /^[\w.-]{1,63}$/.test(value);
  const name = isName ? dnsLabelOf(value) : value.toLowerCase();
  const isBetter = name !== value && schemaAt(around.schema, path)?.safeParse(name).success;
  return isBetter ? `; write "${typeof path.at(-1) === 'number' ? '' : `${path.at(-1)}: `}${name}"` : '';
}

/** The lines for a scope that names an owner or a repository in place of its kind. */
function scopeInstead(text: string, around: Surroundings): string {
  const [, owner, repo] = OWNED.exec(text) ?? [];
  if (repo !== undefined) return `; write "scope: repo" and "repo: ${owner}/${repo}"`;
  const kind = text.startsWith('user:') || valueAt(around.value, ['spec', 'user']) !== undefined ? 'user' : 'org';
  const isNamed = valueAt(around.value, ['spec', kind]) !== undefined;
  const name = owner === undefined ? `"${kind}: …" with the name in the address of its page` : `"${kind}: ${owner}"`;
  return `; write "scope: ${kind}"${isNamed ? '' : ` and ${name}`}`;
}

/** `- ubuntu-latest: docker://node` is a mapping for YAML. The label that was meant. */
function labelOf(path: Path, value: unknown): string | undefined {
  if (!/\.(?:labels|defaultLabels|scopes)\.\d+$/.test(path.join('.')) || !isMapping(value)) return undefined;
  const [entry, another] = Object.entries(value);
  return entry && !another && typeof entry[1] === 'string' ? entry.join(':') : undefined;
}

function wrongChoice(path: Path, values: readonly unknown[], around: Surroundings): string {
  const choices = values.map(String);
  const value = valueAt(around.value, path);
  const choice = choices.length === 1 ? choices[0] : `one of ${choices.join(', ')}`;
  if (value === undefined) return `is required: ${choice}${exampleOf(path)}`;
  if (path.at(-1) === 'docker_host')
    return 'is up to containerMode: remove the line. The only choice, "-", keeps docker from CI jobs';
  // ARC's `containerMode: {type: dind}`.
  const type = isMapping(value) ? value['type'] : undefined;
  const ofType = typeof type === 'string' ? (meantBy(type, OTHER_VALUES, choices) ?? type) : '';
  if (choices.includes(ofType)) return `must be ${choice}, not a mapping; write "${path.at(-1)}: ${ofType}"`;
  if (Array.isArray(value) && value.length === 1 && choices.includes(String(value[0])))
    return `must be ${choice}, not a list; write ${value[0]}, without brackets`;
  const [from, to] = String(value)
    .split('-', 2)
    .map((end) => choices.findIndex((each) => end.toLowerCase().startsWith(each.toLowerCase())));
  if (from !== undefined && to !== undefined && from >= 0 && to > from)
    return `must be ${choice}, not ${describe(path, value)}; write ${choices.slice(from, to + 1).join(', ')}`;
  const near =
    typeof value === 'string'
      ? (meantBy(value.toLowerCase(), OTHER_VALUES, choices) ??
        nearestName(value, choices) ??
        choices.find(
          (each) => each.length > 2 && /^[a-z]+$/i.test(value) && value.toLowerCase().startsWith(each.toLowerCase()),
        ))
      : undefined;
  if (near === undefined && path.join('.') === 'spec.scope' && typeof value === 'string' && value !== '')
    return `must be ${choice}, not ${describe(path, value)}${scopeInstead(value, around)}`;
  return `must be ${choice}, not ${describe(path, value)}${near && choices.length > 1 ? `; did you mean "${near}"?` : ''}`;
}

/** Returns the known name that another word means. @param otherWords our names by other words */
function meantBy(word: string, otherWords: Readonly<Record<string, string>>, knownNames: readonly string[]) {
  const meantWord = Object.hasOwn(otherWords, word) ? otherWords[word] : undefined;
  return knownNames.find((name) => name === meantWord);
}

/** The only unions: a list or `false`, and a quantity as a string or number. */
function wrongUnion(path: Path, issue: z.core.$ZodIssueInvalidUnion, around: Surroundings): string {
  const value = valueAt(around.value, path);
  if (issue.errors.some((branch) => branch.some((inner) => inner.code === 'invalid_value'))) {
    const isFalse = /^(?:false|no|none|off)$/i.test(String(value));
    const instead = isFalse ? '; write "defaultLabels: false"' : asWanted(path, 'a list', value);
    return `must be a list of labels or false, not ${describe(path, value)}${instead}`;
  }
  if (isMapping(value) && /^(?:requests|limits)$/.test(String(path.at(-1))))
    return `counts as one with the other: write "${path.at(-2)}: {${Object.keys(value).join(': …, ')}: …}"`;
  const writtenText = around.writtenAt(path);
  const whole = typeof value === 'number' ? notWhole(String(path.at(-1)), value) : undefined;
  if (whole !== undefined) return whole;
  if (typeof value === 'number' && writtenText !== undefined)
    return `must be a whole number or quoted: "${writtenText}"`;
  return `must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi", not ${describe(path, value)}`;
}

function wrongSize(path: Path, issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, around: Surroundings): string {
  const limit = issue.code === 'too_small' ? `at least ${issue.minimum}` : `at most ${issue.maximum}`;
  const value = valueAt(around.value, path);
  if (issue.origin === 'array') return `must have ${limit} entries`;
  if (issue.origin === 'string') return value === '' ? 'must not be empty' : `must have ${limit} characters`;
  return `must be ${limit}, not ${describe(path, value)}${otherUnit(path, value, issue)}`;
}

/** Returns the advice for seconds instead of minutes, or milliseconds instead of seconds. */
function otherUnit(path: Path, value: unknown, issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const [, unit] = /(^minutes|Seconds)$/.exec(String(path.at(-1))) ?? [];
  const [per, what] = unit === 'minutes' ? [60, 'seconds'] : [1000, 'milliseconds'];
  const isMeant = unit && issue.code === 'too_big' && Number(value) % per === 0 && Number(value) / per <= issue.maximum;
  return isMeant ? `; if these are ${what}, write "${path.at(-1)}: ${Number(value) / per}"` : '';
}

/** `; got the string "x"`. Nothing for a mapping or a list, which would bury the sentence. */
function received(path: Path, around: Surroundings): string {
  const value = valueAt(around.value, path);
  return isShown(path) && (typeof value === 'string' || typeof value === 'number')
    ? `; got ${describe(path, value)}`
    : '';
}

function isShown(path: Path): boolean {
  return !NEVER_SHOWN.test(path.join('.'));
}

function describe(path: Path, value: unknown): string {
  if (value === null) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (!isShown(path) && typeof value !== 'object') return `a ${typeof value}`;
  if (typeof value === 'number' || typeof value === 'boolean') return `the ${typeof value} ${value}`;
  if (typeof value !== 'string') return 'a mapping';
  if (TOKEN.test(value)) return 'a string';
  return value === '' ? 'an empty string' : `the string ${quoted(value.replace(LONG_WAY, '$1…'))}`;
}

/** Examples for fields that are often missing or wrong, by path. No field inside of a list is among them. */
const EXAMPLES: Readonly<Record<string, string>> = {
  'metadata.name': 'name: ci',
  'spec.scope': 'scope: org',
  'spec.gitea': 'gitea: {url: https://gitea.example.com}',
  'spec.gitea.url': 'url: https://gitea.example.com',
  'spec.maxActiveRunners': 'maxActiveRunners: 10',
  'spec.registration': 'registration: {by: serve}',
  'spec.registrationToken': 'registrationToken: {secretRef: {name: gitea-runner, key: registration-token}}',
  'spec.registrationToken.secretRef': 'secretRef: {name: gitea-runner, key: registration-token}',
  'spec.registrationToken.secretRef.name': 'name: gitea-runner',
  'spec.registrationToken.secretRef.key': 'key: registration-token',
  'spec.authToken': 'authToken: {secretRef: {name: gitea-api, key: token}}',
  'spec.authToken.secretRef': 'secretRef: {name: gitea-api, key: token}',
  'spec.authToken.secretRef.name': 'name: gitea-api',
  'spec.authToken.secretRef.key': 'key: token',
  'spec.cache.secretRef': 'secretRef: {name: runner-cache, key: secret}',
};

/** `, e.g. "scope: org"` */
export function exampleOf(path: Path): string {
  const example = EXAMPLES[path.join('.')];
  return example === undefined ? '' : `, e.g. "${example}"`;
}

/** `${HOST}`, `$(HOST)`, `$HOST`, `{{ .host }}`, `<your-host>` and `%HOST%`, but not what a URL escapes. */
const PLACEHOLDER =
  /\$\{\{?[^${}]*\}\}?|\$\([\w.-]+\)|(?<![\w$])\$[A-Za-z_]\w*|\{\{[^}]*\}{0,2}|<[A-Za-z][\w .-]*>|%(?![\dA-Fa-f]{2})[A-Z]\w*%/;
/** Fields whose text a shell, Kubernetes, a driver or a person reads: there it may have a meaning. */
const READ_BY_OTHERS =
  /(?:^status|^spec\.(?:notify|runnerConfig|setupCommand)|\b(?:annotations|args|command|env|httpGet|options|subPathExpr|volumeAttributes))(?:\.|$)/;

/** Finds placeholders of a template that nobody filled in. */
export function placeholdersIn(text: string, path: Path): readonly FieldProblem[] {
  const [found] = PLACEHOLDER.exec(path.at(-1) === 'claimName' ? text.replaceAll(OF_REPOSITORY, '') : text) ?? [];
  const isGoodLabel = found?.startsWith('$') === false && /^(?:labels|defaultLabels)$/.test(String(path[1]));
  if (found === undefined || isGoodLabel || READ_BY_OTHERS.test(path.join('.'))) return [];
  const why = found.startsWith('${{') ? 'belongs into a workflow' : 'nobody has filled in';
  const message = `must be the value itself, not ${isShown(path) ? quoted(found) : 'a placeholder'}, which ${why}${exampleOf(path)}`;
  return [{ path, message, code: 'GR-INPUT-05' }];
}

/** Fields of a pod that a template may have, and that people write elsewhere. */
const OF_POD = wordSet(
  'affinity containers dnsConfig dnsPolicy hostAliases imagePullSecrets initContainers nodeSelector priorityClassName runtimeClassName ' +
    'securityContext serviceAccountName tolerations topologySpreadConstraints volumes',
);
const OF_CONTAINER = wordSet('env envFrom imagePullPolicy volumeMounts');

/** Returns the right place of a pod's field. Undefined for any other name. */
function placeInPod(name: string): string | undefined {
  if (OF_POD.has(name)) return `podTemplate: {spec: {${name}: …}}`;
  return OF_CONTAINER.has(name) ? `podTemplate: {spec: {containers: [{name: runner, ${name}: …}]}}` : undefined;
}
