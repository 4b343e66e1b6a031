/** Rules about the pods of a RunnerGroup. */

import { isMapping } from '../runnergroup/paths.ts';
import { quoted } from '../runnergroup/problems.ts';
import type { RunnerGroup } from '../runnergroup/runner-group.ts';
import { allowedBy, type Finding, type GroupRule, NONE, PROFILE_REASON, type SecurityProfile } from './denial.ts';
import { matchesAny, matchesGlob } from './glob.ts';
import { coversImage, parseImage } from './image.ts';
import type { Policy } from './schema.ts';
import { fieldsBeyond, templateAsks, templateFault } from './template.ts';

/** Fields of a pod that say where the name of a registry leads to. */
const NAMES_OF_HOSTS: readonly string[] = ['spec.hostAliases', 'spec.dnsConfig', 'spec.dnsPolicy'];

export const images: GroupRule = ({ images: allowed }, group) => {
  if (allowed === undefined) return NONE;
  return imagesOf(group).flatMap(({ path, value }): readonly Finding[] => {
    const image = parseImage(value);
    if (image && allowed.some((pattern) => coversImage(pattern, image))) return NONE;
    const what = image ? `is ${quoted(value)}` : `is ${quoted(value)}, which is no image that can be judged`;
    const hint = image?.digest === undefined ? '' : ' (a pattern with a tag covers no image by digest)';
    return [{ path, message: `${what}; ${allowedBy(allowed)}${hint}. Use one of them` }];
  });
};

export const registries: GroupRule = ({ registries: allowed }, group) => {
  if (allowed === undefined) return NONE;
  return imagesOf(group).flatMap(({ path, value }): readonly Finding[] => {
    const image = parseImage(value);
    if (image && allowed.some((pattern) => matchesGlob(pattern, image.registry))) return NONE;
    const from = image ? `comes from ${image.registry}` : `is ${quoted(value)}, which is no image that can be judged`;
    return [{ path, message: `${from}; ${allowedBy(allowed)}. Use an image from there` }];
  });
};

export const securityProfile: GroupRule = ({ securityProfile: rule }, group) => {
  // Without the rule a privileged pod is ours alone to make: what the containerMode needs, and no template with it.
  if (rule === undefined)
    return group.securityProfile === 'privileged' && hasTemplate(group) ? PRIVILEGED_TEMPLATE : NONE;
  const own = group.securityProfile ?? (group.containerMode === 'host' ? 'restricted' : 'privileged');
  const reason = hasReason(group);
  const most = reason ? higher(rule.highest, rule.withReason ?? rule.highest) : rule.highest;
  if (RANK[own] <= RANK[most]) return NONE;
  const is =
    group.securityProfile === undefined
      ? `is not set, which means ${own} with containerMode ${group.containerMode}`
      : `is ${own}`;
  // With docker a pod is privileged, whatever the field says.
  const lower = group.containerMode === 'host' ? `Set it to ${most}` : `Set it to ${most}, with containerMode: host`;
  const advice =
    !reason && rule.withReason !== undefined && RANK[own] <= RANK[rule.withReason]
      ? `${lower}, or say in the annotation ${PROFILE_REASON} why this group needs it`
      : lower;
  return [{ path: 'spec.securityProfile', message: `${is}; the policy allows ${most} at most. ${advice}` }];
};

const PRIVILEGED_TEMPLATE: readonly Finding[] = [
  {
    path: 'spec.securityProfile',
    message: 'is privileged, with a podTemplate. Lower it, or ask for a securityProfile in the policy',
  },
];

function hasTemplate({ podTemplate }: RunnerGroup): boolean {
  return podTemplate !== undefined && podTemplate !== null;
}

export const priorityClasses: GroupRule = ({ priorityClasses: allowed }, group) => {
  const tiers = (group.priorityTiers ?? []).map(({ priorityClassName }, index) => ({
    path: `spec.priorityTiers[${index}].priorityClassName`,
    value: priorityClassName,
  }));
  const named = templateAsks(group, 'priorityClass');
  return notAmong(allowed ?? [], allowed === undefined ? named : [...named, ...tiers], 'the priority class');
};

export const serviceAccounts: GroupRule = ({ serviceAccounts: allowed = [] }, group) =>
  notAmong(allowed, templateAsks(group, 'serviceAccount'), 'the service account');

/** What the other rules ask of a template is worth nothing when it cannot be read, so this rule also denies that. */
export const podTemplateFields: GroupRule = (policy, group) => {
  if (!hasTemplate(group)) return NONE;
  const fault = templateFault(group.podTemplate);
  if (fault !== undefined) return [{ path: fault.path, message: `cannot be judged: ${fault.message}` }];
  const { podTemplateFields: allowed } = policy;
  const beyond = allowed === undefined ? [] : fieldsBeyond(group, allowed);
  const denied = beyond.map((path) => ({ path, message: `${allowedBy(allowed ?? [])}. Remove the field` }));
  return [...denied, ...hostNames(policy, group)];
};

/** A name of a registry means little where the pod may say which host has it. Such a field must be listed by its own name. */
function hostNames(policy: Policy, group: RunnerGroup): readonly Finding[] {
  if (policy.images === undefined && policy.registries === undefined) return NONE;
  const { podTemplateFields: allowed } = policy;
  return templateAsks(group, 'field').flatMap(({ path, value }): readonly Finding[] => {
    // With a list of fields, the list has judged them.
    if (!NAMES_OF_HOSTS.includes(value) || allowed !== undefined) return NONE;
    const message = `changes where names of registries lead to, and the policy restricts images. Remove the field, or ask for ${value} to be listed in podTemplateFields`;
    return [{ path, message }];
  });
}

function imagesOf(group: RunnerGroup): readonly { readonly path: string; readonly value: string }[] {
  return [{ path: 'spec.image', value: group.image }, ...templateAsks(group, 'image')];
}

function notAmong(
  allowed: readonly string[],
  named: readonly { readonly path: string; readonly value: string }[],
  what: string,
): readonly Finding[] {
  const advice = `${allowedBy(allowed)}. Remove the field, or use one that is allowed`;
  return named
    .filter(({ value }) => !matchesAny(allowed, value))
    .map(({ path, value }) => ({ path, message: `names ${what} ${quoted(value)}; ${advice}` }));
}

const RANK: Readonly<Record<SecurityProfile, number>> = { restricted: 0, baseline: 1, privileged: 2 };

function higher(one: SecurityProfile, other: SecurityProfile): SecurityProfile {
  return RANK[one] >= RANK[other] ? one : other;
}

/** A reason is words: letters, more than a few. */
function hasReason({ manifest }: RunnerGroup): boolean {
  const { metadata } = manifest;
  const annotations = isMapping(metadata) ? metadata['annotations'] : undefined;
  const reason =
    isMapping(annotations) && Object.hasOwn(annotations, PROFILE_REASON) ? annotations[PROFILE_REASON] : '';
  return typeof reason === 'string' && /\p{L}{2}/u.test(reason);
}
