/**
 * What of an old pod can be a podTemplate. `validate` decides: each field that it refuses is taken away, and told with its reason.
 * So no list of known fields can be out of date.
 */

import * as z from 'zod';
import type { FieldPath, Mapping } from '../../config/pods/pod-schema.ts';
import { askedWithoutPolicy } from '../../config/policy/without-policy.ts';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { valueAt } from '../../config/runnergroup/paths.ts';
import { placeText } from '../../plan/final-pods.ts';
import { faultsOfTemplate } from '../../plan/group-pods.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import { cut } from '../../shared/printable.ts';
import type { OldContainer } from './import-shapes.ts';

type Written = Parameters<typeof runnerGroupFromObject>[0];

/** Each round takes one field away: another one may then be judged otherwise. */
const MOST_ROUNDS = 200;
/** Characters of a value in a comment. */
const SHOWN = 200;
/** Names of what may be a secret: it is not for Git. */
const MAY_BE_SECRET = /token|secret|passw|credential|private|api_?key|access_?key|auth/i;

/** @param name of a variable, or all of a text */
export function mayBeSecret(name: string, value = name): boolean {
  return MAY_BE_SECRET.test(name) || /:\/\/[^/\s"]*@|[\s"]-u[\s"]/.test(value);
}

/** The podTemplate of this spec, without what a runner cannot have. `notes`: a sentence for each field that is lost, or needs a policy. */
export async function fittingTemplate(
  written: Omit<Written, 'spec'>,
  spec: Readonly<Record<string, unknown>>,
): Promise<{ readonly podTemplate: Mapping; readonly notes: readonly string[] }> {
  const template = structuredClone(spec['podTemplate'] ?? {}) as Mapping;
  const notes = [...plainSecrets(template)];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const read = runnerGroupFromObject({ ...written, spec: { ...spec, podTemplate: template } });
    if ('problem' in read) break;
    const faults = await faultsOfTemplate(read.group);
    const fault = faults.findLast(({ path }) => path.length > 0 && valueAt(template, path.slice(0, -1)) !== undefined);
    if (!fault) {
      notes.push(...unmounted(template));
      const asked = await askedWithoutPolicy([read.group]);
      const needs = asked.map(
        ({ path }) => `${path.slice(2).join('.')}: only a policy can allow it (${manual('policy.md')}).`,
      );
      return { podTemplate: template, notes: [...notes, ...needs] };
    }
    notes.push(...remove(template, fault.path, fault.message));
  }
  return { podTemplate: template, notes };
}

/** Volumes of which no container has a mount. */
function unmounted(template: Mapping): readonly string[] {
  const { volumes = [], containers = [], initContainers = [] } = Shape.parse(template).spec ?? {};
  const mounts = [...containers, ...initContainers].flatMap((each) => [...each.volumeMounts, ...each.volumeDevices]);
  const left = volumes.filter(({ name }) => !mounts.some((mount) => mount.name === name));
  return left.flatMap(({ name }) => {
    const at = (valueAt(template, ['spec', 'volumes']) as readonly Mapping[]).findIndex(
      (each) => each['name'] === name,
    );
    return remove(template, ['spec', 'volumes', at], 'nothing mounts it here');
  });
}

const Names = z.array(z.looseObject({ name: z.string() })).default([]);
const Mounting = z.array(z.looseObject({ volumeMounts: Names, volumeDevices: Names })).optional();
const Shape = z.looseObject({
  spec: z.looseObject({ volumes: Names, containers: Mounting, initContainers: Mounting }).optional(),
});

/** Takes away commands and annotations that may hold a secret. Variables are chosen before. */
function plainSecrets(template: Mapping): readonly string[] {
  const found: FieldPath[] = [];
  const visit = (value: unknown, path: FieldPath): void => {
    const last = String(path.at(-1));
    const isText =
      last === 'command' || last === 'args' ? JSON.stringify(value) : path.at(-2) === 'annotations' && last;
    if (isText && mayBeSecret(isText)) found.push(path);
    else if (Array.isArray(value)) for (const [index, each] of value.entries()) visit(each, [...path, index]);
    else if (typeof value === 'object' && value !== null)
      for (const [key, each] of Object.entries(value)) visit(each, [...path, key]);
  };
  visit(template, []);
  return found.toReversed().flatMap((path) => remove(template, path, 'it may hold a secret: put that into a Secret'));
}

/** Of a volume or a mount all goes. A part that must be there goes with what it is a part of. */
function remove(template: Mapping, path: FieldPath, message: string): readonly string[] {
  const isPart = message === 'is no volume of this pod' || valueAt(template, path) === undefined;
  const mount = path.indexOf('volumeMounts');
  const isWhole = path[1] === 'volumes' || mount >= 0;
  const part = isPart ? path.slice(0, -1) : path;
  const target = isWhole ? path.slice(0, Math.max(3, mount + 2)) : part;
  const parent = valueAt(template, target.slice(0, -1));
  const value = valueAt(template, target);
  if (parent === undefined || value === undefined) return [];
  const note = lostNote(placeText(template, target), value, message);
  takeAway(template, target);
  return [note];
}

/** And what holds nothing more since: an empty list or mapping, a container of which the name is left. */
function takeAway(template: Mapping, path: FieldPath): void {
  const above = path.slice(0, -1);
  const parent = valueAt(template, above);
  const last = path.at(-1) ?? '';
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete (parent as Record<string, unknown>)[last];
  const left = Object.keys(parent ?? {});
  const isContainer = typeof above.at(-1) === 'number' && /^(?:containers|initContainers)$/.test(String(above.at(-2)));
  if (above.length > 0 && (left.length === 0 || (isContainer && left.join() === 'name'))) takeAway(template, above);
}

/** A sentence where variables name a place that nothing is mounted at any more. */
export function pointsInto(
  containers: readonly { readonly env?: unknown }[],
  lost: OldContainer['volumeMounts'],
): readonly string[] {
  const env = containers.flatMap((container) => (container.env ?? []) as OldContainer['env']);
  const found = env.filter(({ value = '' }) => lost.some(({ mountPath }) => value.includes(mountPath)));
  const names = [...new Set(found.map(({ name }) => name))].join(', ');
  return names === '' ? [] : [`These variables name places that are not mounted: ${names}. Remove or correct them.`];
}

/** Kubernetes reads null as absent. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => each !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls(entry)]));
}

/** Spec without what is undefined, an empty list or an empty mapping. */
export function filled(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isFilled = (value: unknown): boolean => typeof value !== 'object' || Object.keys(value ?? {}).length > 0;
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined && isFilled(value)));
}

export function lostNote(place: string, value: unknown, why: string): string {
  const text = JSON.stringify(value);
  const shown = mayBeSecret(`${place} ${text}`) ? '' : ` ${cut(text, SHOWN)}`;
  return `Not carried over: ${place}:${shown} (${why})`;
}
