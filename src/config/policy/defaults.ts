/**
 * Returns the policy's values for fields that a group lacks (docs/adr/0098). Precedence: the group, its entry of
 * `groups`, its entry of `namespaces`, the policy, the installation. Of a podTemplate each field counts by itself.
 */
import { statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { mergeTemplates } from '../pods/apply-template.ts';
import type { Mapping } from '../pods/pod-schema.ts';
import { valueAt } from '../runnergroup/paths.ts';
import type { GroupDefaults } from '../runnergroup/to-runner-group.ts';
import { allLevels, levelsOf } from './levels.ts';
import { templateFault } from './policy-rules.ts';
import { type Policy, readPolicyFile } from './policy-schema.ts';

/** Returns the defaults of a policy. Undefined: it has none. */
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
