/**
 * Returns the policy's values for fields that a group lacks (docs/adr/0098). Precedence: the group, its entry of
 * `groups`, its entry of `namespaces`, the policy, the installation. Of a podTemplate each field counts by itself.
 */
import { isDeepStrictEqual } from 'node:util';
import { mergeTemplates } from '../pods/apply-template.ts';
import type { Mapping } from '../pods/pod-schema.ts';
import { valueAt } from '../runnergroup/paths.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import type { GroupDefaults } from '../runnergroup/to-runner-group.ts';
import { allLevels, levelsOf } from './levels.ts';
import { templateFault } from './policy-rules.ts';
import type { Policy } from './policy-schema.ts';

/** Returns the defaults of a policy. Undefined: it has none. */
export function defaultsOf(policy: Policy): GroupDefaults | undefined {
  if (allLevels(policy).every(({ defaults }) => defaults === undefined)) return undefined;
  return (group) => {
    const { images, podTemplate, ...whole } = nearestDefaults(policy, group);
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

/** Returns each default from the nearest level that has it. */
function nearestDefaults(policy: Policy, group: RunnerGroup): NonNullable<Policy['defaults']> {
  const [near, wide] = levelsOf(policy, group).entries;
  return { ...policy.defaults, ...wide?.defaults, ...near?.defaults };
}

/** Merges a podTemplate over the default. One that is unreadable, or has all of the default, stays as written. */
function mergedOver(podTemplate: Mapping, ownTemplate: unknown): unknown {
  if (ownTemplate === undefined) return podTemplate;
  if (templateFault(ownTemplate)) return ownTemplate;
  const merged = mergeTemplates(podTemplate, ownTemplate as Mapping);
  return isDeepStrictEqual(merged, ownTemplate) ? ownTemplate : merged;
}
