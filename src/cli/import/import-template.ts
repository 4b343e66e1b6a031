/** Makes a podTemplate from an old pod. Each field that `validate` refuses is removed and named, so no list is out of date. */
import * as z from 'zod';
import { asksOf } from '../../config/pods/asks.ts';
import type { FieldPath, Mapping, TemplateFault } from '../../config/pods/pod-schema.ts';
import { askedWithoutPolicy } from '../../config/policy/without-policy.ts';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { isMapping, pathText, valueAt } from '../../config/runnergroup/paths.ts';
import { placeText } from '../../plan/final-pods.ts';
import { faultsOfPods } from '../../plan/own-pod.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { cut } from '../../shared/printable.ts';
import type { OldContainer } from './import-shapes.ts';

/** Most rounds. Each round removes one field, and the others may then be judged otherwise. */
const MOST_ROUNDS = 200;
/** Characters of a value in a comment. */
const SHOWN = 200;
/** Words in the name of a secret, which does not belong into Git. `author` is not one, nor is the name of a Secret. */
const SECRET = '(?:token|secret|passw|credential|private|api[_-]?key|access[_-]?key|auth(?!or(?!i[sz])))';
const IS_PLACE = '(?<!name|ref|file|path|dir)';
const SECRET_NAME = new RegExp(`${SECRET}.*${IS_PLACE}$`, 'is');
/** Values that are not secret: substitutions of a shell, and switches. */
const NO_SECRET = /^(?:\$[({\w].*|true|false)?$/s;
const LITERAL = String.raw`["'\\]*(?!(?:bearer|basic|token)\s+["'\\]*\$)(?![\s"'\\$<&|;)-]|id=|$)`;
/** A value that is written out: `TOKEN=abc`, `password: abc`, `--token abc`, `-u me:abc`, `login -p abc`, `https://me:abc@host`, or a long key. */
const SECRET_IN_TEXT = new RegExp(
  [
    String.raw`${SECRET}[\w-]*${IS_PLACE}["']?\s*[:=]\s*${LITERAL}`,
    String.raw`(?:^|[\s"'])--?[\w-]*${SECRET}[\w-]*${IS_PLACE}["']?[\s=]+${LITERAL}`,
    String.raw`(?:^|\s)-u[\s=]*["']?[^\s"'$:]+:[^\s"'$]|\blogin\b[^\n;|&]*\s-p[\s=]*["']?[^\s"'$]|://[^/\s"'$]*@`,
    String.raw`(?<![\w:])(?=[a-z]*\d)[\da-z]{32,}(?!\w)|-----BEGIN [\w ]*PRIVATE`,
  ].join('|'),
  'i',
);

/** Annotations by which Vault mounts secrets, maybe the token of the old runner. */
const OF_VAULT = /^vault\.hashicorp\.com\//;
const BY_VAULT = 'Vault would mount its secrets where CI jobs read them: add those that they need';

/** Matches names of checksums, e.g. the annotation `checksum/config`. */
const CHECKSUM = /checksum|hash|digest|sha\d/i;

/** True if a value may be secret, by its name or by its text. A word in a command line makes no secret. */
export function mayBeSecret(name: string, value: string): boolean {
  if (CHECKSUM.test(name) && /^[\da-f]+$/i.test(value)) return false;
  return !NO_SECRET.test(value) && (SECRET_NAME.test(name) || SECRET_IN_TEXT.test(value));
}

/** True if a string below may be secret. The words of a command are one string. */
function holdsSecret(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return mayBeSecret(name, String(value));
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object'))
    return mayBeSecret(name, value.join(' '));
  const ownName = String(valueAt(value, ['name']) ?? name);
  // The name of {name: TOKEN, value: x} is the name of x.
  const belongsToNameOfElement = (key: string) => Array.isArray(value) || key === 'value';
  return Object.entries(value).some(([key, each]) => holdsSecret(each, belongsToNameOfElement(key) ? ownName : key));
}

/**
 * The podTemplate of this spec, without what a runner cannot have. `notes`: a sentence for each field that is lost, or
 * needs a policy. @param tokenSecrets Secrets with tokens of the old runner
 */
export async function fittingTemplate(
  groupFields: Omit<Parameters<typeof runnerGroupFromObject>[0], 'spec'>,
  spec: Readonly<Record<string, unknown>>,
  tokenSecrets: readonly string[],
): Promise<{ readonly podTemplate: Mapping; readonly notes: readonly string[] }> {
  const template = structuredClone(spec['podTemplate'] ?? {}) as Mapping;
  const notes: string[] = [];
  const mounts = mountsOf(template);
  const mountsOfSharedVolumes = mounts.filter((one) => mounts.some((each) => each !== one && each.name === one.name));
  // Each round removes one fault. Removing one may show or end another.
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const read = runnerGroupFromObject({ ...groupFields, spec: { ...spec, podTemplate: template } });
    if ('problem' in read) break;
    const ofPods = faultsOfPods(read.group)
      .filter(({ path }) => path[1] === 'podTemplate')
      .map((each) => ({ ...each, path: each.path.slice(2) }));
    const faults = [...plainSecrets(template), ...oldTokensIn(template, tokenSecrets), ...ofPods];
    const fault = faults.findLast(({ path }) => path.length > 0);
    const lost = fault ? remove(template, fault.path, fault.message) : unmounted(template, mountsOfSharedVolumes);
    notes.push(...lost);
    if (lost.length > 0) continue;
    const permissions = await askedWithoutPolicy([read.group]);
    const why = `only a policy can allow it (${manual('policy.md')}).`;
    notes.push(...permissions.map(({ path }) => `${path.slice(2).join('.')}: ${why}`));
    break;
  }
  return { podTemplate: template, notes };
}

function oldTokensIn(template: Mapping, tokenSecrets: readonly string[]) {
  const asks = asksOf(template).filter(({ kind, value }) => kind === 'secret' && tokenSecrets.includes(value));
  const message = 'names a Secret with a token of the old runner, which CI jobs could read';
  return asks.map(({ path }) => ({ path, message }));
}

function mountsOf(template: Mapping) {
  const { spec } = Shape.parse(template);
  return (['containers', 'initContainers'] as const).flatMap((list) =>
    (spec?.[list] ?? []).flatMap((container, index) =>
      (['volumeMounts', 'volumeDevices'] as const).flatMap((field) =>
        container[field].map(({ name }, mountIndex) => ({ name, path: ['spec', list, index, field, mountIndex] })),
      ),
    ),
  );
}

/** Removes a volume that no container mounts, or the last mount of an empty volume that several shared. */
function unmounted(template: Mapping, mountsOfSharedVolumes: ReturnType<typeof mountsOf>): readonly string[] {
  const { volumes = [] } = Shape.parse(template).spec ?? {};
  const mounts = mountsOf(template);
  const faults = volumes.flatMap(({ name, emptyDir }, volumeIndex) => {
    const [mount, otherMount] = mounts.filter((each) => each.name === name);
    if (!mount) return [{ path: ['spec', 'volumes', volumeIndex], message: 'nothing mounts it here' }];
    const wasShared = emptyDir !== undefined && mountsOfSharedVolumes.some((each) => each.name === name);
    if (otherMount || !wasShared) return [];
    return [{ path: mount.path, message: 'what shared its volume is not carried over' }];
  });
  const fault = faults.at(-1);
  return fault ? remove(template, fault.path, fault.message) : [];
}

const Names = z.array(z.looseObject({ name: z.string() })).default([]);
const Mounting = z.array(z.looseObject({ volumeMounts: Names, volumeDevices: Names })).optional();
const Shape = z.looseObject({
  spec: z.looseObject({ volumes: Names, containers: Mounting, initContainers: Mounting }).optional(),
});

/** Commands and annotations that may hold a secret; a container goes with its command. Variables are chosen before. */
function plainSecrets(value: unknown, path: FieldPath = []): readonly TemplateFault[] {
  const last = String(path.at(-1));
  if (path.at(-2) === 'annotations' && OF_VAULT.test(last)) return [{ path, message: BY_VAULT }];
  const isCommand = last === 'command' || last === 'args';
  const isWhole = isCommand && typeof path.at(-2) === 'number';
  const message = `${isWhole ? `its ${last}` : 'it'} may hold a secret: put that into a Secret`;
  if ((isCommand || path.at(-2) === 'annotations') && holdsSecret(value, last))
    return [{ path: isWhole ? path.slice(0, -1) : path, message }];
  const keys = isMapping(value) ? Object.keys(value) : [];
  const steps = Array.isArray(value) ? [...value.keys()] : keys;
  return steps.flatMap((step) => plainSecrets(valueAt(value, [step]), [...path, step]));
}

/** Lists whose elements mean nothing without one of their parts. */
const WHOLE_ELEMENTS: ReadonlySet<unknown> = new Set(['volumes', 'volumeMounts', 'volumeDevices', 'env', 'envFrom']);

/** Removes a field and returns the notes. An element that lacks a part goes as a whole. */
function remove(template: Mapping, path: FieldPath, message: string): readonly string[] {
  const list = path.findIndex((step) => WHOLE_ELEMENTS.has(step));
  const whole = path.slice(0, list >= 0 ? list + 2 : path.length);
  const emptied = emptiedBy(template, whole);
  if (emptied) return remove(template, emptied, `mounts only what is not carried over: ${message}`);
  let target = whole;
  while (target.length > 1 && valueAt(template, target) === undefined) target = target.slice(0, -1);
  if (target.length < 2) return [];
  const why = target === whole ? message : `${pathText(whole.slice(target.length))} ${message}`;
  const note = lostNote(placeText(template, target), valueAt(template, target), why);
  const name = target[1] === 'volumes' ? valueAt(template, [...target, 'name']) : undefined;
  takeAway(template, target);
  // A volume of ours may have the same name.
  const mounted = mountsOf(template).filter((each) => each.name === name);
  return [note, ...mounted.toReversed().flatMap((each) => remove(template, each.path, 'its volume is not'))];
}

/** The container with no other mount: it could not do its work. Ours have no image here, and stay. */
function emptiedBy(template: Mapping, path: FieldPath): FieldPath | undefined {
  const container = path.slice(0, -2);
  const { image, volumeMounts } = Object(valueAt(template, container));
  return path.at(-2) === 'volumeMounts' && image !== undefined && volumeMounts.length === 1 ? container : undefined;
}

/** Removes a field, and then everything that is empty: a list or mapping, or a container with nothing but a name. */
function takeAway(template: Mapping, path: FieldPath): void {
  const above = path.slice(0, -1);
  const parent = valueAt(template, above);
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as Record<string, unknown>)[last];
  const keptKeys = Object.keys(parent ?? {});
  const isContainer = typeof above.at(-1) === 'number' && /^(?:containers|initContainers)$/.test(String(above.at(-2)));
  if (above.length > 0 && (keptKeys.length === 0 || (isContainer && keptKeys.join() === 'name')))
    takeAway(template, above);
}

/** A sentence where variables name a place that nothing is mounted at any more. */
export function pointsInto(containers: readonly { readonly env?: unknown }[], lost: OldContainer['volumeMounts']) {
  const env = containers.flatMap((container) => (container.env ?? []) as OldContainer['env']);
  const danglingVariables = env.filter(({ value = '' }) => lost.some(({ mountPath }) => value.includes(mountPath)));
  const names = [...new Set(danglingVariables.map(({ name }) => name))].join(', ');
  return names === '' ? [] : [`These variables name places that are not mounted: ${names}. Remove or correct them.`];
}

/** Kubernetes reads null as absent. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls(entry)]));
}

/** Returns the spec without undefined values, empty lists and empty mappings. */
export function filled(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isFilled = (value: unknown): boolean => typeof value !== 'object' || Object.keys(value ?? {}).length > 0;
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && isFilled(value)));
}

/** A note on a value that is left out. A value that may be secret is not shown. */
export function lostNote(place: string, value: unknown, why: string): string {
  const shown = holdsSecret(value, place.replace(/^.*\./s, '')) ? '' : ` ${cut(JSON.stringify(value), SHOWN)}`;
  return `Not carried over: ${place}:${shown} (${why})`;
}
