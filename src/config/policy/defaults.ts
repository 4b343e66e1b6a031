/**
 * Returns the policy's values for fields that a group lacks (docs/adr/0098). Precedence: the group, its entry of
 * `groups`, its entry of `namespaces`, the policy, the installation. Of a podTemplate each field counts by itself.
 */
import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { mergeTemplates } from '../pods/apply-template.ts';
import type { Mapping } from '../pods/pod-schema.ts';
import type { Path } from '../runnergroup/documents.ts';
import { stepsOf, valueAt } from '../runnergroup/paths.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { writtenPath } from '../runnergroup/sizes.ts';
import type { GroupDefaults } from '../runnergroup/to-runner-group.ts';
import { allLevels, levelsOf, placedLevels } from './levels.ts';
import { templateFault } from './policy-rules.ts';
import { type Policy, readPolicyFile } from './policy-schema.ts';

export function defaultsOf(policy: Policy): GroupDefaults | undefined {
  if (allLevels(policy).every(({ defaults }) => defaults === undefined)) return undefined;
  return (group) => {
    const [near, wide] = levelsOf(policy, group).entries;
    const { images, podTemplate, ...whole } = { ...policy.defaults, ...wide?.defaults, ...near?.defaults };
    const spec = group.manifest['spec'] as Readonly<Record<string, unknown>>;
    const withTemplate = <T extends object>(fields: T, isSize: boolean): T => {
      const ownTemplate = valueAt(fields, ['podTemplate']);
      if (podTemplate === undefined || (isSize && ownTemplate === undefined)) return fields;
      return { ...fields, podTemplate: mergedOver(podTemplate as Mapping, ownTemplate) };
    };
    const sizes = valueAt(spec, ['sizes']);
    const withSizes = Array.isArray(sizes) && { sizes: sizes.map((size: object) => withTemplate(size, true)) };
    return { spec: { ...whole, ...withTemplate(spec, false), ...withSizes }, images };
  };
}

/** Returns the place in the policy of a value that its defaults gave a group. Undefined: it is the group's own. */
export function originOf(policy: Policy, group: RunnerGroup, fieldPath: string): Path | undefined {
  const [, field = '', ...below] = stepsOf(fieldPath);
  const own = valueAt(group.manifest, writtenPath(group, ['spec', field]));
  const ofMode = ['dind', 'host'].includes(group.containerMode) ? 'runner' : 'rootless';
  const [first, ...others] = field === 'image' ? ['images', ofMode] : [field, ...below];
  const levels = [...levelsOf(policy, group).entries, policy];
  const level = levels.find(({ defaults }) => valueAt(defaults, [first]) !== undefined);
  const [levelPath = []] = placedLevels(policy).find(([, each]) => each === level) ?? [];
  const place = placeInDefault(valueAt(level, ['defaults', first]), own, group.podTemplate, others);
  return place && [...levelPath, 'defaults', first, ...place];
}

/** Finds a value of a merged podTemplate in the default. Undefined: the group has it, or a part of it. */
function placeInDefault(ofPolicy: unknown, own: unknown, merged: unknown, path: Path): Path | undefined {
  const [step, ...below] = path;
  if (ofPolicy === undefined) return undefined;
  if (own === undefined) return valueAt(ofPolicy, path) === undefined ? undefined : path;
  if (step === undefined) return undefined;
  const element = valueAt(merged, [step]);
  const nameOf = (each: unknown) => valueAt(each, ['name']) ?? each;
  // Lists are merged by name: an element may stand elsewhere in each of them.
  const stepIn = (value: unknown) =>
    Array.isArray(value) ? value.findIndex((each) => isDeepStrictEqual(nameOf(each), nameOf(element))) : step;
  const [atPolicy, atOwn] = [stepIn(ofPolicy), stepIn(own)];
  const place = placeInDefault(valueAt(ofPolicy, [atPolicy]), valueAt(own, [atOwn]), element, below);
  return place && [atPolicy, ...place];
}

/** Merges a podTemplate over the default. One that is unreadable, or has all of the default, stays as written. */
function mergedOver(podTemplate: Mapping, ownTemplate: unknown): unknown {
  if (ownTemplate === undefined) return podTemplate;
  if (templateFault(ownTemplate)) return ownTemplate;
  const merged = mergeTemplates(podTemplate, ownTemplate as Mapping);
  return isDeepStrictEqual(merged, ownTemplate) ? ownTemplate : merged;
}

/**
 * Returns a function that reads the current defaults of the policy file. It returns the same object until they change,
 * so that groups stay the same objects, too. While the file cannot be read, the last defaults hold: all groups are
 * refused anyway (looks/targets.ts).
 */
export function policyDefaults(file: string): () => GroupDefaults | undefined {
  let state: string | undefined;
  let lastPolicy: string | undefined;
  let defaults: GroupDefaults | undefined;
  return () => {
    // A mounted ConfigMap changes by another file in its place.
    const { ctimeMs, ino, mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    const now = [ctimeMs, ino, mtimeMs, size].join();
    if (now === state) return defaults;
    state = now;
    const read = readPolicyFile(file);
    const policyText = 'policy' in read ? JSON.stringify(read.policy) : lastPolicy;
    if ('policy' in read && policyText !== lastPolicy) defaults = defaultsOf(read.policy);
    lastPolicy = policyText;
    return defaults;
  };
}
